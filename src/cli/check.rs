//! `check`: the drift of the fleet, or of chosen apps, for a CI job. It never writes.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt as _;
use serde_json::{Value, json};

use super::args::{CheckArgs, Form};
use super::documents::{self, cleaned, emit};
use super::env::Env;
use super::exit::Exit;
use super::list::{AT_ONCE, app_row, say_contexts, sorted};
use super::table::table;
use super::words;
use crate::domain::drift::AppDrift;
use crate::domain::fault::Fault;
use crate::domain::fleet::{App, AppRef, AppState, Fleet};
use crate::runtime::clock;
use crate::runtime::jobs::{Compared, Jobs, summary};

/// One app, and how its comparison went.
struct Checked {
    app: AppRef,
    compared: Result<Compared, Fault>,
}

impl Checked {
    /// The state that decides about the exit code.
    fn state(&self) -> AppState {
        self.compared
            .as_ref()
            .map_or(AppState::Unknown, |c| c.drift.state)
    }
}

/// Checks the fleet.
pub(super) async fn run(jobs: &Jobs, env: &Env, args: &CheckArgs) -> Result<Exit, Fault> {
    let mut fleet = jobs.gather().await;
    let mut wanted: Vec<AppRef> = vec![];
    if args.target.is_empty() {
        wanted.extend(fleet.iter().map(|app| app.app.clone()));
        wanted.sort();
    } else {
        for target in &args.target {
            wanted.push(jobs.find(target).await?);
        }
    }
    let checked = compare_all(jobs, env, wanted).await;
    for one in &checked {
        if let Ok(compared) = &one.compared {
            fleet.set_drift(
                &one.app,
                summary(&compared.app, &compared.drift),
                clock::now(),
            );
        }
    }
    match args.output {
        Form::Table => words::result(&as_table(&fleet, &checked)),
        Form::Json => words::result(&format!("{:#}", document(&fleet, &checked))),
        Form::Yaml => words::result(&emit(&document(&fleet, &checked))),
    }
    let contexts = say_contexts(&fleet);
    let states = Exit::of_states(checked.iter().map(Checked::state));
    Ok(match (states, contexts) {
        (Exit::Clean, Exit::CouldNotRun | Exit::NotCompared) => Exit::NotCompared,
        (states, _) => states,
    })
}

async fn compare_all(jobs: &Jobs, env: &Env, wanted: Vec<AppRef>) -> Vec<Checked> {
    let (all, done) = (wanted.len(), AtomicUsize::new(0));
    let done = &done;
    let mut checked: Vec<Checked> = futures::stream::iter(wanted)
        .map(|app| async move {
            let compared = jobs.compare(&app).await;
            let count = done.fetch_add(1, Ordering::Relaxed) + 1;
            if env.stderr_is_terminal {
                words::say(&format!("compared {count} of {all}: {app}"));
            }
            Checked { app, compared }
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    checked.sort_by(|a, b| (a.state(), &a.app).cmp(&(b.state(), &b.app)));
    checked
}

fn as_table(fleet: &Fleet, checked: &[Checked]) -> String {
    let rows: Vec<Vec<String>> = checked
        .iter()
        .map(|one| {
            let app = fleet.get(&one.app);
            let drift = app.and_then(App::current_drift);
            let why = match &one.compared {
                Err(fault) => fault.to_string(),
                Ok(compared) => why(&compared.drift),
            };
            let by = drift
                .and_then(|d| d.owner.as_ref())
                .map(|owner| owner.manager.clone());
            vec![
                format!("{} {}", one.state().sign(), one.state().word()),
                one.app.context.to_string(),
                one.app.target.to_string(),
                drift.map(|d| d.drifted.to_string()).unwrap_or_default(),
                by.unwrap_or_default(),
                why,
            ]
        })
        .collect();
    if rows.is_empty() {
        "no apps".to_owned()
    } else {
        table(
            &["RESULT", "CONTEXT", "APP", "DRIFT", "LAST BY", "WHY"],
            &rows,
        )
    }
}

/// Says in a few words what differs.
fn why(drift: &AppDrift) -> String {
    use crate::domain::drift::{ObjectState, Verdict};
    if let Some(cause) = &drift.cause {
        return cause.clone();
    }
    let parts: Vec<String> = drift
        .objects
        .iter()
        .filter_map(|object| match object.state {
            ObjectState::Missing => Some(format!("{} is missing", object.id)),
            ObjectState::Extra => Some(format!("{} is to be pruned", object.id)),
            ObjectState::Drifted => {
                let field = object
                    .fields
                    .iter()
                    .find(|f| matches!(f.verdict, Verdict::Drift | Verdict::Held))?;
                Some(format!("{} {}", object.id, field.path))
            }
            _ => None,
        })
        .collect();
    match parts.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more objects", rest.len()),
    }
}

fn document(fleet: &Fleet, checked: &[Checked]) -> Value {
    let compared = checked
        .iter()
        .filter(|one| matches!(&one.compared, Ok(c) if c.drift.state != AppState::Unknown))
        .count();
    let mut apps: Vec<Value> = vec![];
    for app in sorted(fleet) {
        let Some(one) = checked.iter().find(|one| one.app == app.app) else {
            continue;
        };
        let mut row = app_row(app);
        let (objects, problems): (Vec<Value>, Vec<Value>) = match &one.compared {
            Ok(compared) => (
                compared
                    .drift
                    .objects
                    .iter()
                    .map(documents::object)
                    .collect(),
                compared
                    .drift
                    .problems
                    .iter()
                    .map(documents::problem)
                    .collect(),
            ),
            Err(fault) => (vec![], vec![documents::problem(fault)]),
        };
        if let Some(row) = row.as_object_mut() {
            row.insert("compared".to_owned(), json!(one.state().word()));
            row.insert("objects".to_owned(), json!(objects));
            row.insert("problems".to_owned(), json!(problems));
        }
        apps.push(row);
    }
    cleaned(json!({
        "schema": "gitops-tui/check/v1",
        "contexts": super::list::contexts(fleet),
        "apps": apps,
        "compared": compared,
        "not-compared": checked.len() - compared,
    }))
}
