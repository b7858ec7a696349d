//! The fleet and one app.

use jiff::Timestamp;
use ratatui::layout::Rect;

use super::Parts;
use super::paint::{column, line, say, state_role, wrap};
use crate::domain::drift::ObjectState;
use crate::domain::fleet::{App, AppState};
use crate::domain::text::{Line, Role, age};
use crate::session::Session;
use crate::session::screen::{AppScreen, FleetScreen, ObjectRow};

/// Widths of the fleet's columns: what does not fit is left out, the least needed first.
#[derive(Debug, Clone, Copy, Default)]
struct Widths {
    state: usize,
    context: usize,
    kind: usize,
    namespace: usize,
    name: usize,
    drift: usize,
    age: usize,
    revision: usize,
    by: usize,
    message: usize,
}

impl Widths {
    fn of(cells: usize, session: &Session, screen: &FleetScreen) -> Self {
        let longest = |get: &dyn Fn(&App) -> usize, most: usize, least: usize| {
            screen
                .rows
                .iter()
                .filter_map(|at| session.fleet.at(*at))
                .map(get)
                .max()
                .unwrap_or(0)
                .clamp(least, most)
        };
        let mut left = cells.saturating_sub(2);
        let mut take = |want: usize| {
            if want < left {
                left -= want + 1;
                want
            } else {
                0
            }
        };
        let many = |text: &str| crate::domain::text::width(text);
        let state = if cells < 40 { take(1) } else { take(16) };
        let name = take(longest(
            &|a| many(&a.app.target.name),
            (cells / 4).max(10),
            8,
        ));
        let drift = take(5);
        let context = take(longest(&|a| many(&a.app.context), (cells / 6).max(10), 7));
        let age = take(5);
        let kind = take(4);
        let namespace = take(longest(
            &|a| many(&a.app.target.namespace),
            (cells / 7).max(9),
            9,
        ));
        let revision = if cells >= 110 { take(17) } else { 0 };
        let by = if cells >= 120 { take(18) } else { 0 };
        let message = left.saturating_sub(1);
        Self {
            state,
            context,
            kind,
            namespace,
            name,
            drift,
            age,
            revision,
            by,
            message: if message < 8 { 0 } else { message },
        }
    }

    fn titles(self) -> Line {
        let mut out = Line::default();
        out.push(Role::Text, "  ");
        for (text, cells) in [
            ("STATE", self.state),
            ("CONTEXT", self.context),
            ("KIND", self.kind),
            ("NAMESPACE", self.namespace),
            ("NAME", self.name),
            ("DRIFT", self.drift),
            ("SINCE", self.age),
            ("APPLIED › WANTED", self.revision),
            ("BY", self.by),
            ("WHY", self.message),
        ] {
            column(&mut out, Role::Dim, text, cells);
        }
        out
    }
}

pub(super) fn fleet(session: &Session, screen: &FleetScreen, area: Rect, panel: Rect) -> Parts {
    let widths = Widths::of(usize::from(area.width), session, screen);
    let rows: Vec<Line> = screen
        .rows
        .iter()
        .skip(screen.list.top)
        .take(usize::from(area.height))
        .enumerate()
        .filter_map(|(at, index)| {
            let app = session.fleet.at(*index)?;
            Some(fleet_row(
                session,
                app,
                widths,
                screen.marked.contains(&app.app),
                at + screen.list.top == screen.list.at,
            ))
        })
        .collect();
    let mut parts = Parts {
        columns: widths.titles(),
        selected: screen.list.at.checked_sub(screen.list.top),
        rows,
        ..Parts::default()
    };
    if screen.rows.is_empty() {
        parts.selected = None;
        parts.rows = vec![
            Line::default(),
            line(Role::Dim, &format!("  {}", nothing(session, screen))),
        ];
    }
    if let Some(app) = screen
        .rows
        .get(screen.list.at)
        .and_then(|at| session.fleet.at(*at))
        .filter(|_| panel.height > 0)
    {
        let mut why = Line::default();
        why.push(Role::Border, "─".repeat(usize::from(panel.width)));
        parts.panel.push(why);
        parts
            .panel
            .push(line(Role::Text, &format!("  {}", why_words(app))));
        parts
            .panel
            .push(line(Role::Dim, &format!("  {}", source_words(app))));
    }
    parts
}

fn nothing(session: &Session, screen: &FleetScreen) -> &'static str {
    if !screen.filter.is_empty() {
        "nothing matches the filter; esc takes it away"
    } else if session.fleet.contexts().any(|c| !c.settled()) {
        "waiting for the contexts to answer"
    } else if session.fleet.contexts().next().is_none() {
        "no context is configured"
    } else {
        "no Kustomization, HelmRelease or Application was found"
    }
}

fn since(at: Option<Timestamp>, now: Timestamp) -> String {
    at.map_or(String::new(), |at| age(now.as_second() - at.as_second()))
}

