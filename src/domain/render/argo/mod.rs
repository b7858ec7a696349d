//! What Argo CD makes of one source of an Application.
//!
//! The repo server decides how a source is rendered and marks every object as the Application's; the controller then
//! gives objects a namespace, drops repeated and excluded ones. Both parts are done here, in that order, since an object
//! that lacks any of it differs from what is live. Directories and kustomizations are rendered; charts, plugins and
//! jsonnet are problems with a name.

mod directory;
mod env;
mod filter;
mod glob;
mod kustomize;
mod scope;
mod source;
mod tracking;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::Value;

use self::env::Environment;
use self::filter::Filter;
use self::scope::Scopes;
use self::source::{Source, Tool};
use self::tracking::Tracking;
use super::metadata::{derived, in_app, remove_namespace, set_namespace};
use super::paths::resolve;
use super::{Rendered, Tree};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::object::{Desired, Origins, Step};
use crate::domain::yaml::Route;

pub use tracking::{INSTALLATION_ID, TRACKING_ID};

/// The values of `argocd-cm`: given as the ConfigMap or as its `data`.
#[derive(Clone, Copy)]
struct Settings<'s>(Option<&'s Value>);

impl<'s> Settings<'s> {
    fn get(self, key: &str) -> Option<&'s str> {
        let settings = self.0?;
        settings.get("data").unwrap_or(settings).get(key)?.as_str()
    }

    /// Tells whether the settings allow a way of rendering.
    fn enables(self, tool: Tool) -> bool {
        let key = match tool {
            Tool::Kustomize => "kustomize.enable",
            Tool::Helm => "helm.enable",
            Tool::Directory => "jsonnet.enable",
            Tool::Plugin => return true,
        };
        self.get(key) != Some("false")
    }
}

/// Renders source number `index` (0-based) of `app`; `tree` is the repository of that source.
pub(super) fn render(
    tree: &dyn Tree,
    app: &Value,
    index: usize,
    settings: Option<&Value>,
) -> Rendered {
    let settings = Settings(settings);
    let mut rendered = Rendered::default();
    if let Err(fault) = render_source(tree, app, index, settings, &mut rendered) {
        rendered.problems.push(fault);
    }
    let subject = format!(
        "app/{}/{}",
        text(app, "/metadata/namespace"),
        text(app, "/metadata/name")
    );
    for fault in rendered.problems.iter_mut().chain(&mut rendered.warnings) {
        fault.subject.get_or_insert_with(|| subject.clone());
    }
    rendered.inputs.sort();
    rendered.inputs.dedup();
    rendered
}

fn render_source(
    tree: &dyn Tree,
    app: &Value,
    index: usize,
    settings: Settings<'_>,
    rendered: &mut Rendered,
) -> Result<(), Fault> {
    let mut source = Source::pick(app, index)?;
    if let Some(chart) = source.text("chart").filter(|chart| !chart.is_empty()) {
        return Err(unsupported(format!(
            "Helm chart `{chart}` is not rendered yet"
        )));
    }
    let path = match (source.path(), source.text("ref")) {
        (Some(path), _) => path.to_owned(),
        // such a source only lends value files to the others
        (None, Some(name)) if !name.is_empty() => return Ok(()),
        (None, _) => {
            return Err(Fault::new(
                FaultKind::Render,
                "the source names neither a path nor a chart",
            ));
        }
    };
    let folder = folder_of(&path)?;
    if tree.list(&folder)?.is_none() {
        let why = if tree.read(&folder)?.is_some() {
            "app path is not a directory"
        } else {
            "app path does not exist"
        };
        return Err(Fault::new(FaultKind::Render, format!("{path}: {why}")).at(folder, None));
    }
    let instance = instance_name(app, settings);
    source.merge_overrides(tree, &folder, &instance)?;
    let discovered_plugin =
        source.value.get("plugin").is_none() && source.decided(app).as_deref() == Some("Plugin");
    let tool = source.tool(tree, &folder, |tool| settings.enables(tool))?;
    match tool {
        _ if discovered_plugin => {
            return Err(unsupported(
                "the server renders this source with a plugin it found itself".into(),
            ));
        }
        Tool::Plugin => {
            return Err(unsupported(
                "config management plugins are not rendered".into(),
            ));
        }
        Tool::Helm => return Err(unsupported("Helm charts are not rendered yet".into())),
        Tool::Directory => {
            directory::render(tree, &folder, source.value.get("directory"), rendered);
        }
        Tool::Kustomize => {
            let environment = Environment::of(app, &source, &instance);
            kustomize::render(tree, &folder, &source, &environment, settings, rendered)?;
        }
    }
    finish(app, &instance, settings, rendered);
    Ok(())
}

fn unsupported(sentence: String) -> Fault {
    Fault::new(FaultKind::Unsupported, sentence)
        .hint("what Argo CD makes of it is in `argocd app manifests`")
}

