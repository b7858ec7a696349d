//! Small readers over untyped objects: absent, empty and wrongly typed values all read as `None`, never as a guess.

use jiff::Timestamp;
use serde_json::Value;

/// Returns the non-empty text at `pointer`.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .filter(|s| !s.is_empty())
}

/// Returns the non-empty text at `pointer`, owned.
pub(super) fn owned(value: &Value, pointer: &str) -> Option<String> {
    text(value, pointer).map(str::to_owned)
}

/// Tells whether `true` is at `pointer`.
pub(super) fn flag(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_bool) == Some(true)
}

/// Returns the items at `pointer`, none where there is no list.
pub(super) fn items<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns the RFC 3339 time at `pointer`.
pub(super) fn time(value: &Value, pointer: &str) -> Option<Timestamp> {
    text(value, pointer)?.parse().ok()
}

/// Returns the annotation `key` of an object.
pub(super) fn annotation<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object
        .pointer("/metadata/annotations")?
        .get(key)?
        .as_str()
        .filter(|s| !s.is_empty())
}

/// Returns the seconds of a Go duration (`10m0s`, `1h30m`, `500ms`), fractions cut off; `None` where it is none.
pub(super) fn go_duration(text: &str) -> Option<i64> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    let mut seconds = 0.0_f64;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let value: f64 = rest[..number].parse().ok()?;
        rest = &rest[number..];
        let unit = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        seconds += value
            * match &rest[..unit] {
                "h" => 3_600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    Some(seconds as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_go_durations() {
        let shown: Vec<_> = ["10m0s", "1h30m", "500ms", "90s", "1.5m", "", "10", "x"]
            .into_iter()
            .map(go_duration)
            .collect();
        assert_eq!(
            shown,
            [
                Some(600),
                Some(5_400),
                Some(0),
                Some(90),
                Some(90),
                None,
                None,
                None
            ]
        );
    }

    #[test]
    fn takes_wrong_types_as_absent() {
        let value = json!({"a": 1, "b": "", "t": "not a time", "list": {}});
        assert_eq!(text(&value, "/a"), None);
        assert_eq!(text(&value, "/b"), None);
        assert_eq!(time(&value, "/t"), None);
        assert!(items(&value, "/list").is_empty());
    }
}
