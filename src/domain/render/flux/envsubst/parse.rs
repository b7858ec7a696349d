//! From a text to its parts: plain text, and `${…}` with its operator and parameters.

use std::ops::Range;

use super::Unexpanded;
use super::scan::{Accept, CLOSE, ESCAPE, Mode, OPEN, RUN, Scanner, Token, is_name};

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// Text that stays, with its bytes in the input.
    Text(String, Range<usize>),
    /// A `${…}`.
    Call(Call),
}

/// A `${…}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// The variable.
    pub(super) name: String,
    /// The operator as written; empty for `${v}`, `#` without parameters for `${#v}`.
    pub(super) operator: String,
    /// Its parameters.
    pub(super) parameters: Vec<Node>,
    /// Its bytes in the input, braces included.
    pub(super) source: Range<usize>,
}

const PARAMETER: Mode = RUN | OPEN;
const ESCAPED_PARAMETER: Mode = RUN | OPEN | ESCAPE;

fn not_closing(c: char, _: usize) -> bool {
    c != '}'
}

/// Reads a whole text.
pub(super) fn parse(text: &str) -> Result<Vec<Node>, Unexpanded> {
    let mut parser = Parser {
        scanner: Scanner::new(text),
        depth: 0,
    };
    let mut nodes = vec![];
    loop {
        parser.scanner.accept = |_, _| true;
        parser.scanner.mode = ESCAPED_PARAMETER;
        parser.scanner.backslash = false;
        match parser.scanner.scan() {
            Token::Run => nodes.extend(
                parser
                    .scanner
                    .stretches()
                    .into_iter()
                    .map(|(text, source)| Node::Text(text, source)),
            ),
            Token::Open => {
                let start = parser.scanner.token_byte();
                nodes.push(Node::Call(parser.call(start)?));
            }
            Token::End => return Ok(nodes),
            Token::Close | Token::Illegal => return Err(Unexpanded::BadSubstitution),
        }
    }
}

/// How deep defaults may nest; the controller has no bound and would exhaust its stack first.
const DEEPEST: usize = 200;

struct Parser {
    scanner: Scanner,
    depth: usize,
}

