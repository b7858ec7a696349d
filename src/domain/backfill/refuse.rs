//! Refusals by name: fields and origins that no edit of a file can or may answer.

use crate::domain::drift::{FieldDrift, FieldStatus, OwnerClass, Verdict};
use crate::domain::object::{Desired, Home, Origin, PathStep, Step};

use super::Wish;
use super::change::Refusal;

/// Returns why a difference is not one to be accepted, and the next step; `None` where it may be.
pub fn by_difference(field: &FieldDrift) -> Option<(String, &'static str)> {
    if field.masked {
        return Some((
            "it holds a secret value, which never goes into Git in the clear".to_owned(),
            "change it where the Secret is made: SOPS, SealedSecret or the secret store",
        ));
    }
    let scaled = |owner: &crate::domain::drift::Owner| {
        owner.class == OwnerClass::Automation && owner.subresource.as_deref() == Some("scale")
    };
    if field.status == FieldStatus::ExtraForeign || field.owners.iter().any(scaled) {
        return Some((
            "an automation sets this field".to_owned(),
            "leave the field out of Git, or add an ignore rule",
        ));
    }
    if field.verdict == Verdict::Noise {
        let why = field.rule.as_deref().or(field.note.as_deref());
        return Some((
            why.map_or_else(
                || "it is noise: no edit made this difference".to_owned(),
                |why| format!("it is noise, no edit: {why}"),
            ),
            "nothing is to be done: Git needs no word for it",
        ));
    }
    None
}

/// Refuses what is never written, whatever its place.
pub(super) fn by_field(wish: &Wish, desired: Option<&Desired>) -> Result<(), Refusal> {
    let keys: Vec<&str> = wish
        .path
        .0
        .iter()
        .map(|step| match step {
            PathStep::Key(key) => key.as_str(),
            _ => "",
        })
        .collect();
    match keys[..] {
        [] => {
            return Err(Refusal::last(
                "whole objects are not accepted field by field",
                "add or remove the manifest by hand",
            ));
        }
        ["apiVersion" | "kind", ..] | ["metadata", "name" | "namespace"] => {
            return Err(Refusal::last(
                "the field says who the object is: another value is another object",
                "rename it in Git by hand",
            ));
        }
        ["status", ..]
        | [
            "metadata",
            "uid" | "resourceVersion" | "generation" | "creationTimestamp" | "managedFields"
            | "selfLink",
            ..,
        ] => {
            return Err(Refusal::last(
                "the field belongs to the API server",
                "leave it out of Git",
            ));
        }
        _ => {}
    }
    if let [.., PathStep::Item(names), PathStep::Key(key)] = &wish.path.0[..]
        && names.iter().any(|(name, _)| name == key)
    {
        return Err(Refusal::last(
            "the field tells the items of a list apart: another value is another item",
            "accept the items themselves",
        ));
    }
    let is_secret = wish.object.kind == "Secret" && matches!(keys[0], "data" | "stringData");
    let holds_secret = desired.is_some_and(|desired| {
        let route = wish.path.route_in(&desired.value);
        route.is_some_and(|route| desired.holds_secret(&route))
    });
    if is_secret || holds_secret {
        return Err(Refusal::last(
            "a Secret's value must not be committed in clear",
            "change it where the secret is kept: `sops edit`, a SealedSecret or the external store",
        ));
    }
    Ok(())
}

/// Refuses an origin that has no place in this repository, or one that no edit of a value can change.
pub(super) fn by_origin(origin: &Origin) -> Result<(), Refusal> {
    match origin.home {
        Home::AppSpec => {
            return Err(Refusal::last(
                format!(
                    "the value is set in the app's own object ({})",
                    origin.route
                ),
                "accept it in the manifest that declares the app",
            ));
        }
        Home::Derived => {
            return Err(Refusal::last(
                "the value is made while rendering (a hash, a tracking label, a default): it has no place in Git",
                "revert it, or except it",
            ));
        }
        Home::Cluster => {
            return Err(Refusal::last(
                format!(
                    "the value is kept in an object of the cluster ({})",
                    origin.file
                ),
                "change it where that object is declared",
            ));
        }
        Home::Repository | Home::Remote => {}
    }
    match &origin.step {
        Step::Namespace => Err(Refusal::last(
            "the value is made by the namespace transformer",
            "change `namespace` by hand: it moves every object",
        )),
        Step::Name => Err(Refusal::last(
            "the name is made by a prefix or suffix",
            "change it by hand",
        )),
        Step::Reference => Err(Refusal::last(
            "the value follows the name of another object",
            "accept the change of that object instead",
        )),
        Step::Replacement => Err(Refusal::last(
            format!(
                "the value is copied by a replacement ({}:{})",
                origin.file, origin.line
            ),
            "change the replacement's source field",
        )),
        Step::Substitution(variable) => Err(Refusal::last(
            format!(
                "the value comes from the variable ${{{variable}}}, which other places may use"
            ),
            format!("change {variable} where Flux takes it from, or set the field by a patch"),
        )),
        Step::Tracking => Err(Refusal::last(
            "the controller sets this label itself",
            "leave it out of Git",
        )),
        Step::Helm => Err(Refusal::last(
            "the value comes out of a Helm template",
            "change the release's values",
        )),
        _ => Ok(()),
    }
}
