//! Writes: create, update, patch, apply, delete, each with dry run, defaults, generation and managedFields.

use std::sync::Arc;

use serde_json::{Value, json};

use super::kinds::{KINDS, Kind};
use super::ownership::{self, Writer};
use super::refusal::Refusal;
use super::store::{Key, State};
use super::{Cluster, defaults, patches, workloads};
use crate::world::demo::sha256;

/// Who writes, and whether for real.
#[derive(Debug, Clone)]
pub(in crate::world::demo) struct Caller {
    /// The field manager.
    pub(in crate::world::demo) manager: String,
    /// `dryRun=All`: everything is worked out, nothing is kept.
    pub(in crate::world::demo) dry: bool,
    /// `status`, `scale`; `None` for the object itself.
    pub(in crate::world::demo) subresource: Option<String>,
}

impl Caller {
    /// A real write of the object itself.
    pub(in crate::world::demo) fn new(manager: &str) -> Self {
        Self {
            manager: manager.into(),
            dry: false,
            subresource: None,
        }
    }

    /// The same caller, writing through a subresource.
    pub(in crate::world::demo) fn through(mut self, subresource: &str) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// The same caller, only trying.
    pub(in crate::world::demo) fn dry(mut self) -> Self {
        self.dry = true;
        self
    }
}

/// A patch by its media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchType {
    Merge,
    Json,
    Strategic,
}

/// Identity that a write must find.
fn version_of(object: &Value) -> Option<&str> {
    object
        .pointer("/metadata/resourceVersion")
        .and_then(Value::as_str)
        .filter(|v| !v.is_empty())
}

impl Cluster {
    fn writer(&self, caller: &Caller) -> Writer {
        Writer {
            manager: caller.manager.clone(),
            subresource: caller.subresource.clone(),
            time: self.clock.text(),
        }
    }

    /// Creates an object as `caller`.
    ///
    /// # Errors
    /// Returns the server's refusal: the name is taken or missing, or the namespace does not exist.
    pub(in crate::world::demo) fn create(
        &self,
        kind: &'static Kind,
        namespace: Option<&str>,
        mut object: Value,
        caller: &Caller,
    ) -> Result<Value, Refusal> {
        let name = named(kind, &object)?;
        let key = Key::new(kind, namespace, &name);
        let mut state = self.store.lock();
        if state.objects.contains_key(&key) {
            return Err(Refusal::already_exists(kind, &name));
        }
        home(&state, kind, namespace)?;
        if kind.traits.status {
            object["status"] = Value::Null;
        }
        drop_null_status(&mut object);
        self.stamp(&state, kind, &key, None, &mut object);
        object["metadata"]["managedFields"] = Value::Null;
        ownership::record_update(kind, None, &mut object, &self.writer(caller));
        Ok(self.keep(&mut state, (kind, key), None, object, caller))
    }

    /// Changes an object with `edit` as `caller`.
    ///
    /// # Errors
    /// Returns the server's refusal: the object is not there, was modified in between, or would become invalid.
    pub(in crate::world::demo) fn edit(
        &self,
        kind: &'static Kind,
        namespace: Option<&str>,
        name: &str,
        caller: &Caller,
        edit: impl FnOnce(&mut Value) -> Result<(), Refusal>,
    ) -> Result<Value, Refusal> {
        let key = Key::new(kind, namespace, name);
        let mut state = self.store.lock();
        let live = state
            .objects
            .get(&key)
            .cloned()
            .ok_or_else(|| Refusal::not_found(kind, name))?;
        let mut new = Value::clone(&live);
        edit(&mut new)?;
        if version_of(&new).is_some_and(|v| version_of(&live) != Some(v)) {
            return Err(Refusal::modified(kind, name));
        }
        confine(kind, &live, &mut new, caller.subresource.as_deref());
        self.stamp(&state, kind, &key, Some(&live), &mut new);
        immutable(kind, name, &live, &new)?;
        if same(&live, &new) {
            return Ok(Value::clone(&live));
        }
        ownership::record_update(kind, Some(&live), &mut new, &self.writer(caller));
        Ok(self.keep(&mut state, (kind, key), Some(&live), new, caller))
    }

