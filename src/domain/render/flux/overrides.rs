//! What a Flux Kustomization adds to the kustomization file of its folder.
//!
//! The controller rewrites that file before it builds. Here the same words are changed in memory, and each change keeps
//! its place in the app's own object, so that a field that `spec.patches` wrote leads there and not to the folder. The
//! order is the controller's: it decides which patch has the last word.

use serde_json::Value;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::render::Tree;
use crate::domain::render::kustomize::model::{Image, Patch, Selector, Text};
use crate::domain::render::kustomize::{Kustomization, Place, Placed};
use crate::domain::yaml::{Route, RouteStep};

/// Applies `spec` to the kustomization of `folder`. `is_generated` says that the folder had none.
pub(super) fn apply(
    app: &Value,
    tree: &dyn Tree,
    folder: &str,
    kustomization: &mut Kustomization,
    is_generated: bool,
) -> Result<(), Fault> {
    let Some(spec) = app.get("spec") else {
        return Ok(());
    };
    let overrides = Overrides { spec };
    forget_what_the_rewrite_loses(kustomization);
    if !is_generated && lists_no_resources(kustomization) {
        // without it a kustomization that lists nothing would be refused as empty
        kustomization.build_metadata = vec![Placed {
            value: "originAnnotations".into(),
            place: Place::file(std::sync::Arc::clone(&kustomization.file)),
        }];
    }
    overrides.names(kustomization);
    kustomization.patches.extend(overrides.patches());
    overrides.components(tree, folder, kustomization)?;
    overrides.legacy_patches(kustomization);
    overrides.images(&mut kustomization.images);
    let metadata = overrides.texts("buildMetadata");
    if !metadata.is_empty() {
        kustomization.build_metadata = metadata;
    }
    kustomization.is_blank = false;
    Ok(())
}

/// The controller's reader does not know the old spelling `imageTags`, so those entries are lost.
fn forget_what_the_rewrite_loses(kustomization: &mut Kustomization) {
    kustomization
        .images
        .retain(|image| !stands_under(&image.place, "imageTags"));
}

/// Tells whether `resources` itself is empty; `bases` do not count.
fn lists_no_resources(kustomization: &Kustomization) -> bool {
    kustomization
        .resources
        .iter()
        .all(|entry| stands_under(&entry.place, "bases"))
}

fn stands_under(place: &Place, key: &str) -> bool {
    matches!(place.route.0.first(), Some(RouteStep::Key(first)) if first == key)
}

struct Overrides<'s> {
    spec: &'s Value,
}

