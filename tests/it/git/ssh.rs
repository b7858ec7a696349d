//! Git over ssh against a real sshd on loopback: keys granted and refused, hosts known, unknown and changed.
//!
//! `known_hosts` (case R10) is ssh's own business: we run ssh, never answer for it and never switch its check off.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gitops_tui::domain::fault::FaultKind;
use gitops_tui::world::git::{Access, Edit, Mirror, Timeouts};

use super::Sandbox;

/// A server that lets the user who runs the test in with one key; ended when dropped.
struct Sshd {
    child: Child,
    port: u16,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Sshd {
    /// Starts one; `None` (said so) where there is no sshd, or it refuses to run here.
    fn start(sandbox: &Sandbox) -> Option<Self> {
        let program = Path::new("/usr/sbin/sshd");
        if !program.exists() {
            eprintln!("skipped: openssh-server is not installed");
            return None;
        }
        for key in ["hostkey", "otherhost", "mine", "strange"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(sandbox.path(key))
                .status();
            assert!(made.unwrap().success());
        }
        // Only root's sshd asks for this folder.
        drop(std::fs::create_dir_all("/run/sshd"));
        std::fs::copy(sandbox.path("mine.pub"), sandbox.path("authorized")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
             StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n",
            sandbox.path("hostkey").display(),
            sandbox.path("authorized").display(),
        );
        std::fs::write(sandbox.path("sshd_config"), config).unwrap();
        let log = std::fs::File::create(sandbox.path("sshd.log")).unwrap();
        let child = Command::new(program)
            .args(["-D", "-e", "-f"])
            .arg(sandbox.path("sshd_config"))
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut sshd = Self { child, port };
        for _ in 0..500 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(sshd);
            }
            if sshd.child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!(
            "sshd did not start: {}",
            std::fs::read_to_string(sandbox.path("sshd.log")).unwrap()
        );
    }

    /// Writes what the client needs: a configuration with this key, and a `known_hosts` that knows this host key.
    fn client(&self, sandbox: &Sandbox, key: &str, host: Option<&str>) -> PathBuf {
        let known = sandbox.path("known_hosts");
        let line = host.map_or(String::new(), |host| {
            let public = std::fs::read_to_string(sandbox.path(&format!("{host}.pub"))).unwrap();
            format!("[127.0.0.1]:{} {public}", self.port)
        });
        std::fs::write(&known, line).unwrap();
        let config = sandbox.path("ssh_config");
        let text = format!(
            "UserKnownHostsFile {}\nGlobalKnownHostsFile /dev/null\nIdentityFile {}\nIdentitiesOnly yes\nIdentityAgent none\n",
            known.display(),
            sandbox.path(key).display(),
        );
        std::fs::write(&config, text).unwrap();
        config
    }

    fn url(&self, path: &str) -> String {
        let user = std::env::var("USER").ok().filter(|u| !u.is_empty());
        let user = user.unwrap_or_else(|| {
            let id = Command::new("id").arg("-un").output().unwrap().stdout;
            String::from_utf8(id).unwrap().trim().to_owned()
        });
        format!("ssh://{user}@127.0.0.1:{}{path}", self.port)
    }
}

fn access(sandbox: &Sandbox, config: &Path) -> Access {
    let command = format!("ssh -F {}", config.display());
    let timeouts = Timeouts {
        connect: Duration::from_secs(5),
        ..Timeouts::default()
    };
    Access::new(
        sandbox.variables().with("GIT_SSH_COMMAND", command),
        timeouts,
    )
}

#[test]
fn a_key_that_is_granted_reads_and_writes() {
    let sandbox = Sandbox::new();
    let Some(sshd) = Sshd::start(&sandbox) else {
        return;
    };
    let (path, base) = sandbox.origin(&[("a.yaml", "a: 1\n"), ("big", &"line\n".repeat(100_000))]);
    let config = sshd.client(&sandbox, "mine", Some("hostkey"));
    let mirror = Mirror::open(
        &sandbox.path("cache"),
        &sshd.url(&path),
        &access(&sandbox, &config),
    )
    .unwrap();
    mirror.fetch(&mut |_| true).unwrap();
    assert_eq!(mirror.tip("main").unwrap(), base);
    let edit = Edit {
        path: "a.yaml".into(),
        before: None,
        after: Some(b"a: 2\n".to_vec()),
    };
    let made = mirror
        .commit(&base, "drift/x", &[edit], "m", &super::write::somebody())
        .unwrap();
    mirror.push("drift/x").unwrap();
    let origin = git2::Repository::open(&path).unwrap();
    let there = origin
        .find_reference("refs/heads/drift/x")
        .unwrap()
        .target()
        .unwrap();
    assert_eq!(there.to_string(), made.id);

    // The same by configuration, and by a plain `ssh` on the path.
    let by_config = format!("[core]\n\tsshCommand = ssh -F {}\n", config.display());
    std::fs::write(sandbox.path("home/.gitconfig"), by_config).unwrap();
    mirror_of(&sandbox, &sshd, &path, "by-config", &sandbox.access()).unwrap();
    std::fs::write(sandbox.path("home/.gitconfig"), "").unwrap();
    let refused = mirror_of(&sandbox, &sshd, &path, "by-nothing", &sandbox.access());
    assert!(
        refused.is_err(),
        "without its configuration ssh does not know the host"
    );
}

