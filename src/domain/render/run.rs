//! The one door to rendering: by the rules of whoever applies it.

use super::kustomize::{self, Cache, Object, Options};
use super::{Profile, Rendered, Request, Tree, argo, flux};

/// Renders what `request` asks for from `tree`. It never fails as a whole: what cannot be rendered is a problem beside
/// the objects that can.
pub fn render(tree: &dyn Tree, request: &Request) -> Rendered {
    let mut rendered = match &request.profile {
        Profile::Kustomize => plain(tree, &request.path),
        Profile::Flux {
            app,
            objects,
            source,
        } => flux::render(tree, app, objects, source.as_ref()),
        Profile::Argo {
            app,
            source,
            settings,
        } => argo::render(tree, app, *source, settings.as_ref()),
    };
    rendered.inputs.sort();
    rendered.inputs.dedup();
    rendered
}

/// Renders as `kustomize build PATH` does.
fn plain(tree: &dyn Tree, path: &str) -> Rendered {
    let built = kustomize::build(tree, path, None, &Options::default(), &Cache::default());
    let text = kustomize::text(built.objects.iter().map(|object| &object.value));
    Rendered {
        text: built.problems.is_empty().then_some(text),
        objects: built
            .objects
            .into_iter()
            .filter_map(Object::desired)
            .collect(),
        problems: built.problems,
        warnings: built.warnings,
        inputs: built.inputs,
    }
}
