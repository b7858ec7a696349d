//! `list`: the fleet, urgent first.

use futures::StreamExt as _;
use serde_json::{Value, json};

use super::args::{Form, ListArgs};
use super::documents::{cleaned, emit};
use super::exit::Exit;
use super::table::table;
use super::words;
use crate::domain::fault::Fault;
use crate::domain::fleet::{App, ContextState, Fleet};
use crate::domain::text::age;
use crate::runtime::clock;
use crate::runtime::jobs::{Jobs, summary};

/// How many apps are compared at once.
pub(super) const AT_ONCE: usize = 8;

/// Lists the fleet.
pub(super) async fn run(jobs: &Jobs, args: &ListArgs) -> Result<Exit, Fault> {
    let mut fleet = jobs.gather().await;
    if args.compare {
        let refs: Vec<_> = fleet.iter().map(|app| app.app.clone()).collect();
        let compared: Vec<_> = futures::stream::iter(refs)
            .map(|app| async move {
                let compared = jobs.compare(&app).await;
                (app, compared)
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        for (app, compared) in compared {
            match compared {
                Ok(compared) => {
                    fleet.set_drift(&app, summary(&compared.app, &compared.drift), clock::now());
                }
                Err(fault) => words::problem(&fault),
            }
        }
    }
    let apps = sorted(&fleet);
    match args.output {
        Form::Table => words::result(&as_table(&apps)),
        Form::Json => words::result(&format!("{:#}", document(&fleet, &apps))),
        Form::Yaml => words::result(&emit(&document(&fleet, &apps))),
    }
    Ok(say_contexts(&fleet))
}

/// Returns the apps, most urgent first.
pub(super) fn sorted(fleet: &Fleet) -> Vec<&App> {
    let mut apps: Vec<&App> = fleet.iter().collect();
    apps.sort_by(|a, b| (a.state, &a.app).cmp(&(b.state, &b.app)));
    apps
}

/// Says of each context that is not ready why, and returns how the command ends for it.
pub(super) fn say_contexts(fleet: &Fleet) -> Exit {
    let mut exit = Exit::Clean;
    for context in fleet.contexts() {
        if context.state != ContextState::Ready {
            exit = Exit::CouldNotRun;
            match context.cause() {
                Some(fault) => words::problem(fault),
                None => words::say(&format!(
                    "warning: {}: {}",
                    context.name,
                    context.state.word()
                )),
            }
        } else if let Some(fault) = context.cause() {
            // A kind that could not be listed, or not everywhere: what is not seen is not in sync.
            if exit == Exit::Clean {
                exit = Exit::NotCompared;
            }
            words::problem(fault);
        }
    }
    exit
}

fn as_table(apps: &[&App]) -> String {
    let now = clock::now();
    let rows: Vec<Vec<String>> = apps
        .iter()
        .map(|app| {
            let drift = app.current_drift();
            let since = app
                .since
                .map(|since| age(now.as_second() - since.as_second()))
                .unwrap_or_default();
            vec![
                format!("{} {}", app.state.sign(), app.state.word()),
                app.app.context.to_string(),
                app.app.target.to_string(),
                drift.map(|d| d.drifted.to_string()).unwrap_or_default(),
                since,
                short(app.applied.as_deref()),
                app.cause
                    .clone()
                    .or_else(|| app.message.clone())
                    .unwrap_or_default(),
            ]
        })
        .collect();
    if rows.is_empty() {
        return "no apps".to_owned();
    }
    table(
        &[
            "STATE", "CONTEXT", "APP", "DRIFT", "SINCE", "APPLIED", "WHY",
        ],
        &rows,
    )
}

/// Shortens `main@sha1:0123456789…` to `main@0123456`.
pub(super) fn short(revision: Option<&str>) -> String {
    let Some(revision) = revision else {
        return String::new();
    };
    let (name, digest) = revision
        .rsplit_once('@')
        .map_or(("", revision), |(name, digest)| (name, digest));
    let digest = digest.rsplit(':').next().unwrap_or(digest);
    let digest = digest
        .get(..7)
        .filter(|_| digest.len() >= 40)
        .unwrap_or(digest);
    if name.is_empty() {
        digest.to_owned()
    } else {
        format!("{name}@{digest}")
    }
}

fn document(fleet: &Fleet, apps: &[&App]) -> Value {
    cleaned(json!({
        "schema": "gitops-tui/list/v1",
        "contexts": contexts(fleet),
        "apps": apps.iter().map(|app| app_row(app)).collect::<Vec<_>>(),
    }))
}

/// Returns the contexts as documents hold them.
pub(super) fn contexts(fleet: &Fleet) -> Vec<Value> {
    fleet
        .contexts()
        .map(|context| {
            json!({
                "name": &*context.name,
                "state": context.state.word(),
                "cause": context.cause().map(ToString::to_string),
            })
        })
        .collect()
}

/// Returns an app as `list/v1` and `check/v1` hold it.
pub(super) fn app_row(app: &App) -> Value {
    let drift = app.current_drift();
    json!({
        "context": &*app.app.context,
        "kind": app.app.target.kind.short(),
        "namespace": app.app.target.namespace,
        "name": app.app.target.name,
        "state": app.state.word(),
        "cause": app.cause,
        "since": app.since.map(|since| since.to_string()),
        "drifted": drift.map(|d| d.drifted),
        "additions": drift.map(|d| d.additions),
        "hidden": drift.map(|d| d.hidden),
        "revision": {"applied": app.applied, "wanted": app.wanted},
        "owner": drift.and_then(|d| d.owner.as_ref()).map(|owner| json!({
            "manager": owner.manager, "time": owner.time.map(|t| t.to_string()), "class": owner.class,
        })),
        "message": app.message,
    })
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn shortens_revisions() {
        let digest = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(short(Some(&format!("main@sha1:{digest}"))), "main@0123456");
        assert_eq!(short(Some(digest)), "0123456");
        assert_eq!(short(Some("1.2.3")), "1.2.3");
        assert_eq!(short(None), "");
    }
}
