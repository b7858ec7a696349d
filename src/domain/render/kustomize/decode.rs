//! From a kustomization file's tree to its words, as strictly as kustomize reads them.
//!
//! A field that kustomize does not know is an error, keys match whatever their case, and a number or a boolean never
//! stands in for a text. Flux reads the one file that it rewrites without the first rule (`lenient`).

use super::model::{
    FieldOptions, FieldSpec, Generator, GeneratorOptions, Image, Kustomization, Label, OpenApi,
    Pairs, Patch, Replacement, ReplacementEntry, ReplacementSource, ReplacementTarget, Replica,
    Selector, SortOptions, Text, Var,
};
use super::node::{Node, Scalar, Shape, Tag};
use super::place::{Place, Placed};
use crate::domain::yaml::Style;

/// Why a file was refused: one sentence, and the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// One sentence.
    pub sentence: String,
    /// Where.
    pub place: Option<Place>,
}

type Read<T> = Result<T, Refusal>;

fn refuse<T>(node: &Node, sentence: impl Into<String>) -> Read<T> {
    Err(Refusal {
        sentence: sentence.into(),
        place: node.place(),
    })
}

fn place(node: &Node) -> Place {
    node.place().unwrap_or_else(|| Place::file(""))
}

/// Reads a map's fields, and refuses those that nobody asked for.
pub(super) struct Fields<'n> {
    what: String,
    left: Vec<(String, &'n Node)>,
    lenient: bool,
    node: &'n Node,
}

impl<'n> Fields<'n> {
    pub(super) fn of(node: &'n Node, what: &str, lenient: bool) -> Read<Self> {
        match &node.shape {
            Shape::Map(entries) => Ok(Self {
                what: what.to_owned(),
                left: entries
                    .iter()
                    .map(|(key, node)| (key.to_string(), node))
                    .collect(),
                lenient,
                node,
            }),
            _ if node.is_null() => Ok(Self {
                what: what.to_owned(),
                left: vec![],
                lenient,
                node,
            }),
            _ => refuse(
                node,
                format!("{what} must be a map, found {}", describe(node)),
            ),
        }
    }

    /// Takes a field; `null` counts as missing.
    fn take(&mut self, key: &str) -> Option<&'n Node> {
        let mut found = None;
        self.left.retain(|(name, node)| {
            let hit = name == key || name.eq_ignore_ascii_case(key);
            if hit {
                found = Some(*node);
            }
            !hit
        });
        found.filter(|node| !node.is_null())
    }

    pub(super) fn text(&mut self, key: &str) -> Read<String> {
        Ok(self
            .placed(key)?
            .map(|placed| placed.value)
            .unwrap_or_default())
    }

    pub(super) fn placed(&mut self, key: &str) -> Read<Option<Placed<String>>> {
        let Some(node) = self.take(key) else {
            return Ok(None);
        };
        let value = string(node, &format!("{}.{key}", self.what))?;
        Ok((!value.is_empty()).then(|| Placed {
            value,
            place: place(node),
        }))
    }

    pub(super) fn flag(&mut self, key: &str) -> Read<bool> {
        Ok(self.flag_at(key)?.is_some())
    }

    fn flag_at(&mut self, key: &str) -> Read<Option<Place>> {
        let Some(node) = self.take(key) else {
            return Ok(None);
        };
        match &node.shape {
            Shape::Scalar(Scalar {
                text,
                tag: Some(Tag::Bool),
                ..
            }) => Ok((&**text == "true").then(|| place(node))),
            _ => refuse(
                node,
                format!(
                    "{}.{key} must be true or false, found {}",
                    self.what,
                    describe(node)
                ),
            ),
        }
    }

    fn number(&mut self, key: &str) -> Read<Option<Placed<i64>>> {
        let Some(node) = self.take(key) else {
            return Ok(None);
        };
        match node
            .to_json()
            .ok()
            .as_ref()
            .and_then(serde_json::Value::as_i64)
        {
            Some(value) => Ok(Some(Placed {
                value,
                place: place(node),
            })),
            None => refuse(
                node,
                format!(
                    "{}.{key} must be a whole number, found {}",
                    self.what,
                    describe(node)
                ),
            ),
        }
    }

    pub(super) fn list(&mut self, key: &str) -> Read<Vec<&'n Node>> {
        match self.take(key) {
            None => Ok(vec![]),
            Some(Node {
                shape: Shape::List(items),
                ..
            }) => Ok(items.iter().collect()),
            Some(node) => refuse(
                node,
                format!(
                    "{}.{key} must be a list, found {}",
                    self.what,
                    describe(node)
                ),
            ),
        }
    }

    fn each<T>(&mut self, key: &str, read: impl Fn(&'n Node) -> Read<T>) -> Read<Vec<T>> {
        self.list(key)?.into_iter().map(read).collect()
    }

    pub(super) fn texts(&mut self, key: &str) -> Read<Vec<Placed<String>>> {
        let what = format!("{}.{key}[]", self.what);
        self.each(key, |node| {
            Ok(Placed {
                value: string(node, &what)?,
                place: place(node),
            })
        })
    }

    fn inline_texts(&mut self, key: &str) -> Read<Vec<Placed<Text>>> {
        let what = format!("{}.{key}[]", self.what);
        self.each(key, |node| inline(node, &what))
    }

    fn pairs(&mut self, key: &str) -> Read<Pairs> {
        let Some(node) = self.take(key) else {
            return Ok(vec![]);
        };
        let Shape::Map(entries) = &node.shape else {
            return refuse(
                node,
                format!(
                    "{}.{key} must be a map, found {}",
                    self.what,
                    describe(node)
                ),
            );
        };
        let mut pairs = entries
            .iter()
            .map(|(name, node)| {
                let value = string(node, &format!("{}.{key}.{name}", self.what))?;
                Ok((
                    name.to_string(),
                    Placed {
                        value,
                        place: place(node),
                    },
                ))
            })
            .collect::<Read<Pairs>>()?;
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(pairs)
    }

    /// Refuses what is left.
    pub(super) fn end(self) -> Read<()> {
        match self.left.first() {
            Some((name, node)) if !self.lenient => refuse(
                if node.mark.is_some() { node } else { self.node },
                format!("unknown field \"{name}\" in {}", self.what),
            ),
            _ => Ok(()),
        }
    }
}