    /// Replaces an object (PUT).
    pub(super) fn replace(
        &self,
        kind: &'static Kind,
        namespace: Option<&str>,
        name: &str,
        body: Value,
        caller: &Caller,
    ) -> Result<Value, Refusal> {
        let given = body.pointer("/metadata/name").and_then(Value::as_str);
        if given.is_some_and(|given| given != name) {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({}) does not match the name on the URL ({name})",
                given.unwrap_or_default()
            )));
        }
        if kind.traits.custom && version_of(&body).is_none() {
            let what = "Invalid value: 0: must be specified for an update";
            return Err(Refusal::invalid(
                kind,
                name,
                "metadata.resourceVersion",
                what,
            ));
        }
        self.edit(kind, namespace, name, caller, |object| {
            *object = body;
            Ok(())
        })
    }

    /// Patches an object.
    pub(super) fn patch(
        &self,
        kind: &'static Kind,
        (namespace, name): (Option<&str>, &str),
        (how, patch): (PatchType, &Value),
        caller: &Caller,
    ) -> Result<Value, Refusal> {
        if how == PatchType::Strategic && kind.traits.custom {
            return Err(Refusal::unsupported_media());
        }
        self.edit(kind, namespace, name, caller, |object| match how {
            PatchType::Merge => {
                patches::json_merge(object, patch);
                Ok(())
            }
            PatchType::Json => patches::json_patch(kind, name, object, patch),
            PatchType::Strategic => {
                patches::strategic("", object, patch);
                Ok(())
            }
        })
    }

    /// Applies a configuration; creates the object where it is not there. Returns whether it was created.
    ///
    /// # Errors
    /// Returns the server's refusal, above all the 409 that names managers and fields.
    pub(in crate::world::demo) fn apply(
        &self,
        kind: &'static Kind,
        namespace: Option<&str>,
        mut config: Value,
        caller: &Caller,
        force: bool,
    ) -> Result<(bool, Value), Refusal> {
        let name = named(kind, &config)?;
        let key = Key::new(kind, namespace, &name);
        if !config["metadata"]["managedFields"].is_null() {
            return Err(Refusal::bad_request("metadata.managedFields must be nil"));
        }
        if caller.subresource.is_none() && kind.traits.status {
            config["status"] = Value::Null;
        }
        if kind.traits.custom {
            drop_nulls(&mut config);
        }
        drop_null_status(&mut config);
        let mut state = self.store.lock();
        let live = state.objects.get(&key).cloned();
        if version_of(&config).is_some_and(|v| live.as_deref().and_then(version_of) != Some(v)) {
            return Err(Refusal::modified(kind, &name));
        }
        if live.is_none() {
            home(&state, kind, namespace)?;
        }
        let writer = self.writer(caller);
        let finish = |object: &mut Value| {
            self.stamp(&state, kind, &key, live.as_deref(), object);
        };
        let new = ownership::apply(kind, live.as_deref(), &config, &writer, force, finish)?;
        if let Some(live) = &live {
            immutable(kind, &name, live, &new)?;
            if same(live, &new)
                && live["metadata"]["managedFields"] == new["metadata"]["managedFields"]
            {
                return Ok((false, Value::clone(live)));
            }
        }
        let kept = self.keep(&mut state, (kind, key), live.as_deref(), new, caller);
        Ok((live.is_none(), kept))
    }

    /// Deletes an object; returns it as it was last.
    ///
    /// # Errors
    /// Returns the 404 where it is not there, the 409 where `uid` is another object's.
    pub(in crate::world::demo) fn delete(
        &self,
        kind: &'static Kind,
        namespace: Option<&str>,
        name: &str,
        uid: Option<&str>,
        dry: bool,
    ) -> Result<Value, Refusal> {
        let key = Key::new(kind, namespace, name);
        let mut state = self.store.lock();
        let live = state
            .objects
            .get(&key)
            .cloned()
            .ok_or_else(|| Refusal::not_found(kind, name))?;
        if uid.is_some_and(|uid| live["metadata"]["uid"] != uid) {
            return Err(Refusal::modified(kind, name));
        }
        if dry {
            return Ok(Value::clone(&live));
        }
        let held = live["metadata"]["finalizers"]
            .as_array()
            .is_some_and(|f| !f.is_empty());
        if held {
            let mut going = Value::clone(&live);
            if going["metadata"]["deletionTimestamp"].is_null() {
                going["metadata"]["deletionTimestamp"] = self.clock.text().into();
                going["metadata"]["deletionGracePeriodSeconds"] = 0.into();
                self.store.put(&mut state, kind, key, Some(going.clone()));
            }
            return Ok(going);
        }
        self.store.put(&mut state, kind, key, None);
        Ok(Value::clone(&live))
    }

    /// Hands the fields of the managers that `takes` names to `to`'s Apply entry, and writes that.
    pub(in crate::world::demo) fn hand_over(
        &self,
        kind: &'static Kind,
        namespace: Option<&str>,
        name: &str,
        to: &str,
        takes: impl Fn(&str, &str) -> bool,
    ) -> bool {
        let key = Key::new(kind, namespace, name);
        let mut state = self.store.lock();
        let Some(live) = state.objects.get(&key).cloned() else {
            return false;
        };
        let mut new = Value::clone(&live);
        let moved = ownership::hand_over(kind, &mut new, &self.writer(&Caller::new(to)), takes);
        if moved {
            self.store.put(&mut state, kind, key, Some(new));
        }
        moved
    }

    /// Puts on an object what the server sets: defaults, uid, times, generation.
    fn stamp(
        &self,
        state: &State,
        kind: &Kind,
        key: &Key,
        live: Option<&Value>,
        object: &mut Value,
    ) {
        defaults::fill(kind, object, live);
        object["apiVersion"] = kind.api_version().into();
        object["kind"] = kind.kind.into();
        let metadata = &mut object["metadata"];
        metadata["name"] = key.name.as_str().into();
        if kind.namespaced {
            metadata["namespace"] = key.namespace.as_str().into();
        }
        let (uid, born) = match live {
            Some(live) => (
                live["metadata"]["uid"].clone(),
                live["metadata"]["creationTimestamp"].clone(),
            ),
            None => (
                self.uid(key, state.version).into(),
                self.clock.text().into(),
            ),
        };
        metadata["uid"] = uid;
        metadata["creationTimestamp"] = born;
        if kind.traits.generation {
            let old = live.map_or(0, |l| l["metadata"]["generation"].as_i64().unwrap_or(0));
            let moved =
                live.is_none_or(|live| specification(kind, live) != specification(kind, object));
            object["metadata"]["generation"] = (old + i64::from(moved)).into();
        }
        match live.and_then(version_of) {
            Some(version) => object["metadata"]["resourceVersion"] = version.into(),
            None => object["metadata"]["resourceVersion"] = Value::Null,
        }
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.retain(|_, value| !value.is_null());
        }
    }

    /// Makes a uid that another start with the same story makes again.
    fn uid(&self, key: &Key, version: u64) -> String {
        let Key {
            plural,
            namespace,
            name,
            ..
        } = key;
        let hex = sha256(format!(
            "{}/{plural}/{namespace}/{name}/{version}",
            self.character.name
        ));
        format!(
            "{}-{}-4{}-a{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[13..16],
            &hex[17..20],
            &hex[20..32]
        )
    }

    /// Stores a write and what kube-controller-manager makes of it; a dry run only returns it.
    fn keep(
        &self,
        state: &mut State,
        (kind, key): (&'static Kind, Key),
        live: Option<&Value>,
        new: Value,
        caller: &Caller,
    ) -> Value {
        if caller.dry {
            return new;
        }
        let metadata = &new["metadata"];
        let let_go = !metadata["deletionTimestamp"].is_null()
            && metadata["finalizers"].as_array().is_none_or(Vec::is_empty);
        if let_go {
            self.store.put(state, kind, key, None);
            return new;
        }
        let Some(stored) = self.store.put(state, kind, key.clone(), Some(new)) else {
            return Value::Null;
        };
        let by_itself = caller.subresource.as_deref() != Some("status");
        let settled =
            workloads::settle(kind, live, &stored, &self.clock.text()).filter(|_| by_itself);
        if let Some(mut settled) = settled {
            let writer = self.writer(&Caller::new("kube-controller-manager").through("status"));
            ownership::record_update(kind, Some(&stored), &mut settled, &writer);
            self.store.put(state, kind, key, Some(settled));
        }
        Arc::unwrap_or_clone(stored)
    }
}

