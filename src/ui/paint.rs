//! From roles to cells: lines of spans laid into a rectangle, every foreign text made safe on the way.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Clear;

use super::theme::Theme;
use crate::domain::text::{Line, Role, clean_line, pad, truncate, width};

/// What a state looks like.
pub(super) fn state_role(state: crate::domain::fleet::AppState) -> Role {
    use crate::domain::fleet::AppState;
    match state {
        AppState::Failed => Role::Bad,
        AppState::Drifted | AppState::Both => Role::Drift,
        AppState::GitAhead => Role::Ahead,
        AppState::Unknown => Role::Unknown,
        AppState::Progressing => Role::Progress,
        AppState::Held | AppState::Excepted => Role::Held,
        AppState::AdditionsOnly => Role::Dim,
        AppState::InSync => Role::Good,
    }
}

/// Appends one column: `text` made safe and cut or filled to `cells`, and one blank after it.
pub(super) fn column(line: &mut Line, role: Role, text: &str, cells: usize) {
    if cells > 0 {
        line.push(role, pad(&clean_line(text), cells));
        line.push(Role::Text, " ");
    }
}

/// Appends text made safe.
pub(super) fn say(line: &mut Line, role: Role, text: &str) {
    line.push(role, clean_line(text).into_owned());
}

/// Makes a line of one role.
pub(super) fn line(role: Role, text: &str) -> Line {
    let mut out = Line::default();
    say(&mut out, role, text);
    out
}

/// Draws one line at the top of `area`, over `base`.
pub(super) fn put(frame: &mut Frame<'_>, area: Rect, line: &Line, theme: &Theme, base: Style) {
    let area = area.intersection(frame.area());
    if area.is_empty() {
        return;
    }
    let buffer = frame.buffer_mut();
    buffer.set_style(Rect { height: 1, ..area }, base);
    let mut left = usize::from(area.width);
    let mut x = area.x;
    for span in &line.spans {
        if left == 0 {
            break;
        }
        let text = truncate(&span.text, left);
        let style = base.patch(theme.style(span.role));
        // the ground of a selected row stays under what has no ground of its own
        let style = if base.bg.is_some() && theme.style(span.role).bg.is_none() {
            Style {
                bg: base.bg,
                ..style
            }
        } else {
            style
        };
        buffer.set_stringn(x, area.y, text.as_ref(), left, style);
        let used = width(&text).min(left);
        x += used as u16;
        left -= used;
    }
}

/// Draws lines from the top of `area`; the row `selected` carries the cursor.
pub(super) fn list(
    frame: &mut Frame<'_>,
    area: Rect,
    lines: &[Line],
    selected: Option<usize>,
    theme: &Theme,
) {
    for (at, line) in lines.iter().take(usize::from(area.height)).enumerate() {
        let row = Rect {
            y: area.y + at as u16,
            height: 1,
            ..area
        };
        let base = if selected == Some(at) {
            theme.style(Role::Text).patch(theme.style(Role::Selected))
        } else {
            theme.style(Role::Text)
        };
        put(frame, row, line, theme, base);
    }
}

/// Clears a centred box of at most this size, frames it, and returns its inside.
pub(super) fn sheet(
    frame: &mut Frame<'_>,
    title: &str,
    wide: u16,
    high: u16,
    theme: &Theme,
) -> Rect {
    let all = frame.area();
    let (w, h) = (wide.min(all.width), high.min(all.height));
    let area = Rect {
        x: all.x + (all.width - w) / 2,
        y: all.y + (all.height - h) / 2,
        width: w,
        height: h,
    };
    frame.render_widget(Clear, area);
    frame.buffer_mut().set_style(area, theme.style(Role::Text));
    if w < 4 || h < 3 {
        return area;
    }
    let (rule, style) = ("─".repeat(usize::from(w) - 2), theme.style(Role::Border));
    let buffer = frame.buffer_mut();
    buffer.set_string(area.x, area.y, format!("╭{rule}╮"), style);
    buffer.set_string(area.x, area.bottom() - 1, format!("╰{rule}╯"), style);
    for y in area.y + 1..area.bottom() - 1 {
        buffer.set_string(area.x, y, "│", style);
        buffer.set_string(area.right() - 1, y, "│", style);
    }
    let title = format!(" {} ", clean_line(title));
    let title = truncate(&title, usize::from(w).saturating_sub(4)).into_owned();
    buffer.set_string(area.x + 2, area.y, title, theme.style(Role::Title));
    Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: w - 4,
        height: h - 2,
    }
}

/// Breaks a text into lines of at most `cells` cells: at blanks where there are some, else anywhere, so that the end of
/// a long path is not lost.
pub(super) fn wrap(text: &str, cells: usize) -> Vec<String> {
    let cells = cells.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in clean_line(text).split_inclusive(' ') {
        let w = width(word.trim_end());
        if used + w > cells && used > 0 {
            lines.push(String::new());
            used = 0;
        }
        for letter in word.chars() {
            let w = width(letter.encode_utf8(&mut [0; 4]));
            if used + w > cells && letter != ' ' {
                lines.push(String::new());
                used = 0;
            }
            if let Some(last) = lines.last_mut() {
                last.push(letter);
            }
            used += w;
        }
    }
    lines
}
