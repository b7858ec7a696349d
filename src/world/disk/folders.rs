//! Where the program keeps its files.

use std::path::{Path, PathBuf};

use directories::ProjectDirs;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::settings::Variables;

/// The program's folders; none of them need exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// `config.yaml`, `keymap.yaml`, themes.
    pub config: PathBuf,
    /// Mirrors of repositories: can be deleted at any time.
    pub cache: PathBuf,
    /// Journal, log, exceptions.
    pub state: PathBuf,
}

impl Folders {
    /// Finds them: `GITOPS_TUI_CONFIG_DIR`, `GITOPS_TUI_CACHE_DIR`, `GITOPS_TUI_STATE_DIR`, then `XDG_CONFIG_HOME` and
    /// its like, then what the system has them at.
    ///
    /// # Errors
    /// The system names no home folder and the environment none of ours.
    pub fn find(variables: &Variables) -> Result<Self, Fault> {
        let system = ProjectDirs::from("", "", "gitops-tui");
        let folder = |own: &str, xdg: &str, home: &str, of: fn(&ProjectDirs) -> &Path| {
            let set = variables.get(own).map(PathBuf::from);
            let xdg = || {
                let path = variables
                    .get(xdg)
                    .map(Path::new)
                    .filter(|p| p.is_absolute());
                path.map(|p| p.join("gitops-tui"))
            };
            // On Linux the environment's home decides, which may not be the process's own.
            let home = || {
                let path = cfg!(target_os = "linux")
                    .then(|| variables.get("HOME"))
                    .flatten();
                path.map(|p| Path::new(p).join(home).join("gitops-tui"))
            };
            set.or_else(xdg)
                .or_else(home)
                .or_else(|| system.as_ref().map(|s| of(s).to_owned()))
                .ok_or_else(|| {
                    Fault::new(
                        FaultKind::Config,
                        "there is no home folder to keep files in",
                    )
                    .hint(format!("set {own}"))
                })
        };
        Ok(Self {
            config: folder(
                "GITOPS_TUI_CONFIG_DIR",
                "XDG_CONFIG_HOME",
                ".config",
                ProjectDirs::config_dir,
            )?,
            cache: folder(
                "GITOPS_TUI_CACHE_DIR",
                "XDG_CACHE_HOME",
                ".cache",
                ProjectDirs::cache_dir,
            )?,
            state: folder(
                "GITOPS_TUI_STATE_DIR",
                "XDG_STATE_HOME",
                ".local/state",
                |dirs| dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir()),
            )?,
        })
    }

    /// Returns the folder of repository mirrors; `setting` is the `cache` setting, empty for the default.
    pub fn mirrors(&self, setting: &str) -> PathBuf {
        if setting.is_empty() {
            self.cache.join("git")
        } else {
            Path::new(setting).join("git")
        }
    }

    /// Returns the user's configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.yaml")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_moves_them() {
        let variables = Variables::default()
            .with("HOME", "/home/ada")
            .with("XDG_CACHE_HOME", "/fast")
            .with("GITOPS_TUI_STATE_DIR", "/state");
        let folders = Folders::find(&variables).unwrap();
        assert_eq!(folders.cache, Path::new("/fast/gitops-tui"));
        assert_eq!(folders.state, Path::new("/state"));
        assert_eq!(folders.mirrors(""), Path::new("/fast/gitops-tui/git"));
        assert_eq!(folders.mirrors("/big"), Path::new("/big/git"));
        #[cfg(target_os = "linux")]
        assert_eq!(
            folders.config_file(),
            Path::new("/home/ada/.config/gitops-tui/config.yaml")
        );
    }
}
