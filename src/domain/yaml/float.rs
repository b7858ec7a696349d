//! Floats as Go prints them.
//!
//! The digits are those of serde_json, which like Go takes the even one of two equally short spellings (the standard
//! library does not).

/// A finite float as decimal digits.
struct Decimal {
    sign: &'static str,
    /// Without leading and trailing zeros; empty for zero.
    digits: String,
    /// The power of ten of the first digit.
    exponent: i32,
}

impl Decimal {
    /// Reads a float's text: `-1.5e300`, `0.001`, `100.0`.
    fn read(text: &str) -> Self {
        let (sign, text) = match text.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or_default();
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        let leading = count(all.len() - significant.len());
        Self {
            sign,
            digits: significant.trim_end_matches('0').to_owned(),
            exponent: exponent + count(whole.len()) - 1 - leading,
        }
    }

    /// Prints `123.45` however long.
    fn plain(&self) -> String {
        let Self {
            sign,
            digits,
            exponent,
        } = self;
        if digits.is_empty() {
            return format!("{sign}0");
        }
        if *exponent < 0 {
            let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
            return format!("{sign}0.{zeros}{digits}");
        }
        let whole = exponent.unsigned_abs() as usize + 1;
        if digits.len() <= whole {
            return format!("{sign}{digits}{}", "0".repeat(whole - digits.len()));
        }
        let (before, after) = digits.split_at(whole);
        format!("{sign}{before}.{after}")
    }

    /// Prints by Go's `%g`: with an exponent below 1e-4 and from 1e6 up.
    fn general(&self) -> String {
        if self.digits.is_empty() || (-4..6).contains(&self.exponent) {
            return self.plain();
        }
        let (first, rest) = self.digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if self.exponent < 0 { '-' } else { '+' };
        format!(
            "{}{first}{point}{rest}e{sign}{:02}",
            self.sign,
            self.exponent.abs()
        )
    }
}

/// A count of digits; no float has more than a few hundred.
fn count(digits: usize) -> i32 {
    i32::try_from(digits).unwrap_or(i32::MAX)
}

/// Prints a finite float as Go's JSON prints whole ones: all digits, no exponent.
pub(super) fn go_plain(float: f64) -> String {
    Decimal::read(&serde_json::Value::from(float).to_string()).plain()
}

/// Prints a finite float as Go's `%g` with the fewest digits: `1e-07`, `1.2345e+08`, `100000.5`.
pub(super) fn go_g(float: f64) -> String {
    Decimal::read(&serde_json::Value::from(float).to_string()).general()
}

/// Prints a float with the digits of a 32-bit one, which is how sigs.k8s.io/yaml names a key that is a number.
pub(super) fn go_g_single(float: f64) -> String {
    if float.is_finite() {
        return Decimal::read(&format!("{:e}", float as f32)).general();
    }
    match (float.is_nan(), float > 0.0) {
        (true, _) => ".nan",
        (false, true) => ".inf",
        (false, false) => "-.inf",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_go() {
        for (float, text) in [
            (100_000.5, "100000.5"),
            (1_234_567.5, "1.2345675e+06"),
            (1e-7, "1e-07"),
            (0.0001, "0.0001"),
            (1e21, "1e+21"),
            (-1.5e300, "-1.5e+300"),
            (628_277_939_196_148.2, "6.282779391961482e+14"),
        ] {
            assert_eq!(go_g(float), text);
        }
        assert_eq!(go_plain(1e20), "100000000000000000000");
        assert_eq!(go_plain(9_223_372_036_854_775_808.0), "9223372036854776000");
    }
}
