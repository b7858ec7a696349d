//! `--field`, `--object`, `--all`: what of a comparison is meant.

use crate::domain::drift::{FieldDrift, ObjectDrift};
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::object::{FieldPath, ObjectId};
use crate::runtime::jobs::{Compared, acceptable};

/// Finds the objects that `KIND/NAMESPACE/NAME` (or `KIND/NAME`) names.
pub(super) fn object<'d>(compared: &'d Compared, text: &str) -> Result<&'d ObjectDrift, Fault> {
    let fits = |id: &ObjectId| {
        id.to_string().eq_ignore_ascii_case(text)
            || format!("{}/{}", id.kind, id.name).eq_ignore_ascii_case(text)
    };
    let found: Vec<&ObjectDrift> = compared
        .drift
        .objects
        .iter()
        .filter(|o| fits(&o.id))
        .collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(usage(
            compared,
            format!("`{text}` is not one of the app's objects"),
        )
        .hint(format!("it has: {}", names(&compared.drift.objects)))),
        _ => Err(usage(compared, format!("`{text}` names several objects"))
            .hint("write KIND/NAMESPACE/NAME")),
    }
}

fn names(objects: &[ObjectDrift]) -> String {
    let mut names: Vec<String> = objects.iter().take(12).map(|o| o.id.to_string()).collect();
    if objects.len() > names.len() {
        names.push("…".to_owned());
    }
    names.join(", ")
}

fn usage(compared: &Compared, sentence: String) -> Fault {
    Fault::new(FaultKind::Usage, sentence).about(compared.app.app.to_string())
}

/// Finds the field that `KIND/NAMESPACE/NAME PATH` or a `PATH` alone names.
pub(super) fn field(compared: &Compared, text: &str) -> Result<(ObjectId, FieldPath), Fault> {
    let (object_name, path) = match text.split_once(' ') {
        Some((object, path)) if object.contains('/') => (Some(object), path.trim()),
        _ => (None, text.trim()),
    };
    let path: FieldPath = path.parse().map_err(|error| {
        usage(compared, format!("`{path}` is no field path"))
            .because(error)
            .hint("write it as gitops-tui diff prints it: spec.ports[port=53].name")
    })?;
    if let Some(name) = object_name {
        let object = object(compared, name)?;
        if object.fields.iter().any(|f| f.path == path) {
            return Ok((object.id.clone(), path));
        }
        return Err(no_such_field(compared, &path));
    }
    let having: Vec<&ObjectDrift> = compared
        .drift
        .objects
        .iter()
        .filter(|o| o.fields.iter().any(|f| f.path == path))
        .collect();
    match having.as_slice() {
        [one] => Ok((one.id.clone(), path)),
        [] => Err(no_such_field(compared, &path)),
        several => {
            let ids: Vec<String> = several.iter().map(|o| o.id.to_string()).collect();
            Err(usage(
                compared,
                format!("{path} differs in {} objects", several.len()),
            )
            .hint(format!("write the object before it: {}", ids.join(", "))))
        }
    }
}

fn no_such_field(compared: &Compared, path: &FieldPath) -> Fault {
    let all: Vec<String> = compared
        .drift
        .objects
        .iter()
        .flat_map(|o| acceptable(o).map(move |f| format!("{} {}", o.id, f.path)))
        .take(8)
        .collect();
    let hint = if all.is_empty() {
        "nothing differs".to_owned()
    } else {
        format!("what differs: {}", all.join("; "))
    };
    usage(compared, format!("{path} does not differ")).hint(hint)
}

/// Returns the fields that a command's options name.
pub(super) fn fields(
    compared: &Compared,
    named: &[String],
    objects: &[String],
    all: bool,
) -> Result<Vec<(ObjectId, FieldPath)>, Fault> {
    let mut picked = vec![];
    for text in named {
        picked.push(field(compared, text)?);
    }
    for text in objects {
        let object = object(compared, text)?;
        picked.extend(acceptable(object).map(|f| (object.id.clone(), f.path.clone())));
    }
    if all {
        for object in &compared.drift.objects {
            picked.extend(
                acceptable(object)
                    .filter(|f| counts(f))
                    .map(|f| (object.id.clone(), f.path.clone())),
            );
        }
    }
    picked.sort();
    picked.dedup();
    Ok(picked)
}

/// Says why there is nothing to do; where the comparison failed, that is the reason.
pub(super) fn nothing(compared: &Compared, named: bool) -> Fault {
    if let (true, Some(problem)) = (named, compared.drift.problems.first()) {
        let mut fault = Fault::new(problem.kind, "it cannot be told what differs")
            .about(compared.app.app.to_string())
            .because(problem.without_subject());
        fault.hint.clone_from(&problem.hint);
        return fault;
    }
    let sentence = if named {
        "nothing that was named differs"
    } else {
        "no field is chosen"
    };
    usage(compared, sentence.to_owned())
        .hint("see what differs with gitops-tui diff, then name it with --field, --object or --all")
}

/// `--all` means what drifted; additions are named one by one or by their object.
fn counts(field: &FieldDrift) -> bool {
    use crate::domain::drift::Verdict;
    matches!(field.verdict, Verdict::Drift | Verdict::Held)
}