/// Returns the name of an object that is to be created.
fn named(kind: &Kind, object: &Value) -> Result<String, Refusal> {
    object
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .ok_or_else(|| {
            Refusal::invalid(
                kind,
                "",
                "metadata.name",
                "Required value: name or generateName is required",
            )
        })
}

/// Checks that the namespace of a new object exists.
fn home(state: &State, kind: &Kind, namespace: Option<&str>) -> Result<(), Refusal> {
    let Some(of) = KINDS.iter().find(|k| k.kind == "Namespace") else {
        return Ok(());
    };
    match namespace.filter(|_| kind.namespaced) {
        Some(name) if !state.objects.contains_key(&Key::new(of, None, name)) => {
            Err(Refusal::not_found(of, name))
        }
        _ => Ok(()),
    }
}

/// Keeps a write inside what its (sub)resource may change.
fn confine(kind: &Kind, live: &Value, new: &mut Value, subresource: Option<&str>) {
    match subresource {
        Some("status") => {
            let status = new["status"].take();
            let annotations = new["metadata"]["annotations"].take();
            *new = live.clone();
            new["status"] = status;
            if !kind.traits.custom && !annotations.is_null() {
                new["metadata"]["annotations"] = annotations;
            }
        }
        _ if kind.traits.status => new["status"] = live["status"].clone(),
        _ => {}
    }
    drop_null_status(new);
    // What a client sends as managedFields counts only where it sends any.
    if new["metadata"]["managedFields"]
        .as_array()
        .is_none_or(Vec::is_empty)
    {
        new["metadata"]["managedFields"] = live["metadata"]["managedFields"].clone();
    }
}

