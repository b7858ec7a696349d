//! What Flux's kustomize-controller makes of a Kustomization.
//!
//! The steps are the controller's, in its order, since every one shows in the digest or in what is applied: the artifact
//! of the source, the kustomization file rewritten with the app's own words (or made up where there is none), the build,
//! the check of each object, substitution, and then, outside the digest, owner labels and common metadata. The
//! controller stops at the first failure; here the rest is rendered beside the problem, and only the digest's text is
//! given up.

mod artifact;
mod envsubst;
mod finish;
mod generate;
mod ignore;
mod inventory;
mod overrides;
mod sops;
mod substitute;
mod variables;

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value;

use self::artifact::Artifact;
use self::variables::Variables;
use super::kustomize::{
    self, Cache, Kustomization, LoadRestriction, Object, Options, Order, Placed,
};
use super::paths::{clamp, join, resolve};
use super::{EntryKind, Rendered, Tree};
use crate::domain::fault::{Fault, FaultKind, Place};
use crate::domain::object::Desired;
use crate::domain::yaml;

pub use inventory::{inventory_id, parse_inventory_id};

/// The controller whose ways these are; `buildMetadata: [managedByLabel]` names it.
const CONTROLLER: &str = "v1.9.6";

/// The names under which a folder may hold its kustomization file.
const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Renders `app`, a Kustomization of Flux, from its source's repository.
pub(super) fn render(
    tree: &dyn Tree,
    app: &Value,
    objects: &[Value],
    source: Option<&Value>,
) -> Rendered {
    let mut rendered = Rendered::default();
    if let Err(fault) = render_app(tree, app, objects, source, &mut rendered) {
        rendered.text = None;
        rendered.problems.push(fault);
    }
    let subject = format!(
        "ks/{}/{}",
        text(app, "/metadata/namespace"),
        text(app, "/metadata/name")
    );
    for fault in rendered.problems.iter_mut().chain(&mut rendered.warnings) {
        fault.subject.get_or_insert_with(|| subject.clone());
    }
    rendered
}

fn render_app(
    tree: &dyn Tree,
    app: &Value,
    objects: &[Value],
    source: Option<&Value>,
    rendered: &mut Rendered,
) -> Result<(), Fault> {
    rendered.problems = artifact::missing_parts(source);
    let artifact = Artifact::pack(tree, source)?;
    let path = text(app, "/spec/path");
    let folder = clamp(path);
    check_folder(&artifact, path, &folder)?;
    let encrypted = if sops::is_configured(app) {
        sops::encrypted_sources(&artifact, &folder)
    } else {
        BTreeSet::new()
    };
    rendered
        .problems
        .extend(encrypted.iter().map(|file| sops::source_problem(file)));
    let (kustomization, problems) = effective(&artifact, app, &folder)?;
    rendered.problems.extend(problems);
    let options = Options {
        restriction: LoadRestriction::Artifact,
        order: Order::Fifo,
        openapi_adds: true,
        program_version: CONTROLLER,
    };
    let built = kustomize::build(
        &artifact,
        &folder,
        Some(kustomization),
        &options,
        &Cache::default(),
    );
    rendered.problems.extend(built.problems);
    rendered.warnings.extend(built.warnings);
    rendered.inputs = built.inputs;
    let mut built: Vec<Desired> = built
        .objects
        .into_iter()
        .filter_map(Object::desired)
        .collect();
    built.retain(|object| !comes_from(object, &encrypted));
    let built = post_build(app, objects, built, rendered);
    if rendered.problems.is_empty() {
        rendered.text = Some(kustomize::text(built.iter().map(|object| &object.value)));
    }
    finish::finish(app, built, rendered);
    Ok(())
}

/// Tells whether a field of the object was made from one of these files.
fn comes_from(object: &Desired, files: &BTreeSet<String>) -> bool {
    !files.is_empty()
        && object
            .origins
            .0
            .values()
            .any(|origin| files.contains(origin.file.as_ref()))
}

/// Checks, opens and substitutes the built objects; one that fails becomes a problem and is left out.
fn post_build(
    app: &Value,
    objects: &[Value],
    built: Vec<Desired>,
    rendered: &mut Rendered,
) -> Vec<Desired> {
    let mut variables = PostBuild::of(app, objects);
    let mut done: Vec<Desired> = vec![];
    let mut rest: VecDeque<Desired> = built.into();
    while let Some(mut object) = rest.pop_front() {
        if sops::is_configured(app) && sops::needs_key(&object) {
            rendered.problems.push(sops::object_problem(&object));
            continue;
        }
        let name = resource_name(&object);
        match variables.substitute(&mut object) {
            Ok(()) => {}
            Err(None) => continue,
            Err(Some(fault)) => {
                let sentence = format!("post build failed for '{name}': {}", fault.sentence);
                let place = object.origins.0.values().find(|origin| origin.line > 0);
                let place = place.map(|origin| Place {
                    file: origin.file.to_string(),
                    line: Some(origin.line),
                });
                rendered.problems.push(Fault {
                    sentence,
                    place: fault.place.or(place),
                    ..fault
                });
                continue;
            }
        }
        let same = |other: &&Desired| {
            resource_name_in_namespace(other) == resource_name_in_namespace(&object)
        };
        let twins = done.iter().filter(same).count() + rest.iter().filter(same).count();
        if variables.is_set() && twins > 0 {
            rendered.problems.push(Fault::new(
                FaultKind::Render,
                format!(
                    "in Replace: id matched {} resources: {} stands more than once after substitution",
                    twins + 1,
                    object.id
                ),
            ));
        }
        done.push(object);
    }
    done
}

