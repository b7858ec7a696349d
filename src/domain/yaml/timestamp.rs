//! Timestamps, which go-yaml v3 reads from plain scalars and writes back as RFC 3339.

/// Reads a timestamp (`2024-1-2`, `2024-01-02 3:4:5.6`, `2024-01-02T03:04:05Z`, `…+02:00`) and returns it as Go's JSON
/// prints it; `None` where the text is none.
pub(super) fn rfc3339(text: &str) -> Option<String> {
    let (year, rest) = text.split_at_checked(4)?;
    if !year.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (month, rest) = number(rest.strip_prefix('-')?)?;
    let (day, rest) = number(rest.strip_prefix('-')?)?;
    let days = days_in(year.parse().ok()?, month)?;
    if !(1..=days).contains(&day) {
        return None;
    }
    let date = format!("{year}-{month:02}-{day:02}");
    if rest.is_empty() {
        return Some(format!("{date}T00:00:00Z"));
    }
    let zoned = rest.starts_with(['T', 't']);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (time, rest) = clock(rest)?;
    let zone = match (zoned, rest) {
        (false, "") | (true, "Z") => "Z".to_owned(),
        (true, rest) => offset(rest)?,
        (false, _) => return None,
    };
    Some(format!("{date}T{time}{zone}"))
}

/// Reads one or two digits.
fn number(text: &str) -> Option<(u32, &str)> {
    let len = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    Some((text.get(..len)?.parse().ok()?, &text[len..]))
}

/// Reads `h:m:s` with an optional fraction.
fn clock(text: &str) -> Option<(String, &str)> {
    let (hour, rest) = number(text)?;
    let (minute, rest) = number(rest.strip_prefix(':')?)?;
    let (second, mut rest) = number(rest.strip_prefix(':')?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut fraction = String::new();
    if let Some(after) = rest.strip_prefix(['.', ',']) {
        let len = after.bytes().take_while(u8::is_ascii_digit).count();
        if len == 0 {
            return None;
        }
        let digits = after[..len.min(9)].trim_end_matches('0');
        if !digits.is_empty() {
            fraction = format!(".{digits}");
        }
        rest = &after[len..];
    }
    Some((format!("{hour:02}:{minute:02}:{second:02}{fraction}"), rest))
}

/// Reads `±hh:mm`; a zero offset prints as `Z`.
fn offset(text: &str) -> Option<String> {
    let digits = text.strip_prefix(['+', '-'])?;
    let (hour, minute) = digits.split_once(':')?;
    let two = |text: &str| {
        (text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit()))
            .then(|| text.parse::<u32>().ok())
            .flatten()
    };
    let (hours, minutes) = (two(hour)?, two(minute)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    Some(if hours == 0 && minutes == 0 {
        "Z".to_owned()
    } else {
        text.to_owned()
    })
}

fn days_in(year: u32, month: u32) -> Option<u32> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    Some(match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    })
}
