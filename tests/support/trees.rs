//! Trees of kustomizations made from a string of bytes, for tests, fuzzing and the comparison with the real tool.
//!
//! Every choice takes a byte, and an exhausted string chooses the first of everything, so shorter strings make simpler
//! trees: what a shrinker or a fuzzer needs. Most trees render; some are refused, and then both tools should refuse.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The folder to render.
pub(crate) const ROOT: &str = "overlays/prod";

/// The files of a tree: text by path.
pub(crate) type Files = BTreeMap<String, String>;

/// Makes a tree.
pub(crate) fn tree(bytes: &[u8]) -> Files {
    let mut make = Make {
        bytes,
        at: 0,
        files: Files::new(),
    };
    let names = make.base();
    let middle = make.one_in(3);
    if middle {
        make.layer("overlays/middle", &["../../base"], &names, 2);
    }
    let below = if middle { "../middle" } else { "../../base" };
    let mut below = vec![below];
    if make.one_in(5) {
        make.files.insert(
            "overlays/prod/extra.yaml".into(),
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extra\ndata:\n  of: one\n".into(),
        );
        below.push("extra.yaml");
    }
    make.layer(ROOT, &below, &names, 5);
    make.files
}

/// What the bytes are turned into.
struct Make<'b> {
    bytes: &'b [u8],
    at: usize,
    files: Files,
}

const WORDS: [&str; 8] = [
    "one", "two", "three", "a-b", "\"7\"", "\"true\"", "x.y/z", "\"\"",
];

