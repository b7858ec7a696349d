//! One app compared: desired state, live objects, and what differs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Jobs;
use super::desired::{At, Rendering, blocking};
use crate::domain::drift::{self, AppDrift, Comparison, Engine, FieldStatus, ObjectState, Verdict};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::{App, AppKind, AppRef, AppState, DriftSummary, LastHand, SourceObject};
use crate::domain::object::openapi::Schemas;
use crate::domain::object::{Desired, ObjectId};
use crate::runtime::clock;
use crate::world::cluster::Cluster;

/// An app compared, with what acts on the result need.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The app as it was read.
    pub app: App,
    /// Its sources.
    pub sources: Vec<SourceObject>,
    /// What differs.
    pub drift: AppDrift,
    /// The renderings that it was compared with.
    pub renderings: Vec<Rendering>,
    /// What Git says, unmasked: for plans, never for the eye.
    pub desired: Vec<Desired>,
    /// What the cluster holds, unmasked: for plans, never for the eye.
    pub live: Vec<Value>,
    /// The commit compared with, 40 hex digits.
    pub commit: Option<String>,
}

impl Jobs {
    /// Compares one app with the revision that its controller applied. Never fails for a broken source, file or
    /// object: that is in the result as `unknown`. An error means that the app itself could not be read.
    pub async fn compare(&self, app: &AppRef) -> Result<Compared, Fault> {
        let (cluster, app, sources) = self.app(app).await?;
        self.compare_read(&cluster, app, sources).await
    }

    /// Renders one app at the revision that its controller applied: its objects, and what could not be rendered.
    pub async fn render(&self, app: &AppRef) -> Result<(Vec<Desired>, Vec<Fault>), Fault> {
        let (cluster, app, sources) = self.app(app).await?;
        if let Some(later) = &app.later {
            return Err(
                Fault::new(FaultKind::Unsupported, later.clone()).about(app.app.to_string())
            );
        }
        let object = app.object();
        let inputs = self.inputs(&cluster, &app, &object).await;
        let (renderings, problems) = self
            .desired(&app, &object, &sources, &inputs, At::Applied)
            .await;
        Ok((last_wins(&renderings), problems))
    }

    async fn compare_read(
        &self,
        cluster: &Cluster,
        app: App,
        sources: Vec<SourceObject>,
    ) -> Result<Compared, Fault> {
        if let Some(later) = app.later.clone().or_else(|| app.remote.clone()) {
            return Ok(not_compared(app, sources, &later));
        }
        let object = app.object();
        let inputs = self.inputs(cluster, &app, &object).await;
        let (renderings, problems) = self
            .desired(&app, &object, &sources, &inputs, At::Applied)
            .await;
        let desired = last_wins(&renderings);
        let inventory: Vec<ObjectId> = app
            .inventory()
            .into_iter()
            .filter(|managed| !managed.hook)
            .map(|managed| managed.id)
            .collect();
        let ids = wanted(&desired, &inventory);
        let (found, schemas) = tokio::join!(
            tokio::time::timeout(self.patience() * 4, cluster.get_all(&ids)),
            self.schemas(cluster, &ids)
        );
        let found = found.unwrap_or_else(|_| {
            let late = Fault::new(FaultKind::Timeout, "reading the live objects took too long")
                .about(app.app.to_string())
                .hint("give it longer with --timeout");
            ids.iter().map(|_| Err(late.clone())).collect()
        });
        let (mut live, mut unreadable) = (vec![], vec![]);
        for (id, found) in ids.iter().zip(found) {
            match found {
                Ok(Some(object)) => live.push(object),
                Ok(None) => {}
                Err(fault) => unreadable.push((id.clone(), fault)),
            }
        }
        let definitions = definitions(cluster, &desired, &schemas).await;
        let work = Work {
            app,
            object,
            settings: inputs.settings().cloned(),
            desired,
            live,
            inventory,
            unreadable,
            problems,
            definitions,
            schemas,
        };
        let (work, drift) = blocking(move || {
            let drift = work.compare();
            (work, drift)
        })
        .await?;
        Ok(Compared {
            commit: renderings.first().map(|r| r.commit.clone()),
            app: work.app,
            sources,
            drift,
            renderings,
            desired: work.desired,
            live: work.live,
        })
    }
}

/// What the comparison itself takes, owned so that it can run on another thread.
struct Work {
    app: App,
    object: Value,
    settings: Option<Value>,
    desired: Vec<Desired>,
    live: Vec<Value>,
    inventory: Vec<ObjectId>,
    unreadable: Vec<(ObjectId, Fault)>,
    problems: Vec<Fault>,
    definitions: Vec<Value>,
    schemas: Schemas,
}

