//! Live's side as a person reads it: Git's object with exactly the shown differences laid over it.
//!
//! Defaults of the server, other spellings of the same value and the machinery's own fields would drown the one line
//! that matters, so they are taken from Git's side or left out; the whole of live stays beside it. Should a shown
//! difference not survive, live is shown as it is: what a person reads never hides what is told.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::walk::{Names, differences};
use super::{FieldDrift, FieldStatus, Verdict};
use crate::domain::object::types::{KindSchema, ListType, Node};
use crate::domain::object::{FieldPath, PathStep};

/// Returns live without what is hidden by default; `None` where that would lose a shown difference.
pub(super) fn live(
    schema: &KindSchema,
    git: &Value,
    live: &Value,
    fields: &[FieldDrift],
) -> Option<Value> {
    let overlay = Overlay::of(fields);
    let side = overlay.node(&FieldPath::default(), &schema.root(), Some(git), Some(live))?;
    let visible = differences(schema, git, git, &side);
    let visible = Paths(visible.iter().map(|d| d.path.0.as_slice()).collect());
    let wanted = overlay.shown.0.iter().chain(&overlay.reordered.0);
    wanted
        .copied()
        .all(|path| visible.above(path) || visible.below(path))
        .then_some(side)
}

/// Paths in order, so that an object with many differences is read in one pass.
struct Paths<'f>(BTreeSet<&'f [PathStep]>);

impl Paths<'_> {
    /// Tells whether `at` or what it lies in is one of them.
    fn above(&self, at: &[PathStep]) -> bool {
        (0..=at.len()).any(|depth| at.get(..depth).is_some_and(|part| self.0.contains(part)))
    }

    /// Tells whether `at` or what lies in it is one of them: in this order, that follows `at` directly.
    fn below(&self, at: &[PathStep]) -> bool {
        let next = self.0.range(at..).next();
        next.is_some_and(|path| path.starts_with(at))
    }
}

/// Tells whether a reader sees a difference in the two sides.
fn is_shown(field: &FieldDrift) -> bool {
    !matches!(field.verdict, Verdict::Ignored | Verdict::Noise)
}

struct Overlay<'f> {
    /// Where values are live's.
    shown: Paths<'f>,
    /// Lists in live's order.
    reordered: Paths<'f>,
    /// Where items are that one side has alone, hidden ones too.
    unpaired: BTreeSet<&'f [PathStep]>,
}

impl<'f> Overlay<'f> {
    fn of(fields: &'f [FieldDrift]) -> Self {
        let of = |wanted: &dyn Fn(&FieldDrift) -> bool| {
            let wanted = fields.iter().filter(|field| wanted(field));
            wanted.map(|field| field.path.0.as_slice()).collect()
        };
        let order = |field: &FieldDrift| field.status == FieldStatus::OrderOnly;
        let alone = |field: &FieldDrift| {
            matches!(
                field.status,
                FieldStatus::Missing | FieldStatus::Extra | FieldStatus::ExtraForeign
            )
        };
        Self {
            shown: Paths(of(&|field| is_shown(field) && !order(field))),
            reordered: Paths(of(&|field| is_shown(field) && order(field))),
            unpaired: of(&alone)
                .into_iter()
                .filter_map(|path| path.split_last().map(|(_, parent)| parent))
                .collect(),
        }
    }

    fn node(
        &self,
        at: &FieldPath,
        node: &Node<'_>,
        git: Option<&Value>,
        live: Option<&Value>,
    ) -> Option<Value> {
        if self.shown.above(&at.0) {
            return live.cloned();
        }
        if !self.shown.below(&at.0) && !self.reordered.below(&at.0) {
            return git.cloned();
        }
        let given = |side: Option<&'_ Value>| side.is_some_and(|value| !value.is_null());
        let built = match (git.filter(|v| !v.is_null()), live.filter(|v| !v.is_null())) {
            (None | Some(Value::Object(_)), None | Some(Value::Object(_))) => {
                Value::Object(self.map(at, node, git, live))
            }
            (None | Some(Value::Array(_)), None | Some(Value::Array(_))) => {
                Value::Array(self.list(at, node, items(git), items(live)))
            }
            _ => return live.cloned(),
        };
        let is_empty = built == Value::Object(Map::new()) || built == Value::Array(vec![]);
        if is_empty && !given(live) {
            return None;
        }
        Some(built)
    }

