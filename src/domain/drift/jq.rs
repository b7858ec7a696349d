//! jq expressions of ignore rules: which places of an object an expression names, and taking places out of a value.
//!
//! Argo CD deletes with `del(EXPR)`. jaq evaluates `path(EXPR)` and the deleting is our own, since jaq's `del` differs on
//! missing parents. jaq has no time limit and this code knows no clock, so an expression that could run for ever (own
//! definitions, loops, ranges) is refused before it is run, and the places are counted.

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Native, Vars, compile, data, unwrap_valr};
use jaq_json::Val;
use serde_json::Value;

use crate::domain::yaml::{Route, RouteStep};

/// How many places one expression may name in one object.
const MOST_PLACES: usize = 10_000;

/// Words that could keep an expression running without an end.
const ENDLESS: &[&str] = &[
    "def",
    "while",
    "until",
    "repeat",
    "range",
    "recurse",
    "limit",
    "input",
    "inputs",
    "combinations",
    "foreach",
    "reduce",
    "while",
    "debug",
    "env",
    "halt",
    "error",
    "walk",
    "splits",
    "scan",
];

/// A compiled expression.
pub(super) struct Jq {
    filter: compile::Filter<Native<data::JustLut<Val>>>,
}

/// Why an expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    /// It does not compile: Argo CD fails the comparison of the whole app.
    Broken,
    /// It may be fine for Argo CD, but is not evaluated here.
    Endless(&'static str),
}

impl Jq {
    /// Compiles `expression`.
    pub(super) fn compile(expression: &str) -> Result<Self, Refused> {
        let code = format!("path({expression}\n)");
        let program = File {
            code: code.as_str(),
            path: (),
        };
        let defs = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs());
        let funs = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs());
        let arena = Arena::default();
        let modules = Loader::new(defs)
            .load(&arena, program)
            .map_err(|_| Refused::Broken)?;
        let filter = Compiler::default()
            .with_funs(funs)
            .compile(modules)
            .map_err(|_| Refused::Broken)?;
        if let Some(word) = ENDLESS.iter().find(|word| has_word(expression, word)) {
            return Err(Refused::Endless(word));
        }
        Ok(Self { filter })
    }

    /// Returns the places that the expression names in `value`; `None` where it fails at run time, which makes Argo CD
    /// skip it for that object.
    pub(super) fn places(&self, value: &Value) -> Option<Vec<Route>> {
        let text = value.to_string();
        let input = jaq_json::read::parse_single(text.as_bytes()).ok()?;
        let ctx = Ctx::<data::JustLut<Val>>::new(&self.filter.lut, Vars::new([]));
        let mut routes = vec![];
        for (count, found) in self
            .filter
            .id
            .run((ctx, input))
            .map(unwrap_valr)
            .enumerate()
        {
            if count >= MOST_PLACES {
                return None;
            }
            let path: Value = serde_json::from_str(&found.ok()?.to_string()).ok()?;
            expand(value, path.as_array()?, &Route::root(), &mut routes);
        }
        Some(routes)
    }
}

/// Tells whether `word` stands in `text` as a word of its own, outside of strings and field names.
fn has_word(text: &str, word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut outside = String::new();
    let mut quoted = false;
    let mut escaped = false;
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            c if !quoted => outside.push(c),
            _ => {}
        }
    }
    outside.match_indices(word).any(|(at, _)| {
        let before = outside[..at].chars().next_back();
        let after = outside[at + word.len()..].chars().next();
        !before.is_some_and(|c| is_word(c) || matches!(c, '.' | '$' | '@'))
            && !after.is_some_and(|c| is_word(c) || c == ':')
    })
}

/// Turns a jq path into routes inside `value`; what is not there is left out, slices become their items.
fn expand(value: &Value, path: &[Value], at: &Route, out: &mut Vec<Route>) {
    let Some((step, rest)) = path.split_first() else {
        out.push(at.clone());
        return;
    };
    match (step, value) {
        (Value::String(key), Value::Object(map)) => {
            if let Some(below) = map.get(key) {
                expand(below, rest, &at.key(key.as_str()), out);
            }
        }
        (Value::Number(number), Value::Array(items)) => {
            let index = number.as_f64().unwrap_or(f64::NAN).floor();
            let index = if index < 0.0 {
                index + items.len() as f64
            } else {
                index
            };
            if let Some((index, below)) = items
                .iter()
                .enumerate()
                .find(|(nth, _)| (*nth as f64 - index).abs() < 0.5)
            {
                expand(below, rest, &at.index(index), out);
            }
        }
        (Value::Object(slice), Value::Array(items)) => {
            let bound = |key: &str, absent: usize| {
                let Some(number) = slice.get(key).and_then(Value::as_i64) else {
                    return absent;
                };
                let from_end = i64::try_from(items.len()).unwrap_or(i64::MAX) + number;
                let number = if number < 0 { from_end.max(0) } else { number };
                usize::try_from(number)
                    .unwrap_or(usize::MAX)
                    .min(items.len())
            };
            let (start, end) = (bound("start", 0), bound("end", items.len()));
            for (index, below) in items.iter().enumerate().take(end).skip(start) {
                expand(below, rest, &at.index(index), out);
            }
        }
        _ => {}
    }
}

