//! The comparison of one app: pairs, gates, differences, owners, verdicts, masks, and the state that follows.
//!
//! It is pure and total: what could not be read or rendered comes in as a fault and goes out as `unknown`; what is left
//! out is counted. A verdict says what the app's own engine would do at its next pass.

use std::sync::Arc;

use serde_json::Value;

use super::blame::{self, holders, nobody};
use super::defaults::defaulted;
use super::manager::taken_over_by_flux;
use super::normal::{self, last_applied};
use super::secret::{self, Secrecy};
use super::walk::{self, Difference, Kind};
use super::{
    AppDrift, FieldDrift, FieldStatus, Hidden, ObjectDrift, ObjectState, OwnerClass, Sides,
    Verdict, classify, noise,
};
use crate::domain::fault::Fault;
use crate::domain::fleet::{AppRef, AppState};
use crate::domain::object::managed_fields::{self, Entry};
use crate::domain::object::schema::{Schema, is_built_in};
use crate::domain::object::{Desired, FieldPath, ObjectId, Origin};

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
}

/// Compares an app.
pub fn compare(input: &Comparison<'_>) -> AppDrift {
    let mut objects: Vec<ObjectDrift> = input
        .desired
        .iter()
        .map(|desired| one(input, desired))
        .collect();
    for id in input.inventory {
        let rendered = input.desired.iter().any(|d| same(&d.id, id));
        let live = input
            .live
            .iter()
            .find(|l| ObjectId::of(l).is_some_and(|l| same(&l, id)));
        if rendered {
            continue;
        }
        if let Some(live) = live {
            objects.push(no_longer_rendered(input, id, live));
        } else if let Some((_, fault)) = input.unreadable.iter().find(|(u, _)| same(u, id)) {
            objects.push(unknown(id, fault.to_string()));
        }
    }
    objects.sort_by(|a, b| {
        (a.state, &a.id.kind, &a.id.namespace, &a.id.name).cmp(&(
            b.state,
            &b.id.kind,
            &b.id.namespace,
            &b.id.name,
        ))
    });
    let (state, cause) = state(&objects, input.problems);
    let hidden = objects.iter().fold(Hidden::default(), |mut sum, object| {
        for field in &object.fields {
            match (field.verdict, field.status) {
                (Verdict::Ignored, _) => sum.ignored += 1,
                (Verdict::Noise, _) => sum.noise += 1,
                (_, FieldStatus::ExtraForeign) => sum.foreign += 1,
                _ => {}
            }
        }
        sum
    });
    AppDrift {
        app: input.app.clone(),
        state,
        cause,
        objects,
        hidden,
        problems: input.problems.to_vec(),
    }
}

/// Compares manifests with live objects without an engine; where managedFields show that Flux applied an object, Flux's
/// rules are used for it.
pub fn offline(desired: &[Desired], live: &[Value], problems: &[Fault]) -> AppDrift {
    compare(&Comparison {
        engine: Engine::Plain,
        app: None,
        app_object: None,
        settings: None,
        desired,
        live,
        inventory: &[],
        unreadable: &[],
        problems,
        definitions: &[],
    })
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
    ObjectDrift {
        id: id.clone(),
        state: ObjectState::Unknown,
        cause: Some(cause),
        fields: vec![],
        sides: Sides::default(),
    }
}

fn no_longer_rendered(input: &Comparison<'_>, id: &ObjectId, live: &Value) -> ObjectDrift {
    let (_, shown) = normal::sides(id, &Value::Null, live);
    let (_, live) = Secrecy::of(id, None).mask_sides(None, Some(shown));
    let word = match held(input) {
        None => "Git no longer has it: the next pass prunes it".to_owned(),
        Some(reason) => format!("Git no longer has it; {reason}"),
    };
    ObjectDrift {
        id: id.clone(),
        state: ObjectState::Extra,
        cause: Some(word),
        fields: vec![],
        sides: Sides { git: None, live },
    }
}

fn one(input: &Comparison<'_>, desired: &Desired) -> ObjectDrift {
    let id = &desired.id;
    let live = input
        .live
        .iter()
        .find(|l| ObjectId::of(l).is_some_and(|l| same(id, &l)));
    let Some(live) = live else {
        if let Some((_, fault)) = input.unreadable.iter().find(|(u, _)| same(u, id)) {
            return unknown(id, fault.to_string());
        }
        return missing(input, desired);
    };
    if let Some(rule) = gate(input.engine, &desired.value, live) {
        let mut object = fields(input, desired, live);
        for field in &mut object.fields {
            field.verdict = Verdict::Ignored;
            field.rule = Some(rule.clone());
        }
        object.state = ObjectState::Ignored;
        object.cause = Some(rule);
        return object;
    }
    fields(input, desired, live)
}

