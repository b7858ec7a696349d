//! The diff screen: which rows are shown, which field each row is, marks, hunks and search.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::Session;
use super::action::Action;
use super::list::List;
use super::message::Tone;
use super::screen::{DiffScreen, Screen, UnifiedLine, View};
use super::summary::counts;
use crate::domain::diff::{Aligned, RowKind, Shown, fields_of, fold};
use crate::domain::drift::{AppDrift, FieldDrift, FieldStatus, ObjectDrift, Verdict};
use crate::domain::fleet::AppRef;
use crate::domain::object::FieldPath;
use crate::domain::text::width;
use crate::domain::yaml::{self, Route};

/// Unchanged lines around a change at first.
const CONTEXT: usize = 3;

impl DiffScreen {
    /// Opens an object.
    pub(super) fn new(app: &AppRef, drift: &AppDrift, object: usize) -> Option<Self> {
        let mut screen = Self {
            app: app.clone(),
            object,
            id: drift.objects.get(object)?.id.clone(),
            view: View::SideBySide,
            context: CONTEXT,
            noise: false,
            blame: false,
            aligned: Arc::default(),
            shown: vec![],
            unified: vec![],
            fields: vec![],
            quiet: vec![],
            stops: vec![],
            listed: vec![],
            list: List::default(),
            column: 0,
            marked: BTreeMap::new(),
            search: String::new(),
        };
        screen.rebuild(drift);
        screen.first();
        Some(screen)
    }

    /// Works out what is shown, after another comparison or another object; the cursor stays where it can.
    pub(super) fn rebuild(&mut self, drift: &AppDrift) {
        let at = drift
            .objects
            .iter()
            .position(|o| o.id == self.id)
            .unwrap_or(self.object);
        let Some(object) = drift.objects.get(at) else {
            return;
        };
        self.object = at;
        self.id = object.id.clone();
        self.realign(object);
    }

    /// Puts both sides beside each other; live's without the noise, unless it is asked for.
    fn realign(&mut self, object: &ObjectDrift) {
        let text = |side: Option<&serde_json::Value>| side.map(yaml::emit).unwrap_or_default();
        let live = object.sides.live(self.noise);
        let (git_text, live_text) = (text(object.sides.git.as_ref()), text(live));
        self.aligned = Arc::new(Aligned::new(&git_text, &live_text));
        self.fields = row_fields(&self.aligned, object, live, (&git_text, &live_text));
        self.reshow(object);
    }

    /// Works out what is shown, after a switch.
    fn reshow(&mut self, object: &ObjectDrift) {
        let row = self.row();
        self.quiet = self.quiet_rows(object);
        self.stops = self.changes();
        self.refold();
        self.listed = (0..object.fields.len())
            .filter(|at| self.noise || object.fields.get(*at).is_some_and(is_shown))
            .collect();
        if let Some(row) = row {
            self.go_row(row);
        }
    }

    fn refold(&mut self) {
        self.shown = fold(&self.aligned, self.context, |row| !self.is_quiet(row));
        self.unified = unified(&self.aligned, &self.shown);
    }

    /// Finds the rows that differ without being a difference that is shown. Where a shown difference has no row of its
    /// own, no row is quiet: better too much on the screen than a drift that cannot be seen.
    fn quiet_rows(&self, object: &ObjectDrift) -> Vec<bool> {
        let one_side = object.sides.git.is_none() || object.sides.live.is_none();
        let shown = |at: usize| object.fields.get(at).is_some_and(is_shown);
        let placed: BTreeSet<usize> = self.fields.iter().flatten().copied().collect();
        let hidden_drift = (0..object.fields.len()).any(|at| shown(at) && !placed.contains(&at));
        let all = self.noise || one_side || hidden_drift;
        let rows = self.aligned.rows().iter().zip(&self.fields);
        rows.map(|(row, field)| !all && row.kind != RowKind::Same && !field.is_some_and(shown))
            .collect()
    }

    /// Tells whether a row differs without being a difference that is shown.
    pub fn is_quiet(&self, row: usize) -> bool {
        self.quiet.get(row).copied().unwrap_or(false)
    }

    fn changes(&self) -> Vec<usize> {
        let rows = self.aligned.rows();
        let counts =
            |at: usize| rows.get(at).is_some_and(|r| r.kind != RowKind::Same) && !self.is_quiet(at);
        (0..rows.len())
            .filter(|at| counts(*at) && !at.checked_sub(1).is_some_and(counts))
            .collect()
    }

    /// Returns how many lines the view shows.
    pub(super) fn count(&self) -> usize {
        match self.view {
            View::SideBySide => self.shown.len(),
            View::Unified => self.unified.len(),
            View::Fields => self.listed.len(),
        }
    }

