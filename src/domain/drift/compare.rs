//! The comparison of one app: pairs, gates, rules, differences, masks, and the state that follows.
//!
//! It is pure and total: what could not be read or rendered comes in as a fault and goes out as `unknown`; what is left
//! out is counted. What one difference means is decided in `judge`.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::argo::{self, Algorithm, Settings};
use super::defaults::{defaulted, fill};
use super::follow::{FOLLOWS, following};
use super::foresee;
use super::judge::Judge;
use super::normal::{self, last_applied};
use super::rules::{self, Applied, Rules, annotation};
use super::secret::{self, Secrecy};
use super::walk::{self, Difference};
use super::{
    AppDrift, FieldDrift, FieldStatus, Hidden, ObjectDrift, ObjectState, Sides, Verdict, noise,
    readable,
};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::{AppRef, AppState};
use crate::domain::object::managed_fields::{self, Entry};
use crate::domain::object::openapi::Schemas;
use crate::domain::object::quantity::nanos;
use crate::domain::object::types::KindSchema;
use crate::domain::object::{Desired, FieldPath, ObjectId};
use crate::domain::yaml::Route;

/// Whose rules decide what a difference means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Flux's kustomize-controller.
    Flux,
    /// Flux's helm-controller.
    Helm,
    /// Argo CD.
    Argo,
    /// No engine: a file against live objects.
    Plain,
}

/// What is compared.
#[derive(Debug, Clone)]
pub struct Comparison<'a> {
    /// Whose rules.
    pub engine: Engine,
    /// Which app.
    pub app: Option<AppRef>,
    /// The app's own object: suspension, sync policy, ignore rules.
    pub app_object: Option<&'a Value>,
    /// `argocd-cm`'s object, where it may be read.
    pub settings: Option<&'a Value>,
    /// What Git says.
    pub desired: &'a [Desired],
    /// What the cluster holds, as read.
    pub live: &'a [Value],
    /// What the app's inventory holds.
    pub inventory: &'a [ObjectId],
    /// Objects that could not be read, and why.
    pub unreadable: &'a [(ObjectId, Fault)],
    /// What could not be rendered or fetched.
    pub problems: &'a [Fault],
    /// CustomResourceDefinitions of the kinds compared, where they could be read.
    pub definitions: &'a [Value],
    /// What the server says of its kinds' fields, where it could be read.
    pub schemas: Option<&'a Schemas>,
}

impl Comparison<'_> {
    /// Returns a comparison of nothing by the rules of `engine`, to be filled in.
    pub fn of(engine: Engine) -> Self {
        Self {
            engine,
            app: None,
            app_object: None,
            settings: None,
            desired: &[],
            live: &[],
            inventory: &[],
            unreadable: &[],
            problems: &[],
            definitions: &[],
            schemas: None,
        }
    }
}

/// Compares an app.
pub fn compare(input: &Comparison<'_>) -> AppDrift {
    let world = World::of(input);
    let mut problems = input.problems.to_vec();
    problems.extend(world.rules.faults.iter().cloned());
    let mut refusals = vec![];
    let mut objects: Vec<ObjectDrift> = vec![];
    for desired in &world.desired() {
        objects.push(world.one(desired, &mut refusals));
    }
    let uncounted = world.left_over(&mut objects);
    let failed = world.failed_as_a_whole(&refusals);
    if let Some(fault) = failed {
        for object in &mut objects {
            give_up(object, &fault.to_string());
        }
        if !problems.contains(&fault) {
            problems.push(fault);
        }
    }
    objects.sort_by(|a, b| (a.state, order(&a.id)).cmp(&(b.state, order(&b.id))));
    let (state, cause) = state(&objects, &problems, &uncounted);
    AppDrift {
        app: input.app.clone(),
        state,
        cause,
        hidden: hidden(&objects),
        objects,
        problems,
    }
}

fn order(id: &ObjectId) -> (&str, Option<&str>, &str) {
    (&id.kind, id.namespace.as_deref(), &id.name)
}