fn missing(input: &Comparison<'_>, desired: &Desired) -> ObjectDrift {
    let id = &desired.id;
    let secrecy = Secrecy::of(id, Some(desired));
    let (git, _) = secrecy.mask_sides(Some(desired.value.clone()), None);
    if let Some(rule) = gate(input.engine, &desired.value, &Value::Null) {
        return ObjectDrift {
            id: id.clone(),
            state: ObjectState::Ignored,
            cause: Some(rule),
            fields: vec![],
            sides: Sides { git, live: None },
        };
    }
    let cause = match held(input) {
        None => "not in the cluster: the next pass creates it".to_owned(),
        Some(reason) => format!("not in the cluster; {reason}"),
    };
    ObjectDrift {
        id: id.clone(),
        state: ObjectState::Missing,
        cause: Some(cause),
        fields: vec![],
        sides: Sides { git, live: None },
    }
}

fn annotation<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    ["annotations", "labels"]
        .iter()
        .find_map(|map| object.get("metadata")?.get(map)?.get(key)?.as_str())
}

/// Returns why the engine leaves a whole object out.
fn gate(engine: Engine, desired: &Value, live: &Value) -> Option<String> {
    let says = |key: &str, value: &str| {
        [desired, live]
            .iter()
            .any(|o| annotation(o, key).is_some_and(|v| v.eq_ignore_ascii_case(value)))
    };
    match engine {
        Engine::Flux => {
            let key = |name: &str| format!("kustomize.toolkit.fluxcd.io/{name}");
            if says(&key("reconcile"), "disabled") {
                return Some(format!("{}: disabled", key("reconcile")));
            }
            if says(&key("ssa"), "ignore") {
                return Some(format!("{}: Ignore", key("ssa")));
            }
            let once = annotation(desired, &key("ssa"))
                .is_some_and(|v| v.eq_ignore_ascii_case("ifnotpresent"));
            (once && !live.is_null()).then(|| format!("{}: IfNotPresent", key("ssa")))
        }
        Engine::Helm => says("helm.toolkit.fluxcd.io/driftDetection", "disabled")
            .then(|| "helm.toolkit.fluxcd.io/driftDetection: disabled".to_owned()),
        Engine::Argo => {
            if annotation(desired, "argocd.argoproj.io/hook").is_some() {
                return Some(
                    "argocd.argoproj.io/hook: hooks take no part in the comparison".to_owned(),
                );
            }
            annotation(desired, "helm.sh/hook")
                .filter(|hook| *hook != "crd-install")
                .map(|_| "helm.sh/hook: hooks take no part in the comparison".to_owned())
        }
        Engine::Plain => None,
    }
}

/// Returns why nothing undoes drift now.
fn held(input: &Comparison<'_>) -> Option<String> {
    let object = input.app_object?;
    let spec = object.get("spec")?;
    match input.engine {
        Engine::Flux if spec.get("suspend") == Some(&Value::Bool(true)) => {
            Some("the Kustomization is suspended".to_owned())
        }
        Engine::Helm => {
            if spec.get("suspend") == Some(&Value::Bool(true)) {
                return Some("the HelmRelease is suspended".to_owned());
            }
            match spec.pointer("/driftDetection/mode").and_then(Value::as_str) {
                Some("enabled") => None,
                mode => Some(format!("drift detection is {}", mode.unwrap_or("disabled"))),
            }
        }
        Engine::Argo => {
            if annotation(object, "argocd.argoproj.io/skip-reconcile") == Some("true") {
                return Some("the Application is frozen (skip-reconcile)".to_owned());
            }
            let automated = spec
                .pointer("/syncPolicy/automated")
                .filter(|a| a.is_object());
            match automated {
                None => Some("automated sync is off".to_owned()),
                Some(a) if a.get("enabled") == Some(&Value::Bool(false)) => {
                    Some("automated sync is off".to_owned())
                }
                Some(a) if a.get("selfHeal") != Some(&Value::Bool(true)) => {
                    Some("self-heal is off: it waits for the next commit or sync".to_owned())
                }
                Some(_) => None,
            }
        }
        _ => None,
    }
}

