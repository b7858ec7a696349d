//! The walk over a kustomization and what it names, in kustomize's order: resources, configurations, generators,
//! components, transformers, validators; and once at the end, for all of them, hashes, references, variables, order.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::config::{self, Config};
use super::load::{Context, Root, configuration, fault_at, is_remote, refused, unsupported};
use super::model::{Kustomization, Var};
use super::namespace::{self, Namespace};
use super::node::{Node, Shape};
use super::place::{Mark, Place, Placed};
use super::resource::{Behavior, Resource};
use super::schema::Schema;
use super::{
    Built, Cache, Object, Options, Order, generators, images, labels, names, order, patches,
    replicas,
};
use crate::domain::fault::Fault;
use crate::domain::object::Step;
use crate::domain::render::Tree;

/// What has been gathered.
#[derive(Debug)]
pub(super) struct Accumulator {
    pub(super) resources: Vec<Resource>,
    pub(super) config: Option<Arc<Config>>,
    pub(super) vars: Vec<Var>,
}

impl Accumulator {
    fn new() -> Self {
        Self {
            resources: vec![],
            config: None,
            vars: vec![],
        }
    }

    /// Adds objects; one whose id is there already is left out and named.
    fn append(&mut self, resources: Vec<Resource>, schema: &Schema) -> Vec<String> {
        let mut ids: HashSet<_> = self
            .resources
            .iter()
            .map(|resource| resource.id(schema).key())
            .collect();
        let mut refused = vec![];
        for resource in resources {
            let id = resource.id(schema);
            if ids.insert(id.key()) {
                self.resources.push(resource);
            } else {
                refused.push(format!(
                    "may not add resource with an already registered id: {id}"
                ));
            }
        }
        refused
    }

    fn merge_config(&mut self, other: &Arc<Config>) -> Result<(), String> {
        match &mut self.config {
            None => self.config = Some(Arc::clone(other)),
            Some(ours) if **ours == **other => {}
            Some(ours) => Arc::make_mut(ours).merge(other)?,
        }
        Ok(())
    }

    /// Returns the fields of the transformers.
    pub(super) fn config(&self) -> Arc<Config> {
        self.config.clone().unwrap_or_else(config::default)
    }
}

/// Renders a folder.
pub(super) fn run(
    tree: &dyn Tree,
    dir: &str,
    top: Option<Kustomization>,
    options: &Options,
    cache: &Cache,
) -> Built {
    let mut context = Context {
        tree,
        options,
        cache,
        problems: vec![],
        warnings: vec![],
        inputs: BTreeSet::new(),
    };
    let place = Place::file(dir);
    let read = tree.real_path(dir).and_then(|real| {
        let root = Root {
            dir: real.unwrap_or_else(|| dir.to_owned()),
            visited: vec![],
        };
        let read = top.map_or_else(|| context.kustomization(&root, &place), Ok)?;
        Ok((root, read))
    });
    let objects = match read {
        Ok((root, read)) => whole(&mut context, &root, &read),
        Err(problem) => {
            context.problems.push(problem);
            vec![]
        }
    };
    Built {
        objects,
        problems: context.problems,
        warnings: context.warnings,
        inputs: context.inputs.into_iter().collect(),
    }
}

fn whole(context: &mut Context<'_>, root: &Root, read: &Kustomization) -> Vec<Object> {
    let schema = schema(context, root, read);
    let at = Place::file(Arc::clone(&read.file));
    let mut build = Build {
        context,
        schema,
        metadata: read.build_metadata.clone(),
    };
    let mut all = Accumulator::new();
    build.target(&mut all, root, read);
    let Build {
        context, schema, ..
    } = build;
    finish(context, &mut all, read, &at, &schema);
    super::metadata::annotate(&mut all.resources, read, &root.dir, context.options);
    let mut objects = vec![];
    for mut resource in all.resources {
        resource.normalize_texts("annotations");
        match resource.root.to_json() {
            Ok(mut value) => {
                fold_next_lines(&mut value);
                objects.push(Object {
                    value,
                    root: resource.root,
                });
            }
            Err(error) => {
                let id = resource.id(&schema);
                let place = resource.root.place().unwrap_or_else(|| at.clone());
                context
                    .problems
                    .push(fault_at(&place, format!("{id} cannot be printed: {error}")));
            }
        }
    }
    objects
}

