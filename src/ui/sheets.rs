//! Dialogs, prompts, palette, help: what lies over a screen.

use ratatui::Frame;
use ratatui::layout::Rect;
use similar::{ChangeTag, TextDiff};

use super::highlight;
use super::paint::{column, line, list, put, say, sheet as boxed, wrap};
use super::theme::Theme;
use crate::domain::text::{Line, Role};
use crate::domain::yaml;
use crate::session::Session;
use crate::session::action::entry_of;
use crate::session::sheet::{Button, Confirm, Palette, Prompt, Purpose, Review, Scroll, Sheet};

pub(super) fn sheet(session: &Session, sheet: &Sheet, frame: &mut Frame<'_>, theme: &Theme) {
    let all = frame.area();
    match sheet {
        Sheet::Confirm(confirm) => confirm_sheet(confirm, frame, theme),
        Sheet::Accept(review) => review_sheet(review, frame, theme),
        Sheet::Prompt(prompt) => prompt_sheet(prompt, frame, theme),
        Sheet::Palette(palette) => palette_sheet(session, palette, true, frame, theme),
        Sheet::Menu(palette) => palette_sheet(session, palette, false, frame, theme),
        Sheet::Help(scroll) => text_sheet(scroll, false, frame, theme),
        Sheet::Text(scroll) => text_sheet(scroll, true, frame, theme),
        Sheet::Quit => {
            let area = boxed(frame, "quit", 44.min(all.width), 5, theme);
            list(
                frame,
                area,
                &[
                    Line::default(),
                    line(Role::Text, "Quit? Enter or y quits, any other key stays."),
                ],
                None,
                theme,
            );
        }
    }
}

/// Draws lines that scroll, and a last line that stays.
fn body(frame: &mut Frame<'_>, area: Rect, lines: &[Line], top: usize, last: &Line, theme: &Theme) {
    let room = usize::from(area.height.saturating_sub(2));
    let top = top.min(lines.len().saturating_sub(room));
    let upper = Rect {
        height: room as u16,
        ..area
    };
    list(
        frame,
        upper,
        lines.get(top..).unwrap_or_default(),
        None,
        theme,
    );
    if area.height > 0 {
        put(
            frame,
            Rect {
                y: area.bottom() - 1,
                height: 1,
                ..area
            },
            last,
            theme,
            theme.style(Role::Text),
        );
    }
    let below = lines.len().saturating_sub(top + room);
    if below > 0 && area.height > 1 {
        let more = line(Role::Dim, &format!("… {below} more lines below (down, j)"));
        put(
            frame,
            Rect {
                y: area.bottom() - 2,
                height: 1,
                ..area
            },
            &more,
            theme,
            theme.style(Role::Text),
        );
    }
}

fn button(out: &mut Line, text: &str, focus: bool) {
    out.push(
        if focus { Role::Badge } else { Role::Dim },
        if focus {
            format!("▸ {text} ◂")
        } else {
            format!("  {text}  ")
        },
    );
    out.push(Role::Text, "  ");
}

fn confirm_sheet(confirm: &Confirm, frame: &mut Frame<'_>, theme: &Theme) {
    let all = frame.area();
    let wide = all.width.min(100);
    let cells = usize::from(wide).saturating_sub(8);
    let mut lines = vec![];
    let mut sentence = |role: Role, lead: &str, text: &str| {
        for (at, part) in wrap(text, cells.saturating_sub(lead.len()))
            .iter()
            .enumerate()
        {
            lines.push(line(
                role,
                &if at == 0 {
                    format!("{lead}{part}")
                } else {
                    format!("{}{part}", " ".repeat(lead.len()))
                },
            ));
        }
    };
    for plan in &confirm.plans {
        let target = &plan.app.target;
        sentence(
            Role::Title,
            "",
            &format!(
                "{} {} {}/{} in context {}",
                plan.verb.word(),
                target.kind.kind(),
                target.namespace,
                target.name,
                plan.app.context
            ),
        );
        for warning in &plan.warnings {
            sentence(Role::Drift, "! ", warning);
        }
        for (at, step) in plan.steps.iter().enumerate() {
            sentence(Role::Text, &format!("{}. ", at + 1), &step.words);
            sentence(
                Role::Dim,
                "   ",
                &format!(
                    "as {}, to {} {}/{}",
                    step.manager(),
                    step.kind,
                    step.namespace.as_deref().unwrap_or("-"),
                    step.name
                ),
            );
            for text in yaml::emit(&step.shown()).lines() {
                sentence(Role::YamlString, "     ", text);
            }
        }
        sentence(Role::Text, "", "");
    }
    for fault in &confirm.faults {
        sentence(Role::Bad, "not planned: ", &fault.to_string());
    }
    let verb = confirm.plans.first().map_or("do it", |p| p.verb.word());
    let many = confirm.plans.len();
    let mut last = Line::default();
    button(&mut last, "Cancel", !confirm.act);
    let act = if many > 1 {
        format!("{verb} {many} apps")
    } else {
        verb.to_owned()
    };
    button(&mut last, &act, confirm.act);
    if !confirm.allowed() {
        last.push(Role::Dim, "type the name first");
    }
    let asked = if confirm.guard.is_some() { 2 } else { 0 };
    let high = (lines.len() as u16 + 4 + asked)
        .min(all.height.saturating_sub(2))
        .max(5);
    let area = boxed(frame, &format!("{verb}: the plan"), wide, high, theme);
    let Some(guard) = confirm.guard.as_ref().filter(|_| area.height > asked) else {
        return body(frame, area, &lines, confirm.scroll, &last, theme);
    };
    // The question stays in view however long the plan is.
    let question = format!("This context is guarded. Type its name: {guard}");
    let above = Rect {
        height: area.height - asked,
        ..area
    };
    let question = line(Role::Badge, &question);
    body(frame, above, &lines, confirm.scroll, &question, theme);
    let typed = line(Role::Key, &format!("> {}", confirm.typed));
    for (row, text) in [(2, &typed), (1, &last)] {
        let at = Rect {
            y: area.bottom() - row,
            height: 1,
            ..area
        };
        put(frame, at, text, theme, theme.style(Role::Text));
    }
}

