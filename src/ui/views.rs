//! The plainer screens: drifted fields, contexts, journal.

use ratatui::layout::Rect;

use super::Parts;
use super::paint::{column, line, say};
use crate::domain::fleet::ContextState;
use crate::domain::text::{Line, Role};
use crate::session::screen::DriftScreen;
use crate::session::{List, Session};

fn cursor(out: &mut Line, here: bool) {
    out.push(Role::Key, if here { "▌" } else { " " });
    out.push(Role::Text, " ");
}

/// Builds the rows in view, and names the one under the cursor.
fn rows<T>(
    at: List,
    area: Rect,
    items: impl Iterator<Item = T>,
    mut row: impl FnMut(&mut Line, T),
) -> Parts {
    let lines: Vec<Line> = items
        .enumerate()
        .skip(at.top)
        .take(usize::from(area.height))
        .map(|(index, item)| {
            let mut out = Line::default();
            cursor(&mut out, index == at.at);
            row(&mut out, item);
            out
        })
        .collect();
    Parts {
        selected: at.at.checked_sub(at.top).filter(|_| !lines.is_empty()),
        rows: lines,
        ..Parts::default()
    }
}

fn titles(columns: &[(&str, usize)]) -> Line {
    let mut out = Line::default();
    out.push(Role::Text, "  ");
    for (text, cells) in columns {
        column(&mut out, Role::Dim, text, *cells);
    }
    out
}

pub(super) fn drift(session: &Session, screen: &DriftScreen, area: Rect, panel: Rect) -> Parts {
    let wide = usize::from(area.width);
    let (app, object, path) = (wide / 4, wide / 4, (wide / 3).min(60));
    let mut parts = rows(screen.list, area, screen.rows.iter(), |out, row| {
        let found = session
            .drift_of(&row.app)
            .and_then(|d| d.objects.get(row.object));
        column(out, Role::Text, &row.app.to_string(), app);
        column(
            out,
            Role::Text,
            &found.map_or(String::new(), |o| o.id.to_string()),
            object,
        );
        if let Some(field) = found.and_then(|o| o.fields.get(row.field?)) {
            column(out, Role::YamlKey, &field.path.to_string(), path);
            say(out, Role::Drift, field.verdict.word());
            if let Some(owner) = field.owners.first() {
                say(out, Role::Dim, &format!(" by {}", owner.manager));
            }
        } else {
            column(out, Role::Dim, "(the whole object)", path);
            say(out, Role::Drift, found.map_or("", |o| o.state.word()));
        }
    });
    parts.columns = titles(&[
        ("APP", app),
        ("OBJECT", object),
        ("FIELD", path),
        ("VERDICT", 12),
    ]);
    if parts.rows.is_empty() {
        let waiting = session
            .fleet
            .iter()
            .filter(|a| a.current_drift().is_none())
            .count();
        let words = if waiting == 0 {
            "nothing drifted".to_owned()
        } else {
            format!("nothing drifted among what was compared; {waiting} app(s) were not compared")
        };
        parts.rows = vec![Line::default(), line(Role::Dim, &format!("  {words}"))];
    }
    if panel.height > 0
        && let Some(row) = screen.rows.get(screen.list.at)
        && let Some(field) = session
            .drift_of(&row.app)
            .and_then(|d| d.objects.get(row.object)?.fields.get(row.field?))
    {
        let mut rule = Line::default();
        rule.push(Role::Border, "─".repeat(wide));
        parts.panel.push(rule);
        let value = |v: &Option<serde_json::Value>| {
            v.as_ref()
                .map_or("(not set)".to_owned(), ToString::to_string)
        };
        let mut sides = Line::default();
        sides.push(Role::Dim, "  git ");
        say(&mut sides, Role::Minus, &value(&field.git));
        sides.push(Role::Dim, "  live ");
        say(&mut sides, Role::Plus, &value(&field.live));
        parts.panel.push(sides);
        let from = field
            .origin
            .as_ref()
            .map_or("no line in Git".to_owned(), |o| {
                format!("{}:{}", o.file, o.line)
            });
        parts.panel.push(line(Role::Dim, &format!("  from {from}")));
    }
    parts
}

pub(super) fn contexts(session: &Session, at: List, area: Rect) -> Parts {
    let name = (usize::from(area.width) / 3).clamp(10, 50);
    let mut parts = rows(at, area, session.fleet.contexts(), |out, context| {
        let (role, sign) = match context.state {
            ContextState::Ready => (Role::Good, '='),
            ContextState::Connecting => (Role::Progress, '…'),
            _ => (Role::Unknown, '?'),
        };
        column(out, role, &format!("{sign} {}", context.state.word()), 15);
        column(out, Role::Text, &context.name, name);
        column(out, Role::Dim, &context.apps.to_string(), 6);
        if session.is_guarded(&context.name) {
            out.push(Role::Badge, " guarded ");
            out.push(Role::Text, " ");
        }
        if let Some(fault) = context.cause() {
            say(out, Role::Dim, &fault.to_string());
        }
    });
    parts.columns = titles(&[("STATE", 15), ("CONTEXT", name), ("APPS", 6), ("WHY", 10)]);
    parts
}

pub(super) fn journal(session: &Session, at: List, area: Rect) -> Parts {
    let app = (usize::from(area.width) / 4).clamp(10, 40);
    let mut parts = rows(at, area, session.journal.iter().rev(), |out, entry| {
        column(out, Role::Dim, &entry.time, 20);
        let role = if entry.result == "done" {
            Role::Good
        } else {
            Role::Bad
        };
        column(out, role, &entry.result, 11);
        column(out, Role::Text, &entry.verb, 8);
        column(
            out,
            Role::Text,
            &format!("{}: {}", entry.context, entry.app),
            app,
        );
        say(out, Role::Dim, &entry.words);
    });
    parts.columns = titles(&[
        ("TIME", 20),
        ("RESULT", 11),
        ("ACT", 8),
        ("APP", app),
        ("WORDS", 10),
    ]);
    if parts.rows.is_empty() {
        parts.rows = vec![
            Line::default(),
            line(Role::Dim, "  nothing was done from here yet"),
        ];
    }
    parts
}
