//! The rules that leave something out: Argo CD's ignoreDifferences (of the Application and of `argocd-cm`), Flux's
//! `spec.ignore`, the HelmRelease's `driftDetection.ignore`, and the annotations that take a whole object out.
//!
//! A rule names places on each side by that side's own order of lists, as the engines do; what it takes out is compared
//! no more, and every place remembers the rule. A rule that cannot be used is a fault, never a silence.

use regex::Regex;
use serde_json::{Map, Value};

use super::jq::{Jq, Refused, pointed, without};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::object::ObjectId;
use crate::domain::yaml::{Dialect, Route, parse};

/// A rule and the objects it is for.
pub(super) struct Rule {
    /// How the rule is named to a person.
    pub(super) name: String,
    target: Target,
    what: What,
}

enum What {
    Pointer(String),
    Jq(Jq),
    Manager(String),
    /// Not evaluated here: what it would leave out is not known.
    Unknown(&'static str),
}

/// Which objects a rule is for; every part that is given must match.
#[derive(Default)]
struct Target {
    group: Option<Regex>,
    version: Option<Regex>,
    kind: Option<Regex>,
    namespace: Option<Regex>,
    name: Option<Regex>,
    labels: Option<String>,
    annotations: Option<String>,
}

/// The rules of an app.
#[derive(Default)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    /// What is wrong with the rules themselves; one of them fails the comparison of the whole app.
    pub(super) faults: Vec<Fault>,
}

/// Both sides of an object after its rules.
pub(super) struct Applied {
    pub(super) git: Value,
    pub(super) live: Value,
    pub(super) base: Option<Value>,
    /// What was taken out of Git's side, and of live's, by which rule.
    pub(super) git_cuts: Vec<(Route, String)>,
    pub(super) live_cuts: Vec<(Route, String)>,
    /// Managers whose fields are left out, and the rule.
    pub(super) managers: Vec<(String, String)>,
    /// The rule that leaves out the object as a whole.
    pub(super) whole: Option<String>,
    /// Rules for this object that are not evaluated here.
    pub(super) unknown: Vec<String>,
    /// Rules that failed at run time and so did nothing.
    pub(super) failed: Vec<String>,
}

impl Rules {
    /// Reads the rules of a Flux Kustomization (`spec.ignore`) or a HelmRelease (`spec.driftDetection.ignore`).
    pub(super) fn flux(app: &Value) -> Self {
        let mut rules = Self::default();
        for base in ["/spec/ignore", "/spec/driftDetection/ignore"] {
            let entries = app.pointer(base).and_then(Value::as_array);
            for (nth, entry) in entries.into_iter().flatten().enumerate() {
                let name = format!("{}[{nth}]", base.trim_start_matches('/').replace('/', "."));
                let paths = texts(entry, "paths");
                let paths = if entry.get("paths").is_none() {
                    vec![String::new()]
                } else {
                    paths
                };
                for path in paths {
                    match Target::selector(entry.get("target")) {
                        Ok(target) => rules.rules.push(Rule {
                            name: if path.is_empty() {
                                name.clone()
                            } else {
                                format!("{name} {path}")
                            },
                            target,
                            what: What::Pointer(path),
                        }),
                        Err(pattern) => rules.faults.push(Fault::new(
                            FaultKind::Config,
                            format!("{name} has a target that is no pattern: {pattern}"),
                        )),
                    }
                }
            }
        }
        rules
    }

    /// Reads the rules of an Application and of `argocd-cm`.
    pub(super) fn argo(app: &Value, settings: Option<&Value>) -> Self {
        let mut rules = Self::default();
        for (key, value) in settings.and_then(Value::as_object).into_iter().flatten() {
            let Some(text) = value.as_str() else { continue };
            if let Some(kind) = key.strip_prefix("resource.customizations.ignoreDifferences.") {
                let (group, kind) = match kind.rsplit_once('_') {
                    _ if kind == "all" => ("*", "*"),
                    Some(parts) => parts,
                    None => continue,
                };
                rules.system(key, group, kind, text);
            } else if key == "resource.customizations" {
                rules.legacy(text);
            }
        }
        let entries = app
            .pointer("/spec/ignoreDifferences")
            .and_then(Value::as_array);
        for (nth, entry) in entries.into_iter().flatten().enumerate() {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            let exact = |key: &str| {
                (!text(key).is_empty())
                    .then(|| literal(text(key)))
                    .flatten()
            };
            let target = || Target {
                group: glob(text("group")),
                kind: glob(text("kind")),
                name: exact("name"),
                namespace: exact("namespace"),
                ..Target::default()
            };
            rules.body(&format!("spec.ignoreDifferences[{nth}]"), &target, entry);
        }
        rules
    }

