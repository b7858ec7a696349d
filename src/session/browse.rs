//! Moving about: keys to actions, cursors, filters, and the rows of each screen.

use std::collections::BTreeSet;

use super::Session;
use super::action::Action;
use super::key::Key;
use super::list::List;
use super::message::{Effect, Mouse, Tone};
use super::screen::{AppScreen, DriftRow, DriftScreen, FleetScreen, ObjectRow, Screen};
use super::sheet::{Palette, Prompt, Purpose, Scroll, Sheet};
use super::summary::counts;
use crate::domain::drift::{AppDrift, ObjectDrift, ObjectState, OwnerClass, Verdict};
use crate::domain::fleet::{App, AppRef, Fleet, SortKey};
use crate::domain::text::width;
use crate::domain::yaml;

impl Session {
    pub(super) fn key(&mut self, key: Key) {
        if self.sheets.is_empty() {
            if let Some(action) = self.options.keymap.action(key, self.screen().on()) {
                self.act(action);
            }
        } else {
            self.sheet_key(key);
        }
    }

    pub(super) fn mouse(&mut self, mouse: Mouse) {
        if !self.sheets.is_empty() {
            return;
        }
        match mouse {
            Mouse::Wheel(rows) => self.move_by(rows as isize),
            Mouse::Click { row, .. } => {
                let layout = self.layout();
                let first = layout.header + layout.summary + layout.columns;
                if row >= first && row < first + layout.list {
                    let (count, at) = (self.count(), usize::from(row - first));
                    if let Some(list) = self.list_mut()
                        && list.top + at < count
                    {
                        list.to(list.top + at);
                        self.moved();
                    }
                }
            }
        }
    }

    /// Does what an action is, or says why not.
    pub(super) fn act(&mut self, action: Action) {
        if let Some(why) = self.why_not(action) {
            self.tell(
                Tone::Bad,
                format!("{}: {why}", super::action::entry_of(action).name),
            );
            return;
        }
        let half = (usize::from(self.layout().list) / 2).max(1).cast_signed();
        match action {
            Action::Down => self.move_by(1),
            Action::Up => self.move_by(-1),
            Action::HalfDown => self.move_by(half),
            Action::HalfUp => self.move_by(-half),
            Action::Top => self.move_by(isize::MIN + 1),
            Action::Bottom => self.move_by(isize::MAX),
            Action::Open | Action::Diff => self.open(action),
            Action::BackOrQuit if self.screens.len() == 1 => self.sheets.push(Sheet::Quit),
            Action::Back | Action::BackOrQuit => self.back(),
            Action::Quit => self.effects.push(Effect::Quit),
            Action::Redraw => self.effects.push(Effect::Redraw),
            Action::Suspend => self.effects.push(Effect::Suspend),
            Action::Reconnect => self.effects.push(Effect::Reconnect),
            Action::GoFleet => self.screens.truncate(1),
            Action::GoDrift => self.go(Screen::Drift(DriftScreen::default())),
            Action::GoContexts => self.go(Screen::Contexts(List::default())),
            Action::GoJournal => {
                self.effects.push(Effect::ReadJournal);
                self.go(Screen::Journal(List::default()));
            }
            Action::ReadOnly => {
                self.options.read_only = true;
                self.tell(
                    Tone::Plain,
                    "every write is off now; start the program anew to write again",
                );
            }
            Action::Mark | Action::MarkAll if !matches!(self.screen(), Screen::Diff(_)) => {
                self.mark(action);
            }
            Action::SortState => self.sort(SortKey::State),
            Action::SortName => self.sort(SortKey::Name),
            Action::SortAge => self.sort(SortKey::Age),
            Action::SortDrift => self.sort(SortKey::Drift),
            Action::SortContext => self.sort(SortKey::Context),
            Action::Compare => {
                if let Some(app) = self.app_at().cloned() {
                    self.compare(&app, true);
                    self.tell(Tone::Plain, format!("comparing {app} again"));
                }
            }
            Action::Accept => self.begin_accept(),
            Action::Sync
            | Action::SyncPrune
            | Action::Hold
            | Action::Refresh
            | Action::HardRefresh
            | Action::Terminate
            | Action::Revert => self.begin(action),
            Action::Help => self.sheets.push(Sheet::Help(self.help())),
            Action::Menu => {
                let items = self.actions();
                self.sheets.push(Sheet::Menu(Palette {
                    items: items
                        .into_iter()
                        .map(|(entry, why)| (entry.action, why))
                        .collect(),
                    ..Palette::default()
                }));
            }
            Action::Palette => {
                let mut palette = Palette::default();
                self.fill_palette(&mut palette);
                self.sheets.push(Sheet::Palette(palette));
            }
            Action::Filter => self.ask_filter(),
            Action::Yaml => self.show_yaml(),
            Action::Inspect => self.inspect(),
            Action::Copy => self.copy(),
            Action::Notices => {
                let lines: Vec<String> = self
                    .notices
                    .iter()
                    .rev()
                    .map(|n| format!("{}  {}", n.at, n.text))
                    .collect();
                self.read("notices", &lines);
            }
            Action::Next | Action::Previous if !matches!(self.screen(), Screen::Diff(_)) => {
                self.move_by(if action == Action::Next { 1 } else { -1 });
            }
            _ => self.diff_act(action),
        }
    }

