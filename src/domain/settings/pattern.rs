//! Patterns of names: `*` is any text, `?` one character, everything else itself.

/// Tells whether the whole `name` fits the pattern; names may hold `/`, `:`, `@` and spaces, which `*` takes too.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where the last `*` stood, and how much it has taken so far: on a mismatch it takes one more.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    n = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_whole_names() {
        for (pattern, name, fits) in [
            ("*prod*", "arn:aws:eks:eu-1:1/prod-eu", true),
            ("*prod*", "staging", false),
            ("prod-?", "prod-1", true),
            ("prod-?", "prod-", false),
            ("a*b*c", "axxbyybc", true),
            ("a*b*c", "axxbyybcd", false),
            ("", "", true),
            ("*", "", true),
            ("kubectl-*", "kubectl-edit", true),
            ("プ*", "プロ", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
