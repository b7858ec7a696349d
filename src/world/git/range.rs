//! Version ranges over tags, as Flux (`ref.semver`) and Argo CD (`targetRevision: v1.*`) read them.
//!
//! Both use the Masterminds rules: `>=1.2 <2`, `~1.2`, `^1`, `1.x`, `1.2 - 1.4`, `a || b`; a bare `1.2` means any patch of
//! it; a pre-release is only taken where its group of comparisons names one. A comparison is kept as what it allows:
//! a lower bound on the whole version and an upper bound on its three numbers, so that `2.0.0-rc.1` is not below `2`.

use std::cmp::Ordering;

/// The three numbers of a version.
type Core = [u64; 3];

/// A version as loosely as both engines read it: `v1`, `1.2`, `v1.2.3-rc.1+meta`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    core: Core,
    pre: Vec<String>,
    /// How many numbers were written.
    pub(super) given: usize,
}

impl Version {
    /// Reads a tag's name; `None` where it is no version.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let part = Partial::parse(text)?;
        (part.given == part.written && part.given > 0).then_some(())?;
        Some(Self {
            core: part.core,
            pre: part.pre,
            given: part.given,
        })
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.core
            .cmp(&other.core)
            .then_with(|| compare_pre(&self.pre, &other.pre))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A release is above its pre-releases; parts compare as numbers where both are, numbers are below words.
fn compare_pre(a: &[String], b: &[String]) -> Ordering {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let parts = a
        .iter()
        .zip(b)
        .map(|(a, b)| match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        });
    parts
        .into_iter()
        .find(|o| o.is_ne())
        .unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// A version as a range may name it: numbers may be missing or be `x`, `X`, `*`.
struct Partial {
    core: Core,
    pre: Vec<String>,
    /// Numbers before the first wildcard.
    given: usize,
    /// Parts written, wildcards included.
    written: usize,
}

impl Partial {
    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, meta) = text
            .split_once('+')
            .map_or((text, None), |(t, m)| (t, Some(m)));
        let (numbers, pre) = text
            .split_once('-')
            .map_or((text, None), |(n, p)| (n, Some(p)));
        let words = |text: &str| -> Option<Vec<String>> {
            text.split('.')
                .map(|w| {
                    let fine =
                        !w.is_empty() && w.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
                    fine.then(|| w.to_owned())
                })
                .collect()
        };
        meta.map_or(Some(vec![]), words)?;
        let pre = pre.map_or(Some(vec![]), words)?;
        let (mut core, mut given, mut written) = ([0; 3], 0, 0);
        for part in numbers.split('.') {
            let wild = matches!(part, "x" | "X" | "*");
            if written == 3
                || !(wild || (!part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())))
            {
                return None;
            }
            // What follows a wildcard is one too.
            if !wild && given == written {
                core[written] = part.parse().ok()?;
                given += 1;
            }
            written += 1;
        }
        Some(Self {
            core,
            pre,
            given,
            written,
        })
    }
}

/// A range: any group of comparisons that all hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range(Vec<Group>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    comparisons: Vec<Comparison>,
    with_pre: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Comparison {
    /// At or above the version, its numbers below the second.
    Within(Version, Option<Core>),
    /// Above the version.
    Above(Version),
    /// At or below the version.
    UpTo(Version),
    /// Below the version.
    Below(Version),
    /// Its numbers below these.
    CoreBelow(Core),
    /// Exactly the version.
    Is(Version),
    /// Not a version that begins with as many numbers as are given.
    Not(Version),
}

const OPERATORS: [&str; 11] = ["!=", ">=", "=>", "<=", "=<", "~>", "=", ">", "<", "~", "^"];

impl Range {
    /// Reads a range; `None` where it is none (a branch's name, say).
    pub(super) fn parse(text: &str) -> Option<Self> {
        text.split("||")
            .map(Group::parse)
            .collect::<Option<Vec<_>>>()
            .map(Self)
    }

    /// Tells whether a version is in the range.
    pub(super) fn takes(&self, version: &Version) -> bool {
        self.0.iter().any(|group| {
            (group.with_pre || version.pre.is_empty())
                && group.comparisons.iter().all(|c| c.takes(version))
        })
    }
}

impl Group {
    fn parse(text: &str) -> Option<Self> {
        let mut words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|w| !w.is_empty())
            .collect();
        words.reverse();
        let mut group = Self {
            comparisons: vec![],
            with_pre: false,
        };
        while let Some(word) = words.pop() {
            let operator = OPERATORS
                .iter()
                .find(|o| word.starts_with(**o))
                .copied()
                .unwrap_or("");
            let version = match &word[operator.len()..] {
                "" => words.pop()?,
                rest => rest,
            };
            // `1.2 - 1.4`: spaces around the dash are what makes it one.
            if operator.is_empty() && words.last() == Some(&"-") {
                words.pop();
                group.add(">=", version)?;
                group.add("<=", words.pop()?)?;
            } else {
                group.add(operator, version)?;
            }
        }
        (!group.comparisons.is_empty()).then_some(group)
    }

    fn add(&mut self, operator: &str, version: &str) -> Option<()> {
        let part = Partial::parse(version)?;
        self.with_pre |= !part.pre.is_empty();
        self.comparisons.push(Comparison::of(operator, part));
        Some(())
    }
}

