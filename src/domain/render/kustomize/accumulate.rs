//! The walk over a kustomization and what it names.

use std::collections::BTreeSet;

use super::load::{Context, Root};
use super::model::Kustomization;
use super::place::Place;
use super::{Built, Cache, Options};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::render::Tree;

/// Renders a folder.
pub(super) fn run(
    tree: &dyn Tree,
    dir: &str,
    top: Option<Kustomization>,
    options: &Options,
    cache: &Cache,
) -> Built {
    let mut context = Context {
        tree,
        options,
        cache,
        problems: vec![],
        warnings: vec![],
        inputs: BTreeSet::new(),
    };
    let root = Root {
        dir: dir.to_owned(),
        visited: vec![],
    };
    let place = Place::file(dir);
    let read = top.map_or_else(|| context.kustomization(&root, &place), Ok);
    if let Err(problem) = read.and_then(|_| {
        Err::<(), _>(Fault::new(
            FaultKind::Unsupported,
            "not supported yet: rendering",
        ))
    }) {
        context.problems.push(problem);
    }
    Built {
        objects: vec![],
        problems: context.problems,
        warnings: context.warnings,
        inputs: context.inputs.into_iter().collect(),
    }
}
