//! What the demo's controllers make of the repository: the product's own engine, asked in their name.

use serde_json::Value;

use super::repository::Files;
use crate::domain::render::{self, Profile, Request};

/// What came out: the objects in order, and the bytes that a digest covers.
#[derive(Debug, Clone, Default)]
pub(super) struct Rendered {
    pub(super) objects: Vec<Value>,
    pub(super) text: String,
}

/// Renders a Kustomization of Flux; the error is what its Ready condition says.
pub(super) fn flux(files: &Files, app: &Value) -> Result<Rendered, String> {
    let profile = Profile::Flux {
        app: app.clone(),
        objects: vec![],
        source: None,
    };
    run(files, app, profile, &app["spec"]["path"])
}

/// Renders an Application of Argo CD; the error is what its repository server says.
pub(super) fn argo(files: &Files, app: &Value) -> Result<Rendered, String> {
    let profile = Profile::Argo {
        app: app.clone(),
        source: 0,
        settings: None,
    };
    run(files, app, profile, &app["spec"]["source"]["path"])
}

fn run(files: &Files, app: &Value, profile: Profile, path: &Value) -> Result<Rendered, String> {
    let words = format!(
        "{}/{}/{}",
        app["kind"], app["metadata"]["name"], app["spec"]
    );
    let request = Request {
        profile,
        path: path.as_str().unwrap_or_default().to_owned(),
    };
    files.once(words, || build(files, &request))
}

fn build(files: &Files, request: &Request) -> Result<Rendered, String> {
    let rendered = render::render(files, request);
    match rendered.problems.into_iter().next() {
        Some(mut fault) => {
            fault.subject = None;
            Err(format!("kustomize build failed: {fault}"))
        }
        None => Ok(Rendered {
            objects: rendered.objects.into_iter().map(|o| o.value).collect(),
            text: rendered.text.unwrap_or_default(),
        }),
    }
}