/// Shortens a revision to what a person reads: nine digits of a commit, else the text.
fn short(revision: Option<&str>) -> String {
    let Some(revision) = revision else {
        return "-".to_owned();
    };
    match crate::domain::fleet::commit_of(revision) {
        Some(commit) => commit.chars().take(7).collect(),
        None => revision.to_owned(),
    }
}

fn fleet_row(session: &Session, app: &App, w: Widths, marked: bool, cursor: bool) -> Line {
    let role = state_role(app.state);
    let mut out = Line::default();
    out.push(Role::Key, if cursor { "▌" } else { " " });
    out.push(Role::Marked, if marked { "●" } else { " " });
    let state = if w.state > 1 {
        format!("{} {}", app.state.sign(), app.state.word())
    } else {
        app.state.sign().to_string()
    };
    column(&mut out, role, &state, w.state);
    column(&mut out, Role::Text, &app.app.context, w.context);
    column(&mut out, Role::Dim, app.app.target.kind.short(), w.kind);
    column(&mut out, Role::Dim, &app.app.target.namespace, w.namespace);
    column(&mut out, Role::Text, &app.app.target.name, w.name);
    let drift = app
        .current_drift()
        .map_or(String::new(), |d| match (d.drifted, d.additions) {
            (0, 0) => "-".to_owned(),
            (0, more) => format!("+{more}"),
            (some, _) => some.to_string(),
        });
    column(
        &mut out,
        if drift == "-" { Role::Dim } else { role },
        &drift,
        w.drift,
    );
    column(&mut out, Role::Dim, &since(app.since, session.now), w.age);
    let revision = match (short(app.applied.as_deref()), short(app.wanted.as_deref())) {
        (applied, wanted) if applied == wanted => applied,
        (applied, wanted) => format!("{applied} › {wanted}"),
    };
    column(&mut out, Role::Dim, &revision, w.revision);
    let owner = app.current_drift().and_then(|d| d.owner.as_ref());
    let hand = if owner.is_some_and(|o| o.class == "person") {
        Role::Person
    } else {
        Role::Automation
    };
    column(&mut out, hand, owner.map_or("", |o| &o.manager), w.by);
    column(
        &mut out,
        Role::Dim,
        session.running_on(&app.app).map_or_else(
            || {
                app.cause
                    .as_deref()
                    .or(app.message.as_deref())
                    .unwrap_or_default()
            },
            |act| act.words.as_str(),
        ),
        w.message,
    );
    out
}

/// One sentence why the app is as it is, with the next step.
fn why_words(app: &App) -> String {
    let next = match app.state {
        AppState::Failed => "i shows its conditions",
        AppState::Drifted => "d shows what was edited live: accept, revert or hold it",
        AppState::GitAhead => "s syncs it",
        AppState::Both => "d shows what a sync would undo",
        AppState::Unknown => "i shows what is known",
        AppState::Progressing => "it is under way",
        AppState::Held => "p gives it back to its controller",
        AppState::Excepted => "its exception runs out by itself",
        AppState::AdditionsOnly => "d shows what only live has",
        AppState::InSync => "nothing to do",
    };
    let cause = app
        .cause
        .as_deref()
        .or(app.message.as_deref())
        .unwrap_or("Git and live agree");
    format!("{} {}: {cause}; {next}", app.state.sign(), app.state.word())
}

fn source_words(app: &App) -> String {
    let Some(source) = app.sources.first() else {
        return "no source is known".to_owned();
    };
    let path = if source.path.is_empty() {
        String::new()
    } else {
        format!(" at {}", source.path)
    };
    let url = if source.url.is_empty() {
        source.kind.word()
    } else {
        &source.url
    };
    format!(
        "{url}{path} ({})  applied {}  wanted {}",
        source.reference,
        short(app.applied.as_deref()),
        short(app.wanted.as_deref())
    )
}

pub(super) fn app(session: &Session, screen: &AppScreen, summary: Rect, area: Rect) -> Parts {
    let mut parts = Parts::default();
    if let Some(app) = session.fleet.get(&screen.app) {
        parts.summary = app_summary(session, app, summary);
    } else {
        parts.summary.push(line(Role::Bad, "  this app is gone"));
    }
    let wide = usize::from(area.width);
    let name = (wide / 3).clamp(12, 60);
    column(&mut parts.columns, Role::Dim, "  VERDICT", 14);
    column(&mut parts.columns, Role::Dim, "KIND", 18.min(wide / 5));
    column(&mut parts.columns, Role::Dim, "NAMESPACE/NAME", name);
    column(&mut parts.columns, Role::Dim, "FIELDS", 12);
    say(&mut parts.columns, Role::Dim, "WHY");
    parts.rows = screen
        .rows
        .iter()
        .skip(screen.list.top)
        .take(usize::from(area.height))
        .enumerate()
        .map(|(at, row)| {
            object_row(
                row,
                screen.marked.contains(&row.id),
                at + screen.list.top == screen.list.at,
                wide,
            )
        })
        .collect();
    parts.selected = screen
        .list
        .at
        .checked_sub(screen.list.top)
        .filter(|_| !screen.rows.is_empty());
    if screen.rows.is_empty() {
        parts.rows.push(line(Role::Dim, "  no object is known"));
    }
    let room = usize::from(area.height).saturating_sub(parts.rows.len() + 1);
    let problems = session
        .drift_of(&screen.app)
        .map_or(&[][..], |d| &d.problems);
    if !problems.is_empty() && room > 0 {
        parts.rows.push(Line::default());
        for fault in problems.iter().take(room) {
            parts.rows.push(line(Role::Bad, &format!("  ! {fault}")));
        }
    }
    parts
}

