//! The fleet's watches: every kind of app and of Flux source of one cluster, as batches of changes.
//!
//! kube's own watcher reconnects without a pause when a server ends watches at once, and hides the version it stands
//! at; so the loop is here: list in pages, watch from the list's version, list again when the version is too old (410),
//! pause longer each time nothing came. The first page is shown at once, the complete list swaps it in whole. A kind
//! that may not be listed everywhere is watched in the namespaces where it may be.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::discovery::{Discovery, Served, escaped};
use super::read::typed;
use super::{Access, Cluster, fault};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::{
    App, AppKind, AppRef, Change, ContextState, FluxSource, SourceId, SourceObject, Target,
};
use crate::domain::object::ObjectId;

/// How long the server holds one watch open.
const HOLD: u64 = 290;
/// How long a watch may take to be opened.
const OPEN: Duration = Duration::from_secs(30);
/// The first and the longest pause.
const PAUSE: (Duration, Duration) = (Duration::from_millis(800), Duration::from_secs(10));
/// How often a kind that is not installed, or that nobody may list, is looked for again.
const LOOK_AGAIN: Duration = Duration::from_mins(2);

/// The receiver is gone: the watch ends.
struct Closed;

/// What one watch is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watched {
    App(AppKind),
    Source(FluxSource),
}

impl Watched {
    fn group(self) -> &'static str {
        match self {
            Self::App(kind) => kind.group(),
            Self::Source(_) => FluxSource::GROUP,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::App(kind) => kind.kind(),
            Self::Source(kind) => kind.kind(),
        }
    }
}

/// Growing pauses.
pub(super) struct Pauses(Duration);

impl Pauses {
    pub(super) fn new() -> Self {
        Self(PAUSE.0)
    }

    pub(super) async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(PAUSE.1);
    }

    fn reset(&mut self) {
        self.0 = PAUSE.0;
    }
}

/// How one watch ended.
enum Ended {
    /// The server closed it; with how many events.
    Closed(usize),
    /// Our version is too old: everything has to be listed again.
    TooOld,
    /// It broke.
    Broken(Fault),
}

impl Cluster {
    /// Watches the fleet of this cluster and sends what changes, until the receiver is dropped. Never fails: what
    /// cannot be watched is sent as [`Change::Degraded`] and tried again.
    pub async fn watch_fleet(&self, changes: Sender<Vec<Change>>) {
        let watched = AppKind::ALL
            .map(Watched::App)
            .into_iter()
            .chain(FluxSource::ALL.map(Watched::Source));
        let mut pauses = Pauses::new();
        while let Err(fault) = self.discovery().await {
            if changes
                .send(vec![self.degraded(None, fault)])
                .await
                .is_err()
            {
                return;
            }
            pauses.wait().await;
        }
        let ready = Change::Context {
            context: Arc::clone(&self.context),
            state: ContextState::Ready,
            fault: None,
        };
        if changes.send(vec![ready]).await.is_err() {
            return;
        }
        let closed = changes.clone();
        let all = futures::future::join_all(watched.map(|what| self.keep(what, &changes)));
        tokio::select! {
            _ = all => {}
            () = closed.closed() => {}
        }
    }

    /// Lists the fleet of this cluster once, for what ends by itself: every kind of app and of source, each with what
    /// could not be read of it.
    pub async fn list_fleet(&self) -> Vec<Change> {
        if let Err(fault) = self.discovery().await {
            return vec![self.degraded(None, fault)];
        }
        let mut changes = vec![Change::Context {
            context: Arc::clone(&self.context),
            state: ContextState::Ready,
            fault: None,
        }];
        // sources first: an app is joined with what is known when it comes
        let watched = FluxSource::ALL
            .map(Watched::Source)
            .into_iter()
            .chain(AppKind::ALL.map(Watched::App));
        let lists = futures::future::join_all(watched.map(|what| self.list_once(what))).await;
        changes.extend(lists.into_iter().flatten());
        changes
    }

