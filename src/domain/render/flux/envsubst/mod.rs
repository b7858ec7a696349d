//! Flux's variable expansion: `${…}` in a text, with its table of operators, exactly as the controller runs it.
//!
//! The grammar is a cousin of the shell's and differs from it in many places (`${v:+x}` is a default, `${v-x}` does not
//! parse, `$$` becomes `$` anywhere), so every step follows the controller's own scanner rather than a shell manual.
//! The result is not a text but its pieces: each knows the bytes it came from and the variables it read, so that the
//! caller can tell which field a variable wrote and which fields must never be shown because a Secret fed them.
//!
//! Where values come from, and what a missing one means for an app, is left to the caller.

mod eval;
mod glob;
mod parse;
mod scan;

use std::fmt;
use std::ops::Range;

pub(super) use glob::glob;

/// Why a text could not be expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unexpanded {
    /// A `${…}` is not closed where its grammar ends.
    MissingClosingBrace,
    /// No name after `${`.
    VariableName,
    /// A parameter of an operator cannot be read.
    Parameter,
    /// Any other place where the grammar breaks.
    BadSubstitution,
    /// A variable without a value, in strict mode: its name.
    NotSet(String),
}

/// Prints the controller's own words, since people search for them.
impl fmt::Display for Unexpanded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingClosingBrace => f.write_str("missing closing brace"),
            Self::VariableName => f.write_str("unable to parse variable name"),
            Self::Parameter => f.write_str("unable to parse substitution within function"),
            Self::BadSubstitution => f.write_str("bad substitution"),
            Self::NotSet(name) => write!(f, "variable not set (strict mode): \"{name}\""),
        }
    }
}

/// A part of an expanded text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// What stands in the result: bytes, since byte-wise operators may cut a character.
    pub(super) text: Vec<u8>,
    /// The bytes of the input it stands for: the same text, or a whole `${…}`.
    pub(super) source: Range<usize>,
    /// The variables that were read for it, the one that gave the value first; empty for plain text.
    pub(super) reads: Vec<String>,
}

