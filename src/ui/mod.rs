//! Paints a session into a frame; decides nothing.
//!
//! [`draw`] takes the session by shared reference: it scrolls nothing, sorts nothing and reads no clock. Text is built
//! as lines of roles and becomes cells in one place ([`paint`]), where the theme has the last word. All foreign text
//! is made safe before it is drawn; states are told by sign and word, colour only helps.

mod apps;
mod diff;
mod highlight;
mod paint;
mod sheets;
mod theme;
mod views;

use ratatui::Frame;
use ratatui::layout::Rect;

use self::paint::{line, list, put, say, state_role};
use crate::domain::fleet::ContextState;
use crate::domain::text::{Line, Role, truncate, width};
use crate::session::action::{Risk, entry_of};
use crate::session::screen::Screen;
use crate::session::{Session, Tone};

pub use theme::{Depth, Theme};

/// Paints the session.
pub fn draw(session: &Session, frame: &mut Frame<'_>, theme: &Theme) {
    let all = frame.area();
    if all.is_empty() {
        return;
    }
    frame.buffer_mut().set_style(all, theme.style(Role::Text));
    // the session lays out for the size it was told; another size is drawn as far as it goes
    let layout = crate::session::layout::Layout::of(session.screen(), all.height);
    let mut y = all.y;
    let mut take = |height: u16| {
        let area = Rect { y, height, ..all };
        y += height;
        area
    };
    header(session, frame, take(layout.header), theme);
    let (summary, columns, body, panel) = (
        take(layout.summary),
        take(layout.columns),
        take(layout.list),
        take(layout.panel),
    );
    let footer = take(layout.footer);
    let parts = match session.screen() {
        Screen::Fleet(screen) => apps::fleet(session, screen, body, panel),
        Screen::App(screen) => apps::app(session, screen, summary, body),
        Screen::Diff(screen) => diff::diff(session, screen, body, panel),
        Screen::Drift(screen) => views::drift(session, screen, body, panel),
        Screen::Contexts(at) => views::contexts(session, *at, body),
        Screen::Journal(at) => views::journal(session, *at, body),
    };
    list(frame, summary, &parts.summary, None, theme);
    list(
        frame,
        columns,
        std::slice::from_ref(&parts.columns),
        None,
        theme,
    );
    list(frame, body, &parts.rows, parts.selected, theme);
    list(frame, panel, &parts.panel, None, theme);
    hints(session, frame, footer, theme);
    notice(session, frame, footer, theme);
    for sheet in &session.sheets {
        sheets::sheet(session, sheet, frame, theme);
    }
}

/// What a screen puts into its parts.
#[derive(Debug, Default)]
struct Parts {
    summary: Vec<Line>,
    columns: Line,
    rows: Vec<Line>,
    selected: Option<usize>,
    panel: Vec<Line>,
}

fn header(session: &Session, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    let mut top = Line::default();
    let trail: Vec<&str> = session.trail().collect();
    say(&mut top, Role::Title, &format!(" {} ", trail.join(" › ")));
    if session.options.read_only {
        top.push(Role::Badge, " read-only ");
        top.push(Role::Text, " ");
    }
    if let Some(app) = session
        .app_at()
        .filter(|_| trail.len() > 1 && !matches!(session.screen(), Screen::Drift(_)))
    {
        say(&mut top, Role::Text, &app.to_string());
        top.push(Role::Text, "  ");
    }
    for (state, count) in session.fleet.counts() {
        if count > 0 {
            top.push(
                state_role(state),
                format!("{} {count} {}", state.sign(), state.word()),
            );
            top.push(Role::Text, "  ");
        }
    }
    put(
        frame,
        Rect {
            height: area.height.min(1),
            ..area
        },
        &top,
        theme,
        theme.style(Role::Text),
    );
    if area.height > 1 {
        let mut second = Line::default();
        second.push(
            Role::Dim,
            format!(
                " {} apps in {} contexts",
                session.fleet.len(),
                session.fleet.contexts().count()
            ),
        );
        for context in session
            .fleet
            .contexts()
            .filter(|c| c.state != ContextState::Ready)
        {
            let role = if context.state == ContextState::Connecting {
                Role::Progress
            } else {
                Role::Unknown
            };
            second.push(Role::Dim, " · ");
            say(
                &mut second,
                role,
                &format!("{} {}", context.name, context.state.word()),
            );
        }
        if let Screen::Fleet(fleet) = session.screen() {
            if !fleet.filter.is_empty() {
                second.push(Role::Dim, " · filter ");
                say(&mut second, Role::Key, &fleet.filter);
                second.push(Role::Dim, format!(" ({} shown)", fleet.rows.len()));
            }
            if !fleet.marked.is_empty() {
                second.push(Role::Marked, format!(" · {} marked", fleet.marked.len()));
            }
        }
        if let Some(waiting) = session.waiting() {
            second.push(Role::Dim, " · ");
            say(&mut second, Role::Progress, &format!("… {waiting}"));
        }
        put(
            frame,
            Rect {
                y: area.y + 1,
                height: 1,
                ..area
            },
            &second,
            theme,
            theme.style(Role::Text),
        );
    }
}

/// Draws the keys that matter here, as many as fit.
fn hints(session: &Session, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    let mut out = Line::default();
    out.push(Role::Text, " ");
    let mut room = usize::from(area.width).saturating_sub(1);
    let mut actions: Vec<_> = session
        .actions()
        .into_iter()
        .filter(|(entry, why)| why.is_none() && !entry.short.is_empty())
        .collect();
    // help stays, whatever else has to go
    actions.sort_by_key(|(entry, _)| entry.action != crate::session::action::Action::Help);
    for (entry, _) in actions {
        let keys = session.options.keymap.of(entry.action);
        let Some(key) = keys.first() else { continue };
        let (key, word) = (key.to_string(), entry_of(entry.action).short);
        let cells = width(&key) + width(word) + 3;
        if cells > room {
            break;
        }
        room -= cells;
        out.push(
            if entry.risk == Risk::None {
                Role::Key
            } else {
                Role::Drift
            },
            key,
        );
        out.push(Role::Dim, format!(" {word}  "));
    }
    put(frame, area, &out, theme, theme.style(Role::Text));
}

/// Draws the newest notice over the hints for as long as it lasts.
fn notice(session: &Session, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    let Some(notice) = session.notice() else {
        return;
    };
    let (role, sign) = match notice.tone {
        Tone::Good => (Role::Good, "✓"),
        Tone::Plain => (Role::Text, "·"),
        Tone::Bad => (Role::Bad, "!"),
    };
    let text = crate::domain::text::clean_line(&notice.text).into_owned();
    let text = truncate(&text, usize::from(area.width).saturating_sub(4)).into_owned();
    let out = line(role, &format!(" {sign} {text}"));
    let blank = " ".repeat(usize::from(area.width));
    put(
        frame,
        area,
        &line(Role::Text, &blank),
        theme,
        theme.style(Role::Text),
    );
    put(frame, area, &out, theme, theme.style(Role::Text));
}
