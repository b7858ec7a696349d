//! Work without a cluster: directories and files rendered, and compared with live objects from a file.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::domain::drift::{self, AppDrift};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::object::{Desired, Home, Origin, Origins, Step};
use crate::domain::render::{Profile, Rendered, Request, Tree as _, render};
use crate::domain::yaml::{self, Dialect, Kind, Node, Route};
use crate::world::disk::{DiskTree, read_input};

/// An app and what it reads, from files.
#[derive(Debug, Clone, Default)]
pub struct FileApp {
    /// The Flux Kustomization or Argo CD Application.
    pub app: Option<Value>,
    /// ConfigMaps, Secrets and sources that it reads.
    pub objects: Vec<Value>,
}

impl FileApp {
    /// Reads the files that a command names.
    pub fn read(app: Option<&Path>, objects: Option<&Path>) -> Result<Self, Fault> {
        let app = match app {
            None => None,
            Some(path) => {
                let all = objects_in(&path.display().to_string())?;
                let fits = |o: &&Value| {
                    let kind = o.get("kind").and_then(Value::as_str);
                    let group = o
                        .get("apiVersion")
                        .and_then(Value::as_str)
                        .unwrap_or_default();
                    (kind == Some("Kustomization")
                        && group.starts_with("kustomize.toolkit.fluxcd.io"))
                        || (kind == Some("Application") && group.starts_with("argoproj.io"))
                };
                let found = all.iter().find(fits).cloned().ok_or_else(|| {
                    Fault::new(
                        FaultKind::Usage,
                        "holds no Flux Kustomization and no Argo CD Application",
                    )
                    .about(path.display().to_string())
                    .hint("give the file that declares the app with --app-file")
                })?;
                Some(found)
            }
        };
        let objects = match objects {
            None => vec![],
            Some(path) => objects_in(&path.display().to_string())?,
        };
        Ok(Self { app, objects })
    }
}

/// Renders a directory by a profile; with an app, the directory is the repository's root.
pub fn render_files(
    folder: &Path,
    profile: Option<&str>,
    file: &FileApp,
) -> Result<Rendered, Fault> {
    if folder.is_file() {
        return Err(Fault::new(FaultKind::Usage, "is a file, not a directory")
            .about(folder.display().to_string())
            .hint("name the directory; `diff FILE --live FILE` takes a manifest file"));
    }
    let (tree, request) = if let Some(app) = &file.app {
        let tree = DiskTree::open(folder)?;
        let path = app
            .pointer("/spec/path")
            .or_else(|| app.pointer("/spec/source/path"));
        let path = path.and_then(Value::as_str).unwrap_or_default();
        let path = path.trim_start_matches("./").trim_matches('/').to_owned();
        (
            tree,
            Request {
                profile: of_app(app, file, profile)?,
                path,
            },
        )
    } else {
        let (tree, request, outermost) = rooted(folder, profile)?;
        let mut rendered = render(&tree, &request);
        if outermost {
            rendered.problems.iter_mut().for_each(absolute);
            rendered.warnings.iter_mut().for_each(absolute);
            for origin in rendered
                .objects
                .iter_mut()
                .flat_map(|o| o.origins.0.values_mut())
            {
                let origin = Arc::make_mut(origin);
                origin.file = format!("/{}", origin.file).into();
            }
        }
        return Ok(rendered);
    };
    Ok(render(&tree, &request))
}

/// Names files as the machine does, where the tree's root is the machine's: `home/me/app.yaml` is no path of anybody.
fn absolute(fault: &mut Fault) {
    let Some(place) = &mut fault.place else {
        return;
    };
    let top = place.file.split_inclusive('/').next().unwrap_or_default();
    if top.ends_with('/') {
        fault.sentence = with_root(&fault.sentence, top);
    }
    place.file = format!("/{}", place.file);
}

