//! Argo CD's sync windows: whether a manual sync would be let through now.
//!
//! The controller decides again when it runs; this says so before. What cannot be evaluated here is said as such.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// The longest window that is looked back over.
const LONGEST: i64 = 35 * 24 * 60;

/// Whether a manual sync is let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Window {
    /// Yes.
    Open,
    /// No; why.
    Blocked(String),
    /// Cannot be told; why.
    Unclear(String),
}

/// Evaluates a project's windows for a manual sync of an Application at `now`.
pub(super) fn manual(project: &Value, app: &Value, name: &str, now: Timestamp) -> Window {
    let windows = project
        .pointer("/spec/syncWindows")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let matching: Vec<&Value> = windows.iter().filter(|w| matches(w, app, name)).collect();
    let mut active = vec![];
    for window in &matching {
        match is_active(window, now) {
            Some(is) => active.push(is),
            None => {
                return Window::Unclear(format!(
                    "the sync window `{}` of the project cannot be evaluated here",
                    text(window, "schedule")
                ));
            }
        }
    }
    let of = |kind: &str, wanted: bool| -> Vec<&Value> {
        matching
            .iter()
            .zip(&active)
            .filter(|(w, active)| text(w, "kind") == kind && **active == wanted)
            .map(|(w, _)| *w)
            .collect()
    };
    let manual = |w: &&Value| w.get("manualSync").and_then(Value::as_bool) == Some(true);
    let denies = of("deny", true);
    if !denies.is_empty() {
        return if denies.iter().all(manual) {
            Window::Open
        } else {
            Window::Blocked(format!(
                "the deny window `{}` is active",
                text(denies[0], "schedule")
            ))
        };
    }
    let closed = of("allow", false);
    if of("allow", true).is_empty() && !closed.is_empty() && !closed.iter().all(manual) {
        return Window::Blocked("no allow window of the project is active".to_owned());
    }
    Window::Open
}

fn text<'v>(window: &'v Value, key: &str) -> &'v str {
    window.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn matches(window: &Value, app: &Value, name: &str) -> bool {
    let destination = |key: &str| {
        app.pointer(&format!("/spec/destination/{key}"))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let any = |key: &str, values: &[&str]| -> Option<bool> {
        let patterns = window.get(key)?.as_array().filter(|p| !p.is_empty())?;
        Some(
            patterns
                .iter()
                .filter_map(Value::as_str)
                .any(|p| values.iter().any(|v| glob(p, v))),
        )
    };
    let answers = [
        any("applications", &[name]),
        any("namespaces", &[destination("namespace")]),
        any("clusters", &[destination("server"), destination("name")]),
    ];
    let mut asked = answers.into_iter().flatten().peekable();
    if asked.peek().is_none() {
        return false;
    }
    if window.get("andOperator").and_then(Value::as_bool) == Some(true) {
        asked.all(|a| a)
    } else {
        asked.any(|a| a)
    }
}

fn glob(pattern: &str, value: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == value,
        Some((head, rest)) => {
            value.starts_with(head)
                && (head.len()..=value.len())
                    .filter(|at| value.is_char_boundary(*at))
                    .any(|at| glob(rest, &value[at..]))
        }
    }
}

/// Tells whether a window is open: whether its schedule struck within its duration before `now`.
fn is_active(window: &Value, now: Timestamp) -> Option<bool> {
    let cron = Cron::read(text(window, "schedule"))?;
    let minutes = duration_minutes(text(window, "duration"))?;
    if minutes > LONGEST {
        return None;
    }
    let zone = match text(window, "timeZone") {
        "" => TimeZone::UTC,
        name => TimeZone::get(name).ok()?,
    };
    let this = Timestamp::from_second(now.as_second() - now.as_second().rem_euclid(60)).ok()?;
    for back in 0..minutes {
        let at = this.checked_sub(SignedDuration::from_mins(back)).ok()?;
        if cron.strikes(at, &zone) {
            return Some(true);
        }
    }
    Some(false)
}

fn duration_minutes(text: &str) -> Option<i64> {
    let mut total = 0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest[..end].parse().ok()?;
        let unit = rest[end..].chars().next()?;
        total += match unit {
            'd' => number * 1_440,
            'h' => number * 60,
            'm' => number,
            's' => number / 60,
            _ => return None,
        };
        rest = &rest[end + 1..];
    }
    Some(total)
}

/// A schedule of five fields: minute, hour, day of the month, month, day of the week.
struct Cron {
    fields: [Field; 5],
}

struct Field {
    bits: u64,
    star: bool,
}

