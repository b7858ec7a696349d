//! Kubernetes quantities by value: `1000m` is `1`, `1Gi` is `1024Mi`, `0.5` is `500m`.
//!
//! A quantity is kept exactly, as a count of nano units; what does not fit is no quantity. Texts are never compared.

/// Reads a quantity as nano units, rounded up as the server does; `None` where the text is none or too large.
pub fn nanos(text: &str) -> Option<i128> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = unsigned
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = i32::try_from(fraction.len()).ok()?;
    let value = match suffix {
        "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei" => {
            let power = 1 + "KMGTPE".find(&suffix[..1])? as u32;
            decimal(
                digits.checked_mul(1024_i128.checked_pow(power)?)?,
                9 - scale,
            )?
        }
        _ => decimal(digits, 9 - scale + exponent(suffix)?)?,
    };
    Some(if negative { -value } else { value })
}

fn exponent(suffix: &str) -> Option<i32> {
    Some(match suffix {
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "" => 0,
        "k" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        "P" => 15,
        "E" => 18,
        _ => suffix.strip_prefix(['e', 'E'])?.parse().ok()?,
    })
}

/// Returns `digits` × 10^`power`, rounded up where digits are lost.
fn decimal(digits: i128, power: i32) -> Option<i128> {
    let factor = 10_i128.checked_pow(power.unsigned_abs())?;
    if power >= 0 {
        digits.checked_mul(factor)
    } else {
        Some(digits / factor + i128::from(digits % factor != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::nanos;

    #[test]
    fn equal_amounts_are_equal() {
        for (one, other) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1Gi", "1024Mi"),
            ("1.5Gi", "1536Mi"),
            ("1e3", "1k"),
            ("12e6", "12M"),
            ("0.3333333333", "333333334n"),
            ("1.25Ki", "1280"),
            ("-1k", "-1000"),
        ] {
            assert_eq!(nanos(one), nanos(other), "{one} and {other}");
            assert!(nanos(one).is_some(), "{one}");
        }
    }

    #[test]
    fn other_texts_are_no_quantity() {
        for text in ["", "Gi", "1.2.3", "1e3Mi", "ten", "1 Gi"] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}