fn describe(node: &Node) -> &'static str {
    match &node.shape {
        Shape::Map(_) => "a map",
        Shape::List(_) => "a list",
        Shape::Scalar(scalar) => match scalar.tag {
            Some(Tag::Bool) => "a boolean (quote it to make it a text)",
            Some(Tag::Int | Tag::Float) => "a number (quote it to make it a text)",
            Some(Tag::Null) => "null",
            _ => "a text",
        },
    }
}

/// Reads a text; `null` is the empty one.
pub(super) fn string(node: &Node, what: &str) -> Read<String> {
    match &node.shape {
        Shape::Scalar(scalar) => match scalar.tag {
            Some(Tag::Null) => Ok(String::new()),
            Some(Tag::Bool | Tag::Int | Tag::Float) => refuse(
                node,
                format!("{what} must be a text, found {}", describe(node)),
            ),
            _ => Ok(scalar.text.to_string()),
        },
        _ => refuse(
            node,
            format!("{what} must be a text, found {}", describe(node)),
        ),
    }
}

fn inline(node: &Node, what: &str) -> Read<Placed<Text>> {
    let text = string(node, what)?;
    let place = place(node);
    let block = matches!(
        &node.shape,
        Shape::Scalar(Scalar {
            style: Style::Literal | Style::Folded,
            ..
        })
    );
    let first_line = if place.line == 0 {
        0
    } else {
        place.line + usize::from(block)
    };
    Ok(Placed {
        value: Text { text, first_line },
        place,
    })
}

