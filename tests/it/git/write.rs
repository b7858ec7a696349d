//! Commits and pushes: what lands in the repository, and what is refused before anything is written.

use git2::Repository;
use gitops_tui::domain::fault::FaultKind;
use gitops_tui::world::git::{Access, Edit, Identity, Mirror, Person, Timeouts};

use super::{Sandbox, add, read};

pub(super) fn somebody() -> Identity {
    let person = Person {
        name: "Ada".into(),
        email: "ada@example.test".into(),
        time: 1_700_000_100,
        offset: 60,
    };
    Identity {
        author: person.clone(),
        committer: person,
    }
}

fn edit(path: &str, before: &str, after: &str) -> Edit {
    Edit {
        path: path.into(),
        before: Some(before.into()),
        after: Some(after.into()),
    }
}

fn fetched(sandbox: &Sandbox, files: &[(&str, &str)]) -> (Mirror, String) {
    let (url, commit) = sandbox.origin(files);
    let mirror = sandbox.mirror(&url);
    mirror.fetch(&mut |_| true).unwrap();
    (mirror, commit)
}

#[test]
fn a_commit_changes_its_files_only() {
    let sandbox = Sandbox::new();
    let (mirror, base) = fetched(
        &sandbox,
        &[
            ("a.yaml", "a: 1\n"),
            ("exec:run.yaml", "b: 1\n"),
            ("gone.yaml", "x"),
            ("deep/down/c", "c"),
        ],
    );
    let edits = [
        edit("a.yaml", "a: 1\n", "a: 2\n"),
        edit("run.yaml", "b: 1\n", "b: 2\n"),
        edit("new/folder/d.yaml", "", "d: 1\n"),
        Edit {
            path: "gone.yaml".into(),
            before: None,
            after: None,
        },
    ];
    let made = mirror
        .commit(&base, "drift/x", &edits, "subject\n\nbody", &somebody())
        .unwrap();
    assert_eq!(
        made.files,
        ["a.yaml", "gone.yaml", "new/folder/d.yaml", "run.yaml"]
    );
    assert_eq!((made.branch.as_str(), made.signed), ("drift/x", false));
    let changed: Vec<_> = mirror
        .changed(&base, &made.id, "")
        .unwrap()
        .into_iter()
        .map(|c| c.path)
        .collect();
    assert_eq!(changed, made.files);
    assert_eq!(read(&mirror, &made.id, "a.yaml").as_deref(), Some("a: 2\n"));
    let repository = Repository::open(mirror.dir()).unwrap();
    let commit = repository
        .find_commit(git2::Oid::from_str(&made.id).unwrap())
        .unwrap();
    let mode = |path: &str| {
        commit
            .tree()
            .unwrap()
            .get_path(path.as_ref())
            .unwrap()
            .filemode()
    };
    assert_eq!((mode("a.yaml"), mode("run.yaml")), (0o100_644, 0o100_755));
    assert_eq!(commit.message().unwrap(), "subject\n\nbody\n");
    assert_eq!(commit.author().when().offset_minutes(), 60);
    assert_eq!(mirror.tip("drift/x").unwrap(), made.id);

    // The name is taken now: the next one is used, and the first branch stays where it is.
    let again = mirror
        .commit(&base, "drift/x", &edits[..1], "m", &somebody())
        .unwrap();
    assert_eq!(again.branch, "drift/x-2");
    assert_eq!(mirror.tip("drift/x").unwrap(), made.id);
    mirror.discard("drift/x-2", &again.id).unwrap();
    assert!(mirror.tip("drift/x-2").is_err());
}

