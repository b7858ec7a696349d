//! The globs of `directory.include` and `directory.exclude`, and of kinds in the settings.
//!
//! As the server uses them nothing separates: `*` takes slashes too. `?` is one character, `[abc]`, `[a-z]` and `[!a]`
//! are classes, `{a,b}` are alternatives, `\` takes the next character as it is.

use regex::Regex;

/// Tells whether the whole of `text` matches; a malformed pattern matches nothing.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let Some(regex) = to_regex(pattern) else {
        return false;
    };
    Regex::new(&regex).is_ok_and(|regex| regex.is_match(text))
}

fn to_regex(pattern: &str) -> Option<String> {
    let mut out = String::from("(?s)^(?:");
    let mut chars = pattern.chars().peekable();
    let mut open = 0_usize;
    while let Some(c) = chars.next() {
        match c {
            '*' => {
                while chars.next_if_eq(&'*').is_some() {}
                out.push_str(".*");
            }
            '?' => out.push('.'),
            '{' => {
                open += 1;
                out.push_str("(?:");
            }
            '}' if open > 0 => {
                open -= 1;
                out.push(')');
            }
            ',' if open > 0 => out.push('|'),
            '[' => out.push_str(&class(&mut chars)?),
            '\\' => out.push_str(&regex::escape(&chars.next()?.to_string())),
            _ => out.push_str(&regex::escape(&c.to_string())),
        }
    }
    out.push_str(")$");
    (open == 0).then_some(out)
}

/// Reads a class after its `[`.
fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut out = String::from(if chars.next_if_eq(&'!').is_some() {
        "[^"
    } else {
        "["
    });
    let mut any = false;
    loop {
        let c = match chars.next()? {
            ']' if any => break,
            ']' => return None,
            '\\' => chars.next()?,
            c => c,
        };
        any = true;
        out.push_str(&regex::escape(&c.to_string()));
        if chars.next_if_eq(&'-').is_some() {
            match chars.next()? {
                ']' => {
                    out.push_str(r"\-");
                    break;
                }
                high => {
                    out.push('-');
                    out.push_str(&regex::escape(&high.to_string()));
                }
            }
        }
    }
    out.push(']');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_as_the_server_does() {
        for (pattern, text, expected) in [
            ("*.yaml", "a.yaml", true),
            ("*.yaml", "sub/a.yaml", true),
            ("*/x.yaml", "sub/x.yaml", true),
            ("*/x.yaml", "x.yaml", false),
            ("{a,b}-*.yaml", "b-two.yaml", true),
            ("{a,b}-*.yaml", "c-two.yaml", false),
            ("{a,sub/{b,c}}.yaml", "sub/c.yaml", true),
            ("[a-c]?.yml", "b1.yml", true),
            ("[!a]*", "abc", false),
            (r"\*", "*", true),
            ("a.yaml", "abyaml", false),
            ("{a", "{a", false),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }
}
