//! Accepting live values into Git: planned on the tip of the tracked branch, proven by rendering again, committed on a
//! new branch, pushed only when asked.

use std::path::Path;
use std::sync::Arc;

use super::desired::{At, Rendering, blocking, request};
use super::{Compared, Jobs};
use crate::domain::backfill::{self, Accepted, Hand, Message, Plan, Refused, Wish};
use crate::domain::drift::{FieldDrift, FieldStatus, ObjectDrift, Verdict};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet::{App, AppKind, AppRef};
use crate::domain::object::{Desired, FieldPath, ObjectId};
use crate::domain::render::{Request, Tree, render};
use crate::runtime::clock;
use crate::world::cluster::Cluster;
use crate::world::disk::JournalEntry;
use crate::world::git::{Edit, Identity, Mirror, Person};

/// A backfill that is ready to be shown and committed.
#[derive(Debug, Clone)]
pub struct Backfill {
    /// On which app.
    pub app: AppRef,
    /// The edit and its proof.
    pub plan: Plan,
    /// The commit it starts from, 40 hex digits.
    pub base: String,
    /// The repository's URL, without credentials.
    pub url: String,
    /// The proposed branch.
    pub branch: String,
    /// The proposed message.
    pub message: String,
    mirror: Arc<Mirror>,
}

impl Backfill {
    /// Returns where the repository lies on this machine (`git -C` shows the commit there).
    pub fn repository(&self) -> &Path {
        self.mirror.dir()
    }
}

/// What is asked of a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commits {
    /// The branch; the proposed one where `None`.
    pub branch: Option<String>,
    /// The message; the proposed one where `None`.
    pub message: Option<String>,
    /// Push it, too.
    pub push: bool,
}

/// What was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The branch.
    pub branch: String,
    /// The commit, 40 hex digits.
    pub commit: String,
    /// Where the repository lies on this machine.
    pub repository: String,
    /// Whether it was pushed.
    pub pushed: bool,
    /// What the server or the commit said besides.
    pub notes: Vec<String>,
    /// Why the push failed, where it did: the commit is kept.
    pub push_fault: Option<Fault>,
}

/// Which fields of an app are to be accepted.
pub(super) type Picked = Vec<(ObjectId, FieldPath)>;

impl Jobs {
    /// Plans a backfill of chosen fields of a comparison. `repository` is the user's own clone, where the commit is to
    /// be made there.
    pub async fn plan_accept(
        &self,
        compared: &Compared,
        picked: &Picked,
        repository: Option<&Path>,
    ) -> Result<Backfill, Fault> {
        let app = &compared.app;
        let about = |fault: Fault| fault.about(app.app.to_string());
        let nothing = || {
            about(Fault::new(FaultKind::Usage, "no field is chosen"))
                .hint("name fields, objects or --all")
        };
        if picked.is_empty() {
            return Err(nothing());
        }
        let cluster = self.cluster(&app.app.context).await?;
        let object = app.object();
        let inputs = self.inputs(&cluster, app, &object).await;
        let (mut renderings, problems) = self
            .desired(app, &object, &compared.sources, &inputs, At::Tip)
            .await;
        if let Some(problem) = problems.into_iter().next() {
            return Err(about(Fault::new(
                FaultKind::Refused,
                "Git cannot be rendered as a whole at its tip, so nothing can be proven",
            ))
            .because(problem)
            .hint("mend this first"));
        }
        let Some(mut rendering) = renderings.pop().filter(|_| renderings.is_empty()) else {
            return Err(about(Fault::new(
                FaultKind::Unsupported,
                "accepting into an app with several sources comes later",
            )));
        };
        if let Some(folder) = repository {
            rendering = self.in_clone(rendering, folder).await?;
        }
        let others = self.others(&cluster, app).await;
        let wishes = wishes(compared, picked, &rendering.rendered.objects);
        let (request, folder) = (rendering.request.clone(), rendering.request.path.clone());
        let tree = Arc::clone(&rendering.tree);
        let plan = blocking(move || plan(&*tree, &folder, &request, wishes, &others)).await?;
        let message = message(compared, &plan);
        let url = rendering
            .mirror
            .url()
            .map(crate::world::git::GitUrl::shown)
            .unwrap_or_default();
        Ok(Backfill {
            app: app.app.clone(),
            branch: branch(&app.app),
            plan,
            base: rendering.commit,
            url,
            message,
            mirror: rendering.mirror,
        })
    }

