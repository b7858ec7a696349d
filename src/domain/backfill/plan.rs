//! From wishes to a plan: places tried in order, each proven by rendering again.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::domain::object::{Desired, Home, Step};
use crate::domain::render::{Rendered, Tree};

use super::change::{Candidate, Refusal};
use super::edited::Edited;
use super::overlay::Layer;
use super::proof::Pairs;
use super::{Accepted, AlsoChanges, Plan, Proof, Refused, Wish, overlay, refuse, source};

/// Renders an app from a tree.
pub type Render<'r> = dyn Fn(&dyn Tree) -> Rendered + 'r;

/// An app, as far as a plan needs to know it.
pub struct App<'a> {
    /// The folder it renders from, from the tree's root; its kustomization file is where values of a shared base are
    /// answered.
    pub folder: &'a str,
    /// How it is rendered.
    pub render: &'a Render<'a>,
}

/// Another app of the repository.
pub struct Other<'a> {
    /// The app, in words.
    pub words: String,
    /// How it is rendered.
    pub render: &'a Render<'a>,
    /// What it rendered to before, where that is known already.
    pub before: Option<&'a Rendered>,
}

/// Plans the smallest edit that makes the app render what the wishes say. One refused wish does not block the others;
/// what would change in `others` is listed.
pub fn plan(tree: &dyn Tree, app: &App<'_>, wishes: &[Wish], others: &[Other<'_>]) -> Plan {
    let before = (app.render)(tree);
    let shared = Shared::new(tree, others);
    let mut planner = Planner {
        app,
        before: &before,
        current: None,
        shared: &shared,
        tree: Edited::new(tree),
        accepted: vec![],
        refused: vec![],
        wishes,
        notes: BTreeSet::new(),
    };
    if wishes.len() < 2 || !planner.take_all() {
        for wish in wishes {
            if let Err(refusal) = planner.take(wish) {
                planner.refuse(wish, refusal);
            }
        }
    }
    planner.finish()
}

/// The other apps, rendered once before anything is edited.
struct Shared<'a> {
    others: Vec<(&'a Other<'a>, std::borrow::Cow<'a, Rendered>)>,
}

impl<'a> Shared<'a> {
    fn new(tree: &dyn Tree, others: &'a [Other<'a>]) -> Self {
        let rendered = |other: &'a Other<'a>| match other.before {
            Some(before) => std::borrow::Cow::Borrowed(before),
            None => std::borrow::Cow::Owned((other.render)(tree)),
        };
        Self {
            others: others
                .iter()
                .map(|other| (other, rendered(other)))
                .collect(),
        }
    }

    /// Tells whether another app reads the file.
    fn reads(&self, file: &str) -> bool {
        self.others
            .iter()
            .any(|(_, before)| before.inputs.iter().any(|input| input == file))
    }

    fn changes(&self, tree: &Edited<'_>) -> Vec<AlsoChanges> {
        let mut found = vec![];
        for (other, before) in &self.others {
            if !tree.paths().any(|path| {
                before.inputs.is_empty() || before.inputs.iter().any(|input| input == path)
            }) {
                continue;
            }
            let after = (other.render)(tree);
            let pairs = Pairs::new(before, &after);
            found.extend(pairs.moves(&[]).into_iter().map(|moved| AlsoChanges {
                app: other.words.clone(),
                object: moved.object,
                path: moved.path,
            }));
        }
        found
    }
}

struct Planner<'a, 't> {
    app: &'a App<'a>,
    before: &'a Rendered,
    /// The rendering with what is accepted so far.
    current: Option<Rendered>,
    shared: &'a Shared<'a>,
    tree: Edited<'t>,
    accepted: Vec<Accepted>,
    refused: Vec<Refused>,
    wishes: &'a [Wish],
    notes: BTreeSet<String>,
}

