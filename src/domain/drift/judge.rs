//! What one difference means: who holds it, and what the app's own engine would do about it at its next pass.

use std::sync::Arc;

use serde_json::Value;

use super::argo::Algorithm;
use super::blame::{self, holders, nobody};
use super::compare::Engine;
use super::manager::taken_over_by_flux;
use super::secret::{self, Secrecy};
use super::walk::Difference;
use super::{FieldDrift, FieldStatus, OwnerClass, Verdict, classify, noise};
use crate::domain::object::managed_fields::Entry;
use crate::domain::object::{Desired, FieldPath, ObjectId, Origin, PathStep};

/// Decides what one difference means.
pub(super) struct Judge<'a> {
    pub(super) id: &'a ObjectId,
    pub(super) entries: &'a [Entry],
    pub(super) engine: Engine,
    pub(super) algorithm: Algorithm,
    /// Why nothing undoes drift now.
    pub(super) held: Option<String>,
    pub(super) last_applied: Option<Value>,
    /// Flux leaves alone what kubectl added.
    pub(super) merge: bool,
    pub(super) built_in: bool,
    /// Whether a schema is known.
    pub(super) known: bool,
    /// Git's side as compared.
    pub(super) git: &'a Value,
}

struct Meaning {
    status: FieldStatus,
    verdict: Verdict,
    rule: Option<String>,
    note: Option<String>,
}

fn meaning(status: FieldStatus, verdict: Verdict, rule: impl Into<String>) -> Meaning {
    Meaning {
        status,
        verdict,
        rule: Some(rule.into()),
        note: None,
    }
}

const DROPPED: &str = "Git no longer has it; the next apply removes it";

