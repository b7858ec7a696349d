//! `diff`: how one app, or a file, differs from live.

use std::fmt::Write as _;
use std::path::Path;

use similar::TextDiff;

use super::args::{DiffArgs, DiffForm, Global, ProfileName};
use super::documents::{self, emit};
use super::env::Env;
use super::exit::Exit;
use super::{setup, words};
use crate::domain::drift::{AppDrift, ObjectDrift, ObjectState, is_hidden, report};
use crate::domain::fault::Fault;
use crate::domain::fleet::Target;
use crate::domain::text;
use crate::runtime::clock;
use crate::runtime::jobs::{FileApp, compare_files};

/// Shows a difference.
pub(super) async fn run(global: &Global, env: &Env, args: &DiffArgs) -> Result<Exit, Fault> {
    let (drift, revision) = if let Some(live) = &args.live {
        let file = FileApp::read(args.app_file.as_deref(), args.objects.as_deref())?;
        let (drift, _) = compare_files(
            Path::new(&args.target),
            live,
            args.profile.map(profile),
            &file,
        )?;
        (drift, None)
    } else {
        let target: Target = args.target.parse().map_err(|fault: Fault| {
            if Path::new(&args.target).exists() {
                fault.hint("a file or a directory is compared with --live FILE")
            } else {
                fault
            }
        })?;
        let jobs = setup::jobs(global, env)?;
        let app = jobs.find(&target).await?;
        let compared = jobs.compare(&app).await?;
        (compared.drift, compared.commit)
    };
    match args.output {
        DiffForm::Json => words::result(&format!(
            "{:#}",
            documents::diff(&drift, revision.as_deref())
        )),
        DiffForm::Yaml => words::result(&emit(&documents::diff(&drift, revision.as_deref()))),
        DiffForm::Fields | DiffForm::Table => words::result(&report(&drift, args.all, &age_of)),
        DiffForm::Unified => words::result(&unified(&drift, args.all)),
        DiffForm::SideBySide => words::result(&side_by_side(&drift, width(env), args.all)),
    }
    if !matches!(args.output, DiffForm::Json | DiffForm::Yaml) {
        for problem in &drift.problems {
            words::problem(problem);
        }
    }
    Ok(Exit::of_states([drift.state]))
}

/// Returns the word that the jobs know a profile by.
pub(super) fn profile(name: ProfileName) -> &'static str {
    match name {
        ProfileName::Flux => "flux",
        ProfileName::Argo => "argo",
        ProfileName::Kustomize => "kustomize",
    }
}

fn width(env: &Env) -> usize {
    env.get("COLUMNS")
        .and_then(|c| c.parse().ok())
        .unwrap_or(160)
        .clamp(40, 400)
}

fn age_of(time: &str) -> Option<String> {
    let time: jiff::Timestamp = time.parse().ok()?;
    Some(format!(
        "{} ago",
        text::age(clock::now().as_second() - time.as_second())
    ))
}

fn sides(object: &ObjectDrift, all: bool) -> (String, String) {
    let text = |side: Option<&serde_json::Value>| side.map(emit).unwrap_or_default();
    (
        text(object.sides.git.as_ref()),
        text(object.sides.live(all)),
    )
}

fn differing(drift: &AppDrift) -> impl Iterator<Item = &ObjectDrift> {
    drift.objects.iter().filter(|o| {
        !matches!(o.state, ObjectState::InSync | ObjectState::Ignored)
            || o.fields.iter().any(|f| !is_hidden(f))
    })
}

fn unified(drift: &AppDrift, all: bool) -> String {
    let mut out = String::new();
    for object in differing(drift) {
        let (git, live) = sides(object, all);
        let diff = TextDiff::from_lines(&git, &live);
        let (from, to) = (format!("git/{}", object.id), format!("live/{}", object.id));
        let _ = write!(
            out,
            "{}",
            diff.unified_diff().context_radius(3).header(&from, &to)
        );
    }
    out
}

fn side_by_side(drift: &AppDrift, width: usize, all: bool) -> String {
    let half = (width.saturating_sub(3)) / 2;
    let mut out = String::new();
    for object in differing(drift) {
        let (git, live) = sides(object, all);
        let _ = writeln!(
            out,
            "{}",
            text::pad(&format!("── {} {} ", object.state.word(), object.id), width).trim_end()
        );
        let _ = writeln!(out, "{} │ live", text::pad("git", half));
        let (left, right): (Vec<&str>, Vec<&str>) = (git.lines().collect(), live.lines().collect());
        let diff = TextDiff::from_lines(&git, &live);
        for group in diff.grouped_ops(3) {
            for op in group {
                let (old, new) = (op.old_range(), op.new_range());
                for at in 0..old.len().max(new.len()) {
                    let one = old
                        .clone()
                        .nth(at)
                        .and_then(|i| left.get(i))
                        .copied()
                        .unwrap_or("");
                    let other = new
                        .clone()
                        .nth(at)
                        .and_then(|i| right.get(i))
                        .copied()
                        .unwrap_or("");
                    let sign = if one == other { '│' } else { '┃' };
                    let one = text::pad(&text::clean_line(one), half);
                    let _ = writeln!(
                        out,
                        "{one} {sign} {}",
                        text::truncate(&text::clean_line(other), half)
                    );
                }
            }
            let _ = writeln!(out, "{} ┆", text::pad("", half));
        }
    }
    out
}