impl<'t> Planner<'_, 't> {
    fn refuse(&mut self, wish: &Wish, refusal: Refusal) {
        self.refused.push(Refused {
            wish: wish.clone(),
            reason: refusal.reason,
            hint: refusal.hint,
        });
    }

    /// Returns the object as it renders with what is accepted so far, and so with the places of its fields.
    fn desired(&self, wish: &Wish) -> Option<Desired> {
        if let Some(current) = &self.current {
            return Pairs::new(self.before, current)
                .after(&wish.object)
                .cloned();
        }
        let mut objects = self.before.objects.iter();
        objects
            .find(|desired| desired.id.same_object(&wish.object))
            .cloned()
    }

    /// Tries the best place of every wish with one rendering; leaves all as it was where that does not prove.
    fn take_all(&mut self) -> bool {
        let start = self.tree.clone();
        for wish in self.wishes {
            let taken = self.first_place(wish).and_then(|candidate| {
                let mut tree = self.tree.clone();
                candidate.apply(&mut tree)?;
                Ok((candidate, tree))
            });
            match taken {
                Ok((candidate, tree)) => {
                    self.tree = tree;
                    self.accept(wish, candidate);
                }
                Err(refusal) if refusal.is_final => self.refuse(wish, refusal),
                Err(_) => {
                    self.reset(start);
                    return false;
                }
            }
        }
        let after = (self.app.render)(&self.tree);
        let pairs = Pairs::new(self.before, &after);
        let accepted: Vec<Wish> = self
            .accepted
            .iter()
            .map(|accepted| accepted.wish.clone())
            .collect();
        let holds = !pairs.problems_grew()
            && accepted.iter().all(|wish| pairs.holds(wish))
            && pairs.moves(&accepted).is_empty();
        if holds {
            self.note(&pairs);
            self.current = Some(after);
        } else {
            self.reset(start);
        }
        holds
    }

    fn reset(&mut self, tree: Edited<'t>) {
        self.tree = tree;
        self.accepted.clear();
        self.refused.clear();
    }

    fn accept(&mut self, wish: &Wish, candidate: Candidate) {
        self.accepted.push(Accepted {
            wish: wish.clone(),
            place: candidate.place,
        });
    }

    fn first_place(&self, wish: &Wish) -> Result<Candidate, Refusal> {
        let desired = self.allowed(wish)?;
        let first = self.candidates(wish, &desired).into_iter().next();
        first.unwrap_or_else(|| Err(unknown_place()))
    }

    /// Returns the wish's object, where the wish may be answered at all.
    fn allowed(&self, wish: &Wish) -> Result<Desired, Refusal> {
        let desired = self.desired(wish);
        refuse::by_field(wish, desired.as_ref())?;
        desired.ok_or_else(|| {
            Refusal::last(
                "Git does not render this object",
                "add its manifest to Git by hand",
            )
        })
    }

    /// Fulfils one wish on the tree, or says why not.
    fn take(&mut self, wish: &Wish) -> Result<(), Refusal> {
        let desired = self.allowed(wish)?;
        let mut why = None;
        for candidate in self.candidates(wish, &desired) {
            let tried = candidate.and_then(|candidate| {
                let mut tree = self.tree.clone();
                candidate.apply(&mut tree)?;
                let after = self.prove(wish, &tree)?;
                Ok((candidate, tree, after))
            });
            match tried {
                Ok((candidate, tree, after)) => {
                    self.note(&Pairs::new(self.before, &after));
                    self.tree = tree;
                    self.current = Some(after);
                    self.accept(wish, candidate);
                    return Ok(());
                }
                // The first place is where the value is decided: its reason is the one to tell.
                Err(refusal) if refusal.is_final => return Err(refusal),
                Err(refusal) => {
                    why.get_or_insert(refusal);
                }
            }
        }
        Err(why.unwrap_or_else(unknown_place))
    }

    fn note(&mut self, pairs: &Pairs<'_>) {
        self.notes.extend(pairs.renamed().iter().map(|(old, new)| {
            format!(
                "{old} becomes {new}: its name follows its content, so what uses it rolls out again"
            )
        }));
    }

    /// Lists the places to try, best first.
    fn candidates(&self, wish: &Wish, desired: &Desired) -> Vec<Result<Candidate, Refusal>> {
        let layer = Layer::read(&self.tree, self.app.folder);
        let in_layer = || -> Vec<Result<Candidate, Refusal>> {
            let layer = layer.as_ref();
            let found = layer.map(|layer| layer.candidates(&self.tree, wish, desired));
            found.into_iter().flatten().map(Ok).collect()
        };
        let Some((origin, rest)) = source::origin_of(desired, wish) else {
            return in_layer();
        };
        if let Err(refusal) = refuse::by_origin(origin) {
            // Nothing here can win over it.
            return vec![Err(refusal)];
        }
        if origin.home == Home::Remote {
            let remote = Refusal::new(
                format!("the value is set in a remote base ({})", origin.file),
                "add a patch to the app's own kustomization",
            );
            let mut found = in_layer();
            found.push(Err(remote));
            return found;
        }
        if is_selector(wish) && matches!(origin.step, Step::Label) {
            return vec![Err(Refusal::new(
                "the label is part of a selector, which cannot be changed on a live object",
                "make a new object by hand",
            ))];
        }
        let direct = source::candidate(&self.tree, wish, origin, &rest);
        let folder = self.app.folder;
        let inside = folder.is_empty()
            || origin
                .file
                .strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'));
        // A resource file outside the app's folder is a base; what overlays and generators outside decide is shared
        // only where somebody else reads it.
        let is_base = !inside
            && (origin.step == Step::Resource
                || overlay::is_in_component(&self.tree, &origin.file));
        let shared = is_base || self.shared.reads(&origin.file);
        let extra = !rest.is_empty();
        let mut found = vec![];
        if shared || (extra && layer.is_some()) {
            let mut over = in_layer();
            if extra && !shared {
                // A field that Git never had goes into a patch that is there already, not into a new one.
                let fresh = over.iter().position(
                    |candidate| matches!(candidate, Ok(found) if found.place.ends_with("(new)")),
                );
                let rest = over.split_off(fresh.unwrap_or(over.len()));
                found.extend(over);
                found.push(direct);
                found.extend(rest);
            } else {
                found.extend(over);
                found.push(direct);
            }
        } else {
            found.push(direct);
            found.extend(in_layer());
        }
        found
    }

    /// Renders the edited tree again: the wish and all accepted ones hold, and nothing else moved.
    fn prove(&self, wish: &Wish, tree: &Edited<'_>) -> Result<Rendered, Refusal> {
        let after = (self.app.render)(tree);
        let pairs = Pairs::new(self.before, &after);
        let by_hand = "edit the repository by hand";
        if pairs.problems_grew() {
            let first = after
                .problems
                .first()
                .map_or_else(String::new, |fault| format!(": {}", fault.sentence));
            return Err(Refusal::new(
                format!("the edited files no longer render{first}"),
                by_hand,
            ));
        }
        if !pairs.holds(wish)
            || self
                .accepted
                .iter()
                .any(|accepted| !pairs.holds(&accepted.wish))
        {
            return Err(Refusal::new(
                "the edit does not give the live value when rendered again",
                by_hand,
            ));
        }
        let moves = pairs.moves(self.wishes);
        if let Some(first) = moves.first() {
            let more = if moves.len() > 1 {
                format!(" and {} more", moves.len() - 1)
            } else {
                String::new()
            };
            return Err(Refusal::new(
                format!(
                    "the edit would also change {} {}{more}",
                    first.object, first.path
                ),
                by_hand,
            ));
        }
        Ok(after)
    }

    fn finish(mut self) -> Plan {
        let current = self.current.take();
        let pairs = Pairs::new(self.before, current.as_ref().unwrap_or(self.before));
        let accepted_wishes: Vec<Wish> = self
            .accepted
            .iter()
            .map(|accepted| accepted.wish.clone())
            .collect();
        let agree = accepted_wishes
            .iter()
            .filter(|wish| pairs.holds(wish))
            .count();
        let moved = pairs.moves(&accepted_wishes).len() + (accepted_wishes.len() - agree);
        let also_changes = self.shared.changes(&self.tree);
        let mut files = self.tree.edits().unwrap_or_default();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        if moved > 0 {
            // Never a wrong write: without proof there are no files.
            files.clear();
            let unproven = self.accepted.drain(..).map(|accepted| Refused {
                wish: accepted.wish,
                reason: "the edits together do not give exactly the accepted values".to_owned(),
                hint: "accept the fields one by one".to_owned(),
            });
            self.refused.extend(unproven);
        }
        Plan {
            files,
            accepted: self.accepted,
            refused: self.refused,
            also_changes,
            proof: Proof { agree, moved },
            notes: self.notes.into_iter().collect(),
        }
    }
}

fn unknown_place() -> Refusal {
    Refusal::new(
        "no file of the repository is known to decide this field",
        "edit the repository by hand",
    )
}

/// Tells whether a wish is about a selector or the labels that it needs.
fn is_selector(wish: &Wish) -> bool {
    wish.path.to_string().contains("selector") && wish.to.as_ref().is_none_or(Value::is_string)
}