impl Judge<'_> {
    /// Turns a difference into a field with its verdict, owners, masks and origin.
    pub(super) fn field(
        &self,
        mut difference: Difference,
        desired: &Desired,
        secrecy: &Secrecy<'_>,
    ) -> FieldDrift {
        if !self.known {
            difference.atomic = difference
                .atomic
                .or_else(|| self.atomic_leaf(&difference.path));
        }
        let holders = holders(self.id, self.entries, &difference.path, difference.atomic);
        let meaning = self.meaning(&difference, &holders);
        let owners = match difference.status {
            FieldStatus::Missing => vec![nobody()],
            _ if holders.is_empty() => vec![nobody()],
            _ => holders.iter().map(|entry| blame::owner(entry)).collect(),
        };
        let encrypted = difference.git.as_ref().is_some_and(secret::is_encrypted);
        let masked = secrecy.mask_field(&mut difference);
        let mut field = FieldDrift {
            origin: origin(desired, &difference.path),
            path: difference.path,
            status: meaning.status,
            verdict: meaning.verdict,
            git: difference.git,
            live: difference.live,
            masked,
            owners,
            rule: meaning.rule,
            note: meaning.note,
        };
        if encrypted {
            field.verdict = Verdict::Unknown;
            field.rule = Some("encrypted in Git, cannot compare".into());
        } else if field.note.is_none() {
            field.note = secret::note(&field);
        }
        field
    }

    fn meaning(&self, difference: &Difference, holders: &[&Entry]) -> Meaning {
        let status = difference.status;
        if difference.undeclared {
            let mut meaning = self.active(status, None);
            meaning.note = Some(match self.engine {
                Engine::Argo if self.algorithm == Algorithm::ThreeWay => {
                    "the kind has no such field: the server drops it at each sync".into()
                }
                _ => "the kind has no such field: a server-side apply of it fails".into(),
            });
            return meaning;
        }
        match status {
            FieldStatus::ChangedType => {
                let by_hand = |e: &&Entry| classify(&e.manager) != OwnerClass::Gitops;
                let status = if holders.iter().any(by_hand) {
                    FieldStatus::Changed
                } else {
                    status
                };
                self.active(status, None)
            }
            FieldStatus::ChangedFormat if self.engine == Engine::Plain => meaning(
                status,
                Verdict::Residual,
                "the same amount in another spelling",
            ),
            FieldStatus::Extra | FieldStatus::ExtraForeign => self.extra(difference, holders),
            _ => self.active(status, scaler(&difference.path, holders)),
        }
    }

    /// What the engine would undo: drift, or held where it does not act now.
    fn active(&self, status: FieldStatus, note: Option<String>) -> Meaning {
        Meaning {
            status,
            verdict: if self.held.is_some() {
                Verdict::Held
            } else {
                Verdict::Drift
            },
            rule: self.held.clone(),
            note,
        }
    }

    fn extra(&self, difference: &Difference, holders: &[&Entry]) -> Meaning {
        if unmanaged_metadata(&difference.path) {
            return self.metadata(holders);
        }
        if self.engine == Engine::Argo
            && let Some(meaning) = self.argo_extra(difference, holders)
        {
            return meaning;
        }
        if let Some(reason) = noise::known(self.id, &difference.path, holders) {
            return meaning(FieldStatus::Extra, Verdict::Noise, reason);
        }
        if holders.is_empty() {
            return self.unowned(difference);
        }
        let gitops = |e: &&Entry| classify(&e.manager) == OwnerClass::Gitops;
        if holders.iter().all(gitops) {
            return self.own(difference, holders);
        }
        let others: Vec<&Entry> = holders.iter().copied().filter(|e| !gitops(e)).collect();
        if let Some(meaning) = self.undone(difference, holders, &others) {
            return meaning;
        }
        residual(difference, &others)
    }

    /// Finalizers and owner references are never compared; Flux removes them where kubectl wrote them.
    fn metadata(&self, holders: &[&Entry]) -> Meaning {
        let taken =
            |e: &&Entry| taken_over_by_flux(&e.manager, &e.operation, e.subresource.as_deref());
        if self.engine == Engine::Flux
            && !self.merge
            && !holders.is_empty()
            && holders.iter().all(taken)
        {
            return self.active(FieldStatus::Extra, Some(TAKEN_OVER.into()));
        }
        meaning(
            FieldStatus::Extra,
            Verdict::Noise,
            "finalizers and owners that Git does not set are not compared",
        )
    }

    /// A field that only the engine itself holds.
    fn own(&self, difference: &Difference, holders: &[&Entry]) -> Meaning {
        let applied = holders.iter().any(|e| e.operation == "Apply");
        if difference.like_a_default {
            return meaning(
                FieldStatus::Extra,
                Verdict::Noise,
                "looks like a default of the kind: every item that leaves it open has it",
            );
        }
        let once_applied = self.was_applied(&difference.path);
        if (applied && self.engine != Engine::Helm) || once_applied {
            return self.active(FieldStatus::Extra, Some(DROPPED.into()));
        }
        if difference.replaced_default {
            return meaning(
                FieldStatus::Extra,
                Verdict::Residual,
                "another value than the server's default, from an earlier state of Git",
            );
        }
        meaning(
            FieldStatus::Extra,
            Verdict::Noise,
            "set by the server when the engine created the object",
        )
    }

    /// What somebody else holds and the engine undoes all the same.
    fn undone(
        &self,
        difference: &Difference,
        holders: &[&Entry],
        others: &[&Entry],
    ) -> Option<Meaning> {
        match self.engine {
            Engine::Flux => {
                let taken = |e: &&Entry| {
                    taken_over_by_flux(&e.manager, &e.operation, e.subresource.as_deref())
                };
                if difference.like_a_default {
                    return Some(meaning(
                        FieldStatus::Extra,
                        Verdict::Noise,
                        "looks like a default of the kind: every item that leaves it open has it",
                    ));
                }
                // A forced apply takes an atomic list or map back as a whole.
                if self.is_part_of_given(difference) {
                    return Some(self.active(FieldStatus::Extra, None));
                }
                (!self.merge && others.iter().all(taken))
                    .then(|| self.active(FieldStatus::Extra, Some(TAKEN_OVER.into())))
            }
            Engine::Helm if self.is_part_of_given(difference) => {
                Some(self.active(FieldStatus::Extra, None))
            }
            Engine::Plain => {
                let by_hand = |e: &&Entry| !matches!(blame::owner(e).class, OwnerClass::Automation);
                let note = self
                    .was_applied(&difference.path)
                    .then(|| "once in Git, dropped since".to_owned());
                (others.iter().any(by_hand) && holders.len() >= others.len())
                    .then(|| self.active(FieldStatus::Extra, note))
            }
            _ => None,
        }
    }

    /// Argo CD sees a live-only field only where it was applied before, or where Git sets the list or map around it that
    /// is compared as one.
    fn argo_extra(&self, difference: &Difference, holders: &[&Entry]) -> Option<Meaning> {
        let path = &difference.path;
        let seen = || Some(self.active(FieldStatus::Extra, None));
        let dropped = || Some(self.active(FieldStatus::Extra, Some(DROPPED.into())));
        match self.algorithm {
            Algorithm::ThreeWay => {
                if self.was_applied(path) && !difference.replaced_default {
                    return dropped();
                }
                if self.is_item_of_given_list(path) {
                    return seen();
                }
            }
            Algorithm::Merge | Algorithm::ServerSide => {
                if self.is_part_of_given(difference) {
                    return seen();
                }
                let own = |e: &&&Entry| e.manager == "argocd-controller" && e.operation == "Apply";
                let mut applies = holders.iter().filter(|e| e.operation == "Apply");
                if holders.iter().any(|e| own(&e)) && applies.all(|e| own(&e)) {
                    return dropped();
                }
                let unapplied = !self.entries.iter().any(|e| own(&&e));
                if self.algorithm == Algorithm::ServerSide && unapplied && self.was_applied(path) {
                    return Some(meaning(
                        FieldStatus::Extra,
                        Verdict::Residual,
                        "once in Git, dropped since; the server-side diff hides it",
                    ));
                }
            }
        }
        if difference.replaced_default {
            return Some(meaning(
                FieldStatus::Extra,
                Verdict::Residual,
                "another value than the server's default: Argo CD does not see it",
            ));
        }
        None
    }

    /// Without a schema: the length of the path down to a map that Git fills and that managedFields name as one leaf,
    /// never by its keys.
    fn atomic_leaf(&self, path: &FieldPath) -> Option<usize> {
        (1..path.0.len()).find(|&depth| {
            let above = FieldPath(path.0[..depth].to_vec());
            let held: Vec<_> = self
                .entries
                .iter()
                .filter_map(|e| e.fields.at(&above))
                .collect();
            let filled = above.get(self.git).and_then(Value::as_object);
            filled.is_some_and(|map| !map.is_empty())
                && !held.is_empty()
                && held.iter().all(|set| set.member && set.children.is_empty())
        })
    }

    fn was_applied(&self, path: &FieldPath) -> bool {
        let applied = self.last_applied.as_ref();
        applied.is_some_and(|applied| path.get(applied).is_some_and(|value| !value.is_null()))
    }

    /// Tells whether the field lies in a list or map that is owned as one and that Git sets.
    fn is_part_of_given(&self, difference: &Difference) -> bool {
        difference.atomic.is_some_and(|depth| {
            depth < difference.path.0.len()
                && FieldPath(difference.path.0[..depth].to_vec())
                    .get(self.git)
                    .is_some_and(|value| !value.is_null())
                && !difference.replaced_default
        })
    }

    /// Tells whether the field is an item of a list that Git sets and that has no merge keys: for kinds that Argo CD has
    /// no Go type of, any list.
    fn is_item_of_given_list(&self, path: &FieldPath) -> bool {
        let Some((last, above)) = path.0.split_last() else {
            return false;
        };
        let item = match last {
            PathStep::Index(_) => true,
            PathStep::Item(_) | PathStep::Value(_) => !self.built_in,
            PathStep::Key(_) => false,
        };
        let above = FieldPath(above.to_vec());
        item && above.get(self.git).is_some_and(Value::is_array)
    }

    fn unowned(&self, difference: &Difference) -> Meaning {
        let text = difference.path.to_string();
        let of = |verdict, rule: &str| meaning(FieldStatus::Extra, verdict, rule);
        if difference.replaced_default && text == "spec.replicas" {
            return of(
                Verdict::Residual,
                "written through the scale subresource (an autoscaler or kubectl scale)",
            );
        }
        if difference.replaced_default {
            return of(
                Verdict::Residual,
                "another value than the server's default, owned by nobody",
            );
        }
        if self.entries.is_empty() && !noise::allocated(self.id, &difference.path) {
            return of(Verdict::Residual, "nobody is recorded as its owner");
        }
        of(Verdict::Noise, "set by the server")
    }
}

/// What the engine leaves alone.
fn residual(difference: &Difference, others: &[&Entry]) -> Meaning {
    let automation = others
        .iter()
        .all(|e| blame::owner(e).class == OwnerClass::Automation);
    let status = if automation && !difference.replaced_default {
        FieldStatus::ExtraForeign
    } else {
        FieldStatus::Extra
    };
    meaning(
        status,
        Verdict::Residual,
        "Git never had it: the engine leaves it alone",
    )
}

const TAKEN_OVER: &str =
    "added by kubectl: Flux takes it over and removes it; an apply alone would not";

/// Tells whether a path is metadata that no engine compares unless Git sets it.
fn unmanaged_metadata(path: &FieldPath) -> bool {
    let key = |at: usize| match path.0.get(at) {
        Some(PathStep::Key(key)) => key.as_str(),
        _ => "",
    };
    key(0) == "metadata" && matches!(key(1), "finalizers" | "ownerReferences")
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