fn app_summary(session: &Session, app: &App, area: Rect) -> Vec<Line> {
    let mut lines: Vec<Line> = wrap(&why_words(app), usize::from(area.width).saturating_sub(4))
        .iter()
        .take(2)
        .map(|text| line(state_role(app.state), &format!("  {text}")))
        .collect();
    lines.push(line(Role::Dim, &format!("  {}", source_words(app))));
    let policy = app.policy;
    let yes = |flag: bool, word: &str| {
        if flag {
            word.to_owned()
        } else {
            format!("no {word}")
        }
    };
    let next = app.next.map_or(String::new(), |next| {
        format!(
            ", next pass in {}",
            age(next.as_second() - session.now.as_second())
        )
    });
    lines.push(line(
        Role::Dim,
        &format!(
            "  {}, {}, {}{next}",
            yes(policy.automated, "automated"),
            yes(policy.self_heal, "self-heal"),
            yes(policy.prune, "prune")
        ),
    ));
    match session.compared.get(&app.app) {
        None => lines.push(line(
            Role::Progress,
            if app.later.is_some() {
                "  not compared by this version"
            } else {
                "  … comparing Git and live"
            },
        )),
        Some(compared) => match &compared.result {
            Err(fault) => lines.push(line(
                Role::Unknown,
                &format!(
                    "  ? {fault}{}",
                    fault
                        .hint
                        .as_ref()
                        .map_or(String::new(), |h| format!("; {h}"))
                ),
            )),
            Ok(drift) => {
                let hidden = drift.hidden;
                lines.push(line(
                    Role::Dim,
                    &format!(
                        "  compared {} ago: {} objects; hidden: {} ignored, {} noise, {} foreign",
                        age(session.now.as_second() - compared.at.as_second()),
                        drift.objects.len(),
                        hidden.ignored,
                        hidden.noise,
                        hidden.foreign
                    ),
                ));
            }
        },
    }
    for condition in &app.conditions {
        let role = if condition.kind == "Ready" && condition.status == "False" {
            Role::Bad
        } else {
            Role::Dim
        };
        lines.push(line(
            role,
            &format!(
                "  {}={} {} {}",
                condition.kind, condition.status, condition.reason, condition.message
            ),
        ));
    }
    let last = usize::from(area.height).saturating_sub(1);
    lines.truncate(last);
    if area.height > 0 {
        let mut rule = Line::default();
        rule.push(Role::Border, "─".repeat(usize::from(area.width)));
        lines.resize(last, Line::default());
        lines.push(rule);
    }
    lines
}

/// What an object's state looks like.
fn object_role(state: Option<ObjectState>) -> (Role, char, &'static str) {
    match state {
        None => (Role::Dim, '·', "listed"),
        Some(ObjectState::Drifted) => (Role::Drift, '~', "drifted"),
        Some(ObjectState::Missing) => (Role::Bad, '-', "missing"),
        Some(ObjectState::Extra) => (Role::Drift, '+', "extra"),
        Some(ObjectState::Unknown) => (Role::Unknown, '?', "unknown"),
        Some(ObjectState::Ignored) => (Role::Dim, 'i', "ignored"),
        Some(ObjectState::InSync) => (Role::Good, '=', "in-sync"),
    }
}

fn object_row(row: &ObjectRow, marked: bool, cursor: bool, wide: usize) -> Line {
    let (role, sign, word) = object_role(row.state);
    let mut out = Line::default();
    out.push(Role::Key, if cursor { "▌" } else { " " });
    out.push(Role::Marked, if marked { "●" } else { " " });
    column(&mut out, role, &format!("{sign} {word}"), 12);
    column(&mut out, Role::Text, &row.id.kind, 18.min(wide / 5));
    let name = match &row.id.namespace {
        Some(namespace) => format!("{namespace}/{}", row.id.name),
        None => row.id.name.clone(),
    };
    column(&mut out, Role::Text, &name, (wide / 3).clamp(12, 60));
    let mut fields = vec![];
    if row.drifted > 0 {
        fields.push(format!("~{}", row.drifted));
    }
    if row.residual > 0 {
        fields.push(format!("+{}", row.residual));
    }
    if row.hidden > 0 {
        fields.push(format!("·{}", row.hidden));
    }
    column(&mut out, role, &fields.join(" "), 12);
    say(&mut out, Role::Dim, &row.words);
    out
}