/// Compares manifests with live objects without an engine; where managedFields show that Flux applied an object, Flux's
/// rules are used for it.
/// `live` may hold lists. Live objects that Git does not have are told where they carry the owner's mark of those that it
/// has.
pub fn offline(desired: &[Desired], live: &[Value], problems: &[Fault]) -> AppDrift {
    let live: Vec<Value> = live.iter().flat_map(unfolded).collect();
    let is_desired = |live: &Value| {
        ObjectId::of(live).is_some_and(|id| desired.iter().any(|d| same(&d.id, &id)))
    };
    let marks: BTreeSet<String> = live
        .iter()
        .filter(|l| is_desired(l))
        .filter_map(owner_mark)
        .collect();
    let left: Vec<ObjectId> = live
        .iter()
        .filter(|l| !is_desired(l) && owner_mark(l).is_some_and(|mark| marks.contains(&mark)))
        .filter_map(ObjectId::of)
        .collect();
    compare(&Comparison {
        desired,
        live: &live,
        inventory: &left,
        problems,
        ..Comparison::of(Engine::Plain)
    })
}

fn unfolded(value: &Value) -> Vec<Value> {
    let is_list = value
        .get("kind")
        .and_then(Value::as_str)
        .is_some_and(|kind| kind.ends_with("List"));
    match value.get("items").and_then(Value::as_array) {
        Some(items) if is_list => items.iter().flat_map(unfolded).collect(),
        _ => vec![value.clone()],
    }
}

/// Returns the mark by which an engine knows its objects.
fn owner_mark(object: &Value) -> Option<String> {
    let metadata = object.get("metadata")?;
    let text = |map: &str, key: &str| metadata.get(map)?.get(key)?.as_str();
    for group in ["kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"] {
        let name = text("labels", &format!("{group}/name"));
        let namespace = text("labels", &format!("{group}/namespace"));
        if let (Some(name), Some(namespace)) = (name, namespace) {
            return Some(format!("{group} {namespace}/{name}"));
        }
    }
    if let Some(id) = text("annotations", "argocd.argoproj.io/tracking-id") {
        return Some(format!("argocd {}", id.split(':').next()?));
    }
    let release = text("annotations", "meta.helm.sh/release-name")?;
    let namespace = text("annotations", "meta.helm.sh/release-namespace")?;
    Some(format!("helm {namespace}/{release}"))
}

/// Tells whether two identities name one object; a namespace that one side leaves open matches.
fn same(one: &ObjectId, other: &ObjectId) -> bool {
    one.group() == other.group()
        && one.kind == other.kind
        && one.name == other.name
        && (one.namespace == other.namespace
            || one.namespace.is_none()
            || other.namespace.is_none())
}

fn unknown(id: &ObjectId, cause: String) -> ObjectDrift {
    bare(id, ObjectState::Unknown, Some(cause))
}

fn bare(id: &ObjectId, state: ObjectState, cause: Option<String>) -> ObjectDrift {
    ObjectDrift {
        id: id.clone(),
        state,
        cause,
        fields: vec![],
        sides: Sides::default(),
    }
}

/// The engine could not compare anything: what it would do is not known.
fn give_up(object: &mut ObjectDrift, cause: &str) {
    if object.state == ObjectState::Ignored {
        return;
    }
    object.state = ObjectState::Unknown;
    object.cause = Some(cause.to_owned());
    for field in &mut object.fields {
        if matches!(field.verdict, Verdict::Drift | Verdict::Held) {
            field.verdict = Verdict::Unknown;
            field.rule = Some("Argo CD could not compare".into());
        }
    }
}

/// The input with what is read from it once.
struct World<'a> {
    input: &'a Comparison<'a>,
    // By kind and name, in input order: finding each object's pair must not cost a walk over all of them.
    live: HashMap<(String, String), Vec<(ObjectId, &'a Value)>>,
    rules: Rules,
    settings: Settings,
    held: Option<String>,
}

impl<'a> World<'a> {
    fn of(input: &'a Comparison<'a>) -> Self {
        let rules = match (input.engine, input.app_object) {
            (Engine::Flux | Engine::Helm, Some(app)) => Rules::flux(app),
            (Engine::Argo, app) => {
                Rules::argo(app.unwrap_or(&Value::Null), argo::data(input.settings))
            }
            _ => Rules::default(),
        };
        let mut live: HashMap<_, Vec<_>> = HashMap::new();
        for object in input.live {
            if let Some(id) = ObjectId::of(object) {
                let key = (id.kind.clone(), id.name.clone());
                live.entry(key).or_default().push((id, object));
            }
        }
        Self {
            input,
            live,
            rules,
            settings: Settings::read(input.settings),
            held: held(input),
        }
    }

