//! Name references: whoever refers to an object that got another name follows it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::config::BackReference;
use super::field::{Create, visit};
use super::model::FieldSpec;
use super::node::{Node, Scalar, Shape};
use super::place::Mark;
use super::resource::{Id, Resource};
use super::schema::Schema;
use crate::domain::object::Step;

/// What is known of an object that may be referred to.
struct Candidate {
    id: Id,
    first_namespace: String,
    former: Vec<Id>,
    namespace: Arc<str>,
    prefixes: Vec<String>,
    suffixes: Vec<String>,
    mark: Option<Mark>,
}

/// Mends the references of every object; what cannot be decided is a sentence with the object it is about.
pub(super) fn fix(
    resources: &mut [Resource],
    table: &[BackReference],
    schema: &Schema,
) -> Vec<String> {
    let candidates: Vec<Candidate> = resources
        .iter()
        .map(|resource| candidate(resource, schema))
        .collect();
    let mut by_name: HashMap<Arc<str>, Vec<usize>> = HashMap::new();
    for (at, candidate) in candidates.iter().enumerate() {
        for former in &candidate.former {
            let list = by_name.entry(Arc::clone(&former.name)).or_default();
            if list.last() != Some(&at) {
                list.push(at);
            }
        }
    }
    let mut problems = vec![];
    if by_name.is_empty() {
        return problems;
    }
    let mut by_kind: BTreeMap<&str, Vec<(&BackReference, &FieldSpec)>> = BTreeMap::new();
    for target in table {
        for spec in &target.fields {
            by_kind
                .entry(spec.kind.as_str())
                .or_default()
                .push((target, spec));
        }
    }
    let order: HashMap<*const FieldSpec, usize> = table
        .iter()
        .flat_map(|target| &target.fields)
        .enumerate()
        .map(|(at, spec)| (std::ptr::from_ref(spec), at))
        .collect();
    for (at, resource) in resources.iter_mut().enumerate() {
        let first = resource.first_id(schema);
        let mut specs: Vec<(&BackReference, &FieldSpec)> = ["", &first.kind]
            .iter()
            .filter_map(|kind| by_kind.get(kind))
            .flatten()
            .copied()
            .filter(|(_, spec)| first.has_field(spec))
            .collect();
        specs.sort_by_key(|(_, spec)| order.get(&std::ptr::from_ref(*spec)).copied());
        if specs.is_empty() {
            continue;
        }
        let referrer = &candidates[at];
        let reach = match Reach::of(resource, referrer) {
            Ok(reach) => reach,
            Err(error) => {
                problems.push(error);
                continue;
            }
        };
        let role = role_ref(&resource.root);
        for (target, spec) in specs {
            let search = Search {
                candidates: &candidates,
                by_name: &by_name,
                referrer,
                reach: &reach,
                target,
                spec,
                role: role.as_ref(),
            };
            let mut set = |node: &mut Node| search.field(node);
            let any_kind = FieldSpec {
                path: spec.path.clone(),
                create: spec.create,
                ..FieldSpec::default()
            };
            if let Err(error) = visit(
                &mut resource.root,
                &any_kind,
                Create::Nothing,
                None,
                &mut set,
            ) {
                problems.push(format!(
                    "updating name reference in '{}' field of '{}': {error}",
                    spec.path, referrer.id
                ));
            }
        }
    }
    problems
}

fn candidate(resource: &Resource, schema: &Schema) -> Candidate {
    let name = resource
        .root
        .get("metadata")
        .and_then(|metadata| metadata.get("name"));
    Candidate {
        id: resource.id(schema),
        first_namespace: resource.first_id(schema).effective_namespace().to_owned(),
        former: resource.former_ids().collect(),
        namespace: resource.namespace(),
        prefixes: resource.prefixes.clone(),
        suffixes: resource.suffixes.clone(),
        mark: name.and_then(|name| name.mark.clone()),
    }
}

/// Reads the group and kind of a binding's role.
fn role_ref(root: &Node) -> Option<(String, String)> {
    let role = root.get("roleRef")?;
    let text = |key: &str| role.get(key).map(|node| node.value_text().to_owned());
    Some((text("apiGroup")?, text("kind")?))
}

/// Which namespaces an object can refer to.
struct Reach {
    everywhere: bool,
    namespaces: Vec<String>,
}

impl Reach {
    fn of(resource: &Resource, referrer: &Candidate) -> Result<Self, String> {
        let mut namespaces = vec![];
        if &*referrer.id.kind == "RoleBinding" {
            let subjects = resource
                .root
                .get("subjects")
                .map(Node::items)
                .unwrap_or_default();
            for subject in subjects {
                let is_account = subject
                    .get("kind")
                    .is_some_and(|kind| kind.value_text() == "ServiceAccount");
                if let (true, Some(namespace)) = (is_account, subject.get("namespace")) {
                    if namespace.is_null() {
                        return Err(format!(
                            "Invalid Input: namespace is blank for resource \"{}\"",
                            referrer.id
                        ));
                    }
                    namespaces.push(namespace.value_text().to_owned());
                }
            }
        }
        Ok(Self {
            everywhere: referrer.id.is_cluster,
            namespaces,
        })
    }

    fn has(&self, referrer: &Candidate, candidate: &Candidate) -> bool {
        self.everywhere
            || candidate.id.is_cluster
            || candidate.id.effective_namespace() == referrer.id.effective_namespace()
            || self
                .namespaces
                .iter()
                .any(|namespace| **namespace == *candidate.namespace)
    }
}

