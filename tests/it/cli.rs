//! The built program as a black box: what each command prints, where, and how it ends; and what it says to bad input.
//!
//! The environment is cleared, so that no kubeconfig and no setting of the machine gets in. A run of the demo takes a
//! second or two: one run serves several assertions.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::folder::corpus;

const PROGRAM: &str = env!("CARGO_BIN_EXE_gitops-tui");

/// A folder of one test: files are written into it, and commands run in it.
struct Room(tempfile::TempDir);

struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Room {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, given as `folder/name`.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path().join("home"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        let Output {
            status,
            stdout,
            stderr,
        } = self.command(args).output().unwrap();
        let ran = Ran {
            code: status.code().unwrap_or(-1),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        };
        for ugly in ["panicked at", "RUST_BACKTRACE", "stack backtrace", "\u{1b}"] {
            assert!(
                !ran.err.contains(ugly),
                "{args:?} says {ugly:?}: {}",
                ran.err
            );
        }
        ran
    }

    /// Runs and asserts the exit code and what standard error says, part by part.
    fn says(&self, args: &[&str], code: i32, parts: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.out, ran.err);
        for part in parts {
            assert!(
                ran.err.contains(part),
                "{args:?}: no {part:?} in: {}",
                ran.err
            );
        }
        ran
    }
}

impl Ran {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn word(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the keys of a mapping that are not there.
fn lacking<'k>(value: &Value, keys: &[&'k str]) -> Vec<&'k str> {
    let keys = keys.iter().copied();
    keys.filter(|key| value.get(key).is_none()).collect()
}

const MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {x: \"1\"}\n";
const KS: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
    metadata: {name: a, namespace: b}\n\
    spec: {path: ./apps, prune: true, interval: 1m, sourceRef: {kind: GitRepository, name: x}}\n";
const MEND: &str = "next: mend the file";

#[test]
fn help_reads_well_and_version_is_one_line() {
    let room = Room::new();
    let all = room.run(&["--help"]);
    assert_eq!(all.code, 0);
    let commands = [
        "demo",
        "list",
        "render",
        "diff",
        "check",
        "accept",
        "revert",
        "sync",
        "refresh",
        "suspend",
        "resume",
        "completions",
    ];
    for command in commands {
        assert!(all.out.contains(&format!("\n  {command} ")), "{command}");
        let help = room.run(&[command, "--help"]);
        assert_eq!(help.code, 0, "{command}");
        // The command's own options come before those that every command takes.
        let common = help.out.find("Options of every command:").unwrap();
        let own = help.out.find("--output").unwrap_or_default();
        assert!(own < common, "{command}: {}", help.out);
        assert!(help.out.find("--kubeconfig").unwrap() > common, "{command}");
    }
    let version = room.run(&["--version"]);
    assert_eq!(
        version.out,
        concat!("gitops-tui ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn the_demo_as_documents() {
    let room = Room::new();
    let list = room.run(&["--demo", "list", "-o", "json"]);
    // One context of the demo cannot be reached: said, and everything else listed.
    assert_eq!(list.code, 2, "{}", list.err);
    assert!(list.err.contains("warning: dr-west: "), "{}", list.err);
    let list = list.json();
    assert_eq!(list["schema"], "gitops-tui/list/v1");
    let app = &list["apps"][0];
    let of_app = [
        "context",
        "kind",
        "namespace",
        "name",
        "state",
        "cause",
        "since",
        "drifted",
        "additions",
        "hidden",
        "revision",
        "owner",
        "message",
    ];
    assert_eq!(lacking(app, &of_app), Vec::<&str>::new());
    assert_eq!(
        lacking(&list["contexts"][0], &["name", "state", "cause"]),
        Vec::<&str>::new()
    );

    let check = room.run(&["--demo", "check", "-o", "json"]);
    assert_eq!(check.code, 1, "{}", check.err);
    let check = check.json();
    assert_eq!(check["schema"], "gitops-tui/check/v1");
    assert_eq!(lacking(&check["apps"][0], &of_app), Vec::<&str>::new());
    assert!(check["apps"][0]["objects"].is_array());
    assert!(
        check["compared"].as_u64() > Some(5),
        "{}",
        check["compared"]
    );
    assert!(check["not-compared"].is_u64());

    let app = "ks/flux-system/checkout";
    let diff = room.run(&["--demo", "diff", app, "-o", "json"]);
    assert_eq!(diff.code, 1, "{}", diff.err);
    let diff = diff.json();
    assert_eq!(diff["schema"], "gitops-tui/diff/v1");
    assert_eq!(diff["app"]["name"], "checkout");
    let keys = ["state", "cause", "objects", "hidden", "problems"];
    assert_eq!(lacking(&diff, &keys), Vec::<&str>::new());
    let objects = diff["objects"].as_array().unwrap();
    let field = objects
        .iter()
        .flat_map(|o| o["fields"].as_array().unwrap())
        .find(|f| f["verdict"] == "drift")
        .unwrap();
    let keys = [
        "path", "status", "git", "live", "masked", "owners", "origin", "rule",
    ];
    assert_eq!(lacking(field, &keys), Vec::<&str>::new());
    assert_eq!(
        lacking(&field["origin"], &["file", "document", "line", "step"]),
        Vec::<&str>::new()
    );
    assert_eq!(
        lacking(
            &field["owners"][0],
            &["manager", "operation", "subresource", "time", "class"]
        ),
        Vec::<&str>::new()
    );
}

#[test]
fn accept_shows_its_proof_and_refuses_what_it_cannot_do() {
    let room = Room::new();
    let app = "ks/flux-system/checkout";
    let done = room.run(&["--demo", "accept", app, "--all", "-o", "json"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let done = done.json();
    assert_eq!(done["schema"], "gitops-tui/accept/v1");
    let keys = [
        "branch",
        "commit",
        "files",
        "accepted",
        "refused",
        "also-changes",
        "proof",
    ];
    assert_eq!(lacking(&done, &keys), Vec::<&str>::new());
    assert_eq!(done["commit"].as_str().unwrap().len(), 40);
    assert_eq!(
        done["proof"]["agree"].as_u64().unwrap(),
        done["accepted"].as_array().unwrap().len() as u64
    );
    assert_eq!(done["proof"]["moved"], 0);
    assert!(done["files"][0]["diff"].as_str().unwrap().contains("\n+"));

    let accept = |more: &[&str], code: i32, parts: &[&str]| {
        let args = [&["--demo", "accept", app], more].concat();
        room.says(&args, code, parts);
    };
    accept(&[], 2, &["no field is chosen", "next: see what differs"]);
    accept(
        &["--field", "foo["],
        2,
        &["`foo[` is no field path", "next: "],
    );
    accept(
        &["--field", "spec.nope"],
        2,
        &["spec.nope does not differ", "next: what differs: "],
    );
    accept(
        &["--object", "Deployment/x"],
        2,
        &["not one of the app's objects", "next: it has: "],
    );
    accept(
        &["--all", "--branch", "a b"],
        2,
        &["`a b` is no branch name", "next: "],
    );
    accept(
        &["--all", "--repo", "nowhere"],
        2,
        &["nowhere", "next: give the folder of a Git clone"],
    );
    accept(
        &["--all", "--push"],
        1,
        &["nobody can be asked here", "next: add --yes"],
    );
    accept(&["--all", "--read-only"], 1, &["read-only", "next: "]);
}

#[test]
fn writes_need_a_yes_and_respect_read_only() {
    let room = Room::new();
    let app = "ks/flux-system/checkout";
    let asked = ["nobody can be asked here", "next: add --yes, or --dry-run"];
    room.says(&["--demo", "sync", app], 1, &asked);
    room.says(&["--demo", "revert", app, "--all"], 1, &asked);
    let off = ["read-only", "next: start without --read-only"];
    room.says(&["--demo", "--read-only", "suspend", app, "--yes"], 1, &off);
    let plan = room
        .says(
            &["--demo", "suspend", app, "--dry-run", "-o", "json"],
            0,
            &[],
        )
        .json();
    assert_eq!(plan["done"], Value::Null);
    assert!(!plan["steps"].as_array().unwrap().is_empty());
    let done = room
        .says(
            &["--demo", "revert", app, "--all", "--yes", "-o", "json"],
            0,
            &[],
        )
        .json();
    assert!(!done["done"].as_array().unwrap().is_empty());
    room.says(
        &["--demo", "resume", app, "--yes"],
        1,
        &["it is not held", "next: "],
    );
}

#[test]
fn names_that_mean_nothing_are_usage_faults() {
    let room = Room::new();
    // Without TERM, so that no terminal of whoever runs the tests is taken.
    for args in [&[] as &[&str], &["demo"]] {
        let says = [
            "this terminal cannot show full screens",
            "next: use `gitops-tui list`",
        ];
        room.says(args, 2, &says);
    }
    room.says(
        &["list"],
        2,
        &["there is no kubeconfig", "next: ", "gitops-tui demo"],
    );
    room.says(
        &["--demo", "list", "--context", "nope"],
        2,
        &["there is no context `nope`", "prod-eu"],
    );
    let none = [
        "is in none of the contexts that could be read",
        "next: ",
        "dr-west",
    ];
    room.says(&["--demo", "sync", "ks/no/where", "--yes"], 2, &none);
    for target in ["./dir", "ks/a", "zz/a/b"] {
        let way = "write ks/NAMESPACE/NAME";
        room.says(&["--demo", "sync", target], 2, &[target, way]);
        room.says(&["--demo", "check", target], 2, &[target, way]);
        room.says(&["--demo", "diff", target], 2, &[target, way]);
    }
    room.says(
        &["--timeout", "99999999999999999h", "list"],
        2,
        &["longer than a day"],
    );
    room.says(&["list", "--timeout", "2d"], 2, &["write s, m or h"]);
}

#[test]
fn a_broken_kubeconfig_is_named_and_spares_the_rest() {
    let room = Room::new();
    room.write("empty", "")
        .write("broken", "a: [b\n")
        .write("scalar", "hello\n")
        .write("latin", b"clusters: \xff\n")
        .write("cut", b"\xff\xfe\x00")
        .write("mixed", MIXED);
    fs::create_dir(room.path().join("folder")).unwrap();
    let list = |file: &str, parts: &[&str]| room.says(&["list", "--kubeconfig", file], 2, parts);
    list("nowhere", &["no kubeconfig at nowhere", "next: "]);
    list("empty", &["empty: the kubeconfig has no context", "next: "]);
    list(
        "broken",
        &["the kubeconfig cannot be read, broken:1", "next: mend"],
    );
    list(
        "scalar",
        &["the kubeconfig cannot be read, scalar:1", "next: mend"],
    );
    list(
        "latin",
        &["the kubeconfig cannot be read, latin: it is not UTF-8 text"],
    );
    list(
        "cut",
        &["the kubeconfig cannot be read, cut: it is not UTF-8 text"],
    );
    list(
        "folder",
        &["the kubeconfig cannot be read, folder: it is a folder"],
    );
    let mixed = list(
        "mixed",
        &[
            "unreachable: connection refused",
            "no-cluster: its cluster `gone` is not in the kubeconfig",
            "no-user: its user `gone` is not in the kubeconfig",
            "bad-url: its entry in the kubeconfig cannot be used",
            "bad-plugin: its credential plugin /no/such/helper cannot be run",
        ],
    );
    let (warnings, nexts) = (
        mixed.err.matches("warning: "),
        mixed.err.matches("  next: "),
    );
    assert_eq!((warnings.count(), nexts.count()), (5, 5), "{}", mixed.err);
}

const MIXED: &str = r#"
apiVersion: v1
kind: Config
clusters:
- {name: closed, cluster: {server: "http://127.0.0.1:1"}}
- {name: bad, cluster: {server: "::not a url"}}
contexts:
- {name: unreachable, context: {cluster: closed, user: u}}
- {name: no-cluster, context: {cluster: gone, user: u}}
- {name: bad-url, context: {cluster: bad, user: u}}
- {name: bad-plugin, context: {cluster: closed, user: plugin}}
- {name: no-user, context: {cluster: closed, user: gone}}
users:
- {name: u, user: {}}
- name: plugin
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: /no/such/helper, interactiveMode: Never}}
"#;

#[test]
fn renders_what_the_real_tools_rendered() {
    let room = Room::new();
    for case in ["K01", "K02"] {
        let case = corpus("cases").join(case);
        let tree = word(&case.join("tree"));
        let ran = room.says(&["render", &tree, "--profile", "kustomize"], 0, &[]);
        assert_eq!(ran.out, text(&case.join("expected.yaml")), "{tree}");
    }
    for case in ["01-plain-directory", "46-substitute-from-order"] {
        let case = corpus("flux/render").join(case);
        let (tree, app) = (word(&case.join("tree")), word(&case.join("ks.yaml")));
        let objects = word(&case.join("objects.yaml"));
        let mut args = vec!["render", &tree, "--profile", "flux", "--app-file", &app];
        if Path::new(&objects).exists() {
            args.extend(["--objects", &objects]);
        }
        let ran = room.says(&args, 0, &[]);
        assert_eq!(ran.out, text(&case.join("expected.yaml")), "{tree}");
    }
    room.write("apps/cm.yaml", MAP)
        .write("apps/kustomization.yaml", "resources: [cm.yaml]\n");
    let origins = room.says(&["render", "apps", "--origins"], 0, &[]);
    let file = room.path().canonicalize().unwrap().join("apps/cm.yaml");
    let line = format!("data.x = \"1\"  {}:4 #", file.display());
    assert!(origins.out.contains(&line), "no {line} in {}", origins.out);
}

#[test]
fn compares_files_without_a_cluster() {
    let room = Room::new();
    for name in ["A01", "A04", "A05", "B01"] {
        let case: PathBuf = corpus("cases").join(name);
        let (git, live) = (word(&case.join("git.yaml")), word(&case.join("live.yaml")));
        let json = room
            .run(&["diff", &git, "--live", &live, "-o", "json"])
            .json();
        assert_eq!(json["schema"], "gitops-tui/diff/v1");
        let mut paths = String::new();
        for object in json["objects"].as_array().unwrap() {
            for field in object["fields"].as_array().unwrap() {
                let is = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
                let (kind, space, name) = (is("kind"), is("namespace"), is("name"));
                let path = field["path"].as_str().unwrap();
                paths += &format!("{kind}/{space}/{name} {path}\t");
            }
        }
        for row in text(&case.join("expected-fields.tsv")).lines().skip(1) {
            let field = row.split('\t').next().unwrap();
            assert!(paths.contains(field), "{name}: no {field} in {paths}");
        }
    }
    room.write("git.yaml", MAP)
        .write("live.yaml", MAP.replace("\"1\"", "\"2\""));
    let same = room.says(&["diff", "git.yaml", "--live", "git.yaml"], 0, &[]);
    assert!(same.out.contains("in-sync"));
    let form = |form: &str| {
        room.says(
            &["diff", "git.yaml", "--live", "live.yaml", "-o", form],
            1,
            &[],
        )
        .out
    };
    assert!(
        form("fields").contains("data.x  \"1\" → \"2\""),
        "{}",
        form("fields")
    );
    assert!(
        form("unified").contains("-  x: \"1\"\n+  x: \"2\"\n"),
        "{}",
        form("unified")
    );
    assert!(form("yaml").contains("schema: gitops-tui/diff/v1\n"));
    let side = form("side-by-side");
    assert!(
        side.lines()
            .any(|l| l.contains("x: \"1\"") && l.contains("x: \"2\"")),
        "{side}"
    );
}

#[test]
fn secrets_are_never_printed() {
    let room = Room::new();
    let case = corpus("cases/S01");
    let (git, live) = (word(&case.join("git.yaml")), word(&case.join("live.yaml")));
    let mut runs = vec![vec!["diff", &git, "--live", &live]];
    let (s3, s4) = (corpus("cases/S03"), corpus("cases/S04"));
    let words: Vec<String> = [&s3, &s4]
        .iter()
        .flat_map(|c| {
            [
                word(&c.join("tree")),
                word(&c.join("live.yaml")),
                word(&c.join("flux-kustomization.yaml")),
            ]
        })
        .collect();
    let cluster = word(&s4.join("cluster.yaml"));
    runs.push(vec![
        "diff",
        &words[0],
        "--live",
        &words[1],
        "--app-file",
        &words[2],
    ]);
    runs.push(vec![
        "diff",
        &words[3],
        "--live",
        &words[4],
        "--app-file",
        &words[5],
        "--objects",
        &cluster,
    ]);
    let must_not: String = [&case, &s3, &s4]
        .iter()
        .map(|c| text(&c.join("must-not-contain.txt")))
        .collect();
    let must_not: Vec<&str> = must_not
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .collect();
    assert!(must_not.len() > 8);
    for run in runs {
        for form in ["fields", "unified", "side-by-side", "json", "yaml"] {
            let ran = room.run(&[run.as_slice(), &["-o", form, "--all", "--verbose"]].concat());
            assert!([1, 3].contains(&ran.code), "{run:?}: {}", ran.err);
            for word in &must_not {
                let leaks = ran.out.contains(word) || ran.err.contains(word);
                assert!(
                    !leaks,
                    "{run:?} -o {form} prints {word}: {}{}",
                    ran.out, ran.err
                );
            }
        }
    }
}

#[test]
fn broken_manifests_are_named_by_file_and_line() {
    let room = Room::new();
    let bomb: String = (b'b'..=b'i').fold("a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned(), |all, at| {
        let (this, before) = (at as char, (at - 1) as char);
        let items = vec![format!("*{before}"); 9].join(",");
        format!("{all}{this}: &{this} [{items}]\n")
    });
    room.write("git.yaml", MAP)
        .write("broken.yaml", "a: [b\nc: d\n")
        .write("latin.yaml", b"kind: ConfigMap\xff\n")
        .write("bomb.yaml", format!("{MAP}{bomb}"))
        .write("scalar.yaml", "just a string\n")
        .write(
            "half.yaml",
            format!(
                "{MAP}---\nfoo: [\n---\n{}",
                MAP.replace("name: a", "name: c")
            ),
        )
        .write("empty.yaml", "")
        .write("nothing.yaml", "apiVersion: v1\nkind: List\nitems: []\n");
    for (file, says) in [
        ("broken.yaml", "this YAML cannot be read, broken.yaml:2"),
        (
            "latin.yaml",
            "this YAML cannot be read, latin.yaml:1: the text is not valid UTF-8",
        ),
        ("bomb.yaml", "the aliases expand to too much"),
        (
            "scalar.yaml",
            "this document is no Kubernetes object: kind or name is missing, scalar.yaml:1",
        ),
    ] {
        // A desired side that cannot be read is no agreement, and a live side that cannot be read is no cluster.
        room.says(&["diff", file, "--live", "git.yaml"], 3, &[says, MEND]);
        room.says(&["diff", "git.yaml", "--live", file], 2, &[says, MEND]);
        room.says(&["render", ".", "--app-file", file], 2, &[says, MEND]);
    }
    let half = room.says(
        &["diff", "half.yaml", "--live", "git.yaml"],
        1,
        &["half.yaml:6", MEND],
    );
    assert!(half.out.contains("missing ConfigMap/b/c"), "{}", half.out);
    let none = ["empty.yaml: holds no object", "next: "];
    room.says(&["diff", "empty.yaml", "--live", "git.yaml"], 3, &none);
    room.says(&["diff", "git.yaml", "--live", "empty.yaml"], 2, &none);
    room.says(&["diff", "git.yaml", "--live", "nothing.yaml"], 1, &[]);
    room.says(
        &["diff", "gone.yaml", "--live", "git.yaml"],
        2,
        &["cannot read gone.yaml", "next: "],
    );
    room.says(
        &["diff", "git.yaml", "--live", "gone.yaml"],
        2,
        &["cannot read gone.yaml", "next: "],
    );
    room.says(
        &["diff", "git.yaml"],
        2,
        &["next: a file or a directory is compared with --live FILE"],
    );
    room.says(
        &["diff", "git.yaml", "--app-file", "git.yaml"],
        2,
        &["--live <FILE>"],
    );
}

#[test]
fn broken_kustomizations_are_named_by_file_and_line() {
    let room = Room::new();
    room.write("ks.yaml", KS)
        .write("lost.yaml", KS.replace("./apps", "./nowhere"))
        .write("apps/cm.yaml", MAP)
        .write("broken/kustomization.yaml", "resources: [a\n")
        .write("lacks/kustomization.yaml", "resources:\n- a.yaml\n")
        .write("empty/kustomization.yaml", "")
        .write("typo/kustomization.yaml", "resorces: [a.yaml]\n")
        .write("loop/kustomization.yaml", "resources:\n- ../loop\n")
        .write(
            "remote/kustomization.yaml",
            "resources:\n- https://git.example.test/x?ref=z\n",
        )
        .write("deep/kustomization.yaml", "resources: [cm.yaml]\n")
        .write("deep/cm.yaml", "a: [b\nc: d\n");
    let root = word(&room.path().canonicalize().unwrap());
    for (folder, says, place) in [
        ("broken", "malformed YAML", "broken/kustomization.yaml:1"),
        (
            "lacks",
            "`a.yaml` does not exist",
            "lacks/kustomization.yaml:2",
        ),
        (
            "empty",
            "kustomization.yaml is empty",
            "empty/kustomization.yaml:1",
        ),
        (
            "typo",
            "unknown field \"resorces\"",
            "typo/kustomization.yaml:1",
        ),
        ("loop", "cycle detected", "loop/kustomization.yaml:2"),
        ("remote", "needs the network", "remote/kustomization.yaml:2"),
        ("deep", "malformed YAML", "deep/cm.yaml:2"),
    ] {
        let place = format!("{root}/{place}");
        room.says(
            &["render", folder],
            2,
            &["error: ", says, &place, "next: mend "],
        );
    }
    let none = room.says(
        &["render", "apps"],
        2,
        &["unable to find one of 'kustomization.yaml'", "next: "],
    );
    assert!(!none.err.contains("apps:1"), "{}", none.err);
    room.says(
        &["render", "nowhere"],
        2,
        &["nowhere: cannot be read", "next: name a directory"],
    );
    room.says(
        &["render", "apps/cm.yaml"],
        2,
        &["is a file, not a directory", "next: "],
    );
    room.says(
        &["render", "apps", "--profile", "flux"],
        2,
        &["needs the app", "--app-file"],
    );
    room.says(&["render", ".", "--app-file", "ks.yaml"], 0, &[]);
    room.says(
        &["render", ".", "--app-file", "lost.yaml"],
        2,
        &["ks/b/a: ", "nowhere", "next: mend spec.path"],
    );
    room.says(
        &["render", ".", "--app-file", "ks.yaml", "--profile", "argo"],
        2,
        &["next: write --profile flux"],
    );
    room.says(
        &["render", ".", "--app-file", "apps/cm.yaml"],
        2,
        &["holds no Flux Kustomization", "next: "],
    );
    room.says(
        &["render", ".", "--app-file", "gone"],
        2,
        &["cannot read gone", "next: "],
    );
    room.says(
        &["render", ".", "--objects", "ks.yaml"],
        2,
        &["--app-file <FILE>"],
    );
}

#[test]
fn large_and_hostile_input_goes_through() {
    let room = Room::new();
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata:\n";
    let rows = |value: u32| -> String {
        (0..20_000)
            .map(|n| format!("  k{n}: \"{}\"\n", n + value))
            .collect()
    };
    room.write("rows.yaml", format!("{head}{}", rows(0)))
        .write("rows-live.yaml", format!("{head}{}", rows(1)))
        .write(
            "large.yaml",
            format!("{head}  blob: {}\n", "x".repeat(10_000_000)),
        )
        .write(
            "hostile.yaml",
            format!("{head}  \"k\\e[31m\": \"v\\e]0;title\\a\"\n"),
        )
        .write("small.yaml", MAP);
    for form in ["fields", "unified", "json"] {
        let ran = room.says(
            &["diff", "rows.yaml", "--live", "rows-live.yaml", "-o", form],
            1,
            &[],
        );
        assert!(ran.out.lines().count() > 20_000, "{form}");
    }
    room.says(&["diff", "large.yaml", "--live", "large.yaml"], 0, &[]);
    for form in ["fields", "unified", "side-by-side", "json", "yaml"] {
        let ran = room.says(
            &["diff", "hostile.yaml", "--live", "small.yaml", "-o", form],
            1,
            &[],
        );
        assert!(
            !ran.out.contains(['\u{1b}', '\u{7}']),
            "{form}: {}",
            ran.out
        );
    }
    let escaped = "ks/a/\u{1b}[31m";
    assert_eq!(room.run(&["--demo", "diff", escaped]).code, 2);
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let room = Room::new();
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata:\n";
    let rows: String = (0..20_000).map(|n| format!("  k{n}: \"{n}\"\n")).collect();
    room.write("rows.yaml", format!("{head}{rows}")).write(
        "more.yaml",
        format!("{head}{rows}  k: more\n").replace("\"1", "\"2"),
    );
    for args in [
        &["completions", "bash"] as &[&str],
        &["--help"],
        &["diff", "rows.yaml", "--live", "more.yaml"],
        &["diff", "rows.yaml", "--live", "more.yaml", "-o", "json"],
    ] {
        let mut child = room
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(!said.contains("panicked"), "{args:?}: {said}");
        assert!(
            [Some(0), Some(1)].contains(&ended.status.code()),
            "{args:?}: {:?}",
            ended.status
        );
    }
}

#[test]
fn a_configuration_with_unknown_keys_is_said_and_the_rest_counts() {
    let room = Room::new();
    room.write(
        "config.yaml",
        "readOnly: true\nreadonly: true\ntheme: nope\n",
    )
    .write("kube", MIXED);
    let ran = room.says(
        &[
            "list",
            "--kubeconfig",
            "kube",
            "--context",
            "no-user",
            "--config",
            "config.yaml",
        ],
        2,
        &[
            "warning: ",
            "readonly",
            "config.yaml:2",
            "no-user: its user `gone`",
        ],
    );
    assert!(ran.err.contains("next: "), "{}", ran.err);
    room.write("broken.yaml", "readOnly: [\n");
    room.says(
        &[
            "list",
            "--kubeconfig",
            "kube",
            "--context",
            "no-user",
            "--config",
            "broken.yaml",
        ],
        2,
        &["broken.yaml"],
    );
    room.says(
        &["list", "--kubeconfig", "kube", "--config", "gone.yaml"],
        2,
        &["gone.yaml", "next: "],
    );
}

/// Answers like an API server with Flux's kinds, one of which cannot be listed: `listed` is the answer to that.
fn server(listed: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            reader.read_line(&mut line).unwrap();
            loop {
                let mut header = String::new();
                if reader.read_line(&mut header).unwrap_or_default() <= 2 {
                    break;
                }
            }
            let path = line.split([' ', '?']).nth(1).unwrap_or_default();
            let (status, body) = match path {
                "/version" => (
                    "200 OK",
                    r#"{"major":"1","minor":"33","gitVersion":"v1.33.0"}"#,
                ),
                "/api" => ("200 OK", r#"{"kind":"APIVersions","versions":["v1"]}"#),
                "/api/v1" => (
                    "200 OK",
                    r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[]}"#,
                ),
                "/apis" => ("200 OK", GROUPS),
                "/apis/kustomize.toolkit.fluxcd.io/v1" => ("200 OK", KINDS),
                _ if listed.contains("403") => ("403 Forbidden", listed),
                _ => ("200 OK", listed),
            };
            drop(write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            ));
        }
    });
    format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
    )
}