/// Reads a whole file.
pub(super) fn kustomization(node: &Node, lenient: bool) -> Read<Kustomization> {
    let mut fields = Fields::of(node, "Kustomization", lenient)?;
    let kind = fields.text("kind")?;
    let api_version = fields.text("apiVersion")?;
    if let Some(metadata) = fields.take("metadata") {
        let mut metadata = Fields::of(metadata, "metadata", lenient)?;
        metadata.text("name")?;
        metadata.text("namespace")?;
        metadata.pairs("labels")?;
        metadata.pairs("annotations")?;
        metadata.end()?;
    }
    let is_component = kind == "Component";
    let mut read = Kustomization {
        is_component,
        is_blank: node
            .entries()
            .iter()
            .all(|(key, node)| matches!(&**key, "kind" | "apiVersion") || node.is_null()),
        ..Kustomization::default()
    };
    sources(&mut fields, &mut read)?;
    transformers(&mut fields, &mut read)?;
    generators(&mut fields, &mut read, lenient)?;
    rest(&mut fields, &mut read, lenient)?;
    fields.end()?;
    if !kind.is_empty() && kind != "Kustomization" && !is_component {
        return refuse(
            node,
            format!("kind should be Kustomization or Component, not {kind}"),
        );
    }
    let wanted = if is_component {
        "kustomize.config.k8s.io/v1alpha1"
    } else {
        "kustomize.config.k8s.io/v1beta1"
    };
    if !api_version.is_empty() && api_version != wanted {
        let kind = if is_component {
            "Component"
        } else {
            "Kustomization"
        };
        return refuse(node, format!("apiVersion for {kind} should be {wanted}"));
    }
    Ok(read)
}

fn sources(fields: &mut Fields<'_>, read: &mut Kustomization) -> Read<()> {
    read.resources = fields.texts("resources")?;
    read.resources.extend(fields.texts("bases")?);
    read.components = fields.texts("components")?;
    read.crds = fields.texts("crds")?;
    read.configurations = fields.texts("configurations")?;
    read.generators = fields.inline_texts("generators")?;
    read.transformers = fields.inline_texts("transformers")?;
    read.validators = fields.inline_texts("validators")?;
    Ok(())
}

fn transformers(fields: &mut Fields<'_>, read: &mut Kustomization) -> Read<()> {
    read.namespace = fields.placed("namespace")?;
    read.name_prefix = fields.placed("namePrefix")?;
    read.name_suffix = fields.placed("nameSuffix")?;
    read.labels = fields.each("labels", label)?;
    read.common_labels = fields.pairs("commonLabels")?;
    read.common_annotations = fields.pairs("commonAnnotations")?;
    read.patches = fields.each("patches", patch)?;
    read.patches_strategic_merge = fields.inline_texts("patchesStrategicMerge")?;
    read.patches_json6902 = fields.each("patchesJson6902", patch)?;
    read.images = fields.each("images", image)?;
    read.images.extend(fields.each("imageTags", image)?);
    read.replicas = fields.each("replicas", replica)?;
    read.replacements = fields.each("replacements", replacement_entry)?;
    read.vars = fields.each("vars", var)?;
    Ok(())
}

fn generators(fields: &mut Fields<'_>, read: &mut Kustomization, lenient: bool) -> Read<()> {
    read.config_maps = fields.each("configMapGenerator", |node| generator(node, false, lenient))?;
    read.secrets = fields.each("secretGenerator", |node| generator(node, true, lenient))?;
    read.generator_options = fields
        .take("generatorOptions")
        .map(|node| options(node, lenient))
        .transpose()?;
    Ok(())
}

fn rest(fields: &mut Fields<'_>, read: &mut Kustomization, lenient: bool) -> Read<()> {
    for key in ["helmCharts", "helmChartInflationGenerator"] {
        let charts = fields.list(key)?;
        read.helm_charts.extend(charts.into_iter().map(place));
    }
    fields.take("helmGlobals");
    read.openapi = fields
        .take("openapi")
        .map(|node| {
            let mut fields = Fields::of(node, "openapi", true)?;
            Ok(OpenApi {
                place: place(node),
                version: fields.placed("version")?.map(|version| version.value),
                path: fields.placed("path")?.map(|path| path.value),
            })
        })
        .transpose()?;
    read.sort_options = fields
        .take("sortOptions")
        .map(|node| sort_options(node, lenient))
        .transpose()?;
    read.build_metadata = fields.texts("buildMetadata")?;
    Ok(())
}

fn sort_options(node: &Node, lenient: bool) -> Read<SortOptions> {
    let mut fields = Fields::of(node, "sortOptions", lenient)?;
    let order = fields.text("order")?;
    let legacy = fields
        .take("legacySortOptions")
        .map(|node| {
            let mut fields = Fields::of(node, "legacySortOptions", lenient)?;
            let values =
                |texts: Vec<Placed<String>>| texts.into_iter().map(|text| text.value).collect();
            let orders = (
                values(fields.texts("orderFirst")?),
                values(fields.texts("orderLast")?),
            );
            fields.end()?;
            Ok(orders)
        })
        .transpose()?;
    fields.end()?;
    Ok(SortOptions {
        place: place(node),
        order,
        legacy,
    })
}