impl Parser {
    /// Reads the rest of a `${…}` whose `${` starts at byte `start`.
    fn call(&mut self, start: usize) -> Result<Call, Unexpanded> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Unexpanded::BadSubstitution);
        }
        self.scanner.backslash = true;
        let (name, operator, parameters) = if self.scanner.peek(0) == '#' {
            self.length()?
        } else {
            self.named()?
        };
        self.depth -= 1;
        Ok(Call {
            name,
            operator,
            parameters,
            source: start..self.scanner.byte(),
        })
    }

    fn named(&mut self) -> Result<(String, String, Vec<Node>), Unexpanded> {
        let name = self.run(is_name, &Unexpanded::VariableName)?;
        let next = self.scanner.peek(0);
        let (operator, parameters) = match next {
            ':' if matches!(self.scanner.peek(1), '=' | '-' | '?' | '+') => {
                self.default(|c, at| match at {
                    1 => c == ':',
                    2 => matches!(c, '=' | '-' | '?' | '+'),
                    _ => false,
                })?
            }
            '=' => self.default(|c, at| at == 1 && c == '=')?,
            ':' => self.substring()?,
            ',' | '^' => {
                let operator = self.run(
                    |c, at| matches!(c, ',' | '^') && at < 3,
                    &Unexpanded::BadSubstitution,
                )?;
                self.close()?;
                (operator, vec![])
            }
            '/' => self.replace()?,
            '#' => self.remove(|c, at| c == '#' && at < 3)?,
            '%' => self.remove(|c, at| c == '%' && at < 3)?,
            _ => {
                self.scanner.mode = CLOSE;
                if self.scanner.scan() != Token::Close {
                    return Err(Unexpanded::MissingClosingBrace);
                }
                (String::new(), vec![])
            }
        };
        Ok((name, operator, parameters))
    }

    /// `${#v}`.
    fn length(&mut self) -> Result<(String, String, Vec<Node>), Unexpanded> {
        let operator = self.run(|c, at| c == '#' && at == 1, &Unexpanded::BadSubstitution)?;
        let name = self.run(is_name, &Unexpanded::BadSubstitution)?;
        self.close()?;
        Ok((name, operator, vec![]))
    }

    /// `${v:-d}`, `${v:=d}`, `${v:+d}`, `${v:?d}`, `${v=d}`: texts and nested calls up to the first `}`.
    fn default(&mut self, accept: Accept) -> Result<(String, Vec<Node>), Unexpanded> {
        let operator = self.run(accept, &Unexpanded::BadSubstitution)?;
        let mut parameters = vec![];
        while self.scanner.peek(0) != '}' {
            parameters.push(self.parameter(not_closing, PARAMETER)?);
        }
        self.close()?;
        Ok((operator, parameters))
    }

    /// `${v:p}` and `${v:p:n}`.
    ///
    /// The controller looks one character past the `:` and steps back by that character's width, so that `${v:` at the
    /// end and a position that starts with a non-ASCII character are errors of their own.
    fn substring(&mut self) -> Result<(String, Vec<Node>), Unexpanded> {
        if self.scanner.left() < 2 || !self.scanner.peek(1).is_ascii() {
            return Err(Unexpanded::BadSubstitution);
        }
        let operator = self.run(|c, at| c == ':' && at == 1, &Unexpanded::BadSubstitution)?;
        let mut parameters = vec![self.parameter(|c, _| c != ':' && c != '}', PARAMETER)?];
        self.scanner.accept = |c, _| c == ':';
        self.scanner.mode = RUN | CLOSE;
        match self.scanner.scan() {
            Token::Close => return Ok((operator, parameters)),
            Token::Run => {}
            Token::Illegal | Token::End | Token::Open => return Err(Unexpanded::BadSubstitution),
        }
        parameters.push(self.parameter(not_closing, PARAMETER)?);
        self.close()?;
        Ok((operator, parameters))
    }

    /// `${v#p}`, `${v##p}`, `${v%p}`, `${v%%p}`.
    fn remove(&mut self, accept: Accept) -> Result<(String, Vec<Node>), Unexpanded> {
        let operator = self.run(accept, &Unexpanded::BadSubstitution)?;
        let parameters = vec![self.parameter(not_closing, PARAMETER)?];
        self.close()?;
        Ok((operator, parameters))
    }

    /// `${v/a/b}` and its kin.
    fn replace(&mut self) -> Result<(String, Vec<Node>), Unexpanded> {
        let accept: Accept = |c, at| match at {
            1 => c == '/',
            2 => matches!(c, '/' | '#' | '%'),
            _ => false,
        };
        let operator = self.run(accept, &Unexpanded::BadSubstitution)?;
        let mut parameters = vec![self.parameter(|c, _| c != '/', ESCAPED_PARAMETER)?];
        self.run(|c, _| c == '/', &Unexpanded::BadSubstitution)?;
        if self.scanner.peek(0) != '}' {
            parameters.push(self.parameter(not_closing, ESCAPED_PARAMETER)?);
        }
        self.close()?;
        Ok((operator, parameters))
    }

    fn parameter(&mut self, accept: Accept, mode: Mode) -> Result<Node, Unexpanded> {
        self.scanner.accept = accept;
        self.scanner.mode = mode;
        match self.scanner.scan() {
            Token::Open => {
                let start = self.scanner.token_byte();
                Ok(Node::Call(self.call(start)?))
            }
            Token::Run => {
                let source = self.scanner.token_byte()..self.scanner.byte();
                Ok(Node::Text(self.scanner.text(), source))
            }
            Token::Close | Token::Illegal | Token::End => Err(Unexpanded::Parameter),
        }
    }

    fn run(&mut self, accept: Accept, otherwise: &Unexpanded) -> Result<String, Unexpanded> {
        self.scanner.accept = accept;
        self.scanner.mode = RUN;
        match self.scanner.scan() {
            Token::Run => Ok(self.scanner.text()),
            Token::Illegal | Token::End | Token::Open | Token::Close => Err(otherwise.clone()),
        }
    }

    fn close(&mut self) -> Result<(), Unexpanded> {
        self.scanner.mode = CLOSE;
        match self.scanner.scan() {
            Token::Close => Ok(()),
            Token::Illegal | Token::End | Token::Open | Token::Run => {
                Err(Unexpanded::BadSubstitution)
            }
        }
    }
}