    async fn list_once(&self, what: Watched) -> Vec<Change> {
        let discovery = match self.discovery().await {
            Ok(discovery) => discovery,
            Err(fault) => return vec![self.degraded(None, fault)],
        };
        let Some(served) = discovery.best(what.group(), what.kind()) else {
            return self.not_served(what, &discovery);
        };
        let refused = match self.list_namespace(what, served, None).await {
            Ok(change) => return vec![change],
            Err(fault) if fault.kind == FaultKind::Forbidden => fault,
            Err(fault) => return self.unread(what, fault),
        };
        let allowed = self.allowed(served).await;
        if allowed.is_empty() {
            let needs = format!("it needs list and watch on {}", served.name());
            return self.unread(what, refused.hint(needs));
        }
        let mut changes = self.partial(what, &allowed, refused);
        for namespace in &allowed {
            match self.list_namespace(what, served, Some(namespace)).await {
                Ok(change) => changes.push(change),
                Err(fault) => changes.extend(self.unread(what, fault)),
            }
        }
        changes
    }

    async fn list_namespace(
        &self,
        what: Watched,
        served: &Served,
        namespace: Option<&str>,
    ) -> Result<Change, Fault> {
        let mut all = vec![];
        self.pages(served, namespace, |page| all.extend(page))
            .await?;
        Ok(self.reset(what, namespace, all.iter()))
    }

    fn unread(&self, what: Watched, fault: Fault) -> Vec<Change> {
        match what {
            Watched::App(kind) => vec![self.degraded(Some(kind), fault)],
            Watched::Source(_) => vec![],
        }
    }

    fn not_served(&self, what: Watched, discovery: &Discovery) -> Vec<Change> {
        match (what, discovery.broken(what.group())) {
            (Watched::App(kind), Some(fault)) => vec![self.degraded(Some(kind), fault.clone())],
            (Watched::App(kind), None) => vec![Change::Absent {
                context: Arc::clone(&self.context),
                kind,
            }],
            (Watched::Source(_), _) => vec![],
        }
    }

    fn partial(&self, what: Watched, namespaces: &[String], fault: Fault) -> Vec<Change> {
        match what {
            Watched::App(kind) => vec![Change::Partial {
                context: Arc::clone(&self.context),
                kind,
                namespaces: namespaces.to_vec(),
                fault,
            }],
            Watched::Source(_) => vec![],
        }
    }

    /// Keeps one kind watched.
    async fn keep(&self, what: Watched, changes: &Sender<Vec<Change>>) -> Result<(), Closed> {
        let mut first = true;
        loop {
            let discovery = if first {
                self.discovery().await
            } else {
                self.discover().await
            };
            first = false;
            let discovery = match discovery {
                Ok(discovery) => discovery,
                Err(fault) => {
                    self.send(changes, vec![self.degraded(None, fault)]).await?;
                    tokio::time::sleep(PAUSE.1).await;
                    continue;
                }
            };
            if let Some(served) = discovery.best(what.group(), what.kind()) {
                self.watch_everywhere(what, served, changes).await?;
                continue;
            }
            let change = self.not_served(what, &discovery);
            let pause = if discovery.broken(what.group()).is_some() {
                PAUSE.1
            } else {
                LOOK_AGAIN
            };
            self.send(changes, change).await?;
            tokio::time::sleep(pause).await;
        }
    }