    fn ask_filter(&mut self) {
        let (purpose, text) = match self.screen() {
            Screen::Diff(diff) => (Purpose::Search, diff.search.clone()),
            Screen::Fleet(fleet) => (Purpose::Filter, fleet.filter.clone()),
            _ => return,
        };
        self.sheets.push(Sheet::Prompt(Prompt {
            purpose,
            before: text.clone(),
            text,
            wrong: None,
        }));
    }

    /// Shows a text to read.
    pub(super) fn read(&mut self, title: impl Into<String>, lines: &[String]) {
        let wide = usize::from(self.size.0.saturating_sub(4).clamp(20, 110)) - 4;
        let lines = lines.iter().flat_map(|line| wrapped(line, wide)).collect();
        self.sheets.push(Sheet::Text(Scroll {
            title: title.into(),
            lines,
            top: 0,
        }));
    }

    fn go(&mut self, screen: Screen) {
        self.screens.truncate(1);
        self.screens.push(screen);
        self.refresh();
    }

    /// Leaves the top screen; on the root, takes marks and the filter away.
    fn back(&mut self) {
        if self.screens.len() > 1 {
            self.screens.pop();
            self.refresh();
        } else if let Some(Screen::Fleet(fleet)) = self.screen_mut() {
            if fleet.marked.is_empty() {
                fleet.filter.clear();
                fleet.query = crate::domain::fleet::Query::default();
            } else {
                fleet.marked.clear();
            }
            self.refresh();
        }
    }

    /// Returns why there is nothing to open under the cursor.
    pub(super) fn why_not_open(&self) -> Option<String> {
        let nothing = Some("nothing is under the cursor".to_owned());
        match self.screen() {
            Screen::Fleet(fleet) => fleet.rows.get(fleet.list.at).is_none().then_some(nothing)?,
            Screen::Drift(drift) => drift.rows.get(drift.list.at).is_none().then_some(nothing)?,
            Screen::App(app) => match app.rows.get(app.list.at) {
                None => nothing,
                Some(row) if row.index.is_none() => Some("it has not been compared".to_owned()),
                Some(_) => None,
            },
            _ => None,
        }
    }

