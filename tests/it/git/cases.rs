//! The public bug reports of `tests/corpus/cases/R*`: each `setup.sh` makes its world, we act, `check.sh` judges.
//!
//! The cases expect the change on the branch that is checked out; the product commits a new branch and touches no
//! working tree, so the test takes the branch over with `git merge --ff-only`, as a person would.

use std::path::Path;
use std::process::Command;

use gitops_tui::domain::fault::{Fault, FaultKind};
use gitops_tui::domain::render::Tree as _;
use gitops_tui::world::git::{Access, Commit, Edit, Mirror, Timeouts};

use super::Sandbox;

struct Case {
    name: &'static str,
    variant: &'static str,
    sandbox: Sandbox,
}

impl Case {
    /// Prepares a case; `None` (said so) where a program is missing that it needs.
    fn new(name: &'static str, variant: &'static str, programs: &[&str]) -> Option<Self> {
        let sandbox = Sandbox::new();
        for program in ["git", "sh"].iter().chain(programs) {
            if Command::new("sh")
                .args(["-c", &format!("command -v {program}")])
                .output()
                .ok()?
                .stdout
                .is_empty()
            {
                eprintln!("{name} {variant}: skipped, {program} is not installed");
                return None;
            }
        }
        let case = Self {
            name,
            variant,
            sandbox,
        };
        assert_eq!(
            case.script("setup.sh"),
            (true, String::new()),
            "{name} {variant}"
        );
        Some(case)
    }

    fn script(&self, script: &str) -> (bool, String) {
        let path = Path::new("tests/corpus/cases").join(self.name).join(script);
        let output = self
            .command("sh")
            .arg(path)
            .arg(self.sandbox.dir.path())
            .arg(self.variant)
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.sandbox.variables().iter());
        command
    }

    fn git(&self, args: &[&str]) -> String {
        let output = self
            .command("git")
            .arg("-C")
            .arg(self.sandbox.path("repo"))
            .args(args)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn clone(&self, access: &Access) -> Mirror {
        Mirror::of_clone(&self.sandbox.path("repo"), access).unwrap()
    }

    /// Changes `a: old` to `a: new` in these files of `HEAD`, as a new branch.
    fn act(&self, access: &Access, files: &[&str]) -> Result<Commit, Fault> {
        let mirror = self.clone(access);
        let head = mirror.resolve("HEAD")?;
        let tree = mirror.tree(&head)?;
        let mut edits = vec![];
        for path in files {
            let before = tree.read(path)?.unwrap_or_default();
            let after = String::from_utf8(before.clone())
                .unwrap()
                .replace("a: old", "a: new");
            edits.push(Edit {
                path: (*path).to_owned(),
                before: Some(before),
                after: Some(after.into_bytes()),
            });
        }
        let identity = mirror.identity()?;
        mirror.commit(&head, "drift/test", &edits, "set a", &identity)
    }

    fn take_over(&self) {
        self.git(&["merge", "-q", "--ff-only", "drift/test"]);
    }

    fn check(&self) {
        let (passed, text) = self.script("check.sh");
        assert!(passed, "{} {}:\n{text}", self.name, self.variant);
    }
}

#[test]
fn r01_links_and_modes() {
    let Some(case) = Case::new("R01", "", &[]) else {
        return;
    };
    let made = case
        .act(
            &case.sandbox.access(),
            &["app/common.yaml", "app/exec.yaml"],
        )
        .unwrap();
    assert_eq!(made.files, ["app/exec.yaml", "shared/common.yaml"]);
    case.take_over();
    case.check();
}

#[test]
fn r02_submodules_and_lfs_pointers() {
    let Some(case) = Case::new("R02", "", &[]) else {
        return;
    };
    let access = case.sandbox.access();
    let submodule = case.act(&access, &["modules/sub/cm.yaml"]).unwrap_err();
    assert!(
        submodule.sentence.contains("submodule modules/sub"),
        "{submodule}"
    );
    let mirror = case.clone(&access);
    let head = mirror.resolve("HEAD").unwrap();
    let over = Edit {
        path: "data.big.yaml".into(),
        before: None,
        after: Some(b"a: new\n".to_vec()),
    };
    let identity = mirror.identity().unwrap();
    let pointer = mirror
        .commit(&head, "drift/test", &[over], "m", &identity)
        .unwrap_err();
    assert!(pointer.sentence.contains("Git LFS pointer"), "{pointer}");
    case.check();
}

