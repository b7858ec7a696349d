//! `accept`: chosen live values into Git, as a branch and a commit.

use std::fmt::Write as _;

use serde_json::{Value, json};
use similar::TextDiff;

use super::args::{AcceptArgs, Form};
use super::documents::{self, cleaned, emit};
use super::env::Env;
use super::exit::Exit;
use super::{ask, pick, words};
use crate::domain::backfill::{FileEdit, Wish};
use crate::domain::fault::Fault;
use crate::runtime::jobs::{Backfill, Commits, Committed, Jobs};

/// Accepts.
pub(super) async fn run(jobs: &Jobs, env: &Env, args: &AcceptArgs) -> Result<Exit, Fault> {
    let app = jobs.find(&args.target).await?;
    let compared = jobs.compare(&app).await?;
    let picked = pick::fields(&compared, &args.field, &args.object, args.all)?;
    if picked.is_empty() {
        let named = !args.field.is_empty() || !args.object.is_empty() || args.all;
        return Err(pick::nothing(&compared, named));
    }
    let mut backfill = jobs
        .plan_accept(&compared, &picked, args.repo.as_deref())
        .await?;
    if let Some(branch) = &args.branch {
        backfill.branch.clone_from(branch);
    }
    if let Some(message) = &args.message {
        backfill.message.clone_from(message);
    }
    if args.output == Form::Table {
        words::say(&shown(&backfill));
    }
    if args.dry_run || backfill.plan.files.is_empty() {
        print(args, &backfill, None);
        return Ok(if backfill.plan.refused.is_empty() {
            Exit::Clean
        } else {
            Exit::Drift
        });
    }
    if args.push {
        let question = format!("Push {} to {}?", backfill.branch, backfill.url);
        ask::confirm(jobs, env, &app.context, &question, args.yes)?;
    }
    let asked = Commits {
        branch: args.branch.clone(),
        message: args.message.clone(),
        push: args.push,
    };
    let committed = jobs.commit(&backfill, &asked).await?;
    print(args, &backfill, Some(&committed));
    if let Some(fault) = committed.push_fault {
        return Err(fault);
    }
    Ok(if backfill.plan.refused.is_empty() {
        Exit::Clean
    } else {
        Exit::Drift
    })
}

/// Words the plan for a person: the files' diffs, the refusals, what else changes.
fn shown(backfill: &Backfill) -> String {
    let mut out = String::new();
    for file in &backfill.plan.files {
        out.push_str(&file_diff(file));
    }
    for accepted in &backfill.plan.accepted {
        let _ = writeln!(
            out,
            "accepted: {} {} at {}",
            accepted.wish.object, accepted.wish.path, accepted.place
        );
    }
    for refused in &backfill.plan.refused {
        let wish = &refused.wish;
        let _ = writeln!(
            out,
            "refused:  {} {}: {}; {}",
            wish.object, wish.path, refused.reason, refused.hint
        );
    }
    for also in &backfill.plan.also_changes {
        let _ = writeln!(
            out,
            "changes too: {} {} {}",
            also.app, also.object, also.path
        );
    }
    let proof = backfill.plan.proof;
    let _ = write!(
        out,
        "proof: rendered again, {} fields agree with live, {} others moved",
        proof.agree, proof.moved
    );
    out
}

fn file_diff(file: &FileEdit) -> String {
    let (before, after) = (
        String::from_utf8_lossy(&file.before),
        String::from_utf8_lossy(&file.after),
    );
    let diff = TextDiff::from_lines(before.as_ref(), after.as_ref());
    let (from, to) = (format!("a/{}", file.path), format!("b/{}", file.path));
    diff.unified_diff()
        .context_radius(3)
        .header(&from, &to)
        .to_string()
}

fn print(args: &AcceptArgs, backfill: &Backfill, committed: Option<&Committed>) {
    match args.output {
        Form::Table => words::result(&match committed {
            None if backfill.plan.files.is_empty() => {
                "nothing is committed: every field was refused".to_owned()
            }
            None => format!("would commit on {}", backfill.branch),
            Some(done) => {
                let pushed = if done.pushed { ", pushed" } else { "" };
                let mut out = format!(
                    "committed {} on {}{pushed}\nsee it: git -C {} show {}",
                    done.commit.get(..12).unwrap_or(&done.commit),
                    done.branch,
                    done.repository,
                    done.branch
                );
                for note in &done.notes {
                    let _ = write!(out, "\n{note}");
                }
                out
            }
        }),
        Form::Json => words::result(&format!("{:#}", document(backfill, committed))),
        Form::Yaml => words::result(&emit(&document(backfill, committed))),
    }
}

fn document(backfill: &Backfill, committed: Option<&Committed>) -> Value {
    let plan = &backfill.plan;
    let wish = |wish: &Wish| {
        json!({
            "object": wish.object.to_string(),
            "path": wish.path.to_string(),
            "from": wish.from,
            "to": wish.to,
            "origin": wish.origin.as_deref().map(documents::origin),
        })
    };
    cleaned(json!({
        "schema": "gitops-tui/accept/v1",
        "branch": committed.map_or(&backfill.branch, |c| &c.branch),
        "commit": committed.map(|c| &c.commit),
        "repository": backfill.repository().display().to_string(),
        "pushed": committed.is_some_and(|c| c.pushed),
        "files": plan.files.iter().map(|f| json!({"path": f.path, "diff": file_diff(f)})).collect::<Vec<_>>(),
        "accepted": plan.accepted.iter().map(|a| {
            let mut row = wish(&a.wish);
            row["place"] = json!(a.place);
            row
        }).collect::<Vec<_>>(),
        "refused": plan.refused.iter().map(|r| json!({
            "object": r.wish.object.to_string(),
            "path": r.wish.path.to_string(),
            "reason": r.reason,
            "hint": r.hint,
        })).collect::<Vec<_>>(),
        "also-changes": plan.also_changes.iter().map(|a| json!({
            "app": a.app, "object": a.object.to_string(), "path": a.path.to_string(),
        })).collect::<Vec<_>>(),
        "proof": {"agree": plan.proof.agree, "moved": plan.proof.moved},
        "message": backfill.message,
    }))
}
