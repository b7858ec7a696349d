//! Git at its doors: temporary repositories, a sandboxed home and configuration, real servers on loopback.
//!
//! Fixtures are written with libgit2, so that most of it runs without the `git` program; what needs a program says so
//! and stops where it is missing.

#![expect(clippy::print_stderr, reason = "a test that cannot run here says so")]

mod cases;
mod http;
mod ssh;
mod write;

use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{Repository, Signature, Time};
use gitops_tui::domain::fault::FaultKind;
use gitops_tui::domain::render::{EntryKind, Tree as _};
use gitops_tui::domain::settings::Variables;
use gitops_tui::world::git::{Access, FileStatus, Mirror, Timeouts};

/// A folder of its own with a home that holds no configuration but the test's.
struct Sandbox {
    dir: tempfile::TempDir,
}

impl Sandbox {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("home")).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn variables(&self) -> Variables {
        let home = self.path("home");
        [
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("HOME".to_owned(), home.display().to_string()),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
            (
                "GIT_CONFIG_GLOBAL".to_owned(),
                home.join(".gitconfig").display().to_string(),
            ),
        ]
        .into_iter()
        .collect()
    }

    fn access(&self) -> Access {
        Access::new(self.variables(), Timeouts::default())
    }

    fn mirror(&self, url: &str) -> Mirror {
        Mirror::open(&self.path("cache"), url, &self.access()).unwrap()
    }

    /// Writes a bare repository `origin.git` whose `main` holds these files, and returns its path and commit.
    fn origin(&self, files: &[(&str, &str)]) -> (String, String) {
        let path = self.path("origin.git");
        let repository = Repository::init_bare(&path).unwrap();
        let commit = add(&repository, "refs/heads/main", files, "first");
        repository.set_head("refs/heads/main").unwrap();
        (path.display().to_string(), commit)
    }
}

/// Commits files (mode by prefix: `link:`, `exec:`) on top of a branch of a repository.
fn add(repository: &Repository, branch: &str, files: &[(&str, &str)], message: &str) -> String {
    let parent = repository
        .find_reference(branch)
        .ok()
        .map(|r| r.peel_to_commit().unwrap());
    let empty = repository.treebuilder(None).unwrap().write().unwrap();
    let base = repository
        .find_tree(parent.as_ref().map_or(empty, git2::Commit::tree_id))
        .unwrap();
    let mut update = git2::build::TreeUpdateBuilder::new();
    for (path, text) in files {
        let (path, mode) = match path.split_once(':') {
            Some(("link", path)) => (path, git2::FileMode::Link),
            Some(("exec", path)) => (path, git2::FileMode::BlobExecutable),
            _ => (*path, git2::FileMode::Blob),
        };
        update.upsert(path, repository.blob(text.as_bytes()).unwrap(), mode);
    }
    let tree = update.create_updated(repository, &base).unwrap();
    let who = Signature::new(
        "Origin",
        "origin@example.test",
        &Time::new(1_700_000_000, 0),
    )
    .unwrap();
    let parents: Vec<_> = parent.iter().collect();
    let tree = repository.find_tree(tree).unwrap();
    repository
        .commit(Some(branch), &who, &who, message, &tree, &parents)
        .unwrap()
        .to_string()
}

fn read(mirror: &Mirror, commit: &str, path: &str) -> Option<String> {
    let bytes = mirror.tree(commit).unwrap().read(path).unwrap()?;
    Some(String::from_utf8(bytes).unwrap())
}

