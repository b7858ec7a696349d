//! Renders every kustomization below a folder with the real kustomize and with ours, and compares: as data, in order,
//! in bytes.
//!
//! `cargo run --release --example compare_render -- DIR [--kustomize PATH] [--only TEXT] [--show N]`

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a tool for developers, which runs the real kustomize"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use gitops_tui::domain::render::kustomize::{self, Cache, Options};
use gitops_tui::domain::yaml::{self, Dialect};
use gitops_tui::world::disk::DiskTree;
use serde_json::Value;

/// What the comparison of one folder says.
enum Verdict {
    Bytes,
    Order,
    Data,
    Differs(String),
    OnlyTheyFail(String),
    OnlyWeFail(String),
    BothFail,
    Network(String),
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (mut dir, mut tool, mut only, mut show) =
        (PathBuf::from("."), default_tool(), String::new(), 20);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--kustomize" => tool = args.next().unwrap().into(),
            "--only" => only = args.next().unwrap(),
            "--show" => show = args.next().unwrap().parse().unwrap(),
            _ => dir = arg.into(),
        }
    }
    let dir = dir.canonicalize().unwrap();
    let mut roots = vec![];
    walk(&dir, &dir, &mut roots);
    roots.retain(|root| root.contains(&only));
    roots.sort();
    let tree = DiskTree::open(&dir).unwrap();
    let cache = Cache::default();
    let options = Options::default();
    let (mut theirs, mut ours) = (Duration::ZERO, Duration::ZERO);
    let mut counts = [0_usize; 8];
    let mut shown = 0;
    for root in &roots {
        let start = Instant::now();
        let built = kustomize::build(&tree, root, None, &options, &cache);
        let text = kustomize::text(built.objects.iter().map(|object| &object.value));
        let our_time = start.elapsed();
        ours += our_time;
        let (output, their_time) = real(&tool, &dir.join(root));
        theirs += their_time;
        let problems: Vec<String> = built.problems.iter().map(ToString::to_string).collect();
        let verdict = compare(&output, &text, &problems);
        let (at, word, detail) = match &verdict {
            Verdict::Bytes => (0, "bytes", ""),
            Verdict::Order => (1, "order", ""),
            Verdict::Data => (2, "data", ""),
            Verdict::Differs(detail) => (3, "DIFFERS", detail.as_str()),
            Verdict::OnlyTheyFail(detail) => (4, "we render, kustomize fails", detail.as_str()),
            Verdict::OnlyWeFail(detail) => (5, "WE FAIL", detail.as_str()),
            Verdict::BothFail => (6, "both fail", ""),
            Verdict::Network(detail) => (7, "network", detail.as_str()),
        };
        counts[at] += 1;
        if matches!(at, 1..=5) && shown < show {
            shown += 1;
            println!("{word}: {root}\n    {}", detail.replace('\n', "\n    "));
        }
    }
    let rendered = counts[0] + counts[1] + counts[2] + counts[3] + counts[5];
    println!(
        "{} kustomizations, {rendered} of them render offline with kustomize",
        roots.len()
    );
    for (name, count) in [
        ("equal in bytes", counts[0]),
        ("equal as data, in order", counts[1]),
        ("equal as data", counts[2]),
        ("differ", counts[3]),
        ("only ours fails", counts[5]),
        ("only kustomize fails", counts[4]),
        ("both fail", counts[6]),
        ("need the network or a plugin", counts[7]),
    ] {
        println!("  {count:6} {name}");
    }
    println!(
        "  kustomize {:.2} s, ours {:.2} s",
        theirs.as_secs_f64(),
        ours.as_secs_f64()
    );
    if counts[3] + counts[5] > 0 {
        std::process::exit(1);
    }
}

fn default_tool() -> PathBuf {
    let home = std::env::var("HOME").unwrap_or_default();
    Path::new(&home).join(".cache/gitops-tui-tools/bin/kustomize")
}

fn walk(dir: &Path, top: &Path, roots: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && name != ".git" {
            walk(&path, top, roots);
        } else if ["kustomization.yaml", "kustomization.yml", "Kustomization"]
            .iter()
            .any(|known| name == *known)
        {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            // A component and a Flux Kustomization are no roots.
            if !text.contains("kind: Component") && !text.contains("kustomize.toolkit.fluxcd.io") {
                roots.push(
                    dir.strip_prefix(top)
                        .unwrap()
                        .to_string_lossy()
                        .into_owned(),
                );
            }
        }
    }
}

fn real(tool: &Path, dir: &Path) -> (Result<String, String>, Duration) {
    let start = Instant::now();
    let output = Command::new("timeout")
        .arg("60")
        .arg(tool)
        .arg("build")
        .arg(dir)
        .env("https_proxy", "http://127.0.0.1:9")
        .env("http_proxy", "http://127.0.0.1:9")
        .env("HTTPS_PROXY", "http://127.0.0.1:9")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ALLOW_PROTOCOL", "none")
        .output()
        .unwrap();
    let time = start.elapsed();
    if output.status.success() {
        (
            Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            time,
        )
    } else {
        (
            Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            time,
        )
    }
}

fn compare(theirs: &Result<String, String>, ours: &str, problems: &[String]) -> Verdict {
    match (theirs, problems) {
        (Ok(theirs), []) if theirs == ours => Verdict::Bytes,
        (Ok(theirs), []) => {
            let (theirs_data, ours_data) = (values(theirs), values(ours));
            if theirs_data == ours_data {
                return Verdict::Order;
            }
            let sorted = |list: &[Value]| {
                let mut texts: Vec<String> = list.iter().map(ToString::to_string).collect();
                texts.sort();
                texts
            };
            if sorted(&theirs_data) == sorted(&ours_data) {
                return Verdict::Data;
            }
            Verdict::Differs(first_difference(theirs, ours))
        }
        (Ok(_), [first, ..]) => {
            Verdict::OnlyWeFail(format!("{first} ({} problems)", problems.len()))
        }
        (Err(error), []) => {
            Verdict::OnlyTheyFail(error.lines().last().unwrap_or_default().to_owned())
        }
        (Err(_), problems) => match problems.iter().find(|problem| {
            problem.contains("needs the network") || problem.contains("not supported yet")
        }) {
            Some(problem) => Verdict::Network(problem.clone()),
            None => Verdict::BothFail,
        },
    }
}

fn values(text: &str) -> Vec<Value> {
    yaml::parse(text.as_bytes())
        .documents
        .iter()
        .map(|document| document.to_json(Dialect::Kubectl).unwrap_or(Value::Null))
        .collect()
}

fn first_difference(theirs: &str, ours: &str) -> String {
    let (theirs, ours): (Vec<&str>, Vec<&str>) = (theirs.lines().collect(), ours.lines().collect());
    let at = theirs
        .iter()
        .zip(&ours)
        .position(|(a, b)| a != b)
        .unwrap_or_else(|| theirs.len().min(ours.len()));
    let from = at.saturating_sub(4);
    let slice = |lines: &[&str]| lines[from.min(lines.len())..(at + 4).min(lines.len())].join("\n");
    format!(
        "line {}\n--- kustomize\n{}\n--- ours\n{}",
        at + 1,
        slice(&theirs),
        slice(&ours)
    )
}