    fn system(&mut self, name: &str, group: &str, kind: &str, text: &str) {
        let target = || Target {
            group: glob(group),
            kind: glob(kind),
            ..Target::default()
        };
        match yaml(text) {
            Some(body) => self.body(&format!("argocd-cm {name}"), &target, &body),
            None => self.faults.push(Fault::new(
                FaultKind::Config,
                format!("argocd-cm: {name} cannot be read"),
            )),
        }
    }

    /// Reads the older form: one map from `group/kind` to its customizations.
    fn legacy(&mut self, text: &str) {
        let all = yaml(text).unwrap_or_default();
        for (key, custom) in all.as_object().into_iter().flatten() {
            let (group, kind) = key.split_once('/').unwrap_or(("", key));
            if let Some(text) = custom.get("ignoreDifferences").and_then(Value::as_str) {
                self.system(&format!("resource.customizations {key}"), group, kind, text);
            }
        }
    }

    fn body(&mut self, name: &str, target: &dyn Fn() -> Target, body: &Value) {
        for pointer in texts(body, "jsonPointers") {
            self.rules.push(Rule {
                name: format!("{name} {pointer}"),
                target: target(),
                what: What::Pointer(pointer),
            });
        }
        for expression in texts(body, "jqPathExpressions") {
            let what = match Jq::compile(&expression) {
                Ok(jq) => What::Jq(jq),
                Err(Refused::Endless(word)) => What::Unknown(word),
                Err(Refused::Broken) => {
                    self.faults.push(
                        Fault::new(
                            FaultKind::Config,
                            format!("{name}: the jq expression `{expression}` does not compile"),
                        )
                        .hint("Argo CD fails the comparison of the whole app; mend or remove the rule"),
                    );
                    continue;
                }
            };
            self.rules.push(Rule {
                name: format!("{name} jq {expression}"),
                target: target(),
                what,
            });
        }
        for manager in texts(body, "managedFieldsManagers") {
            self.rules.push(Rule {
                name: format!("{name} manager {manager}"),
                target: target(),
                what: What::Manager(manager),
            });
        }
    }

    /// Takes out of both sides, and of the last applied state, what the rules for `id` leave out.
    pub(super) fn apply(
        &self,
        id: &ObjectId,
        git: &Value,
        live: &Value,
        base: Option<&Value>,
    ) -> Applied {
        let mut applied = Applied {
            git: git.clone(),
            live: live.clone(),
            base: base.cloned(),
            git_cuts: vec![],
            live_cuts: vec![],
            managers: vec![],
            whole: None,
            unknown: vec![],
            failed: vec![],
        };
        for rule in self
            .rules
            .iter()
            .filter(|rule| rule.target.matches(id, git, live))
        {
            match &rule.what {
                What::Manager(manager) => {
                    applied.managers.push((manager.clone(), rule.name.clone()));
                }
                What::Unknown(word) => applied.unknown.push(format!(
                    "{} uses `{word}`, which is not evaluated here",
                    rule.name
                )),
                What::Pointer(pointer) if pointer.is_empty() => {
                    applied.whole = Some(rule.name.clone());
                }
                what => {
                    let sides = [what.places(git), what.places(live)];
                    if sides.iter().all(Option::is_none) {
                        applied.failed.push(rule.name.clone());
                    }
                    let [of_git, of_live] = sides.map(Option::unwrap_or_default);
                    let named = |routes: Vec<Route>| {
                        routes.into_iter().map(|route| (route, rule.name.clone()))
                    };
                    applied.git_cuts.extend(named(of_git));
                    applied.live_cuts.extend(named(of_live));
                    if let Some(base) = &applied.base {
                        let routes = what.places(base).unwrap_or_default();
                        applied.base = Some(without(base, routes));
                    }
                }
            }
        }
        let routes =
            |cuts: &[(Route, String)]| cuts.iter().map(|(route, _)| route.clone()).collect();
        applied.git = without(git, routes(&applied.git_cuts));
        applied.live = without(live, routes(&applied.live_cuts));
        applied
    }
}

impl What {
    fn places(&self, value: &Value) -> Option<Vec<Route>> {
        match self {
            Self::Pointer(pointer) => Some(pointed(value, pointer).into_iter().collect()),
            Self::Jq(jq) => jq.places(value),
            Self::Manager(_) | Self::Unknown(_) => Some(vec![]),
        }
    }
}