    fn open(&mut self, action: Action) {
        match self.screen() {
            Screen::Fleet(_) => {
                let Some(app) = self.app_at().cloned() else {
                    return;
                };
                if !self.compared.contains_key(&app) {
                    self.compare(&app, true);
                }
                let first = self
                    .drift_of(&app)
                    .and_then(|d| d.objects.iter().position(is_urgent));
                self.screens.push(Screen::App(AppScreen {
                    app: app.clone(),
                    rows: vec![],
                    list: List::default(),
                    marked: BTreeSet::new(),
                }));
                self.refresh();
                if let (Action::Diff, Some(object)) = (action, first) {
                    self.open_diff(&app, object, None);
                }
            }
            Screen::App(screen) => {
                if let Some(object) = screen.rows.get(screen.list.at).and_then(|row| row.index) {
                    let app = screen.app.clone();
                    self.open_diff(&app, object, None);
                }
            }
            Screen::Drift(screen) => {
                if let Some(row) = screen.rows.get(screen.list.at).cloned() {
                    self.open_diff(&row.app, row.object, row.field);
                }
            }
            Screen::Contexts(list) => {
                let name = self
                    .fleet
                    .contexts()
                    .nth(list.at)
                    .map(|c| c.name.to_string());
                if let Some(name) = name {
                    self.screens.truncate(1);
                    self.set_filter(&format!("ctx:{}", name.replace(' ', "?")));
                }
            }
            Screen::Diff(_) => self.diff_act(Action::Inspect),
            Screen::Journal(_) => self.inspect(),
        }
    }

    /// Sets the fleet's filter; a filter that cannot be read changes nothing and says why.
    pub(super) fn set_filter(&mut self, text: &str) -> Option<String> {
        let wrong = match (text.parse(), self.screens.first_mut()) {
            (Ok(query), Some(Screen::Fleet(fleet))) => {
                text.clone_into(&mut fleet.filter);
                fleet.query = query;
                None
            }
            (Err(fault), _) => Some(fault_words(&fault)),
            _ => None,
        };
        self.refresh();
        wrong
    }

    fn mark(&mut self, action: Action) {
        let app = self.app_at().cloned();
        match self.screen_mut() {
            Some(Screen::Fleet(fleet)) => {
                if let Some(app) = app {
                    toggle(&mut fleet.marked, app);
                }
            }
            Some(Screen::App(screen)) if action == Action::MarkAll => {
                let all: BTreeSet<_> = screen
                    .rows
                    .iter()
                    .filter(|r| r.drifted + r.residual > 0)
                    .map(|r| r.id.clone())
                    .collect();
                screen.marked = if screen.marked == all {
                    BTreeSet::new()
                } else {
                    all
                };
                return;
            }
            Some(Screen::App(screen)) => {
                if let Some(row) = screen.rows.get(screen.list.at) {
                    toggle(&mut screen.marked, row.id.clone());
                }
            }
            _ => return,
        }
        self.move_by(1);
    }

    fn sort(&mut self, key: SortKey) {
        if let Some(Screen::Fleet(fleet)) = self.screen_mut() {
            fleet.sort = key;
        }
        self.refresh();
    }

    fn move_by(&mut self, rows: isize) {
        let count = self.count();
        if let Some(list) = self.list_mut() {
            list.by(rows, count);
        }
        self.moved();
    }

    /// Remembers what the cursor is on now.
    fn moved(&mut self) {
        let on = self.app_at().cloned();
        if let Some(Screen::Fleet(fleet)) = self.screen_mut() {
            fleet.on = if fleet.list.at == 0 { None } else { on };
        }
    }

    /// Returns how many rows the screen lists.
    pub fn count(&self) -> usize {
        match self.screen() {
            Screen::Fleet(fleet) => fleet.rows.len(),
            Screen::App(app) => app.rows.len(),
            Screen::Diff(diff) => diff.count(),
            Screen::Drift(drift) => drift.rows.len(),
            Screen::Contexts(_) => self.fleet.contexts().count(),
            Screen::Journal(_) => self.journal.len(),
        }
    }

    pub(super) fn list_mut(&mut self) -> Option<&mut List> {
        Some(match self.screens.last_mut()? {
            Screen::Fleet(FleetScreen { list, .. })
            | Screen::App(AppScreen { list, .. })
            | Screen::Drift(DriftScreen { list, .. })
            | Screen::Contexts(list)
            | Screen::Journal(list) => list,
            Screen::Diff(diff) => &mut diff.list,
        })
    }

    /// Keeps every cursor in view.
    pub(super) fn settle(&mut self) {
        let (count, height) = (self.count(), usize::from(self.layout().list));
        if let Some(list) = self.list_mut() {
            list.settle(count, height);
        }
    }

