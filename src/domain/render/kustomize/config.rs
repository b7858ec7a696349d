//! Which fields the transformers write: kustomize's own table, and what `configurations` and `crds` add to it.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use super::decode::{Fields, Refusal, field_spec};
use super::model::FieldSpec;
use super::node::Node;

const FIELDS: &str = include_str!("fields.txt");

/// The fields that refer to the names of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BackReference {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) fields: Vec<FieldSpec>,
}

/// The fields of every transformer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) name_prefix: Vec<FieldSpec>,
    pub(super) name_suffix: Vec<FieldSpec>,
    pub(super) namespace: Vec<FieldSpec>,
    pub(super) common_labels: Vec<FieldSpec>,
    pub(super) labels: Vec<FieldSpec>,
    pub(super) template_labels: Vec<FieldSpec>,
    pub(super) common_annotations: Vec<FieldSpec>,
    pub(super) references: Vec<BackReference>,
    pub(super) vars: Vec<FieldSpec>,
    pub(super) images: Vec<FieldSpec>,
    pub(super) replicas: Vec<FieldSpec>,
}

static DEFAULT: LazyLock<Arc<Config>> = LazyLock::new(|| Arc::new(table(FIELDS)));

/// Returns kustomize's own table.
pub(super) fn default() -> Arc<Config> {
    Arc::clone(&DEFAULT)
}

fn table(text: &str) -> Config {
    let mut config = Config::default();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let any = |word: &str| {
            if word == "-" {
                String::new()
            } else {
                word.to_owned()
            }
        };
        let [
            what,
            to_group,
            to_version,
            to_kind,
            group,
            version,
            kind,
            create,
            path,
        ] = line.split(' ').collect::<Vec<_>>()[..]
        else {
            continue;
        };
        let spec = FieldSpec {
            group: any(group),
            version: any(version),
            kind: any(kind),
            path: path.to_owned(),
            create: create == "true",
        };
        if what == "nameReference" {
            let target = BackReference {
                group: any(to_group),
                version: any(to_version),
                kind: any(to_kind),
                fields: vec![spec],
            };
            // The table has no fields that contradict each other.
            let _unmerged = merge_reference(&mut config.references, target);
        } else if let Some(list) = config.list(what) {
            list.push(spec);
        }
    }
    config.sort();
    config
}

impl Config {
    fn list(&mut self, name: &str) -> Option<&mut Vec<FieldSpec>> {
        Some(match name {
            "namePrefix" => &mut self.name_prefix,
            "nameSuffix" => &mut self.name_suffix,
            "namespace" => &mut self.namespace,
            "commonLabels" => &mut self.common_labels,
            "labels" => &mut self.labels,
            "templateLabels" => &mut self.template_labels,
            "commonAnnotations" => &mut self.common_annotations,
            "varReference" => &mut self.vars,
            "images" => &mut self.images,
            "replicas" => &mut self.replicas,
            _ => return None,
        })
    }

    /// Adds another configuration. The error names the two fields that contradict each other.
    pub(super) fn merge(&mut self, other: &Self) -> Result<(), String> {
        let pairs = [
            (&mut self.name_prefix, &other.name_prefix),
            (&mut self.name_suffix, &other.name_suffix),
            (&mut self.namespace, &other.namespace),
            (&mut self.common_labels, &other.common_labels),
            (&mut self.labels, &other.labels),
            (&mut self.template_labels, &other.template_labels),
            (&mut self.common_annotations, &other.common_annotations),
            (&mut self.vars, &other.vars),
            (&mut self.images, &other.images),
            (&mut self.replicas, &other.replicas),
        ];
        for (ours, theirs) in pairs {
            merge_fields(ours, theirs)?;
        }
        for reference in &other.references {
            merge_reference(&mut self.references, reference.clone())?;
        }
        self.sort();
        Ok(())
    }

    fn sort(&mut self) {
        for name in [
            "namePrefix",
            "nameSuffix",
            "namespace",
            "commonLabels",
            "labels",
            "templateLabels",
            "commonAnnotations",
            "varReference",
            "images",
            "replicas",
        ] {
            if let Some(list) = self.list(name) {
                list.sort_by(|a, b| {
                    by_kind(
                        (&a.group, &a.version, &a.kind),
                        (&b.group, &b.version, &b.kind),
                    )
                });
            }
        }
        self.references.sort_by(|a, b| {
            by_kind(
                (&a.group, &a.version, &a.kind),
                (&b.group, &b.version, &b.kind),
            )
        });
    }

    /// Reads a file of `configurations`.
    pub(super) fn read(node: &Node) -> Result<Self, Refusal> {
        let mut fields = Fields::of(node, "configuration", false)?;
        let mut config = Self::default();
        for name in [
            "namePrefix",
            "nameSuffix",
            "namespace",
            "commonLabels",
            "labels",
            "templateLabels",
            "commonAnnotations",
            "varReference",
            "images",
            "replicas",
        ] {
            let specs = fields
                .list(name)?
                .into_iter()
                .map(field_spec)
                .collect::<Result<Vec<_>, _>>()?;
            if let Some(list) = config.list(name) {
                *list = specs;
            }
        }
        for node in fields.list("nameReference")? {
            let mut fields = Fields::of(node, "nameReference[]", false)?;
            config.references.push(BackReference {
                group: fields.text("group")?,
                version: fields.text("version")?,
                kind: fields.text("kind")?,
                fields: fields
                    .list("fieldSpecs")?
                    .into_iter()
                    .map(field_spec)
                    .collect::<Result<_, _>>()?,
            });
            fields.end()?;
        }
        fields.end()?;
        config.sort();
        Ok(config)
    }
}

/// Adds fields to a list; one that is there already is not added again.
pub(super) fn merge_fields(ours: &mut Vec<FieldSpec>, theirs: &[FieldSpec]) -> Result<(), String> {
    let covers = |a: &FieldSpec, b: &FieldSpec| {
        let any = |wanted: &str, has: &str| wanted.is_empty() || wanted == has;
        a.path == b.path
            && any(&b.group, &a.group)
            && any(&b.version, &a.version)
            && any(&b.kind, &a.kind)
    };
    for spec in theirs {
        match ours.iter().find(|old| covers(old, spec)) {
            None => ours.push(spec.clone()),
            Some(old) if old.create != spec.create => {
                return Err(format!("conflicting fieldspecs for {}", spec.path));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn merge_reference(ours: &mut Vec<BackReference>, other: BackReference) -> Result<(), String> {
    let same = ours.iter_mut().find(|old| {
        old.group == other.group && old.version == other.version && old.kind == other.kind
    });
    if let Some(old) = same {
        return merge_fields(&mut old.fields, &other.fields);
    }
    ours.push(other);
    Ok(())
}

fn by_kind(a: (&str, &str, &str), b: (&str, &str, &str)) -> Ordering {
    let or = |text: &str, otherwise: &str| {
        if text.is_empty() {
            otherwise.to_owned()
        } else {
            text.to_owned()
        }
    };
    let text = |(group, version, kind): (&str, &str, &str)| {
        format!(
            "{}_{}_{}",
            or(group, "~G"),
            or(version, "~V"),
            or(kind, "~K")
        )
    };
    super::order::kind_rank(a.2)
        .cmp(&super::order::kind_rank(b.2))
        .then_with(|| text(a).cmp(&text(b)))
}