impl Applied {
    /// Returns the rule that left out the place at `git` or `live` (routes in the untouched sides), or one below or
    /// above it.
    pub(super) fn rule_at(&self, git: Option<&Route>, live: Option<&Route>) -> Option<&str> {
        let near = |cut: &Route, at: &Route| cut.0.starts_with(&at.0) || at.0.starts_with(&cut.0);
        let find = |cuts: &'_ [(Route, String)], at: Option<&Route>| {
            let at = at?;
            cuts.iter().position(|(cut, _)| near(cut, at))
        };
        find(&self.live_cuts, live)
            .map(|nth| &self.live_cuts[nth])
            .or_else(|| find(&self.git_cuts, git).map(|nth| &self.git_cuts[nth]))
            .map(|(_, rule)| rule.as_str())
    }

    /// Returns any rule that took something out.
    pub(super) fn any_rule(&self) -> Option<&str> {
        let mut cuts = self.live_cuts.iter().chain(&self.git_cuts);
        cuts.next().map(|(_, rule)| rule.as_str())
    }
}

impl Target {
    /// Reads a Flux selector; the parts are whole-text patterns. The error is the pattern that is none.
    fn selector(target: Option<&Value>) -> Result<Self, String> {
        let text = |key: &str| {
            target
                .and_then(|target| target.get(key))
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        let pattern = |key: &str| match text(key) {
            None => Ok(None),
            Some(text) => Regex::new(&format!("^(?:{text})$"))
                .map(Some)
                .map_err(|_| text.to_owned()),
        };
        Ok(Self {
            group: pattern("group")?,
            version: pattern("version")?,
            kind: pattern("kind")?,
            namespace: pattern("namespace")?,
            name: pattern("name")?,
            labels: text("labelSelector").map(str::to_owned),
            annotations: text("annotationSelector").map(str::to_owned),
        })
    }

    fn matches(&self, id: &ObjectId, git: &Value, live: &Value) -> bool {
        let is = |pattern: &Option<Regex>, text: &str| {
            pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(text))
        };
        let has = |selector: &Option<String>, map: &str| {
            selector.as_ref().is_none_or(|selector| {
                let side = if git.is_null() { live } else { git };
                let map = side
                    .pointer(&format!("/metadata/{map}"))
                    .and_then(Value::as_object);
                selects(selector, map)
            })
        };
        is(&self.group, id.group())
            && is(&self.version, id.version())
            && is(&self.kind, &id.kind)
            && is(&self.namespace, id.namespace.as_deref().unwrap_or_default())
            && is(&self.name, &id.name)
            && has(&self.labels, "labels")
            && has(&self.annotations, "annotations")
    }
}

/// Tells whether a label selector (`a=b,c!=d,e in (f,g),!h`) selects `map`.
fn selects(selector: &str, map: Option<&Map<String, Value>>) -> bool {
    let value = |key: &str| {
        map.and_then(|map| map.get(key.trim()))
            .and_then(Value::as_str)
    };
    let mut terms = vec![];
    let mut depth = 0_usize;
    let mut term = String::new();
    for c in selector.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                terms.push(std::mem::take(&mut term));
                continue;
            }
            _ => {}
        }
        term.push(c);
    }
    terms.push(term);
    terms
        .iter()
        .map(|term| term.trim())
        .filter(|term| !term.is_empty())
        .all(|term| {
            let listed = |list: &str, text: Option<&str>| {
                let list = list.trim().trim_start_matches('(').trim_end_matches(')');
                text.is_some_and(|text| list.split(',').any(|item| item.trim() == text))
            };
            if let Some((key, list)) = term.split_once(" notin ") {
                !listed(list, value(key))
            } else if let Some((key, list)) = term.split_once(" in ") {
                listed(list, value(key))
            } else if let Some((key, wanted)) = term.split_once("!=") {
                value(key) != Some(wanted.trim())
            } else if let Some((key, wanted)) =
                term.split_once("==").or_else(|| term.split_once('='))
            {
                value(key) == Some(wanted.trim())
            } else if let Some(key) = term.strip_prefix('!') {
                value(key).is_none()
            } else {
                value(term).is_some()
            }
        })
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let items = value.get(key).and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

fn literal(text: &str) -> Option<Regex> {
    Regex::new(&format!("^{}$", regex::escape(text))).ok()
}

