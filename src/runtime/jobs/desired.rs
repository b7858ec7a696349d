//! Desired state of one app: its repository mirrored, the tree at the right revision, rendered by its engine's rules.

use std::sync::Arc;

use serde_json::Value;

use super::{Jobs, Mirrored};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::{App, AppKind, Source, SourceKind, SourceObject};
use crate::domain::render::{Profile, Rendered, Request, render};
use crate::world::cluster::Cluster;
use crate::world::git::{GitTree, Mirror};

/// At which revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The one that the controller applied (the tip where it never applied any).
    Applied,
    /// The tip of what is tracked, as the repository has it now.
    Tip,
}

/// One source of an app, found in its mirror.
#[derive(Debug, Clone)]
pub struct Rendering {
    /// Which of the app's sources.
    pub source: usize,
    /// The mirror it was read from.
    pub mirror: Arc<Mirror>,
    /// The commit, 40 hex digits.
    pub commit: String,
    /// The tree at that commit.
    pub tree: Arc<GitTree>,
    /// How it is rendered.
    pub request: Request,
    /// What came out.
    pub rendered: Arc<Rendered>,
}

/// What rendering an app needs from the cluster besides its own object.
pub(super) struct Inputs {
    objects: Vec<Value>,
    settings: Option<Value>,
    problems: Vec<Fault>,
}

impl Inputs {
    /// Returns Argo CD's settings, where they could be read.
    pub(super) fn settings(&self) -> Option<&Value> {
        self.settings.as_ref()
    }
}

impl Jobs {
    /// Returns the mirror of a repository, fetched in this run as far as that is allowed and needed; `wants` is a
    /// commit that must be there. A fetch that failed is a fault only where the mirror lacks that commit.
    pub async fn mirror(
        &self,
        url: &str,
        wants: Option<&str>,
        fresh: bool,
    ) -> Result<Arc<Mirror>, Fault> {
        let address = self.settings().repository(url).to_owned();
        let slot = Arc::clone(
            self.0
                .mirrors
                .lock()
                .await
                .entry(address.clone())
                .or_default(),
        );
        let mut slot = slot.lock().await;
        let mirror = if let Some(mirror) = &slot.mirror {
            Arc::clone(mirror)
        } else {
            let (access, cache) = (self.0.access.clone(), self.0.options.mirrors.clone());
            // What writes below a demo's folder keeps the demo, so that its folder goes last.
            let demo = self.clone();
            let opened = blocking(move || {
                let opened = Mirror::open(&cache, &address, &access);
                drop(demo);
                opened
            })
            .await?;
            let mirror = Arc::new(opened?);
            slot.mirror = Some(Arc::clone(&mirror));
            mirror
        };
        let known = wants.is_some_and(|commit| mirror.resolve(commit).is_ok());
        let due =
            self.fetch_is_due(&slot, fresh) || (wants.is_some() && !known && slot.fault.is_none());
        if due && !self.0.options.offline {
            let fetching = Arc::clone(&mirror);
            let demo = self.clone();
            let fetched = blocking(move || {
                let fetched = fetching.fetch(&mut |_| true);
                drop(demo);
                fetched
            })
            .await?;
            slot.fetched = Some(tokio::time::Instant::now());
            slot.fault = fetched.err();
        }
        let has = wants.is_none_or(|commit| mirror.resolve(commit).is_ok());
        match &slot.fault {
            Some(fault) if !has || wants.is_none() => Err(fault.clone()),
            _ if !has && self.0.options.offline => Err(Fault::new(
                FaultKind::Git,
                format!(
                    "the mirror does not have commit {}",
                    wants.unwrap_or_default()
                ),
            )
            .because("--offline fetches nothing")
            .hint("run it once without --offline")),
            _ => Ok(mirror),
        }
    }

    fn fetch_is_due(&self, slot: &Mirrored, fresh: bool) -> bool {
        let every = self.settings().fetch_every.0.as_secs();
        match slot.fetched {
            None => true,
            Some(_) if fresh => true,
            Some(at) => every > 0 && at.elapsed().as_secs() >= every,
        }
    }

    /// Reads what rendering the app needs from the cluster.
    pub(super) async fn inputs(&self, cluster: &Cluster, app: &App, object: &Value) -> Inputs {
        let mut inputs = Inputs {
            objects: vec![],
            settings: None,
            problems: vec![],
        };
        match app.app.target.kind {
            AppKind::Kustomization => {
                for found in cluster.substitutes(object).await {
                    match found {
                        Ok(object) => inputs.objects.push(object),
                        Err(fault) => inputs.problems.push(fault),
                    }
                }
            }
            AppKind::Application => {
                // Its settings may be out of reach for a reader; Argo CD's defaults are used then.
                inputs.settings = cluster
                    .argocd_settings(&app.app.target.namespace)
                    .await
                    .unwrap_or(None);
            }
            AppKind::HelmRelease => {}
        }
        inputs
    }

