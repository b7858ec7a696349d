//! The source-controller's ignore rules: what a repository loses on its way into an artifact.
//!
//! The syntax is that of `.gitignore` as the controller's library reads it, which differs from git in places (a pattern
//! that names a folder also takes what lies in it, later patterns win over earlier ones across files). The matching
//! follows the library step by step. Reading `.sourceignore` files is left to the artifact.

use super::envsubst::glob;

/// Always left out.
const VERSION_CONTROL: &[&str] = &[".git/", ".gitignore", ".gitmodules", ".gitattributes"];

/// Left out where neither a `.sourceignore` nor `spec.ignore` says anything.
const DEFAULTS: &[&str] = &[
    "*.jpg",
    "*.jpeg",
    "*.gif",
    "*.png",
    "*.wmv",
    "*.flv",
    "*.tar.gz",
    "*.zip",
    ".github/",
    ".circleci/",
    ".travis.yml",
    ".gitlab-ci.yml",
    "appveyor.yml",
    ".drone.yml",
    "cloudbuild.yaml",
    "codeship-services.yml",
    "codeship-steps.yml",
    "**/.goreleaser.yml",
    "**/.sops.yaml",
    "**/.flux.yaml",
];

/// One pattern and the folder it counts in.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    folder: Vec<String>,
    parts: Vec<String>,
    takes_back: bool,
    folders_only: bool,
    has_slash: bool,
}

impl Pattern {
    /// Reads the patterns of an ignore file (or of `spec.ignore`) that counts in `folder`.
    pub(super) fn read_all(text: &str, folder: &[&str]) -> Vec<Self> {
        text.lines()
            .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
            .map(|line| Self::read(line, folder))
            .collect()
    }

    fn read(line: &str, folder: &[&str]) -> Self {
        let (takes_back, line) = match line.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let line = if line.ends_with("\\ ") {
            line
        } else {
            line.trim_end_matches(' ')
        };
        let (folders_only, line) = match line.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        Self {
            folder: folder.iter().map(|part| (*part).to_owned()).collect(),
            parts: line.split('/').map(str::to_owned).collect(),
            takes_back,
            folders_only,
            has_slash: line.contains('/'),
        }
    }

    fn matches(&self, path: &[&str], is_folder: bool) -> bool {
        let depth = self.folder.len();
        if path.len() <= depth || path.iter().zip(&self.folder).any(|(a, b)| a != b) {
            return false;
        }
        let inside = &path[depth..];
        if self.has_slash {
            self.matches_path(inside, is_folder)
        } else {
            self.matches_name(inside, is_folder)
        }
    }

    fn matches_name(&self, path: &[&str], is_folder: bool) -> bool {
        let Some(at) = path
            .iter()
            .position(|name| glob(self.parts[0].as_bytes(), name.as_bytes()))
        else {
            return false;
        };
        !self.folders_only || is_folder || at + 1 < path.len()
    }

    fn matches_path(&self, mut path: &[&str], is_folder: bool) -> bool {
        let mut matched = false;
        let mut any_depth = false;
        for (at, part) in self.parts.iter().enumerate() {
            if part.is_empty() {
                any_depth = false;
                continue;
            }
            if part == "**" {
                if at + 1 == self.parts.len() {
                    break;
                }
                any_depth = true;
                continue;
            }
            if part.contains("**") {
                return false;
            }
            let Some((first, rest)) = path.split_first() else {
                return false;
            };
            if !any_depth {
                if !glob(part.as_bytes(), first.as_bytes()) {
                    return false;
                }
                matched = true;
                path = rest;
                continue;
            }
            any_depth = false;
            let here = path
                .iter()
                .position(|name| glob(part.as_bytes(), name.as_bytes()));
            matched = here.is_some();
            path = here.map_or(&[], |at| &path[at + 1..]);
        }
        matched && (!self.folders_only || is_folder || !path.is_empty())
    }
}

/// All rules of one artifact; later patterns win.
#[derive(Debug, Clone)]
pub(super) struct Rules(Vec<Pattern>);

impl Rules {
    /// Joins the patterns of all ignore files and of `spec.ignore`, in that order, with what is always left out; the
    /// defaults count only where there are no others.
    pub(super) fn new(own: Vec<Pattern>) -> Self {
        let mut patterns: Vec<Pattern> = VERSION_CONTROL
            .iter()
            .map(|p| Pattern::read(p, &[]))
            .collect();
        if own.is_empty() {
            patterns.extend(DEFAULTS.iter().map(|p| Pattern::read(p, &[])));
        }
        patterns.extend(own);
        Self(patterns)
    }

    /// Tells whether a file or folder, by its path's parts, stays out of the artifact.
    pub(super) fn leave_out(&self, path: &[&str], is_folder: bool) -> bool {
        self.0
            .iter()
            .rev()
            .find(|pattern| pattern.matches(path, is_folder))
            .is_some_and(|pattern| !pattern.takes_back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(rules: &Rules, path: &str) -> bool {
        let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        rules.leave_out(&parts, path.ends_with('/'))
    }

    fn check(rules: &Rules, out: &[&str], stay: &[&str]) {
        for path in out {
            assert!(left_out(rules, path), "{path} should be left out");
        }
        for path in stay {
            assert!(!left_out(rules, path), "{path} should stay");
        }
    }

    #[test]
    fn leaves_out_the_defaults_where_nothing_else_is_said() {
        check(
            &Rules::new(vec![]),
            &[
                "a.png",
                "x/y.zip",
                ".github/w.yaml",
                "x/.sops.yaml",
                ".git/config",
                ".sops.yaml",
            ],
            &["a.yaml", "x/.github", ".sourceignore", "png/a.yaml"],
        );
    }

    #[test]
    fn drops_the_defaults_with_the_first_pattern() {
        check(
            &Rules::new(Pattern::read_all("# a comment\n\n*.txt\r\n", &[])),
            &["notes.txt", "x/notes.txt", ".git/config", ".gitignore"],
            &["a.png", ".github/w.yaml"],
        );
    }

    #[test]
    fn follows_the_librarys_grammar() {
        check(
            &Rules::new(Pattern::read_all("/*\n!/apps\n/apps/dev\n", &[])),
            &["a.yaml", "infra/a.yaml", "apps/dev/a.yaml"],
            &["apps/a.yaml", "apps/prod/dev/a.yaml", "apps/"],
        );
        check(
            &Rules::new(Pattern::read_all("a/**/z\n**/tmp\nfoo/\nb/**\n", &[])),
            &["a/z", "a/x/y/z", "q/tmp", "tmp/x", "foo/", "foo/x", "b/x"],
            &["foo", "z/a"],
        );
        check(
            &Rules::new(Pattern::read_all("/x.yaml\ny.yaml\n", &["sub", "dir"])),
            &["sub/dir/x.yaml", "sub/dir/deep/y.yaml"],
            &["x.yaml", "sub/dir/deep/x.yaml", "sub/y.yaml"],
        );
        check(
            &Rules::new(Pattern::read_all("*.yaml\n!keep.yaml\n", &[])),
            &["a.yaml", "d/a.yaml"],
            &["keep.yaml", "d/keep.yaml"],
        );
    }
}
