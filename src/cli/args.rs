//! The command line's words, as clap reads them. What they do stands in one file per command beside this one.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::domain::fleet::Target;

/// See and settle what a cluster and its Git repository disagree about.
///
/// Without a command it opens the screens over all kube contexts. Results go to stdout, words for people to stderr.
/// Exit codes: 0 clean or done, 1 drift or a refused write, 2 could not run, 3 nothing drifted among what could be
/// compared, but something could not be compared.
#[derive(Debug, Parser)]
#[command(name = "gitops-tui", version, max_term_width = 100)]
pub(super) struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What every command takes; listed below the command's own options.
#[derive(Debug, Clone, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[command(next_help_heading = "Options of every command")]
pub(super) struct Global {
    /// Look only at this kube context (exact name; may be given several times)
    #[arg(long, global = true, display_order = 900, value_name = "NAME")]
    pub context: Vec<String>,
    /// Read this kubeconfig instead of $KUBECONFIG or ~/.kube/config
    #[arg(long, global = true, display_order = 900, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Read this configuration file after the user's own
    #[arg(long, global = true, display_order = 900, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Turn every write off
    #[arg(long, global = true, display_order = 900)]
    pub read_only: bool,
    /// Work on the embedded demo instead of a cluster
    #[arg(long, global = true, display_order = 900)]
    pub demo: bool,
    /// Give each context and each repository this long (such as 10s, 2m)
    #[arg(long, global = true, display_order = 900, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Fetch nothing: read repositories as they were last mirrored
    #[arg(long, global = true, display_order = 900)]
    pub offline: bool,
    /// Print the causes below each fault
    #[arg(long, short, global = true, display_order = 900)]
    pub verbose: bool,
}

/// Reads `10s`, `2m`, `1h` or plain seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| format!("`{text}` is no time such as 10s or 2m"))?;
    let each = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return Err(format!("`{unit}` is no unit of time: write s, m or h")),
    };
    match number.checked_mul(each) {
        Some(0) => Err("no time at all is too short: write 1s or more".to_owned()),
        Some(seconds) if seconds <= LONGEST => Ok(Duration::from_secs(seconds)),
        _ => Err(format!("`{text}` is longer than a day")),
    }
}

/// The longest time that may be given, in seconds: what is added to it must not overflow a clock.
const LONGEST: u64 = 24 * 3_600;

/// Reads an app's name; the next step goes with the error, since clap prints one line.
fn target(text: &str) -> Result<Target, String> {
    text.parse::<Target>().map_err(|fault| match &fault.hint {
        Some(hint) => format!("{fault}; {hint}"),
        None => fault.to_string(),
    })
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Open the screens on an embedded demo cluster and repository; touches nothing outside a temporary folder
    Demo,
    /// List the apps of all contexts, urgent first
    List(ListArgs),
    /// Print the desired objects of an app or a directory
    Render(RenderArgs),
    /// Show how one app, or a file, differs from live
    Diff(DiffArgs),
    /// Compare all apps, for CI
    Check(CheckArgs),
    /// Write chosen live values back into Git: a branch and a commit, proven by rendering again
    Accept(AcceptArgs),
    /// Put live fields or objects back to what Git says
    Revert(RevertArgs),
    /// Let the controller apply Git now
    Sync(ActArgs),
    /// Let the controller look at Git and live again
    Refresh(RefreshArgs),
    /// Take an app out of its controller's hands, so that a live fix survives
    Suspend(ActArgs),
    /// Give an app back to its controller, exactly as it was
    Resume(ActArgs),
    /// Print shell completions
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// Aligned columns for people
    Table,
    /// One JSON document with a schema
    Json,
    /// The same as YAML
    Yaml,
}

/// How a difference is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DiffForm {
    /// One line a field: STATUS PATH git → live (manager, operation, age) origin
    Fields,
    /// Git left, live right
    SideBySide,
    /// A unified diff from Git to live
    Unified,
    /// One JSON document with a schema
    Json,
    /// The same as YAML
    Yaml,
    /// The same as fields
    Table,
}

/// By whose rules a directory is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ProfileName {
    /// As Flux's kustomize-controller does
    Flux,
    /// As Argo CD's repo server does
    Argo,
    /// As `kustomize build` does
    Kustomize,
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// How to print
    #[arg(long, short, value_enum, default_value = "table")]
    pub output: Form,
    /// Compare each app with Git too (reads repositories and live objects)
    #[arg(long)]
    pub compare: bool,
}

#[derive(Debug, Args)]
pub(super) struct RenderArgs {
    /// ks/NAMESPACE/NAME, app/NAMESPACE/NAME, or a directory
    pub target: String,
    /// By whose rules to render a directory
    #[arg(long, value_enum)]
    pub profile: Option<ProfileName>,
    /// The Flux Kustomization or Argo CD Application, from a file (the directory is then the repository's root)
    #[arg(long, value_name = "FILE")]
    pub app_file: Option<PathBuf>,
    /// ConfigMaps, Secrets and sources that the app reads, from a file
    #[arg(long, value_name = "FILE", requires = "app_file")]
    pub objects: Option<PathBuf>,
    /// Print each field's file, document, line and step instead of the manifests
    #[arg(long)]
    pub origins: bool,
    /// How to print (table prints manifests)
    #[arg(long, short, value_enum, default_value = "table")]
    pub output: Form,
}

