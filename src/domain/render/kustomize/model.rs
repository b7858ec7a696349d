//! The words of a kustomization file, every entry with its place.
//!
//! What a layer above adds (a Flux Kustomization's `spec.patches`, an Application's `kustomize.images`) has the same
//! types and a place in the app's own object, so that one engine renders both and every field still finds its home.
//! Legacy spellings are folded in while reading (`bases`, `imageTags`, `env`); decoding is in `decode`.

use std::sync::Arc;

use super::node::Node;
use super::place::{Place, Placed};

/// Text pairs in file order, every value with its place.
pub type Pairs = Vec<(String, Placed<String>)>;

/// A kustomization file, or a component.
#[derive(Debug, Clone, Default)]
pub struct Kustomization {
    /// Path of the file from the repository's root; empty for one made up by a layer.
    pub file: Arc<str>,
    /// Whether it is `kind: Component`.
    pub is_component: bool,
    /// `resources`, with `bases` behind them.
    pub resources: Vec<Placed<String>>,
    /// `components`.
    pub components: Vec<Placed<String>>,
    /// `crds`.
    pub crds: Vec<Placed<String>>,
    /// `configurations`.
    pub configurations: Vec<Placed<String>>,
    /// `generators`: paths or inline objects.
    pub generators: Vec<Placed<Text>>,
    /// `transformers`: paths or inline objects.
    pub transformers: Vec<Placed<Text>>,
    /// `validators`: paths or inline objects.
    pub validators: Vec<Placed<Text>>,
    /// `namespace`.
    pub namespace: Option<Placed<String>>,
    /// `namePrefix`.
    pub name_prefix: Option<Placed<String>>,
    /// `nameSuffix`.
    pub name_suffix: Option<Placed<String>>,
    /// `labels`.
    pub labels: Vec<Label>,
    /// `commonLabels`.
    pub common_labels: Pairs,
    /// `commonAnnotations`.
    pub common_annotations: Pairs,
    /// `patches`.
    pub patches: Vec<Patch>,
    /// `patchesStrategicMerge`: paths or inline patches.
    pub patches_strategic_merge: Vec<Placed<Text>>,
    /// `patchesJson6902`.
    pub patches_json6902: Vec<Patch>,
    /// `images`, with `imageTags` behind them.
    pub images: Vec<Image>,
    /// `replicas`.
    pub replicas: Vec<Replica>,
    /// `replacements`.
    pub replacements: Vec<ReplacementEntry>,
    /// `vars`.
    pub vars: Vec<Var>,
    /// `configMapGenerator`.
    pub config_maps: Vec<Generator>,
    /// `secretGenerator`.
    pub secrets: Vec<Generator>,
    /// `generatorOptions`.
    pub generator_options: Option<GeneratorOptions>,
    /// `helmCharts` (and the older `helmChartInflationGenerator`), not rendered.
    pub helm_charts: Vec<Place>,
    /// `openapi`.
    pub openapi: Option<OpenApi>,
    /// `sortOptions`.
    pub sort_options: Option<SortOptions>,
    /// `buildMetadata`.
    pub build_metadata: Vec<Placed<String>>,
    /// Whether nothing at all is set, which kustomize refuses.
    pub is_blank: bool,
}

/// A text that may itself be YAML.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// The text.
    pub text: String,
    /// 1-based line of the file on which its first line stands; 0 where there are no lines.
    pub first_line: usize,
}

/// An entry of `labels`.
#[derive(Debug, Clone, Default)]
pub struct Label {
    /// `pairs`.
    pub pairs: Pairs,
    /// `includeSelectors`.
    pub include_selectors: bool,
    /// `includeTemplates`.
    pub include_templates: bool,
    /// `fields`.
    pub fields: Vec<FieldSpec>,
}

/// A field that a transformer writes: the kinds it applies to and the way there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct FieldSpec {
    /// API group; empty for any.
    pub group: String,
    /// API version; empty for any.
    pub version: String,
    /// Kind; empty for any.
    pub kind: String,
    /// `/`-separated path.
    pub path: String,
    /// Whether it is made where it is missing.
    pub create: bool,
}

/// Which objects something applies to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selector {
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Namespace.
    pub namespace: String,
    /// `annotationSelector`.
    pub annotations: String,
    /// `labelSelector`.
    pub labels: String,
}

/// An entry of `patches` or `patchesJson6902`.
#[derive(Debug, Clone)]
pub struct Patch {
    /// Where the entry stands.
    pub place: Place,
    /// `path`.
    pub path: Option<Placed<String>>,
    /// `patch`: the inline text.
    pub patch: Option<Placed<Text>>,
    /// `target`.
    pub target: Option<Selector>,
    /// `options.allowNameChange`.
    pub allow_name_change: bool,
    /// `options.allowKindChange`.
    pub allow_kind_change: bool,
}