    /// Watches a kind in all namespaces or, where that is forbidden, in those where it is allowed; returns when what
    /// the server serves has to be asked again.
    async fn watch_everywhere(
        &self,
        what: Watched,
        served: &Served,
        changes: &Sender<Vec<Change>>,
    ) -> Result<(), Closed> {
        let refused = self.watch_scope(what, served, None, changes).await?;
        if refused.kind != FaultKind::Forbidden {
            return Ok(());
        }
        let allowed = self.allowed(served).await;
        if allowed.is_empty() {
            let needs = format!("it needs list and watch on {}", served.name());
            self.send(changes, self.unread(what, refused.hint(needs)))
                .await?;
            tokio::time::sleep(LOOK_AGAIN).await;
            return Ok(());
        }
        self.send(changes, self.partial(what, &allowed, refused))
            .await?;
        let all = allowed
            .iter()
            .map(|namespace| self.watch_scope(what, served, Some(namespace), changes));
        for ended in futures::future::join_all(all).await {
            ended?;
        }
        tokio::time::sleep(PAUSE.1).await;
        Ok(())
    }

    /// Returns the namespaces in which a kind may be listed: of all that may be seen, else of the usual ones.
    async fn allowed(&self, served: &Served) -> Vec<String> {
        let mut namespaces: Vec<String> = match self.list("", "Namespace", None).await {
            Ok(Some(found)) => found
                .iter()
                .filter_map(|n| n.pointer("/metadata/name")?.as_str().map(str::to_owned))
                .collect(),
            _ => ["flux-system", "argocd", "default"]
                .map(str::to_owned)
                .into(),
        };
        namespaces.extend(self.namespaces.iter().cloned());
        namespaces.sort();
        namespaces.dedup();
        futures::stream::iter(namespaces)
            .map(|namespace| async move {
                let access = Access {
                    verb: "list",
                    group: &served.resource.group,
                    resource: &served.resource.plural,
                    namespace: Some(&namespace),
                    name: None,
                };
                self.access(&access)
                    .await
                    .unwrap_or(false)
                    .then_some(namespace)
            })
            .buffered(8)
            .filter_map(std::future::ready)
            .collect()
            .await
    }

    /// Lists and watches one scope; returns only when it is forbidden or the kind is not served any more.
    async fn watch_scope(
        &self,
        what: Watched,
        served: &Served,
        namespace: Option<&str>,
        changes: &Sender<Vec<Change>>,
    ) -> Result<Fault, Closed> {
        let mut pauses = Pauses::new();
        let mut degraded = false;
        loop {
            let version = match self.list_scope(what, served, namespace, changes).await? {
                Ok(version) => version,
                Err(fault) if matches!(fault.kind, FaultKind::Forbidden | FaultKind::NotFound) => {
                    return Ok(fault);
                }
                Err(fault) => {
                    degraded = true;
                    self.report(what, fault, changes).await?;
                    pauses.wait().await;
                    continue;
                }
            };
            if std::mem::take(&mut degraded) {
                self.recovered(what, changes).await?;
            }
            pauses.reset();
            let from = (namespace, version);
            if let Some(fault) = self
                .follow(what, served, from, &mut degraded, changes)
                .await?
            {
                return Ok(fault);
            }
            pauses.wait().await;
        }
    }

    /// Watches from a version, again and again from where it stands; `None` when everything has to be listed again.
    async fn follow(
        &self,
        what: Watched,
        served: &Served,
        (namespace, mut version): (Option<&str>, String),
        degraded: &mut bool,
        changes: &Sender<Vec<Change>>,
    ) -> Result<Option<Fault>, Closed> {
        let mut pauses = Pauses::new();
        let mut broken = 0;
        loop {
            let from = (namespace, &mut version);
            match self
                .watch_once(what, served, from, degraded, changes)
                .await?
            {
                Ended::TooOld => return Ok(None),
                Ended::Closed(events) => {
                    broken = 0;
                    if events > 0 {
                        pauses.reset();
                    }
                }
                Ended::Broken(fault)
                    if matches!(fault.kind, FaultKind::Forbidden | FaultKind::NotFound) =>
                {
                    return Ok(Some(fault));
                }
                Ended::Broken(fault) => {
                    // one broken connection is everyday; two in a row are worth a word
                    broken += 1;
                    if broken > 1 {
                        *degraded = true;
                        self.report(what, fault, changes).await?;
                    }
                }
            }
            pauses.wait().await;
        }
    }