#[test]
fn a_mirror_follows_its_source() {
    let sandbox = Sandbox::new();
    let (url, first) = sandbox.origin(&[("apps/web.yaml", "a: 1\n"), ("README", "hi")]);
    let mirror = sandbox.mirror(&url);
    let fetched = mirror.fetch(&mut |_| true).unwrap();
    assert_eq!(fetched.default_branch.as_deref(), Some("main"));
    assert_eq!(mirror.tip("main").unwrap(), first);
    assert_eq!(mirror.default_branch().as_deref(), Some("main"));

    let origin = Repository::open(&url).unwrap();
    let second = add(
        &origin,
        "refs/heads/main",
        &[("apps/web.yaml", "a: 2\n"), ("apps/new.yaml", "")],
        "second\n\nwhy",
    );
    add(&origin, "refs/heads/side", &[("x", "")], "side");
    let object = origin.revparse_single(&second).unwrap();
    origin.tag_lightweight("v1", &object, false).unwrap();
    assert_eq!(
        mirror.tip("main").unwrap(),
        first,
        "only a fetch moves a mirror"
    );
    let fetched = mirror.fetch(&mut |_| true).unwrap();
    assert!(
        fetched
            .changed
            .iter()
            .any(|c| c.name == "refs/remotes/origin/main"
                && c.from.as_ref() == Some(&first)
                && c.to.as_ref() == Some(&second))
    );

    for rev in [
        "main",
        "HEAD",
        "v1",
        "refs/tags/v1",
        &second[..10],
        &format!("main@sha1:{second}"),
    ] {
        assert_eq!(mirror.resolve(rev).unwrap(), second, "{rev}");
    }
    assert_eq!(
        mirror.resolve("nope").unwrap_err().kind,
        FaultKind::NotFound
    );
    assert_eq!(
        read(&mirror, &first, "apps/web.yaml").as_deref(),
        Some("a: 1\n")
    );
    assert_eq!(
        read(&mirror, &second, "apps/web.yaml").as_deref(),
        Some("a: 2\n")
    );

    let changed: Vec<_> = mirror
        .changed(&first, &second, "apps")
        .unwrap()
        .into_iter()
        .map(|c| (c.path, c.status))
        .collect();
    assert_eq!(
        changed,
        [
            ("apps/new.yaml".to_owned(), FileStatus::Added),
            ("apps/web.yaml".to_owned(), FileStatus::Changed)
        ]
    );
    let info = mirror.info(&second).unwrap();
    assert_eq!(
        (
            info.subject.as_str(),
            info.body.as_str(),
            info.author.as_str(),
            info.time
        ),
        ("second", "why", "Origin", 1_700_000_000)
    );
    assert_eq!(mirror.log(Some(&first), &second, 10).unwrap().len(), 1);
    assert_eq!(mirror.ahead_behind(&first, &second).unwrap(), (1, 0));

    origin
        .find_reference("refs/heads/side")
        .unwrap()
        .delete()
        .unwrap();
    mirror.fetch(&mut |_| true).unwrap();
    assert_eq!(
        mirror.tip("side").unwrap_err().kind,
        FaultKind::NotFound,
        "a deleted branch is pruned"
    );
}

#[test]
fn a_folder_is_fetched_without_the_git_program_too() {
    let sandbox = Sandbox::new();
    let (url, commit) = sandbox.origin(&[("a", "1")]);
    let access = sandbox.access().without_program();
    let mirror = Mirror::open(&sandbox.path("cache"), &url, &access).unwrap();
    mirror.fetch(&mut |_| true).unwrap();
    assert_eq!(mirror.tip("main").unwrap(), commit);
}

#[test]
fn trees_follow_links_inside_and_refuse_those_that_leave() {
    let sandbox = Sandbox::new();
    let (url, commit) = sandbox.origin(&[
        ("shared/common.yaml", "a: 1\n"),
        ("link:app/common.yaml", "../shared/common.yaml"),
        ("link:linked", "app"),
        ("link:out", "../../etc/passwd"),
        ("link:root", "/etc/passwd"),
        ("link:a", "b"),
        ("link:b", "a"),
        ("exec:run", "#!"),
    ]);
    let mirror = sandbox.mirror(&url);
    mirror.fetch(&mut |_| true).unwrap();
    let tree = mirror.tree(&commit).unwrap();
    assert_eq!(
        tree.read("linked/common.yaml").unwrap().as_deref(),
        Some(&b"a: 1\n"[..])
    );
    assert_eq!(
        tree.real_path("linked/common.yaml").unwrap().as_deref(),
        Some("shared/common.yaml")
    );
    assert_eq!(tree.read("app").unwrap(), None);
    assert_eq!(tree.read("app/none").unwrap(), None);
    assert_eq!(tree.list("none").unwrap(), None);
    for leaving in ["out", "root"] {
        assert_eq!(
            tree.read(leaving).unwrap_err().kind,
            FaultKind::Refused,
            "{leaving}"
        );
    }
    assert_eq!(tree.read("a").unwrap_err().kind, FaultKind::Render);
    let kinds: Vec<_> = tree
        .list("")
        .unwrap()
        .unwrap()
        .into_iter()
        .map(|e| (e.name, e.kind))
        .collect();
    assert!(kinds.contains(&("app".to_owned(), EntryKind::Directory)));
    assert!(kinds.contains(&("linked".to_owned(), EntryKind::Link)));
    assert!(kinds.contains(&("run".to_owned(), EntryKind::File)));
    assert_eq!(tree.list("linked").unwrap().unwrap().len(), 1);
}

#[test]
fn faults_name_address_method_and_next_step() {
    let sandbox = Sandbox::new();
    let access = Access::new(
        sandbox.variables(),
        Timeouts {
            connect: Duration::from_secs(2),
            ..Timeouts::default()
        },
    );
    let open = |url: &str| Mirror::open(&sandbox.path("cache"), url, &access);
    let missing = open(&sandbox.path("none").display().to_string()).unwrap_err();
    assert_eq!(missing.kind, FaultKind::NotFound);

    let empty = sandbox.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let shown = |p: &Path| p.canonicalize().unwrap().display().to_string();
    let fault = open(&empty.display().to_string())
        .unwrap()
        .fetch(&mut |_| true)
        .unwrap_err();
    assert_eq!(
        fault.sentence,
        format!("cannot fetch {} over file", shown(&empty))
    );
    assert!(
        fault.hint.is_some() && !fault.causes.is_empty(),
        "{fault:?}"
    );

    // Nothing listens on the port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("https://bob:hunter2@127.0.0.1:{port}/a.git");
    let fault = open(&url).unwrap().fetch(&mut |_| true).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unreachable, "{fault:?}");
    assert_eq!(
        fault.sentence,
        format!("cannot fetch https://127.0.0.1:{port}/a.git over https")
    );
    assert!(!format!("{fault:?}").contains("hunter2"));
}