/// The substitution of one app: nothing, variables, or the failure to load them, told once.
enum PostBuild {
    Off,
    On(Variables),
    Failed(Option<Fault>),
}

impl PostBuild {
    fn of(app: &Value, objects: &[Value]) -> Self {
        if app.pointer("/spec/postBuild").is_none_or(Value::is_null) {
            return Self::Off;
        }
        let always = text(app, "/spec/postBuild/substituteStrategy") == "Always";
        match Variables::load(app, objects) {
            Ok(variables) if variables.is_empty() && !always => Self::Off,
            Ok(variables) => Self::On(variables),
            Err(fault) => Self::Failed(Some(fault)),
        }
    }

    fn is_set(&self) -> bool {
        matches!(self, Self::On(_))
    }

    /// Substitutes one object; `Err(None)` where the reason has been told already.
    fn substitute(&mut self, object: &mut Desired) -> Result<(), Option<Fault>> {
        if matches!(self, Self::Off) || substitute::is_exempt(&object.value) {
            return Ok(());
        }
        match self {
            Self::Off => Ok(()),
            Self::Failed(fault) => Err(fault.take()),
            Self::On(variables) => substitute::substitute(object, variables, true)
                .map_err(|sentence| Some(Fault::new(FaultKind::Render, sentence))),
        }
    }
}

/// Prints `ConfigMap.v1.[noGrp]/name`, as the controller names what it builds.
fn resource_name(object: &Desired) -> String {
    let id = &object.id;
    let or = |text: &str, otherwise: &str| {
        if text.is_empty() {
            otherwise.to_owned()
        } else {
            text.to_owned()
        }
    };
    let (version, group) = (or(id.version(), "[noVer]"), or(id.group(), "[noGrp]"));
    format!("{}.{version}.{group}/{}", id.kind, id.name)
}

fn resource_name_in_namespace(object: &Desired) -> String {
    let namespace = object.id.namespace.as_deref().unwrap_or("default");
    format!("{}.{namespace}", resource_name(object))
}

/// Returns the kustomization that the controller would have written into the folder, and what kept files out of one that
/// is made up.
fn effective(
    artifact: &Artifact<'_>,
    app: &Value,
    folder: &str,
) -> Result<(Kustomization, Vec<Fault>), Fault> {
    let file = kustomization_file(artifact, folder)?;
    let is_generated = file.is_none();
    let mut problems = vec![];
    let mut kustomization = match file {
        None => {
            let generated = generate::generate(artifact, folder)?;
            problems = generated.problems;
            made_up(folder, generated.resources)
        }
        Some(file) if is_blank(artifact, &file)? => Kustomization {
            file: file.into(),
            ..Kustomization::default()
        },
        Some(_) => match kustomize::load(artifact, folder, true)? {
            Some((kustomization, _)) => kustomization,
            None => Kustomization::default(),
        },
    };
    overrides::apply(app, artifact, folder, &mut kustomization, is_generated)?;
    Ok((kustomization, problems))
}

fn is_blank(artifact: &Artifact<'_>, file: &str) -> Result<bool, Fault> {
    let stream = yaml::parse(&artifact.read(file)?.unwrap_or_default());
    let first = stream.documents.first();
    Ok(stream.problems.is_empty() && first.and_then(yaml::Document::root).is_none())
}

/// Makes up the kustomization of a folder that has none; one without resources still builds, to nothing.
fn made_up(folder: &str, resources: Vec<String>) -> Kustomization {
    let at = kustomize::Place::file(join(folder, FILE_NAMES[0]));
    let placed = |value: String| Placed {
        value,
        place: at.clone(),
    };
    let namespace = resources.is_empty().then(|| placed("_placeholder".into()));
    Kustomization {
        resources: resources.into_iter().map(placed).collect(),
        namespace,
        ..Kustomization::default()
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn check_folder(artifact: &Artifact<'_>, path: &str, folder: &str) -> Result<(), Fault> {
    if artifact.list(folder)?.is_some() {
        return Ok(());
    }
    Err(if artifact.read(folder)?.is_some() {
        Fault::new(
            FaultKind::Render,
            format!("spec.path `{path}` is a file: not a directory"),
        )
        .at(folder, None)
    } else {
        Fault::new(
            FaultKind::Render,
            format!("kustomization path not found: no folder `{path}` in the artifact"),
        )
    }
    .hint("mend spec.path of the Kustomization, or the source's ignore rules"))
}

/// Returns the path of a folder's kustomization file: the first name that exists.
fn kustomization_file(tree: &dyn Tree, folder: &str) -> Result<Option<String>, Fault> {
    let entries = tree.list(folder)?.unwrap_or_default();
    let found = FILE_NAMES.iter().find(|name| {
        entries
            .iter()
            .any(|entry| entry.name == **name && entry.kind == EntryKind::File)
    });
    Ok(found.map(|name| join(folder, name)))
}
