//! Client-side apply as `kubectl apply` and Argo CD do it: a three-way merge with the last applied configuration, which
//! an annotation remembers.

use serde_json::{Value, json};

use super::Cluster;
use super::kinds::Kind;
use super::merge::{fields_of, merge, prune};
use super::refusal::Refusal;
use super::write::Caller;

/// Where the last applied configuration stands.
const LAST: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What an apply did, or would do.
#[derive(Debug)]
pub(in crate::world::demo) struct Applied {
    /// The object was not there.
    pub(in crate::world::demo) created: bool,
    /// Something besides the annotation changed.
    pub(in crate::world::demo) changed: bool,
}

impl Cluster {
    /// Applies `desired` over live as a client would.
    ///
    /// # Errors
    /// Returns the server's refusal.
    pub(in crate::world::demo) fn client_side_apply(
        &self,
        kind: &'static Kind,
        namespace: Option<&str>,
        desired: &Value,
        caller: &Caller,
    ) -> Result<Applied, Refusal> {
        let mut marked = desired.clone();
        if marked["metadata"]["annotations"].is_null() {
            marked["metadata"]["annotations"] = json!({});
        }
        marked["metadata"]["annotations"][LAST] = format!("{desired}\n").into();
        let name = desired["metadata"]["name"].as_str().unwrap_or_default();
        let Some(live) = self.get(kind, namespace, name) else {
            self.create(kind, namespace, marked, caller)?;
            return Ok(Applied {
                created: true,
                changed: true,
            });
        };
        let last = live["metadata"]["annotations"][LAST].as_str();
        let last: Value = last
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let gone = fields_of(kind, "", &last);
        let kept = fields_of(kind, "", &marked);
        let after = self.edit(kind, namespace, name, caller, |object| {
            *object = merge(kind, "", object, &marked);
            prune(kind, "", object, &gone, &kept);
            Ok(())
        })?;
        Ok(Applied {
            created: false,
            changed: plain(&live) != plain(&after),
        })
    }
}

/// Returns what a comparison looks at.
fn plain(object: &Value) -> Value {
    let mut plain = object.clone();
    if let Some(root) = plain.as_object_mut() {
        root.remove("status");
    }
    for key in ["managedFields", "resourceVersion", "generation"] {
        plain["metadata"][key] = Value::Null;
    }
    plain["metadata"]["annotations"][LAST] = Value::Null;
    plain
}