/// Turns a glob (`*`, `?`) into a pattern of the whole text; an empty glob matches the empty text only.
fn glob(text: &str) -> Option<Regex> {
    let escaped = regex::escape(text).replace(r"\*", ".*").replace(r"\?", ".");
    Regex::new(&format!("^{escaped}$")).ok()
}

fn yaml(text: &str) -> Option<Value> {
    let stream = parse(text.as_bytes());
    if !stream.problems.is_empty() {
        return None;
    }
    match stream.documents.first() {
        None => Some(Value::Null),
        Some(document) => document.to_json(Dialect::Kubectl).ok(),
    }
}

/// Reads a YAML text of Argo CD's settings.
pub(super) fn settings_yaml(text: &str) -> Option<Value> {
    yaml(text)
}

/// Returns an annotation's text.
pub(super) fn annotation<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    annotation_in(object, "annotations", key)
}

fn annotation_in<'v>(object: &'v Value, map: &str, key: &str) -> Option<&'v str> {
    object.get("metadata")?.get(map)?.get(key)?.as_str()
}

/// Tells whether `object` carries `key` with `value` as a label or an annotation, whatever its case.
fn marked(object: Option<&Value>, key: &str, value: &str) -> bool {
    let Some(metadata) = object.and_then(|object| object.get("metadata")) else {
        return false;
    };
    ["labels", "annotations"].iter().any(|map| {
        metadata
            .get(map)
            .and_then(|map| map.get(key))
            .and_then(Value::as_str)
            .is_some_and(|text| text.eq_ignore_ascii_case(value))
    })
}

const FLUX: &str = "kustomize.toolkit.fluxcd.io";

/// Returns why Flux leaves the object out as a whole.
pub(super) fn flux_gate(git: &Value, live: Option<&Value>) -> Option<String> {
    let either = |key: &str, value: &str| {
        let key = format!("{FLUX}/{key}");
        (marked(Some(git), &key, value) || marked(live, &key, value))
            .then(|| format!("{key}: {value}"))
    };
    either("reconcile", "disabled")
        .or_else(|| either("ssa", "Ignore"))
        .or_else(|| {
            let key = format!("{FLUX}/ssa");
            (live.is_some() && marked(Some(git), &key, "IfNotPresent"))
                .then(|| format!("{key}: IfNotPresent"))
        })
}

/// Tells whether Flux keeps what kubectl added (`ssa: Merge` on either side).
pub(super) fn flux_merges(git: &Value, live: &Value) -> bool {
    let key = format!("{FLUX}/ssa");
    marked(Some(git), &key, "Merge") || marked(Some(live), &key, "Merge")
}

/// Tells whether Flux deletes and creates anew where the server refuses a change.
pub(super) fn flux_forces(app: Option<&Value>, git: &Value, live: &Value) -> bool {
    let key = format!("{FLUX}/force");
    app.and_then(|app| app.pointer("/spec/force")) == Some(&Value::Bool(true))
        || marked(Some(git), &key, "enabled")
        || marked(Some(live), &key, "enabled")
}

/// Returns why Flux never prunes the object.
pub(super) fn flux_keeps(object: &Value) -> Option<String> {
    let key = format!("{FLUX}/prune");
    marked(Some(object), &key, "disabled")
        .then(|| format!("{key}: disabled"))
        .or_else(|| flux_gate(object, Some(object)))
}

/// Returns why helm-controller leaves the object out as a whole.
pub(super) fn helm_gate(git: &Value, live: Option<&Value>) -> Option<String> {
    let key = "helm.toolkit.fluxcd.io/driftDetection";
    if marked(Some(git), key, "disabled") || marked(live, key, "disabled") {
        return Some(format!("{key}: disabled"));
    }
    annotation(git, "helm.sh/hook").map(|hook| format!("helm.sh/hook: {hook}"))
}

