//! What is encrypted, and what the controller would have decrypted: found and named, never opened.
//!
//! With `spec.decryption` the controller opens files that secret generators and patches name before the build, and
//! objects after it. Without the key neither can be rendered; each is a problem of its own, and the rest is rendered.

use std::collections::BTreeSet;

use base64::Engine as _;
use serde_json::Value;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::object::Desired;
use crate::domain::render::{Rendered, Tree};
use crate::domain::yaml::{self, Dialect};

const DECRYPT: &str = "kustomize.toolkit.fluxcd.io/decrypt";

/// Tells whether the app asks for decryption.
pub(super) fn is_configured(app: &Value) -> bool {
    app.pointer("/spec/decryption/provider")
        .and_then(Value::as_str)
        == Some("sops")
}

/// The sign of an encrypted file, by the format that its name implies.
fn marker(name: &str, otherwise: &'static str) -> &'static str {
    let ends = |end: &str| name.ends_with(end);
    if ends(".yaml") || ends(".yml") {
        "mac: ENC["
    } else if ends(".env") {
        "sops_mac=ENC["
    } else if ends(".ini") {
        "[sops]"
    } else {
        otherwise
    }
}

/// Whatever has no format of its own is wrapped in JSON.
const WRAPPED: &str = "\"mac\": \"ENC[";
/// Environment files without a format of their own.
const LINES: &str = "sops_mac=ENC[";

fn holds(bytes: &[u8], marker: &str) -> bool {
    bytes
        .windows(marker.len())
        .any(|window| window == marker.as_bytes())
}

/// Returns the encrypted files that the build of `folder` would need decrypted: what secret generators and patches
/// name, also in the folders it takes in.
pub(super) fn encrypted_sources(tree: &dyn Tree, folder: &str) -> BTreeSet<String> {
    let mut search = Search {
        tree,
        seen: BTreeSet::new(),
        found: BTreeSet::new(),
    };
    search.folder(folder);
    search.found
}

struct Search<'t> {
    tree: &'t dyn Tree,
    seen: BTreeSet<String>,
    found: BTreeSet<String>,
}

impl Search<'_> {
    fn folder(&mut self, folder: &str) {
        if !self.seen.insert(folder.to_owned()) {
            return;
        }
        let Some(kustomization) = self.kustomization(folder) else {
            return;
        };
        let texts = |list: Option<&Value>| -> Vec<String> {
            let list = list.and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let generators = kustomization
            .get("secretGenerator")
            .and_then(Value::as_array);
        for generator in generators.into_iter().flatten() {
            for file in texts(generator.get("files")) {
                let (key, path) = file.split_once('=').unwrap_or((&file, &file));
                self.file(folder, path, marker(key, WRAPPED));
            }
            for path in texts(generator.get("envs")) {
                self.file(folder, &path, marker(&path, LINES));
            }
        }
        let patches = kustomization.get("patches").and_then(Value::as_array);
        for path in patches
            .into_iter()
            .flatten()
            .filter_map(|patch| patch.get("path")?.as_str())
        {
            self.file(folder, path, marker(path, WRAPPED));
        }
        for key in ["resources", "components"] {
            for path in texts(kustomization.get(key)) {
                if let Some(path) = super::resolve(folder, &path) {
                    self.folder(&path);
                }
            }
        }
    }

    fn kustomization(&self, folder: &str) -> Option<Value> {
        let file = super::kustomization_file(self.tree, folder).ok()??;
        let stream = yaml::parse(&self.tree.read(&file).ok()??);
        stream
            .documents
            .first()
            .and_then(|document| document.to_json(Dialect::Kubectl).ok())
    }

    fn file(&mut self, folder: &str, path: &str, marker: &str) {
        let Some(path) = super::resolve(folder, path) else {
            return;
        };
        if let Ok(Some(bytes)) = self.tree.read(&path)
            && holds(&bytes, marker)
        {
            self.found.insert(path);
        }
    }
}

