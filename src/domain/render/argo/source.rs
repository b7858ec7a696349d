//! Which source of an Application is rendered, with what its repository says on top.
//!
//! A folder may hold `.argocd-source.yaml` and `.argocd-source-APP.yaml`; both are merged over the source as JSON merge
//! patches (maps merge, lists are replaced whole), the app's own file last. Where a value of the source stands is kept,
//! since that file, not the Application, is its home in Git then.

use serde_json::{Map, Value};

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::object::Home;
use crate::domain::render::Tree;
use crate::domain::render::kustomize::Place;
use crate::domain::render::paths::join;
use crate::domain::yaml::{self, Dialect, Document, Route};

/// Fields of a source that an override file cannot change.
const FIXED: [&str; 4] = ["repoURL", "path", "chart", "targetRevision"];

/// How a source is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    /// Plain manifests.
    Directory,
    /// A kustomization.
    Kustomize,
    /// A chart.
    Helm,
    /// A config management plugin.
    Plugin,
}

/// One source of an Application.
pub(super) struct Source {
    /// The source, override files merged in.
    pub(super) value: Value,
    index: usize,
    is_listed: bool,
    overrides: Vec<(String, Document)>,
}

impl Source {
    /// Picks a source of `app`: of `spec.sources`, of `spec.source`, or what a hydrator writes.
    pub(super) fn pick(app: &Value, index: usize) -> Result<Self, Fault> {
        let listed = app.pointer("/spec/sources").and_then(Value::as_array);
        let listed = listed.filter(|sources| !sources.is_empty());
        let value = match (listed, app.pointer("/spec/source")) {
            (Some(sources), _) => sources.get(index).cloned(),
            (None, Some(source)) if index == 0 => Some(source.clone()),
            (None, None) if index == 0 => hydrated(app),
            _ => None,
        };
        let Some(value) = value else {
            return Err(Fault::new(
                FaultKind::NotFound,
                format!("the Application has no source number {}", index + 1),
            ));
        };
        Ok(Self {
            value,
            index,
            is_listed: listed.is_some(),
            overrides: vec![],
        })
    }

    /// Returns the folder that the source names; `None` where it has none (a chart, or a source of value files only).
    pub(super) fn path(&self) -> Option<&str> {
        self.text("path").filter(|path| !path.is_empty())
    }

    /// Returns a text of the source.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.value.get(key).and_then(Value::as_str)
    }

    /// Returns the commit that the server compared last, else what the source asks for.
    pub(super) fn revision(&self, app: &Value) -> String {
        let pointer = if self.is_listed {
            format!("/status/sync/revisions/{}", self.index)
        } else {
            "/status/sync/revision".to_owned()
        };
        let resolved = app.pointer(&pointer).and_then(Value::as_str);
        resolved
            .or_else(|| self.text("targetRevision"))
            .unwrap_or_default()
            .to_owned()
    }

    /// Returns what the server says this source is, where it has said so.
    pub(super) fn decided(&self, app: &Value) -> Option<String> {
        let pointer = if self.is_listed {
            format!("/status/sourceTypes/{}", self.index)
        } else {
            "/status/sourceType".to_owned()
        };
        app.pointer(&pointer)
            .and_then(Value::as_str)
            .map(str::to_owned)
    }

    /// Merges the override files of `folder` over the source.
    pub(super) fn merge_overrides(
        &mut self,
        tree: &dyn Tree,
        folder: &str,
        app_name: &str,
    ) -> Result<(), Fault> {
        for name in [
            ".argocd-source.yaml".to_owned(),
            format!(".argocd-source-{app_name}.yaml"),
        ] {
            let file = join(folder, &name);
            let Some(bytes) = tree.read(&file)? else {
                continue;
            };
            let broken = |why: &yaml::Problem| {
                Fault::new(
                    FaultKind::Render,
                    "error while parsing source parameters: the override file is no YAML",
                )
                .at(&file, why.line)
                .because(why)
            };
            let stream = yaml::parse(&bytes);
            if let Some(problem) = stream.problems.first() {
                return Err(broken(problem));
            }
            let Some(document) = stream.documents.into_iter().next() else {
                continue;
            };
            let patch = document
                .to_json(Dialect::Kubectl)
                .map_err(|problem| broken(&problem))?;
            let fixed: Vec<_> = FIXED
                .iter()
                .map(|key| self.value.get(*key).cloned())
                .collect();
            merge_patch(&mut self.value, &patch);
            if let Value::Object(source) = &mut self.value {
                for (key, value) in FIXED.iter().zip(fixed) {
                    match value {
                        Some(value) => source.insert((*key).to_owned(), value),
                        None => source.remove(*key),
                    };
                }
            }
            self.overrides.push((file, document));
        }
        Ok(())
    }

    /// Decides how the source is rendered: as it says itself, else by the files of its folder. `enabled` tells whether
    /// the server's settings allow a tool.
    pub(super) fn tool(
        &self,
        tree: &dyn Tree,
        folder: &str,
        enabled: impl Fn(Tool) -> bool,
    ) -> Result<Tool, Fault> {
        let named: Vec<(Tool, &str)> = [
            (Tool::Kustomize, "Kustomize"),
            (Tool::Helm, "Helm"),
            (Tool::Directory, "Directory"),
            (Tool::Plugin, "Plugin"),
        ]
        .into_iter()
        .filter(|(_, name)| {
            self.value
                .get(name.to_lowercase())
                .is_some_and(|block| !block.is_null())
        })
        .collect();
        match named.as_slice() {
            [(tool, _)] if enabled(*tool) => return Ok(*tool),
            [_] => return Ok(Tool::Directory),
            [] => {}
            several => {
                let names: Vec<&str> = several.iter().map(|(_, name)| *name).collect();
                return Err(Fault::new(
                    FaultKind::Render,
                    format!("multiple application sources defined: {}", names.join(",")),
                )
                .hint("keep one of these blocks in the source"));
            }
        }
        let entries = tree.list(folder)?.unwrap_or_default();
        let is_kustomization = |name: &str| {
            ["kustomization.yaml", "kustomization.yml", "Kustomization"].contains(&name)
        };
        let has = |test: &dyn Fn(&str) -> bool| entries.iter().any(|entry| test(&entry.name));
        Ok(if enabled(Tool::Kustomize) && has(&is_kustomization) {
            Tool::Kustomize
        } else if enabled(Tool::Helm) && has(&|name| name.ends_with("Chart.yaml")) {
            Tool::Helm
        } else {
            Tool::Directory
        })
    }

    /// Returns where the value at `route` of the source stands: in the override file that sets it last, else in the
    /// Application.
    pub(super) fn place(&self, route: &Route) -> Place {
        let overridden = self
            .overrides
            .iter()
            .rev()
            .find_map(|(file, document)| Some((file, document, document.at(route)?)));
        if let Some((file, document, node)) = overridden {
            return Place {
                home: Home::Repository,
                file: file.as_str().into(),
                document: document.index,
                line: node.line(),
                route: route.clone(),
            };
        }
        let base = Route::root().key("spec");
        let base = if self.is_listed {
            base.key("sources").index(self.index)
        } else {
            base.key("source")
        };
        Place::app(Route([base.0, route.0.clone()].concat()))
    }
}

