//! A comparison in words, line by line: what `diff` prints and docs/drift.md shows.

use std::fmt::Write as _;

use super::{AppDrift, FieldDrift, FieldStatus, ObjectState, Verdict};
use crate::domain::text;

/// Tells whether a field is left out unless everything is asked for: noise, ignored, or another controller's.
pub fn is_hidden(field: &FieldDrift) -> bool {
    matches!(field.verdict, Verdict::Noise | Verdict::Ignored)
        || field.status == FieldStatus::ExtraForeign
}

/// Returns the app's state, its objects, and one line a field: `STATUS PATH git → live  (manager, operation, age) origin
/// [verdict; reason]`. `all` shows what is hidden too; `age` turns a time into a person's words.
pub fn report(drift: &AppDrift, all: bool, age: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let app = drift
        .app
        .as_ref()
        .map_or_else(|| "offline".to_owned(), ToString::to_string);
    let cause = drift
        .cause
        .as_ref()
        .map(|cause| format!(": {cause}"))
        .unwrap_or_default();
    let _ = writeln!(
        out,
        "{} {} {app}{cause}",
        drift.state.sign(),
        drift.state.word()
    );
    for object in &drift.objects {
        let shown: Vec<&FieldDrift> = object
            .fields
            .iter()
            .filter(|f| all || !is_hidden(f))
            .collect();
        if shown.is_empty() && matches!(object.state, ObjectState::InSync) {
            continue;
        }
        if shown.is_empty() && object.state == ObjectState::Ignored && !all {
            continue;
        }
        let cause = object
            .cause
            .as_ref()
            .map(|cause| format!(": {cause}"))
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "\n{} {}{}",
            object.state.word(),
            object.id,
            text::clean_line(&cause)
        );
        for field in shown {
            let _ = writeln!(out, "  {}", line(field, age));
        }
    }
    let hidden = &drift.hidden;
    if !all && hidden.ignored + hidden.noise + hidden.foreign > 0 {
        let _ = writeln!(
            out,
            "\nhidden: {} noise, {} ignored by rules, {} of other controllers (--all shows them)",
            hidden.noise, hidden.ignored, hidden.foreign
        );
    }
    out
}

fn line(field: &FieldDrift, age: &dyn Fn(&str) -> Option<String>) -> String {
    let value = |value: &Option<serde_json::Value>| match value {
        None => "(absent)".to_owned(),
        Some(value) => text::truncate(&text::clean_line(&value.to_string()), 80).into_owned(),
    };
    let mut out = format!(
        "{:<14} {}  {} → {}",
        field.status.word(),
        text::clean_line(&field.path.to_string()),
        value(&field.git),
        value(&field.live)
    );
    if let Some(owner) = field.owners.first() {
        let mut parts = vec![text::clean_line(&owner.manager).into_owned()];
        parts.extend(owner.operation.clone());
        parts.extend(owner.subresource.clone());
        if let Some(age) = owner.time.as_deref().and_then(age) {
            parts.push(age);
        }
        let more = if field.owners.len() > 1 {
            format!(" and {} more", field.owners.len() - 1)
        } else {
            String::new()
        };
        let _ = write!(out, "  ({}{more})", parts.join(", "));
    }
    if let Some(origin) = &field.origin {
        let _ = write!(out, "  {}:{}", text::clean_line(&origin.file), origin.line);
    }
    let _ = write!(out, "  [{}", field.verdict.word());
    for extra in [&field.rule, &field.note].into_iter().flatten() {
        let _ = write!(out, "; {}", text::clean_line(extra));
    }
    out.push(']');
    out
}