    /// Returns the row under the cursor.
    pub fn row(&self) -> Option<usize> {
        match self.view {
            View::SideBySide => self.shown.get(self.list.at).map(|s| s.row()),
            View::Unified => self.unified.get(self.list.at).map(|l| l.row()),
            View::Fields => {
                let field = *self.listed.get(self.list.at)?;
                self.fields.iter().position(|f| *f == Some(field))
            }
        }
    }

    /// Returns the difference under the cursor, by its place in the object's fields.
    pub fn field(&self) -> Option<usize> {
        match self.view {
            View::Fields => self.listed.get(self.list.at).copied(),
            _ => self.fields.get(self.row()?).copied().flatten(),
        }
    }

    /// Puts the cursor on a row, or on the fold that holds it.
    fn go_row(&mut self, row: usize) {
        let at = match self.view {
            View::SideBySide => self.shown.iter().rposition(|s| s.row() <= row),
            View::Unified => self.unified.iter().position(|l| l.row() >= row),
            View::Fields => {
                let field = self.fields.get(row).copied().flatten();
                self.listed.iter().position(|f| Some(*f) == field)
            }
        };
        if let Some(at) = at {
            self.list.to(at);
        }
    }

    /// Puts the cursor on the first difference, scrolled so that its changed words are in view.
    fn first(&mut self) {
        self.list = List::default();
        self.column = 0;
        if let Some(row) = self.stops.first().copied() {
            self.go_row(row);
            self.reveal(row);
        }
    }

    /// Scrolls right where the changed words of a row stand far out.
    fn reveal(&mut self, row: usize) {
        let Some(row) = self
            .aligned
            .rows()
            .get(row)
            .copied()
            .filter(|r| r.kind == RowKind::Changed)
        else {
            return;
        };
        let (_, right) = self.aligned.words(row);
        let line = row.right.map_or("", |l| self.aligned.right(l));
        if let Some(piece) = right.iter().find(|p| p.changed) {
            let before = width(line.get(..piece.range.start).unwrap_or_default());
            self.column = if before > 60 { before - 20 } else { 0 };
        }
    }

    fn go_hunk(&mut self, forward: bool) {
        if self.view == View::Fields {
            let count = self.count();
            return self.list.by(if forward { 1 } else { -1 }, count);
        }
        let Some(row) = self.row() else { return };
        let found = if forward {
            self.stops.iter().find(|stop| **stop > row)
        } else {
            self.stops.iter().rfind(|stop| **stop < row)
        };
        if let Some(row) = found.copied() {
            self.go_row(row);
            self.reveal(row);
        }
    }

    /// Goes to the next line that holds the searched text, around the end.
    fn go_match(&mut self, forward: bool) {
        let needle = self.search.to_lowercase();
        let rows = self.aligned.rows();
        let (Some(from), false) = (self.row(), rows.is_empty()) else {
            return;
        };
        let holds = |row: usize| {
            rows.get(row).is_some_and(|r| {
                r.left
                    .is_some_and(|l| self.aligned.left(l).to_lowercase().contains(&needle))
                    || r.right
                        .is_some_and(|l| self.aligned.right(l).to_lowercase().contains(&needle))
            })
        };
        let found = (1..=rows.len())
            .map(|step| {
                if forward {
                    (from + step) % rows.len()
                } else {
                    (from + rows.len() - step) % rows.len()
                }
            })
            .find(|row| holds(*row));
        if let Some(row) = found {
            if !self.shown.contains(&Shown::Row(row)) {
                self.context = usize::MAX;
                self.refold();
            }
            self.go_row(row);
        }
    }

    fn mark(&mut self, object: &ObjectDrift, all: bool) {
        let paths: BTreeSet<FieldPath> = if all {
            object
                .fields
                .iter()
                .filter(|f| counts(f) || f.verdict == Verdict::Residual)
                .map(|f| f.path.clone())
                .collect()
        } else {
            self.field()
                .and_then(|at| object.fields.get(at))
                .map(|f| f.path.clone())
                .into_iter()
                .collect()
        };
        let marked = self.marked.entry(self.id.clone()).or_default();
        if !paths.is_empty() && paths.iter().all(|path| marked.contains(path)) {
            marked.retain(|path| !paths.contains(path));
        } else {
            marked.extend(paths);
        }
    }

    /// Tells whether a field of this object is marked.
    pub fn is_marked(&self, path: &FieldPath) -> bool {
        self.marked.get(&self.id).is_some_and(|m| m.contains(path))
    }
}

/// Tells whether a difference is shown without the noise.
fn is_shown(field: &FieldDrift) -> bool {
    !matches!(field.verdict, Verdict::Ignored | Verdict::Noise)
        && field.status != FieldStatus::ExtraForeign
}