fn drop_null_status(object: &mut Value) {
    if let Some(root) = object.as_object_mut()
        && root.get("status").is_some_and(Value::is_null)
    {
        root.remove("status");
    }
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, below| !below.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Returns what counts for the generation: all but metadata and, where it has its own subresource, status.
fn specification(kind: &Kind, object: &Value) -> Value {
    let mut spec = object.clone();
    if let Some(root) = spec.as_object_mut() {
        root.remove("metadata");
        if kind.traits.status {
            root.remove("status");
        }
    }
    spec
}

/// Tells whether two versions hold the same but for what the server counts.
fn same(a: &Value, b: &Value) -> bool {
    let plain = |object: &Value| {
        let mut plain = object.clone();
        for key in ["resourceVersion", "managedFields", "generation"] {
            plain["metadata"][key] = json!(null);
        }
        plain
    };
    plain(a) == plain(b)
}

fn immutable(kind: &Kind, name: &str, live: &Value, new: &Value) -> Result<(), Refusal> {
    let fields: &[&str] = match kind.kind {
        "Deployment" | "DaemonSet" => &["/spec/selector"],
        "StatefulSet" => &[
            "/spec/selector",
            "/spec/serviceName",
            "/spec/volumeClaimTemplates",
        ],
        "Job" => &["/spec/selector", "/spec/template"],
        "Service" => &["/spec/clusterIP"],
        "Secret" => &["/type"],
        "RoleBinding" | "ClusterRoleBinding" => &["/roleRef"],
        _ => &[],
    };
    for pointer in fields {
        let (was, is) = (live.pointer(pointer), new.pointer(pointer));
        if was != is {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            let value = is.map(Value::to_string).unwrap_or_default();
            return Err(Refusal::invalid(
                kind,
                name,
                &field,
                &format!("Invalid value: {value}: field is immutable"),
            ));
        }
    }
    Ok(())
}