impl Work {
    fn compare(&self) -> AppDrift {
        // A rendering with a problem may lack objects: what it does not have is then no candidate for pruning.
        let inventory: &[ObjectId] = if self.problems.is_empty() {
            &self.inventory
        } else {
            &[]
        };
        drift::compare(&Comparison {
            engine: match self.app.app.target.kind {
                AppKind::Kustomization => Engine::Flux,
                AppKind::HelmRelease => Engine::Helm,
                AppKind::Application => Engine::Argo,
            },
            app: Some(self.app.app.clone()),
            app_object: Some(&self.object),
            settings: self.settings.as_ref(),
            desired: &self.desired,
            live: &self.live,
            inventory,
            unreadable: &self.unreadable,
            problems: &self.problems,
            definitions: &self.definitions,
            schemas: Some(&self.schemas),
        })
    }
}

fn not_compared(app: App, sources: Vec<SourceObject>, why: &str) -> Compared {
    let drift = AppDrift {
        app: Some(app.app.clone()),
        state: AppState::Unknown,
        cause: Some(why.to_owned()),
        objects: vec![],
        hidden: drift::Hidden::default(),
        problems: vec![Fault::new(FaultKind::Unsupported, why).about(app.app.to_string())],
    };
    Compared {
        app,
        sources,
        drift,
        renderings: vec![],
        desired: vec![],
        live: vec![],
        commit: None,
    }
}

/// Joins the objects of several sources; of equal ones the last wins, as Argo CD has it.
fn last_wins(renderings: &[Rendering]) -> Vec<Desired> {
    let mut all: Vec<Desired> = vec![];
    for desired in renderings.iter().flat_map(|r| &r.rendered.objects) {
        match all.iter_mut().find(|other| other.id == desired.id) {
            Some(other) => *other = desired.clone(),
            None => all.push(desired.clone()),
        }
    }
    all
}

/// Returns the objects to read: what Git says, at Git's versions, then what only the inventory holds.
fn wanted(desired: &[Desired], inventory: &[ObjectId]) -> Vec<ObjectId> {
    let mut seen = BTreeSet::new();
    let key = |id: &ObjectId| {
        (
            id.group().to_owned(),
            id.kind.clone(),
            id.namespace.clone(),
            id.name.clone(),
        )
    };
    desired
        .iter()
        .map(|d| &d.id)
        .chain(inventory)
        .filter(|id| seen.insert(key(id)))
        .cloned()
        .collect()
}

/// Reads the definitions of the custom resources that no schema was found for; what may not be read is left out.
async fn definitions(cluster: &Cluster, desired: &[Desired], schemas: &Schemas) -> Vec<Value> {
    let Ok(discovery) = cluster.discovery().await else {
        return vec![];
    };
    let names: BTreeSet<String> = desired
        .iter()
        .filter(|d| d.id.group().contains('.') && !d.id.group().ends_with(".k8s.io"))
        .filter(|d| schemas.get(&d.id.api_version, &d.id.kind).is_none())
        .filter_map(|d| {
            discovery
                .best(d.id.group(), &d.id.kind)
                .map(crate::world::cluster::Served::name)
        })
        .collect();
    let ids: Vec<ObjectId> = names
        .into_iter()
        .map(|name| ObjectId {
            api_version: "apiextensions.k8s.io/v1".to_owned(),
            kind: "CustomResourceDefinition".to_owned(),
            namespace: None,
            name,
        })
        .collect();
    cluster
        .get_all(&ids)
        .await
        .into_iter()
        .filter_map(|found| found.ok().flatten())
        .collect()
}

/// Sums a comparison up for the fleet.
pub fn summary(app: &App, drift: &AppDrift) -> DriftSummary {
    let fields = || drift.objects.iter().flat_map(|o| &o.fields);
    let counted = |f: &&drift::FieldDrift| matches!(f.verdict, Verdict::Drift | Verdict::Held);
    let whole = drift
        .objects
        .iter()
        .filter(|o| matches!(o.state, ObjectState::Missing | ObjectState::Extra))
        .count();
    let owner = fields()
        .filter(counted)
        .flat_map(|f| &f.owners)
        .max_by(|a, b| a.time.cmp(&b.time))
        .map(|owner| LastHand {
            manager: owner.manager.clone(),
            time: owner.time.as_deref().and_then(|t| t.parse().ok()),
            class: owner.class.word().to_owned(),
        });
    DriftSummary {
        state: drift.state,
        cause: drift.cause.clone(),
        drifted: fields().filter(counted).count() + whole,
        additions: fields()
            .filter(|f| f.verdict == Verdict::Residual && f.status == FieldStatus::Extra)
            .count(),
        hidden: drift.hidden.ignored + drift.hidden.noise + drift.hidden.foreign,
        owner,
        at: Some(clock::now()),
        basis: app.basis(),
    }
}
