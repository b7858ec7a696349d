//! The one place where foreign text is made safe: no control, bidi or invisible character reaches a terminal, a log
//! or a commit message.

use std::borrow::Cow;

/// What stands for a secret value: always the same length, so that it tells nothing.
pub const MASK: &str = "***";

/// The one visible stand-in for a character that must not reach the terminal.
const STAND_IN: char = '\u{FFFD}';

fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns `text` with every unsafe character replaced by one visible stand-in; line feeds and tabs stay.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_unsafe) {
        Cow::Owned(
            text.chars()
                .map(|c| if is_unsafe(c) { STAND_IN } else { c })
                .collect(),
        )
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns `text` as one safe line: as [`clean`], with line breaks shown as `⏎` and tabs as a space.
pub fn clean_line(text: &str) -> Cow<'_, str> {
    if text.chars().any(|c| c == '\n' || c == '\t' || is_unsafe(c)) {
        Cow::Owned(
            text.trim_end_matches('\n')
                .replace("\r\n", "\n")
                .chars()
                .map(|c| match c {
                    '\n' => '⏎',
                    '\t' => ' ',
                    c if is_unsafe(c) => STAND_IN,
                    c => c,
                })
                .collect(),
        )
    } else {
        Cow::Borrowed(text)
    }
}

/// Removes `user:password@` from every address within a text.
pub fn without_logins(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after
            .find(|c: char| c == '/' || c.is_whitespace() || c == '\'' || c == '"')
            .unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            Some(sign) => &after[sign + 1..],
            None => after,
        };
    }
    out.push_str(rest);
    out
}

/// Returns the masked pair for two secret values: the same mask twice where they are equal, else masks that say which
/// side is which, so that a change stays visible while its value does not.
pub fn mask(equal: bool) -> (&'static str, &'static str) {
    if equal {
        (MASK, MASK)
    } else {
        ("*** (git)", "*** (live)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_what_a_terminal_would_obey() {
        assert_eq!(clean("a\u{1b}[2Jb\u{202e}c"), "a\u{FFFD}[2Jb\u{FFFD}c");
        assert_eq!(clean_line("x\r\ny\tz\n"), "x⏎y z");
    }

    #[test]
    fn takes_logins_out_of_addresses() {
        assert_eq!(
            without_logins("unable to access 'https://bob:s3c@ret@h/a': no, see ssh://u@h"),
            "unable to access 'https://h/a': no, see ssh://h"
        );
    }

    #[test]
    fn leaves_plain_and_joined_text_alone() {
        assert!(matches!(clean("日本 👩\u{200d}💻"), Cow::Borrowed(_)));
    }
}
