//! Floats as Go prints them.

/// Prints a float as Go's `%g` with the fewest digits: `1e-07`, `1.2345e+08`, `100000.5`.
pub(super) fn go_g(float: f64) -> String {
    shape(float, &format!("{float:e}"), format!("{float}"))
}

/// The same with the digits of a 32-bit float, which is how sigs.k8s.io/yaml names a key that is a number.
pub(super) fn go_g_single(float: f64) -> String {
    let single = float as f32;
    shape(float, &format!("{single:e}"), format!("{single}"))
}

fn shape(float: f64, scientific: &str, plain: String) -> String {
    if float.is_nan() {
        return ".nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return plain;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
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
        ] {
            assert_eq!(go_g(float), text);
        }
    }
}