    fn map(
        &self,
        at: &FieldPath,
        node: &Node<'_>,
        git: Option<&Value>,
        live: Option<&Value>,
    ) -> Map<String, Value> {
        let keys = [git, live].into_iter().flatten();
        let keys: BTreeSet<&String> = keys
            .filter_map(Value::as_object)
            .flat_map(Map::keys)
            .collect();
        let value = |key: &String| {
            let of = |side: Option<&'_ Value>| side.and_then(|v| v.get(key.as_str())).cloned();
            self.node(
                &at.key(key),
                &node.field(key),
                of(git).as_ref(),
                of(live).as_ref(),
            )
        };
        keys.into_iter()
            .filter_map(|key| Some((key.clone(), value(key)?)))
            .collect()
    }

    fn list(&self, at: &FieldPath, node: &Node<'_>, git: &[Value], live: &[Value]) -> Vec<Value> {
        let step: Box<dyn Fn(&Value) -> PathStep + '_> = match node.list() {
            ListType::Map(keys) if git.iter().chain(live).all(Value::is_object) => {
                let names = Names::new(node, keys, git, live);
                Box::new(move |item| PathStep::Item(names.of(item)))
            }
            ListType::Set => Box::new(|item| PathStep::Value(item.to_string())),
            _ => return self.by_index(at, node, git, live),
        };
        let of_git: Vec<PathStep> = git.iter().map(&step).collect();
        let of_live: Vec<PathStep> = live.iter().map(&step).collect();
        let twice = |steps: &[PathStep]| steps.iter().collect::<BTreeSet<_>>().len() < steps.len();
        if twice(&of_git) || twice(&of_live) {
            return live.to_vec();
        }
        let (first, second) = if self.reordered.0.contains(at.0.as_slice()) {
            (&of_live, &of_git)
        } else {
            (&of_git, &of_live)
        };
        let rest = second.iter().filter(|step| !first.contains(step));
        let find = |steps: &[PathStep], step: &PathStep| steps.iter().position(|s| s == step);
        first
            .iter()
            .chain(rest)
            .filter_map(|step| {
                let git = find(&of_git, step).and_then(|at| git.get(at));
                let live = find(&of_live, step).and_then(|at| live.get(at));
                self.node(&at.join(step.clone()), &node.item(), git, live)
            })
            .collect()
    }

    /// Lists without keys: item by item while both have the same items, else live's.
    fn by_index(
        &self,
        at: &FieldPath,
        node: &Node<'_>,
        git: &[Value],
        live: &[Value],
    ) -> Vec<Value> {
        let shifted = self.unpaired.contains(at.0.as_slice());
        if shifted || git.len() != live.len() || self.reordered.0.contains(at.0.as_slice()) {
            return live.to_vec();
        }
        let pairs = git.iter().zip(live).enumerate();
        pairs
            .filter_map(|(index, (git, live))| {
                let at = at.join(PathStep::Index(index));
                self.node(&at, &node.item(), Some(git), Some(live))
            })
            .collect()
    }
}

