//! Git and live: side by side, unified, or as a table of fields; what is known of the field under the cursor below.

use std::ops::Range;

use ratatui::layout::Rect;
use unicode_segmentation::UnicodeSegmentation as _;

use super::paint::{column, line, say};
use super::{Parts, highlight};
use crate::domain::diff::{Piece, RowKind, Shown};
use crate::domain::drift::{FieldDrift, ObjectDrift, OwnerClass, Verdict};
use crate::domain::text::{Line, Role, clean_line, pad, width};
use crate::session::Session;
use crate::session::screen::{DiffScreen, UnifiedLine, View};

/// Cells of the blame column.
const BLAME: usize = 20;

pub(super) fn diff(session: &Session, screen: &DiffScreen, area: Rect, panel: Rect) -> Parts {
    let mut parts = Parts {
        columns: title(session, screen),
        selected: screen.list.at.checked_sub(screen.list.top),
        ..Parts::default()
    };
    let Some(object) = session.diff_object() else {
        parts.selected = None;
        parts.rows.push(line(
            Role::Dim,
            "  this object is no longer part of the app",
        ));
        return parts;
    };
    let wide = usize::from(area.width);
    let view = screen.list.top..screen.list.top + usize::from(area.height);
    let cursor = |at: usize| at == screen.list.at;
    parts.rows = match screen.view {
        View::SideBySide => cut(&screen.shown, view)
            .map(|(at, shown)| side_by_side(screen, object, *shown, cursor(at), wide))
            .collect(),
        View::Unified => cut(&screen.unified, view)
            .map(|(at, shown)| unified(screen, object, *shown, cursor(at), wide))
            .collect(),
        View::Fields => cut(&screen.listed, view)
            .filter_map(|(at, field)| {
                Some(field_row(
                    screen,
                    object.fields.get(*field)?,
                    cursor(at),
                    wide,
                ))
            })
            .collect(),
    };
    if parts.rows.is_empty() {
        parts.selected = None;
        parts.rows.push(line(
            Role::Dim,
            "  nothing differs here (. shows what is hidden)",
        ));
    }
    if panel.height > 0 {
        parts.panel = about(session, usize::from(panel.width));
    }
    parts
}

fn cut<T>(items: &[T], view: Range<usize>) -> impl Iterator<Item = (usize, &T)> {
    items.iter().enumerate().skip(view.start).take(view.len())
}

fn title(session: &Session, screen: &DiffScreen) -> Line {
    let mut out = Line::default();
    say(&mut out, Role::Title, &format!("  {}", screen.id));
    say(
        &mut out,
        Role::Dim,
        &format!(
            "  {} · {} change(s)",
            screen.view.word(),
            screen.stops.len()
        ),
    );
    let marked: usize = screen
        .marked
        .values()
        .map(std::collections::BTreeSet::len)
        .sum();
    if marked > 0 {
        out.push(Role::Marked, format!(" · {marked} marked"));
    }
    if screen.aligned.coarse() {
        out.push(
            Role::Unknown,
            " · too different to pair exactly: moved lines show as replaced",
        );
    }
    if let Some(hidden) = session.drift_of(&screen.app).map(|d| d.hidden) {
        let many = hidden.ignored + hidden.noise + hidden.foreign;
        if many > 0 && !screen.noise {
            out.push(Role::Dim, format!(" · {many} hidden in the app"));
        }
    }
    if screen.column > 0 {
        out.push(Role::Dim, format!(" · from column {}", screen.column + 1));
    }
    out
}

fn gutter(screen: &DiffScreen, field: Option<&FieldDrift>, cursor: bool) -> Line {
    let mut out = Line::default();
    out.push(Role::Key, if cursor { "▌" } else { " " });
    let marked = field.is_some_and(|f| screen.is_marked(&f.path));
    out.push(Role::Marked, if marked { "●" } else { " " });
    out
}

fn blame(out: &mut Line, screen: &DiffScreen, field: Option<&FieldDrift>, changed: bool) {
    if screen.blame {
        let owner = field.filter(|_| changed).and_then(|f| f.owners.first());
        let role = match owner.map(|o| o.class) {
            Some(OwnerClass::Person) => Role::Person,
            Some(OwnerClass::Automation) => Role::Automation,
            _ => Role::Dim,
        };
        column(out, role, owner.map_or("", |o| &o.manager), BLAME);
    }
}

/// Draws a fold; what is folded as noise is told apart from what is equal.
fn fold_line(screen: &DiffScreen, first: usize, rows: usize, cursor: bool) -> Line {
    let mut out = Line::default();
    out.push(Role::Key, if cursor { "▌" } else { " " });
    let quiet = screen
        .quiet
        .iter()
        .skip(first)
        .take(rows)
        .filter(|q| **q)
        .count();
    let words = match quiet {
        0 => format!("      ⋯ {rows} unchanged lines"),
        _ => format!("      ⋯ {rows} lines, {quiet} of them noise (. shows it)"),
    };
    out.push(Role::Fold, words);
    out
}