fn mirror_of(
    sandbox: &Sandbox,
    sshd: &Sshd,
    path: &str,
    cache: &str,
    access: &Access,
) -> Result<(), gitops_tui::domain::fault::Fault> {
    let mirror = Mirror::open(&sandbox.path(cache), &sshd.url(path), access)?;
    mirror.fetch(&mut |_| true).map(drop)
}

#[test]
fn what_ssh_refuses_is_said_with_its_words_and_the_next_step() {
    let sandbox = Sandbox::new();
    let Some(sshd) = Sshd::start(&sandbox) else {
        return;
    };
    let (path, _) = sandbox.origin(&[("a", "1")]);
    for (key, host, at, kind, cause, hint) in [
        (
            "strange",
            Some("hostkey"),
            path.as_str(),
            FaultKind::Unauthorized,
            "Permission denied",
            "ssh-add",
        ),
        (
            "mine",
            None,
            &path,
            FaultKind::Refused,
            "Host key verification failed",
            "ssh-keyscan -p",
        ),
        (
            "mine",
            Some("otherhost"),
            &path,
            FaultKind::Refused,
            "HAS CHANGED",
            "find out why",
        ),
        (
            "mine",
            Some("hostkey"),
            "/none.git",
            FaultKind::NotFound,
            "/none.git",
            "check the path",
        ),
    ] {
        let config = sshd.client(&sandbox, key, host);
        let fault =
            mirror_of(&sandbox, &sshd, at, "cache", &access(&sandbox, &config)).unwrap_err();
        assert_eq!(fault.kind, kind, "{fault:?}");
        assert!(fault.sentence.ends_with("over ssh"), "{fault:?}");
        assert!(fault.causes[0].contains(cause), "{fault:?}");
        assert!(fault.hint.as_ref().unwrap().contains(hint), "{fault:?}");
    }
}

#[test]
fn an_address_cannot_smuggle_an_option() {
    let sandbox = Sandbox::new();
    for url in [
        "ssh://-oProxyCommand=touch${IFS}x/a",
        "ssh://-l@host.example.test/a",
        "-oX@host.example.test:a",
    ] {
        let fetched = Mirror::open(&sandbox.path("cache"), url, &sandbox.access())
            .and_then(|m| m.fetch(&mut |_| true));
        assert_eq!(fetched.unwrap_err().kind, FaultKind::Refused, "{url}");
    }
}

/// Case R10: who is let in by `known_hosts` is ssh's own decision. Ours is to leave it to ssh, which this holds: no
/// option of ours touches the check, and a question is answered by failing.
#[test]
fn r10_known_hosts_is_left_to_ssh() {
    let sandbox = Sandbox::new();
    let said = sandbox.path("said");
    let command = format!("printf '%s\\n' \"$@\" > {}; false", said.display());
    let access = Access::new(
        sandbox.variables().with("GIT_SSH_COMMAND", command),
        Timeouts::default(),
    );
    let url = "ssh://git@git.example.test:2222/team/it's.git";
    let fault = Mirror::open(&sandbox.path("cache"), url, &access)
        .unwrap()
        .fetch(&mut |_| true)
        .unwrap_err();
    assert!(fault.hint.is_some(), "{fault:?}");
    let arguments = std::fs::read_to_string(said).unwrap();
    assert!(
        arguments.contains("BatchMode=yes")
            && !arguments.contains("StrictHostKey")
            && !arguments.contains("KnownHosts")
    );
    assert!(
        arguments.ends_with(
            "-p\n2222\n--\ngit@git.example.test\ngit-upload-pack '/team/it'\\''s.git'\n"
        ),
        "{arguments}"
    );
}