    /// Works the rows of the screens out anew, cursors kept on what they were on.
    pub(super) fn refresh(&mut self) {
        let now = self.now;
        let mut screens = std::mem::take(&mut self.screens);
        let last = screens.len().saturating_sub(1);
        for (at, screen) in screens.iter_mut().enumerate() {
            match screen {
                Screen::Fleet(fleet) => refresh_fleet(fleet, &self.fleet, now),
                Screen::App(app) => {
                    let drift = self.compared.get(&app.app).and_then(|c| c.drift());
                    // while nothing is compared, a cursor that was never moved waits on top for what drifted
                    let waits = |row: &&ObjectRow| row.index.is_none() && app.list.at == 0;
                    let on = app.rows.get(app.list.at).filter(|r| !waits(r));
                    let on = on.map(|r| r.id.clone());
                    app.rows = object_rows(self.fleet.get(&app.app), drift);
                    if let Some(at) = on.and_then(|id| app.rows.iter().position(|r| r.id == id)) {
                        app.list.to(at);
                    }
                }
                Screen::Diff(diff) if at == last => {
                    if let Some(drift) = self.compared.get(&diff.app).and_then(|c| c.drift()) {
                        diff.rebuild(drift);
                    }
                }
                Screen::Drift(drift) => {
                    let on = drift.rows.get(drift.list.at).cloned();
                    drift.rows = self.drift_rows();
                    if let Some(at) = on.and_then(|on| drift.rows.iter().position(|r| *r == on)) {
                        drift.list.to(at);
                    }
                }
                _ => {}
            }
        }
        self.screens = screens;
    }

    fn drift_rows(&self) -> Vec<DriftRow> {
        let mut apps: Vec<(&AppRef, &AppDrift)> = self
            .compared
            .iter()
            .filter_map(|(app, c)| Some((app, c.drift()?)))
            .collect();
        apps.sort_by_key(|(app, _)| *app);
        let mut rows = vec![];
        for (app, drift) in apps {
            for (at, object) in drift.objects.iter().enumerate() {
                let row = |field| DriftRow {
                    app: app.clone(),
                    object: at,
                    field,
                };
                if matches!(object.state, ObjectState::Missing | ObjectState::Extra) {
                    rows.push(row(None));
                }
                let fields = object.fields.iter().enumerate().filter(|(_, f)| counts(f));
                rows.extend(fields.map(|(field, _)| row(Some(field))));
            }
        }
        rows
    }

    fn show_yaml(&mut self) {
        let shown = match self.screen() {
            Screen::Diff(diff) => self
                .drift_of(&diff.app)
                .and_then(|d| d.objects.get(diff.object))
                .and_then(|o| Some((o.id.to_string(), o.sides.live(true).cloned()?))),
            Screen::App(screen) if !screen.rows.is_empty() => self
                .drift_of(&screen.app)
                .and_then(|d| d.objects.get(screen.rows.get(screen.list.at)?.index?))
                .and_then(|o| Some((o.id.to_string(), o.sides.live(true).cloned()?))),
            _ => self
                .app_at()
                .and_then(|app| self.fleet.get(app))
                .map(|app| (app.app.to_string(), app.object())),
        };
        match shown {
            Some((title, value)) => {
                let lines: Vec<String> = yaml::emit(&value).lines().map(str::to_owned).collect();
                self.read(title, &lines);
            }
            None => self.tell(Tone::Bad, "yaml: live does not have it"),
        }
    }

    fn inspect(&mut self) {
        match self.screen() {
            Screen::Diff(_) => self.diff_act(Action::Inspect),
            Screen::Journal(list) => {
                let line = self.journal.iter().rev().nth(list.at);
                let lines: Vec<String> = line.map_or(vec![], |l| {
                    vec![
                        format!("time     {}", l.time),
                        format!("context  {}", l.context),
                        format!("app      {}", l.app),
                        format!("act      {}", l.verb),
                        format!("result   {}", l.result),
                        String::new(),
                        l.words.clone(),
                    ]
                });
                self.read("journal", &lines);
            }
            Screen::Contexts(list) => {
                let lines: Vec<String> = self
                    .fleet
                    .contexts()
                    .nth(list.at)
                    .map_or(vec![], context_lines);
                self.read("context", &lines);
            }
            _ => {
                if let Some(app) = self.app_at().and_then(|app| self.fleet.get(app)) {
                    let (title, lines) = (app.app.to_string(), app_lines(app));
                    self.read(title, &lines);
                }
            }
        }
    }

