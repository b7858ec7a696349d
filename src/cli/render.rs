//! `render`: the desired objects of an app or a directory.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::args::{Form, Global, RenderArgs};
use super::diff::profile;
use super::documents::{self, cleaned, emit};
use super::env::Env;
use super::exit::Exit;
use super::{setup, words};
use crate::domain::fault::Fault;
use crate::domain::fleet::Target;
use crate::domain::object::Desired;
use crate::domain::render::Rendered;
use crate::domain::text::{self, MASK};
use crate::runtime::jobs::{FileApp, render_files};

/// Renders.
pub(super) async fn run(global: &Global, env: &Env, args: &RenderArgs) -> Result<Exit, Fault> {
    let is_target = args.target.parse::<Target>().is_ok()
        && args.app_file.is_none()
        && args.profile.is_none()
        && !Path::new(&args.target).exists();
    if is_target {
        let target: Target = args.target.parse()?;
        let jobs = setup::jobs(global, env)?;
        let app = jobs.find(&target).await?;
        let (objects, problems) = jobs.render(&app).await?;
        // An app in a cluster may be filled from Secrets: what is theirs is never printed.
        return Ok(print(args, &objects, None, &problems, true));
    }
    let file = FileApp::read(args.app_file.as_deref(), args.objects.as_deref())?;
    let rendered = render_files(Path::new(&args.target), args.profile.map(profile), &file)?;
    let Rendered {
        objects,
        text,
        problems,
        warnings,
        ..
    } = rendered;
    for warning in &warnings {
        words::problem(warning);
    }
    Ok(print(args, &objects, text.as_deref(), &problems, false))
}

fn print(
    args: &RenderArgs,
    objects: &[Desired],
    text: Option<&str>,
    problems: &[Fault],
    mask: bool,
) -> Exit {
    let value = |desired: &Desired| {
        if mask {
            masked(desired)
        } else {
            desired.value.clone()
        }
    };
    if args.origins {
        match args.output {
            Form::Table => words::result(&origins(objects, mask)),
            Form::Json => words::result(&format!("{:#}", document(objects, problems, true, mask))),
            Form::Yaml => words::result(&emit(&document(objects, problems, true, mask))),
        }
    } else {
        match (args.output, text) {
            (Form::Table, Some(text)) => words::raw(text.as_bytes()),
            (Form::Table, None) => {
                let parts: Vec<String> = objects.iter().map(|d| emit(&value(d))).collect();
                words::raw(parts.join("---\n").as_bytes());
            }
            (Form::Json, _) => {
                words::result(&format!("{:#}", document(objects, problems, false, mask)));
            }
            (Form::Yaml, _) => words::result(&emit(&document(objects, problems, false, mask))),
        }
    }
    for problem in problems {
        let mut problem = problem.clone();
        if let (None, Some(place)) = (&problem.hint, &problem.place) {
            problem.hint = Some(format!("mend {}", place.file));
        }
        words::fault(&problem, false);
    }
    if problems.is_empty() {
        Exit::Clean
    } else {
        Exit::CouldNotRun
    }
}

/// Masks the data of Secrets and every field that was filled from one.
fn masked(desired: &Desired) -> Value {
    let mut value = desired.value.clone();
    if desired.id.kind == "Secret" {
        for key in ["data", "stringData"] {
            for (_, entry) in value
                .get_mut(key)
                .and_then(Value::as_object_mut)
                .into_iter()
                .flatten()
            {
                *entry = Value::from(MASK);
            }
        }
    }
    for route in &desired.secret_routes {
        let mut node = Some(&mut value);
        for step in &route.0 {
            node = match (node, step) {
                (Some(node), crate::domain::yaml::RouteStep::Key(key)) => {
                    node.get_mut(key.as_str())
                }
                (Some(node), crate::domain::yaml::RouteStep::Index(index)) => node.get_mut(*index),
                (None, _) => None,
            };
        }
        if let Some(node) = node {
            *node = Value::from(MASK);
        }
    }
    value
}

/// One line a field: `OBJECT  PATH  FILE:LINE  STEP`.
fn origins(objects: &[Desired], mask: bool) -> String {
    let mut out = String::new();
    for desired in objects {
        let _ = writeln!(out, "{}", desired.id);
        let value = if mask {
            masked(desired)
        } else {
            desired.value.clone()
        };
        for (route, origin) in &desired.origins.0 {
            let Some(leaf) = route
                .get(&value)
                .filter(|v| !v.is_object() && !v.is_array())
            else {
                continue;
            };
            let shown = text::truncate(&leaf.to_string(), 60).into_owned();
            let _ = writeln!(
                out,
                "  {route} = {}  {}:{} #{} {}",
                text::clean_line(&shown),
                origin.file,
                origin.line,
                origin.document,
                origin.step.word()
            );
        }
    }
    out
}

fn document(objects: &[Desired], problems: &[Fault], with_origins: bool, mask: bool) -> Value {
    let objects: Vec<Value> = objects
        .iter()
        .map(|desired| {
            let object = if mask {
                masked(desired)
            } else {
                desired.value.clone()
            };
            let mut row = json!({"object": object});
            if with_origins {
                let origins: BTreeMap<String, Value> = desired
                    .origins
                    .0
                    .iter()
                    .map(|(route, origin)| (route.to_string(), documents::origin(origin)))
                    .collect();
                if let Some(row) = row.as_object_mut() {
                    row.insert("origins".to_owned(), json!(origins));
                }
            }
            row
        })
        .collect();
    cleaned(json!({
        "schema": "gitops-tui/render/v1",
        "objects": objects,
        "problems": problems.iter().map(documents::problem).collect::<Vec<_>>(),
    }))
}