    /// Returns what Git says, the last of several documents of one object winning as Argo CD has it.
    fn desired(&self) -> Vec<&'a Desired> {
        let mut all: Vec<&Desired> = vec![];
        for desired in self.input.desired {
            all.retain(|other| {
                !(self.input.engine == Engine::Argo && other.id.same_object(&desired.id))
            });
            all.push(desired);
        }
        all
    }

    fn live(&self, id: &ObjectId) -> Option<&'a Value> {
        let namesakes = self.live.get(&(id.kind.clone(), id.name.clone()))?;
        let exact = namesakes.iter().find(|(live, _)| live == id);
        exact
            .or_else(|| namesakes.iter().find(|(live, _)| same(id, live)))
            .map(|(_, live)| *live)
    }

    /// Pairs an encrypted Secret whose generated name nobody can compute without the key by its base name.
    fn live_by_base_name(&self, desired: &Desired) -> Option<&'a Value> {
        if !secret::is_secret(&desired.id) || !secret::holds_encrypted(&desired.value) {
            return None;
        }
        let base = |name: &str| {
            let (base, hash) = name.rsplit_once('-')?;
            (hash.len() == 10
                && hash
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()))
            .then(|| base.to_owned())
        };
        let wanted = base(&desired.id.name)?;
        let mut found = self.input.live.iter().filter(|live| {
            ObjectId::of(live).is_some_and(|id| {
                secret::is_secret(&id)
                    && base(&id.name).as_ref() == Some(&wanted)
                    && (id.namespace == desired.id.namespace || desired.id.namespace.is_none())
            })
        });
        match (found.next(), found.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }

    fn one(&self, desired: &Desired, refusals: &mut Vec<Fault>) -> ObjectDrift {
        let id = &desired.id;
        let live = self.live(id).or_else(|| self.live_by_base_name(desired));
        let gate = self.gate(&desired.value, live);
        let Some(live) = live else {
            let unreadable = self.input.unreadable.iter().find(|(u, _)| same(u, id));
            if let (Some((_, fault)), None) = (unreadable, &gate) {
                return unknown(id, fault.to_string());
            }
            return self.missing(desired, gate);
        };
        let mut object = self.fields(desired, live, refusals);
        if let Some(rule) = gate {
            for field in &mut object.fields {
                field.verdict = Verdict::Ignored;
                field.rule = Some(rule.clone());
            }
            object.state = ObjectState::Ignored;
            object.cause = Some(rule);
        }
        object
    }

    /// Returns why the engine leaves a whole object out.
    fn gate(&self, desired: &Value, live: Option<&Value>) -> Option<String> {
        match self.input.engine {
            Engine::Flux => rules::flux_gate(desired, live),
            Engine::Helm => rules::helm_gate(desired, live),
            Engine::Argo => rules::argo_gate(desired),
            Engine::Plain => None,
        }
    }

    fn missing(&self, desired: &Desired, gate: Option<String>) -> ObjectDrift {
        let secrecy = Secrecy::of(&desired.id, Some(desired));
        let (git, _) = secrecy.mask_sides(Some(desired.value.clone()), None);
        let (state, cause) = match (gate, &self.held) {
            (Some(rule), _) => (ObjectState::Ignored, rule),
            (None, None) => (
                ObjectState::Missing,
                "not in the cluster: the next pass creates it".to_owned(),
            ),
            (None, Some(reason)) => (
                ObjectState::Missing,
                format!("not in the cluster; {reason}"),
            ),
        };
        ObjectDrift {
            sides: Sides {
                git,
                ..Sides::default()
            },
            ..bare(&desired.id, state, Some(cause))
        }
    }

    /// Adds the objects that are the app's and that Git no longer renders; returns those that do not count.
    fn left_over(&self, objects: &mut Vec<ObjectDrift>) -> Vec<ObjectId> {
        let rendered = |id: &ObjectId| {
            self.input.desired.iter().any(|d| same(&d.id, id))
                || self.input.desired.iter().any(|d| {
                    self.live_by_base_name(d)
                        .and_then(ObjectId::of)
                        .is_some_and(|live| live == *id)
                })
        };
        let mut ids: Vec<ObjectId> = self.input.inventory.to_vec();
        if self.input.engine == Engine::Argo {
            let app = self.input.app_object.unwrap_or(&Value::Null);
            let owned = self
                .input
                .live
                .iter()
                .filter(|live| self.settings.owns(app, live));
            ids.extend(owned.filter_map(ObjectId::of));
        }
        let mut seen: Vec<ObjectId> = vec![];
        let mut uncounted = vec![];
        for id in ids {
            if rendered(&id) || seen.iter().any(|other| same(other, &id)) {
                continue;
            }
            if let Some(live) = self.live(&id) {
                if self.input.engine == Engine::Argo {
                    if rules::argo_gate(live).is_some() {
                        continue;
                    }
                    if argo::ignores_extraneous(live) {
                        uncounted.push(id.clone());
                    }
                }
                objects.push(self.no_longer_rendered(&id, live));
            } else if let Some((_, fault)) =
                self.input.unreadable.iter().find(|(u, _)| same(u, &id))
            {
                objects.push(unknown(&id, fault.to_string()));
            }
            seen.push(id);
        }
        uncounted
    }

    fn no_longer_rendered(&self, id: &ObjectId, live: &Value) -> ObjectDrift {
        let (_, shown) = normal::sides(id, &Value::Null, live, self.normal());
        let (_, shown) = Secrecy::of(id, None).mask_sides(None, Some(shown));
        let app = |pointer: &str| self.input.app_object.and_then(|app| app.pointer(pointer));
        let kept = match self.input.engine {
            Engine::Flux if app("/spec/prune") == Some(&Value::Bool(false)) => {
                Some("the Kustomization does not prune".to_owned())
            }
            Engine::Flux => rules::flux_keeps(live),
            _ => None,
        };
        let (state, cause) = match (kept, argo::prune_option(live), &self.held) {
            (Some(kept), _, _) => (
                ObjectState::Ignored,
                format!("Git no longer has it; it stays: {kept}"),
            ),
            (None, Some(option), _) if self.input.engine == Engine::Argo => (
                ObjectState::Extra,
                format!("Git no longer has it; a sync does not prune it: {option}"),
            ),
            (None, _, None) if self.input.engine == Engine::Plain => (
                ObjectState::Extra,
                "live only, with the same owner as the others".to_owned(),
            ),
            (None, _, None) => (
                ObjectState::Extra,
                "Git no longer has it: the next pass prunes it".to_owned(),
            ),
            (None, _, Some(reason)) => (
                ObjectState::Extra,
                format!("Git no longer has it; {reason}"),
            ),
        };
        ObjectDrift {
            sides: Sides {
                git: None,
                live: shown,
                live_full: None,
            },
            ..bare(id, state, Some(cause))
        }
    }

    fn normal(&self) -> normal::Options {
        normal::Options {
            aggregated_rules: self.input.engine == Engine::Argo && !self.settings.ignore_aggregated,
            status: false,
        }
    }

    /// What keeps Argo CD from comparing anything of the app.
    fn failed_as_a_whole(&self, refusals: &[Fault]) -> Option<Fault> {
        if self.input.engine != Engine::Argo {
            return None;
        }
        if let Some(fault) = self.rules.faults.first().or(refusals.first()) {
            return Some(fault.clone());
        }
        let message = argo::comparison_error(self.input.app_object?)?;
        Some(Fault::new(FaultKind::Render, "Argo CD could not compare").because(message))
    }

    fn fields(&self, desired: &Desired, live: &Value, refusals: &mut Vec<Fault>) -> ObjectDrift {
        let id = &desired.id;
        let secrecy = Secrecy::of(id, Some(desired));
        let options = normal::Options {
            status: self.input.engine == Engine::Argo && self.settings.compares_status(id),
            ..self.normal()
        };
        let (mut git, live_side) = normal::sides(id, &desired.value, live, options);
        self.mark(id, &mut git, live);
        let version = live
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or(&id.api_version);
        if version != id.api_version {
            let cause = format!(
                "the cluster was read as {version}, Git says {}",
                id.api_version
            );
            let (git, live) = secrecy.mask_sides(Some(git), Some(live_side));
            return ObjectDrift {
                sides: Sides {
                    git,
                    live,
                    live_full: None,
                },
                ..unknown(id, cause)
            };
        }
        let entries = managed_fields::entries(live);
        let schema = schema_of(self.input, id, &entries);
        let applied = self
            .rules
            .apply(id, &git, &live_side, last_applied(live).as_ref());
        let judge = Judge {
            id,
            entries: &entries,
            engine: engine_of(self.input.engine, &entries),
            algorithm: Algorithm::of(self.input.app_object, &desired.value),
            held: self.held.clone(),
            last_applied: applied.base.clone(),
            merge: rules::flux_merges(&desired.value, live),
            built_in: schema.is_builtin(),
            known: schema.is_known(),
            git: &git,
        };
        if judge.engine == Engine::Argo && judge.algorithm != Algorithm::ThreeWay {
            refusals.extend(foresee::refusal(&schema, id, &git));
        }
        let mut want = defaulted(id, &git);
        fill(&schema.root(), &mut want);
        let found = Found::of(&schema, &applied, &git, &want, &live_side);
        let follows = following(id, &schema, &live_side, &found.seen);
        let mut fields: Vec<FieldDrift> = found
            .seen
            .into_iter()
            .map(|difference| {
                let equal = self.equal_by_rule(id, &difference).or_else(|| {
                    let follows = follows.contains(&difference.path);
                    follows.then(|| FOLLOWS.to_owned())
                });
                let mut field = judge.field(difference, desired, &secrecy);
                if let Some(rule) = equal {
                    (field.verdict, field.rule) = (Verdict::Noise, Some(rule));
                }
                by_manager(&applied, &judge, &mut field);
                field
            })
            .collect();
        for (difference, rule) in found.cut {
            let mut field = judge.field(difference, desired, &secrecy);
            (field.verdict, field.rule) = (Verdict::Ignored, Some(rule));
            fields.push(field);
        }
        fields.sort_by(|a, b| a.path.cmp(&b.path));
        if let Some(scaler) = self.autoscaler(id)
            && let Some(field) = fields
                .iter_mut()
                .find(|f| f.path.to_string() == "spec.replicas")
        {
            field.note = Some(format!("{scaler} scales this"));
        }
        let forces = rules::flux_forces(self.input.app_object, &desired.value, live);
        let cause = foresee::outcome(&judge, &mut fields, &desired.value, live, forces);
        let read = readable::live(&schema, &git, &live_side, &fields);
        let state = settle(&mut fields, &applied);
        let sides = masked(&secrecy, &git, read, live_side);
        ObjectDrift {
            id: id.clone(),
            state,
            cause: match applied.whole {
                Some(rule) => Some(rule),
                None => cause,
            },
            fields,
            sides,
        }
    }

    /// Returns the autoscaler that scales an object, as a person names it.
    fn autoscaler(&self, id: &ObjectId) -> Option<String> {
        let desired = self.input.desired.iter().map(|d| &d.value);
        desired.chain(self.input.live).find_map(|object| {
            let kind = object.get("kind").and_then(Value::as_str)?;
            if !matches!(kind, "HorizontalPodAutoscaler" | "ScaledObject") {
                return None;
            }
            let scaler = ObjectId::of(object)?;
            let target = object.pointer("/spec/scaleTargetRef")?;
            let named = target.get("name").and_then(Value::as_str) == Some(id.name.as_str());
            let wanted = target
                .get("kind")
                .and_then(Value::as_str)
                .unwrap_or("Deployment");
            let near = scaler.namespace.is_none()
                || id.namespace.is_none()
                || scaler.namespace == id.namespace;
            (named && wanted == id.kind && near).then(|| format!("{kind} {}", scaler.name))
        })
    }

    /// Gives Git's side the tracking id where it was rendered without one and live carries another one: a copied or an
    /// outdated id is drift by itself.
    fn mark(&self, id: &ObjectId, git: &mut Value, live: &Value) {
        let key = "argocd.argoproj.io/tracking-id";
        let Some(app) = self
            .input
            .app_object
            .filter(|_| self.input.engine == Engine::Argo)
        else {
            return;
        };
        let (None, Some(now)) = (annotation(git, key), annotation(live, key)) else {
            return;
        };
        let Some(mark) = self.settings.mark(app, id).filter(|mark| mark != now) else {
            return;
        };
        let metadata = git.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata {
            let annotations = metadata
                .entry("annotations")
                .or_insert_with(|| serde_json::json!({}));
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.insert(key.into(), mark.into());
            }
        }
    }

    /// Returns why two spellings mean the same to this kind's own readers.
    fn equal_by_rule(&self, id: &ObjectId, difference: &Difference) -> Option<String> {
        let text = difference.path.to_string();
        let amount = |value: &Option<Value>| match value.as_ref()? {
            Value::String(text) => nanos(text),
            other => nanos(&other.to_string()),
        };
        if self.settings.quantities(id).contains(&text.as_str())
            && amount(&difference.git).is_some()
            && amount(&difference.git) == amount(&difference.live)
        {
            return Some("argocd-cm knownTypeFields: the same quantity".into());
        }
        let of_argo = id.group() == "argoproj.io"
            && matches!(
                id.kind.as_str(),
                "Application" | "AppProject" | "ApplicationSet"
            );
        let nothing = |value: &Option<Value>| value.as_ref().is_none_or(noise::is_zero);
        (of_argo && nothing(&difference.git) && nothing(&difference.live))
            .then(|| "the controller drops zero values when it writes the object".into())
    }
}