    fn copy(&mut self) {
        let text = match self.screen() {
            Screen::Diff(_) => self.field_text(),
            Screen::App(screen) => screen
                .rows
                .get(screen.list.at)
                .map(|row| row.id.to_string()),
            Screen::Contexts(list) => self
                .fleet
                .contexts()
                .nth(list.at)
                .map(|c| c.name.to_string()),
            Screen::Journal(list) => self
                .journal
                .iter()
                .rev()
                .nth(list.at)
                .map(|l| l.words.clone()),
            _ => self.app_at().map(|app| app.target.to_string()),
        };
        if let Some(text) = text {
            self.tell(Tone::Plain, "copied to the clipboard");
            self.effects.push(Effect::Copy(text));
        }
    }
}

/// Returns a fault's sentence with its next step.
fn fault_words(fault: &crate::domain::fault::Fault) -> String {
    match &fault.hint {
        Some(hint) => format!("{}; {hint}", fault.sentence),
        None => fault.sentence.clone(),
    }
}

fn toggle<T: Ord>(set: &mut BTreeSet<T>, item: T) {
    if !set.remove(&item) {
        set.insert(item);
    }
}

fn is_urgent(object: &ObjectDrift) -> bool {
    object.state != ObjectState::InSync
}

fn refresh_fleet(screen: &mut FleetScreen, fleet: &Fleet, now: jiff::Timestamp) {
    screen.rows = fleet.rows(&screen.query, screen.sort, now);
    screen.marked.retain(|app| fleet.get(app).is_some());
    match &screen.on {
        Some(on) => {
            let index = fleet.index_of(on);
            if let Some(at) = screen.rows.iter().position(|row| Some(*row) == index) {
                screen.list.to(at);
            }
        }
        None => screen.list.to(0),
    }
}

/// The objects of an app: those of the comparison, or those of its inventory until there is one.
/// Wraps a line at its blanks, what goes on indented one step further; a word that is too long is cut anywhere.
fn wrapped(line: &str, wide: usize) -> Vec<String> {
    let indent = line.chars().take_while(|c| *c == ' ').count().min(wide / 2);
    let mut out = vec![];
    let mut row = " ".repeat(indent);
    let mut used = indent;
    for word in line.trim_start_matches(' ').split_inclusive(' ') {
        if used + width(word.trim_end()) > wide && used > indent + 2 {
            out.push(std::mem::replace(&mut row, " ".repeat(indent + 2)));
            used = indent + 2;
        }
        for letter in word.chars() {
            let cells = width(letter.encode_utf8(&mut [0; 4]));
            if used + cells > wide && letter != ' ' {
                out.push(std::mem::replace(&mut row, " ".repeat(indent + 2)));
                used = indent + 2;
            }
            row.push(letter);
            used += cells;
        }
    }
    out.push(row);
    out
}

fn object_rows(app: Option<&App>, drift: Option<&AppDrift>) -> Vec<ObjectRow> {
    let inventory = app.map(App::inventory).unwrap_or_default();
    let engine = |id: &crate::domain::object::ObjectId| {
        let managed = inventory.iter().find(|m| m.id.same_object(id))?;
        let words: Vec<&str> = [managed.status.as_deref(), managed.health.as_deref()]
            .into_iter()
            .flatten()
            .collect();
        Some(words.join(", ")).filter(|w| !w.is_empty())
    };
    let Some(drift) = drift else {
        return inventory
            .iter()
            .map(|managed| ObjectRow {
                id: managed.id.clone(),
                state: None,
                drifted: 0,
                residual: 0,
                hidden: 0,
                words: engine(&managed.id).unwrap_or_default(),
                index: None,
            })
            .collect();
    };
    drift
        .objects
        .iter()
        .enumerate()
        .map(|(at, object)| {
            let count = |test: &dyn Fn(Verdict) -> bool| {
                object.fields.iter().filter(|f| test(f.verdict)).count()
            };
            let drifted = object.fields.iter().filter(|f| counts(f)).count();
            let residual = count(&|v| v == Verdict::Residual);
            let words = [object.cause.clone(), hand(object), engine(&object.id)];
            ObjectRow {
                id: object.id.clone(),
                state: Some(object.state),
                drifted,
                residual,
                hidden: object.fields.len() - drifted - residual,
                words: words.into_iter().flatten().collect::<Vec<_>>().join("; "),
                index: Some(at),
            }
        })
        .collect()
}

