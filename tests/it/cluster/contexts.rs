//! Kubeconfigs, credential plugins and proxies, with real files, processes and sockets on loopback.

use std::path::PathBuf;
use std::time::Duration;

use gitops_tui::domain::fault::{Fault, FaultKind};
use gitops_tui::domain::fleet::{Change, ContextState};
use gitops_tui::world::cluster::{Contexts, KubeEnv};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::script::Script;
use super::{case, kustomizations};

/// Copies a case into a temporary folder with its ports filled in.
fn filled(name: &str, ports: &[(&str, u16)]) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    for entry in std::fs::read_dir(case(name)).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let file = folder.path().join("kubeconfig.yaml");
    let mut text = std::fs::read_to_string(&file).unwrap();
    for (word, port) in ports {
        text = text.replace(&format!("{{{{{word}}}}}"), &port.to_string());
    }
    std::fs::write(&file, text).unwrap();
    (folder, file)
}

fn load(files: &[PathBuf]) -> Result<Contexts, Fault> {
    Contexts::load(&KubeEnv {
        files: files.to_vec(),
        named: true,
        answer_within: Some(2),
        ..KubeEnv::default()
    })
}

async fn fault(contexts: &Contexts, name: &str) -> Fault {
    contexts.connect(name).await.unwrap_err()
}

/// A port that nobody listens on.
async fn closed_port() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().port()
}

/// N01: each context fails on its own, with its own words.
#[tokio::test]
async fn each_context_has_its_own_fault_and_the_good_one_works() {
    let script = Script::new(Value::Array(kustomizations()));
    let port = script.listen().await;
    let closed = closed_port().await;
    let (_folder, file) = filled(
        "N01",
        &[("PORT", port), ("CLOSED_PORT", closed), ("SILENT_PORT", 1)],
    );
    let contexts = load(&[file]).unwrap();
    assert_eq!(
        contexts.names().iter().map(|n| &**n).collect::<Vec<_>>(),
        ["dead", "silent", "good", "badca", "nouser", "nocluster"]
    );
    assert_eq!(contexts.current(), Some("dead"));
    let dead = fault(&contexts, "dead").await;
    assert_eq!(
        (dead.kind, dead.sentence.as_str()),
        (FaultKind::Unreachable, "connection refused")
    );
    let badca = fault(&contexts, "badca").await;
    assert_eq!(badca.kind, FaultKind::Config);
    assert!(badca.to_string().contains("missing-ca.crt"), "{badca}");
    assert_eq!(
        fault(&contexts, "nouser").await.sentence,
        "its user `not-there` is not in the kubeconfig"
    );
    assert_eq!(
        fault(&contexts, "nocluster").await.sentence,
        "its cluster `not-there` is not in the kubeconfig"
    );
    let good = contexts.connect("good").await.unwrap();
    let discovery = good.discovery().await.unwrap();
    assert!(
        discovery
            .best("kustomize.toolkit.fluxcd.io", "Kustomization")
            .is_some()
    );
    assert_eq!(
        script.seen()[0].token.as_deref(),
        Some("Bearer example-token")
    );
}

/// N01 again: a server that takes the connection and says nothing.
#[tokio::test]
async fn a_silent_server_ends_at_the_bound() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let keeper = tokio::spawn(async move {
        let mut kept = vec![];
        while let Ok((stream, _)) = listener.accept().await {
            kept.push(stream);
        }
    });
    let (_folder, file) = filled(
        "N01",
        &[("PORT", 1), ("CLOSED_PORT", 1), ("SILENT_PORT", port)],
    );
    let contexts = load(&[file]).unwrap();
    let silent = fault(&contexts, "silent").await;
    assert_eq!(silent.kind, FaultKind::Timeout);
    assert_eq!(
        silent.sentence,
        format!("no answer from http://127.0.0.1:{port} after 2 s")
    );
    keeper.abort();
}