/// Returns the sides with secret values masked, `read` being live as a person reads it.
fn masked(secrecy: &Secrecy<'_>, git: &Value, read: Option<Value>, live: Value) -> Sides {
    let (git_side, full) = secrecy.mask_sides(Some(git.clone()), Some(live));
    match read {
        None => Sides {
            git: git_side,
            live: full,
            live_full: None,
        },
        Some(read) => {
            let (git, live) = secrecy.mask_sides(Some(git.clone()), Some(read));
            Sides {
                git,
                live,
                live_full: full,
            }
        }
    }
}

/// The differences that the rules leave, and those that they take out, with the rule.
struct Found {
    seen: Vec<Difference>,
    cut: Vec<(Difference, String)>,
}

impl Found {
    fn of(schema: &KindSchema, applied: &Applied, git: &Value, want: &Value, live: &Value) -> Self {
        let Some(any) = applied.any_rule() else {
            return Self {
                seen: walk::differences(schema, git, want, live),
                cut: vec![],
            };
        };
        let cuts: Vec<Route> = applied
            .git_cuts
            .iter()
            .map(|(route, _)| route.clone())
            .collect();
        let left = super::jq::without(want, cuts);
        let seen = walk::differences(schema, &applied.git, &left, &applied.live);
        let known: BTreeSet<FieldPath> = seen.iter().map(|d| d.path.clone()).collect();
        let cut = walk::differences(schema, git, want, live)
            .into_iter()
            .filter(|d| !known.contains(&d.path))
            .map(|d| {
                let (of_git, of_live) = (d.path.route_in(git), d.path.route_in(live));
                let rule = applied.rule_at(of_git.as_ref(), of_live.as_ref());
                let rule = rule.unwrap_or(any).to_owned();
                (d, rule)
            })
            .collect();
        Self { seen, cut }
    }
}

