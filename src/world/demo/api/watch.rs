//! Watches: the events of one kind as a stream of JSON lines, from a version or from the whole list on.

use std::collections::VecDeque;
use std::time::Duration;

use futures::{Stream, stream};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};

use super::address::{Query, Spot};
use super::kinds::Kind;
use super::refusal::Refusal;
use super::select::Selector;
use super::serve::metadata_only;
use super::store::{Change, Feed, Store};

/// How often a watch that allows it gets a bookmark.
const BOOKMARK: Duration = Duration::from_mins(1);

/// One running watch.
struct Watch {
    kind: &'static Kind,
    namespace: Option<String>,
    selector: Selector,
    bare: bool,
    queue: VecDeque<Value>,
    feed: tokio::sync::broadcast::Receiver<Change>,
    version: u64,
    bookmark: Option<Instant>,
    end: Option<Instant>,
    over: bool,
}

/// Starts a watch; its items are lines.
pub(super) fn watch(
    store: &Store,
    spot: &Spot,
    query: &Query,
    bare: bool,
) -> Result<impl Stream<Item = String> + Send + use<>, Refusal> {
    let selector = Selector::of(query)?;
    let asked = query.get("resourceVersion").filter(|v| *v != "0");
    let since = match asked {
        Some(text) if !query.is("sendInitialEvents") => {
            Some(text.parse::<u64>().map_err(|_| {
                Refusal::bad_request(format!(
                    "invalid resource version \"{text}\": strconv.ParseUint: invalid syntax"
                ))
            })?)
        }
        _ => None,
    };
    let feed = store.follow(spot.kind, spot.namespace.as_deref(), since);
    let now = Instant::now();
    let seconds = query.get("timeoutSeconds").and_then(|s| s.parse().ok());
    let Some(Feed {
        version,
        initial,
        missed,
        changes,
    }) = feed
    else {
        let expired = Refusal::expired(format!(
            "too old resource version: {}",
            asked.unwrap_or_default()
        ));
        return Err(expired);
    };
    let mut watch = Watch {
        kind: spot.kind,
        namespace: spot.namespace.clone(),
        selector,
        bare,
        queue: VecDeque::new(),
        feed: changes,
        version,
        bookmark: query.is("allowWatchBookmarks").then_some(now + BOOKMARK),
        end: seconds.map(|s| now + Duration::from_secs(s)),
        over: false,
    };
    if since.is_none() {
        for object in initial.iter().filter(|o| watch.selector.takes(o)) {
            let event = watch.event("ADDED", object);
            watch.queue.push_back(event);
        }
        if query.is("sendInitialEvents") {
            let mut bookmark = watch.bookmark();
            bookmark["object"]["metadata"]["annotations"] =
                json!({"k8s.io/initial-events-end": "true"});
            watch.queue.push_back(bookmark);
        }
    }
    for change in &missed {
        watch.take(change);
    }
    Ok(stream::unfold(watch, |mut watch| async move {
        let event = watch.next().await?;
        Some((format!("{event}\n"), watch))
    }))
}

impl Watch {
    fn event(&self, verb: &str, object: &Value) -> Value {
        let object = if self.bare {
            metadata_only(object)
        } else {
            object.clone()
        };
        json!({"type": verb, "object": object})
    }

    fn bookmark(&self) -> Value {
        json!({"type": "BOOKMARK", "object": {
            "kind": self.kind.kind, "apiVersion": self.kind.api_version(),
            "metadata": {"resourceVersion": self.version.to_string(), "creationTimestamp": null},
        }})
    }

    /// Queues the event that a change is to this watch, if any.
    fn take(&mut self, change: &Change) {
        self.version = change.version;
        if change.kind != self.kind {
            return;
        }
        let mine = |object: &&Value| {
            let namespace = object
                .pointer("/metadata/namespace")
                .and_then(Value::as_str);
            (self.namespace.is_none() || self.namespace.as_deref() == namespace)
                && self.selector.takes(object)
        };
        let before = change.before.as_deref().filter(mine);
        let after = change.after.as_deref().filter(mine);
        let (verb, object) = match (before, after) {
            (None, None) => return,
            (None, Some(object)) => ("ADDED", object),
            (Some(_), Some(object)) => ("MODIFIED", object),
            (Some(object), None) => ("DELETED", change.after.as_deref().unwrap_or(object)),
        };
        let event = self.event(verb, object);
        self.queue.push_back(event);
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            let far = Instant::now() + BOOKMARK * 60;
            tokio::select! {
                change = self.feed.recv() => match change {
                    Ok(change) => self.take(&change),
                    Err(RecvError::Closed) => return None,
                    Err(RecvError::Lagged(_)) => {
                        self.over = true;
                        let gone = Refusal::expired("too old resource version: the watch fell behind");
                        return Some(json!({"type": "ERROR", "object": gone.status()}));
                    }
                },
                () = sleep_until(self.bookmark.unwrap_or(far)), if self.bookmark.is_some() => {
                    self.bookmark = Some(Instant::now() + BOOKMARK);
                    return Some(self.bookmark());
                }
                () = sleep_until(self.end.unwrap_or(far)), if self.end.is_some() => return None,
            }
        }
    }
}