    /// Commits a backfill on a new branch; pushes it where asked.
    ///
    /// # Errors
    /// A plan that changes nothing, that is not proven, or that git refuses. A push that fails is no error of the
    /// commit: see [`Committed::push_fault`].
    pub async fn commit(&self, backfill: &Backfill, asked: &Commits) -> Result<Committed, Fault> {
        let about = |fault: Fault| fault.about(backfill.app.to_string());
        if self.is_read_only() {
            return Err(about(Fault::new(
                FaultKind::Refused,
                "read-only: nothing is committed",
            ))
            .hint("start without --read-only (and without readOnly: true)"));
        }
        if backfill.plan.files.is_empty() {
            return Err(
                about(Fault::new(FaultKind::Refused, "nothing can be accepted"))
                    .hint("the reasons stand beside each field"),
            );
        }
        if backfill.plan.proof.moved > 0 {
            return Err(about(Fault::new(
                FaultKind::Refused,
                format!(
                    "the edit would move {} other fields",
                    backfill.plan.proof.moved
                ),
            )));
        }
        let identity = self
            .0
            .options
            .identity
            .as_ref()
            .map(|(name, email)| fixed_identity(name, email));
        let (mirror, base) = (Arc::clone(&backfill.mirror), backfill.base.clone());
        let branch = asked
            .branch
            .clone()
            .unwrap_or_else(|| backfill.branch.clone());
        let message = asked
            .message
            .clone()
            .unwrap_or_else(|| backfill.message.clone());
        let edits: Vec<Edit> = backfill.plan.files.iter().map(Edit::from).collect();
        let made = blocking(move || {
            let identity = match identity {
                Some(identity) => identity,
                None => mirror.identity()?,
            };
            mirror.commit(&base, &branch, &edits, &message, &identity)
        })
        .await
        .flatten()
        .map_err(about);
        let entry = |result: &str, words: String| JournalEntry {
            time: clock::now().to_string(),
            context: backfill.app.context.to_string(),
            app: backfill.app.target.to_string(),
            verb: "accept".to_owned(),
            result: result.to_owned(),
            words,
        };
        let commit = match made {
            Ok(commit) => commit,
            Err(fault) => {
                self.note(&entry(fault.kind.word(), fault.sentence.clone()));
                return Err(fault);
            }
        };
        let mut committed = Committed {
            branch: commit.branch.clone(),
            commit: commit.id,
            repository: backfill.mirror.dir().display().to_string(),
            pushed: false,
            notes: commit.notes,
            push_fault: None,
        };
        if asked.push {
            let (mirror, branch) = (Arc::clone(&backfill.mirror), commit.branch);
            match blocking(move || mirror.push(&branch)).await? {
                Ok(pushed) => {
                    committed.pushed = true;
                    committed.notes.extend(pushed.messages);
                }
                Err(fault) => committed.push_fault = Some(about(fault)),
            }
        }
        let result = if committed.push_fault.is_some() {
            "committed, push refused"
        } else {
            "done"
        };
        let words = format!("{} on {}", committed.commit, committed.branch);
        let note = self.note(&entry(result, words));
        committed.notes.extend(note.map(|fault| fault.to_string()));
        Ok(committed)
    }

    /// Takes the user's own clone in the place of the mirror: the same commit must be there.
    async fn in_clone(&self, rendering: Rendering, folder: &Path) -> Result<Rendering, Fault> {
        let (folder, access) = (folder.to_owned(), self.0.access.clone());
        blocking(move || {
            let mirror = Arc::new(Mirror::of_clone(&folder, &access)?);
            let commit = mirror.resolve(&rendering.commit).map_err(|fault| {
                Fault::new(
                    FaultKind::Git,
                    format!("the clone lacks commit {}", rendering.commit),
                )
                .about(folder.display().to_string())
                .because(fault)
                .hint("fetch in the clone first")
            })?;
            let tree = Arc::new(mirror.tree(&commit)?);
            Ok(Rendering {
                mirror,
                commit,
                tree,
                ..rendering
            })
        })
        .await?
    }

    /// Returns how the other apps of this context that read the same repository are rendered. What cannot be read is
    /// left out: the list of what else changes is then shorter, never wrong.
    async fn others(&self, cluster: &Cluster, app: &App) -> Vec<(String, Request)> {
        let kind = app.app.target.kind;
        let mut all = vec![];
        let Ok(Some(objects)) = cluster.list(kind.group(), kind.kind(), None).await else {
            return all;
        };
        for object in objects {
            let Some(other) = App::read(
                &app.app.context,
                kind,
                &object,
                clock::now(),
                &self.fleet_settings(),
            ) else {
                continue;
            };
            let same_source = match kind {
                AppKind::Application => {
                    other.sources.first().map(|s| &s.url) == app.sources.first().map(|s| &s.url)
                }
                _ => other.source_ref == app.source_ref,
            };
            if other.app == app.app || !same_source || other.later.is_some() {
                continue;
            }
            let Ok((_, other, sources)) = self.app(&other.app).await else {
                continue;
            };
            let object = other.object();
            let inputs = self.inputs(cluster, &other, &object).await;
            if let Some(request) = request(&other, &object, &sources, &inputs) {
                all.push((other.app.target.to_string(), request));
            }
        }
        all
    }
}