/// Leaves out what a trusted manager holds (`managedFieldsManagers`).
fn by_manager(applied: &Applied, judge: &Judge<'_>, field: &mut FieldDrift) {
    let trusted = applied.managers.iter().find(|(manager, _)| {
        let of = |entry: &&Entry| entry.manager == *manager;
        judge
            .entries
            .iter()
            .filter(of)
            .any(|entry| entry.fields.hold(&field.path).is_some())
    });
    if let Some((_, rule)) = trusted {
        (field.verdict, field.rule) = (Verdict::Ignored, Some(rule.clone()));
    }
}

/// Returns the object's state; a rule that is not evaluated here makes what it could hide unknown.
fn settle(fields: &mut [FieldDrift], applied: &Applied) -> ObjectState {
    if let Some(rule) = &applied.whole {
        for field in fields.iter_mut() {
            (field.verdict, field.rule) = (Verdict::Ignored, Some(rule.clone()));
        }
        return ObjectState::Ignored;
    }
    let acted = |field: &FieldDrift| matches!(field.verdict, Verdict::Drift | Verdict::Held);
    if let Some(reason) = applied.unknown.first() {
        for field in fields.iter_mut().filter(|field| acted(field)) {
            (field.verdict, field.rule) = (Verdict::Unknown, Some(reason.clone()));
        }
    }
    if fields.iter().any(acted) {
        ObjectState::Drifted
    } else if fields.iter().any(|f| f.verdict == Verdict::Unknown) {
        ObjectState::Unknown
    } else {
        ObjectState::InSync
    }
}

