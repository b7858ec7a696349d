//! Who owns which field: managedFields kept as a real server keeps them, for updates and for server-side apply.

use serde_json::{Value, json};

use super::fields::Fields;
use super::kinds::Kind;
use super::merge::{compare, fields_of, merge, prune};
use super::refusal::Refusal;

/// How many Update entries an object keeps before the oldest are folded together.
const UPDATES: usize = 10;

/// Whose write it is, and when.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    /// The field manager.
    pub(super) manager: String,
    /// `status`, `scale` …; `None` for the object itself.
    pub(super) subresource: Option<String>,
    /// RFC 3339, whole seconds.
    pub(super) time: String,
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    manager: String,
    operation: String,
    api_version: String,
    subresource: Option<String>,
    time: Option<String>,
    fields: Fields,
}

impl Entry {
    fn is(&self, operation: &str, writer: &Writer) -> bool {
        self.operation == operation
            && self.manager == writer.manager
            && self.subresource == writer.subresource
    }

    /// Names the entry as conflict messages do.
    fn who(&self) -> String {
        let mut who = format!("\"{}\"", self.manager);
        if let Some(subresource) = &self.subresource {
            who = format!("{who} with subresource \"{subresource}\"");
        }
        if self.operation == "Update" {
            who = format!("{who} using {}", self.api_version);
        }
        who
    }
}

fn read(object: &Value) -> Vec<Entry> {
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let entries = object.pointer("/metadata/managedFields");
    entries
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|entry| Entry {
            manager: text(entry, "manager"),
            operation: text(entry, "operation"),
            api_version: text(entry, "apiVersion"),
            subresource: entry["subresource"].as_str().map(str::to_owned),
            time: entry["time"].as_str().map(str::to_owned),
            fields: Fields::of_json(&entry["fieldsV1"]),
        })
        .collect()
}

fn store(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|entry| !entry.fields.is_empty());
    fold(&mut entries);
    entries.sort_by(|a, b| {
        (&a.operation, &a.time, &a.manager, &a.subresource).cmp(&(
            &b.operation,
            &b.time,
            &b.manager,
            &b.subresource,
        ))
    });
    let entries: Vec<Value> = entries
        .into_iter()
        .map(|entry| {
            let mut value = json!({
                "manager": entry.manager, "operation": entry.operation, "apiVersion": entry.api_version,
                "fieldsType": "FieldsV1", "fieldsV1": entry.fields.to_json(),
            });
            if let Some(time) = entry.time {
                value["time"] = time.into();
            }
            if let Some(subresource) = entry.subresource {
                value["subresource"] = subresource.into();
            }
            value
        })
        .collect();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        if entries.is_empty() {
            metadata.remove("managedFields");
        } else {
            metadata.insert("managedFields".into(), entries.into());
        }
    }
}

/// Folds the oldest Update entries into `ancient-changes` until ten are left.
fn fold(entries: &mut Vec<Entry>) {
    let updates = entries.iter().filter(|e| e.operation == "Update").count();
    if updates <= UPDATES {
        return;
    }
    let (mut old, rest): (Vec<Entry>, Vec<Entry>) =
        entries.drain(..).partition(|e| e.operation == "Update");
    old.sort_by(|a, b| (&a.time, &a.manager).cmp(&(&b.time, &b.manager)));
    let mut kept = old.split_off(updates - UPDATES + 1);
    let mut ancient = Entry {
        manager: "ancient-changes".into(),
        subresource: None,
        ..old[old.len() - 1].clone()
    };
    for entry in &old {
        ancient.fields.join(&entry.fields);
    }
    kept.push(ancient);
    *entries = rest;
    entries.append(&mut kept);
}

/// Returns an object as ownership sees it: without what the server sets itself.
fn bare(kind: &Kind, object: &Value, subresource: Option<&str>) -> Value {
    let mut bare = object.clone();
    if let Some(root) = bare.as_object_mut() {
        if kind.traits.status && subresource.is_none() {
            root.remove("status");
        }
        root.remove("apiVersion");
        root.remove("kind");
        let now_empty = root
            .get_mut("metadata")
            .and_then(Value::as_object_mut)
            .is_some_and(|metadata| {
                for key in [
                    "name",
                    "namespace",
                    "creationTimestamp",
                    "uid",
                    "generation",
                    "managedFields",
                    "resourceVersion",
                    "selfLink",
                    "deletionTimestamp",
                    "deletionGracePeriodSeconds",
                ] {
                    metadata.remove(key);
                }
                metadata.is_empty()
            });
        if now_empty {
            root.remove("metadata");
        }
    }
    bare
}

