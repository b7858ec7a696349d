//! `buildMetadata`: what a build writes about itself onto its objects.
//!
//! Both marks are set once, at the end: a field's file is what its object's first mark says. The paths count from the
//! folder that is built. `transformerAnnotations` are not written.

use super::Options;
use super::model::Kustomization;
use super::node::{Node, Scalar};
use super::place::Mark;
use super::resource::Resource;
use crate::domain::object::Step;

const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const ORIGIN: &str = "config.kubernetes.io/origin";

/// Writes what the top kustomization asks for.
pub(super) fn annotate(
    resources: &mut [Resource],
    read: &Kustomization,
    dir: &str,
    options: &Options,
) {
    for entry in &read.build_metadata {
        let mark = |step: Step| Mark::entry(entry.place.clone(), step);
        for resource in resources.iter_mut() {
            let Some(metadata) = resource.root.map_at("metadata") else {
                continue;
            };
            match entry.value.as_str() {
                "managedByLabel" => {
                    let version = match options.program_version {
                        "" => "v5.8.1",
                        version => version,
                    };
                    let text = format!("kustomize-{version}");
                    put(metadata, "labels", MANAGED_BY, text, &mark(Step::Label));
                }
                "originAnnotations" => {
                    if let Some(text) = origin_text(&resource.root, dir)
                        && let Some(metadata) = resource.root.map_at("metadata")
                    {
                        put(
                            metadata,
                            "annotations",
                            ORIGIN,
                            text,
                            &mark(Step::Annotation),
                        );
                    }
                }
                _ => {}
            }
        }
    }
}

fn put(metadata: &mut Node, field: &str, key: &str, text: String, mark: &Mark) {
    if let Some(map) = metadata.map_at(field) {
        map.set(key, Scalar::string(text), Some(mark));
    }
}

/// Says where an object came from: its file, or the generator and the file that configures it.
fn origin_text(root: &Node, dir: &str) -> Option<String> {
    let mut mark = root.mark.clone()?;
    while let Some(before) = mark.before.clone() {
        mark = (*before).clone();
    }
    let path = relative(dir, &mark.place().file);
    if mark.source.step != Step::Generator {
        return Some(format!("path: {path}\n"));
    }
    let kind = root.get("kind").map(Node::value_text).unwrap_or_default();
    Some(format!(
        "configuredIn: {path}\nconfiguredBy:\n  apiVersion: builtin\n  kind: {kind}Generator\n"
    ))
}

/// Returns the way from the folder `dir` to a file.
fn relative(dir: &str, file: &str) -> String {
    let from: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = file.split('/').collect();
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - shared);
    let parts: Vec<&str> = up.chain(to[shared..].iter().copied()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_way_between_folders() {
        for (dir, file, expected) in [
            ("", "cm.yaml", "cm.yaml"),
            ("apps/web", "apps/web/x/cm.yaml", "x/cm.yaml"),
            ("apps/prod", "apps/base/cm.yaml", "../base/cm.yaml"),
            ("a/b", "c.yaml", "../../c.yaml"),
        ] {
            assert_eq!(relative(dir, file), expected, "{dir} {file}");
        }
    }
}
