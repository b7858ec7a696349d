//! From nodes to JSON values, as the Go tools would hand them to the API server.

use serde_json::{Map, Number, Value};

use super::float::{go_g_single, go_plain};
use super::node::{Document, Kind, Node, Style};
use super::resolve::{Resolved, is_timestamp, resolve};
use super::{DEPTH, Dialect, Problem, folded};

/// How many nodes (and hundreds of bytes of their text) the aliases of one document may expand to.
const ALIAS_BUDGET: usize = 100_000;

impl Document {
    /// Returns the document as a JSON value by the rules of `dialect`; `null` for an empty one. The error is the first
    /// thing that the dialect's tools refuse: a duplicate key, a key that is no text, infinity, too many aliases.
    pub fn to_json(&self, dialect: Dialect) -> Result<Value, Problem> {
        self.root()
            .map_or(Ok(Value::Null), |root| root.to_json(dialect))
    }
}

impl Node<'_> {
    /// Returns this node as a JSON value; see [`Document::to_json`].
    pub fn to_json(self, dialect: Dialect) -> Result<Value, Problem> {
        let mut composer = Composer {
            dialect,
            budget: ALIAS_BUDGET,
        };
        composer.value(self, 0, self.is_alias())
    }

    /// Returns a scalar's JSON value; an error for collections, for text that does not fit its tag, and for infinity.
    pub fn scalar_value(self, dialect: Dialect) -> Result<Value, Problem> {
        let Kind::Scalar { text, style, tag } = self.kind() else {
            return Err(self.problem("expected a scalar"));
        };
        if dialect == Dialect::Kustomize && self.turns_to_text(text, style, tag) {
            return Ok(text.into());
        }
        let resolved =
            resolve(text, style, tag, dialect).map_err(|message| self.problem(message))?;
        Ok(match resolved {
            Resolved::Null => Value::Null,
            Resolved::Bool(bool) => Value::Bool(bool),
            Resolved::Int(int) => int.into(),
            Resolved::UInt(uint) => uint.into(),
            Resolved::Float(float) => number(float)
                .ok_or_else(|| self.problem(format!("`{text}` has no JSON form")))?
                .into(),
            Resolved::Str(text) if style == Style::Folded && dialect == Dialect::Kustomize => {
                Value::String(folded::round_trip(text))
            }
            Resolved::Str(text) => Value::String(text),
        })
    }

    /// Tells whether kustomize's own writing makes text of a plain scalar in a flow collection: an absent value, and a
    /// time with a colon, which it quotes.
    fn turns_to_text(self, text: &str, style: Style, tag: Option<&str>) -> bool {
        self.is_in_flow()
            && style == Style::Plain
            && tag.is_none()
            && (text.is_empty() || (text.contains(':') && is_timestamp(text)))
    }

    /// Returns a key's text as JSON carries it.
    ///
    /// Under kustomize's rules only strings are keys, except at the root (`root`), where the text is taken as it is.
    pub fn key_text(self, dialect: Dialect, root: bool) -> Result<String, Problem> {
        let Kind::Scalar { text, style, tag } = self.kind() else {
            return Err(self.problem("a collection is no key of a JSON object"));
        };
        let resolved =
            resolve(text, style, tag, dialect).map_err(|message| self.problem(message))?;
        let is_text = match tag {
            Some(tag) => matches!(tag, "!!str" | "!!merge" | "!"),
            None => style != Style::Plain || !is_timestamp(text),
        };
        match (resolved, dialect) {
            (Resolved::Str(text), Dialect::Kubectl) => Ok(text),
            (Resolved::Str(text), Dialect::Kustomize) if is_text => Ok(text),
            (Resolved::Null, _) => Err(self.problem("null is no key of a JSON object")),
            (_, Dialect::Kustomize) if root => Ok(text.to_owned()),
            (_, Dialect::Kustomize) => Err(self.problem(format!(
                "the key `{text}` is not text: kustomize refuses it"
            ))),
            (Resolved::Bool(bool), Dialect::Kubectl) => Ok(bool.to_string()),
            (Resolved::Int(int), Dialect::Kubectl) => Ok(int.to_string()),
            (Resolved::UInt(_), Dialect::Kubectl) => {
                Err(self.problem(format!("the key `{text}` is too large a number")))
            }
            (Resolved::Float(float), Dialect::Kubectl) => Ok(go_g_single(float)),
        }
    }
}

/// Returns what a scalar that stands in no file is worth once it has been written and read again; see
/// [`Node::scalar_value`]. The error is one sentence.
pub fn scalar_json(
    text: &str,
    style: Style,
    tag: Option<&str>,
    dialect: Dialect,
) -> Result<Value, String> {
    Ok(match resolve(text, style, tag, dialect)? {
        Resolved::Null => Value::Null,
        Resolved::Bool(bool) => Value::Bool(bool),
        Resolved::Int(int) => int.into(),
        Resolved::UInt(uint) => uint.into(),
        Resolved::Float(float) => number(float)
            .ok_or_else(|| format!("`{text}` has no JSON form"))?
            .into(),
        Resolved::Str(text) if style == Style::Folded && dialect == Dialect::Kustomize => {
            Value::String(folded::round_trip(text))
        }
        Resolved::Str(text) => Value::String(text),
    })
}