fn side_by_side(
    screen: &DiffScreen,
    object: &ObjectDrift,
    shown: Shown,
    cursor: bool,
    wide: usize,
) -> Line {
    let at = match shown {
        Shown::Fold { first, rows } => return fold_line(screen, first, rows, cursor),
        Shown::Row(at) => at,
    };
    let Some(row) = screen.aligned.rows().get(at).copied() else {
        return Line::default();
    };
    let field = screen
        .fields
        .get(at)
        .copied()
        .flatten()
        .and_then(|f| object.fields.get(f));
    let mut out = gutter(screen, field, cursor);
    blame(&mut out, screen, field, row.kind != RowKind::Same);
    let left = wide.saturating_sub(5 + if screen.blame { BLAME + 1 } else { 0 }) / 2;
    let (ours, theirs) = screen.aligned.words(row);
    let quiet = screen.is_quiet(at);
    let sign = match row.kind {
        RowKind::Same => " ",
        _ if quiet => "·",
        RowKind::Changed => "~",
        RowKind::Minus => "-",
        RowKind::Plus => "+",
    };
    let look = |side: Side| Look {
        side,
        kind: row.kind,
        quiet,
        column: screen.column,
    };
    text(
        &mut out,
        row.left.map(|l| screen.aligned.left(l)),
        &ours,
        look(Side::Git),
        left,
    );
    out.push(
        if quiet { Role::Dim } else { Role::Border },
        format!(" {sign} "),
    );
    text(
        &mut out,
        row.right.map(|l| screen.aligned.right(l)),
        &theirs,
        look(Side::Live),
        left,
    );
    out
}

fn unified(
    screen: &DiffScreen,
    object: &ObjectDrift,
    shown: UnifiedLine,
    cursor: bool,
    wide: usize,
) -> Line {
    if let UnifiedLine::Shown(Shown::Fold { first, rows }) = shown {
        return fold_line(screen, first, rows, cursor);
    }
    let at = shown.row();
    let Some(row) = screen.aligned.rows().get(at).copied() else {
        return Line::default();
    };
    let field = screen
        .fields
        .get(at)
        .copied()
        .flatten()
        .and_then(|f| object.fields.get(f));
    let mut out = gutter(screen, field, cursor);
    blame(&mut out, screen, field, row.kind != RowKind::Same);
    let (ours, theirs) = screen.aligned.words(row);
    let quiet = screen.is_quiet(at);
    let (sign, side, line, pieces, role) = match shown {
        UnifiedLine::Shown(_) => (
            " ",
            Side::Live,
            row.right.map(|l| screen.aligned.right(l)),
            theirs,
            Role::Text,
        ),
        UnifiedLine::Minus(_) => (
            "-",
            Side::Git,
            row.left.map(|l| screen.aligned.left(l)),
            ours,
            Role::Minus,
        ),
        UnifiedLine::Plus(_) => (
            "+",
            Side::Live,
            row.right.map(|l| screen.aligned.right(l)),
            theirs,
            Role::Plus,
        ),
    };
    out.push(if quiet { Role::Dim } else { role }, format!("{sign} "));
    let look = Look {
        side,
        kind: row.kind,
        quiet,
        column: screen.column,
    };
    text(
        &mut out,
        line,
        &pieces,
        look,
        wide.saturating_sub(4 + if screen.blame { BLAME + 1 } else { 0 }),
    );
    out
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Git,
    Live,
}

/// How a line is to look.
#[derive(Debug, Clone, Copy)]
struct Look {
    side: Side,
    kind: RowKind,
    quiet: bool,
    column: usize,
}

/// Appends a line of YAML in exactly `cells` cells: changed words in their roles, the rest as YAML.
fn text(out: &mut Line, line: Option<&str>, pieces: &[Piece], look: Look, cells: usize) {
    let Some(line) = line else {
        out.push(Role::Text, " ".repeat(cells));
        return;
    };
    let (whole, word) = match look.side {
        Side::Git => (Role::Minus, Role::MinusWord),
        Side::Live => (Role::Plus, Role::PlusWord),
    };
    let window = window(line, look.column, cells);
    let mut used = 0;
    let mut say = |out: &mut Line, range: Range<usize>, role: Role| {
        let range = range.start.max(window.start)..range.end.min(window.end);
        let Some(part) = line.get(range).filter(|p| !p.is_empty()) else {
            return;
        };
        let part = clean_line(part);
        let room = cells.saturating_sub(used);
        if width(&part) <= room {
            used += width(&part);
            out.push(role, part.into_owned());
        } else if room > 0 {
            used += room;
            out.push(role, pad(&part, room));
        }
    };
    if look.quiet {
        say(out, 0..line.len(), Role::Dim);
    } else if look.kind == RowKind::Same {
        for (range, role) in highlight::spans(line) {
            say(out, range, role);
        }
    } else {
        for piece in pieces {
            say(
                out,
                piece.range.clone(),
                if piece.changed { word } else { whole },
            );
        }
    }
    out.push(Role::Text, " ".repeat(cells.saturating_sub(used)));
}