impl Comparison {
    fn of(operator: &str, part: Partial) -> Self {
        let (given, [major, minor, patch]) = (part.given, part.core);
        let version = Version {
            core: part.core,
            pre: part.pre,
            given,
        };
        let (next_major, next_minor) = (
            [major.saturating_add(1), 0, 0],
            [major, minor.saturating_add(1), 0],
        );
        match operator {
            "=" | "" if given == 3 => Self::Is(version),
            "=" | "" | "~" | "~>" => {
                // `~0.0.0` and `*` take everything.
                let open = given == 0 || (given == 3 && version.core == [0; 3]);
                let upper = if given == 1 { next_major } else { next_minor };
                Self::Within(version, (!open).then_some(upper))
            }
            "^" => {
                let upper = match (major, minor) {
                    _ if major > 0 || given == 1 => next_major,
                    (_, 1..) => next_minor,
                    _ if given == 2 => next_minor,
                    _ => [0, 0, patch.saturating_add(1)],
                };
                Self::Within(version, Some(upper))
            }
            ">" => match given {
                1 => Self::Within(
                    Version {
                        core: next_major,
                        pre: vec!["0".into()],
                        given,
                    },
                    None,
                ),
                2 => Self::Within(
                    Version {
                        core: next_minor,
                        pre: vec!["0".into()],
                        given,
                    },
                    None,
                ),
                _ => Self::Above(version),
            },
            "<=" | "=<" => match given {
                1 => Self::CoreBelow(next_major),
                0 | 2 => Self::CoreBelow(next_minor),
                _ => Self::UpTo(version),
            },
            ">=" | "=>" => Self::Within(version, None),
            "<" => Self::Below(version),
            _ => Self::Not(version),
        }
    }

    fn takes(&self, v: &Version) -> bool {
        match self {
            Self::Within(lower, upper) => v >= lower && upper.is_none_or(|upper| v.core < upper),
            Self::Above(bound) => v > bound,
            Self::UpTo(bound) => v <= bound,
            Self::Below(bound) => v < bound,
            Self::CoreBelow(bound) => v.core < *bound,
            Self::Is(version) => v.cmp(version).is_eq(),
            Self::Not(version) => match version.given {
                n @ (1 | 2) => v.core[..n] != version.core[..n] || (n == 2 && v.pre != version.pre),
                _ => v.cmp(version).is_ne(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(range: &str, versions: &str) -> String {
        let range = Range::parse(range).unwrap();
        let fits = |v: &&str| range.takes(&Version::parse(v).unwrap());
        versions
            .split(' ')
            .filter(fits)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Expectations printed by github.com/Masterminds/semver/v3 3.4.0.
    #[test]
    fn takes_what_the_engines_take() {
        let all = "0.0.0 0.0.3 0.2.3 0.2.9 0.3.0 1.0.0 1.2.0 1.2.3 1.2.9 1.3.0 v2 2.0.0-rc.1 2.1.0 11.1.0";
        for (range, expected) in include_str!("../../../tests/corpus/git/range.tsv")
            .lines()
            .filter_map(|l| l.split_once('\t'))
        {
            assert_eq!(takes(range, all), expected, "{range}");
        }
    }

    #[test]
    fn tells_ranges_from_names() {
        for text in [
            "main",
            "",
            "release/1.x",
            ">=1.0<2",
            "1.2.3.4",
            "v",
            "||",
            "- 1",
            "1.2 -",
        ] {
            assert_eq!(Range::parse(text), None, "{text}");
        }
        for text in ["v1.02.3", "1", "1.2.3-rc.1+meta.5"] {
            assert!(Version::parse(text).is_some(), "{text}");
        }
        for text in ["1.x", "*", "1..2", "v1.2.3_", "release-1.2", "1.2.3-"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }

    #[test]
    fn orders_pre_releases() {
        let order = "1.0.0-1 1.0.0-2 1.0.0-10 1.0.0-alpha 1.0.0-alpha.1 1.0.0-beta 1.0.0";
        let mut versions: Vec<_> = order
            .split(' ')
            .rev()
            .map(|v| (Version::parse(v).unwrap(), v))
            .collect();
        versions.sort();
        let sorted: Vec<_> = versions.into_iter().map(|(_, v)| v).collect();
        assert_eq!(sorted.join(" "), order);
    }
}