/// Expands every `${…}` of `text`. `lookup` gives a variable's bytes; with `strict`, a variable without a value fails
/// the text unless its operator names a default.
pub(super) fn expand<'v>(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<&'v [u8]>,
    strict: bool,
) -> Result<Vec<Piece>, Unexpanded> {
    let nodes = parse::parse(text)?;
    eval::run(&nodes, lookup, strict)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> Option<&'static [u8]> {
        Some(match name {
            "V" => b"hello world",
            "E" => b"",
            "P" => b"/a/b/c.tar.gz",
            "U" => "ÀBc".as_bytes(),
            "X" => b"x$V",
            _ => return None,
        })
    }

    fn strict(text: &str) -> Result<String, String> {
        let pieces = expand(text, &value, true).map_err(|e| e.to_string())?;
        let bytes: Vec<u8> = pieces.into_iter().flat_map(|piece| piece.text).collect();
        String::from_utf8(bytes).map_err(|_| "not UTF-8".into())
    }

    fn lax(text: &str) -> String {
        let pieces = expand(text, &value, false).unwrap();
        let bytes: Vec<u8> = pieces.into_iter().flat_map(|piece| piece.text).collect();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn expands_as_the_controller_does() {
        for (text, expected) in [
            ("$V", "$V"),
            ("$$V", "$V"),
            ("$${V}", "${V}"),
            ("$$$${V}", "$${V}"),
            (r"\${V}", r"\hello world"),
            ("100$$", "100$"),
            ("100$", "100$"),
            ("${E:-d}", "d"),
            ("${E=d}", "d"),
            ("${Z:-}", ""),
            ("${V:+x}", "hello world"),
            ("${Z:+x}", "x"),
            ("${Z:?x}", "x"),
            ("${#V}", "11"),
            ("${#U}", "4"),
            ("${V^}", "Hello world"),
            ("${V^^}", "HELLO WORLD"),
            ("${U,,}", "àbc"),
            ("${U,}", "àBc"),
            ("${V:2:3}", "llo"),
            ("${V:100}", ""),
            ("${V:100:2}", ""),
            ("${V:0:100}", "hello world"),
            ("${V: -3}", "hello world"),
            ("${V:1:-1}", "ello worl"),
            ("${V:9:-5}", ""),
            ("${P#*/}", "a/b/c.tar.gz"),
            ("${P##*/}", "c.tar.gz"),
            ("${P%.*}", "/a/b/c.tar"),
            ("${P%%.*}", "/a/b/c"),
            ("${V#h?l}", "lo world"),
            ("${V#[a-h]}", "ello world"),
            ("${V#[^a-h]}", "hello world"),
            ("${V/o/0}", "hell0 world"),
            ("${V//o/0}", "hell0 w0rld"),
            ("${V/#hello/bye}", "bye world"),
            ("${V/%world/all}", "hello all"),
            ("${V/o/}", "hell world"),
            (r"${P//\//_}", "_a_b_c.tar.gz"),
            ("${V/l*/Z}", "hello world"),
            ("${Z:-${Y:-deep}}", "deep"),
            ("${Z:=$V}", "$V"),
            ("${Z:-a}b}", "ab}"),
            ("${Z:-{}}", "{}"),
            ("${X}", "x$V"),
            ("${Z:-https://a/b?c=d}", "https://a/b?c=d"),
            ("${Z:-pre-${V}-post}", "pre-hello world-post"),
            ("a ${V}$${b$${V}$V${V}", "a hello world${b${V}$Vhello world"),
        ] {
            assert_eq!(strict(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn refuses_what_the_controller_refuses() {
        for (text, expected) in [
            ("${V", "missing closing brace"),
            ("${}", "unable to parse variable name"),
            ("${ V }", "unable to parse variable name"),
            ("${Z-d}", "missing closing brace"),
            ("${V?x}", "missing closing brace"),
            ("${a[@]}", "missing closing brace"),
            ("${V@Q}", "missing closing brace"),
            ("${V.w}", "missing closing brace"),
            ("${V#}", "unable to parse substitution within function"),
            ("${Z:-a", "unable to parse substitution within function"),
            ("${V/a}", "bad substitution"),
            ("${#}", "bad substitution"),
            ("${Z}", r#"variable not set (strict mode): "Z""#),
            ("${1}", r#"variable not set (strict mode): "1""#),
            ("${Z^^}", r#"variable not set (strict mode): "Z""#),
            ("${V:-${Z}}", r#"variable not set (strict mode): "Z""#),
        ] {
            assert_eq!(strict(text), Err(expected.to_owned()), "{text}");
        }
        assert_eq!(lax("[${Z}${Z^^}${#Z}${Z/a/b}]"), "[0]");
    }

    #[test]
    fn says_where_each_piece_comes_from() {
        let pieces = expand("a$$b ${Z:-${V}!} c", &value, true).unwrap();
        let seen: Vec<_> = pieces
            .iter()
            .map(|p| {
                (
                    String::from_utf8_lossy(&p.text),
                    p.source.clone(),
                    &p.reads[..],
                )
            })
            .collect();
        let (v, none): (&[String], &[String]) = (&["V".into()], &[]);
        assert_eq!(
            seen,
            [
                ("a".into(), 0..1, none),
                ("$b ".into(), 2..5, none),
                ("hello world!".into(), 5..16, v),
                (" c".into(), 16..18, none),
            ]
        );
    }

    /// A thousand odd templates, made at random, with the answers of the controller's own library: the template, the
    /// result in hexadecimal digits, the error.
    #[test]
    fn agrees_with_the_controllers_library_on_odd_templates() {
        let value = |name: &str| {
            if name == "U" {
                Some("ÀBcß".as_bytes())
            } else {
                value(name)
            }
        };
        let answers = include_str!("answers.jsonl");
        assert_eq!(answers.lines().count(), 1000);
        for line in answers.lines() {
            let (template, hex, error): (String, String, String) =
                serde_json::from_str(line).unwrap();
            let (got, failed) = match expand(&template, &value, true) {
                Ok(pieces) => (
                    pieces.into_iter().flat_map(|piece| piece.text).collect(),
                    String::new(),
                ),
                Err(error) => (vec![], error.to_string()),
            };
            let got = got
                .iter()
                .fold(String::new(), |hex, byte: &u8| format!("{hex}{byte:02x}"));
            assert_eq!((got, failed), (hex, error), "{template:?}");
        }
    }

    #[test]
    fn never_panics_on_odd_bytes() {
        let bad: &[u8] = &[0xff, b'a', 0xc3];
        for text in [
            "${B^}",
            "${B^^}",
            "${B%a*}",
            "${B:1:1}",
            "${B#?}",
            "${B/a/b}",
            "\0${B}",
            "${B/\0/x}",
        ] {
            drop(expand(text, &|_| Some(bad), true));
        }
    }
}
