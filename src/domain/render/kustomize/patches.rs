//! `patches`, `patchesStrategicMerge` and `patchesJson6902`: what a text is, which objects it is for, and its way there.

use super::accumulate::Accumulator;
use super::json6902::{self, Operation};
use super::load::{Context, Root, documents, fault_at, inline_documents};
use super::model::{Patch, Text};
use super::node::{Node, Shape};
use super::patch_merge;
use super::place::{Place, Placed};
use super::resource::Resource;
use super::schema::Schema;
use super::selector::Matcher;
use crate::domain::fault::Fault;
use crate::domain::object::Step;
use crate::domain::yaml::{self, Dialect};

/// The text of a patch, and where it stands.
struct Source {
    text: Vec<u8>,
    place: Place,
    inline: bool,
    /// How sentences name it.
    name: String,
}

/// A patch that has been read.
enum Content {
    Merge(Vec<Node>),
    Json(Vec<Operation>),
    Nothing,
}

/// Carries an entry of `patches` out.
pub(super) fn patch(
    context: &mut Context<'_>,
    root: &Root,
    all: &mut Accumulator,
    entry: &Patch,
    schema: &Schema,
) -> Result<(), Fault> {
    let at = &entry.place;
    let source = source(context, root, entry)?;
    let content = read(&source, at)?;
    match content {
        Content::Nothing => Ok(()),
        Content::Json(operations) => {
            let Some(target) = &entry.target else {
                return Err(fault_at(
                    at,
                    format!("must specify a target for JSON patch {}", source.name),
                ));
            };
            let matcher = Matcher::new(target).map_err(|error| fault_at(at, error))?;
            for resource in all
                .resources
                .iter_mut()
                .filter(|resource| matcher.selects(resource, schema))
            {
                resource.remember_id(schema);
                json(resource, &operations)
                    .map_err(|error| patch_fault(at, &source, resource, schema, &error))?;
            }
            Ok(())
        }
        Content::Merge(patches) => merge_all(context, all, entry, &source, patches, schema),
    }
}

fn merge_all(
    context: &mut Context<'_>,
    all: &mut Accumulator,
    entry: &Patch,
    source: &Source,
    patches: Vec<Node>,
    schema: &Schema,
) -> Result<(), Fault> {
    let at = &entry.place;
    let allow = (entry.allow_name_change, entry.allow_kind_change);
    let Some(target) = &entry.target else {
        for patch in patches {
            let index = find(all, &patch, schema)
                .map_err(|error| fault_at(at, format!("{error}; patch {}", source.name)))?;
            let resource = &mut all.resources[index];
            merge(context, resource, patch, allow, at, schema)
                .map_err(|error| patch_fault(at, source, &all.resources[index], schema, &error))?;
        }
        return Ok(());
    };
    let matcher = Matcher::new(target).map_err(|error| fault_at(at, error))?;
    let [patch] = &patches[..] else {
        return Err(fault_at(
            at,
            format!(
                "Multiple Strategic-Merge Patches in one `patches` entry is not allowed to set `patches.target` \
                 field: {}",
                source.name
            ),
        ));
    };
    for resource in all
        .resources
        .iter_mut()
        .filter(|resource| matcher.selects(resource, schema))
    {
        let patch = for_target(patch, resource);
        merge(context, resource, patch, allow, at, schema)
            .map_err(|error| patch_fault(at, source, resource, schema, &error))?;
    }
    Ok(())
}

fn patch_fault(
    at: &Place,
    source: &Source,
    resource: &Resource,
    schema: &Schema,
    error: &str,
) -> Fault {
    fault_at(
        at,
        format!(
            "patch {} does not apply to {}: {error}",
            source.name,
            resource.id(schema)
        ),
    )
}

/// Makes a patch fit one of its targets as kustomize does: labels and annotations become texts (a null too), and it
/// takes the target's API version.
fn for_target(patch: &Node, resource: &Resource) -> Node {
    let mut copy = Resource::new(patch.clone());
    copy.normalize_texts("labels");
    copy.normalize_texts("annotations");
    let (name, namespace) = (copy.name(), copy.namespace());
    copy.set_name(&name, None);
    copy.set_namespace(&namespace, None);
    copy.root.set(
        "apiVersion",
        super::node::Scalar::untyped(&*resource.api_version()),
        None,
    );
    copy.root
}