/// Puts `/` before each path of `text` that begins with the folder `top` (`home/`).
fn with_root(text: &str, top: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(top) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
        if !out.ends_with(inside) {
            out.push('/');
        }
        out.push_str(top);
        rest = from.get(top.len()..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn of_app(app: &Value, file: &FileApp, profile: Option<&str>) -> Result<Profile, Fault> {
    let argo = app.get("kind").and_then(Value::as_str) == Some("Application");
    let says = if argo { "argo" } else { "flux" };
    if profile.is_some_and(|p| p != says) {
        return Err(Fault::new(
            FaultKind::Usage,
            format!("the app's file holds an app of {says}"),
        )
        .hint(format!("write --profile {says}")));
    }
    let is = |kinds: &[&str]| {
        file.objects
            .iter()
            .find(|o| {
                o.get("kind")
                    .and_then(Value::as_str)
                    .is_some_and(|k| kinds.contains(&k))
            })
            .cloned()
    };
    Ok(if argo {
        Profile::Argo {
            app: app.clone(),
            source: 0,
            settings: is(&["ConfigMap"]),
        }
    } else {
        Profile::Flux {
            app: app.clone(),
            objects: file.objects.clone(),
            source: is(&["GitRepository", "OCIRepository", "Bucket"]),
        }
    })
}

/// A kustomization may lead to its siblings (`../base`): the tree's root is the repository's, or the highest folder
/// that may be read above it. The flag tells that it is the machine's own root.
fn rooted(folder: &Path, profile: Option<&str>) -> Result<(DiskTree, Request, bool), Fault> {
    let missing = |e: std::io::Error| {
        Fault::new(FaultKind::NotFound, "cannot be read")
            .about(folder.display().to_string())
            .because(e)
            .hint("name a directory, or an app as ks/NAMESPACE/NAME or app/NAMESPACE/NAME")
    };
    let full = folder.canonicalize().map_err(missing)?;
    let root = full
        .ancestors()
        .find(|f| f.join(".git").exists())
        .or_else(|| full.ancestors().last())
        .unwrap_or(&full);
    let tree = DiskTree::open(root)?;
    let path = full
        .strip_prefix(root)
        .unwrap_or(&full)
        .display()
        .to_string();
    let profile = match profile {
        None | Some("kustomize") => Profile::Kustomize,
        Some(word) => {
            return Err(
                Fault::new(FaultKind::Usage, format!("--profile {word} needs the app"))
                    .hint("give the file that declares it with --app-file"),
            );
        }
    };
    let outermost = root.parent().is_none();
    Ok((tree, Request { profile, path }, outermost))
}

/// Compares a manifest file or a directory with live objects from a file.
pub fn compare_files(
    target: &Path,
    live: &Path,
    profile: Option<&str>,
    file: &FileApp,
) -> Result<(AppDrift, Vec<Desired>), Fault> {
    let (desired, mut problems) =
        if file.app.is_some() || (target.is_dir() && has_kustomization(target)?) {
            let rendered = render_files(target, profile, file)?;
            (rendered.objects, rendered.problems)
        } else if target.is_dir() {
            manifests_below(target)?
        } else {
            manifests(&target.display().to_string())?
        };
    if desired.is_empty() && problems.is_empty() {
        // Nothing compared is no agreement.
        problems.push(
            Fault::new(
                FaultKind::Render,
                "holds no object, so there is nothing to compare",
            )
            .about(target.display().to_string())
            .hint("name the file or the directory that holds the manifests"),
        );
    }
    let live = live_objects(live)?;
    let engine = match &file.app {
        Some(app) if app.get("kind").and_then(Value::as_str) == Some("Application") => {
            drift::Engine::Argo
        }
        Some(_) => drift::Engine::Flux,
        None => drift::Engine::Plain,
    };
    let settings = file
        .objects
        .iter()
        .find(|o| o.pointer("/metadata/name").and_then(Value::as_str) == Some("argocd-cm"));
    let drift = drift::compare(&drift::Comparison {
        app_object: file.app.as_ref(),
        settings,
        desired: &desired,
        live: &live,
        problems: &problems,
        ..drift::Comparison::of(engine)
    });
    Ok((drift, desired))
}

fn has_kustomization(folder: &Path) -> Result<bool, Fault> {
    let tree = DiskTree::open(folder)?;
    for name in ["kustomization.yaml", "kustomization.yml", "Kustomization"] {
        if tree.read(name)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn manifests_below(folder: &Path) -> Result<(Vec<Desired>, Vec<Fault>), Fault> {
    let tree = DiskTree::open(folder)?;
    let (mut all, mut problems) = (vec![], vec![]);
    for entry in tree.list("")?.unwrap_or_default() {
        if [".yaml", ".yml", ".json"]
            .iter()
            .any(|end| entry.name.ends_with(end))
        {
            match manifests(&folder.join(&entry.name).display().to_string()) {
                Ok((mut desired, mut wrong)) => {
                    all.append(&mut desired);
                    problems.append(&mut wrong);
                }
                Err(fault) => problems.push(fault),
            }
        }
    }
    Ok((all, problems))
}

/// Reads every object of a file; broken documents are faults of their own, so that nothing is silently left out.
fn objects_in(path: &str) -> Result<Vec<Value>, Fault> {
    let (desired, problems) = manifests(path)?;
    match problems.into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(desired.into_iter().map(|d| d.value).collect()),
    }
}

/// Reads live objects. An empty file is what a failed `kubectl get` leaves behind, not an empty cluster.
fn live_objects(path: &Path) -> Result<Vec<Value>, Fault> {
    let path = path.display().to_string();
    let objects = objects_in(&path)?;
    if objects.is_empty() && !is_empty_list(&path)? {
        return Err(Fault::new(FaultKind::Usage, "holds no object")
            .about(path)
            .hint("write it with kubectl get -o yaml --show-managed-fields"));
    }
    Ok(objects)
}

fn is_empty_list(path: &str) -> Result<bool, Fault> {
    // What came through a pipe has been read already.
    if path == "-" {
        return Ok(false);
    }
    let stream = yaml::parse(&read_input(path)?);
    Ok(stream
        .documents
        .iter()
        .filter_map(yaml::Document::root)
        .any(|root| root.get("items").is_some()))
}

/// Reads manifests with kubectl's rules, every field with its place; lists are taken apart.
fn manifests(path: &str) -> Result<(Vec<Desired>, Vec<Fault>), Fault> {
    let stream = yaml::parse(&read_input(path)?);
    let broken = |problem: &yaml::Problem| {
        Fault::new(FaultKind::Render, "this YAML cannot be read")
            .at(path, problem.line)
            .because(&problem.message)
            .hint("mend the file, then run it again")
    };
    let mut problems: Vec<Fault> = stream.problems.iter().map(broken).collect();
    let mut all = vec![];
    for document in &stream.documents {
        let Some(root) = document.root() else {
            continue;
        };
        let value = match document.to_json(Dialect::Kubectl) {
            Ok(value) if value.is_null() => continue,
            Ok(value) => value,
            Err(problem) => {
                problems.push(broken(&problem));
                continue;
            }
        };
        let place = Place {
            file: path.into(),
            document: document.index,
        };
        let is_list = value
            .get("kind")
            .and_then(Value::as_str)
            .is_some_and(|k| k.ends_with("List"));
        match (
            is_list,
            value.get("items").and_then(Value::as_array),
            root.get("items"),
        ) {
            (true, Some(items), Some(nodes)) => {
                for (at, (item, node)) in items.iter().zip(nodes.items()).enumerate() {
                    let way = Route::root().key("items").index(at);
                    all.extend(place.desired(item.clone(), node, &way));
                }
            }
            _ => match place.desired(value, root, &Route::root()) {
                Some(desired) => all.push(desired),
                None => problems.push(
                    Fault::new(
                        FaultKind::Render,
                        "this document is no Kubernetes object: kind or name is missing",
                    )
                    .at(path, root.line())
                    .hint("mend the file, then run it again"),
                ),
            },
        }
    }
    Ok((all, problems))
}

struct Place {
    file: Arc<str>,
    document: usize,
}

impl Place {
    fn desired(&self, value: Value, node: Node<'_>, way: &Route) -> Option<Desired> {
        let mut origins = Origins::default();
        self.collect(node, &Route::root(), way, &mut origins);
        Desired::new(value, origins)
    }

    fn collect(&self, node: Node<'_>, inside: &Route, way: &Route, into: &mut Origins) {
        into.0.insert(
            inside.clone(),
            Arc::new(Origin {
                home: Home::Repository,
                file: Arc::clone(&self.file),
                document: self.document,
                line: node.line(),
                route: way.clone(),
                inner: None,
                step: Step::Resource,
                before: None,
            }),
        );
        match node.kind() {
            Kind::Mapping => {
                for entry in node.entries_resolved(Dialect::Kubectl).unwrap_or_default() {
                    if let Some(key) = entry.key.text() {
                        self.collect(entry.value, &inside.key(key), &way.key(key), into);
                    }
                }
            }
            Kind::Sequence => {
                for (at, item) in node.items().enumerate() {
                    self.collect(item, &inside.index(at), &way.index(at), into);
                }
            }
            Kind::Scalar { .. } => {}
        }
    }
}