/// Returns what the server takes an object for before it is created: built-in structs are there, though empty, and what
/// it allocated itself is there already, so that nobody owns them as such.
fn blank(kind: &Kind, object: &Value) -> Value {
    const STRUCTS: &[&str] = &[
        "/spec",
        "/spec/strategy",
        "/spec/updateStrategy",
        "/spec/template",
        "/spec/template/metadata",
        "/spec/template/spec",
        "/spec/template/spec/containers",
        "/spec/scaleTargetRef",
        "/spec/jobTemplate",
        "/spec/jobTemplate/metadata",
        "/spec/jobTemplate/spec",
        "/spec/jobTemplate/spec/template",
        "/spec/jobTemplate/spec/template/metadata",
        "/spec/jobTemplate/spec/template/spec",
        "/spec/jobTemplate/spec/template/spec/containers",
    ];
    const ALLOCATED: &[&str] = &["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"];
    let mut blank = json!({"metadata": {}});
    if kind.traits.custom {
        return blank;
    }
    for path in STRUCTS {
        let empty = match object.pointer(path) {
            Some(Value::Object(_)) => json!({}),
            Some(Value::Array(_)) => json!([]),
            _ => continue,
        };
        if let Some((parent, key)) = path.rsplit_once('/')
            && let Some(parent) = blank.pointer_mut(parent)
        {
            parent[key] = empty;
        }
    }
    if kind.kind == "Service" {
        for key in ALLOCATED {
            // A headless Service says so itself.
            if let Some(value) = object["spec"].get(key).filter(|v| *v != "None") {
                blank["spec"][key] = value.clone();
            }
        }
    }
    blank
}

/// Records an update (create, PUT, patch) from `live` to `new` in `new`'s managedFields.
pub(super) fn record_update(kind: &Kind, live: Option<&Value>, new: &mut Value, writer: &Writer) {
    let mut entries = live.map(read).unwrap_or_default();
    // An object that nobody tracks stays untracked.
    if live.is_some() && entries.is_empty() {
        store(new, entries);
        return;
    }
    let through = writer.subresource.as_deref();
    let after = bare(kind, new, through);
    let before = live.map_or_else(|| blank(kind, &after), |live| bare(kind, live, through));
    let difference = compare(kind, &before, &after);
    let written = difference.written();
    for entry in &mut entries {
        if !entry.is("Update", writer) {
            entry.fields.subtract(&written);
        }
        entry.fields.subtract(&difference.removed);
    }
    // The scale subresource is only tracked where somebody owned the replicas before.
    let tracked = writer.subresource.as_deref() != Some("scale")
        || live
            .map(read)
            .is_some_and(|entries| entries.iter().any(owns_replicas));
    if !written.is_empty() && tracked {
        match entries.iter_mut().find(|e| e.is("Update", writer)) {
            Some(entry) => {
                entry.fields.join(&written);
                entry.time = Some(writer.time.clone());
            }
            None => entries.push(Entry {
                manager: writer.manager.clone(),
                operation: "Update".into(),
                api_version: kind.api_version(),
                subresource: writer.subresource.clone(),
                time: Some(writer.time.clone()),
                fields: written,
            }),
        }
    }
    store(new, entries);
}

fn owns_replicas(entry: &Entry) -> bool {
    let replicas = entry
        .fields
        .at("f:spec")
        .and_then(|spec| spec.at("f:replicas"));
    replicas.is_some_and(Fields::is_member)
}

