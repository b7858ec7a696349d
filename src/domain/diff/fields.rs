//! From a line of emitted YAML back to the field that it shows.

use crate::domain::yaml::{Document, Kind, Node, Route, RouteStep, parse};

/// Deeper than this no line is told apart from its parent: what is nested deeper is one field.
const DEEPEST: usize = 200;

/// The field that a line shows: the way to the deepest node that begins on it, or that it goes on with.
pub type Field = Route;

/// Returns the field of each line of one YAML document; lines of a text value carry the value's way. A text that is
/// no YAML gives the root for every line.
pub fn fields_of(text: &str) -> Vec<Field> {
    let lines = text.lines().count();
    let mut fields: Vec<Option<Field>> = vec![None; lines];
    let stream = parse(text.as_bytes());
    if let Some(root) = stream.document(0).and_then(Document::root) {
        visit(root, &Route::root(), &mut fields);
    }
    let mut last = Route::root();
    fields
        .into_iter()
        .map(|field| {
            if let Some(field) = field {
                last = field;
            }
            last.clone()
        })
        .collect()
}

fn visit(node: Node<'_>, route: &Route, fields: &mut [Option<Field>]) {
    if route.0.len() > DEEPEST {
        return;
    }
    match node.kind() {
        Kind::Mapping => {
            for entry in node.entries() {
                let Some(key) = entry.key.text() else {
                    continue;
                };
                let way = further(route, RouteStep::Key(key.to_owned()));
                note(entry.key.line(), &way, fields);
                visit(entry.value, &way, fields);
            }
        }
        Kind::Sequence => {
            for (index, item) in node.items().enumerate() {
                let way = further(route, RouteStep::Index(index));
                note(item.line(), &way, fields);
                visit(item, &way, fields);
            }
        }
        Kind::Scalar { .. } => {}
    }
}

fn further(route: &Route, step: RouteStep) -> Route {
    let mut steps = Vec::with_capacity(route.0.len() + 1);
    steps.extend_from_slice(&route.0);
    steps.push(step);
    Route(steps)
}

fn note(line: usize, way: &Route, fields: &mut [Option<Field>]) {
    if let Some(slot) = line.checked_sub(1).and_then(|line| fields.get_mut(line)) {
        *slot = Some(way.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_field_of_each_line() {
        let text =
            "a: 1\nlist:\n- name: x\n  image: y\n- name: z\ntext: |\n  one\n  two\nend: {}\n";
        let shown: Vec<String> = fields_of(text).iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "a",
                "list",
                "list[0].name",
                "list[0].image",
                "list[1].name",
                "text",
                "text",
                "text",
                "end"
            ]
        );
    }

    #[test]
    fn survives_what_is_no_yaml() {
        assert_eq!(fields_of("a: [\nb").len(), 2);
        assert!(fields_of("").is_empty());
    }
}