/// Says that a source file is encrypted.
pub(super) fn source_problem(file: &str) -> Fault {
    Fault::new(
        FaultKind::Encrypted,
        "the file is SOPS encrypted, and there is no key here",
    )
    .at(file, None)
    .hint("objects made from it are left out; their key names can still be compared")
}

/// Tells whether the object needs the key: it is encrypted as a whole, or a value of its `data` is an encrypted file.
pub(super) fn needs_key(object: &Desired) -> bool {
    let value = &object.value;
    if is_disabled(object) {
        return false;
    }
    let mac = value
        .pointer("/sops/mac")
        .and_then(Value::as_str)
        .unwrap_or_default();
    !mac.is_empty() || (object.id.kind == "Secret" && has_encrypted_value(value))
}

fn has_encrypted_value(secret: &Value) -> bool {
    let data = secret.get("data").and_then(Value::as_object);
    data.into_iter()
        .flatten()
        .filter_map(|(_, value)| value.as_str())
        .any(|text| {
            let decoded = base64::engine::general_purpose::STANDARD
                .decode(text)
                .unwrap_or_default();
            [WRAPPED, LINES, "[sops]", "mac: ENC["]
                .iter()
                .any(|marker| holds(&decoded, marker))
        })
}

/// Says that an object is encrypted; its file is the place.
pub(super) fn object_problem(object: &Desired) -> Fault {
    let fault = Fault::new(
        FaultKind::Encrypted,
        format!("{} is SOPS encrypted, and there is no key here", object.id),
    );
    at_origin(fault, object).hint("the object is left out; its key names can still be compared")
}

fn at_origin(fault: Fault, object: &Desired) -> Fault {
    match object.origins.0.values().find(|origin| origin.line > 0) {
        Some(origin) => fault.at(origin.file.to_string(), origin.line),
        None => fault,
    }
}

/// Guards what is about to be applied, as the controller does after it has made objects typed: an encrypted Secret is
/// refused where its `data` is no base64; otherwise its `sops` part is dropped and the cipher text itself is applied.
pub(super) fn guard(object: &mut Desired, rendered: &mut Rendered) {
    let is_secret = object.id.kind == "Secret" && object.id.api_version == "v1";
    if !is_secret || object.value.get("sops").is_none() || is_disabled(object) {
        return;
    }
    let data = object.value.get("data").and_then(Value::as_object);
    let converts = data.into_iter().flatten().all(|(_, value)| match value {
        Value::String(text) => {
            let text: String = text.split(['\n', '\r']).collect();
            base64::engine::general_purpose::STANDARD
                .decode(text)
                .is_ok()
        }
        other => other.is_null(),
    });
    let id = &object.id;
    let named = format!(
        "{}/{}/{}",
        id.kind,
        id.namespace.as_deref().unwrap_or_default(),
        id.name
    );
    if !converts {
        let fault = Fault::new(
            FaultKind::Encrypted,
            format!(
                "{named} is SOPS encrypted, configuring decryption is required for this secret to be reconciled"
            ),
        );
        rendered.problems.push(
            at_origin(fault, object)
                .hint("set spec.decryption of the Kustomization; until then it applies nothing"),
        );
        return;
    }
    let fault = Fault::new(
        FaultKind::Encrypted,
        format!(
            "{named} is SOPS encrypted and the Kustomization has no decryption: the cipher text itself is applied"
        ),
    );
    rendered
        .warnings
        .push(at_origin(fault, object).hint("set spec.decryption of the Kustomization"));
    if let Value::Object(map) = &mut object.value {
        map.remove("sops");
    }
    object.origins.0.retain(
        |route, _| !matches!(route.0.first(), Some(yaml::RouteStep::Key(key)) if key == "sops"),
    );
}

fn is_disabled(object: &Desired) -> bool {
    let annotations = object.value.pointer("/metadata/annotations");
    let setting = annotations
        .and_then(|annotations| annotations.get(DECRYPT))
        .and_then(Value::as_str);
    setting.is_some_and(|setting| setting.eq_ignore_ascii_case("disabled"))
}