#[test]
fn merges_files_as_kubectl_does() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let config = |server: &str, names: &str| {
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {{server: \"{server}\"}}\ncontexts:\n{names}"
        )
    };
    let one = write(
        "one",
        &config("http://one", "- name: a\n  context: {cluster: c}\n"),
    );
    let two = write(
        "two",
        &config(
            "http://two",
            "- name: a\n  context: {cluster: x}\n- name: \"b/c: d@e\"\n  context: {cluster: c}\n",
        ),
    );
    let broken = write("broken", "contexts: [\nusers:\n- token: SECRET\n");
    let contexts = load(&[
        folder.path().join("absent"),
        one,
        PathBuf::new(),
        broken.clone(),
        two,
    ])
    .unwrap();
    let names: Vec<&str> = contexts.names().iter().map(|n| &**n).collect();
    assert_eq!(names, ["a", "b/c: d@e"]);
    assert_eq!(contexts.server("b/c: d@e").as_deref(), Some("http://one"));
    let problem = &contexts.problems()[0];
    assert_eq!(problem.kind, FaultKind::Config);
    assert_eq!(
        problem.place.as_ref().unwrap().file,
        broken.display().to_string()
    );
    assert!(!format!("{problem:?}").contains("SECRET"), "{problem:?}");
    let nothing = load(&[folder.path().join("absent")]).unwrap_err();
    assert!(nothing.sentence.contains("absent"), "{nothing}");
}

/// N02: plugins without a terminal.
#[tokio::test]
async fn plugins_get_no_terminal_and_their_words_are_shown() {
    let script = Script::new(Value::Array(kustomizations()));
    let port = script.listen().await;
    let (_folder, file) = filled("N02", &[("PORT", port)]);
    let contexts = load(&[file]).unwrap();
    let prompts = fault(&contexts, "prompts").await;
    assert_eq!(prompts.kind, FaultKind::Unauthorized);
    assert!(prompts.sentence.ends_with("failed: Password:"), "{prompts}");
    let always = fault(&contexts, "always").await;
    assert!(always.sentence.contains("wants a terminal"), "{always}");
    let missing = fault(&contexts, "missing").await;
    assert!(missing.sentence.contains("no-such-plugin-xyz"), "{missing}");
    assert_eq!(
        missing.hint.as_deref(),
        Some("install it with: example install xyz")
    );
    contexts.connect("unset-mode").await.unwrap();
    assert_eq!(script.seen()[0].token.as_deref(), Some("Bearer tok-noisy"));
}