/// Cells of the words before what the review of a backfill says.
const LEAD: usize = 12;

/// Wraps a line that does not fit, below what it says and not below the words before it.
fn hanging(whole: &Line, cells: usize) -> Vec<Line> {
    let text = whole.plain();
    let (Some(role), Some((lead, rest))) = (
        whole.spans.first().map(|s| s.role),
        text.split_at_checked(LEAD).filter(|_| cells > LEAD),
    ) else {
        return vec![whole.clone()];
    };
    wrap(rest, cells - LEAD)
        .iter()
        .enumerate()
        .map(|(at, part)| {
            let lead = if at == 0 { lead } else { "" };
            line(role, &format!("{lead:LEAD$}{part}"))
        })
        .collect()
}

fn review_sheet(review: &Review, frame: &mut Frame<'_>, theme: &Theme) {
    let all = frame.area();
    let proposal = &review.proposal;
    let plan = &proposal.plan;
    let mut lines = vec![
        line(Role::Text, &format!("repository  {}", proposal.repository)),
        line(
            Role::Text,
            &format!("branch      {}   (b changes it)", proposal.branch),
        ),
        line(
            Role::Text,
            &format!(
                "message     {}",
                proposal.message.lines().next().unwrap_or_default()
            ),
        ),
        line(
            if plan.proof.moved == 0 {
                Role::Good
            } else {
                Role::Bad
            },
            &format!(
                "proof       rendered again: {} accepted field(s) equal live, {} other field(s) moved",
                plan.proof.agree, plan.proof.moved
            ),
        ),
        Line::default(),
    ];
    for refused in &plan.refused {
        lines.push(line(
            Role::Bad,
            &format!(
                "refused     {} {}: {}",
                refused.wish.object, refused.wish.path, refused.reason
            ),
        ));
        lines.push(line(
            Role::Dim,
            &format!("            next: {}", refused.hint),
        ));
    }
    for also in &plan.also_changes {
        lines.push(line(
            Role::Drift,
            &format!("also moves  {}: {} {}", also.app, also.object, also.path),
        ));
    }
    for accepted in &plan.accepted {
        lines.push(line(
            Role::Text,
            &format!(
                "accepts     {} {}",
                accepted.wish.object, accepted.wish.path
            ),
        ));
        lines.push(line(
            Role::Dim,
            &format!("            written to {}", accepted.place),
        ));
    }
    let cells = usize::from(all.width.saturating_sub(4).max(20)) - 4;
    let mut lines: Vec<Line> = lines.iter().flat_map(|l| hanging(l, cells)).collect();
    for file in &plan.files {
        lines.push(Line::default());
        lines.push(line(Role::Title, &file.path));
        let (before, after) = (
            String::from_utf8_lossy(&file.before),
            String::from_utf8_lossy(&file.after),
        );
        for group in TextDiff::from_lines(before.as_ref(), after.as_ref())
            .grouped_ops(2)
            .iter()
            .flatten()
        {
            let diff = TextDiff::from_lines(before.as_ref(), after.as_ref());
            for change in diff.iter_changes(group) {
                let (sign, role) = match change.tag() {
                    ChangeTag::Equal => (' ', Role::Dim),
                    ChangeTag::Delete => ('-', Role::Minus),
                    ChangeTag::Insert => ('+', Role::Plus),
                };
                lines.push(line(
                    role,
                    &format!("{sign} {}", change.value().trim_end_matches('\n')),
                ));
            }
        }
    }
    let mut last = Line::default();
    button(&mut last, "Cancel", review.button == Button::Cancel);
    button(&mut last, "Commit", review.button == Button::Commit);
    button(&mut last, "Commit and push", review.button == Button::Push);
    if review.running.is_some() {
        last.push(Role::Progress, "… committing");
    } else if let Some(why) = review.why_not() {
        say(&mut last, Role::Bad, &why);
    }
    let area = boxed(
        frame,
        &format!("accept into Git: {}", review.app),
        all.width.saturating_sub(4).max(20),
        all.height.saturating_sub(2).max(5),
        theme,
    );
    body(frame, area, &lines, review.scroll, &last, theme);
}