/// Returns what is known of a kind's fields: by the server's own document, the built-in table, the kind's definition, else
/// by what managedFields show.
fn schema_of(input: &Comparison<'_>, id: &ObjectId, entries: &[Entry]) -> KindSchema {
    let served = input.schemas.and_then(|s| s.get(&id.api_version, &id.kind));
    if let Some(served) = served {
        return served.clone();
    }
    let built_in = KindSchema::builtin(&id.api_version, &id.kind);
    if built_in.is_builtin() {
        return built_in;
    }
    let defines = |definition: &&Value| {
        let is = |pointer: &str, text: &str| {
            definition.pointer(pointer).and_then(Value::as_str) == Some(text)
        };
        is("/spec/group", id.group()) && is("/spec/names/kind", &id.kind)
    };
    let all = input.definitions.iter().chain(input.live);
    all.filter(|value| {
        value.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition")
    })
    .find(defines)
    .and_then(|definition| KindSchema::of_crd(definition, id.version()))
    .unwrap_or_else(|| KindSchema::inferred(entries))
}

/// Without an engine, managedFields may show that Flux applied the object.
fn engine_of(engine: Engine, entries: &[Entry]) -> Engine {
    let flux = entries
        .iter()
        .any(|e| e.manager == "kustomize-controller" && e.operation == "Apply");
    if engine == Engine::Plain && flux {
        Engine::Flux
    } else {
        engine
    }
}