#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    /// ks/NAMESPACE/NAME, app/NAMESPACE/NAME, or with --live a manifest file or a directory
    pub target: String,
    /// Compare with live objects from this file (several documents or a List) instead of a cluster
    #[arg(long, value_name = "FILE")]
    pub live: Option<PathBuf>,
    /// By whose rules to render a directory
    #[arg(long, value_enum, requires = "live")]
    pub profile: Option<ProfileName>,
    /// The Flux Kustomization or Argo CD Application, from a file (the directory is then the repository's root)
    #[arg(long, value_name = "FILE", requires = "live")]
    pub app_file: Option<PathBuf>,
    /// ConfigMaps, Secrets and sources that the app reads, from a file
    #[arg(long, value_name = "FILE", requires = "app_file")]
    pub objects: Option<PathBuf>,
    /// How to print
    #[arg(long, short, value_enum, default_value = "fields")]
    pub output: DiffForm,
    /// Show what is left out as noise, ignored or another controller's, too
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Only these apps (default: all)
    #[arg(value_parser = target)]
    pub target: Vec<Target>,
    /// How to print
    #[arg(long, short, value_enum, default_value = "table")]
    pub output: Form,
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(super) struct AcceptArgs {
    /// ks/NAMESPACE/NAME or app/NAMESPACE/NAME
    #[arg(value_parser = target)]
    pub target: Target,
    /// Accept this field: KIND/NAMESPACE/NAME PATH, or a PATH that only one object has (may be given several times)
    #[arg(long, value_name = "FIELD")]
    pub field: Vec<String>,
    /// Accept every drifted field of this object: KIND/NAMESPACE/NAME (may be given several times)
    #[arg(long, value_name = "OBJECT")]
    pub object: Vec<String>,
    /// Accept every drifted field
    #[arg(long)]
    pub all: bool,
    /// Name the branch
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// Use this commit message
    #[arg(long, short, value_name = "TEXT")]
    pub message: Option<String>,
    /// Push the branch
    #[arg(long)]
    pub push: bool,
    /// Show the plan only
    #[arg(long)]
    pub dry_run: bool,
    /// Commit into this clone instead of the mirror
    #[arg(long, value_name = "DIR")]
    pub repo: Option<PathBuf>,
    /// Answer the questions with yes
    #[arg(long, short)]
    pub yes: bool,
    /// How to print
    #[arg(long, short, value_enum, default_value = "table")]
    pub output: Form,
}

#[derive(Debug, Args)]
pub(super) struct RevertArgs {
    /// ks/NAMESPACE/NAME or app/NAMESPACE/NAME
    #[arg(value_parser = target)]
    pub target: Target,
    /// Revert this field: KIND/NAMESPACE/NAME PATH, or a PATH that only one object has (may be given several times)
    #[arg(long, value_name = "FIELD")]
    pub field: Vec<String>,
    /// Revert this object whole: KIND/NAMESPACE/NAME (may be given several times)
    #[arg(long, value_name = "OBJECT")]
    pub object: Vec<String>,
    /// Revert every drifted field
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub act: ActOptions,
}

#[derive(Debug, Args)]
pub(super) struct ActArgs {
    /// ks/NAMESPACE/NAME, hr/NAMESPACE/NAME or app/NAMESPACE/NAME
    #[arg(value_parser = target)]
    pub target: Target,
    #[command(flatten)]
    pub act: ActOptions,
}

#[derive(Debug, Args)]
pub(super) struct RefreshArgs {
    /// ks/NAMESPACE/NAME, hr/NAMESPACE/NAME or app/NAMESPACE/NAME
    #[arg(value_parser = target)]
    pub target: Target,
    /// Drop the engine's caches too (Argo CD)
    #[arg(long)]
    pub hard: bool,
    #[command(flatten)]
    pub act: ActOptions,
}

/// What every write to a cluster takes.
#[derive(Debug, Clone, Args)]
pub(super) struct ActOptions {
    /// Show the plan only
    #[arg(long)]
    pub dry_run: bool,
    /// Answer the questions with yes
    #[arg(long, short)]
    pub yes: bool,
    /// Do not wait for the controller's answer
    #[arg(long)]
    pub no_wait: bool,
    /// How to print
    #[arg(long, short, value_enum, default_value = "table")]
    pub output: Form,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_words_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn reads_times() {
        assert_eq!(duration("2m"), Ok(Duration::from_mins(2)));
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        for wrong in ["2d", "", "s", "-1s", "0s", "25h", "99999999999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