#[test]
fn ranges_pick_the_newest_tag() {
    let sandbox = Sandbox::new();
    let (url, first) = sandbox.origin(&[("a", "1")]);
    let origin = Repository::open(&url).unwrap();
    let second = add(&origin, "refs/heads/main", &[("a", "2")], "second");
    for (tag, commit) in [
        ("v1.2.0", &first),
        ("v1.10.0", &second),
        ("v2.0.0-rc.1", &second),
        ("1.11", &first),
        ("main-2", &first),
    ] {
        let object = origin.revparse_single(commit).unwrap();
        let who = Signature::new("O", "o@example.test", &Time::new(1_700_000_000, 0)).unwrap();
        origin.tag(tag, &object, &who, "annotated", false).unwrap();
    }
    let mirror = sandbox.mirror(&url);
    mirror.fetch(&mut |_| true).unwrap();
    assert_eq!(
        mirror.newest_tag("1.x").unwrap(),
        ("v1.10.0".to_owned(), second.clone()),
        "Flux wants three numbers"
    );
    assert_eq!(
        mirror.resolve("1.x").unwrap(),
        first,
        "Argo CD takes 1.11 too"
    );
    assert_eq!(mirror.resolve(">=1.2.0 <1.3.0").unwrap(), first);
    assert_eq!(
        mirror.newest_tag(">=3").unwrap_err().kind,
        FaultKind::NotFound
    );
    assert_eq!(
        mirror.newest_tag("main").unwrap_err().kind,
        FaultKind::Config
    );
}

#[test]
fn what_no_branch_leads_to_can_be_wanted() {
    let sandbox = Sandbox::new();
    if !sandbox.access().has_program() {
        eprintln!("skipped: git is not installed");
        return;
    }
    let (url, first) = sandbox.origin(&[("a", "1")]);
    let origin = Repository::open(&url).unwrap();
    let pull = add(&origin, "refs/pull/7/head", &[("p", "")], "pull");
    let gone = add(&origin, "refs/heads/main", &[("a", "2")], "rewritten away");
    origin
        .reference(
            "refs/heads/main",
            git2::Oid::from_str(&first).unwrap(),
            true,
            "",
        )
        .unwrap();
    origin
        .config()
        .unwrap()
        .set_bool("uploadpack.allowAnySHA1InWant", true)
        .unwrap();
    let mirror = sandbox.mirror(&url);
    mirror.fetch(&mut |_| true).unwrap();
    assert!(mirror.resolve(&gone).is_err() && mirror.resolve("refs/pull/7/head").is_err());
    assert_eq!(
        mirror.want("refs/pull/7/head", &mut |_| true).unwrap(),
        pull
    );
    assert_eq!(
        mirror
            .want(&format!("main@sha1:{gone}"), &mut |_| true)
            .unwrap(),
        gone
    );
    assert_eq!(mirror.want("main", &mut |_| true).unwrap(), first);
    mirror.fetch(&mut |_| true).unwrap();
    assert_eq!(mirror.resolve(&gone).unwrap(), gone, "kept after a fetch");
    assert_eq!(
        mirror.want("nope", &mut |_| true).unwrap_err().kind,
        FaultKind::NotFound
    );
}

#[test]
fn what_libgit2_cannot_read_is_named() {
    let sandbox = Sandbox::new();
    let made = std::process::Command::new("git")
        .args(["init", "-q", "--object-format=sha256"])
        .arg(sandbox.path("sha256"))
        .output();
    if !made.is_ok_and(|m| m.status.success()) {
        eprintln!("skipped: git is not installed, or makes no SHA-256 repositories");
        return;
    }
    let path = sandbox.path("sha256");
    let fault = Mirror::of_clone(&path, &sandbox.access()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unsupported, "{fault:?}");
    std::fs::write(path.join("a"), "1").unwrap();
    let script =
        "cd $0 && git add a && git -c user.name=a -c user.email=a@example.test commit -qm a";
    let commit = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(&path)
        .status();
    assert!(commit.unwrap().success());
    let fault = sandbox
        .mirror(&path.display().to_string())
        .fetch(&mut |_| true)
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unsupported, "{fault:?}");
    assert!(fault.hint.is_some());
}

#[test]
fn a_broken_mirror_says_what_to_delete() {
    let sandbox = Sandbox::new();
    let (url, _) = sandbox.origin(&[("a", "1")]);
    let mirror = sandbox.mirror(&url);
    mirror.fetch(&mut |_| true).unwrap();
    std::fs::write(mirror.dir().join("config"), "[core\n").unwrap();
    let fault = mirror.tip("main").unwrap_err();
    assert!(
        fault
            .hint
            .unwrap()
            .contains(&mirror.dir().display().to_string())
    );
}