/// Returns why nothing undoes drift now.
fn held(input: &Comparison<'_>) -> Option<String> {
    let object = input.app_object?;
    let spec = object.get("spec")?;
    let suspended = spec.get("suspend") == Some(&Value::Bool(true));
    match input.engine {
        Engine::Flux => suspended.then(|| "the Kustomization is suspended".to_owned()),
        Engine::Helm if suspended => Some("the HelmRelease is suspended".to_owned()),
        Engine::Helm => match spec.pointer("/driftDetection/mode").and_then(Value::as_str) {
            Some("enabled") => None,
            mode => Some(format!("drift detection is {}", mode.unwrap_or("disabled"))),
        },
        Engine::Argo => {
            if annotation(object, "argocd.argoproj.io/skip-reconcile") == Some("true") {
                return Some("the Application is frozen (skip-reconcile)".to_owned());
            }
            let automated = spec
                .pointer("/syncPolicy/automated")
                .filter(|a| a.is_object());
            match automated {
                Some(a) if a.get("enabled") == Some(&Value::Bool(false)) => {
                    Some("automated sync is off".to_owned())
                }
                Some(a) if a.get("selfHeal") != Some(&Value::Bool(true)) => {
                    Some("self-heal is off: it waits for the next commit or sync".to_owned())
                }
                Some(_) => None,
                None => Some("automated sync is off".to_owned()),
            }
        }
        Engine::Plain => None,
    }
}

fn hidden(objects: &[ObjectDrift]) -> Hidden {
    let mut sum = Hidden::default();
    for field in objects.iter().flat_map(|object| &object.fields) {
        match (field.verdict, field.status) {
            (Verdict::Ignored, _) => sum.ignored += 1,
            (Verdict::Noise, _) => sum.noise += 1,
            (_, FieldStatus::ExtraForeign) => sum.foreign += 1,
            _ => {}
        }
    }
    sum
}

fn state(
    objects: &[ObjectDrift],
    problems: &[Fault],
    uncounted: &[ObjectId],
) -> (AppState, Option<String>) {
    let drifted = objects.iter().any(|object| {
        let off = [
            ObjectState::Drifted,
            ObjectState::Missing,
            ObjectState::Extra,
        ];
        off.contains(&object.state) && !uncounted.contains(&object.id)
    });
    if drifted {
        let cause = (!problems.is_empty())
            .then(|| format!("{} more could not be rendered or read", problems.len()));
        return (AppState::Drifted, cause);
    }
    if let Some(problem) = problems.first() {
        return (AppState::Unknown, Some(problem.without_subject()));
    }
    if let Some(object) = objects.iter().find(|o| o.state == ObjectState::Unknown) {
        let cause = object
            .cause
            .clone()
            .unwrap_or_else(|| "a field could not be decided".to_owned());
        return (AppState::Unknown, Some(format!("{}: {cause}", object.id)));
    }
    let additions = objects
        .iter()
        .flat_map(|o| &o.fields)
        .any(|f| f.verdict == Verdict::Residual && matches!(f.status, FieldStatus::Extra));
    if additions {
        return (AppState::AdditionsOnly, None);
    }
    (AppState::InSync, None)
}