fn unified(aligned: &Aligned, shown: &[Shown]) -> Vec<UnifiedLine> {
    let mut lines = Vec::with_capacity(shown.len());
    let mut plus: Vec<UnifiedLine> = vec![];
    for part in shown {
        let Shown::Row(at) = *part else {
            lines.append(&mut plus);
            lines.push(UnifiedLine::Shown(*part));
            continue;
        };
        match aligned.rows().get(at).map(|r| r.kind) {
            Some(RowKind::Changed) => {
                lines.push(UnifiedLine::Minus(at));
                plus.push(UnifiedLine::Plus(at));
            }
            Some(RowKind::Minus) => lines.push(UnifiedLine::Minus(at)),
            Some(RowKind::Plus) => plus.push(UnifiedLine::Plus(at)),
            _ => {
                lines.append(&mut plus);
                lines.push(UnifiedLine::Shown(*part));
            }
        }
    }
    lines.append(&mut plus);
    lines
}

/// Finds, for each row, the difference that it shows: the one at its field or at the nearest field above.
fn row_fields(
    aligned: &Aligned,
    object: &ObjectDrift,
    live_side: Option<&serde_json::Value>,
    (git, live): (&str, &str),
) -> Vec<Option<usize>> {
    if object.fields.is_empty() {
        return vec![None; aligned.rows().len()];
    }
    let index = |side: Option<&serde_json::Value>| -> HashMap<Route, usize> {
        let Some(side) = side else {
            return HashMap::new();
        };
        let routes = object.fields.iter().enumerate();
        routes
            .filter_map(|(at, f)| Some((f.path.route_in(side)?, at)))
            .collect()
    };
    let (left, right) = (index(object.sides.git.as_ref()), index(live_side));
    let (lefts, rights) = (fields_of(git), fields_of(live));
    let find = |line: Option<usize>, fields: &[Route], index: &HashMap<Route, usize>| {
        let mut route = fields.get(line?)?.clone();
        loop {
            if let Some(at) = index.get(&route) {
                return Some(*at);
            }
            route.0.pop()?;
        }
    };
    aligned
        .rows()
        .iter()
        .map(|row| find(row.right, &rights, &right).or_else(|| find(row.left, &lefts, &left)))
        .collect()
}

impl Session {
    /// Opens the diff of an object, on a field where one is named.
    pub(super) fn open_diff(&mut self, app: &AppRef, object: usize, field: Option<usize>) {
        let Some(mut screen) = self
            .drift_of(app)
            .and_then(|drift| DiffScreen::new(app, drift, object))
        else {
            return;
        };
        if let Some(row) =
            field.and_then(|field| screen.fields.iter().position(|f| *f == Some(field)))
        {
            screen.go_row(row);
        }
        self.screens.push(Screen::Diff(Box::new(screen)));
    }

    /// Returns the object that the diff shows.
    pub fn diff_object(&self) -> Option<&ObjectDrift> {
        let Screen::Diff(diff) = self.screen() else {
            return None;
        };
        self.drift_of(&diff.app)?.objects.get(diff.object)
    }

    /// Returns the difference under the cursor, by its place in the object's fields.
    pub(super) fn field_at(&self) -> Option<usize> {
        let Screen::Diff(diff) = self.screen() else {
            return None;
        };
        diff.field()
    }

    /// Returns the difference under the cursor.
    pub fn field(&self) -> Option<&FieldDrift> {
        self.diff_object()?.fields.get(self.field_at()?)
    }

