//! The real world on this machine's loopback: etcd, kube-apiserver and kube-controller-manager; Flux's source- and
//! kustomize-controller, or Argo CD's repo server and application controller; and a Git server over http.
//!
//! Every server listens on 127.0.0.1 on a free port, is a process of its own, and ends with the [`World`]. A start
//! that fails prints the tail of that server's log. The flags are those of tests/tools (see its README).

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::git_http::GitServer;

const ADMIN: &str = "admin-token";
const NOBODY: &str = "nobody-token";

/// Servers that run until this value is dropped.
pub(crate) struct World {
    /// Everything that is written lies here.
    pub dir: tempfile::TempDir,
    /// The folder of built servers and tools.
    pub bin: PathBuf,
    api: u16,
    children: Vec<(String, Child)>,
    /// The Git server.
    pub git: GitServer,
}

/// Returns the folder of built tools, or `None` with a word to stderr where the suite is to be skipped.
pub(crate) fn tools() -> Option<PathBuf> {
    match std::env::var_os("GITOPS_TUI_WORLD") {
        Some(bin) if Path::new(&bin).join("kube-apiserver").exists() => Some(PathBuf::from(bin)),
        Some(bin) => panic!(
            "GITOPS_TUI_WORLD={} holds no kube-apiserver",
            bin.to_string_lossy()
        ),
        None => {
            eprintln!(
                "skipped: the real servers are not asked for; run GITOPS_TUI_WORLD=$(tests/tools/build.sh) cargo test --test cluster"
            );
            None
        }
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// Waits until `ready` gives something; panics with `what` after `seconds`.
pub(crate) fn wait_for<T>(what: &str, seconds: u64, mut ready: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(Instant::now() < end, "gave up after {seconds} s: {what}");
        sleep(Duration::from_millis(200));
    }
}

impl World {
    /// Starts etcd, the API server and the controller manager.
    pub(crate) fn start(bin: PathBuf) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("gitops-tui-world")
            .tempdir()
            .unwrap();
        fs::create_dir_all(dir.path().join("git")).unwrap();
        let git = GitServer::start(dir.path().join("git"));
        let api = free_port();
        let mut world = Self {
            dir,
            bin,
            api,
            children: vec![],
            git,
        };
        let (client, peer) = (free_port(), free_port());
        let etcd = format!("http://127.0.0.1:{client}");
        world.spawn(
            "etcd",
            &[],
            &[
                &format!("--data-dir={}", world.path("etcd").display()),
                &format!("--listen-client-urls={etcd}"),
                &format!("--advertise-client-urls={etcd}"),
                &format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
                "--unsafe-no-fsync",
                "--log-level=error",
            ],
        );
        let key = world.path("sa.key");
        let made = Command::new("openssl")
            .args(["genrsa", "-out"])
            .arg(&key)
            .arg("2048")
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "openssl: {}",
            String::from_utf8_lossy(&made.stderr)
        );
        let tokens = world.path("tokens.csv");
        fs::write(
            &tokens,
            format!("{ADMIN},admin,1,\"system:masters\"\n{NOBODY},nobody,2,\"nobodies\"\n"),
        )
        .unwrap();
        world.spawn(
            "kube-apiserver",
            &[],
            &[
                &format!("--etcd-servers={etcd}"),
                &format!("--cert-dir={}", world.path("certs").display()),
                &format!("--secure-port={api}"),
                "--bind-address=127.0.0.1",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--service-account-issuer=https://localhost",
                &format!("--service-account-key-file={}", key.display()),
                &format!("--service-account-signing-key-file={}", key.display()),
                &format!("--token-auth-file={}", tokens.display()),
                "--authorization-mode=RBAC",
                "--disable-admission-plugins=ServiceAccount",
                "--allow-privileged=true",
                "--api-audiences=api",
                "--anonymous-auth=false",
                "--profiling=false",
            ],
        );
        world.write_kubeconfig("default");
        world.ready("kube-apiserver", |w| {
            let out = w.kubectl(&["get", "--raw", "/readyz"]);
            out.status.success().then_some(())
        });
        let port = free_port();
        world.spawn(
            "kube-controller-manager",
            &[],
            &[
                &format!("--kubeconfig={}", world.kubeconfig().display()),
                "--leader-elect=false",
                "--controllers=*,-node-ipam-controller",
                &format!("--secure-port={port}"),
                "--bind-address=127.0.0.1",
            ],
        );
        world
    }

    /// Starts Flux's two controllers with their custom resources.
    pub(crate) fn start_flux(&mut self) {
        self.apply_crds(&["source-controller", "kustomize-controller"]);
        self.kubectl_ok(&["create", "namespace", "flux-system"]);
        let kubeconfig = self.kubeconfig();
        let env = [
            ("KUBECONFIG", kubeconfig.to_str().unwrap().to_owned()),
            ("RUNTIME_NAMESPACE", "flux-system".to_owned()),
        ];
        let storage = self.path("artifacts");
        fs::create_dir_all(&storage).unwrap();
        let (files, metrics, health) = (free_port(), free_port(), free_port());
        self.spawn(
            "source-controller",
            &env,
            &[
                &format!("--storage-path={}", storage.display()),
                &format!("--storage-addr=127.0.0.1:{files}"),
                &format!("--storage-adv-addr=127.0.0.1:{files}"),
                "--enable-leader-election=false",
                &format!("--metrics-addr=127.0.0.1:{metrics}"),
                &format!("--health-addr=127.0.0.1:{health}"),
                "--events-addr=",
                "--watch-all-namespaces=true",
            ],
        );
        let (metrics, health) = (free_port(), free_port());
        self.spawn(
            "kustomize-controller",
            &env,
            &[
                "--enable-leader-election=false",
                &format!("--metrics-addr=127.0.0.1:{metrics}"),
                &format!("--health-addr=127.0.0.1:{health}"),
                "--events-addr=",
                "--watch-all-namespaces=true",
            ],
        );
    }

    /// Starts Argo CD's repo server and application controller with what they need in the cluster.
    pub(crate) fn start_argo(&mut self) {
        self.apply_crds(&["argocd"]);
        self.kubectl_ok(&["create", "namespace", "argocd"]);
        self.write_kubeconfig("argocd");
        self.apply(include_str!("argocd.yaml"));
        let redis = free_port();
        let root = self.dir.path().to_owned();
        self.spawn_path(
            Path::new("redis-server"),
            "redis-server",
            &[],
            &[
                "--port",
                &redis.to_string(),
                "--save",
                "",
                "--bind",
                "127.0.0.1",
                "--dir",
                root.to_str().unwrap(),
            ],
        );
        let empty = |name: &str| {
            let folder = root.join(name);
            fs::create_dir_all(&folder).unwrap();
            folder.to_str().unwrap().to_owned()
        };
        let path = format!("{}:{}", self.bin.display(), std::env::var("PATH").unwrap());
        let env = [
            ("KUBECONFIG", self.kubeconfig().to_str().unwrap().to_owned()),
            ("ARGOCD_FAKE_IN_CLUSTER", "true".to_owned()),
            ("ARGOCD_GPG_ENABLED", "false".to_owned()),
            ("ARGOCD_TLS_DATA_PATH", empty("tls")),
            ("ARGOCD_SSH_DATA_PATH", empty("ssh")),
            ("ARGOCD_PLUGINSOCKFILEPATH", empty("plugins")),
            ("PATH", path),
            ("TMPDIR", empty("tmp")),
        ];
        let (repo, metrics) = (free_port(), free_port());
        self.spawn(
            "argocd-repo-server",
            &env,
            &[
                "--redis",
                &format!("127.0.0.1:{redis}"),
                "--port",
                &repo.to_string(),
                "--metrics-port",
                &metrics.to_string(),
                "--address",
                "127.0.0.1",
                "--metrics-address",
                "127.0.0.1",
                "--disable-tls",
                "--loglevel",
                "warn",
            ],
        );
        let metrics = free_port();
        self.spawn(
            "argocd-application-controller",
            &env,
            &[
                "--redis",
                &format!("127.0.0.1:{redis}"),
                "--repo-server",
                &format!("127.0.0.1:{repo}"),
                "--repo-server-plaintext",
                "--metrics-port",
                &metrics.to_string(),
                "--namespace",
                "argocd",
                "--loglevel",
                "warn",
            ],
        );
    }

    /// Starts `kubectl proxy` and returns the address at which it answers plain HTTP with the admin's rights.
    pub(crate) fn start_proxy(&mut self) -> String {
        let port = free_port();
        let kubeconfig = self.kubeconfig();
        self.spawn(
            "kubectl",
            &[],
            &[
                &format!("--kubeconfig={}", kubeconfig.display()),
                "proxy",
                &format!("--port={port}"),
            ],
        );
        wait_for("kubectl proxy answers", 30, || {
            std::net::TcpStream::connect(("127.0.0.1", port)).ok()
        });
        format!("http://127.0.0.1:{port}")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the kubeconfig: contexts `real` (admin), `nobody` (no rights) and `dead` (a closed port).
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.path("kubeconfig")
    }

    fn write_kubeconfig(&self, namespace: &str) {
        let dead = free_port();
        let text = format!(
            r"apiVersion: v1
kind: Config
current-context: real
clusters:
  - name: real
    cluster: {{server: 'https://127.0.0.1:{api}', insecure-skip-tls-verify: true}}
  - name: dead
    cluster: {{server: 'https://127.0.0.1:{dead}', insecure-skip-tls-verify: true}}
users:
  - name: admin
    user: {{token: {ADMIN}}}
  - name: nobody
    user: {{token: {NOBODY}}}
contexts:
  - name: real
    context: {{cluster: real, user: admin, namespace: {namespace}}}
  - name: nobody
    context: {{cluster: real, user: nobody}}
  - name: dead
    context: {{cluster: dead, user: admin}}
",
            api = self.api,
        );
        fs::write(self.kubeconfig(), text).unwrap();
    }

    fn spawn(&mut self, name: &str, env: &[(&str, String)], args: &[&str]) {
        let program = self.bin.join(name);
        self.spawn_path(&program, name, env, args);
    }

    fn spawn_path(&mut self, program: &Path, name: &str, env: &[(&str, String)], args: &[&str]) {
        let log = fs::File::create(self.path(&format!("{name}.log"))).unwrap();
        let child = Command::new(program)
            .args(args)
            .envs(env.iter().map(|(key, value)| (*key, value.as_str())))
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
        self.children.push((name.to_owned(), child));
    }

    fn ready(&mut self, name: &str, mut check: impl FnMut(&Self) -> Option<()>) {
        let end = Instant::now() + Duration::from_mins(2);
        while check(self).is_none() {
            let ended = self.children.iter_mut().any(|(n, child)| {
                n == name && child.try_wait().is_ok_and(|status| status.is_some())
            });
            assert!(
                !ended && Instant::now() < end,
                "{name} did not become ready:\n{}",
                self.log(name)
            );
            sleep(Duration::from_millis(200));
        }
    }

    /// Returns the last lines of a server's log.
    pub(crate) fn log(&self, name: &str) -> String {
        let text = fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    fn apply_crds(&self, folders: &[&str]) {
        for folder in folders {
            let crds = self
                .bin
                .parent()
                .unwrap()
                .join("crds")
                .join(folder)
                .canonicalize()
                .unwrap();
            self.kubectl_ok(&["apply", "--server-side", "-f", crds.to_str().unwrap()]);
        }
        wait_for("the custom resources are served", 30, || {
            let out = self.kubectl(&[
                "wait",
                "--for=condition=Established",
                "crd",
                "--all",
                "--timeout=20s",
            ]);
            out.status.success().then_some(())
        });
    }

    /// Runs kubectl as the admin.
    pub(crate) fn kubectl(&self, args: &[&str]) -> Output {
        Command::new(self.bin.join("kubectl"))
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(args)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Runs kubectl and returns what it printed; panics where it failed.
    pub(crate) fn kubectl_ok(&self, args: &[&str]) -> String {
        let out = self.kubectl(args);
        assert!(
            out.status.success(),
            "kubectl {args:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8(out.stdout).unwrap()
    }

    /// Applies a manifest as the admin.
    pub(crate) fn apply(&self, manifest: &str) {
        let file = self.path("apply.yaml");
        fs::write(&file, manifest).unwrap();
        self.kubectl_ok(&["apply", "-f", file.to_str().unwrap()]);
    }

    /// Reads one object as JSON.
    pub(crate) fn get(&self, kind: &str, namespace: &str, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.kubectl_ok(&["get", kind, "-n", namespace, name, "-o", "json"]))
            .unwrap()
    }

    /// Runs the built program on this world and returns what it said.
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        let out = Command::new(env!("CARGO_BIN_EXE_gitops-tui"))
            .args(args)
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("KUBECONFIG", self.kubeconfig())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "On Call")
            .env("GIT_AUTHOR_EMAIL", "oncall@example.test")
            .env("GIT_COMMITTER_NAME", "On Call")
            .env("GIT_COMMITTER_EMAIL", "oncall@example.test")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Said {
            words: format!("gitops-tui {}", args.join(" ")),
            code: out.status.code().unwrap_or(-1),
            stdout: String::from_utf8(out.stdout).unwrap(),
            stderr: String::from_utf8(out.stderr).unwrap(),
        }
    }
}

/// What the program said.
#[derive(Debug)]
pub(crate) struct Said {
    words: String,
    /// Its exit code.
    pub code: i32,
    /// Its result.
    pub stdout: String,
    /// Its words for people.
    pub stderr: String,
}

impl Said {
    /// Panics with everything that was said where the exit code is another.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "{} exited {} instead of {code}\n--- stdout\n{}\n--- stderr\n{}",
            self.words, self.code, self.stdout, self.stderr
        );
        self
    }

    /// Returns the result as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("{}: {error}\n{}\n{}", self.words, self.stdout, self.stderr)
        })
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for (_, child) in self.children.iter_mut().rev() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}
