//! The kustomization that Flux makes up for a folder without one.

use crate::domain::fault::Fault;
use crate::domain::render::{EntryKind, Tree};

/// Returns what a folder without a kustomization file is built from, in the controller's order: every manifest, folder
/// by folder, and every sub-folder that has a kustomization file of its own, as a whole. Paths start with `./`.
pub(super) fn resources(tree: &dyn Tree, folder: &str) -> Result<Vec<String>, Fault> {
    let mut found = vec![];
    walk(tree, folder, ".", &mut found)?;
    Ok(found)
}

fn walk(
    tree: &dyn Tree,
    folder: &str,
    relative: &str,
    found: &mut Vec<String>,
) -> Result<(), Fault> {
    for entry in tree.list(folder)?.unwrap_or_default() {
        let path = super::join(folder, &entry.name);
        let relative = format!("{relative}/{}", entry.name);
        match entry.kind {
            EntryKind::Directory if super::kustomization_file(tree, &path)?.is_some() => {
                found.push(relative);
            }
            EntryKind::Directory => walk(tree, &path, &relative, found)?,
            EntryKind::File if is_manifest(&entry.name) => found.push(relative),
            EntryKind::File | EntryKind::Link | EntryKind::Submodule => {}
        }
    }
    Ok(())
}

fn is_manifest(name: &str) -> bool {
    [".yaml", ".yml"].iter().any(|end| name.ends_with(end))
}