impl Cron {
    fn read(text: &str) -> Option<Self> {
        const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
        const MONTHS: [&str; 12] = [
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ];
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => text,
        };
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = parts.as_slice() else {
            return None;
        };
        Some(Self {
            fields: [
                Field::read(minute, 0, 59, &[])?,
                Field::read(hour, 0, 23, &[])?,
                Field::read(day, 1, 31, &[])?,
                Field::read(month, 1, 12, &MONTHS)?,
                Field::read(weekday, 0, 6, &DAYS)?,
            ],
        })
    }

    fn strikes(&self, at: Timestamp, zone: &TimeZone) -> bool {
        let local = at.to_zoned(zone.clone());
        let [minute, hour, day, month, weekday] = &self.fields;
        let in_day = day.has(local.day());
        let in_week = weekday.has(local.weekday().to_sunday_zero_offset());
        // where both days are restricted, either is enough
        let days = if day.star || weekday.star {
            in_day && in_week
        } else {
            in_day || in_week
        };
        minute.has(local.minute()) && hour.has(local.hour()) && month.has(local.month()) && days
    }
}

impl Field {
    fn read(text: &str, low: u32, high: u32, names: &[&str]) -> Option<Self> {
        let mut bits = 0;
        let mut star = false;
        let number = |text: &str| -> Option<u32> {
            let named = names
                .iter()
                .position(|n| n.eq_ignore_ascii_case(text))
                .and_then(|at| u32::try_from(at).ok())
                .map(|at| at + low);
            named.or_else(|| text.parse().ok())
        };
        for part in text.split(',') {
            let (range, step) = match part.split_once('/') {
                Some((range, step)) => (range, step.parse::<u32>().ok().filter(|s| *s > 0)?),
                None => (part, 1),
            };
            let (from, to) = match range {
                "*" | "?" => {
                    star |= step == 1;
                    (low, high)
                }
                range => match range.split_once('-') {
                    Some((from, to)) => (number(from)?, number(to)?),
                    None if part.contains('/') => (number(range)?, high),
                    None => (number(range)?, number(range)?),
                },
            };
            if from < low || to > high || from > to {
                return None;
            }
            for value in (from..=to).step_by(step as usize) {
                bits |= 1 << value;
            }
        }
        Some(Self { bits, star })
    }

    fn has(&self, value: i8) -> bool {
        u32::try_from(value).is_ok_and(|v| self.bits & (1 << v) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(windows: &Value, now: &str) -> Window {
        let project = json!({"spec": {"syncWindows": windows}});
        let app = json!({"spec": {"destination": {"namespace": "shop", "server": "https://kubernetes.default.svc"}}});
        manual(&project, &app, "web", now.parse().unwrap())
    }

    #[test]
    fn a_deny_window_blocks_while_it_is_open_unless_manual_syncs_are_let_through() {
        let deny = |manual: bool| {
            json!([{"kind": "deny", "schedule": "0 22 * * *", "duration": "1h", "applications": ["w*"],
                "manualSync": manual}])
        };
        assert!(matches!(
            check(&deny(false), "2026-01-01T22:30:00Z"),
            Window::Blocked(_)
        ));
        assert_eq!(check(&deny(true), "2026-01-01T22:30:00Z"), Window::Open);
        assert_eq!(check(&deny(false), "2026-01-01T23:00:00Z"), Window::Open);
        assert_eq!(check(&deny(false), "2026-01-01T21:59:59Z"), Window::Open);
    }

    #[test]
    fn without_an_open_allow_window_nothing_goes() {
        let allow = json!([{"kind": "allow", "schedule": "0 9 * * mon-fri", "duration": "8h", "namespaces": ["shop"]}]);
        assert_eq!(check(&allow, "2026-01-05T10:00:00Z"), Window::Open);
        assert!(matches!(
            check(&allow, "2026-01-04T10:00:00Z"),
            Window::Blocked(_)
        ));
    }

    #[test]
    fn other_apps_windows_and_unreadable_ones() {
        let other = json!([{"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": ["api"]}]);
        assert_eq!(check(&other, "2026-01-05T10:00:00Z"), Window::Open);
        let odd = json!([{"kind": "deny", "schedule": "every day", "duration": "1h", "applications": ["*"]}]);
        assert!(matches!(
            check(&odd, "2026-01-05T10:00:00Z"),
            Window::Unclear(_)
        ));
    }

    #[test]
    fn either_day_is_enough_where_both_are_restricted() {
        let cron = Cron::read("0 0 1 * sun").unwrap();
        let strikes = |at: &str| cron.strikes(at.parse().unwrap(), &TimeZone::UTC);
        assert!(strikes("2026-01-01T00:00:00Z") && strikes("2026-01-04T00:00:00Z"));
        assert!(!strikes("2026-01-05T00:00:00Z"));
    }
}