/// Applies `config` over `live` as `writer`; `finish` puts the server's defaults on the merged object.
///
/// # Errors
/// Returns the 409 that names managers and fields where others own what would change and `force` is off.
pub(super) fn apply(
    kind: &Kind,
    live: Option<&Value>,
    config: &Value,
    writer: &Writer,
    force: bool,
    finish: impl FnOnce(&mut Value),
) -> Result<Value, Refusal> {
    let mut entries = live.map(read).unwrap_or_default();
    let through = writer.subresource.as_deref();
    let claimed = fields_of(kind, "", &bare(kind, config, through));
    let mut merged = match live {
        Some(live) => merge(kind, "", live, config),
        None => config.clone(),
    };
    let mine = entries.iter().position(|e| e.is("Apply", writer));
    if let Some(last) = mine.map(|at| entries[at].fields.clone()) {
        let mut kept = claimed.clone();
        for (at, entry) in entries.iter().enumerate() {
            if Some(at) != mine {
                kept.join(&entry.fields);
            }
        }
        prune(kind, "", &mut merged, &last, &kept);
    }
    let before = live.map_or_else(|| json!({}), |live| bare(kind, live, through));
    let difference = compare(kind, &before, &bare(kind, &merged, through));
    let written = difference.written();
    let conflicts: Vec<(String, Vec<String>)> = entries
        .iter()
        .enumerate()
        .filter(|(at, _)| Some(*at) != mine)
        .map(|(_, entry)| (entry.who(), entry.fields.meet(&written).paths()))
        .filter(|(_, paths)| !paths.is_empty())
        .collect();
    if !force && !conflicts.is_empty() {
        return Err(conflict(conflicts));
    }
    for entry in &mut entries {
        entry.fields.subtract(&written);
        entry.fields.subtract(&difference.removed);
    }
    finish(&mut merged);
    let same = compare(kind, &before, &bare(kind, &merged, through)).is_same();
    let old = mine.map(|at| entries.remove(at));
    let unchanged = same
        && live
            .map(read)
            .is_some_and(|e| mine.is_some_and(|at| e[at].fields == claimed));
    entries.push(Entry {
        manager: writer.manager.clone(),
        operation: "Apply".into(),
        api_version: kind.api_version(),
        subresource: writer.subresource.clone(),
        time: match old {
            Some(old) if unchanged => old.time,
            _ => Some(writer.time.clone()),
        },
        fields: claimed,
    });
    store(&mut merged, entries);
    Ok(merged)
}

fn conflict(conflicts: Vec<(String, Vec<String>)>) -> Refusal {
    let causes: Vec<(String, String)> = conflicts
        .iter()
        .flat_map(|(who, paths)| paths.iter().map(move |path| (who.clone(), path.clone())))
        .collect();
    let message = if let [(who, path)] = causes.as_slice() {
        format!("Apply failed with 1 conflict: conflict with {who}: {path}")
    } else {
        let mut sorted = conflicts;
        sorted.sort();
        let lines: Vec<String> = sorted
            .iter()
            .flat_map(|(who, paths)| {
                let head = format!("conflicts with {who}:");
                std::iter::once(head).chain(paths.iter().map(|path| format!("- {path}")))
            })
            .collect();
        format!(
            "Apply failed with {} conflicts: {}",
            causes.len(),
            lines.join("\n")
        )
    };
    Refusal::apply_conflict(message, causes)
}