    /// Renders an app at a revision: one rendering a source, or why one cannot be had.
    pub(super) async fn desired(
        &self,
        app: &App,
        object: &Value,
        sources: &[SourceObject],
        inputs: &Inputs,
        at: At,
    ) -> (Vec<Rendering>, Vec<Fault>) {
        let mut renderings = vec![];
        let mut problems = inputs.problems.clone();
        for (index, source) in app.sources.iter().enumerate() {
            if source.ref_name.is_some()
                && source.path.is_empty()
                && source.chart.is_none()
                && app.sources.len() > 1
            {
                continue;
            }
            match self
                .rendering((app, object), (index, source), sources, inputs, at)
                .await
            {
                Ok(rendering) => {
                    problems.extend(rendering.rendered.problems.iter().cloned());
                    renderings.push(rendering);
                }
                Err(fault) => problems.push(fault),
            }
        }
        if app.sources.is_empty() {
            problems.push(
                Fault::new(FaultKind::NotFound, "the app names no source")
                    .about(app.app.to_string()),
            );
        }
        (renderings, problems)
    }

    async fn rendering(
        &self,
        (app, object): (&App, &Value),
        (index, source): (usize, &Source),
        sources: &[SourceObject],
        inputs: &Inputs,
        at: At,
    ) -> Result<Rendering, Fault> {
        if source.kind != SourceKind::Git {
            return Err(Fault::new(
                FaultKind::Unsupported,
                format!(
                    "comparing an app whose source is {} comes later",
                    source.kind.word()
                ),
            )
            .about(app.app.to_string()));
        }
        if source.url.is_empty() {
            let why = source
                .fault
                .clone()
                .unwrap_or_else(|| "was not found".to_owned());
            let name = source
                .object
                .as_ref()
                .map_or_else(|| "its source".to_owned(), ToString::to_string);
            return Err(
                Fault::new(FaultKind::NotFound, format!("{name} {why}")).about(app.app.to_string())
            );
        }
        let about = |fault: Fault| {
            if fault.subject.is_none() {
                fault.about(app.app.to_string())
            } else {
                fault
            }
        };
        let applied = source.applied_commit().map(str::to_owned);
        let (mirror, commit) = match (at, applied) {
            (At::Applied, Some(commit)) => {
                let mirror = self
                    .mirror(&source.url, Some(&commit), false)
                    .await
                    .map_err(about)?;
                (mirror, commit)
            }
            (at, _) => {
                let mirror = self
                    .mirror(&source.url, None, at == At::Tip)
                    .await
                    .map_err(about)?;
                let commit = tip(&mirror, source).await.map_err(about)?;
                (mirror, commit)
            }
        };
        let (from, wanted) = (Arc::clone(&mirror), commit.clone());
        let tree = Arc::new(blocking(move || from.tree(&wanted)).await??);
        let request = request_of(app, object, (index, source), sources, inputs);
        let (from, how) = (Arc::clone(&tree), request.clone());
        let rendered = Arc::new(blocking(move || render(&*from, &how)).await?);
        Ok(Rendering {
            source: index,
            mirror,
            commit,
            tree,
            request,
            rendered,
        })
    }
}

/// Returns the commit at the tip of what a source tracks.
async fn tip(mirror: &Arc<Mirror>, source: &Source) -> Result<String, Fault> {
    let reference = source.reference.clone();
    let mirror = Arc::clone(mirror);
    blocking(move || {
        if let Some(commit) = &reference.commit {
            return mirror.resolve(commit);
        }
        let named = reference
            .name
            .or(reference.semver)
            .or(reference.tag)
            .or(reference.branch)
            .or(reference.any);
        match named.as_deref() {
            None | Some("" | "HEAD") => {
                let branch = mirror
                    .default_branch()
                    .unwrap_or_else(|| "master".to_owned());
                mirror.tip(&branch)
            }
            Some(name) => mirror.resolve(name),
        }
    })
    .await?
}

/// Returns how an app with one source is rendered; `None` where it has none in Git, or several.
pub(super) fn request(
    app: &App,
    object: &Value,
    sources: &[SourceObject],
    inputs: &Inputs,
) -> Option<Request> {
    let [source] = app.sources.as_slice() else {
        return None;
    };
    (source.kind == SourceKind::Git).then(|| request_of(app, object, (0, source), sources, inputs))
}

fn request_of(
    app: &App,
    object: &Value,
    (index, source): (usize, &Source),
    sources: &[SourceObject],
    inputs: &Inputs,
) -> Request {
    let profile = match app.app.target.kind {
        AppKind::Application => Profile::Argo {
            app: object.clone(),
            source: index,
            settings: inputs.settings.clone(),
        },
        _ => Profile::Flux {
            app: object.clone(),
            objects: inputs.objects.clone(),
            source: sources.first().map(|source| (*source.raw).clone()),
        },
    };
    Request {
        profile,
        path: source.path.clone(),
    }
}

/// Runs what blocks on a thread of its own; a panic in it becomes a fault.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        let fault = Fault::new(FaultKind::Internal, "a job ended unexpectedly");
        let fault = if error.is_panic() {
            fault.because("it panicked")
        } else {
            fault.because("it was cancelled")
        };
        fault.hint("the log has the details; please report it")
    })
}