fn label(node: &Node) -> Read<Label> {
    let mut fields = Fields::of(node, "labels[]", false)?;
    let label = Label {
        pairs: fields.pairs("pairs")?,
        include_selectors: fields.flag("includeSelectors")?,
        include_templates: fields.flag("includeTemplates")?,
        fields: fields.each("fields", field_spec)?,
    };
    fields.end()?;
    Ok(label)
}

/// Reads a fieldSpec.
pub(super) fn field_spec(node: &Node) -> Read<FieldSpec> {
    let mut fields = Fields::of(node, "fieldSpec", false)?;
    let spec = FieldSpec {
        group: fields.text("group")?,
        version: fields.text("version")?,
        kind: fields.text("kind")?,
        path: fields.text("path")?,
        create: fields.flag("create")?,
    };
    fields.end()?;
    Ok(spec)
}

/// Reads the fields that select objects.
fn select(fields: &mut Fields<'_>) -> Read<Selector> {
    Ok(Selector {
        group: fields.text("group")?,
        version: fields.text("version")?,
        kind: fields.text("kind")?,
        name: fields.text("name")?,
        namespace: fields.text("namespace")?,
        ..Selector::default()
    })
}

fn selector(node: &Node) -> Read<Selector> {
    let mut fields = Fields::of(node, "selector", false)?;
    let mut selector = select(&mut fields)?;
    selector.annotations = fields.text("annotationSelector")?;
    selector.labels = fields.text("labelSelector")?;
    fields.end()?;
    Ok(selector)
}

/// Reads an entry of `patches`.
pub(super) fn patch(node: &Node) -> Read<Patch> {
    let mut fields = Fields::of(node, "patches[]", false)?;
    let mut patch = Patch {
        place: place(node),
        path: fields.placed("path")?,
        patch: fields
            .take("patch")
            .map(|node| inline(node, "patches[].patch"))
            .transpose()?
            .filter(|patch| !patch.value.text.is_empty()),
        target: fields.take("target").map(selector).transpose()?,
        allow_name_change: false,
        allow_kind_change: false,
    };
    if let Some(node) = fields.take("options") {
        let mut options = Fields::of(node, "patches[].options", false)?;
        patch.allow_name_change = options.flag("allowNameChange")?;
        patch.allow_kind_change = options.flag("allowKindChange")?;
        options.end()?;
    }
    fields.end()?;
    Ok(patch)
}

/// Reads an entry of `images`.
pub(super) fn image(node: &Node) -> Read<Image> {
    let mut fields = Fields::of(node, "images[]", false)?;
    let image = Image {
        place: place(node),
        name: fields.text("name")?,
        new_name: fields.placed("newName")?,
        new_tag: fields.placed("newTag")?,
        tag_suffix: fields.placed("tagSuffix")?,
        digest: fields.placed("digest")?,
    };
    fields.end()?;
    Ok(image)
}

fn replica(node: &Node) -> Read<Replica> {
    let mut fields = Fields::of(node, "replicas[]", false)?;
    let replica = Replica {
        place: place(node),
        name: fields.text("name")?,
        count: fields.number("count")?.unwrap_or_else(|| Placed {
            value: 0,
            place: place(node),
        }),
    };
    fields.end()?;
    Ok(replica)
}

fn replacement_entry(node: &Node) -> Read<ReplacementEntry> {
    let mut fields = Fields::of(node, "replacements[]", false)?;
    let path = fields.placed("path")?.map(|path| path.value);
    let inline = replacement_fields(&mut fields)?;
    fields.end()?;
    Ok(ReplacementEntry {
        place: place(node),
        path,
        inline,
    })
}

/// Reads a replacement of a file of its own, where unknown fields are let pass.
pub(super) fn replacement(node: &Node) -> Read<Replacement> {
    replacement_fields(&mut Fields::of(node, "replacement", true)?)
}

fn replacement_fields(fields: &mut Fields<'_>) -> Read<Replacement> {
    Ok(Replacement {
        source: fields.take("source").map(replacement_source).transpose()?,
        source_value: fields
            .take("sourceValue")
            .map(|node| {
                Ok(Placed {
                    value: string(node, "sourceValue")?,
                    place: place(node),
                })
            })
            .transpose()?,
        targets: match fields.take("targets") {
            None => None,
            Some(node) => Some(
                node.items()
                    .iter()
                    .map(replacement_target)
                    .collect::<Read<_>>()?,
            ),
        },
    })
}