/// Hands every field of managers that `takes` names to `to` as its Apply entry, as Flux does before it applies.
/// Returns whether anything moved.
pub(super) fn hand_over(
    kind: &Kind,
    object: &mut Value,
    to: &Writer,
    takes: impl Fn(&str, &str) -> bool,
) -> bool {
    let entries = read(object);
    let (taken, mut rest): (Vec<Entry>, Vec<Entry>) = entries
        .into_iter()
        .partition(|e| e.subresource.is_none() && takes(&e.manager, &e.operation));
    if taken.is_empty() {
        return false;
    }
    let mut fields = Fields::default();
    for entry in &taken {
        fields.join(&entry.fields);
    }
    match rest.iter_mut().find(|e| e.is("Apply", to)) {
        Some(entry) => entry.fields.join(&fields),
        None => rest.push(Entry {
            manager: to.manager.clone(),
            operation: "Apply".into(),
            api_version: kind.api_version(),
            subresource: None,
            time: Some(to.time.clone()),
            fields,
        }),
    }
    store(object, rest);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(manager: &str) -> Writer {
        Writer {
            manager: manager.into(),
            subresource: None,
            time: "2026-01-01T00:00:00Z".into(),
        }
    }

    fn configmap() -> &'static Kind {
        Kind::of("v1", "ConfigMap").unwrap()
    }

    fn applied(
        live: Option<&Value>,
        data: &Value,
        manager: &str,
        force: bool,
    ) -> Result<Value, Refusal> {
        let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data});
        apply(configmap(), live, &config, &writer(manager), force, |_| {})
    }

    fn owners(object: &Value) -> Vec<(String, Vec<String>)> {
        read(object)
            .iter()
            .map(|e| (format!("{}/{}", e.manager, e.operation), e.fields.paths()))
            .collect()
    }

    #[test]
    fn names_manager_and_field_of_a_conflict_and_force_takes_it() {
        let live = applied(
            None,
            &json!({"a": "1", "b": "1"}),
            "kustomize-controller",
            false,
        )
        .unwrap();
        let mut edited = live.clone();
        edited["data"]["a"] = "2".into();
        record_update(
            configmap(),
            Some(&live),
            &mut edited,
            &writer("kubectl-edit"),
        );
        assert_eq!(
            owners(&edited),
            [
                ("kustomize-controller/Apply".into(), vec![".data.b".into()]),
                ("kubectl-edit/Update".into(), vec![".data.a".into()]),
            ]
        );
        let refused = applied(Some(&edited), &json!({"a": "1"}), "gitops-tui", false).unwrap_err();
        assert_eq!(
            refused.message(),
            "Apply failed with 1 conflict: conflict with \"kubectl-edit\" using v1: .data.a"
        );
        let forced = applied(Some(&edited), &json!({"a": "1"}), "gitops-tui", true).unwrap();
        assert_eq!(forced["data"]["a"], "1");
        assert_eq!(
            owners(&forced)[0],
            ("gitops-tui/Apply".into(), vec![".data.a".into()])
        );
        assert_eq!(owners(&forced).len(), 2);
    }

    #[test]
    fn a_field_dropped_by_its_only_applier_goes_and_a_shared_one_stays() {
        let one = applied(None, &json!({"a": "1", "b": "1"}), "x", false).unwrap();
        let two = applied(Some(&one), &json!({"b": "1"}), "y", false).unwrap();
        let three = applied(Some(&two), &json!({"c": "1"}), "x", false).unwrap();
        assert_eq!(three["data"], json!({"b": "1", "c": "1"}));
    }

    /// As a real server: scaling an object whose replicas nobody owns is recorded nowhere.
    #[test]
    fn scaling_is_recorded_only_where_somebody_owned_the_replicas() {
        let kind = Kind::of("apps/v1", "Deployment").unwrap();
        for (spec, expected) in [(json!({"replicas": 2}), 1), (json!({"paused": true}), 0)] {
            let config = json!({"metadata": {"name": "d"}, "spec": spec});
            let live = apply(kind, None, &config, &writer("flux"), false, |_| {}).unwrap();
            let mut scaled = live.clone();
            scaled["spec"]["replicas"] = 5.into();
            let mut by = writer("kubectl");
            by.subresource = Some("scale".into());
            record_update(kind, Some(&live), &mut scaled, &by);
            let entries = read(&scaled);
            assert_eq!(
                entries.iter().filter(|e| e.manager == "kubectl").count(),
                expected
            );
        }
    }

    #[test]
    fn keeps_ten_updates_and_folds_the_oldest() {
        let mut object = json!({"metadata": {"name": "c"}, "data": {"k": "0"}});
        record_update(configmap(), None, &mut object, &writer("m0"));
        for n in 1..14 {
            let mut next = object.clone();
            next["data"][format!("k{n}")] = "1".into();
            let mut by = writer(&format!("m{n}"));
            by.time = format!("2026-01-01T00:00:{n:02}Z");
            record_update(configmap(), Some(&object), &mut next, &by);
            object = next;
        }
        let entries = read(&object);
        assert_eq!(entries.len(), 10);
        assert!(entries.iter().any(|e| e.manager == "ancient-changes"));
    }
}
