//! Documents that the program prints itself: `docs/cli.md` is the help of every command.

use std::fmt::Write as _;
use std::process::Command;

/// Returns what the built program says to `--help`, with nothing of this machine in it.
fn help(command: &[&str]) -> String {
    let said = Command::new(env!("CARGO_BIN_EXE_gitops-tui"))
        .args(command)
        .arg("--help")
        .env_clear()
        .output()
        .unwrap();
    assert!(said.status.success(), "{command:?} --help: {said:?}");
    String::from_utf8(said.stdout).unwrap()
}

/// Returns the names below `Commands:`.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|l| *l != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect()
}

fn page() -> String {
    let root = help(&[]);
    let mut out = String::from(
        "# The command line\n\nWritten by `UPDATE_DOCS=1 cargo test --test it docs`; the words are those of `--help`, \
         and stand in `src/cli/args.rs`.\n",
    );
    let mut section = |title: &str, text: &str| {
        // clap ends some lines with blanks
        let text: Vec<&str> = text.lines().map(str::trim_end).collect();
        write!(
            out,
            "\n## {title}\n\n```text\n{}\n```\n",
            text.join("\n").trim_end()
        )
        .unwrap();
    };
    section("gitops-tui", &root);
    let names = commands(&root);
    assert!(names.len() > 5, "no commands in: {root}");
    for name in names {
        section(&format!("gitops-tui {name}"), &help(&[name]));
    }
    out
}

#[test]
fn the_command_lines_page_is_what_the_program_says() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/cli.md");
    let page = page();
    if std::env::var("UPDATE_DOCS").is_ok() {
        std::fs::write(file, &page).unwrap();
    }
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        kept == page,
        "docs/cli.md is stale: run UPDATE_DOCS=1 cargo test --test it docs"
    );
}