/// An entry of `images`.
#[derive(Debug, Clone)]
pub struct Image {
    /// Where the entry stands.
    pub place: Place,
    /// `name`, a regular expression.
    pub name: String,
    /// `newName`.
    pub new_name: Option<Placed<String>>,
    /// `newTag`.
    pub new_tag: Option<Placed<String>>,
    /// `tagSuffix`.
    pub tag_suffix: Option<Placed<String>>,
    /// `digest`.
    pub digest: Option<Placed<String>>,
}

/// An entry of `replicas`.
#[derive(Debug, Clone)]
pub struct Replica {
    /// Where the entry stands.
    pub place: Place,
    /// `name`.
    pub name: String,
    /// `count`.
    pub count: Placed<i64>,
}

/// An entry of `replacements`.
#[derive(Debug, Clone)]
pub struct ReplacementEntry {
    /// Where the entry stands.
    pub place: Place,
    /// `path` of a file with one or more replacements.
    pub path: Option<String>,
    /// The replacement itself.
    pub inline: Replacement,
}

/// A replacement.
#[derive(Debug, Clone, Default)]
pub struct Replacement {
    /// `source`.
    pub source: Option<ReplacementSource>,
    /// `sourceValue`.
    pub source_value: Option<Placed<String>>,
    /// `targets`; `None` where the field is missing.
    pub targets: Option<Vec<ReplacementTarget>>,
}

/// Where a replacement's value comes from.
#[derive(Debug, Clone, Default)]
pub struct ReplacementSource {
    /// Exact group, version, kind, name, namespace.
    pub select: Selector,
    /// `fieldPath`.
    pub field_path: String,
    /// `options`.
    pub options: FieldOptions,
}

/// Where a replacement's value goes.
#[derive(Debug, Clone, Default)]
pub struct ReplacementTarget {
    /// `select`.
    pub select: Option<Selector>,
    /// `reject`.
    pub reject: Vec<Selector>,
    /// `fieldPaths`.
    pub field_paths: Vec<String>,
    /// `options`.
    pub options: FieldOptions,
}

/// Options of a replacement's source or target.
#[derive(Debug, Clone, Default)]
pub struct FieldOptions {
    /// `delimiter`.
    pub delimiter: String,
    /// `index`.
    pub index: i64,
    /// `create`.
    pub create: bool,
}

/// An entry of `vars`.
#[derive(Debug, Clone)]
pub struct Var {
    /// Where the entry stands.
    pub place: Place,
    /// `name`.
    pub name: String,
    /// `objref`.
    pub object: Selector,
    /// `fieldref.fieldpath`, `metadata.name` where it is missing.
    pub field_path: String,
}

/// An entry of `configMapGenerator` or `secretGenerator`.
#[derive(Debug, Clone)]
pub struct Generator {
    /// Where the entry stands.
    pub place: Place,
    /// `name`.
    pub name: Option<Placed<String>>,
    /// `namespace`.
    pub namespace: Option<Placed<String>>,
    /// `behavior`.
    pub behavior: String,
    /// `literals`.
    pub literals: Vec<Placed<String>>,
    /// `files`.
    pub files: Vec<Placed<String>>,
    /// `envs`, with `env` behind them.
    pub envs: Vec<Placed<String>>,
    /// `options`.
    pub options: Option<GeneratorOptions>,
    /// `type` of a Secret.
    pub secret_type: Option<Placed<String>>,
}

/// `generatorOptions`, and `options` of one generator.
#[derive(Debug, Clone, Default)]
pub struct GeneratorOptions {
    /// `labels`.
    pub labels: Pairs,
    /// `annotations`.
    pub annotations: Pairs,
    /// `disableNameSuffixHash`.
    pub disable_hash: bool,
    /// `immutable`.
    pub immutable: Option<Place>,
}

/// `openapi`.
#[derive(Debug, Clone)]
pub struct OpenApi {
    /// Where it stands.
    pub place: Place,
    /// `version`.
    pub version: Option<String>,
    /// `path`.
    pub path: Option<String>,
}

/// `sortOptions`.
#[derive(Debug, Clone)]
pub struct SortOptions {
    /// Where it stands.
    pub place: Place,
    /// `order`.
    pub order: String,
    /// `legacySortOptions`: `orderFirst` and `orderLast`.
    pub legacy: Option<(Vec<String>, Vec<String>)>,
}

impl Kustomization {
    /// Tells whether `buildMetadata` lists this option.
    pub fn has_metadata(&self, option: &str) -> bool {
        self.build_metadata
            .iter()
            .any(|entry| entry.value == option)
    }

    /// Reads a patch entry (`path`, `patch`, `target`, `options`) that stands in the app's own object.
    pub fn patch_of(node: &Node) -> Result<Patch, super::decode::Refusal> {
        super::decode::patch(node)
    }
}
