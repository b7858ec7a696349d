//! `helm template`: the words of one run.

use super::Helm;
use super::chart::Chart;
use super::folder::Folder;
use crate::domain::fault::{Fault, FaultKind};

/// Under which name the chart is rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Release {
    /// This name.
    Name(String),
    /// A template that makes the name (`--name-template`).
    Template(String),
    /// A name that helm makes up: it differs with every run.
    Generated,
}

/// One value set from outside the files of values; later ones win, and all of them win over the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assignment {
    /// `--set PATH=VALUE`: the value is read as YAML, `,` and `{}` mean lists.
    Value(String),
    /// `--set-string PATH=VALUE`.
    Text(String),
    /// `--set-json PATH=JSON`.
    Json(String),
    /// `--set-literal PATH=TEXT`: nothing in the text means anything.
    Literal(String),
    /// `--set-file PATH=…`: the value is these bytes.
    File(String, Vec<u8>),
}

/// What to render, and how; [`Template::of`] has the defaults of `helm template`.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of helm's")]
pub struct Template<'a> {
    /// The chart.
    pub chart: Chart<'a>,
    /// The release's name.
    pub release: Release,
    /// The release's namespace; empty for helm's `default`.
    pub namespace: String,
    /// Files of values, later ones over earlier ones, all of them over the chart's own.
    pub values: Vec<Vec<u8>>,
    /// Values set one by one.
    pub set: Vec<Assignment>,
    /// `.Capabilities.KubeVersion`; empty for helm's own.
    pub kube_version: String,
    /// Added to `.Capabilities.APIVersions`.
    pub api_versions: Vec<String>,
    /// The chart's `crds/` are printed too.
    pub include_crds: bool,
    /// Hooks are left out.
    pub skip_hooks: bool,
    /// Tests are left out.
    pub skip_tests: bool,
    /// The chart's schema of values is not checked.
    pub skip_schema: bool,
    /// `.Release.IsUpgrade` instead of `.Release.IsInstall`.
    pub is_upgrade: bool,
    /// Secret values among the values: they are masked in helm's complaints.
    pub secrets: Vec<String>,
}

impl<'a> Template<'a> {
    /// The chart as `helm template CHART --generate-name` has it.
    pub fn of(chart: Chart<'a>) -> Self {
        Self {
            chart,
            release: Release::Generated,
            namespace: String::new(),
            values: vec![],
            set: vec![],
            kube_version: String::new(),
            api_versions: vec![],
            include_crds: false,
            skip_hooks: false,
            skip_tests: false,
            skip_schema: false,
            is_upgrade: false,
            secrets: vec![],
        }
    }

    /// Writes the files of values, and returns the words of the command line. Every word that comes from a file is
    /// glued to its flag, so that none can be a flag itself.
    fn words(&self, folder: &Folder) -> Result<Vec<String>, Fault> {
        let mut words = vec!["template".to_owned()];
        let mut glue = |flag: &str, value: &str| words.push(format!("{flag}={value}"));
        let path = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
        for (nth, values) in self.values.iter().enumerate() {
            glue(
                "--values",
                &path(folder.write(&format!("values/{nth}.yaml"), values)?),
            );
        }
        for (nth, set) in self.set.iter().enumerate() {
            match set {
                Assignment::Value(words) => glue("--set", words),
                Assignment::Text(words) => glue("--set-string", words),
                Assignment::Json(words) => glue("--set-json", words),
                Assignment::Literal(words) => glue("--set-literal", words),
                Assignment::File(name, bytes) => {
                    let file = path(folder.write(&format!("set/{nth}"), bytes)?);
                    glue("--set-file", &format!("{name}={file}"));
                }
            }
        }
        match &self.release {
            Release::Name(_) => {}
            Release::Template(template) => glue("--name-template", template),
            Release::Generated => glue("--generate-name", "true"),
        }
        if !self.namespace.is_empty() {
            glue("--namespace", &self.namespace);
        }
        if !self.kube_version.is_empty() {
            glue("--kube-version", &self.kube_version);
        }
        for version in &self.api_versions {
            glue("--api-versions", version);
        }
        for (is_set, flag) in [
            (self.include_crds, "--include-crds"),
            (self.skip_hooks, "--no-hooks"),
            (self.skip_tests, "--skip-tests"),
            (self.skip_schema, "--skip-schema-validation"),
            (self.is_upgrade, "--is-upgrade"),
        ] {
            if is_set {
                glue(flag, "true");
            }
        }
        Ok(words)
    }
}

impl Helm {
    /// Renders a chart; returns what `helm template` prints.
    ///
    /// # Errors
    /// The chart cannot be had (with the server's words), helm refuses it (with helm's), or the bound was reached. No
    /// fault holds a value that `template.secrets` names.
    pub fn template(&self, template: &Template<'_>) -> Result<String, Fault> {
        let folder = Folder::new(&self.variables)?;
        let chart = self.place(&folder, template.chart)?;
        let mut command = self.command(&folder);
        command.args(template.words(&folder)?).arg("--");
        if let Release::Name(name) = &template.release {
            command.arg(name);
        }
        command.arg(&chart);
        self.run(&folder, &mut command, "template", &template.secrets)
            .map_err(|fault| match fault.kind {
                FaultKind::Render if fault.hint.is_none() => {
                    fault.hint("mend the chart or its values")
                }
                _ => fault,
            })
    }
}