/// Returns why Argo CD never compares the object: a hook, or `Skip`.
pub(super) fn argo_gate(object: &Value) -> Option<String> {
    let key = "argocd.argoproj.io/hook";
    if let Some(hook) = annotation(object, key).filter(|hook| !hook.trim().is_empty()) {
        return Some(format!("{key}: {hook}"));
    }
    let key = "helm.sh/hook";
    let hook = annotation(object, key)?;
    let is_crd = hook.split(',').all(|part| part.trim() == "crd-install");
    (!is_crd).then(|| format!("{key}: {hook}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn id(api_version: &str, kind: &str, name: &str) -> ObjectId {
        ObjectId {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: Some("shop".into()),
            name: name.into(),
        }
    }

    fn cut(app: &Value, settings: Option<&Value>, id: &ObjectId) -> Vec<String> {
        let object = json!({"spec": {"replicas": 2, "list": [1, 2]}, "data": {"mode": "a"}});
        let applied = Rules::argo(app, settings).apply(id, &object, &object, None);
        applied
            .live_cuts
            .iter()
            .map(|(route, rule)| format!("{route} by {rule}"))
            .collect()
    }

    #[test]
    fn argo_rules_match_by_glob_group_kind_and_exact_name() {
        let app = |entry: Value| json!({"spec": {"ignoreDifferences": [entry]}});
        let deployment = id("apps/v1", "Deployment", "web");
        let pointer = json!(["/spec/replicas"]);
        let hit = ["spec.replicas by spec.ignoreDifferences[0] /spec/replicas"];
        let table = [
            (
                json!({"group": "apps", "kind": "Deployment", "jsonPointers": pointer}),
                true,
            ),
            (
                json!({"group": "*", "kind": "*", "jsonPointers": pointer}),
                true,
            ),
            (
                json!({"kind": "Deployment", "jsonPointers": pointer}),
                false,
            ),
            (
                json!({"group": "apps", "kind": "Deployment", "name": "we*", "jsonPointers": pointer}),
                false,
            ),
            (
                json!({"group": "apps", "kind": "Deployment", "name": "web", "namespace": "other", "jsonPointers": pointer}),
                false,
            ),
        ];
        for (entry, expect) in table {
            let found = cut(&app(entry.clone()), None, &deployment);
            assert_eq!(found, if expect { &hit[..] } else { &[] }, "{entry}");
        }
    }

    #[test]
    fn settings_have_rules_too() {
        let settings = json!({
            "resource.customizations.ignoreDifferences._ConfigMap": "jqPathExpressions:\n- .data.mode\n",
            "resource.customizations": "apps/Deployment:\n  ignoreDifferences: |\n    jsonPointers: [/spec/list/1]\n"});
        assert_eq!(
            cut(&json!({}), Some(&settings), &id("v1", "ConfigMap", "c")),
            [
                "data.mode by argocd-cm resource.customizations.ignoreDifferences._ConfigMap jq .data.mode"
            ]
        );
        assert_eq!(
            cut(
                &json!({}),
                Some(&settings),
                &id("apps/v1", "Deployment", "d")
            ),
            ["spec.list[1] by argocd-cm resource.customizations apps/Deployment /spec/list/1"]
        );
    }

    #[test]
    fn a_broken_expression_is_a_fault() {
        let app = json!({"spec": {"ignoreDifferences": [{"group": "*", "kind": "*", "jqPathExpressions": [".a[["]}]}});
        assert_eq!(Rules::argo(&app, None).faults.len(), 1);
    }

    #[test]
    fn flux_targets_are_patterns_and_selectors() {
        let app = json!({"spec": {"ignore": [{"paths": ["/spec/replicas"],
            "target": {"kind": "Deploy.*", "labelSelector": "app in (web,api),!legacy"}}]}});
        let object =
            |labels: Value| json!({"metadata": {"labels": labels}, "spec": {"replicas": 1}});
        let hits = |labels: Value| {
            let object = object(labels);
            let applied = Rules::flux(&app).apply(
                &id("apps/v1", "Deployment", "web"),
                &object,
                &object,
                None,
            );
            applied.live_cuts.len()
        };
        assert_eq!(hits(json!({"app": "web"})), 1);
        assert_eq!(hits(json!({"app": "db"})), 0);
        assert_eq!(hits(json!({"app": "web", "legacy": ""})), 0);
    }

    #[test]
    fn annotations_take_objects_out() {
        let with = |key: &str, value: &str| json!({"metadata": {"annotations": {key: value}}});
        let plain = json!({});
        let ssa = "kustomize.toolkit.fluxcd.io/ssa";
        assert!(flux_gate(&plain, Some(&with(ssa, "ignore"))).is_some());
        assert!(flux_gate(&with(ssa, "IfNotPresent"), Some(&plain)).is_some());
        assert!(flux_gate(&with(ssa, "IfNotPresent"), None).is_none());
        assert!(flux_gate(&plain, Some(&with(ssa, "IfNotPresent"))).is_none());
        assert!(argo_gate(&with("helm.sh/hook", "crd-install")).is_none());
        assert!(argo_gate(&with("helm.sh/hook", "test")).is_some());
        assert!(argo_gate(&with("argocd.argoproj.io/hook", "Skip")).is_some());
    }
}