/// N02: a token that runs out, and one that is refused, make the plugin run once more; not once for each request.
#[tokio::test]
async fn a_plugin_runs_again_only_when_its_token_is_worth_nothing() {
    let script = Script::new(Value::Array(kustomizations()));
    let port = script.listen().await;
    let folder = TempDir::new().unwrap();
    let count = folder.path().join("count");
    let plugin = folder.path().join("plugin.sh");
    std::fs::write(
        &plugin,
        format!(
            "#!/bin/sh\nn=$(cat {0} 2>/dev/null || echo 0); n=$((n + 1)); echo $n > {0}\n\
             case \"$KUBERNETES_EXEC_INFO\" in *'\"interactive\":false'*) ;; *) exit 1;; esac\n\
             printf '{{\"kind\":\"ExecCredential\",\"status\":{{\"token\":\"tok-%s\",\"expirationTimestamp\":\"2999-01-01T00:00:00Z\"}}}}' $n\n",
            count.display()
        ),
    )
    .unwrap();
    let config = folder.path().join("config");
    std::fs::write(
        &config,
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {{server: \"http://127.0.0.1:{port}\"}}\n\
             users:\n- name: u\n  user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: sh, args: [\"{}\"]}}}}\n\
             contexts:\n- name: x\n  context: {{cluster: c, user: u}}\n",
            plugin.display()
        ),
    )
    .unwrap();
    let contexts = load(&[config]).unwrap();
    let cluster = contexts.connect("x").await.unwrap();
    let runs = || std::fs::read_to_string(&count).unwrap().trim().to_owned();
    assert_eq!(runs(), "1", "once for all requests");
    script.first(
        json!({"method": "GET", "path": "/apis", "times": 1, "status": 401, "body":
        {"kind": "Status", "status": "Failure", "code": 401, "message": "Unauthorized"}}),
    );
    cluster.discover().await.unwrap();
    assert_eq!(runs(), "2", "once for the refusal");
    let last = script.seen().last().unwrap().token.clone();
    assert_eq!(last.as_deref(), Some("Bearer tok-2"));
}

/// N08: a proxy of the kubeconfig gets the request, and resolves the server's name.
#[tokio::test]
async fn requests_go_through_the_contexts_own_proxy() {
    let script = Script::new(Value::Array(kustomizations()));
    let proxy = script.listen().await;
    let folder = TempDir::new().unwrap();
    let config = folder.path().join("config");
    let context = |name: &str| format!("- name: {name}\n  context: {{cluster: {name}}}\n");
    std::fs::write(
        &config,
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n\
             - name: via\n  cluster: {{server: \"http://api.cluster.example.test:80\", proxy-url: \"http://u:PASS@127.0.0.1:{proxy}\"}}\n\
             - name: bad\n  cluster: {{server: \"http://127.0.0.1:1\", proxy-url: \"ftp://u:PASS@127.0.0.1:1\"}}\n\
             contexts:\n{}{}",
            context("via"),
            context("bad")
        ),
    )
    .unwrap();
    let contexts = load(&[config]).unwrap();
    let bad = fault(&contexts, "bad").await;
    assert_eq!(bad.kind, FaultKind::Config);
    assert!(
        bad.sentence.contains("proxy-url") && bad.sentence.contains("ftp"),
        "{bad}"
    );
    assert!(!format!("{bad:?}").contains("PASS"), "{bad:?}");
    // whatever the proxy is asked (a tunnel or the request itself), it is asked and not the name server
    drop(tokio::time::timeout(Duration::from_secs(5), contexts.connect("via")).await);
    assert!(!script.seen().is_empty());
}

/// A context that is wrong says so once; one that is away is tried again until it is there.
#[tokio::test]
async fn a_context_is_tried_again_until_it_answers() {
    let script = Script::new(Value::Array(kustomizations()));
    script.first(
        json!({"method": "GET", "path": "/apis", "times": 1, "status": 503, "body":
        {"kind": "Status", "status": "Failure", "code": 503, "message": "starting"}}),
    );
    let port = script.listen().await;
    let (_folder, file) = filled(
        "N01",
        &[("PORT", port), ("CLOSED_PORT", 1), ("SILENT_PORT", 1)],
    );
    let contexts = load(&[file]).unwrap();
    let (sender, mut changes) = tokio::sync::mpsc::channel(8);
    let (connected, cluster) = tokio::sync::oneshot::channel();
    let kept = contexts.clone();
    let task = tokio::spawn(async move {
        kept.keep("good", sender, |cluster| drop(connected.send(cluster)))
            .await;
    });
    let mut states = vec![];
    while states.last() != Some(&ContextState::Ready) {
        for change in changes.recv().await.unwrap() {
            if let Change::Context { state, .. } = change {
                states.push(state);
            }
        }
    }
    assert_eq!(states, [ContextState::Unreachable, ContextState::Ready]);
    assert_eq!(&*cluster.await.unwrap().context, "good");
    drop(changes);
    task.await.unwrap();

    let (sender, mut changes) = tokio::sync::mpsc::channel(8);
    let task = tokio::spawn(async move { contexts.keep("nouser", sender, |_| {}).await });
    let first = changes.recv().await.unwrap();
    assert!(matches!(
        &first[0],
        Change::Context {
            state: ContextState::Misconfigured,
            ..
        }
    ));
    drop(changes);
    task.await.unwrap();
}