#[test]
fn what_must_not_be_written_is_refused_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 12\n";
    let (mirror, base) = fetched(
        &sandbox,
        &[
            ("a.yaml", "a: 1\n"),
            ("link:out", "../x"),
            ("link:in", "a.yaml"),
            ("big", pointer),
            ("crypt", "\0GITCRYPT\0x"),
        ],
    );
    let try_one = |edit: Edit| {
        mirror
            .commit(&base, "b", &[edit], "m", &somebody())
            .unwrap_err()
    };
    for (edit, kind) in [
        (edit("a.yaml", "a: 0\n", "a: 2\n"), FaultKind::Conflict),
        (edit("a.yaml", "a: 1\n", "a: 1\n"), FaultKind::Refused),
        (edit("none.yaml", "a: 1\n", "a: 2\n"), FaultKind::Conflict),
        (edit("out", "", "a: 2\n"), FaultKind::Refused),
        (edit("big", pointer, "a: 2\n"), FaultKind::Refused),
        (edit("crypt", "\0GITCRYPT\0x", "a: 2\n"), FaultKind::Refused),
        (edit("a.yaml/b", "", "a: 2\n"), FaultKind::Refused),
        (edit("../a", "", "a: 2\n"), FaultKind::Refused),
        (edit(".git/config", "", "a: 2\n"), FaultKind::Refused),
        (
            Edit {
                path: "in".into(),
                before: None,
                after: None,
            },
            FaultKind::Refused,
        ),
    ] {
        let path = edit.path.clone();
        assert_eq!(try_one(edit).kind, kind, "{path}");
    }
    let twice = [
        edit("a.yaml", "a: 1\n", "a: 2\n"),
        edit("in", "a: 1\n", "a: 3\n"),
    ];
    assert!(mirror.commit(&base, "b", &twice, "m", &somebody()).is_err());
    for name in ["a b", "-x", "HEAD", "a..b", ""] {
        let ok = [edit("a.yaml", "a: 1\n", "a: 2\n")];
        let fault = mirror
            .commit(&base, name, &ok, "m", &somebody())
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Usage, "{name}");
    }
    let repository = Repository::open(mirror.dir()).unwrap();
    assert_eq!(
        repository
            .branches(Some(git2::BranchType::Local))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn a_push_makes_a_branch_and_never_takes_one_over() {
    let sandbox = Sandbox::new();
    if !sandbox.access().has_program() {
        eprintln!("skipped: git is not installed");
        return;
    }
    let (mirror, base) = fetched(&sandbox, &[("a.yaml", "a: 1\n")]);
    let edits = [edit("a.yaml", "a: 1\n", "a: 2\n")];
    let made = mirror
        .commit(&base, "drift/x", &edits, "m", &somebody())
        .unwrap();
    let pushed = mirror.push("drift/x").unwrap();
    assert_eq!(
        (pushed.commit.as_str(), pushed.already),
        (made.id.as_str(), false)
    );
    let origin = Repository::open(mirror.url().unwrap().path.as_str()).unwrap();
    let at = |name: &str| {
        origin
            .find_reference(name)
            .unwrap()
            .target()
            .unwrap()
            .to_string()
    };
    assert_eq!(at("refs/heads/drift/x"), made.id);
    assert!(
        mirror.push("drift/x").unwrap().already,
        "a retry repeats nothing"
    );

    // Somebody else's branch of the same name, even one that ours would only move forward.
    let mine = mirror
        .commit(&base, "theirs", &edits, "m", &somebody())
        .unwrap();
    origin
        .reference(
            "refs/heads/theirs",
            git2::Oid::from_str(&base).unwrap(),
            false,
            "",
        )
        .unwrap();
    let fault = mirror.push("theirs").unwrap_err();
    assert_eq!(
        (fault.kind, at("refs/heads/theirs")),
        (FaultKind::Conflict, base.clone())
    );
    assert_eq!(
        mirror.resolve("refs/heads/theirs").unwrap(),
        mine.id,
        "the commit is kept"
    );

    add(&origin, "refs/heads/drift/x", &[("b", "")], "on top");
    assert_eq!(
        mirror.push("drift/x").unwrap_err().kind,
        FaultKind::Conflict
    );
    assert_eq!(mirror.push("none").unwrap_err().kind, FaultKind::NotFound);
}

#[test]
fn the_users_clone_keeps_its_index_and_its_dirt() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("clone");
    let repository = Repository::init(&path).unwrap();
    let base = add(
        &repository,
        "refs/heads/main",
        &[("a.yaml", "a: 1\n")],
        "first",
    );
    repository.set_head("refs/heads/main").unwrap();
    repository
        .checkout_head(Some(git2::build::CheckoutBuilder::new().force()))
        .unwrap();
    std::fs::write(path.join("a.yaml"), "a: dirty\n").unwrap();
    let index = std::fs::read(path.join(".git/index")).unwrap();
    let sub = path.join("sub");
    std::fs::create_dir(&sub).unwrap();

    let mirror = Mirror::of_clone(&sub, &sandbox.access()).unwrap();
    assert!(mirror.is_own_clone());
    assert_eq!(mirror.resolve("HEAD").unwrap(), base);
    let made = mirror
        .commit(
            &base,
            "b",
            &[edit("a.yaml", "a: 1\n", "a: 2\n")],
            "m",
            &somebody(),
        )
        .unwrap();
    assert_eq!(
        std::fs::read_to_string(path.join("a.yaml")).unwrap(),
        "a: dirty\n"
    );
    assert_eq!(std::fs::read(path.join(".git/index")).unwrap(), index);
    assert_eq!(mirror.resolve("main").unwrap(), base);
    assert_eq!(mirror.resolve("b").unwrap(), made.id);
    assert_eq!(
        mirror.fetch(&mut |_| true).unwrap_err().kind,
        FaultKind::Git,
        "no remote to fetch"
    );
}

