//! A thousand made-up objects: as files of a kustomization, and as an API server would hold them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gitops_tui::domain::drift::defaulted;
use gitops_tui::domain::fault::Fault;
use gitops_tui::domain::object::Desired;
use gitops_tui::domain::render::{Entry, EntryKind, Tree};
use serde_json::{Map, Value, json};

/// Files in memory, by path from the root.
pub(crate) struct Files(BTreeMap<String, Vec<u8>>);

impl Tree for Files {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.0.get(path).cloned())
    }

    fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, Fault> {
        let all = self.0.keys().filter(|_| path.is_empty());
        let entries: Vec<Entry> = all
            .map(|name| Entry {
                name: name.clone(),
                kind: EntryKind::File,
            })
            .collect();
        Ok((!entries.is_empty()).then_some(entries))
    }

    fn real_path(&self, path: &str) -> Result<Option<String>, Fault> {
        Ok((path.is_empty() || self.0.contains_key(path)).then(|| path.to_owned()))
    }
}

/// Ten files of a hundred objects, and a kustomization that touches all of them.
pub(crate) fn tree() -> Files {
    let mut files = BTreeMap::new();
    let mut kustomization = String::from(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: shop\nlabels:\n- pairs:\n    team: payments\n  includeSelectors: false\nimages:\n- name: registry.example.test/app\n  newTag: 1.4.1\npatches:\n- target:\n    kind: Deployment\n  patch: |\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata:\n      name: any\n    spec:\n      template:\n        spec:\n          containers:\n          - name: app\n            resources:\n              limits:\n                memory: 256Mi\nresources:\n",
    );
    for file in 0..10 {
        let _infallible = writeln!(kustomization, "- objects-{file}.yaml");
        files.insert(
            format!("objects-{file}.yaml"),
            stream(file * 100, 100).into_bytes(),
        );
    }
    files.insert("kustomization.yaml".to_owned(), kustomization.into_bytes());
    Files(files)
}

/// Manifests `first` to `first + count` as one stream: of ten objects four Deployments, three Services and three
/// ConfigMaps.
pub(crate) fn stream(first: usize, count: usize) -> String {
    let documents: Vec<String> = (first..first + count)
        .map(|number| match number % 10 {
            0..4 => deployment(number),
            4..7 => service(number),
            _ => config(number),
        })
        .collect();
    documents.join("---\n")
}

fn deployment(number: usize) -> String {
    format!(
        "# what serves number {number}\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-{number}\n  labels:\n    app: app-{number}\nspec:\n  replicas: 3   # as measured in spring\n  selector:\n    matchLabels:\n      app: app-{number}\n  template:\n    metadata:\n      labels:\n        app: app-{number}\n    spec:\n      serviceAccountName: app\n      containers:\n      - name: app\n        image: registry.example.test/app:1.4.0\n        env:\n        - name: LOG_LEVEL\n          value: info\n        - name: REGION\n          value: \"eu-1\"\n        ports:\n        - containerPort: 8080\n          protocol: TCP\n        readinessProbe:\n          httpGet:\n            path: /ready\n            port: 8080\n        resources:\n          requests:\n            cpu: 100m\n            memory: 128Mi\n"
    )
}

fn service(number: usize) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: app-{number}\nspec:\n  selector:\n    app: app-{number}\n  ports:\n  - name: http\n    port: 80\n    protocol: TCP\n    targetPort: 8080\n"
    )
}

fn config(number: usize) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app-{number}\ndata:\n  level: info\n  app.properties: |\n    number={number}\n    region=eu-1\n    # the rest is defaults\n    timeout=30s\n"
    )
}

/// What a server holds after Flux applied `desired`: its own metadata, its defaults, and the fields' owner.
pub(crate) fn live(desired: &Desired) -> Value {
    let mut value = defaulted(&desired.id, &desired.value);
    let fields = owned(None, &desired.value);
    value["metadata"]["uid"] = json!("0b6cf1f0-5a4e-4a53-8f0e-000000000000");
    value["metadata"]["resourceVersion"] = json!("4711");
    value["metadata"]["creationTimestamp"] = json!("2026-11-01T00:00:00Z");
    value["metadata"]["managedFields"] = json!([{
        "manager": "kustomize-controller", "operation": "Apply", "apiVersion": desired.id.api_version,
        "time": "2026-11-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields}]);
    value
}

/// Edits the live replicas as a person would with kubectl.
pub(crate) fn edit_replicas(live: &mut Value) {
    live["spec"]["replicas"] = json!(5);
    if let Some(entries) = live["metadata"]["managedFields"].as_array_mut() {
        for entry in entries.iter_mut() {
            if let Some(spec) = entry["fieldsV1"]["f:spec"].as_object_mut() {
                spec.remove("f:replicas");
            }
        }
        entries.push(json!({
            "manager": "kubectl-edit", "operation": "Update", "apiVersion": "apps/v1",
            "time": "2026-12-01T02:41:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}));
    }
}

/// The fields of a value as managedFields spell them.
fn owned(name: Option<&str>, value: &Value) -> Value {
    let keys: &[&str] = match name {
        Some("containers" | "env") => &["name"],
        Some("ports") => &["port", "containerPort", "protocol"],
        _ => &[],
    };
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (format!("f:{key}"), owned(Some(key), value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) if !keys.is_empty() => items
            .iter()
            .map(|item| {
                let key: Map<String, Value> = keys
                    .iter()
                    .filter_map(|key| Some(((*key).to_owned(), item.get(key)?.clone())))
                    .collect();
                let mut fields = owned(None, item);
                fields["."] = json!({});
                (format!("k:{}", Value::Object(key)), fields)
            })
            .collect::<Map<_, _>>()
            .into(),
        _ => json!({}),
    }
}
