//! Ages as an engineer reads them: one or two units, never a fraction.

/// Returns `seconds` as a short age: `12s`, `4m`, `3h`, `2d`, `7w`; negative ones (clock skew) read as `0s`.
pub fn age(seconds: i64) -> String {
    match seconds.max(0) {
        s @ 0..=119 => format!("{s}s"),
        s @ 120..=7_199 => format!("{}m", s / 60),
        s @ 7_200..=172_799 => format!("{}h", s / 3_600),
        s @ 172_800..=1_209_599 => format!("{}d", s / 86_400),
        s => format!("{}w", s / 604_800),
    }
}

#[cfg(test)]
mod tests {
    use super::age;

    #[test]
    fn picks_one_unit() {
        let shown: Vec<String> = [-5, 0, 119, 120, 7_199, 7_200, 172_800, 1_209_600]
            .into_iter()
            .map(age)
            .collect();
        assert_eq!(shown, ["0s", "0s", "119s", "2m", "119m", "2h", "2d", "2w"]);
    }
}