/// Finds the one object that a patch without a target is for.
fn find(all: &Accumulator, patch: &Node, schema: &Schema) -> Result<usize, String> {
    let id = Resource::new(patch.clone()).id(schema);
    let mut found = (0..all.resources.len()).filter(|at| {
        let resource = &all.resources[*at];
        !resource.is_gone && resource.any_id(schema, |other| id.is_same(other))
    });
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (None, _) => Err(format!(
            "no resource matches strategic merge patch \"{id}\": no matches for Id {id}; failed to find unique target \
             for patch {id}"
        )),
        _ => Err(format!(
            "no resource matches strategic merge patch \"{id}\": multiple matches for Id {id}; failed to find unique \
             target for patch {id}"
        )),
    }
}

fn merge(
    context: &mut Context<'_>,
    resource: &mut Resource,
    patch: Node,
    (name_changes, kind_changes): (bool, bool),
    at: &Place,
    schema: &Schema,
) -> Result<(), String> {
    let (name, namespace, kind) = (resource.name(), resource.namespace(), resource.kind());
    if name_changes || kind_changes {
        resource.remember_id(schema);
    }
    let keep = |key: &str| {
        resource
            .root
            .get("metadata")
            .and_then(|metadata| metadata.get(key)?.mark.clone())
    };
    let marks = (
        keep("name"),
        keep("namespace"),
        resource.root.get("kind").and_then(|node| node.mark.clone()),
    );
    let mut lost = vec![];
    let kept = patch_merge::merge(&mut resource.root, patch, schema, &mut lost)?;
    for path in lost {
        context.warnings.push(
            fault_at(
                at,
                format!("the patch loses entries of {path} of {kind}/{name}, as kustomize does"),
            )
            .hint("give every entry of the list its second key (such as `protocol`)"),
        );
    }
    if !kept {
        resource.is_gone = true;
        return Ok(());
    }
    resource.settle();
    if !kind_changes {
        resource
            .root
            .set("kind", super::node::Scalar::untyped(kind), None);
        restore(resource.root.get_mut("kind"), marks.2);
    }
    if !name_changes {
        resource.set_name(&name, None);
        restore(
            resource
                .root
                .get_mut("metadata")
                .and_then(|metadata| metadata.get_mut("name")),
            marks.0,
        );
    }
    resource.set_namespace(&namespace, None);
    restore(
        resource
            .root
            .get_mut("metadata")
            .and_then(|metadata| metadata.get_mut("namespace")),
        marks.1,
    );
    Ok(())
}

fn restore(node: Option<&mut Node>, mark: Option<super::place::Mark>) {
    if let (Some(node), Some(mark)) = (node, mark) {
        node.mark = Some(mark);
    }
}

/// Carries a JSON patch out on one object.
fn json(resource: &mut Resource, operations: &[Operation]) -> Result<(), String> {
    resource.root.through_json()?;
    if resource.has_notes()
        && let Some(metadata) = resource.root.map_at("metadata")
    {
        // kustomize's own notes stand there, so a patch may add to them.
        metadata.map_at("annotations");
    }
    for operation in operations {
        json6902::apply(&mut resource.root, operation)?;
    }
    Ok(())
}

fn source(context: &mut Context<'_>, root: &Root, entry: &Patch) -> Result<Source, Fault> {
    match (&entry.path, &entry.patch) {
        (None, None) => Err(fault_at(&entry.place, "must specify one of patch and path")),
        (Some(_), Some(_)) => Err(fault_at(
            &entry.place,
            "patch and path can't be set at the same time",
        )),
        (Some(path), None) => {
            let (file, text) = context
                .read(root, &path.value, &path.place)
                .map_err(|fault| Fault {
                    sentence: format!(
                        "failed to get the patch file from path({}): {}",
                        path.value, fault.sentence
                    ),
                    ..fault
                })?;
            Ok(Source {
                text,
                place: Place::file(file),
                inline: false,
                name: format!("[path: \"{}\"]", path.value),
            })
        }
        (None, Some(patch)) => Ok(inline_source(patch)),
    }
}

fn inline_source(patch: &Placed<Text>) -> Source {
    let mut shown: String = patch
        .value
        .text
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(60)
        .collect();
    if shown.len() < patch.value.text.trim_end().len() {
        shown.push('…');
    }
    Source {
        text: patch.value.text.clone().into_bytes(),
        place: Place {
            line: patch.value.first_line,
            ..patch.place.clone()
        },
        inline: true,
        name: format!("[patch: \"{shown}\"]"),
    }
}