const GROUPS: &str = r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"kustomize.toolkit.fluxcd.io",
"versions":[{"groupVersion":"kustomize.toolkit.fluxcd.io/v1","version":"v1"}],
"preferredVersion":{"groupVersion":"kustomize.toolkit.fluxcd.io/v1","version":"v1"}}]}"#;
const KINDS: &str = r#"{"kind":"APIResourceList","groupVersion":"kustomize.toolkit.fluxcd.io/v1","resources":[
{"name":"kustomizations","singularName":"","namespaced":true,"kind":"Kustomization","verbs":["get","list","watch","patch"]}]}"#;

#[test]
fn a_list_that_cannot_be_read_is_never_no_drift() {
    let room = Room::new();
    let forbidden = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no \u001b[31mlist","reason":"Forbidden","code":403}"#;
    room.write("forbidden", server(forbidden))
        .write("garbage", server("<html>please log in</html>"));
    let says = [
        "c: not allowed to list kustomizations",
        "next: it needs list and watch",
    ];
    room.says(&["list", "--kubeconfig", "forbidden"], 2, &says);
    room.says(&["check", "--kubeconfig", "forbidden"], 3, &says);
    let says = [
        "c: could not list kustomizations",
        "no JSON",
        "next: check that the address",
    ];
    room.says(&["list", "--kubeconfig", "garbage"], 3, &says);
    room.says(&["check", "--kubeconfig", "garbage"], 3, &says);
}