fn fields(input: &Comparison<'_>, desired: &Desired, live: &Value) -> ObjectDrift {
    let id = &desired.id;
    let live_version = live
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or(&id.api_version);
    let secrecy = Secrecy::of(id, Some(desired));
    let (git_side, live_side) = normal::sides(id, &desired.value, live);
    if live_version != id.api_version {
        let mut object = unknown(
            id,
            format!(
                "the cluster was read as {live_version}, Git says {}",
                id.api_version
            ),
        );
        (object.sides.git, object.sides.live) = secrecy.mask_sides(Some(git_side), Some(live_side));
        return object;
    }
    let entries = managed_fields::entries(live);
    let mut schema = Schema::of(&id.api_version, &id.kind);
    if let Some(definition) = input.definitions.iter().find(|d| defines(d, id)) {
        schema = schema.with_definition(&id.api_version, definition);
    }
    let built_in = is_built_in(&id.api_version);
    let kind = Kind {
        schema: &schema,
        entries: &entries,
        built_in,
        secret: secret::is_secret(id),
    };
    let judge = Judge {
        id,
        entries: &entries,
        engine: engine_of(input.engine, &entries),
        held: held(input),
        last_applied: last_applied(live),
        merge: annotation(&desired.value, "kustomize.toolkit.fluxcd.io/ssa")
            .is_some_and(|v| v.eq_ignore_ascii_case("merge"))
            || annotation(live, "kustomize.toolkit.fluxcd.io/ssa")
                .is_some_and(|v| v.eq_ignore_ascii_case("merge")),
    };
    let want = defaulted(id, &git_side);
    let fields: Vec<FieldDrift> = walk::differences(&kind, &git_side, &want, &live_side)
        .into_iter()
        .map(|difference| judge.field(difference, desired, &secrecy))
        .collect();
    let state = if fields
        .iter()
        .any(|f| matches!(f.verdict, Verdict::Drift | Verdict::Held))
    {
        ObjectState::Drifted
    } else if fields.iter().any(|f| f.verdict == Verdict::Unknown) {
        ObjectState::Unknown
    } else {
        ObjectState::InSync
    };
    let (git, live) = secrecy.mask_sides(Some(git_side), Some(live_side));
    ObjectDrift {
        id: id.clone(),
        state,
        cause: None,
        fields,
        sides: Sides { git, live },
    }
}

fn defines(definition: &Value, id: &ObjectId) -> bool {
    definition.pointer("/spec/group").and_then(Value::as_str) == Some(id.group())
        && definition
            .pointer("/spec/names/kind")
            .and_then(Value::as_str)
            == Some(id.kind.as_str())
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

/// Decides what one difference means.
struct Judge<'a> {
    id: &'a ObjectId,
    entries: &'a [Entry],
    engine: Engine,
    held: Option<String>,
    last_applied: Option<Value>,
    /// Flux leaves alone what kubectl added.
    merge: bool,
}

struct Meaning {
    status: FieldStatus,
    verdict: Verdict,
    rule: Option<String>,
    note: Option<String>,
}