/// Returns the text that go-yaml gives a float: `1e-07`, `1.2345e+08`, `100000.5`.
pub fn float_text(float: f64) -> String {
    super::float::go_g(float)
}

/// Returns a float as Go's JSON writes it and kustomize reads it again: whole numbers become integers.
pub(super) fn number(float: f64) -> Option<Number> {
    if float.fract() == 0.0 && float.abs() < 1e21 {
        let text = go_plain(float);
        let text = if text == "-0" { "0" } else { &text };
        if let Ok(int) = text.parse::<i64>() {
            return Some(int.into());
        }
        if let Ok(uint) = text.parse::<u64>() {
            return Some(uint.into());
        }
    }
    Number::from_f64(float)
}

struct Composer {
    dialect: Dialect,
    budget: usize,
}

impl Composer {
    fn value(&mut self, node: Node<'_>, depth: usize, aliased: bool) -> Result<Value, Problem> {
        if depth > DEPTH {
            return Err(node.problem(format!("nested deeper than {DEPTH} levels")));
        }
        let aliased = aliased || node.is_alias();
        if aliased {
            let cost = 1 + node.text().map_or(0, str::len) / 100;
            self.budget = self
                .budget
                .checked_sub(cost)
                .ok_or_else(|| node.problem("the aliases expand to too much"))?;
        }
        match node.kind() {
            Kind::Scalar { .. } => node.scalar_value(self.dialect),
            Kind::Sequence => node
                .items()
                .map(|item| self.value(item, depth + 1, aliased))
                .collect::<Result<_, _>>()
                .map(Value::Array),
            Kind::Mapping => self.mapping(node, depth, aliased).map(Value::Object),
        }
    }

    fn mapping(
        &mut self,
        node: Node<'_>,
        depth: usize,
        aliased: bool,
    ) -> Result<Map<String, Value>, Problem> {
        if self.dialect == Dialect::Kustomize {
            let mut twice = vec![];
            node.duplicates_into(&mut twice);
            if let Some(twice) = twice.first() {
                return Err(Problem {
                    line: twice.again,
                    column: twice.column,
                    message: format!(
                        "mapping key {:?} already defined at line {}",
                        twice.key, twice.first
                    ),
                });
            }
        }
        let mut map = Map::new();
        for entry in node.entries_resolved(self.dialect)? {
            let key = entry.key.key_text(self.dialect, depth == 0)?;
            let value = self.value(entry.value, depth + 1, aliased || entry.merged)?;
            map.insert(key, value);
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::domain::yaml::parse;
    use serde_json::json;

    fn read(text: &str, dialect: Dialect) -> Result<Value, String> {
        let stream = parse(text.as_bytes());
        assert_eq!(stream.problems, vec![], "{text}");
        stream.documents[0]
            .to_json(dialect)
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn writes_whole_floats_as_integers() {
        for (float, text) in [
            (1e3, "1000"),
            (1.5, "1.5"),
            (-0.0, "0"),
            (1e20, "1e+20"),
            (1e-7, "1e-7"),
            (9_223_372_036_854_775_808.0, "9223372036854776000"),
        ] {
            assert_eq!(number(float).unwrap().to_string(), text);
        }
        assert_eq!(number(f64::INFINITY), None);
    }

    #[test]
    fn carries_merge_keys_out_as_each_dialect_does() {
        let text = "a: &a {x: 1, w: 1}\nb: {x: 2, <<: *a}\nc: {<<: [*a, {x: 3, z: 3}]}\n";
        let b = |x: i64| json!({"a": {"x": 1, "w": 1}, "b": {"x": x, "w": 1}, "c": {"x": 1, "w": 1, "z": 3}});
        assert_eq!(read(text, Dialect::Kustomize), Ok(b(2)));
        assert_eq!(read(text, Dialect::Kubectl), Ok(b(1)));
    }

    #[test]
    fn refuses_duplicate_keys_under_kustomize_only() {
        let text = "d:\n  a: 1\n  \"a\": 2\n";
        assert_eq!(
            read(text, Dialect::Kustomize).unwrap_err(),
            "line 3, column 3: mapping key \"a\" already defined at line 2"
        );
        assert_eq!(read(text, Dialect::Kubectl), Ok(json!({"d": {"a": 2}})));
    }

    #[test]
    fn stops_a_bomb_of_aliases_and_a_deep_chain() {
        let mut bomb = String::from("l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..9 {
            let refs = vec![format!("*l{}", level - 1); 10].join(", ");
            let _ = writeln!(bomb, "l{level}: &l{level} [{refs}]");
        }
        assert!(
            read(&bomb, Dialect::Kustomize)
                .unwrap_err()
                .contains("expand to too much")
        );
        let mut chain = String::from("c0: &c0 x\n");
        for level in 1..2000 {
            let _ = writeln!(chain, "c{level}: &c{level} [*c{}]", level - 1);
        }
        assert!(
            read(&chain, Dialect::Kubectl)
                .unwrap_err()
                .contains("nested deeper")
        );
    }
}