struct Search<'s> {
    candidates: &'s [Candidate],
    by_name: &'s HashMap<Arc<str>, Vec<usize>>,
    referrer: &'s Candidate,
    reach: &'s Reach,
    target: &'s BackReference,
    spec: &'s FieldSpec,
    role: Option<&'s (String, String)>,
}

impl Search<'_> {
    fn field(&self, node: &mut Node) -> Result<(), String> {
        if node.is_null() {
            return Ok(());
        }
        match &mut node.shape {
            Shape::Scalar(_) => self.scalar(node),
            Shape::Map(_) => self.map(node),
            Shape::List(items) => {
                for item in items {
                    match item.shape {
                        Shape::Scalar(_) if item.is_null() => {}
                        Shape::Scalar(_) => self.scalar(item)?,
                        Shape::Map(_) => self.map(item)?,
                        Shape::List(_) => {
                            return Err(
                                "a list is expected to be either a string or a map of string"
                                    .into(),
                            );
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn scalar(&self, node: &mut Node) -> Result<(), String> {
        let old = node.text().cloned().unwrap_or_default();
        let Some(referral) = self.find(&old, |_| true, false)? else {
            return Ok(());
        };
        if referral.id.name == old {
            return Ok(());
        }
        node.overwrite(
            Scalar::untyped(Arc::clone(&referral.id.name)),
            Self::mark(referral).as_ref(),
        )
    }

    fn map(&self, node: &mut Node) -> Result<(), String> {
        let Some(name) = node.get("name") else {
            return Err("path config error; no 'name' field in node".into());
        };
        let old = name.text().cloned().unwrap_or_default();
        let namespace = node
            .get("namespace")
            .map(|node| node.text().cloned().unwrap_or_default());
        let referral = match &namespace {
            None => self.find(&old, |_| true, true)?,
            Some(namespace) => {
                let first = |c: &Candidate| {
                    !c.first_namespace.starts_with('_') && *c.first_namespace == **namespace
                };
                let now =
                    |c: &Candidate| !c.id.is_cluster && *c.id.effective_namespace() == **namespace;
                if self.in_reach().any(first) {
                    self.find(&old, first, true)?
                } else {
                    self.find(&old, now, true)?
                }
            }
        };
        let Some(referral) = referral else {
            return Ok(());
        };
        if referral.id.name == old && referral.namespace.is_empty() {
            return Ok(());
        }
        let mark = Self::mark(referral);
        if referral.id.name != old {
            node.set(
                "name",
                Scalar::untyped(Arc::clone(&referral.id.name)),
                mark.as_ref(),
            );
        }
        if !referral.namespace.is_empty() && namespace.as_ref() != Some(&referral.namespace) {
            node.set(
                "namespace",
                Scalar::untyped(Arc::clone(&referral.namespace)),
                mark.as_ref(),
            );
        }
        Ok(())
    }

    /// The literal behind a followed name is what named the object.
    fn mark(referral: &Candidate) -> Option<Mark> {
        referral
            .mark
            .as_ref()
            .map(|mark| Mark::entry(mark.place(), Step::Reference))
    }

    fn in_reach(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates
            .iter()
            .filter(|candidate| self.reach.has(self.referrer, candidate))
    }

    fn find(
        &self,
        old: &str,
        also: impl Fn(&Candidate) -> bool,
        by_namespace: bool,
    ) -> Result<Option<&Candidate>, String> {
        let Some(named) = self.by_name.get(old) else {
            return Ok(None);
        };
        let is_role = self.spec.path.ends_with("roleRef/name");
        let mut found: Vec<&Candidate> = named
            .iter()
            .map(|at| &self.candidates[*at])
            .filter(|candidate| self.reach.has(self.referrer, candidate) && also(candidate))
            .filter(|candidate| {
                let target = self.target;
                candidate
                    .former
                    .iter()
                    .any(|id| id.is_selected(&target.group, &target.version, &target.kind))
            })
            .filter(|candidate| match self.role {
                Some((group, kind)) if is_role => candidate
                    .former
                    .iter()
                    .any(|id| id.is_selected(group, "", kind)),
                _ => true,
            })
            .filter(|candidate| {
                self.referrer.id.is_cluster
                    || candidate.id.is_cluster
                    || &*candidate.id.kind == "ServiceAccount"
                    || candidate.id.effective_namespace() == self.referrer.id.effective_namespace()
            })
            .collect();
        if found.len() > 1 {
            found.retain(|candidate| same_affixes(candidate, self.referrer, true));
        }
        if found.len() > 1 {
            found.retain(|candidate| same_affixes(candidate, self.referrer, false));
        }
        let same = |a: &Candidate, b: &Candidate| {
            a.id.name == b.id.name && (!by_namespace || a.namespace == b.namespace)
        };
        match &found[..] {
            [] => Ok(None),
            [first, rest @ ..] if rest.iter().all(|other| same(first, other)) => Ok(Some(first)),
            _ => {
                let ids: Vec<String> = found
                    .iter()
                    .map(|candidate| candidate.id.to_string())
                    .collect();
                Err(format!(
                    "found multiple possible referrals: {}",
                    ids.join(", ")
                ))
            }
        }
    }
}

/// Tells whether the prefixes and suffixes that both got last are the same.
fn same_affixes(a: &Candidate, b: &Candidate, allow_none: bool) -> bool {
    let same = |a: &[String], b: &[String]| match (a.is_empty(), b.is_empty()) {
        (false, false) => a.iter().rev().zip(b.iter().rev()).all(|(a, b)| a == b),
        (a, b) => allow_none || a == b,
    };
    same(&a.prefixes, &b.prefixes) && same(&a.suffixes, &b.suffixes)
}
