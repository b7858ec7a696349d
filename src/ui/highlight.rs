//! YAML in roles, by syntect: only lines that are looked at, only lines that are not endless.

use std::ops::Range;
use std::sync::LazyLock;

use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

use crate::domain::text::Role;

/// Longer lines are shown plain.
const LONGEST: usize = 4_000;

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

fn syntax() -> Option<&'static SyntaxReference> {
    SYNTAXES.find_syntax_by_extension("yaml")
}

/// Returns a line's stretches with their roles, left to right and without gaps. Each line is read by itself: what a
/// block scalar holds is read as YAML, too, which is what it mostly is.
pub(super) fn spans(line: &str) -> Vec<(Range<usize>, Role)> {
    let plain = || vec![(0..line.len(), Role::Text)];
    let Some(syntax) = syntax().filter(|_| line.len() <= LONGEST) else {
        return plain();
    };
    let text = format!("{line}\n");
    let Ok(ops) = ParseState::new(syntax).parse_line(&text, &SYNTAXES) else {
        return plain();
    };
    let mut stack = ScopeStack::new();
    let mut out: Vec<(Range<usize>, Role)> = vec![];
    let mut from = 0;
    for (at, op) in ops {
        let at = at.min(line.len());
        if at > from {
            out.push((from..at, role(&stack)));
            from = at;
        }
        if stack.apply(&op).is_err() {
            return plain();
        }
    }
    if from < line.len() {
        out.push((from..line.len(), role(&stack)));
    }
    out
}

fn role(stack: &ScopeStack) -> Role {
    for scope in stack.as_slice().iter().rev() {
        let name = scope.build_string();
        let found = if name.starts_with("entity.name.tag") {
            Role::YamlKey
        } else if name.starts_with("constant") {
            Role::YamlLiteral
        } else if name.starts_with("punctuation") || name.starts_with("comment") {
            Role::YamlPunct
        } else if name.starts_with("string") {
            Role::YamlString
        } else {
            continue;
        };
        return found;
    }
    Role::Text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_keys_from_values() {
        let line = "  image: web # x";
        let roles: Vec<(&str, Role)> = spans(line)
            .into_iter()
            .map(|(r, role)| (&line[r], role))
            .filter(|(t, _)| !t.trim().is_empty())
            .collect();
        assert!(roles.contains(&("image", Role::YamlKey)), "{roles:?}");
        assert!(roles.contains(&("web", Role::YamlString)), "{roles:?}");
        assert_eq!(
            spans(line).iter().map(|(r, _)| r.len()).sum::<usize>(),
            line.len()
        );
    }
}
