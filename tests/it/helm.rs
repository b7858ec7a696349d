//! The runner of `helm`: what it hands to the program, what it keeps from it, what is left behind.
//!
//! A script stands in for helm and writes down what it was given. `GITOPS_TUI_HELM` names a real one to be tried too.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gitops_tui::domain::fault::FaultKind;
use gitops_tui::domain::settings::Variables;
use gitops_tui::world::disk::DiskTree;
use gitops_tui::world::helm::{Assignment, Chart, Helm, Limits, Release, Template};
use gitops_tui::world::{Stop, helm::Login};

/// A machine with a helm: a script whose `case` decides by the first word.
struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    fn with(template: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("run")).unwrap();
        fs::create_dir_all(dir.path().join("repo/charts/web/templates")).unwrap();
        fs::write(
            dir.path().join("repo/charts/web/Chart.yaml"),
            "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        )
        .unwrap();
        fs::write(
            dir.path().join("repo/charts/web/templates/cm.yaml"),
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  namespace: {{ .Release.Namespace }}\n\
             data:\n  a: {{ .Values.a | quote }}\n  b: {{ .Values.b | quote }}\n  v: {{ .Capabilities.KubeVersion }}\n",
        )
        .unwrap();
        let seen = dir.path().join("seen");
        fs::create_dir_all(&seen).unwrap();
        let script = format!(
            "#!/bin/sh\ncase \"$1\" in\n\
             version) echo v3.99.1+g0 ;;\n\
             pull) for a in \"$@\"; do last=\"$a\"; done; cp \"$HELM_CONFIG_HOME/repositories.yaml\" {seen}/repos 2>/dev/null; \
             echo \"$@\" > {seen}/pull; \
             dir=$(echo \"$@\" | sed 's/.*--destination \\([^ ]*\\).*/\\1/'); echo packed > \"$dir/web-1.2.3.tgz\" ;;\n\
             repo) ;;\n\
             template) printf '%s\\n' \"$@\" > {seen}/words; env > {seen}/env; pwd > {seen}/pwd\n{template}\n;;\n\
             *) echo \"unknown $1\" >&2; exit 1 ;;\nesac\n",
            seen = seen.display()
        );
        let program = dir.path().join("helm");
        install(&program, &script);
        Self { dir }
    }

    fn variables(&self) -> Variables {
        Variables::default()
            .with(
                "PATH",
                format!("{}:/usr/bin:/bin", self.dir.path().display()),
            )
            .with(
                "XDG_RUNTIME_DIR",
                self.dir.path().join("run").to_str().unwrap(),
            )
            .with("AWS_SECRET_ACCESS_KEY", "not-for-helm")
    }

    fn helm(&self, limits: Limits) -> Helm {
        Helm::find("helm", &self.variables(), limits).unwrap()
    }

    fn seen(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join("seen").join(name)).unwrap()
    }

    fn tree(&self) -> DiskTree {
        DiskTree::open(&self.dir.path().join("repo")).unwrap()
    }

    fn left_behind(&self) -> Vec<PathBuf> {
        fs::read_dir(self.dir.path().join("run"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect()
    }
}

/// Writes a program through a child: no thread of ours must hold it open for writing while another one forks.
fn install(program: &Path, script: &str) {
    let text = program.with_extension("txt");
    fs::write(&text, script).unwrap();
    let done = std::process::Command::new("sh")
        .args([
            "-c",
            "rm -f \"$2\" && cp \"$1\" \"$2\" && chmod +x \"$2\"",
            "sh",
        ])
        .args([&text, program])
        .status()
        .unwrap();
    assert!(done.success());
}

const CHART: &str = "charts/web";

#[test]
fn words_of_files_never_become_flags_and_nothing_is_left_behind() {
    let machine = Machine::with(
        "for a in \"$@\"; do case \"$a\" in --values=*) cat \"${a#--values=}\" ;; esac; done",
    );
    let tree = machine.tree();
    let printed = machine
        .helm(Limits::default())
        .template(&Template {
            release: Release::Name("--post-renderer=evil".into()),
            namespace: "prod".into(),
            values: vec![b"a: s3cret\n".to_vec(), b"b: 2\n".to_vec()],
            set: vec![
                Assignment::Text("x=--debug".into()),
                Assignment::File("y".into(), b"bytes".to_vec()),
            ],
            kube_version: "1.37.0".into(),
            api_versions: vec!["a/v1".into()],
            include_crds: true,
            ..Template::of(Chart::Tree {
                tree: &tree,
                path: CHART,
            })
        })
        .unwrap();
    assert_eq!(printed, "a: s3cret\nb: 2\n");
    let own = machine.seen("pwd").trim().to_owned();
    let words = machine.seen("words").replace(&own, "");
    assert_eq!(
        words.lines().collect::<Vec<_>>(),
        [
            "template",
            "--values=/values/0.yaml",
            "--values=/values/1.yaml",
            "--set-string=x=--debug",
            "--set-file=y=/set/1",
            "--namespace=prod",
            "--kube-version=1.37.0",
            "--api-versions=a/v1",
            "--include-crds=true",
            "--",
            "--post-renderer=evil",
            "/tree/charts/web",
        ]
    );
    let env = machine.seen("env");
    assert!(!env.contains("not-for-helm"), "{env}");
    assert!(env.contains(&format!("HOME={own}/home\n")), "{env}");
    assert_eq!(machine.left_behind(), Vec::<PathBuf>::new());
}

#[test]
fn a_complaint_holds_no_secret_and_no_folder_of_ours() {
    let machine = Machine::with(
        "echo \"Error: $PWD/tree/charts/web: bad value s3cret from https://ada:pw@h.example.test/x\" >&2; exit 1",
    );
    let tree = machine.tree();
    let fault = machine
        .helm(Limits::default())
        .template(&Template {
            values: vec![b"a: s3cret\n".to_vec()],
            secrets: vec!["s3cret".into()],
            ..Template::of(Chart::Tree {
                tree: &tree,
                path: CHART,
            })
        })
        .unwrap_err();
    assert_eq!(
        fault.to_string(),
        "`helm template` failed: Error: tree/charts/web: bad value *** from https://h.example.test/x"
    );
    assert!(fault.hint.is_some());
    assert_eq!(machine.left_behind(), Vec::<PathBuf>::new());
}

#[test]
fn it_ends_at_its_bound_and_when_it_is_told_to() {
    let machine = Machine::with("exec sleep 1000");
    let tree = machine.tree();
    let template = Template::of(Chart::Tree {
        tree: &tree,
        path: CHART,
    });
    let mut limits = Limits::default();
    let stop = Stop::default();
    let patient = machine.helm(limits.clone()).stopped_by(stop.clone());
    std::thread::scope(|scope| {
        let running = scope.spawn(|| patient.template(&template));
        while !machine.dir.path().join("seen/pwd").exists() {
            std::thread::yield_now();
        }
        stop.stop();
        assert!(running.join().unwrap().is_err());
    });
    limits.time = Duration::from_millis(300);
    let fault = machine.helm(limits).template(&template).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Timeout);
    assert_eq!(machine.left_behind(), Vec::<PathBuf>::new());
}