impl Make<'_> {
    fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or_default();
        self.at += 1;
        byte
    }

    fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == count - 1
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }

    fn word(&mut self) -> &'static str {
        self.pick(&WORDS)
    }

    fn base(&mut self) -> Vec<(&'static str, &'static str)> {
        let mut names = vec![("Deployment", "web")];
        let mut resources = vec!["deployment.yaml"];
        let deployment = self.deployment();
        self.files.insert("base/deployment.yaml".into(), deployment);
        if self.one_in(2) {
            let service = self.service();
            self.files.insert("base/service.yaml".into(), service);
            resources.push("service.yaml");
            names.push(("Service", "web"));
        }
        if self.one_in(2) {
            let config = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  annotations: {{note: {}}}\ndata:\n  \
                 color: {}\n  host: web.default.svc\n",
                self.word(),
                self.word()
            );
            self.files.insert("base/config.yaml".into(), config);
            resources.push("config.yaml");
            names.push(("ConfigMap", "settings"));
        }
        if self.one_in(3) {
            self.files.insert("base/rbac.yaml".into(), RBAC.into());
            resources.push("rbac.yaml");
            names.push(("ServiceAccount", "web"));
        }
        if self.one_in(4) {
            self.files.insert("base/scaler.yaml".into(), SCALER.into());
            resources.push("scaler.yaml");
            names.push(("HorizontalPodAutoscaler", "web"));
        }
        let mut text = format!("resources: [{}]\n", resources.join(", "));
        for _ in 0..self.below(3) {
            self.transformer(&mut text, &names);
        }
        self.files.insert("base/kustomization.yaml".into(), text);
        names
    }

    fn layer(
        &mut self,
        folder: &str,
        below: &[&str],
        names: &[(&'static str, &'static str)],
        most: usize,
    ) {
        let mut text = String::new();
        if self.one_in(2) {
            text.push_str(
                "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n# the layer\n",
            );
        }
        let _ = writeln!(text, "resources:");
        for each in below {
            let _ = writeln!(text, "  - {each}");
        }
        for _ in 0..=self.below(most) {
            self.transformer(&mut text, names);
        }
        self.files
            .insert(format!("{folder}/kustomization.yaml"), text);
    }

    /// Adds a field that the text does not have yet.
    fn transformer(&mut self, text: &mut String, names: &[(&'static str, &'static str)]) {
        let (field, body) = match self.below(16) {
            0 => ("namePrefix", " pre-\n".into()),
            1 => ("nameSuffix", " -suf\n".into()),
            2 => ("namespace", format!(" {}\n", self.pick(&["apps", "prod"]))),
            3 => ("labels", self.labels()),
            4 => ("commonLabels", self.pairs()),
            5 => ("commonAnnotations", self.pairs()),
            6 => ("images", self.images()),
            7 => (
                "replicas",
                format!("\n  - name: web\n    count: {}\n", self.below(5)),
            ),
            8 | 9 => ("patches", self.patches(names)),
            10 => ("configMapGenerator", self.generator()),
            11 => ("secretGenerator", self.generator()),
            12 => ("replacements", self.replacement(names)),
            13 => ("patchesStrategicMerge", self.legacy_patch()),
            14 => ("buildMetadata", " [originAnnotations]\n".into()),
            _ => (
                "generatorOptions",
                "\n  disableNameSuffixHash: true\n  labels: {made: here}\n".into(),
            ),
        };
        if !text.contains(&format!("{field}:")) {
            let _ = write!(text, "{field}:{body}");
        }
    }

    fn key(&mut self) -> &'static str {
        self.pick(&["app", "team", "tier", "example.org/note"])
    }

    fn pairs(&mut self) -> String {
        let key = self.key();
        format!("\n  {key}: {}\n", self.word())
    }

    fn labels(&mut self) -> String {
        let key = self.key();
        let value = self.word();
        let more = self.pick(&[
            "",
            "    includeSelectors: true\n",
            "    includeTemplates: true\n",
            "    fields: [{path: spec/extra, create: true}]\n",
        ]);
        format!("\n  - pairs:\n      {key}: {value}\n{more}")
    }

    fn images(&mut self) -> String {
        let name = self.pick(&["nginx", "registry.local:5000/web", "busybox"]);
        let change = self.pick(&[
            "newTag: v2",
            "newTag: \"1.20\"",
            "newName: mirror/nginx",
            "digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        ]);
        format!("\n  - name: {name}\n    {change}\n")
    }

    fn patches(&mut self, names: &[(&'static str, &'static str)]) -> String {
        let mut text = "\n".to_owned();
        for _ in 0..=self.below(2) {
            let (kind, name) = names[self.below(names.len())];
            if self.one_in(2) {
                let patch = self.merge_patch(kind, name);
                let _ = writeln!(text, "  - patch: |\n{}", indented(&patch, 6));
            } else {
                let operation = self.operation();
                let _ = writeln!(
                    text,
                    "  - target: {{kind: {kind}}}\n    patch: |\n      - {operation}"
                );
            }
        }
        text
    }

    fn merge_patch(&mut self, kind: &str, name: &str) -> String {
        let api = match kind {
            "Deployment" => "apps/v1",
            "HorizontalPodAutoscaler" => "autoscaling/v2",
            _ => "v1",
        };
        let mut text = format!("apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: {name}\n");
        let (key, value) = (self.key(), self.word());
        let field = self.pick(&["labels", "annotations"]);
        if self.one_in(2) {
            let _ = writeln!(text, "  {field}:\n    {key}: {value}");
        }
        if kind == "Deployment" {
            text.push_str(self.pick(&[
                "spec:\n  replicas: 4\n",
                "spec:\n  replicas: null\n",
                "spec:\n  template:\n    spec:\n      containers:\n        - name: web\n          env:\n            - {name: \
                 MODE, value: patched}\n",
                "spec:\n  template:\n    spec:\n      containers:\n        - {name: web, image: other:1}\n        - {name: \
                 side, image: side:1}\n",
                "spec:\n  template:\n    spec:\n      containers:\n        - {name: web, $patch: delete}\n",
                "spec:\n  template:\n    metadata:\n      labels: {tier: patched}\n",
                "$patch: delete\n",
            ]));
        } else if kind == "ConfigMap" {
            text.push_str(self.pick(&["data: {color: blue}\n", "data: {color: null}\n"]));
        }
        text
    }

    fn operation(&mut self) -> String {
        let value = self.word();
        match self.below(5) {
            0 => format!("{{op: add, path: /metadata/annotations, value: {{note: {value}}}}}"),
            1 => format!("{{op: add, path: /metadata/labels, value: {{app: {value}}}}}"),
            2 => "{op: replace, path: /metadata/name, value: renamed}".into(),
            3 => format!("{{op: replace, path: /metadata/labels/app, value: {value}}}"),
            _ => "{op: add, path: /spec, value: {replicas: 9}}".into(),
        }
    }

    fn legacy_patch(&mut self) -> String {
        let patch = self.merge_patch("Deployment", "web");
        format!("\n  - |-\n{}", indented(&patch, 4))
    }

    fn generator(&mut self) -> String {
        let name = self.pick(&["settings", "made"]);
        let mut text = format!(
            "\n  - name: {name}\n    literals: [color={}, size=7]\n",
            self.pick(&["red", "\"a b\"", ""])
        );
        text.push_str(self.pick(&[
            "",
            "    behavior: merge\n",
            "    behavior: replace\n",
            "    options: {disableNameSuffixHash: true}\n",
            "    options: {immutable: true, annotations: {made: here}}\n",
        ]));
        text
    }

    fn replacement(&mut self, names: &[(&'static str, &'static str)]) -> String {
        let (kind, name) = names[self.below(names.len())];
        let from = self.pick(&[
            "metadata.name",
            "metadata.labels.app",
            "metadata.annotations.note",
        ]);
        let to = self.pick(&[
            "metadata.annotations.from",
            "metadata.labels.app",
            "metadata.annotations.team",
            "spec.template.spec.containers.[name=web].env.[name=MODE].value",
            "spec.template.metadata.labels.app",
        ]);
        let options = self.pick(&["", "        options: {create: true}\n"]);
        format!(
            "\n  - source: {{kind: {kind}, name: {name}, fieldPath: {from}}}\n    targets:\n      - select: {{kind: \
             Deployment}}\n        fieldPaths: [\"{to}\"]\n{options}"
        )
    }

    fn deployment(&mut self) -> String {
        let replicas = self.pick(&["  replicas: 2\n", "", "  replicas: 0x10\n"]);
        let image = self.pick(&[
            "nginx",
            "nginx:1.19",
            "registry.local:5000/web:1@sha256:00",
            "web",
        ]);
        let env = self.pick(&[
            "",
            "          env:\n            - {name: MODE, value: plain}\n            - name: COLOR\n              \
             valueFrom: {configMapKeyRef: {name: settings, key: color}}\n",
            "          env:\n            - name: MODE\n              value: \"on\"\n",
        ]);
        let extra = self.pick(&[
            "",
            "      serviceAccountName: web\n",
            "      volumes:\n        - name: made\n          configMap: {name: made}\n",
            "      initContainers:\n        - name: init\n          image: busybox:1\n",
        ]);
        let labels = self.pick(&["{app: web}", "{app: web, tier: front}"]);
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  labels: {labels}\nspec:\n{replicas}  \
             selector:\n    matchLabels: {{app: web}}\n  template:\n    metadata:\n      labels: {labels}\n    spec:\n      \
             containers:\n        - name: web\n          image: {image}\n{env}          ports:\n            - \
             containerPort: 80\n{extra}"
        )
    }

    fn service(&mut self) -> String {
        let port = self.pick(&["80", "http"]);
        format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  selector: {{app: web}}\n  ports:\n    - \
             name: http\n      port: 80\n      targetPort: {port}\n"
        )
    }
}

fn indented(text: &str, by: usize) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| format!("{:by$}{line}", ""))
        .collect();
    lines.join("\n") + "\n"
}

const RBAC: &str = "apiVersion: v1
kind: ServiceAccount
metadata:
  name: web
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: web
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
  - kind: ServiceAccount
    name: web
    namespace: default
";

const SCALER: &str = "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 3
";