/// Whose hand an object's drift was.
fn hand(object: &ObjectDrift) -> Option<String> {
    let owner = object
        .fields
        .iter()
        .filter(|f| counts(f))
        .find_map(|f| f.owners.first())?;
    let who = match owner.class {
        OwnerClass::Person => " (a person)",
        OwnerClass::Automation => " (automation)",
        _ => "",
    };
    Some(format!("by {}{who}", owner.manager))
}

fn context_lines(context: &crate::domain::fleet::FleetContext) -> Vec<String> {
    let mut lines = vec![
        format!("name   {}", context.name),
        format!("state  {}", context.state.word()),
        format!("apps   {}", context.apps),
        String::new(),
    ];
    for (kind, state) in &context.kinds {
        use crate::domain::fleet::KindState;
        let words = match state {
            KindState::Waiting => "not listed yet".to_owned(),
            KindState::Listed => "watched".to_owned(),
            KindState::Absent => "not installed".to_owned(),
            KindState::Partial { namespaces, fault } => {
                format!("only in {}: {fault}", namespaces.join(", "))
            }
            KindState::Degraded(fault) => fault.to_string(),
        };
        lines.push(format!("{:<14} {words}", kind.kind()));
    }
    if let Some(fault) = context.cause() {
        lines.extend([String::new(), fault.to_string()]);
        lines.extend(
            fault
                .causes
                .iter()
                .map(|cause| format!("  because {cause}")),
        );
        lines.extend(fault.hint.iter().map(|hint| format!("  next: {hint}")));
    }
    lines
}

/// Everything that is known about an app.
fn app_lines(app: &App) -> Vec<String> {
    let mut lines = vec![];
    let mut say = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            lines.push(format!("{name:<12} {value}"));
        }
    };
    say(
        "state",
        Some(format!("{} {}", app.state.sign(), app.state.word())),
    );
    say("cause", app.cause.clone());
    say("since", app.since.map(|t| t.to_string()));
    say("message", app.message.clone());
    for source in &app.sources {
        say(
            "source",
            Some(format!(
                "{} {} {} path {:?}",
                source.kind.word(),
                source.url,
                source.reference,
                source.path
            )),
        );
        say("  fault", source.fault.clone());
    }
    say("applied", app.applied.clone());
    say("wanted", app.wanted.clone());
    say("sync", app.sync.clone());
    say("health", app.health.clone());
    say("automated", Some(app.policy.automated.to_string()));
    say("self-heal", Some(app.policy.self_heal.to_string()));
    say("prune", Some(app.policy.prune.to_string()));
    say("last pass", app.reconciled.map(|t| t.to_string()));
    say("next pass", app.next.map(|t| t.to_string()));
    if let Some(hold) = &app.hold {
        say("held by", hold.by.clone());
        say("held since", hold.since.map(|t| t.to_string()));
        say("held until", hold.until.map(|t| t.to_string()));
        say("reason", hold.reason.clone());
    }
    if let Some(operation) = &app.operation {
        say(
            "operation",
            Some(format!(
                "{} by {}: {}",
                operation.phase, operation.by, operation.message
            )),
        );
    }
    for target in &app.depends_on {
        say("depends on", Some(target.to_string()));
    }
    say("remote", app.remote.clone());
    for condition in &app.conditions {
        lines.push(String::new());
        lines.push(format!(
            "{} {} {}",
            condition.kind, condition.status, condition.reason
        ));
        lines.push(format!("  {}", condition.message));
    }
    lines
}
