//! `sync`, `refresh`, `suspend`, `resume`, `revert`: a plan shown, a question asked, the plan performed and followed.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::args::{ActArgs, ActOptions, Form, RefreshArgs, RevertArgs};
use super::documents::{cleaned, emit};
use super::env::Env;
use super::exit::Exit;
use super::{ask, pick, words};
use crate::domain::fault::Fault;
use crate::domain::fleet::{AppKind, AppRef, Target};
use crate::domain::object::ObjectId;
use crate::domain::operate::{Chosen, HoldNote, Plan, SyncOptions};
use crate::runtime::jobs::{Acted, Asked, Jobs, default_wait, everything, group};

/// Lets the controller apply Git now; Flux's source first.
pub(super) async fn sync(jobs: &Jobs, env: &Env, args: &ActArgs) -> Result<Exit, Fault> {
    // An Application names its repository itself; there is no source object that could be asked first.
    let options = SyncOptions {
        with_source: args.target.kind != AppKind::Application,
        ..SyncOptions::default()
    };
    act(jobs, env, &args.target, &Asked::Sync(options), &args.act).await
}

/// Lets the controller look again.
pub(super) async fn refresh(jobs: &Jobs, env: &Env, args: &RefreshArgs) -> Result<Exit, Fault> {
    act(
        jobs,
        env,
        &args.target,
        &Asked::Refresh { hard: args.hard },
        &args.act,
    )
    .await
}

/// Holds an app.
pub(super) async fn suspend(jobs: &Jobs, env: &Env, args: &ActArgs) -> Result<Exit, Fault> {
    act(
        jobs,
        env,
        &args.target,
        &Asked::Hold(HoldNote::default()),
        &args.act,
    )
    .await
}

/// Gives an app back.
pub(super) async fn resume(jobs: &Jobs, env: &Env, args: &ActArgs) -> Result<Exit, Fault> {
    act(jobs, env, &args.target, &Asked::Resume, &args.act).await
}

/// Puts chosen fields or objects back to Git.
pub(super) async fn revert(jobs: &Jobs, env: &Env, args: &RevertArgs) -> Result<Exit, Fault> {
    let app = jobs.find(&args.target).await?;
    let compared = jobs.compare(&app).await?;
    let mut picked = vec![];
    for text in &args.field {
        picked.push(pick::field(&compared, text)?);
    }
    let mut chosen: Vec<(ObjectId, Chosen)> = group(picked);
    for text in &args.object {
        chosen.push((pick::object(&compared, text)?.id.clone(), Chosen::All));
    }
    if args.all {
        chosen.extend(everything(&compared));
    }
    if chosen.is_empty() {
        let named = !args.field.is_empty() || !args.object.is_empty() || args.all;
        return Err(pick::nothing(&compared, named));
    }
    on(jobs, env, &app, &Asked::Revert(chosen), &args.act).await
}

async fn act(
    jobs: &Jobs,
    env: &Env,
    target: &Target,
    asked: &Asked,
    options: &ActOptions,
) -> Result<Exit, Fault> {
    let app = jobs.find(target).await?;
    on(jobs, env, &app, asked, options).await
}

async fn on(
    jobs: &Jobs,
    env: &Env,
    app: &AppRef,
    asked: &Asked,
    options: &ActOptions,
) -> Result<Exit, Fault> {
    let plan = jobs.plan(app, asked).await?;
    if options.output == Form::Table {
        words::say(&shown(&plan));
    }
    if options.dry_run {
        print(options, &plan, None);
        return Ok(Exit::Clean);
    }
    let question = format!("{} {}?", plan.verb.word(), plan.app);
    ask::confirm(jobs, env, &app.context, &question, options.yes)?;
    let wait = (!options.no_wait).then(|| default_wait(plan.verb));
    let acted = jobs
        .perform(&plan, wait, |progress| {
            if env.stderr_is_terminal && !progress.message.is_empty() {
                words::say(&progress.message);
            }
        })
        .await?;
    for note in &acted.notes {
        words::problem(note);
    }
    print(options, &plan, Some(&acted));
    Ok(Exit::Clean)
}

fn shown(plan: &Plan) -> String {
    let mut out = format!("{} {}", plan.verb.word(), plan.app);
    for step in &plan.steps {
        let _ = write!(out, "\n  {}", step.words);
    }
    for warning in &plan.warnings {
        let _ = write!(out, "\n  warning: {warning}");
    }
    out
}

fn print(options: &ActOptions, plan: &Plan, acted: Option<&Acted>) {
    match options.output {
        Form::Table => words::result(&match acted {
            None => format!("would {} {}", plan.verb.word(), plan.app),
            Some(acted) => match &acted.message {
                Some(message) => format!("{} {}: {message}", plan.verb.word(), plan.app),
                None => format!("{} {}: done", plan.verb.word(), plan.app),
            },
        }),
        Form::Json => words::result(&format!("{:#}", document(plan, acted))),
        Form::Yaml => words::result(&emit(&document(plan, acted))),
    }
}

fn document(plan: &Plan, acted: Option<&Acted>) -> Value {
    cleaned(json!({
        "schema": "gitops-tui/act/v1",
        "verb": plan.verb.word(),
        "context": &*plan.app.context,
        "app": plan.app.target.to_string(),
        "steps": plan.steps.iter().map(|step| json!({
            "words": step.words,
            "apiVersion": step.api_version,
            "kind": step.kind,
            "namespace": step.namespace,
            "name": step.name,
            "manager": step.manager(),
            "body": step.shown(),
        })).collect::<Vec<_>>(),
        "warnings": plan.warnings,
        "destructive": plan.destructive,
        "done": acted.map(|a| &a.done),
        "message": acted.and_then(|a| a.message.clone()),
    }))
}
