//! The engine without a world: a thousand objects rendered and compared, manifests parsed, edited, printed and hashed.

use std::error::Error;

use gitops_tui::domain::drift::{Comparison, Engine, Verdict, compare};
use gitops_tui::domain::render::{Profile, Request, render};
use gitops_tui::domain::yaml::edit::{Edit, apply};
use gitops_tui::domain::yaml::{Dialect, Route, emit, parse};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::manifests;
use crate::measure::{Report, check};

/// Live edits among the thousand objects.
const EDITS: usize = 20;

pub(crate) fn run(report: &mut Report) -> Result<(), Box<dyn Error>> {
    let tree = manifests::tree();
    let request = Request {
        profile: Profile::Kustomize,
        path: String::new(),
    };
    report.time(
        "engine: 1,000 objects rendered, every field with its origin",
        11,
        || Ok(()),
        |()| Ok(render(&tree, &request)),
    )?;
    let rendered = render(&tree, &request);
    let count = rendered.objects.len();
    check(
        count == 1000 && rendered.problems.is_empty(),
        format!("{count} objects, {:?}", rendered.problems),
    )?;
    let mut live: Vec<Value> = rendered.objects.iter().map(manifests::live).collect();
    let deployments = live.iter_mut().filter(|o| o["kind"] == "Deployment");
    deployments.take(EDITS).for_each(manifests::edit_replicas);
    report.time(
        "engine: 1,000 objects compared, 20 of them edited live",
        21,
        || Ok(()),
        |()| {
            let drift = compare(&Comparison {
                desired: &rendered.objects,
                live: &live,
                ..Comparison::of(Engine::Flux)
            });
            let fields = drift.objects.iter().flat_map(|o| &o.fields);
            let found = fields.filter(|f| f.verdict == Verdict::Drift).count();
            check(found == EDITS, format!("{found} drifts"))?;
            Ok(drift)
        },
    )?;
    yaml(
        report,
        &rendered
            .objects
            .iter()
            .map(|o| &o.value)
            .collect::<Vec<_>>(),
    )
}

fn yaml(report: &mut Report, objects: &[&Value]) -> Result<(), Box<dyn Error>> {
    let (large, small) = (manifests::stream(0, 1000), manifests::stream(0, 1));
    report.time(
        &format!(
            "yaml: 1,000 manifests parsed and resolved ({} KB)",
            large.len() / 1024
        ),
        21,
        || Ok(()),
        |()| {
            let stream = parse(large.as_bytes());
            let values: Vec<Value> = stream
                .documents
                .iter()
                .map(|document| document.to_json(Dialect::Kubectl))
                .collect::<Result<_, _>>()?;
            check(values.len() == 1000, format!("{} documents", values.len()))?;
            Ok(values)
        },
    )?;
    let containers = ["spec", "template", "spec", "containers"]
        .iter()
        .fold(Route::root(), |route, key| route.key(*key));
    let edits = [Edit::Set {
        route: containers.index(0).key("image"),
        value: json!("registry.example.test/app:1.4.2"),
    }];
    for (text, documents) in [(&small, 1), (&large, 1000)] {
        report.time(
            &format!("yaml: an image set in a file of {documents} manifest(s), and proven"),
            21,
            || Ok(()),
            |()| {
                let after = apply(text.as_bytes(), 0, &edits)?;
                check(after.len() == text.len(), "more was changed than the image")?;
                Ok(after)
            },
        )?;
    }
    report.time(
        "yaml: 1,000 objects printed and hashed (Flux's digest)",
        21,
        || Ok(()),
        |()| {
            let mut hash = Sha256::new();
            for object in objects {
                hash.update(emit(object));
            }
            Ok(hash.finalize())
        },
    )
}
