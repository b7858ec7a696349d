//! The configuration's files, read and merged.

use std::io;
use std::path::Path;

use super::folders::Folders;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::settings::{self, Layer, Loaded, Variables};

/// Loads the settings: defaults, the user's `config.yaml` where there is one, the file named by `--config` (or
/// `GITOPS_TUI_CONFIG`), the environment, then `flags`.
///
/// # Errors
/// The named file cannot be read. Everything else that is wrong stands in [`Loaded::problems`].
pub fn load_settings(
    folders: &Folders,
    named: Option<&Path>,
    variables: &Variables,
    flags: Vec<Layer>,
) -> Result<Loaded, Fault> {
    let mut layers = vec![];
    let own = folders.config_file();
    let mut unread = None;
    match read(&own) {
        Ok(text) => layers.push(file(&own, text)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => unread = Some(cannot_read(&own, &e)),
    }
    let named = named.or_else(|| variables.get("GITOPS_TUI_CONFIG").map(Path::new));
    if let Some(path) = named {
        layers.push(file(path, read(path).map_err(|e| cannot_read(path, &e))?));
    }
    layers.push(Layer::Environment(variables.clone()));
    layers.extend(flags);
    let mut loaded = settings::load(&layers);
    loaded.problems.extend(unread);
    open_homes(&mut loaded, variables);
    Ok(loaded)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where configuration is read"
)]
fn read(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path)
}

fn file(path: &Path, text: String) -> Layer {
    Layer::File {
        path: path.display().to_string(),
        text,
    }
}

fn cannot_read(path: &Path, error: &io::Error) -> Fault {
    Fault::new(FaultKind::Config, "the configuration cannot be read")
        .at(path.display().to_string(), None)
        .because(error)
        .hint("check the path, and who may read it")
}

/// Opens `~/` in the settings that are paths.
fn open_homes(loaded: &mut Loaded, variables: &Variables) {
    let Some(home) = variables.get("HOME") else {
        return;
    };
    let open = |text: &mut String| {
        if let Some(rest) = text.strip_prefix("~/") {
            *text = format!("{}/{rest}", home.trim_end_matches('/'));
        }
    };
    open(&mut loaded.settings.cache);
    open(&mut loaded.settings.keymap);
    loaded.settings.repositories.values_mut().for_each(open);
}

#[cfg(test)]
mod tests {
    use super::super::write_atomic;
    use super::*;

    #[test]
    fn reads_the_users_file_then_the_named_one() {
        let dir = tempfile::tempdir().unwrap();
        let variables = Variables::default()
            .with("HOME", "/home/ada")
            .with("GITOPS_TUI_CONFIG_DIR", dir.path().to_string_lossy());
        let folders = Folders::find(&variables).unwrap();
        let none = load_settings(&folders, None, &variables, vec![]).unwrap();
        assert_eq!(none, Loaded::default(), "no file is no fault");
        write_atomic(&folders.config_file(), b"theme: nord\ncache: ~/mirrors\n").unwrap();
        let named = dir.path().join("other.yaml");
        write_atomic(&named, b"theme: gruvbox\n").unwrap();
        let loaded = load_settings(&folders, Some(&named), &variables, vec![]).unwrap();
        assert_eq!(
            (
                loaded.settings.theme.as_str(),
                loaded.settings.cache.as_str()
            ),
            ("gruvbox", "/home/ada/mirrors")
        );
        assert!(
            load_settings(&folders, Some(&dir.path().join("none")), &variables, vec![]).is_err()
        );
    }
}