#[test]
fn a_password_is_not_on_the_command_line_and_exact_versions_are_kept() {
    let machine = Machine::with("echo 'kind: X'");
    let cache = machine.dir.path().join("cache");
    let limits = |offline| Limits {
        cache: Some(cache.clone()),
        offline,
        ..Limits::default()
    };
    let login = Login {
        username: "ada".into(),
        password: "pa55".into(),
        everywhere: false,
    };
    let chart = |version| Chart::Repository {
        url: "https://charts.example.test",
        name: "web",
        version,
        login: Some(&login),
    };
    let offline = machine.helm(limits(true));
    let fault = offline.template(&Template::of(chart("1.2.3"))).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "the chart https://charts.example.test/web 1.2.3 needs the network: --offline fetches nothing, and the chart \
         is not in the cache"
    );
    let online = machine.helm(limits(false));
    online.template(&Template::of(chart("1.2.3"))).unwrap();
    assert!(!machine.seen("pull").contains("pa55"));
    assert!(machine.seen("repos").contains("pa55"));
    offline.template(&Template::of(chart("1.2.3"))).unwrap();
    online.template(&Template::of(chart("^1"))).unwrap();
    assert!(offline.template(&Template::of(chart("^1"))).is_err());
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 1);
    assert_eq!(machine.left_behind(), Vec::<PathBuf>::new());
}

#[test]
fn a_helm_that_is_none_is_named() {
    let machine = Machine::with("true");
    let fault = Helm::find("helm9", &machine.variables(), Limits::default()).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "the program `helm9` is not there to render a Helm chart"
    );
    let program = machine.dir.path().join("helm");
    install(&program, "#!/bin/sh\necho v2.17.0\n");
    let fault = Helm::find(
        program.to_str().unwrap(),
        &machine.variables(),
        Limits::default(),
    )
    .unwrap_err();
    assert!(
        fault.sentence.ends_with("it says it is `v2.17.0`"),
        "{fault}"
    );
}

/// The same through a real helm, where one is named.
#[test]
fn the_real_program_renders_and_refuses() {
    let Some(program) = std::env::var_os("GITOPS_TUI_HELM") else {
        println!("skipped: GITOPS_TUI_HELM names no helm");
        return;
    };
    let machine = Machine::with("true");
    let helm = Helm::find(
        Path::new(&program).to_str().unwrap(),
        &machine.variables(),
        Limits::default(),
    )
    .unwrap();
    let tree = machine.tree();
    let template = Template {
        release: Release::Name("web".into()),
        namespace: "prod".into(),
        values: vec![b"a: one\nb: one\n".to_vec(), b"b: two\n".to_vec()],
        kube_version: "v1.37.2".into(),
        ..Template::of(Chart::Tree {
            tree: &tree,
            path: CHART,
        })
    };
    let printed = helm.template(&template).unwrap();
    assert_eq!(
        printed,
        "---\n# Source: web/templates/cm.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  namespace: prod\n\
         data:\n  a: \"one\"\n  b: \"two\"\n  v: v1.37.2\n"
    );
    let fault = helm
        .template(&Template {
            release: Release::Name("--post-renderer=/bin/cat".into()),
            ..template
        })
        .unwrap_err();
    assert!(fault.to_string().contains("invalid"), "{fault}");
}
