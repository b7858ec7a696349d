//! The configuration's page says what the program does.

use std::path::Path;

use gitops_tui::domain::settings::DEFAULT_CONFIG;

/// `docs/config.md` shows the shipped default, byte for byte; `UPDATE_DOCS=1` writes it anew.
#[test]
fn the_page_shows_the_shipped_default() {
    let path = Path::new("docs/config.md");
    let page = format!(
        "# Configuration\n\n\
         One file, `~/.config/gitops-tui/config.yaml` (`GITOPS_TUI_CONFIG_DIR` moves its folder). What it does not set \
         stays as below. An unknown\nsetting is warned about with the nearest name; a wrong value is left out and said \
         with file and line, the rest counts.\n\n\
         Credentials of Git servers come from git's own places: the agent and `ssh_config` for ssh, the credential \
         helper for https. Where there is\nneither (in CI), `GITOPS_TUI_GIT_HOST`, `GITOPS_TUI_GIT_USERNAME` and \
         `GITOPS_TUI_GIT_PASSWORD` are used, for that host only.\n\n\
         ```yaml\n{DEFAULT_CONFIG}```\n"
    );
    if std::env::var("UPDATE_DOCS").is_ok() {
        std::fs::create_dir_all("docs").unwrap();
        std::fs::write(path, &page).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap();
    assert!(
        found == page,
        "docs/config.md is stale: run UPDATE_DOCS=1 cargo test --test it settings"
    );
}