#[test]
fn r04_identity_as_git_decides() {
    for variant in ["none", "hasconfig", "gitdir", "env"] {
        let Some(case) = Case::new("R04", variant, &[]) else {
            return;
        };
        let mut variables = case.sandbox.variables();
        if variant == "env" {
            for (name, value) in [("NAME", "Env Person"), ("EMAIL", "env@example.test")] {
                variables = variables
                    .with(format!("GIT_AUTHOR_{name}"), value)
                    .with(format!("GIT_COMMITTER_{name}"), value);
            }
        }
        let access = Access::new(variables, Timeouts::default());
        match (variant, case.act(&access, &["a.yaml"])) {
            ("none", Err(fault)) => {
                assert_eq!(fault.kind, FaultKind::Config);
                assert!(fault.hint.unwrap().contains("user.email"));
            }
            ("none", Ok(made)) => panic!("nobody committed {}", made.id),
            (_, made) => {
                made.unwrap();
                case.take_over();
            }
        }
        case.check();
    }
}

#[test]
fn r05_signatures() {
    for variant in ["ssh", "broken", "off"] {
        let Some(case) = Case::new("R05", variant, &["ssh-keygen"]) else {
            return;
        };
        match (variant, case.act(&case.sandbox.access(), &["a.yaml"])) {
            ("broken", result) => {
                let fault = result.unwrap_err();
                assert_eq!(fault.kind, FaultKind::Refused, "{fault}");
            }
            (_, made) => {
                assert_eq!(made.unwrap().signed, variant == "ssh");
                case.take_over();
            }
        }
        case.check();
    }
}

#[test]
fn r07_extensions_partial_shallow_worktrees() {
    for variant in [
        "partial",
        "worktreeconfig",
        "shallow",
        "unknown",
        "worktree",
    ] {
        let Some(case) = Case::new("R07", variant, &[]) else {
            return;
        };
        let access = case.sandbox.access();
        let mirror = case.clone(&access);
        let head = mirror.resolve("HEAD").unwrap();
        assert!(
            mirror
                .tree(&head)
                .unwrap()
                .read("a.yaml")
                .unwrap()
                .is_some(),
            "{variant}: files can be read"
        );
        let log = mirror.log(None, &head, 10).unwrap();
        assert_eq!(
            log.len(),
            if variant == "shallow" { 1 } else { 3 },
            "{variant}"
        );
        let made = case.act(&access, &["a.yaml"]);
        let known = case
            .command("git")
            .arg("-C")
            .arg(case.sandbox.path("repo"))
            .arg("status")
            .output()
            .unwrap();
        if variant == "unknown" && !known.status.success() {
            let fault = made.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Unsupported);
            assert!(fault.sentence.contains("relativeworktrees"), "{fault}");
            continue;
        }
        let made = made.unwrap_or_else(|f| panic!("{variant}: {f:?}"));
        assert_eq!(case.git(&["status", "--porcelain"]), "", "{variant}");
        let pushed = mirror
            .push("drift/test")
            .unwrap_or_else(|f| panic!("{variant}: {f:?}"));
        assert_eq!(pushed.commit, made.id);
        assert_eq!(
            case.git(&["ls-remote", "origin", "drift/test"])
                .split('\t')
                .next(),
            Some(made.id.as_str())
        );
    }
}

#[test]
fn r08_push_refused_behind_gone() {
    for (variant, kind, word) in [
        ("protected", FaultKind::Refused, "GH006"),
        ("behind", FaultKind::Conflict, "another branch `main`"),
        ("gone", FaultKind::Conflict, "deleted on the server"),
    ] {
        let Some(case) = Case::new("R08", variant, &[]) else {
            return;
        };
        let access = case.sandbox.access();
        let made = case.act(&access, &["a.yaml"]).unwrap();
        case.take_over();
        let fault = case.clone(&access).push("main").unwrap_err();
        assert_eq!(fault.kind, kind, "{variant}: {fault:?}");
        assert!(format!("{fault:?}").contains(word), "{variant}: {fault:?}");
        assert_eq!(
            case.git(&["rev-parse", "main"]),
            made.id,
            "{variant}: the commit is kept"
        );
        case.check();
    }
}
