//! Renders generated trees with the real kustomize and with ours, and compares them as data and in order.
//!
//! `cargo run --example compare_generated -- [--seed N] [--count N] [--keep DIR] [--kustomize PATH]`
//!
//! With `--keep`, every tree on which the two differ is written below DIR. Ends with 1 where there is one.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a tool for developers, which runs the real kustomize"
)]

#[path = "../tests/support/trees.rs"]
mod trees;

use std::path::{Path, PathBuf};
use std::process::Command;

use gitops_tui::domain::render::kustomize::{self, Cache, Options};
use gitops_tui::world::disk::DiskTree;

fn main() {
    let mut args = std::env::args().skip(1);
    let (mut seed, mut count, mut keep) = (1_u64, 200_u64, None::<PathBuf>);
    let home = std::env::var("HOME").unwrap_or_default();
    let mut tool = Path::new(&home).join(".cache/gitops-tui-tools/bin/kustomize");
    while let Some(arg) = args.next() {
        let value = args.next().unwrap();
        match arg.as_str() {
            "--seed" => seed = value.parse().unwrap(),
            "--count" => count = value.parse().unwrap(),
            "--keep" => keep = Some(value.into()),
            "--kustomize" => tool = value.into(),
            other => {
                println!("no option {other}");
                std::process::exit(2);
            }
        }
    }
    let (mut equal, mut refused, mut differ) = (0, 0, 0);
    for number in seed..seed + count {
        let files = trees::tree(&bytes(number));
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &files);
        let output = Command::new(&tool)
            .arg("build")
            .arg(folder.path().join(trees::ROOT))
            .output()
            .unwrap();
        let tree = DiskTree::open(folder.path()).unwrap();
        let built = kustomize::build(
            &tree,
            trees::ROOT,
            None,
            &Options::default(),
            &Cache::default(),
        );
        let ours = built
            .problems
            .is_empty()
            .then(|| kustomize::text(built.objects.iter().map(|object| &object.value)));
        let theirs = output
            .status
            .success()
            .then(|| String::from_utf8(output.stdout).unwrap());
        match (&ours, &theirs) {
            (None, None) => refused += 1,
            (Some(ours), Some(theirs)) if ours == theirs => equal += 1,
            _ => {
                differ += 1;
                println!("seed {number} differs");
                if theirs.is_none() {
                    println!("  kustomize: {}", String::from_utf8_lossy(&output.stderr));
                }
                for problem in &built.problems {
                    println!("  ours: {problem}");
                }
                if let Some(keep) = &keep {
                    let folder = keep.join(number.to_string());
                    write(&folder, &files);
                    std::fs::write(folder.join("theirs.yaml"), theirs.unwrap_or_default()).unwrap();
                    std::fs::write(folder.join("ours.yaml"), ours.unwrap_or_default()).unwrap();
                }
            }
        }
    }
    println!("{equal} equal in bytes, {refused} refused by both, {differ} differ");
    if differ > 0 {
        std::process::exit(1);
    }
}

/// Makes the bytes of a tree of a seed (splitmix64).
fn bytes(seed: u64) -> Vec<u8> {
    let mut state = seed;
    (0..32)
        .flat_map(|_| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (mixed ^ (mixed >> 31)).to_le_bytes()
        })
        .collect()
}

fn write(folder: &Path, files: &trees::Files) {
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}