    async fn list_scope(
        &self,
        what: Watched,
        served: &Served,
        namespace: Option<&str>,
        changes: &Sender<Vec<Change>>,
    ) -> Result<Result<String, Fault>, Closed> {
        let mut all: Vec<Vec<Value>> = vec![];
        let (pages, mut arriving) = tokio::sync::mpsc::unbounded_channel();
        let list = self.pages(served, namespace, |page| {
            // the other end lives as long as this future
            drop(pages.send(page));
        });
        tokio::pin!(list);
        let version = loop {
            tokio::select! {
                biased;
                Some(page) = arriving.recv() => {
                    if all.is_empty() && page.len() >= super::read::PAGE {
                        let early = page.iter().filter_map(|o| self.upsert(what, o)).collect();
                        self.send(changes, early).await?;
                    }
                    all.push(page);
                }
                version = &mut list => break version,
            }
        };
        while let Ok(page) = arriving.try_recv() {
            all.push(page);
        }
        let version = match version {
            Ok(version) => version,
            Err(fault) => return Ok(Err(fault)),
        };
        let change = self.reset(what, namespace, all.iter().flatten());
        self.send(changes, vec![change]).await?;
        Ok(Ok(version))
    }

    async fn watch_once(
        &self,
        what: Watched,
        served: &Served,
        (namespace, version): (Option<&str>, &mut String),
        degraded: &mut bool,
        changes: &Sender<Vec<Change>>,
    ) -> Result<Ended, Closed> {
        let doing = format!("watch {}", served.name());
        let url = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={HOLD}&resourceVersion={}",
            served.path(namespace, None),
            escaped(version)
        );
        let request = match http::Request::get(url).body(vec![]) {
            Ok(request) => request,
            Err(error) => {
                let error = kube::Error::HttpError(error);
                return Ok(Ended::Broken(fault::of(&self.context, &doing, &error)));
            }
        };
        let opened = tokio::time::timeout(OPEN, self.client.request_events::<Value>(request));
        let stream = match opened.await {
            Ok(Ok(stream)) => stream.ready_chunks(256),
            Ok(Err(kube::Error::Api(status))) if status.code == 410 => return Ok(Ended::TooOld),
            Ok(Err(error)) => return Ok(Ended::Broken(fault::of(&self.context, &doing, &error))),
            Err(_) => {
                let fault = fault::no_answer(&self.context, "the server", OPEN.as_secs());
                return Ok(Ended::Broken(fault));
            }
        };
        if std::mem::take(degraded) {
            self.recovered(what, changes).await?;
        }
        let mut stream = std::pin::pin!(stream);
        let mut events = 0;
        // a server that went away silently never closes: our own bound is a little later than its
        let idle = Duration::from_secs(HOLD + 15);
        while let Ok(Some(batch)) = tokio::time::timeout(idle, stream.next()).await {
            let mut send = vec![];
            let mut end = None;
            for event in batch {
                match event {
                    Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                        events += 1;
                        advance(version, &object);
                        send.extend(self.upsert(what, &typed(object, served)));
                    }
                    Ok(WatchEvent::Deleted(object)) => {
                        events += 1;
                        advance(version, &object);
                        send.extend(self.removed(what, &object));
                    }
                    Ok(WatchEvent::Bookmark(bookmark)) => {
                        version.clone_from(&bookmark.metadata.resource_version);
                    }
                    Ok(WatchEvent::Error(status)) if status.code == 410 => {
                        end = Some(Ended::TooOld);
                    }
                    Ok(WatchEvent::Error(status)) => {
                        end = Some(Ended::Broken(fault::answered(
                            &self.context,
                            &doing,
                            &status,
                        )));
                    }
                    Err(error) => {
                        end = Some(Ended::Broken(fault::of(&self.context, &doing, &error)));
                    }
                }
            }
            self.send(changes, send).await?;
            if let Some(end) = end {
                return Ok(end);
            }
        }
        Ok(Ended::Closed(events))
    }

    fn upsert(&self, what: Watched, object: &Value) -> Option<Change> {
        Some(match what {
            Watched::App(kind) => {
                Change::Upsert(Box::new(App::decode(&self.context, kind, object)?))
            }
            Watched::Source(kind) => {
                Change::Source(Box::new(SourceObject::read(&self.context, kind, object)?))
            }
        })
    }

    fn removed(&self, what: Watched, object: &Value) -> Option<Change> {
        let id = ObjectId::of(object).or_else(|| {
            let text = |pointer: &str| object.pointer(pointer)?.as_str().map(str::to_owned);
            Some(ObjectId {
                api_version: String::new(),
                kind: what.kind().to_owned(),
                namespace: text("/metadata/namespace"),
                name: text("/metadata/name")?,
            })
        })?;
        let namespace = id.namespace?;
        Some(match what {
            Watched::App(kind) => Change::Remove(AppRef {
                context: Arc::clone(&self.context),
                target: Target {
                    kind,
                    namespace,
                    name: id.name,
                },
            }),
            Watched::Source(kind) => Change::SourceGone {
                context: Arc::clone(&self.context),
                id: SourceId {
                    kind,
                    namespace,
                    name: id.name,
                },
            },
        })
    }

    fn reset<'v>(
        &self,
        what: Watched,
        namespace: Option<&str>,
        objects: impl Iterator<Item = &'v Value>,
    ) -> Change {
        let context = Arc::clone(&self.context);
        let namespace = namespace.map(str::to_owned);
        match what {
            Watched::App(kind) => Change::Reset {
                apps: objects
                    .filter_map(|o| App::decode(&self.context, kind, o))
                    .collect(),
                context,
                kind,
                namespace,
            },
            Watched::Source(kind) => Change::Sources {
                sources: objects
                    .filter_map(|o| SourceObject::read(&self.context, kind, o))
                    .collect(),
                context,
                kind,
                namespace,
            },
        }
    }

    fn degraded(&self, kind: Option<AppKind>, fault: Fault) -> Change {
        Change::Degraded {
            context: Arc::clone(&self.context),
            kind,
            fault,
        }
    }

    /// Reports what broke: a server that does not answer concerns the whole context, all else only the kind.
    async fn report(
        &self,
        what: Watched,
        fault: Fault,
        changes: &Sender<Vec<Change>>,
    ) -> Result<(), Closed> {
        let whole = matches!(
            fault.kind,
            FaultKind::Unreachable | FaultKind::Timeout | FaultKind::Unauthorized
        );
        let change = match what {
            _ if whole => self.degraded(None, fault),
            Watched::App(kind) => self.degraded(Some(kind), fault),
            Watched::Source(_) => return Ok(()),
        };
        self.send(changes, vec![change]).await
    }

    async fn recovered(&self, what: Watched, changes: &Sender<Vec<Change>>) -> Result<(), Closed> {
        let context = || Arc::clone(&self.context);
        let mut send = vec![Change::Recovered {
            context: context(),
            kind: None,
        }];
        if let Watched::App(kind) = what {
            send.push(Change::Recovered {
                context: context(),
                kind: Some(kind),
            });
        }
        self.send(changes, send).await
    }

    async fn send(&self, changes: &Sender<Vec<Change>>, batch: Vec<Change>) -> Result<(), Closed> {
        if batch.is_empty() {
            return Ok(());
        }
        changes.send(batch).await.map_err(|_| Closed)
    }
}

fn advance(version: &mut String, object: &Value) {
    if let Some(newer) = object
        .pointer("/metadata/resourceVersion")
        .and_then(Value::as_str)
        .filter(|v| !v.is_empty())
    {
        newer.clone_into(version);
    }
}