/// Breaks lines where kustomize's last step does: it reads its own JSON as YAML, for which U+0085 is a line break.
fn fold_next_lines(value: &mut serde_json::Value) {
    const NEXT_LINE: char = '\u{85}';
    match value {
        serde_json::Value::String(text) if text.contains(NEXT_LINE) => {
            let mut folded = String::new();
            let mut breaks = 0;
            let mut parts = text.split(NEXT_LINE).peekable();
            let mut first = true;
            while let Some(part) = parts.next() {
                let start = if first {
                    part
                } else {
                    part.trim_start_matches(' ')
                };
                let part = if parts.peek().is_some() {
                    start.trim_end_matches(' ')
                } else {
                    start
                };
                if !first {
                    breaks += 1;
                }
                if !part.is_empty() || parts.peek().is_none() {
                    match breaks {
                        0 => {}
                        1 => folded.push(' '),
                        more => folded.extend(std::iter::repeat_n('\n', more - 1)),
                    }
                    breaks = 0;
                    folded.push_str(part);
                }
                first = false;
            }
            *text = folded;
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(fold_next_lines),
        serde_json::Value::Object(map) => map.values_mut().for_each(fold_next_lines),
        _ => {}
    }
}

/// What is done once, for everything.
fn finish(
    context: &mut Context<'_>,
    all: &mut Accumulator,
    read: &Kustomization,
    at: &Place,
    schema: &Schema,
) {
    for resource in all
        .resources
        .iter_mut()
        .filter(|resource| resource.needs_hash)
    {
        match super::hash::suffix(resource) {
            Ok(hash) => {
                resource.remember_id(schema);
                let name = format!("{}-{hash}", resource.name());
                let old = resource
                    .root
                    .get("metadata")
                    .and_then(|metadata| metadata.get("name"));
                let place = old.and_then(Node::place).unwrap_or_else(|| at.clone());
                resource.set_name(&name, Some(&Mark::entry(place, Step::Generator)));
            }
            Err(error) => context.problems.push(fault_at(
                at,
                format!("cannot hash {}: {error}", resource.id(schema)),
            )),
        }
    }
    let config = all.config();
    let problems = super::references::fix(&mut all.resources, &config.references, schema);
    context
        .problems
        .extend(problems.into_iter().map(|problem| fault_at(at, problem)));
    let problems = super::vars::resolve(all, &config.vars, schema);
    context.problems.extend(problems);
    all.resources.retain(|resource| {
        resource.texts("annotations").iter().all(|(key, value)| {
            &**key != "config.kubernetes.io/local-config" || &**value == "false"
        })
    });
    if let Some(options) = &read.sort_options {
        if let Err(error) = order::by_options(&mut all.resources, options, schema) {
            context.problems.push(fault_at(&options.place, error));
        }
    } else if context.options.order == Order::Legacy {
        order::legacy(&mut all.resources, schema);
    }
}

/// Finds the schema that the top kustomization asks for.
fn schema(context: &mut Context<'_>, root: &Root, read: &Kustomization) -> Arc<Schema> {
    let Some(openapi) = &read.openapi else {
        return Schema::shared();
    };
    if let Some(path) = &openapi.path {
        let adds = context.options.openapi_adds;
        let custom = context
            .read(root, path, &openapi.place)
            .and_then(|(file, bytes)| configuration(&bytes, &Place::file(file)))
            .and_then(|node| {
                node.map_or(Ok(serde_json::Value::Null), |node| node.to_json())
                    .map_err(|error| fault_at(&openapi.place, error))
            });
        return match custom {
            Ok(document) => Arc::new(Schema::custom(&document, adds)),
            Err(problem) => {
                context.problems.push(problem);
                Schema::shared()
            }
        };
    }
    if let Some(version) = &openapi.version
        && version != "v1.21.2"
        && version != "v1212"
    {
        context.problems.push(fault_at(
            &openapi.place,
            "the specified OpenAPI version is not built in",
        ));
    }
    Schema::shared()
}

/// Tells what kustomize refuses about an object: no kind, no name.
pub(super) fn check(node: &Node) -> Result<(), String> {
    if !matches!(node.shape, Shape::Map(_)) {
        return Err(format!("expected an object, found {}", node.kind_name()));
    }
    let text = |node: Option<&Node>| {
        node.filter(|node| !node.is_empty())
            .map(Node::value_text)
            .unwrap_or_default()
            .to_owned()
    };
    let kind = text(node.get("kind"));
    if kind.is_empty() {
        return Err("missing kind in object".into());
    }
    if !kind.ends_with("List")
        && text(
            node.get("metadata")
                .and_then(|metadata| metadata.get("name")),
        )
        .is_empty()
    {
        return Err(format!("missing metadata.name in object of kind {kind}"));
    }
    Ok(())
}

/// Takes lists apart; their items come last.
pub(super) fn expand(nodes: Vec<Node>) -> Vec<Node> {
    let mut queue = std::collections::VecDeque::from(nodes);
    let mut objects = vec![];
    while let Some(node) = queue.pop_front() {
        let is_list = node
            .get("kind")
            .is_some_and(|kind| kind.value_text().ends_with("List"));
        match node.get("items") {
            Some(items) if is_list => queue.extend(
                items
                    .items()
                    .iter()
                    .filter(|item| !item.is_empty())
                    .cloned(),
            ),
            _ => objects.push(node),
        }
    }
    objects
}

/// The walk.
struct Build<'b, 't> {
    context: &'b mut Context<'t>,
    schema: Arc<Schema>,
    metadata: Vec<Placed<String>>,
}

impl Build<'_, '_> {
    fn problem(&mut self, fault: Fault) {
        self.context.problems.push(fault);
    }

    fn note(&mut self, at: &Place, done: Result<(), String>) {
        if let Err(error) = done {
            self.problem(fault_at(at, error));
        }
    }

    /// Renders one kustomization into `all`.
    fn target(&mut self, all: &mut Accumulator, root: &Root, read: &Kustomization) {
        let file = Place::file(Arc::clone(&read.file));
        if read.is_blank {
            self.problem(fault_at(&file, "kustomization.yaml is empty"));
            return;
        }
        for entry in &read.resources {
            self.resource(all, root, entry);
        }
        self.configure(all, root, read);
        self.generate(all, root, read);
        for entry in &read.components {
            self.component(all, root, entry);
        }
        self.transform(all, root, read);
        self.merge_vars(all, &read.vars);
    }

    fn resource(&mut self, all: &mut Accumulator, root: &Root, entry: &Placed<String>) {
        let (path, at) = (entry.value.as_str(), &entry.place);
        if is_remote(path) {
            let fault = Context::remote(path, at);
            return self.problem(fault);
        }
        if self.is_directory(root, path) {
            return self.directory(all, root, entry, false);
        }
        match self.context.objects(root, path, at) {
            Err(fault) => self.problem(fault),
            Ok(nodes) => {
                // lists are taken apart over the whole file: their items come after all of its documents
                let nodes = expand(self.checked(nodes, path, at));
                let nodes = self.checked(nodes, path, at);
                let resources = nodes.into_iter().map(Resource::new).collect();
                for refused in all.append(resources, &Arc::clone(&self.schema)) {
                    self.problem(fault_at(
                        at,
                        format!("merging resources from '{path}': {refused}"),
                    ));
                }
            }
        }
    }

    fn is_directory(&self, root: &Root, path: &str) -> bool {
        super::load::join(&root.dir, path)
            .and_then(|dir| self.context.tree.real_path(&dir).ok().flatten())
            .is_some_and(|dir| {
                self.context
                    .tree
                    .list(&dir)
                    .is_ok_and(|list| list.is_some())
            })
    }

    /// Returns the objects that kustomize takes; what it refuses about the others becomes a problem.
    fn checked(&mut self, nodes: Vec<Node>, path: &str, at: &Place) -> Vec<Node> {
        let mut kept = vec![];
        for node in nodes.into_iter().filter(|node| !node.is_empty()) {
            match check(&node) {
                Ok(()) => kept.push(node),
                Err(error) => {
                    let place = node.place().unwrap_or_else(|| at.clone());
                    let sentence = format!("accumulating resources from '{path}': {error}");
                    self.problem(fault_at(&place, sentence));
                }
            }
        }
        kept
    }

    fn directory(
        &mut self,
        all: &mut Accumulator,
        root: &Root,
        entry: &Placed<String>,
        is_component: bool,
    ) {
        let at = &entry.place;
        let below = self
            .context
            .directory(root, &entry.value, at)
            .and_then(|below| {
                let read = self.context.kustomization(&below, at)?;
                if read.is_component == is_component {
                    return Ok((below, read));
                }
                let wanted = if is_component {
                    "a Component"
                } else {
                    "no Component"
                };
                Err(fault_at(
                    at,
                    format!("expected {wanted} at '{}'", entry.value),
                ))
            });
        let (below, read) = match below {
            Ok(below) => below,
            Err(fault) => return self.problem(fault),
        };
        if is_component {
            return self.target(all, &below, &read);
        }
        let mut inner = Accumulator::new();
        self.target(&mut inner, &below, &read);
        for refused in all.append(inner.resources, &Arc::clone(&self.schema)) {
            self.problem(fault_at(
                at,
                format!("recursed merging from path '{}': {refused}", entry.value),
            ));
        }
        if let Some(config) = &inner.config {
            let done = all.merge_config(config);
            self.note(at, done);
        }
        for var in inner.vars {
            self.add_var(all, var);
        }
    }

    fn component(&mut self, all: &mut Accumulator, root: &Root, entry: &Placed<String>) {
        if is_remote(&entry.value) {
            let fault = Context::remote(&entry.value, &entry.place);
            return self.problem(fault);
        }
        self.directory(all, root, entry, true);
    }

    fn configure(&mut self, all: &mut Accumulator, root: &Root, read: &Kustomization) {
        let file = Place::file(Arc::clone(&read.file));
        let mut config = config::default();
        for entry in &read.configurations {
            let loaded = self
                .context
                .read(root, &entry.value, &entry.place)
                .and_then(|(path, bytes)| {
                    let place = Place::file(path);
                    match configuration(&bytes, &place)? {
                        Some(node) => {
                            Config::read(&node).map_err(|refusal| refused(&refusal, &place))
                        }
                        None => Ok(Config::default()),
                    }
                });
            match loaded {
                Ok(loaded) => {
                    let done = Arc::make_mut(&mut config).merge(&loaded);
                    self.note(&entry.place, done);
                }
                Err(fault) => self.problem(fault),
            }
        }
        let done = all.merge_config(&config);
        self.note(&file, done);
        for entry in &read.crds {
            let loaded = self
                .context
                .read(root, &entry.value, &entry.place)
                .and_then(|(path, bytes)| {
                    let place = Place::file(path);
                    let document = configuration(&bytes, &place)?
                        .map_or(Ok(serde_json::Value::Null), |node| node.to_json())
                        .map_err(|error| fault_at(&place, error))?;
                    super::crds::config(&document).map_err(|error| fault_at(&place, error))
                });
            match loaded {
                Ok(loaded) if loaded == Config::default() => {}
                Ok(loaded) => {
                    let done = all.merge_config(&Arc::new(loaded));
                    self.note(&entry.place, done);
                }
                Err(fault) => self.problem(fault),
            }
        }
    }

    fn generate(&mut self, all: &mut Accumulator, root: &Root, read: &Kustomization) {
        let shared = read.generator_options.as_ref();
        let lists = [(&read.config_maps, false), (&read.secrets, true)];
        for (generator, is_secret) in lists
            .into_iter()
            .flat_map(|(list, kind)| list.iter().map(move |g| (g, kind)))
        {
            match generators::generate(self.context, root, generator, shared, is_secret) {
                Ok(resource) => self.absorb(all, resource, &generator.place),
                Err(fault) => self.problem(fault),
            }
        }
        for place in &read.helm_charts {
            self.problem(unsupported(place, "helmCharts"));
        }
        for entry in &read.generators {
            self.external(all, root, entry, "generators");
        }
    }

    /// Adds a generated object, or lays it over one that is there.
    fn absorb(&mut self, all: &mut Accumulator, mut new: Resource, at: &Place) {
        let schema = Arc::clone(&self.schema);
        let id = new.id(&schema);
        let found: Vec<usize> = (0..all.resources.len())
            .filter(|index| all.resources[*index].any_id(&schema, |other| id.is_same(other)))
            .collect();
        let error = match (&found[..], new.behavior) {
            ([], Behavior::Merge | Behavior::Replace) => {
                format!("id {id} does not exist; cannot merge or replace")
            }
            ([], _) => {
                all.resources.push(new);
                return;
            }
            ([index], Behavior::Merge | Behavior::Replace) => {
                let merges = new.behavior == Behavior::Merge;
                generators::absorb(&mut new, &all.resources[*index], merges);
                all.resources[*index] = new;
                return;
            }
            ([_], _) => format!("id {id} exists; behavior must be merge or replace"),
            _ => format!("found multiple objects that could accept merge of {id}"),
        };
        self.problem(fault_at(at, error));
    }

    fn external(
        &mut self,
        _all: &mut Accumulator,
        _root: &Root,
        entry: &Placed<super::model::Text>,
        field: &str,
    ) {
        self.problem(unsupported(&entry.place, field));
    }

    fn transform(&mut self, all: &mut Accumulator, root: &Root, read: &Kustomization) {
        let schema = Arc::clone(&self.schema);
        let config = all.config();
        let faults = patches::strategic_merge(
            self.context,
            root,
            all,
            &read.patches_strategic_merge,
            &schema,
        );
        self.context.problems.extend(faults);
        for patch in &read.patches {
            let done = patches::patch(self.context, root, all, patch, &schema);
            self.context.problems.extend(done.err());
            all.resources.retain(|resource| !resource.is_gone);
        }
        if let Some(namespace) = &read.namespace {
            let mark = Mark::entry(namespace.place.clone(), Step::Namespace);
            let what = Namespace {
                to: &namespace.value,
                mark: &mark,
                fields: &config.namespace,
            };
            let done = namespace::transform(all, &what, &schema);
            self.note(&namespace.place, done);
        }
        let affixes = [
            (&read.name_prefix, true, &config.name_prefix),
            (&read.name_suffix, false, &config.name_suffix),
        ];
        for (text, is_prefix, fields) in affixes {
            if let Some(text) = text {
                let mark = Mark::entry(text.place.clone(), Step::Name);
                let done = names::transform(all, (&text.value, is_prefix), &mark, fields, &schema);
                self.note(&text.place, done);
            }
        }
        self.words(all, read, &config);
        for patch in &read.patches_json6902 {
            let done = patches::json6902(self.context, root, all, patch, &schema);
            self.context.problems.extend(done.err());
        }
        for replica in &read.replicas {
            let done = replicas::transform(all, replica, &config.replicas, &schema);
            self.note(&replica.place, done);
        }
        for image in &read.images {
            let done = images::transform(all, image, &config.images, &schema);
            self.note(&image.place, done);
        }
        for entry in &read.replacements {
            let done = super::replacements::transform(self.context, root, all, entry, &schema);
            self.context.problems.extend(done.err());
        }
        for entry in &read.transformers {
            self.external(all, root, entry, "transformers");
        }
        for entry in &read.validators {
            self.external(all, root, entry, "validators");
        }
        for entry in &self.metadata.clone() {
            if entry.value == "transformerAnnotations" && read.has_metadata(&entry.value) {
                self.problem(unsupported(
                    &entry.place,
                    &format!("buildMetadata {}", entry.value),
                ));
            }
        }
    }

    fn words(&mut self, all: &mut Accumulator, read: &Kustomization, config: &Config) {
        let schema = Arc::clone(&self.schema);
        let file = Place::file(Arc::clone(&read.file));
        for label in &read.labels {
            let done = labels::fields(label, config).and_then(|fields| {
                labels::transform(all, &label.pairs, &Step::Label, &fields, &schema)
            });
            let at = label
                .pairs
                .first()
                .map_or(&file, |(_, value)| &value.place)
                .clone();
            self.note(&at, done);
        }
        let pairs = [
            (&read.common_labels, Step::Label, &config.common_labels),
            (
                &read.common_annotations,
                Step::Annotation,
                &config.common_annotations,
            ),
        ];
        for (pairs, step, fields) in pairs {
            let done = labels::transform(all, pairs, &step, fields, &schema);
            let at = pairs
                .first()
                .map_or(&file, |(_, value)| &value.place)
                .clone();
            self.note(&at, done);
        }
    }

    fn merge_vars(&mut self, all: &mut Accumulator, vars: &[Var]) {
        let schema = Arc::clone(&self.schema);
        for var in vars {
            let done = super::vars::claim(&mut all.resources, var, &schema);
            self.note(&var.place, done);
            self.add_var(all, var.clone());
        }
    }

    fn add_var(&mut self, all: &mut Accumulator, var: Var) {
        if all.vars.iter().any(|old| old.name == var.name) {
            self.problem(fault_at(
                &var.place,
                format!("var '{}' already encountered", var.name),
            ));
        } else {
            all.vars.push(var);
        }
    }
}