fn plan(
    tree: &dyn Tree,
    folder: &str,
    request: &Request,
    wishes: Wishes,
    others: &[(String, Request)],
) -> Plan {
    let again = |tree: &dyn Tree| render(tree, request);
    let app = backfill::App {
        folder,
        render: &again,
    };
    let renders: Vec<_> = others
        .iter()
        .map(|(_, request)| move |tree: &dyn Tree| render(tree, request))
        .collect();
    let others: Vec<backfill::Other<'_>> = others
        .iter()
        .zip(&renders)
        .map(|((words, _), render)| backfill::Other {
            words: words.clone(),
            render,
            before: None,
        })
        .collect();
    let mut plan = backfill::plan(tree, &app, &wishes.granted, &others);
    plan.refused.extend(wishes.refused);
    plan
}

struct Wishes {
    granted: Vec<Wish>,
    refused: Vec<Refused>,
}

/// Words the chosen fields as wishes, with their places at the tip of Git. What is no drift of Git's, and what is
/// secret, is refused here.
fn wishes(compared: &Compared, picked: &Picked, tip: &[Desired]) -> Wishes {
    let mut wishes = Wishes {
        granted: vec![],
        refused: vec![],
    };
    for (id, path) in picked {
        let object = compared.drift.objects.iter().find(|o| o.id == *id);
        let field = object.and_then(|o| o.fields.iter().find(|f| f.path == *path));
        let desired = tip.iter().find(|d| d.id == *id);
        let mut wish = Wish {
            object: id.clone(),
            path: path.clone(),
            from: field.and_then(|f| f.git.clone()),
            to: field.and_then(|f| f.live.clone()),
            origin: None,
        };
        let mut refuse = |wish: &Wish, reason: &str, hint: &str| {
            wishes.refused.push(Refused {
                wish: wish.clone(),
                reason: reason.to_owned(),
                hint: hint.to_owned(),
            });
        };
        let Some(field) = field else {
            refuse(
                &wish,
                "the field does not differ",
                "see what does with gitops-tui diff",
            );
            continue;
        };
        if let Some((reason, hint)) = backfill::by_difference(field) {
            refuse(&wish, &reason, hint);
            continue;
        }
        let Some(desired) = desired else {
            refuse(
                &wish,
                "Git does not render this object at its tip",
                "sync first, then look again",
            );
            continue;
        };
        wish.from = path.get(&desired.value).cloned();
        let mut at = path.clone();
        wish.origin = loop {
            if let Some(route) = at.route_in(&desired.value) {
                break desired.origins.nearest(&route).cloned();
            }
            if at.0.pop().is_none() {
                break None;
            }
        };
        wishes.granted.push(wish);
    }
    wishes
}

/// Returns every field of a comparison that can be wished for: what drifted, and what only live has.
pub fn acceptable(object: &ObjectDrift) -> impl Iterator<Item = &FieldDrift> {
    object.fields.iter().filter(|f| {
        matches!(f.verdict, Verdict::Drift | Verdict::Held)
            || (f.verdict == Verdict::Residual && f.status == FieldStatus::Extra)
    })
}

fn message(compared: &Compared, plan: &Plan) -> String {
    let hand = |accepted: &Accepted| {
        let object = compared
            .drift
            .objects
            .iter()
            .find(|o| o.id == accepted.wish.object)?;
        let field = object
            .fields
            .iter()
            .find(|f| f.path == accepted.wish.path)?;
        let owner = field.owners.first()?;
        Some(Hand {
            manager: owner.manager.clone(),
            time: owner.time.clone(),
        })
    };
    let accepted: Vec<(&Accepted, Option<Hand>)> =
        plan.accepted.iter().map(|a| (a, hand(a))).collect();
    Message {
        context: &compared.app.app.context,
        app: &compared.app.app.target.to_string(),
        accepted: &accepted,
    }
    .write()
}

/// Names the branch: `drift/CONTEXT/APP/DATE`, in characters that every Git server takes.
fn branch(app: &AppRef) -> String {
    let plain = |text: &str| -> String {
        let mapped: String = text
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '-' {
                    c
                } else {
                    '-'
                }
            })
            .collect();
        mapped.trim_matches('-').to_owned()
    };
    let date = clock::now().to_string();
    let date = date.get(..10).unwrap_or("today");
    format!(
        "drift/{}/{}/{date}-1",
        plain(&app.context),
        plain(&app.target.name)
    )
}

fn fixed_identity(name: &str, email: &str) -> Identity {
    let person = Person {
        name: name.to_owned(),
        email: email.to_owned(),
        time: clock::now().as_second(),
        offset: 0,
    };
    Identity {
        author: person.clone(),
        committer: person,
    }
}