impl Judge<'_> {
    fn field(
        &self,
        mut difference: Difference,
        desired: &Desired,
        secrecy: &Secrecy<'_>,
    ) -> FieldDrift {
        let holders = holders(self.id, self.entries, &difference.path, difference.atomic);
        let meaning = self.meaning(&difference, &holders);
        let owners = match difference.status {
            FieldStatus::Missing => vec![nobody()],
            _ if holders.is_empty() => vec![nobody()],
            _ => holders.iter().map(|entry| blame::owner(entry)).collect(),
        };
        let masked = secrecy.mask_field(&mut difference);
        let origin = origin(desired, &difference.path);
        let mut field = FieldDrift {
            path: difference.path,
            status: meaning.status,
            verdict: meaning.verdict,
            git: difference.git,
            live: difference.live,
            masked,
            owners,
            origin,
            rule: meaning.rule,
            note: meaning.note,
        };
        if field.note.is_none() {
            field.note = secret::note(&field);
        }
        field
    }

    fn meaning(&self, difference: &Difference, holders: &[&Entry]) -> Meaning {
        let of = |status, verdict, rule: Option<String>, note: Option<&str>| Meaning {
            status,
            verdict,
            rule,
            note: note.map(str::to_owned),
        };
        let status = difference.status;
        if status == FieldStatus::Changed
            || status == FieldStatus::Missing
            || status == FieldStatus::ChangedType
            || status == FieldStatus::OrderOnly
        {
            let changed_by_hand = holders
                .iter()
                .any(|e| classify(&e.manager) != OwnerClass::Gitops);
            let status = if status == FieldStatus::ChangedType && changed_by_hand {
                FieldStatus::Changed
            } else {
                status
            };
            return self.active(status, scaler(&difference.path, holders));
        }
        if status == FieldStatus::ChangedFormat {
            return if self.engine == Engine::Plain {
                of(
                    status,
                    Verdict::Residual,
                    Some("the same amount in another spelling".into()),
                    None,
                )
            } else {
                self.active(status, None)
            };
        }
        self.extra(difference, holders)
    }

    /// What the engine would undo: drift, or held where it does not act now.
    fn active(&self, status: FieldStatus, note: Option<String>) -> Meaning {
        match &self.held {
            None => Meaning {
                status,
                verdict: Verdict::Drift,
                rule: None,
                note,
            },
            Some(reason) => Meaning {
                status,
                verdict: Verdict::Held,
                rule: Some(reason.clone()),
                note,
            },
        }
    }

    fn extra(&self, difference: &Difference, holders: &[&Entry]) -> Meaning {
        let path = &difference.path;
        let of = |status, verdict, rule: &str| Meaning {
            status,
            verdict,
            rule: Some(rule.to_owned()),
            note: None,
        };
        if let Some(reason) = noise::known(self.id, path, holders) {
            return of(FieldStatus::Extra, Verdict::Noise, reason);
        }
        if holders.is_empty() {
            return self.unowned(difference);
        }
        let gitops = |e: &&Entry| classify(&e.manager) == OwnerClass::Gitops;
        let once_applied = self
            .last_applied
            .as_ref()
            .is_some_and(|applied| path.get(applied).is_some());
        if holders.iter().all(gitops) {
            if holders.iter().any(|e| e.operation == "Apply") && self.engine != Engine::Helm {
                return self.active(
                    FieldStatus::Extra,
                    Some("Git no longer has it; the next apply removes it".into()),
                );
            }
            return if once_applied {
                self.active(
                    FieldStatus::Extra,
                    Some("Git no longer has it; the next apply removes it".into()),
                )
            } else {
                of(
                    FieldStatus::Extra,
                    Verdict::Noise,
                    "set by the server when the engine created the object",
                )
            };
        }
        let others: Vec<&&Entry> = holders.iter().filter(|e| !gitops(e)).collect();
        match self.engine {
            Engine::Flux => {
                let taken = |e: &&&Entry| {
                    taken_over_by_flux(&e.manager, &e.operation, e.subresource.as_deref())
                };
                if !self.merge && others.iter().all(taken) {
                    return self.active(
                        FieldStatus::Extra,
                        Some("added by kubectl: Flux takes it over and removes it; an apply alone would not".into()),
                    );
                }
            }
            Engine::Argo if once_applied => {
                return self.active(
                    FieldStatus::Extra,
                    Some("once in Git, dropped since".into()),
                );
            }
            Engine::Plain => {
                let by_hand = others
                    .iter()
                    .any(|e| !matches!(classify(&e.manager), OwnerClass::Automation));
                if by_hand {
                    let note = once_applied.then(|| "once in Git, dropped since".to_owned());
                    return self.active(FieldStatus::Extra, note);
                }
            }
            _ => {}
        }
        let automation = others
            .iter()
            .all(|e| blame::owner(e).class == OwnerClass::Automation);
        let status = if automation && !difference.replaced_default {
            FieldStatus::ExtraForeign
        } else {
            FieldStatus::Extra
        };
        of(
            status,
            Verdict::Residual,
            "Git never had it: the engine leaves it alone",
        )
    }

    fn unowned(&self, difference: &Difference) -> Meaning {
        let path = &difference.path;
        let of = |verdict, rule: &str| Meaning {
            status: FieldStatus::Extra,
            verdict,
            rule: Some(rule.to_owned()),
            note: None,
        };
        let text = path.to_string();
        if difference.replaced_default && text == "spec.replicas" {
            return of(
                Verdict::Residual,
                "written through the scale subresource (an autoscaler or kubectl scale)",
            );
        }
        if self.entries.is_empty()
            && !difference.replaced_default
            && !noise::allocated(self.id, path)
        {
            return of(Verdict::Residual, "nobody is recorded as its owner");
        }
        if difference.replaced_default {
            return of(
                Verdict::Residual,
                "another value than the server's default, owned by nobody",
            );
        }
        of(Verdict::Noise, "set by the server")
    }
}

/// Says who scales a workload, where its replicas were written through the scale subresource.
fn scaler(path: &FieldPath, holders: &[&Entry]) -> Option<String> {
    if path.to_string() != "spec.replicas" {
        return None;
    }
    let by = holders
        .iter()
        .find(|e| e.subresource.as_deref() == Some("scale"))?;
    Some(match classify(&by.manager) {
        OwnerClass::Person => format!("scaled by hand ({})", by.manager),
        _ => format!(
            "scaled by {}: Git and an autoscaler both set it",
            by.manager
        ),
    })
}

/// Returns the origin of a field, or of the nearest thing above it that Git has.
fn origin(desired: &Desired, path: &FieldPath) -> Option<Arc<Origin>> {
    let mut path = path.clone();
    loop {
        if let Some(route) = path.route_in(&desired.value) {
            return desired.origins.nearest(&route).cloned();
        }
        path.0.pop()?;
    }
}

fn state(objects: &[ObjectDrift], problems: &[Fault]) -> (AppState, Option<String>) {
    let has = |state| objects.iter().filter(|o| o.state == state).count();
    let drifted = has(ObjectState::Drifted) + has(ObjectState::Missing) + has(ObjectState::Extra);
    if drifted > 0 {
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