/// Returns the place that a JSON pointer names in `value`; `None` where nothing is there.
pub(super) fn pointed(value: &Value, pointer: &str) -> Option<Route> {
    let mut route = Route::root();
    let mut node = value;
    if pointer.is_empty() {
        return Some(route);
    }
    for token in pointer.strip_prefix('/')?.split('/') {
        let token = token.replace("~1", "/").replace("~0", "~");
        match node {
            Value::Object(map) => {
                node = map.get(&token)?;
                route = route.key(token);
            }
            Value::Array(items) => {
                let index: usize = token.parse().ok()?;
                node = items.get(index)?;
                route = route.index(index);
            }
            _ => return None,
        }
    }
    Some(route)
}

/// Takes the places out of `value`, last ones first so that earlier indices stay right.
pub(super) fn without(value: &Value, mut routes: Vec<Route>) -> Value {
    let mut value = value.clone();
    routes.sort();
    routes.dedup();
    for route in routes.iter().rev() {
        match route.split_last() {
            None => value = Value::Null,
            Some((parent, last)) => remove(&mut value, &parent, last),
        }
    }
    value
}

fn remove(value: &mut Value, parent: &Route, last: &RouteStep) {
    let mut node = value;
    for step in &parent.0 {
        let next = match step {
            RouteStep::Key(key) => node.get_mut(key.as_str()),
            RouteStep::Index(index) => node.get_mut(*index),
        };
        let Some(next) = next else { return };
        node = next;
    }
    match (last, node) {
        (RouteStep::Key(key), Value::Object(map)) => {
            map.remove(key);
        }
        (RouteStep::Index(index), Value::Array(items)) if *index < items.len() => {
            items.remove(*index);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn del(expression: &str, value: &Value) -> Option<Value> {
        let routes = Jq::compile(expression).ok()?.places(value)?;
        Some(without(value, routes))
    }

    #[test]
    fn deletes_as_argo_does() {
        let value =
            || json!({"a": [{"n": "x", "v": 1}, {"n": "y", "v": 2}, {"n": "z"}], "b": {"c": 1}});
        let table = [
            (".b.c", json!({"a": value()["a"], "b": {}})),
            (
                r#".a[] | select(.n == "x") | .v"#,
                json!({"a": [{"n": "x"}, {"n": "y", "v": 2}, {"n": "z"}], "b": {"c": 1}}),
            ),
            (".a[1:]", json!({"a": [{"n": "x", "v": 1}], "b": {"c": 1}})),
            (
                ".a[-1], .a[0]",
                json!({"a": [{"n": "y", "v": 2}], "b": {"c": 1}}),
            ),
            (".nope.deep", value()),
            (".nope[]?.deep", value()),
            (
                "if .b.c == 1 then .a else empty end",
                json!({"b": {"c": 1}}),
            ),
            ("select(.b.c == 2).a", value()),
            (
                r#".a[] | select(.n | test("^[xy]$"))"#,
                json!({"a": [{"n": "z"}], "b": {"c": 1}}),
            ),
        ];
        for (expression, expect) in table {
            assert_eq!(del(expression, &value()), Some(expect), "{expression}");
        }
        assert_eq!(del(".nope[].deep", &value()), None, "iterating null fails");
    }

    #[test]
    fn refuses_what_is_broken_or_endless() {
        assert_eq!(Jq::compile(".spec.[[").err(), Some(Refused::Broken));
        assert_eq!(Jq::compile("nosuch(.a)").err(), Some(Refused::Broken));
        assert_eq!(
            Jq::compile("def f: f; f").err(),
            Some(Refused::Endless("def"))
        );
        assert!(Jq::compile(r#".spec.range | select(. == "while")"#).is_ok());
    }

    #[test]
    fn follows_pointers() {
        let value = json!({"a/b": [{"c~d": 1}]});
        assert_eq!(
            pointed(&value, "/a~1b/0/c~0d").unwrap().to_string(),
            r#"["a/b"][0]["c~d"]"#
        );
        assert_eq!(pointed(&value, "/a~1b/1"), None);
        assert_eq!(pointed(&value, "a"), None);
    }
}