/// Finds out which of the two kinds a patch is.
fn read(source: &Source, at: &Place) -> Result<Content, Fault> {
    let merges =
        documents(&source.text, &source.place, &Step::Patch, source.inline).and_then(|nodes| {
            nodes.iter().try_for_each(|node| {
                super::accumulate::check(node).map_err(|error| fault_at(at, error))
            })?;
            Ok(super::accumulate::expand(nodes))
        });
    let operations = json_operations(source);
    match (merges, operations) {
        (Ok(patches), Some(operations)) if !patches.is_empty() && !operations.is_empty() => {
            Err(fault_at(
                at,
                format!(
                    "illegally qualifies as both an SM and JSON patch: {}",
                    source.name
                ),
            ))
        }
        (Ok(patches), _) if !patches.is_empty() => Ok(Content::Merge(patches)),
        (Ok(_), _) => Ok(Content::Nothing),
        (Err(_), Some(operations)) => Ok(Content::Json(operations)),
        (Err(fault), None) => Err(Fault {
            sentence: format!(
                "unable to parse SM or JSON patch from {}: {}",
                source.name, fault.sentence
            ),
            ..fault
        }),
    }
}

/// Reads the operations; each value is marked as its operation's.
fn json_operations(source: &Source) -> Option<Vec<Operation>> {
    let stream = yaml::parse(&source.text);
    let document = stream.documents.first()?;
    if document.root().is_none() {
        return Some(vec![]);
    }
    let place = Place {
        document: if source.inline {
            source.place.document
        } else {
            document.index
        },
        ..source.place.clone()
    };
    let node = Node::read(
        document,
        Dialect::Kubectl,
        place,
        Step::Json6902(0),
        source.inline,
    )
    .ok()?;
    if node.is_null() {
        return Some(vec![]);
    }
    let mut operations = json6902::operations(&node)?;
    for (index, operation) in operations.iter_mut().enumerate() {
        if let Some(value) = &operation.value {
            operation.value = Some(value.as_step(Step::Json6902(index)));
        }
    }
    Some(operations)
}

/// Carries `patchesStrategicMerge` out.
pub(super) fn strategic_merge(
    context: &mut Context<'_>,
    root: &Root,
    all: &mut Accumulator,
    entries: &[Placed<Text>],
    schema: &Schema,
) -> Vec<Fault> {
    let mut faults = vec![];
    for entry in entries {
        let done = strategic_merge_entry(context, root, all, entry, schema);
        faults.extend(done.err());
    }
    faults
}

fn strategic_merge_entry(
    context: &mut Context<'_>,
    root: &Root,
    all: &mut Accumulator,
    entry: &Placed<Text>,
    schema: &Schema,
) -> Result<(), Fault> {
    let at = &entry.place;
    let is_object = |nodes: &Vec<Node>| {
        nodes.iter().all(|node| {
            matches!(node.shape, Shape::Map(_)) && super::accumulate::check(node).is_ok()
        })
    };
    let (patches, source) = match inline_documents(entry, &Step::Patch) {
        Ok(nodes) if is_object(&nodes) => (nodes, inline_source(entry)),
        _ => {
            let (file, text) = context.read(root, &entry.value.text, at)?;
            let place = Place::file(file);
            let nodes = documents(&text, &place, &Step::Patch, false)?;
            for node in &nodes {
                super::accumulate::check(node).map_err(|error| fault_at(&place, error))?;
            }
            let name = format!("[path: \"{}\"]", entry.value.text);
            (
                nodes,
                Source {
                    text,
                    place,
                    inline: false,
                    name,
                },
            )
        }
    };
    for patch in super::accumulate::expand(patches) {
        let index = find(all, &patch, schema).map_err(|error| fault_at(at, error))?;
        let patch = for_target(&patch, &all.resources[index]);
        merge(
            context,
            &mut all.resources[index],
            patch,
            (false, false),
            at,
            schema,
        )
        .map_err(|error| patch_fault(at, &source, &all.resources[index], schema, &error))?;
        all.resources.retain(|resource| !resource.is_gone);
    }
    Ok(())
}

/// Carries an entry of `patchesJson6902` out.
pub(super) fn json6902(
    context: &mut Context<'_>,
    root: &Root,
    all: &mut Accumulator,
    entry: &Patch,
    schema: &Schema,
) -> Result<(), Fault> {
    let at = &entry.place;
    let Some(target) = entry
        .target
        .as_ref()
        .filter(|target| !target.name.is_empty())
    else {
        return Err(fault_at(at, "must specify the target name"));
    };
    let source = source(context, root, entry)?;
    let operations = json_operations(&source)
        .filter(|operations| !operations.is_empty())
        .ok_or_else(|| fault_at(at, format!("{} is no JSON patch", source.name)))?;
    let matcher = Matcher::new(target).map_err(|error| fault_at(at, error))?;
    for resource in all
        .resources
        .iter_mut()
        .filter(|resource| matcher.selects(resource, schema))
    {
        json(resource, &operations)
            .map_err(|error| patch_fault(at, &source, resource, schema, &error))?;
    }
    Ok(())
}