/// Returns the bytes of a line that can be seen: from `column` on, some more than `cells` cells. Nothing outside it is
/// looked at again, so that a line of a megabyte costs one walk to its column.
fn window(line: &str, column: usize, cells: usize) -> Range<usize> {
    let (mut start, mut seen) = (line.len(), 0);
    for (at, grapheme) in line.grapheme_indices(true) {
        if seen >= column {
            start = at;
            break;
        }
        seen += width(grapheme).max(1);
    }
    let end = line[start..]
        .grapheme_indices(true)
        .nth(cells + 1)
        .map_or(line.len(), |(at, _)| start + at);
    start..end
}

fn value(v: Option<&serde_json::Value>) -> String {
    match v {
        None => "(not set)".to_owned(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => {
            let text = other.to_string();
            text.chars().take(400).collect()
        }
    }
}

fn verdict_role(field: &FieldDrift) -> Role {
    match field.verdict {
        Verdict::Drift => Role::Drift,
        Verdict::Held => Role::Held,
        Verdict::Unknown => Role::Unknown,
        Verdict::Residual => Role::Ahead,
        Verdict::Ignored | Verdict::Noise => Role::Dim,
    }
}

fn field_row(screen: &DiffScreen, field: &FieldDrift, cursor: bool, wide: usize) -> Line {
    let mut out = gutter(screen, Some(field), cursor);
    column(&mut out, verdict_role(field), field.verdict.word(), 8);
    blame(&mut out, screen, Some(field), true);
    let path = (wide / 2).clamp(10, 70);
    column(&mut out, Role::YamlKey, &field.path.to_string(), path);
    let rest = wide.saturating_sub(path + 14 + if screen.blame { BLAME + 1 } else { 0 });
    column(
        &mut out,
        Role::Minus,
        &value(field.git.as_ref()),
        (rest / 2).saturating_sub(2),
    );
    out.push(Role::Border, "→ ");
    column(
        &mut out,
        Role::Plus,
        &value(field.live.as_ref()),
        (rest / 2).saturating_sub(2),
    );
    out
}

/// What is known of the field under the cursor.
fn about(session: &Session, wide: usize) -> Vec<Line> {
    let mut rule = Line::default();
    rule.push(Role::Border, "─".repeat(wide));
    let Some(field) = session.field() else {
        return vec![
            rule,
            line(
                Role::Dim,
                "  n goes to the next change; space marks it, a accepts, u reverts",
            ),
        ];
    };
    let mut first = Line::default();
    say(&mut first, Role::Title, &format!("  {}", field.path));
    say(
        &mut first,
        verdict_role(field),
        &format!("  {} ({})", field.verdict.word(), field.status.word()),
    );
    if let Some(rule) = &field.rule {
        say(&mut first, Role::Dim, &format!("  {rule}"));
    }
    let mut second = Line::default();
    second.push(Role::Dim, "  git  ");
    say(&mut second, Role::Minus, &value(field.git.as_ref()));
    let mut live = Line::default();
    say(&mut live, Role::Plus, &value(field.live.as_ref()));
    let mut more = None;
    if width(&second.plain()) + width(&live.plain()) + 10 > wide {
        let mut own = line(Role::Dim, "  live ");
        own.spans.append(&mut live.spans);
        more = Some(own);
    } else {
        second.push(Role::Dim, "   live  ");
        second.spans.append(&mut live.spans);
    }
    let mut third = Line::default();
    third.push(Role::Dim, "  by   ");
    match field.owners.first() {
        None => third.push(Role::Dim, "nobody is known to hold it"),
        Some(owner) => {
            let role = if owner.class == OwnerClass::Person {
                Role::Person
            } else {
                Role::Automation
            };
            say(&mut third, role, &owner.manager);
            let time = owner.time.as_deref().unwrap_or("at an unknown time");
            say(
                &mut third,
                Role::Dim,
                &format!(
                    " ({}), {} {time}",
                    owner.class.word(),
                    owner.operation.as_deref().unwrap_or("")
                ),
            );
        }
    }
    let mut fourth = Line::default();
    fourth.push(Role::Dim, "  from ");
    match &field.origin {
        None => fourth.push(Role::Dim, "no line in Git"),
        Some(origin) => say(
            &mut fourth,
            Role::Text,
            &format!("{}:{} ({})", origin.file, origin.line, origin.step.word()),
        ),
    }
    let mut lines = vec![rule, first, second];
    lines.extend(more);
    lines.extend([third, fourth]);
    if let Some(note) = &field.note {
        lines.push(line(Role::Ahead, &format!("  {note}")));
    }
    lines
}