    /// Returns the text that a copy of the line under the cursor takes.
    pub(super) fn field_text(&self) -> Option<String> {
        if let Some(field) = self.field() {
            let value = field.live.as_ref().or(field.git.as_ref())?;
            return Some(
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned),
            );
        }
        let Screen::Diff(diff) = self.screen() else {
            return None;
        };
        let row = diff.aligned.rows().get(diff.row()?)?;
        Some(match (row.right, row.left) {
            (Some(line), _) => diff.aligned.right(line).to_owned(),
            (None, Some(line)) => diff.aligned.left(line).to_owned(),
            (None, None) => String::new(),
        })
    }

    /// Searches the diff.
    pub(super) fn search(&mut self, text: &str) {
        if let Some(Screen::Diff(diff)) = self.screen_mut() {
            text.clone_into(&mut diff.search);
            if !text.is_empty() {
                diff.go_match(true);
            }
        }
    }

    /// Does what an action is on the diff screen.
    pub(super) fn diff_act(&mut self, action: Action) {
        match action {
            Action::Inspect | Action::Owners => return self.inspect_field(),
            Action::NextObject | Action::PreviousObject => {
                return self.step_object(action == Action::NextObject);
            }
            _ => {}
        }
        let Some(object) = self.diff_object().cloned() else {
            return;
        };
        let mut hidden = None;
        if let Some(Screen::Diff(diff)) = self.screens.last_mut() {
            match action {
                Action::Next | Action::Previous if diff.search.is_empty() => {
                    diff.go_hunk(action == Action::Next);
                }
                Action::Next | Action::Previous => diff.go_match(action == Action::Next),
                Action::View => {
                    let row = diff.row();
                    diff.view = match diff.view {
                        View::SideBySide => View::Unified,
                        View::Unified => View::Fields,
                        View::Fields => View::SideBySide,
                    };
                    diff.list = List::default();
                    if let Some(row) = row {
                        diff.go_row(row);
                    }
                }
                Action::MoreContext => {
                    diff.context = diff.context.saturating_mul(2).max(1);
                    diff.reshow(&object);
                }
                Action::LessContext => {
                    diff.context = diff.context.min(diff.aligned.rows().len()) / 2;
                    diff.reshow(&object);
                }
                Action::Noise => {
                    let field = diff.field();
                    diff.noise = !diff.noise;
                    diff.realign(&object);
                    let same = |f: &Option<usize>| field.is_some() && *f == field;
                    if let Some(row) = diff.fields.iter().position(same) {
                        diff.go_row(row);
                    }
                    hidden = Some(diff.noise);
                }
                Action::Blame => diff.blame = !diff.blame,
                Action::Left => diff.column = diff.column.saturating_sub(8),
                Action::Right => diff.column = diff.column.saturating_add(8),
                Action::Mark => {
                    diff.mark(&object, false);
                    diff.list.by(1, diff.count());
                }
                Action::MarkAll => diff.mark(&object, true),
                _ => {}
            }
        }
        if let Some(shown) = hidden {
            let many = object.fields.iter().filter(|f| !is_shown(f)).count();
            self.tell(
                Tone::Plain,
                format!(
                    "{many} ignored, noise or foreign difference(s) {}",
                    if shown { "shown" } else { "hidden" }
                ),
            );
        }
    }

    fn step_object(&mut self, forward: bool) {
        let Screen::Diff(diff) = self.screen() else {
            return;
        };
        let Some(drift) = self
            .compared
            .get(&diff.app)
            .and_then(|c| c.result.clone().ok())
        else {
            return;
        };
        let differs = |at: &usize| {
            drift.objects.get(*at).is_some_and(|o| {
                o.fields.iter().any(is_shown) || o.sides.git.is_none() != o.sides.live.is_none()
            })
        };
        let found = if forward {
            (diff.object + 1..drift.objects.len()).find(differs)
        } else {
            (0..diff.object).rev().find(differs)
        };
        let Some(at) = found else {
            return self.tell(Tone::Plain, "no further object differs");
        };
        if let (Some(Screen::Diff(diff)), Some(object)) =
            (self.screens.last_mut(), drift.objects.get(at))
        {
            diff.id = object.id.clone();
            diff.object = at;
            diff.rebuild(&drift);
            diff.first();
        }
    }

    fn inspect_field(&mut self) {
        let Some(field) = self.field() else {
            return self.tell(Tone::Plain, "no difference is under the cursor");
        };
        let value = |v: &Option<serde_json::Value>| {
            v.as_ref()
                .map_or("(not set)".to_owned(), ToString::to_string)
        };
        let mut lines = vec![
            format!("field    {}", field.path),
            format!("status   {}", field.status.word()),
            format!("verdict  {}", field.verdict.word()),
            format!("git      {}", value(&field.git)),
            format!("live     {}", value(&field.live)),
        ];
        lines.extend(field.rule.iter().map(|rule| format!("reason   {rule}")));
        lines.extend(field.note.iter().map(|note| format!("note     {note}")));
        lines.extend([String::new(), "held by, last writer first".to_owned()]);
        for owner in &field.owners {
            lines.push(format!(
                "  {} {} {} {} {}",
                owner.manager,
                owner.operation.as_deref().unwrap_or("-"),
                owner.subresource.as_deref().unwrap_or("-"),
                owner.time.as_deref().unwrap_or("-"),
                owner.class.word()
            ));
        }
        lines.extend([String::new(), "from Git, last step first".to_owned()]);
        let mut origin = field.origin.as_ref();
        while let Some(at) = origin {
            lines.push(format!(
                "  {}:{} {} ({})",
                at.file,
                at.line,
                at.route,
                at.step.word()
            ));
            origin = at.before.as_ref();
        }
        let title = field.path.to_string();
        self.read(title, &lines);
    }
}
