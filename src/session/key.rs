//! Keys as this program names them, free of any terminal library: `j`, `G`, `ctrl-d`, `space`, `enter`, `f5`.

use std::fmt;
use std::str::FromStr;

/// What was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Press {
    /// A character, as typed: a capital one includes the shift.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Shift and tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// A function key.
    F(u8),
}

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// What was pressed.
    pub press: Press,
    /// With Control.
    pub ctrl: bool,
    /// With Alt.
    pub alt: bool,
}

/// The keys that have a word.
const WORDS: &[(&str, Press)] = &[
    ("space", Press::Char(' ')),
    ("enter", Press::Enter),
    ("esc", Press::Esc),
    ("tab", Press::Tab),
    ("backtab", Press::BackTab),
    ("backspace", Press::Backspace),
    ("delete", Press::Delete),
    ("up", Press::Up),
    ("down", Press::Down),
    ("left", Press::Left),
    ("right", Press::Right),
    ("home", Press::Home),
    ("end", Press::End),
    ("pageup", Press::PageUp),
    ("pagedown", Press::PageDown),
];

impl Key {
    /// Makes a key without modifiers.
    pub fn plain(press: Press) -> Self {
        Self {
            press,
            ctrl: false,
            alt: false,
        }
    }

    /// Returns the character that it types, if it types one.
    pub fn typed(self) -> Option<char> {
        match self.press {
            Press::Char(c) if !self.ctrl && !self.alt => Some(c),
            _ => None,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ctrl {
            f.write_str("ctrl-")?;
        }
        if self.alt {
            f.write_str("alt-")?;
        }
        match (WORDS.iter().find(|(_, p)| *p == self.press), self.press) {
            (Some((word, _)), _) => f.write_str(word),
            (None, Press::Char(c)) => write!(f, "{c}"),
            (None, Press::F(n)) => write!(f, "f{n}"),
            (None, _) => Ok(()),
        }
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut rest, mut ctrl, mut alt) = (text, false, false);
        loop {
            if let Some(after) = rest.strip_prefix("ctrl-").filter(|a| !a.is_empty()) {
                (rest, ctrl) = (after, true);
            } else if let Some(after) = rest.strip_prefix("alt-").filter(|a| !a.is_empty()) {
                (rest, alt) = (after, true);
            } else {
                break;
            }
        }
        let mut chars = rest.chars();
        let press = match (chars.next(), chars.next()) {
            (Some(c), None) => Press::Char(c),
            _ => match WORDS.iter().find(|(word, _)| *word == rest) {
                Some((_, press)) => *press,
                None => match rest.strip_prefix('f').and_then(|n| n.parse().ok()) {
                    Some(n @ 1..=12) => Press::F(n),
                    _ => {
                        return Err(format!(
                            "`{text}` is no key: write a character, ctrl-x, alt-x, space, enter, esc, tab, f1 …"
                        ));
                    }
                },
            },
        };
        Ok(Self { press, ctrl, alt })
    }
}

/// Reads keys written one after another: `jj<enter>d<ctrl-d>`; for tests and demonstrations.
///
/// # Errors
/// What stands between `<` and `>` is no key.
pub fn keys(text: &str) -> Result<Vec<Key>, String> {
    let mut out = vec![];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match rest.strip_prefix('<').and_then(|r| r.split_once('>')) {
            Some((word, after)) if !word.is_empty() => {
                out.push(word.parse()?);
                rest = after;
            }
            _ => {
                out.push(Key::plain(Press::Char(c)));
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_prints() {
        for text in [
            "j", "G", "ctrl-d", "alt-x", "space", "enter", "f12", "-", "ctrl--", "|", "1",
        ] {
            assert_eq!(text.parse::<Key>().unwrap().to_string(), text);
        }
        for text in ["", "jj", "f13", "ctrl-", "shift-a"] {
            assert!(text.parse::<Key>().is_err(), "{text}");
        }
    }

    #[test]
    fn reads_a_sequence() {
        let shown: Vec<String> = keys("j<enter><d")
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(shown, ["j", "enter", "<", "d"]);
    }
}