fn prompt_sheet(prompt: &Prompt, frame: &mut Frame<'_>, theme: &Theme) {
    let (title, help) = match &prompt.purpose {
        Purpose::Filter => (
            "filter",
            "words, !word, ctx:prod* ns:shop kind:hr state:drifted drift:>0 by:kubectl* age:<2h label:a=b",
        ),
        Purpose::Search => ("search", "Enter goes to the first match, n and N to others"),
        Purpose::HoldReason(_) => (
            "hold: why",
            "the reason is kept on the app; Enter shows the plan",
        ),
        Purpose::Branch => ("branch", "the branch that the commit goes to"),
    };
    let all = frame.area();
    let area = boxed(frame, title, all.width.min(90), 5, theme);
    let mut typed = line(Role::Text, &prompt.text);
    typed.push(Role::Selected, " ");
    let below = match &prompt.wrong {
        Some(wrong) => line(Role::Bad, wrong),
        None => line(Role::Dim, help),
    };
    list(frame, area, &[typed, Line::default(), below], None, theme);
}

fn palette_sheet(
    session: &Session,
    palette: &Palette,
    typing: bool,
    frame: &mut Frame<'_>,
    theme: &Theme,
) {
    let all = frame.area();
    let high = (palette.items.len() as u16 + 4)
        .min(all.height.saturating_sub(2))
        .max(5);
    let area = boxed(
        frame,
        if typing {
            "run an action"
        } else {
            "what applies here"
        },
        all.width.min(100),
        high,
        theme,
    );
    let mut area = area;
    if typing {
        let mut typed = line(Role::Key, &format!(":{}", palette.text));
        typed.push(Role::Selected, " ");
        put(frame, area, &typed, theme, theme.style(Role::Text));
        area = Rect {
            y: area.y + 1,
            height: area.height.saturating_sub(1),
            ..area
        }
        .intersection(all);
    }
    let room = usize::from(area.height).max(1);
    let top = (palette.at + 1).saturating_sub(room);
    let rows: Vec<Line> = palette
        .items
        .iter()
        .enumerate()
        .skip(top)
        .take(room)
        .map(|(at, (action, why))| {
            let entry = entry_of(*action);
            let role = if why.is_some() { Role::Dim } else { Role::Text };
            let mut out = Line::default();
            out.push(Role::Key, if at == palette.at { "▌ " } else { "  " });
            column(
                &mut out,
                if why.is_some() { Role::Dim } else { Role::Key },
                &session.options.keymap.words(*action),
                14,
            );
            column(&mut out, role, entry.name, 16);
            say(&mut out, role, entry.words);
            if let Some(why) = why {
                say(&mut out, Role::Held, &format!(" — {why}"));
            }
            out
        })
        .collect();
    list(
        frame,
        area,
        &rows,
        palette.at.checked_sub(top).filter(|_| !rows.is_empty()),
        theme,
    );
}

fn text_sheet(scroll: &Scroll, code: bool, frame: &mut Frame<'_>, theme: &Theme) {
    let all = frame.area();
    let area = boxed(
        frame,
        &scroll.title,
        all.width.saturating_sub(4).clamp(20, 110),
        all.height.saturating_sub(2).max(4),
        theme,
    );
    let lines: Vec<Line> = scroll
        .lines
        .iter()
        .skip(scroll.top)
        .take(usize::from(area.height))
        .map(|text| {
            if !code {
                return line(
                    if text.starts_with(' ') {
                        Role::Text
                    } else {
                        Role::Title
                    },
                    text,
                );
            }
            let mut out = Line::default();
            for (range, role) in highlight::spans(text) {
                say(&mut out, role, text.get(range).unwrap_or_default());
            }
            out
        })
        .collect();
    list(frame, area, &lines, None, theme);
}
