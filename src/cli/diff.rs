//! `diff`: how one app, or a file, differs from live.

use std::fmt::Write as _;
use std::path::Path;

use similar::TextDiff;

use super::args::{DiffArgs, DiffForm, Global, ProfileName};
use super::documents::{self, emit};
use super::env::Env;
use super::exit::Exit;
use super::{setup, words};
use crate::domain::drift::{AppDrift, FieldDrift, FieldStatus, ObjectDrift, ObjectState, Verdict};
use crate::domain::fault::Fault;
use crate::domain::fleet::Target;
use crate::domain::text;
use crate::runtime::clock;
use crate::runtime::jobs::{FileApp, compare_files};

/// Shows a difference.
pub async fn run(global: &Global, env: &Env, args: &DiffArgs) -> Result<Exit, Fault> {
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
        let target: Target = args.target.parse()?;
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
        DiffForm::Fields | DiffForm::Table => words::result(&fields(&drift, args.all)),
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
pub fn profile(name: ProfileName) -> &'static str {
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

fn is_hidden(field: &FieldDrift) -> bool {
    matches!(field.verdict, Verdict::Noise | Verdict::Ignored)
        || field.status == FieldStatus::ExtraForeign
}

/// One line a field: `STATUS PATH git → live  (manager, operation, age) origin`.
fn fields(drift: &AppDrift, all: bool) -> String {
    let mut out = String::new();
    let app = drift
        .app
        .as_ref()
        .map_or_else(|| "offline".to_owned(), ToString::to_string);
    let cause = drift
        .cause
        .as_ref()
        .map(|cause| format!(": {cause}"))
        .unwrap_or_default();
    let _ = writeln!(
        out,
        "{} {} {app}{cause}",
        drift.state.sign(),
        drift.state.word()
    );
    for object in &drift.objects {
        let shown: Vec<&FieldDrift> = object
            .fields
            .iter()
            .filter(|f| all || !is_hidden(f))
            .collect();
        if shown.is_empty() && matches!(object.state, ObjectState::InSync) {
            continue;
        }
        if shown.is_empty() && object.state == ObjectState::Ignored && !all {
            continue;
        }
        let cause = object
            .cause
            .as_ref()
            .map(|cause| format!(": {cause}"))
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "\n{} {}{}",
            object.state.word(),
            object.id,
            text::clean_line(&cause)
        );
        for field in shown {
            let _ = writeln!(out, "  {}", line(field));
        }
    }
    let hidden = &drift.hidden;
    if !all && hidden.ignored + hidden.noise + hidden.foreign > 0 {
        let _ = writeln!(
            out,
            "\nhidden: {} noise, {} ignored by rules, {} of other controllers (--all shows them)",
            hidden.noise, hidden.ignored, hidden.foreign
        );
    }
    out
}

fn line(field: &FieldDrift) -> String {
    let value = |value: &Option<serde_json::Value>| match value {
        None => "(absent)".to_owned(),
        Some(value) => text::truncate(&text::clean_line(&value.to_string()), 80).into_owned(),
    };
    let mut out = format!(
        "{:<14} {}  {} → {}",
        field.status.word(),
        text::clean_line(&field.path.to_string()),
        value(&field.git),
        value(&field.live)
    );
    if let Some(owner) = field.owners.first() {
        let mut parts = vec![text::clean_line(&owner.manager).into_owned()];
        parts.extend(owner.operation.clone());
        parts.extend(owner.subresource.clone());
        if let Some(age) = owner.time.as_deref().and_then(age_of) {
            parts.push(age);
        }
        let more = if field.owners.len() > 1 {
            format!(" and {} more", field.owners.len() - 1)
        } else {
            String::new()
        };
        let _ = write!(out, "  ({}{more})", parts.join(", "));
    }
    if let Some(origin) = &field.origin {
        let _ = write!(out, "  {}:{}", text::clean_line(&origin.file), origin.line);
    }
    let _ = write!(out, "  [{}", field.verdict.word());
    for extra in [&field.rule, &field.note].into_iter().flatten() {
        let _ = write!(out, "; {}", text::clean_line(extra));
    }
    out.push(']');
    out
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
