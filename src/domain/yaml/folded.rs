//! What becomes of a folded scalar (`>`) on its way through kustomize.
//!
//! kustomize writes its nodes out and reads them again before they become JSON, and go-yaml v3's writer puts a line
//! break too many, or too few, where a folded text holds more-indented lines. That text is what reaches the cluster,
//! so the same is done here.

use super::parse::parse;

/// Returns what a folded text is after kustomize has written and read it once.
pub(super) fn round_trip(text: String) -> String {
    let inner_break = text.trim_end_matches('\n').contains('\n');
    if !(inner_break || text.ends_with("\n\n")) || !writable(&text) {
        return text;
    }
    let written = written(&text);
    let stream = parse(written.as_bytes());
    let read = stream
        .documents
        .first()
        .and_then(|document| document.root()?.text().map(str::to_owned));
    read.unwrap_or(text)
}

/// Tells whether the writer keeps the folded style: otherwise it takes double quotes and nothing is lost.
fn writable(text: &str) -> bool {
    !text.ends_with(' ')
        && !text.contains(" \n")
        && text
            .chars()
            .all(|c| c == '\n' || c == '\t' || (c >= ' ' && super::emit::is_printable(c)))
}

/// Writes `text` in folded style as go-yaml v3 does.
fn written(text: &str) -> String {
    let mut out = String::from("--- >");
    if text.starts_with([' ', '\n']) {
        out.push('2');
    }
    let body = text.trim_end_matches('\n');
    match text.len() - body.len() {
        0 => out.push('-'),
        1 if !body.is_empty() => {}
        _ => out.push('+'),
    }
    out.push('\n');
    // Whether a break is doubled depends on the first text of the whole scalar, not on the line that follows.
    let doubles = !text.trim_start_matches('\n').starts_with([' ', '\t']) && !body.is_empty();
    let (mut after_break, mut indented) = (true, true);
    for c in text.chars() {
        if c == '\n' {
            if !after_break && !indented && doubles {
                out.push('\n');
            }
            out.push('\n');
            after_break = true;
        } else {
            if after_break {
                out.push_str("  ");
                indented = c == ' ' || c == '\t';
            }
            out.push(c);
            after_break = false;
        }
    }
    if !text.ends_with('\n') {
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_and_loses_breaks_as_kustomize_does() {
        for (before, after) in [
            ("one two", "one two"),
            ("a\nb", "a\nb"),
            ("a\n  more\nb\n", "a\n\n  more\nb\n"),
            (" a\nb\nc", " a\nb c"),
        ] {
            assert_eq!(round_trip(before.to_owned()), after, "{before:?}");
        }
    }
}