fn replacement_source(node: &Node) -> Read<ReplacementSource> {
    let mut fields = Fields::of(node, "source", false)?;
    let source = ReplacementSource {
        select: select(&mut fields)?,
        field_path: fields.text("fieldPath")?,
        options: field_options(&mut fields)?,
    };
    fields.end()?;
    Ok(source)
}

fn replacement_target(node: &Node) -> Read<ReplacementTarget> {
    let mut fields = Fields::of(node, "targets[]", false)?;
    let target = ReplacementTarget {
        select: fields.take("select").map(selector).transpose()?,
        reject: fields.each("reject", selector)?,
        field_paths: fields
            .texts("fieldPaths")?
            .into_iter()
            .map(|path| path.value)
            .collect(),
        options: field_options(&mut fields)?,
    };
    fields.end()?;
    Ok(target)
}

fn field_options(fields: &mut Fields<'_>) -> Read<FieldOptions> {
    let Some(node) = fields.take("options") else {
        return Ok(FieldOptions::default());
    };
    let mut fields = Fields::of(node, "options", false)?;
    let options = FieldOptions {
        delimiter: fields.text("delimiter")?,
        index: fields.number("index")?.map_or(0, |index| index.value),
        create: fields.flag("create")?,
    };
    fields.text("encoding")?;
    fields.end()?;
    Ok(options)
}

fn var(node: &Node) -> Read<Var> {
    let mut fields = Fields::of(node, "vars[]", false)?;
    let name = fields.text("name")?;
    let mut object = Selector::default();
    if let Some(node) = fields.take("objref") {
        let mut fields = Fields::of(node, "objref", false)?;
        object = select(&mut fields)?;
        let api_version = fields.text("apiVersion")?;
        match api_version.split('/').collect::<Vec<_>>()[..] {
            [version] if !version.is_empty() => version.clone_into(&mut object.version),
            [group, version] => {
                (object.group, object.version) = (group.to_owned(), version.to_owned());
            }
            _ => {}
        }
        fields.end()?;
    }
    let mut field_path = String::new();
    if let Some(node) = fields.take("fieldref") {
        let mut fields = Fields::of(node, "fieldref", false)?;
        field_path = fields.text("fieldPath")?;
        fields.end()?;
    }
    if field_path.is_empty() {
        "metadata.name".clone_into(&mut field_path);
    }
    fields.end()?;
    Ok(Var {
        place: place(node),
        name,
        object,
        field_path,
    })
}

/// Reads an entry of `configMapGenerator` or `secretGenerator`.
pub(super) fn generator(node: &Node, is_secret: bool, lenient: bool) -> Read<Generator> {
    let what = if is_secret {
        "secretGenerator[]"
    } else {
        "configMapGenerator[]"
    };
    let mut fields = Fields::of(node, what, lenient)?;
    let generator = generator_fields(&mut fields, node, is_secret, lenient)?;
    fields.end()?;
    Ok(generator)
}

/// Reads the fields of a generator out of a map that may have others.
pub(super) fn generator_fields(
    fields: &mut Fields<'_>,
    node: &Node,
    is_secret: bool,
    lenient: bool,
) -> Read<Generator> {
    let mut generator = Generator {
        place: place(node),
        name: fields.placed("name")?,
        namespace: fields.placed("namespace")?,
        behavior: fields.text("behavior")?,
        literals: fields.texts("literals")?,
        files: fields.texts("files")?,
        envs: fields.texts("envs")?,
        options: fields
            .take("options")
            .map(|node| options(node, lenient))
            .transpose()?,
        secret_type: None,
    };
    generator.envs.extend(fields.placed("env")?);
    if is_secret {
        generator.secret_type = fields.placed("type")?;
    }
    Ok(generator)
}

fn options(node: &Node, lenient: bool) -> Read<GeneratorOptions> {
    let mut fields = Fields::of(node, "generatorOptions", lenient)?;
    let options = GeneratorOptions {
        labels: fields.pairs("labels")?,
        annotations: fields.pairs("annotations")?,
        disable_hash: fields.flag("disableNameSuffixHash")?,
        immutable: fields.flag_at("immutable")?,
    };
    fields.end()?;
    Ok(options)
}