/// A clone with one commit, and hooks as given.
#[cfg(unix)]
fn hooked(sandbox: &Sandbox, hooks: &[(&str, &str)]) -> (Mirror, String) {
    use std::os::unix::fs::PermissionsExt as _;
    let (url, base) = sandbox.origin(&[("a.yaml", "a: 1\n"), ("b", "b")]);
    let path = sandbox.path("clone");
    Repository::clone(&url, &path).unwrap();
    for (name, script) in hooks {
        let hook = path.join(".git/hooks").join(name);
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    (Mirror::of_clone(&path, &sandbox.access()).unwrap(), base)
}

#[cfg(unix)]
#[test]
fn hooks_are_honoured_and_the_users_tree_is_not_touched() {
    let sandbox = Sandbox::new();
    if !sandbox.access().has_program() {
        eprintln!("skipped: git is not installed");
        return;
    }
    let (mirror, base) = hooked(
        &sandbox,
        &[
            (
                "pre-commit",
                "cat a.yaml b > \"$HOME/seen\"; git diff --cached --name-only >> \"$HOME/seen\"",
            ),
            ("commit-msg", "echo \"Reviewed-by: hook\" >> \"$1\""),
            ("post-checkout", "echo ran > \"$HOME/checkout\""),
            (
                "pre-push",
                "cat > \"$HOME/pushed\"; case $(cat \"$HOME/pushed\") in *no/*) echo not this one; exit 1;; esac",
            ),
        ],
    );
    let clone = sandbox.path("clone");
    std::fs::write(clone.join("b"), "dirty").unwrap();
    let index = std::fs::read(clone.join(".git/index")).unwrap();
    let edits = [edit("a.yaml", "a: 1\n", "a: 2\n")];
    let made = mirror
        .commit(&base, "yes/x", &edits, "subject\n\n# kept", &somebody())
        .unwrap();
    assert!(made.notes[0].contains("pre-commit, commit-msg"), "{made:?}");
    assert_eq!(
        std::fs::read_to_string(sandbox.path("home/seen")).unwrap(),
        "a: 2\nba.yaml\n"
    );
    let info = mirror.info(&made.id).unwrap();
    assert_eq!(
        (info.author.as_str(), info.time, info.parents),
        ("Ada", 1_700_000_100, vec![base.clone()])
    );
    assert_eq!(info.body, "# kept\nReviewed-by: hook");
    assert!(!sandbox.path("home/checkout").exists());
    assert_eq!(std::fs::read_to_string(clone.join("b")).unwrap(), "dirty");
    assert_eq!(std::fs::read(clone.join(".git/index")).unwrap(), index);
    assert_eq!(mirror.resolve("HEAD").unwrap(), base);
    let left = std::fs::read_dir(clone.join(".git/worktrees")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "the worktree is taken away");

    mirror.push("yes/x").unwrap();
    let pushed = std::fs::read_to_string(sandbox.path("home/pushed")).unwrap();
    assert_eq!(
        pushed,
        format!(
            "refs/heads/yes/x {} refs/heads/yes/x {}\n",
            made.id,
            "0".repeat(40)
        )
    );
    mirror
        .commit(&base, "no/x", &edits, "m", &somebody())
        .unwrap();
    let fault = mirror.push("no/x").unwrap_err();
    assert_eq!(
        (fault.kind, fault.causes[0].as_str()),
        (FaultKind::Refused, "not this one")
    );

    let without = Mirror::of_clone(&clone, &sandbox.access().without_program()).unwrap();
    let fault = without
        .commit(&base, "z", &edits, "m", &somebody())
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Refused, "refused, not skipped");
}