impl Overrides<'_> {
    fn place(field: &str) -> Place {
        Place::app(Route::root().key("spec").key(field))
    }

    fn text(&self, field: &str) -> Option<Placed<String>> {
        let value = self
            .spec
            .get(field)?
            .as_str()
            .filter(|text| !text.is_empty())?;
        Some(Placed {
            value: value.to_owned(),
            place: Self::place(field),
        })
    }

    fn list(&self, field: &str) -> impl Iterator<Item = (Place, &Value)> {
        let items = self.spec.get(field).and_then(Value::as_array);
        let base = Route::root().key("spec").key(field);
        items
            .into_iter()
            .flatten()
            .enumerate()
            .map(move |(index, item)| (Place::app(base.index(index)), item))
    }

    fn texts(&self, field: &str) -> Vec<Placed<String>> {
        let texts = self.list(field).filter_map(|(place, item)| {
            Some(Placed {
                value: item.as_str()?.to_owned(),
                place,
            })
        });
        texts.collect()
    }

    /// Namespace, prefix and suffix replace the file's own.
    fn names(&self, kustomization: &mut Kustomization) {
        let replace = |field: &str, target: &mut Option<Placed<String>>| {
            if let Some(text) = self.text(field) {
                *target = Some(text);
            }
        };
        replace("targetNamespace", &mut kustomization.namespace);
        replace("namePrefix", &mut kustomization.name_prefix);
        replace("nameSuffix", &mut kustomization.name_suffix);
    }

    fn patches(&self) -> impl Iterator<Item = Patch> {
        self.list("patches").map(|(place, item)| {
            let text = item
                .get("patch")
                .and_then(Value::as_str)
                .unwrap_or_default();
            inline_patch(place, text.to_owned(), item.get("target"))
        })
    }

    /// Components are added; a remote one is refused, and a missing one may be let go.
    fn components(
        &self,
        tree: &dyn Tree,
        folder: &str,
        kustomization: &mut Kustomization,
    ) -> Result<(), Fault> {
        let ignore_missing = self
            .spec
            .get("ignoreMissingComponents")
            .and_then(Value::as_bool)
            == Some(true);
        for component in self.texts("components") {
            if !is_local(&component.value) {
                return Err(Fault::new(
                    FaultKind::Render,
                    format!(
                        "component path '{}' must be local and relative",
                        component.value
                    ),
                )
                .hint("Flux builds nothing of this app until spec.components is mended"));
            }
            let path = super::resolve(folder, &component.value);
            let exists = match &path {
                Some(path) => tree.real_path(path)?.is_some(),
                None => false,
            };
            if exists || !ignore_missing {
                kustomization.components.push(component);
            }
        }
        Ok(())
    }

    /// `patchesStrategicMerge` and `patchesJson6902` of objects stored by old versions.
    fn legacy_patches(&self, kustomization: &mut Kustomization) {
        for (place, item) in self.list("patchesStrategicMerge") {
            let text = Text {
                text: item.to_string(),
                first_line: 0,
            };
            kustomization
                .patches_strategic_merge
                .push(Placed { value: text, place });
        }
        for (place, item) in self.list("patchesJson6902") {
            let text = item.get("patch").map(Value::to_string).unwrap_or_default();
            kustomization
                .patches_json6902
                .push(inline_patch(place, text, item.get("target")));
        }
    }

    /// Images merge field by field into the file's entry of the same name; tag and digest change as one.
    fn images(&self, images: &mut Vec<Image>) {
        for (place, item) in self.list("images") {
            let field = |key: &str| {
                let text = item
                    .get(key)
                    .and_then(Value::as_str)
                    .filter(|text| !text.is_empty())?;
                let place = Place::app(place.route.key(key));
                Some(Placed {
                    value: text.to_owned(),
                    place,
                })
            };
            let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
            let (new_name, new_tag, digest) = (field("newName"), field("newTag"), field("digest"));
            if let Some(image) = images.iter_mut().find(|image| image.name == name) {
                if new_name.is_some() {
                    image.new_name = new_name;
                }
                if new_tag.is_some() || digest.is_some() {
                    (image.new_tag, image.digest) = (new_tag, digest);
                }
            } else {
                let name = name.to_owned();
                images.push(Image {
                    place,
                    name,
                    new_name,
                    new_tag,
                    tag_suffix: None,
                    digest,
                });
            }
        }
    }
}

fn inline_patch(place: Place, text: String, target: Option<&Value>) -> Patch {
    let at = Place::app(place.route.key("patch"));
    Patch {
        place,
        path: None,
        patch: Some(Placed {
            value: Text {
                text,
                first_line: 0,
            },
            place: at,
        })
        .filter(|patch| !patch.value.text.is_empty()),
        target: target.filter(|target| !target.is_null()).map(selector),
        allow_name_change: false,
        allow_kind_change: false,
    }
}

fn selector(target: &Value) -> Selector {
    let text = |key: &str| {
        target
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    Selector {
        group: text("group"),
        version: text("version"),
        kind: text("kind"),
        name: text("name"),
        namespace: text("namespace"),
        annotations: text("annotationSelector"),
        labels: text("labelSelector"),
    }
}

fn is_local(path: &str) -> bool {
    const REMOTE: [&str; 8] = [
        "git::",
        "gh:",
        "ssh://",
        "https://",
        "http://",
        "git@",
        "github.com:",
        "github.com/",
    ];
    let lower = path.to_lowercase();
    let is_remote = REMOTE
        .iter()
        .any(|start| lower.len() > start.len() && lower.starts_with(start));
    !is_remote && !path.starts_with('/') && !lower.trim_start_matches("file://").starts_with('/')
}
