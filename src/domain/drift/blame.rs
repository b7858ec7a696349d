//! Who holds a field, last writer first.
//!
//! managedFields says tool and time, never a person; a removed field leaves no owner; a field of a list or map that the
//! server owns as one belongs to whoever holds the whole.

use super::{Owner, OwnerClass, classify};
use crate::domain::object::managed_fields::{Entry, Hold};
use crate::domain::object::{FieldPath, ObjectId, PathStep};

use super::secret::is_secret;

/// Returns the entries that hold the field at `path`, the newest first; `atomic` is the length of the path down to the
/// node that the server owns as one.
pub(super) fn holders<'e>(
    id: &ObjectId,
    entries: &'e [Entry],
    path: &FieldPath,
    atomic: Option<usize>,
) -> Vec<&'e Entry> {
    let mut found: Vec<(Hold, &Entry)> = entries
        .iter()
        .filter_map(|entry| {
            let hold = alike(id, entry, path)
                .iter()
                .filter_map(|p| entry.fields.hold(p))
                .max()?;
            match hold {
                Hold::Above(depth) if atomic != Some(depth) => None,
                hold => Some((hold, entry)),
            }
        })
        .collect();
    // Who holds exactly this node decides; who only holds something below it decides where nobody does.
    if found.iter().any(|(hold, _)| *hold == Hold::Exact) {
        found.retain(|(hold, _)| *hold != Hold::Below);
    }
    found.sort_by(|(_, a), (_, b)| {
        b.time
            .cmp(&a.time)
            .then_with(|| a.operation.cmp(&b.operation).reverse())
    });
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// Returns the ways one field is written in managedFields: a Secret applied with stringData holds `stringData.k` for
/// `data.k`; an HPA edited in another version holds that version's names.
fn alike(id: &ObjectId, entry: &Entry, path: &FieldPath) -> Vec<FieldPath> {
    let mut all = vec![path.clone()];
    if is_secret(id) && path.0.first() == Some(&PathStep::Key("data".into())) {
        let mut other = path.clone();
        other.0[0] = PathStep::Key("stringData".into());
        all.push(other);
    }
    if id.kind == "HorizontalPodAutoscaler" && entry.api_version != id.api_version {
        let text = path.to_string();
        let other = match text.as_str() {
            "spec.targetCPUUtilizationPercentage" => Some("spec.metrics"),
            _ if text.starts_with("spec.metrics") => Some("spec.targetCPUUtilizationPercentage"),
            _ => None,
        };
        all.extend(other.and_then(|o| o.parse().ok()));
    }
    all
}

/// Words an entry as an owner.
pub(super) fn owner(entry: &Entry) -> Owner {
    Owner {
        manager: entry.manager.clone(),
        operation: Some(entry.operation.clone()).filter(|o| !o.is_empty()),
        subresource: entry.subresource.clone(),
        time: entry.time.clone(),
        class: if entry.subresource.as_deref() == Some("scale") && entry.manager != "kubectl" {
            match classify(&entry.manager) {
                OwnerClass::Unknown => OwnerClass::Automation,
                class => class,
            }
        } else {
            classify(&entry.manager)
        },
    }
}

/// Returns the owner of what nobody owns.
pub(super) fn nobody() -> Owner {
    Owner {
        manager: "unknown".to_owned(),
        operation: None,
        subresource: None,
        time: None,
        class: OwnerClass::Unknown,
    }
}