/// Does to the rendered objects what the server does to all: marks, namespaces, the last of repeated ones, exclusions.
fn finish(app: &Value, instance: &str, settings: Settings<'_>, rendered: &mut Rendered) {
    let destination = text(app, "/spec/destination/namespace");
    let tracking = Tracking::of(settings);
    let scopes = Scopes::of(app, &rendered.objects);
    let filter = Filter::of(app, settings);
    let mut kept: Vec<Desired> = vec![];
    let mut places: HashMap<String, usize> = HashMap::new();
    for mut object in std::mem::take(&mut rendered.objects) {
        // a namespace on a cluster-scoped object counts for nothing, not even in its mark
        let is_namespaced = !scopes.is_cluster_scoped(&object);
        if !is_namespaced {
            remove_namespace(&mut object);
        }
        if let Err(why) = tracking.mark(&mut object, instance, destination) {
            rendered.problems.push(Fault::new(FaultKind::Render, why));
            continue;
        }
        if is_namespaced && object.id.namespace.is_none() && !destination.is_empty() {
            let route = Route::root()
                .key("spec")
                .key("destination")
                .key("namespace");
            set_namespace(&mut object, destination, in_app(route, Step::Namespace));
        }
        let id = &object.id;
        if filter.excludes(id.group(), &id.kind) {
            rendered.warnings.push(Fault::new(
                FaultKind::Render,
                format!(
                    "Resource {}/{} {} is excluded in the settings",
                    id.group(),
                    id.kind,
                    id.name
                ),
            ));
            continue;
        }
        match places.entry(format!("{}/{id}", id.group())) {
            Entry::Vacant(slot) => {
                slot.insert(kept.len());
                kept.push(object);
            }
            Entry::Occupied(slot) => {
                rendered.warnings.push(
                    Fault::new(
                        FaultKind::Render,
                        format!(
                            "{id} appears more than once among the objects; the last one counts"
                        ),
                    )
                    .hint("Argo CD says RepeatedResourceWarning; remove one of them"),
                );
                kept[*slot.get()] = object;
            }
        }
    }
    rendered.objects = kept;
}

/// Returns the name under which the Application marks objects: with its namespace where that is not the server's own.
fn instance_name(app: &Value, settings: Settings<'_>) -> String {
    let name = text(app, "/metadata/name");
    let namespace = text(app, "/metadata/namespace");
    let of_settings = settings
        .0
        .map_or("", |settings| text(settings, "/metadata/namespace"));
    let home = [text(app, "/status/controllerNamespace"), of_settings]
        .into_iter()
        .find(|home| !home.is_empty())
        .unwrap_or(namespace);
    if namespace.is_empty() || namespace == home {
        name.to_owned()
    } else {
        format!("{namespace}_{name}")
    }
}

/// Returns the Namespace that Argo CD compares for `CreateNamespace` with `managedNamespaceMetadata`. It does so only
/// where the live Namespace carries the app's tracking id and Git renders no such Namespace.
pub fn managed_namespace(app: &Value) -> Option<Desired> {
    let name = text(app, "/spec/destination/namespace");
    let metadata = app.pointer("/spec/syncPolicy/managedNamespaceMetadata")?;
    let options = app
        .pointer("/spec/syncPolicy/syncOptions")
        .and_then(Value::as_array)?;
    if name.is_empty()
        || !options
            .iter()
            .any(|option| option == "CreateNamespace=true")
    {
        return None;
    }
    let value = serde_json::json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {}, "status": {},
    });
    let mut object = Desired::new(value, Origins::default())?;
    let base = Route::root()
        .key("spec")
        .key("syncPolicy")
        .key("managedNamespaceMetadata");
    for (field, step) in [("labels", Step::Label), ("annotations", Step::Annotation)] {
        let entries = metadata.get(field).and_then(Value::as_object);
        for (key, value) in entries.into_iter().flatten() {
            let origin = in_app(base.key(field).key(key.as_str()), step.clone());
            super::metadata::set_entry(&mut object, field, key, value.as_str()?, origin);
        }
    }
    let options = "argocd.argoproj.io/sync-options";
    let origin = derived(Step::Tracking);
    super::metadata::set_entry(
        &mut object,
        "annotations",
        options,
        "ServerSideApply=true",
        origin,
    );
    Some(object)
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns the folder that a source's path names; a path that leaves the repository is refused.
fn folder_of(path: &str) -> Result<String, Fault> {
    if path.starts_with('/') {
        return Err(Fault::new(
            FaultKind::Render,
            format!("{path}: app path is absolute"),
        ));
    }
    resolve("", path)
        .ok_or_else(|| Fault::new(FaultKind::Render, format!("{path}: app path outside root")))
}