#[cfg(unix)]
#[test]
fn a_hook_that_refuses_or_rewrites_leaves_no_branch() {
    for (script, word) in [
        ("echo secrets found >&2; exit 1", "secrets found"),
        ("echo c >> a.yaml; git add a.yaml", "not proven"),
    ] {
        let sandbox = Sandbox::new();
        if !sandbox.access().has_program() {
            eprintln!("skipped: git is not installed");
            return;
        }
        let (mirror, base) = hooked(&sandbox, &[("pre-commit", script)]);
        let edits = [edit("a.yaml", "a: 1\n", "a: 2\n")];
        let fault = mirror
            .commit(&base, "x", &edits, "m", &somebody())
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Refused);
        assert!(fault.causes[0].contains(word), "{fault:?}");
        assert!(mirror.resolve("refs/heads/x").is_err());
    }
}

#[test]
fn addresses_that_the_configuration_replaces() {
    let sandbox = Sandbox::new();
    if !sandbox.access().has_program() {
        eprintln!("skipped: git is not installed");
        return;
    }
    let (url, base) = sandbox.origin(&[("a.yaml", "a: 1\n")]);
    let aside = Repository::init_bare(sandbox.path("aside.git")).unwrap();
    let config = format!(
        "[url \"{url}\"]\n\tinsteadOf = https://git.example.test/fleet\n[url \"{}\"]\n\tpushInsteadOf = https://git.example.test/fleet\n",
        sandbox.path("aside.git").display()
    );
    std::fs::write(sandbox.path("home/.gitconfig"), config).unwrap();
    let mirror = sandbox.mirror("https://git.example.test/fleet");
    mirror.fetch(&mut |_| true).unwrap();
    assert_eq!(mirror.tip("main").unwrap(), base);
    let made = mirror
        .commit(
            &base,
            "x",
            &[edit("a.yaml", "a: 1\n", "a: 2\n")],
            "m",
            &somebody(),
        )
        .unwrap();
    mirror.push("x").unwrap();
    assert_eq!(
        aside
            .find_reference("refs/heads/x")
            .unwrap()
            .target()
            .unwrap()
            .to_string(),
        made.id
    );
    assert!(
        Repository::open(&url)
            .unwrap()
            .find_reference("refs/heads/x")
            .is_err()
    );
}

/// A key made on the spot; gpg verifies what we signed.
#[test]
fn gpg_signs_and_verifies() {
    let sandbox = Sandbox::new();
    let home = sandbox.path("home/.gnupg");
    std::fs::create_dir(&home).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&home, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let run = |program: &str, args: &[&str]| {
        let mut command = std::process::Command::new(program);
        command
            .env_clear()
            .envs(sandbox.variables().iter())
            .env("GNUPGHOME", &home)
            .args(args)
            .output()
    };
    let user = "Ada <ada@example.test>";
    let key = run(
        "gpg",
        &[
            "--batch",
            "--passphrase",
            "",
            "--quick-generate-key",
            user,
            "ed25519",
            "sign",
            "never",
        ],
    );
    if !key.is_ok_and(|k| k.status.success()) || !sandbox.access().has_program() {
        eprintln!("skipped: gpg made no key, or git is not installed");
        return;
    }
    std::fs::write(
        sandbox.path("home/.gitconfig"),
        "[commit]\n\tgpgSign = true\n",
    )
    .unwrap();
    let (url, base) = sandbox.origin(&[("a.yaml", "a: 1\n")]);
    let variables = sandbox
        .variables()
        .with("GNUPGHOME", home.display().to_string());
    let access = Access::new(variables, Timeouts::default());
    let mirror = Mirror::open(&sandbox.path("cache"), &url, &access).unwrap();
    mirror.fetch(&mut |_| true).unwrap();
    let edits = [edit("a.yaml", "a: 1\n", "a: 2\n")];
    let made = mirror.commit(&base, "x", &edits, "m", &somebody()).unwrap();
    assert!(made.signed);
    let dir = mirror.dir().display().to_string();
    let good = run("git", &["-C", &dir, "log", "-1", "--format=%G?", &made.id]).unwrap();
    assert!(matches!(good.stdout.first(), Some(b'G' | b'U')), "{good:?}");

    let mut stranger = somebody();
    stranger.committer.email = "nobody@example.test".into();
    let fault = mirror
        .commit(&base, "y", &edits, "m", &stranger)
        .unwrap_err();
    assert_eq!(
        fault.kind,
        FaultKind::Refused,
        "no key for that committer: {fault:?}"
    );
    drop(run("gpgconf", &["--kill", "all"]));
}