/// Returns what a hydrator leaves to render: the dry source's repository at the branch and path it writes.
fn hydrated(app: &Value) -> Option<Value> {
    let hydrator = app.pointer("/spec/sourceHydrator")?;
    let mut source = Map::new();
    for (key, pointer) in [
        ("repoURL", "/drySource/repoURL"),
        ("path", "/syncSource/path"),
        ("targetRevision", "/syncSource/targetBranch"),
    ] {
        if let Some(value) = hydrator.pointer(pointer) {
            source.insert(key.to_owned(), value.clone());
        }
    }
    Some(Value::Object(source))
}

/// Merges `patch` into `target` as RFC 7396 says: maps merge, `null` removes, everything else replaces.
fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (key, value) in patch {
        if value.is_null() {
            if let Value::Object(target) = target {
                target.remove(key);
            }
        } else {
            merge_patch(&mut target[key.as_str()], value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn merges_maps_replaces_lists_and_removes_with_null() {
        let mut target =
            json!({"kustomize": {"images": ["a", "b"], "namePrefix": "x-", "namespace": "n"}});
        let patch = json!({"kustomize": {"images": ["c"], "namePrefix": null, "nameSuffix": "-y"}});
        merge_patch(&mut target, &patch);
        assert_eq!(
            target,
            json!({"kustomize": {"images": ["c"], "namespace": "n", "nameSuffix": "-y"}})
        );
    }

    #[test]
    fn picks_by_index_and_from_a_hydrator() {
        let several =
            json!({"spec": {"source": {"path": "old"}, "sources": [{"path": "a"}, {"ref": "v"}]}});
        assert_eq!(Source::pick(&several, 0).unwrap().path(), Some("a"));
        assert_eq!(Source::pick(&several, 1).unwrap().path(), None);
        assert!(Source::pick(&several, 2).is_err());
        let place = Source::pick(&several, 1)
            .unwrap()
            .place(&Route::root().key("ref"));
        assert_eq!(place.route.to_string(), "spec.sources[1].ref");
        let hydrator = json!({"spec": {"sourceHydrator": {
            "drySource": {"repoURL": "r", "path": "dry"}, "syncSource": {"targetBranch": "env", "path": "wet"},
        }}});
        let source = Source::pick(&hydrator, 0).unwrap();
        assert_eq!(
            (source.path(), source.text("targetRevision")),
            (Some("wet"), Some("env"))
        );
    }
}