fn items(side: Option<&Value>) -> &[Value] {
    side.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::domain::drift::{ObjectDrift, offline};
    use crate::domain::object::{Desired, Origins};

    fn compared(git: &Value, live: &Value) -> ObjectDrift {
        let desired = Desired::new(git.clone(), Origins::default()).unwrap();
        offline(&[desired], std::slice::from_ref(live), &[])
            .objects
            .remove(0)
    }

    /// A Deployment as the server keeps it: defaults, the revision, another spelling of the amount of memory.
    fn deployment() -> (Value, Value) {
        let git = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "checkout", "namespace": "shop", "labels": {"app": "checkout"}},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "checkout"}},
                "template": {
                    "metadata": {"labels": {"app": "checkout"}},
                    "spec": {"containers": [{
                        "name": "app", "image": "checkout:1.0",
                        "resources": {"limits": {"cpu": "0.5", "memory": "128Mi"}},
                        "ports": [{"containerPort": 8080}],
                    }]},
                },
            },
        });
        let mut live = git.clone();
        live["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": "3"});
        live["metadata"]["uid"] = json!("u");
        live["spec"]["progressDeadlineSeconds"] = json!(600);
        live["spec"]["revisionHistoryLimit"] = json!(10);
        live["spec"]["strategy"] = json!({"type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
        let pod = &mut live["spec"]["template"]["spec"];
        pod["dnsPolicy"] = json!("ClusterFirst");
        pod["restartPolicy"] = json!("Always");
        pod["schedulerName"] = json!("default-scheduler");
        pod["securityContext"] = json!({});
        pod["terminationGracePeriodSeconds"] = json!(30);
        let container = &mut pod["containers"][0];
        container["imagePullPolicy"] = json!("IfNotPresent");
        container["terminationMessagePath"] = json!("/dev/termination-log");
        container["terminationMessagePolicy"] = json!("File");
        container["ports"][0]["protocol"] = json!("TCP");
        container["resources"]["limits"]["cpu"] = json!("500m");
        (git, live)
    }

    #[test]
    fn what_agrees_reads_the_same() {
        let (git, live) = deployment();
        let sides = compared(&git, &live).sides;
        assert_eq!(sides.live, sides.git);
        let full = sides.live_full.unwrap();
        assert_eq!(full["spec"]["progressDeadlineSeconds"], 600);
    }

    #[test]
    fn the_sides_differ_in_the_drifted_fields_alone() {
        let (git, mut live) = deployment();
        live["spec"]["replicas"] = json!(5);
        live["metadata"]["annotations"]["example.com/note"] = json!("by hand");
        let pod = &mut live["spec"]["template"]["spec"];
        pod["containers"][0]["image"] = json!("checkout:1.1");
        pod["containers"][0]["env"] = json!([{"name": "DEBUG", "value": "1"}]);
        pod["terminationGracePeriodSeconds"] = json!(5);
        let object = compared(&git, &live);

        let mut wanted = git;
        wanted["spec"]["replicas"] = json!(5);
        wanted["metadata"]["annotations"] = json!({"example.com/note": "by hand"});
        let pod = &mut wanted["spec"]["template"]["spec"];
        pod["containers"][0]["image"] = json!("checkout:1.1");
        pod["containers"][0]["env"] = json!([{"name": "DEBUG", "value": "1"}]);
        pod["terminationGracePeriodSeconds"] = json!(5);
        assert_eq!(object.sides.live, Some(wanted), "{:#?}", object.fields);
    }

    #[test]
    fn a_lost_field_and_a_lost_item_are_lost() {
        let (mut git, mut live) = deployment();
        git["spec"]["template"]["spec"]["containers"][0]["env"] =
            json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]);
        live["spec"]["template"]["spec"]["containers"][0]["env"] =
            json!([{"name": "B", "value": "2"}]);
        live["metadata"].as_object_mut().unwrap().remove("labels");
        let mut wanted = git.clone();
        wanted["spec"]["template"]["spec"]["containers"][0]["env"] =
            json!([{"name": "B", "value": "2"}]);
        wanted["metadata"].as_object_mut().unwrap().remove("labels");
        assert_eq!(compared(&git, &live).sides.live, Some(wanted));
    }

    #[test]
    fn lists_without_keys_follow_live_where_items_moved() {
        let (mut git, mut live) = deployment();
        let args = |side: &mut Value, args: Value| {
            side["spec"]["template"]["spec"]["containers"][0]["args"] = args;
        };
        for (one, other) in [
            (json!(["a", "b", "c"]), json!(["b", "c", "d"])),
            (json!(["a", "b"]), json!(["a", "x"])),
            (json!(["a", "b"]), json!(["b", "a"])),
            (json!(["a"]), json!(["a", "b"])),
        ] {
            args(&mut git, one);
            args(&mut live, other.clone());
            let mut wanted = git.clone();
            args(&mut wanted, other);
            assert_eq!(compared(&git, &live).sides.live, Some(wanted));
        }
    }

    #[test]
    fn secret_values_stay_masked_on_all_sides() {
        let git = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
            "data": {"a": "b25l", "b": "dHdv"}});
        let mut live = git.clone();
        live["data"]["a"] = json!("bmV3");
        live["type"] = json!("Opaque");
        let sides = compared(&git, &live).sides;
        let all = format!("{sides:?}");
        assert!(!["b25l", "dHdv", "bmV3"].iter().any(|v| all.contains(v)));
        let (git, live) = (sides.git.unwrap(), sides.live.unwrap());
        assert_ne!(git["data"]["a"], live["data"]["a"]);
        assert_eq!(git["data"]["b"], live["data"]["b"]);
        assert_eq!(live.get("type"), None);
    }
}
