//! The scanner under the parser: characters, escapes and the tokens of a `${…}`.
//!
//! What counts as a token depends on a mode and a rule that the parser sets before each step; that is the
//! controller's design, kept because its corner cases follow from it.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// What the scanner found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// Nothing that the mode and the rule allow.
    Illegal,
    /// The end of the text (or a NUL character, which the controller takes for it).
    End,
    /// A run of characters that the rule accepts.
    Run,
    /// `${`.
    Open,
    /// `}`.
    Close,
}

/// Which tokens and escapes count at a step: a sum of these.
pub(super) type Mode = u8;
/// Runs of accepted characters.
pub(super) const RUN: Mode = 1;
/// `${` ends a run or is a token.
pub(super) const OPEN: Mode = 2;
/// `}` is a token.
pub(super) const CLOSE: Mode = 4;
/// Escapes are taken away.
pub(super) const ESCAPE: Mode = 8;

/// Whether a character continues a run; the second argument is its 1-based place in the run.
pub(super) type Accept = fn(char, usize) -> bool;

/// Reads characters of one text.
pub(super) struct Scanner {
    chars: Vec<(usize, char)>,
    end: usize,
    at: usize,
    start: usize,
    /// Places of the current run that an escape took away.
    skipped: Vec<usize>,
    pub(super) mode: Mode,
    pub(super) accept: Accept,
    /// Whether a backslash escapes `/` and itself (inside `${…}`), besides `$$`.
    pub(super) backslash: bool,
}

const END: char = '\0';

impl Scanner {
    pub(super) fn new(text: &str) -> Self {
        Self {
            chars: text.char_indices().collect(),
            end: text.len(),
            at: 0,
            start: 0,
            skipped: vec![],
            mode: 0,
            accept: |_, _| true,
            backslash: false,
        }
    }

    /// Returns the byte at which the scanner stands.
    pub(super) fn byte(&self) -> usize {
        self.byte_of(self.at)
    }

    /// Returns the byte at which the last token starts.
    pub(super) fn token_byte(&self) -> usize {
        self.byte_of(self.start)
    }

    fn byte_of(&self, place: usize) -> usize {
        self.chars.get(place).map_or(self.end, |(byte, _)| *byte)
    }

    /// Returns the character `ahead` places on, without moving.
    pub(super) fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).map_or(END, |(_, c)| *c)
    }

    /// Returns how many characters are left.
    pub(super) fn left(&self) -> usize {
        self.chars.len() - self.at.min(self.chars.len())
    }

    /// Returns the last run in stretches that are the same in the input: each text with its bytes there.
    pub(super) fn stretches(&self) -> Vec<(String, Range<usize>)> {
        let mut stretches: Vec<(String, Range<usize>)> = vec![];
        let mut open = false;
        for place in self.start..self.at {
            if self.skipped.contains(&place) {
                open = false;
                continue;
            }
            let (byte, c) = self.chars[place];
            if !open {
                stretches.push((String::new(), byte..byte));
                open = true;
            }
            if let Some((text, range)) = stretches.last_mut() {
                text.push(c);
                range.end = byte + c.len_utf8();
            }
        }
        stretches
    }

    /// Returns the last run's text, escapes taken away.
    pub(super) fn text(&self) -> String {
        self.stretches().into_iter().map(|(text, _)| text).collect()
    }

    /// Reads the next token.
    pub(super) fn scan(&mut self) -> Token {
        self.start = self.at;
        self.skipped.clear();
        let first = self.peek(0);
        if first == END {
            return Token::End;
        }
        if self.allows(OPEN) && first == '$' && self.peek(1) == '{' {
            self.at += 2;
            return Token::Open;
        }
        if self.allows(CLOSE) && first == '}' {
            self.at += 1;
            return Token::Close;
        }
        if self.allows(RUN) && self.step() {
            while self.peek(0) != END
                && !(self.allows(OPEN) && self.peek(0) == '$' && self.peek(1) == '{')
                && self.step()
            {}
            return Token::Run;
        }
        self.at += 1;
        Token::Illegal
    }

    /// Takes one character of a run, or an escape and the character it protects; `false` where the run ends.
    fn step(&mut self) -> bool {
        let c = self.peek(0);
        if self.escapes(c) {
            self.skipped.push(self.at);
            self.at += 2;
            return true;
        }
        if (self.accept)(c, self.at + 1 - self.start - self.skipped.len()) {
            self.at += 1;
            return true;
        }
        false
    }

    fn allows(&self, token: Mode) -> bool {
        self.mode & token != 0
    }

    fn escapes(&self, c: char) -> bool {
        let next = self.peek(1);
        self.allows(ESCAPE)
            && ((c == '$' && next == '$')
                || (self.backslash && c == '\\' && (next == '/' || next == '\\')))
    }
}

/// Tells whether `c` may stand in a variable's name here: letters and decimal digits of any script, and `_`.
pub(super) fn is_name(c: char, _: usize) -> bool {
    static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{Nd}]$").ok());
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    let mut bytes = [0; 4];
    NAME.as_ref()
        .is_some_and(|name| name.is_match(c.encode_utf8(&mut bytes)))
}
