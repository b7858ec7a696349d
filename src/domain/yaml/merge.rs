//! Merge keys (`<<`), carried out as each dialect does.

use indexmap::IndexMap;

use super::node::{Entry, Kind, Node};
use super::{DEPTH, Dialect, Problem};

/// Returns the entries of a mapping with its merge keys carried out.
pub(super) fn entries(node: Node<'_>, dialect: Dialect) -> Result<Vec<Entry<'_>>, Problem> {
    if !node.entries().any(|entry| entry.key.is_merge_key()) {
        return Ok(node.entries().collect());
    }
    match dialect {
        Dialect::Kustomize => kustomize(node),
        Dialect::Kubectl => {
            let mut all = Merged::default();
            kubectl(node, false, &mut all, DEPTH)?;
            Ok(all.entries.into_values().collect())
        }
    }
}

#[derive(Default)]
struct Merged<'d> {
    /// By the key's text; collections as keys are kept apart by their place.
    entries: IndexMap<String, Entry<'d>>,
}

impl<'d> Merged<'d> {
    fn name(entry: &Entry<'_>) -> String {
        match entry.key.text() {
            Some(text) => text.to_owned(),
            None => format!("\u{0}{}", entry.key.start()),
        }
    }

    fn set(&mut self, entry: Entry<'d>) {
        self.entries.insert(Self::name(&entry), entry);
    }
}

/// Own keys win wherever they stand; of several merged mappings the first one wins; one `<<` only.
fn kustomize(node: Node<'_>) -> Result<Vec<Entry<'_>>, Problem> {
    let mut merged = Merged::default();
    collect(node, &mut merged, DEPTH)?;
    let own: Vec<Entry<'_>> = node
        .entries()
        .filter(|entry| !entry.key.is_merge_key())
        .collect();
    for entry in &own {
        merged.entries.shift_remove(&Merged::name(entry));
    }
    Ok(own
        .into_iter()
        .chain(merged.entries.into_values())
        .collect())
}

/// Gathers what the merge key of `node` brings in, later overwritten by earlier.
fn collect<'d>(node: Node<'d>, all: &mut Merged<'d>, depth: usize) -> Result<(), Problem> {
    let mut merges = node.entries().filter(|entry| entry.key.is_merge_key());
    let Some(first) = merges.next() else {
        return Ok(());
    };
    if let Some(second) = merges.next() {
        return Err(second.key.problem("duplicate merge key"));
    }
    let mut sources = vec![];
    flatten(first.value, true, &mut sources)?;
    let depth = depth
        .checked_sub(1)
        .ok_or_else(|| node.problem("merge keys are nested too deeply"))?;
    for source in sources.into_iter().rev() {
        collect(source, all, depth)?;
        for entry in source.entries() {
            if !entry.key.is_merge_key() {
                all.set(Entry {
                    merged: true,
                    ..entry
                });
            }
        }
    }
    Ok(())
}

/// Sequential: a merge overrides the keys that stand before it, later keys override the merge.
fn kubectl<'d>(
    node: Node<'d>,
    merged: bool,
    all: &mut Merged<'d>,
    depth: usize,
) -> Result<(), Problem> {
    let depth = depth
        .checked_sub(1)
        .ok_or_else(|| node.problem("merge keys are nested too deeply"))?;
    for entry in node.entries() {
        if entry.key.is_merge_key() {
            let mut sources = vec![];
            flatten(entry.value, true, &mut sources)?;
            for source in sources.into_iter().rev() {
                kubectl(source, true, all, depth)?;
            }
        } else {
            all.set(Entry { merged, ..entry });
        }
    }
    Ok(())
}

/// Lists the mappings that a merge key's value names, in file order.
fn flatten<'d>(value: Node<'d>, list: bool, sources: &mut Vec<Node<'d>>) -> Result<(), Problem> {
    match value.kind() {
        Kind::Mapping => sources.push(value),
        Kind::Sequence if list && !value.is_alias() => {
            for item in value.items() {
                flatten(item, false, sources)?;
            }
        }
        _ => return Err(value.problem("a merge key takes a mapping or a list of mappings")),
    }
    Ok(())
}
