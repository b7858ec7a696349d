//! What the API server knows of a kind's fields: types, list types and keys, atomic maps, quantities, defaults.
//!
//! Built-in kinds come from a table compiled in (`types.txt`: the Go types of 1.37 with the list types that the server's
//! OpenAPI v3 states); where the server's own document is at hand, it decides which fields there are and how lists are
//! keyed, since the server may be older or newer than the table. Custom resources come from the server's document or
//! from their CRD; without either, list types are inferred from the tags in managedFields, else a list is atomic. A
//! [`Node`] is a place in a schema: walk it beside a value with [`Node::field`] and [`Node::item`].

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::PathStep;
use super::managed_fields::{Entry, FieldSet};
use super::openapi::{Below, Open};

/// How items of a list are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListType {
    /// By position; one owner for the whole list.
    Atomic,
    /// By value.
    Set,
    /// By these keys.
    Map(Vec<String>),
}

/// What a place in a schema holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds<'s> {
    /// A struct, by the name of its type (`core/v1.PodSpec`); empty for custom resources.
    Struct(&'s str),
    /// A map with free keys.
    Map,
    /// A list.
    List,
    /// A quantity.
    Quantity,
    /// A number or a string, and which of them matters.
    IntOrString,
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// Base64.
    Bytes,
    /// A time.
    Time,
    /// Anything.
    Any,
    /// The schema has no such field: the server drops or refuses it.
    Undeclared,
}

/// The schema of one kind.
#[derive(Debug, Clone)]
pub struct KindSchema(Source);

#[derive(Debug, Clone)]
enum Source {
    Builtin(usize, Option<Served>),
    /// A custom resource of the server's document.
    Served(Served),
    /// A version's schema of a CustomResourceDefinition.
    Defined(Arc<Value>),
    Inferred(Arc<BTreeMap<String, ListType>>),
}

/// A type of a server's document, by its name there.
#[derive(Debug, Clone)]
struct Served {
    document: Arc<Value>,
    name: String,
}

impl Served {
    fn open(&self) -> Option<Open<'_>> {
        Open::component(&self.document, &self.name)
    }
}

/// A place in a schema.
#[derive(Debug, Clone)]
pub struct Node<'s>(Place<'s>);

#[derive(Debug, Clone)]
enum Place<'s> {
    Builtin {
        expr: &'static Expr,
        mark: &'static Mark,
        omit: bool,
        /// The same place in the server's own document.
        served: Option<Open<'s>>,
    },
    Open {
        open: Open<'s>,
        /// The object itself, whose metadata the server knows.
        root: bool,
        /// Of a built-in kind: the defaults that its document states are those of Go, not the server's.
        core: bool,
    },
    Inferred {
        lists: &'s BTreeMap<String, ListType>,
        at: String,
    },
    Any,
    Undeclared,
}

/// Tells whether a group is served by kube-apiserver itself.
pub fn is_built_in(api_version: &str) -> bool {
    let Some((group, _)) = api_version.split_once('/') else {
        return true;
    };
    matches!(
        group,
        "apps" | "batch" | "autoscaling" | "policy" | "extensions"
    ) || (group.ends_with(".k8s.io")
        && TABLE
            .kinds
            .keys()
            .any(|(version, _)| version.split('/').next() == Some(group)))
}

impl KindSchema {
    /// Returns the built-in table's schema; for kinds that it does not have, a schema that knows nothing.
    pub fn builtin(api_version: &str, kind: &str) -> Self {
        let exact = TABLE.kinds.get(&(api_version, kind));
        let group = |version: &str| version.split_once('/').map_or("", |(g, _)| g).to_owned();
        let other = || {
            let same = |(version, name): &&(&str, &str)| {
                *name == kind && group(version) == group(api_version)
            };
            // A version that the table does not have: the youngest of the same kind stands for it.
            let key = TABLE.kinds.keys().filter(same).max()?;
            TABLE.kinds.get(key)
        };
        match exact.or_else(other) {
            Some(&at) => Self(Source::Builtin(at, None)),
            None => Self(Source::Inferred(Arc::default())),
        }
    }

    /// Tells whether the built-in table has the kind.
    pub fn is_builtin(&self) -> bool {
        matches!(self.0, Source::Builtin(..))
    }

    /// Tells whether anything is known of the kind's fields.
    pub fn is_known(&self) -> bool {
        !matches!(self.0, Source::Inferred(_))
    }

    /// Reads the schema of `version` from a CustomResourceDefinition.
    pub fn of_crd(crd: &Value, version: &str) -> Option<Self> {
        let versions = crd.pointer("/spec/versions")?.as_array()?;
        let at = versions
            .iter()
            .position(|entry| entry.get("name").and_then(Value::as_str) == Some(version))?;
        let schema = versions[at].pointer("/schema/openAPIV3Schema")?;
        Some(Self(Source::Defined(Arc::new(schema.clone()))))
    }

    /// Reads the kinds of one group version from the server's OpenAPI v3 document (`/openapi/v3/apis/GROUP/VERSION`);
    /// for a built-in kind the document is laid over the table.
    pub fn all_of(document: &Arc<Value>, api_version: &str) -> BTreeMap<String, Self> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let schemas = document
            .pointer("/components/schemas")
            .and_then(Value::as_object);
        let mut kinds = BTreeMap::new();
        for (name, schema) in schemas.into_iter().flatten() {
            let ids = schema
                .get("x-kubernetes-group-version-kind")
                .and_then(Value::as_array);
            for id in ids.into_iter().flatten() {
                let text = |key: &str| id.get(key).and_then(Value::as_str).unwrap_or_default();
                if (text("group"), text("version")) != (group, version) {
                    continue;
                }
                let served = Served {
                    document: Arc::clone(document),
                    name: name.clone(),
                };
                let kind = text("kind");
                let schema = Self(match Self::builtin(api_version, kind).0 {
                    Source::Builtin(at, _) => Source::Builtin(at, Some(served)),
                    _ => Source::Served(served),
                });
                kinds.insert(kind.to_owned(), schema);
            }
        }
        kinds
    }

    /// Infers keyed lists and sets of a kind without a schema from the tags in managedFields.
    pub fn inferred(entries: &[Entry]) -> Self {
        let mut lists = BTreeMap::new();
        for entry in entries {
            infer(&entry.fields, "", &mut lists);
        }
        Self(Source::Inferred(Arc::new(lists)))
    }

    /// Returns the object's own place.
    pub fn root(&self) -> Node<'_> {
        Node(match &self.0 {
            Source::Builtin(at, served) => Place::Builtin {
                expr: &TABLE.roots[*at],
                mark: &Mark::None,
                omit: false,
                served: served.as_ref().and_then(Served::open),
            },
            Source::Served(served) => root_place(served.open()),
            Source::Defined(schema) => root_place(Some(Open::at(schema, schema))),
            Source::Inferred(lists) => Place::Inferred {
                lists,
                at: String::new(),
            },
        })
    }
}

fn infer(set: &FieldSet, at: &str, lists: &mut BTreeMap<String, ListType>) {
    for (step, child) in &set.children {
        let below = match step {
            PathStep::Key(key) => format!("{at}/{key}"),
            PathStep::Item(keys) => {
                let keys = keys.iter().map(|(key, _)| key.clone()).collect();
                lists.insert(at.to_owned(), ListType::Map(keys));
                format!("{at}/*")
            }
            PathStep::Value(_) => {
                lists.insert(at.to_owned(), ListType::Set);
                continue;
            }
            PathStep::Index(_) => format!("{at}/*"),
        };
        infer(child, &below, lists);
    }
}

impl<'s> Node<'s> {
    /// Returns the place of a map's or struct's key.
    #[must_use]
    pub fn field(&self, key: &str) -> Self {
        Node(match &self.0 {
            Place::Builtin { expr, served, .. } => built_in_field(expr, *served, key),
            Place::Open { root: true, .. } if key == "metadata" => object_meta(),
            Place::Inferred { at, .. } if at.is_empty() && key == "metadata" => object_meta(),
            Place::Open { open, core, .. } => open_place(open.field(key), *core),
            Place::Inferred { lists, at } => Place::Inferred {
                lists,
                at: format!("{at}/{key}"),
            },
            Place::Any | Place::Undeclared => Place::Any,
        })
    }

    /// Returns the place of a list's items.
    #[must_use]
    pub fn item(&self) -> Self {
        Node(match &self.0 {
            Place::Builtin { expr, served, .. } => match expr.inner() {
                Expr::List(below) => Place::Builtin {
                    expr: below,
                    mark: match below.inner() {
                        Expr::Struct(at) if TABLE.types[*at].atomic => &Mark::Atomic,
                        _ => &Mark::None,
                    },
                    omit: false,
                    served: served.and_then(Open::items),
                },
                _ => Place::Any,
            },
            Place::Open { open, core, .. } => match open.items() {
                Some(open) => open_place(Below::Schema(open), *core),
                None => Place::Any,
            },
            Place::Inferred { lists, at } => Place::Inferred {
                lists,
                at: format!("{at}/*"),
            },
            Place::Any | Place::Undeclared => Place::Any,
        })
    }

    /// Returns how items of the list at this place are told apart.
    pub fn list(&self) -> &'s ListType {
        static ATOMIC: ListType = ListType::Atomic;
        match &self.0 {
            Place::Builtin {
                served: Some(served),
                ..
            } => served.list(),
            Place::Builtin {
                mark: Mark::List(list),
                ..
            } => list,
            Place::Inferred { lists, at } => lists.get(at.as_str()).unwrap_or(&ATOMIC),
            Place::Open { open, .. } => open.list(),
            _ => &ATOMIC,
        }
    }

    /// Tells whether the map or struct at this place has one owner for the whole.
    pub fn atomic(&self) -> bool {
        match &self.0 {
            Place::Builtin {
                served: Some(served),
                ..
            } => served.atomic(),
            Place::Builtin { mark, .. } => matches!(mark, Mark::Atomic),
            Place::Open { open, .. } => open.atomic(),
            _ => false,
        }
    }

    /// Returns what the place holds.
    pub fn holds(&self) -> Holds<'s> {
        match &self.0 {
            Place::Builtin { expr, .. } => expr.holds(),
            Place::Open { open, .. } => open.holds(),
            Place::Undeclared => Holds::Undeclared,
            Place::Inferred { .. } | Place::Any => Holds::Any,
        }
    }

    /// Tells whether the server leaves the field out when it is empty (`""`, `0`, `false`, `[]`, and maps `{}`): a
    /// field of a built-in kind that Go cannot tell from an absent one.
    pub fn vanishes_when_empty(&self) -> bool {
        matches!(&self.0, Place::Builtin { expr, omit: true, .. }
            if !matches!(expr, Expr::Pointer(_) | Expr::Struct(_)))
    }

    /// Tells whether the place is a pointer of a built-in kind: present and empty is not absent.
    pub fn is_pointer(&self) -> bool {
        matches!(
            &self.0,
            Place::Builtin {
                expr: Expr::Pointer(_),
                ..
            }
        )
    }

    /// Tells whether the place belongs to a built-in kind (its values went through Go types).
    pub fn is_builtin(&self) -> bool {
        matches!(self.0, Place::Builtin { .. })
    }

    /// Returns the default that a custom resource's schema states.
    pub fn default(&self) -> Option<&'s Value> {
        match &self.0 {
            Place::Open {
                open, core: false, ..
            } => open.default(),
            _ => None,
        }
    }

    /// Tells whether a custom resource keeps `null` here.
    pub fn keeps_null(&self) -> bool {
        match &self.0 {
            Place::Open { open, .. } => open.keeps_null(),
            Place::Any => true,
            _ => false,
        }
    }

    /// Returns the format that a custom resource's schema states (`duration`, `date-time` …).
    pub fn format(&self) -> Option<&'s str> {
        match &self.0 {
            Place::Open { open, .. } => open.format(),
            _ => None,
        }
    }

    /// Returns the names of the declared fields with their places (custom resources only: for defaulting).
    pub fn declared(&self) -> Vec<(&'s str, Self)> {
        let Place::Open {
            open, core: false, ..
        } = &self.0
        else {
            return vec![];
        };
        open.properties()
            .map(|(key, open)| (key, Node(open_place(Below::Schema(open), false))))
            .collect()
    }

    /// Returns the value of a merge key `key` that an item does not spell out.
    pub fn default_key(&self, key: &str) -> Option<Value> {
        match &self.0 {
            Place::Open {
                open, core: false, ..
            } => open.default().cloned(),
            _ if key == "protocol" => Some("TCP".into()),
            _ => None,
        }
    }
}

/// Returns one shared list type per set of keys, so that places can lend it.
pub(super) fn interned(keys: &Value) -> &'static ListType {
    static SEEN: LazyLock<std::sync::Mutex<HashMap<String, &'static ListType>>> =
        LazyLock::new(Default::default);
    let names: Vec<String> = keys
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|key| key.as_str().map(str::to_owned))
        .collect();
    let mut seen = SEEN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    seen.entry(names.join(","))
        .or_insert_with(|| Box::leak(Box::new(ListType::Map(names))))
}

/// Returns the place of metadata, which is the same for every kind.
fn object_meta<'s>() -> Place<'s> {
    let namespace = TABLE.kinds.get(&("v1", "Namespace"));
    let field = namespace.and_then(|&at| match TABLE.roots[at].inner() {
        Expr::Struct(at) => TABLE.types[*at].fields.get("metadata"),
        _ => None,
    });
    match field {
        Some(field) => Place::Builtin {
            expr: &field.expr,
            mark: &field.mark,
            omit: field.omit,
            served: None,
        },
        None => Place::Any,
    }
}

fn root_place(open: Option<Open<'_>>) -> Place<'_> {
    match open {
        Some(open) => Place::Open {
            open,
            root: true,
            core: false,
        },
        None => Place::Any,
    }
}

fn open_place(below: Below<'_>, core: bool) -> Place<'_> {
    match below {
        Below::Schema(open) => Place::Open {
            open,
            root: false,
            core,
        },
        Below::Any => Place::Any,
        Below::Undeclared => Place::Undeclared,
    }
}

/// Returns the place below a struct or map of a built-in kind; the server's document, where there is one, says whether
/// there is such a field.
fn built_in_field<'s>(expr: &'static Expr, served: Option<Open<'s>>, key: &str) -> Place<'s> {
    let below = served.map(|served| served.field(key));
    let open = match &below {
        Some(Below::Schema(open)) => Some(*open),
        _ => None,
    };
    match expr.inner() {
        Expr::Struct(_) if matches!(below, Some(Below::Undeclared)) => Place::Undeclared,
        Expr::Struct(at) => match (TABLE.types[*at].fields.get(key), below) {
            (Some(field), _) => Place::Builtin {
                expr: &field.expr,
                mark: &field.mark,
                omit: field.omit,
                served: open,
            },
            (None, Some(below)) => open_place(below, true),
            (None, None) => Place::Undeclared,
        },
        Expr::Map(below) => Place::Builtin {
            expr: below,
            mark: &Mark::None,
            omit: false,
            served: open,
        },
        Expr::Any => Place::Any,
        _ => Place::Undeclared,
    }
}

/// The Go types of the built-in kinds.
struct Table {
    kinds: HashMap<(&'static str, &'static str), usize>,
    types: Vec<Type>,
    roots: Vec<Expr>,
}

struct Type {
    name: &'static str,
    /// Items of lists have one owner for the whole.
    atomic: bool,
    fields: HashMap<&'static str, Field>,
}

#[derive(Debug)]
struct Field {
    expr: Expr,
    mark: Mark,
    omit: bool,
}

#[derive(Debug)]
enum Mark {
    None,
    Atomic,
    List(ListType),
}

#[derive(Debug)]
enum Expr {
    Scalar(char),
    Struct(usize),
    List(Box<Self>),
    Map(Box<Self>),
    Pointer(Box<Self>),
    Any,
}

impl Expr {
    fn parse(code: &str) -> Self {
        let below = |rest: &str| Box::new(Self::parse(rest));
        match code.as_bytes().first() {
            Some(b'*') => Self::Pointer(below(&code[1..])),
            Some(b'[') => Self::List(below(&code[1..])),
            Some(b'{') => Self::Map(below(&code[1..])),
            Some(b'T') => code[1..].parse().map_or(Self::Any, Self::Struct),
            None | Some(b'j') => Self::Any,
            Some(scalar) => Self::Scalar(char::from(*scalar)),
        }
    }

    fn inner(&self) -> &Self {
        match self {
            Self::Pointer(below) => below.inner(),
            other => other,
        }
    }

    fn holds(&self) -> Holds<'static> {
        match self.inner() {
            Self::Struct(at) => Holds::Struct(TABLE.types[*at].name),
            Self::List(_) => Holds::List,
            Self::Map(_) => Holds::Map,
            Self::Scalar('s' | 'd') => Holds::String,
            Self::Scalar('i') => Holds::Integer,
            Self::Scalar('b') => Holds::Boolean,
            Self::Scalar('f') => Holds::Number,
            Self::Scalar('q') => Holds::Quantity,
            Self::Scalar('x') => Holds::IntOrString,
            Self::Scalar('t') => Holds::Time,
            Self::Scalar('y') => Holds::Bytes,
            _ => Holds::Any,
        }
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| read_table(include_str!("types.txt")));

/// Reads the compiled-in table; its first lines say how it is written.
fn read_table(text: &'static str) -> Table {
    let mut table = Table {
        kinds: HashMap::new(),
        types: vec![],
        roots: vec![],
    };
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let (Some(first), second, third) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        if let Some(api_version) = first.strip_prefix('%') {
            let at = table.roots.len();
            table
                .kinds
                .insert((api_version, second.unwrap_or_default()), at);
            let code = format!("T{}", third.unwrap_or_default());
            table.roots.push(Expr::parse(&code));
        } else if first.starts_with('@') {
            table.types.push(Type {
                name: second.unwrap_or_default(),
                atomic: third == Some("!"),
                fields: HashMap::new(),
            });
        } else if let Some(current) = table.types.last_mut() {
            let flags = third.unwrap_or_default();
            current.fields.insert(
                first,
                Field {
                    expr: Expr::parse(second.unwrap_or_default()),
                    mark: read_mark(flags.get(1..).unwrap_or_default()),
                    omit: flags.starts_with('o'),
                },
            );
        }
    }
    table
}

fn read_mark(text: &str) -> Mark {
    match text.as_bytes().first() {
        Some(b'!') => Mark::Atomic,
        Some(b'~') => Mark::List(ListType::Set),
        Some(b'=') => Mark::List(ListType::Map(
            text[1..].split(',').map(str::to_owned).collect(),
        )),
        _ => Mark::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::object::managed_fields::entries;
    use serde_json::json;

    fn at<'s>(schema: &'s KindSchema, path: &str) -> Node<'s> {
        path.split('.')
            .fold(schema.root(), |node, step| match step {
                "[]" => node.item(),
                key => node.field(key),
            })
    }

    #[test]
    fn knows_list_types_of_builtin_kinds() {
        let keys = |keys: &[&str]| ListType::Map(keys.iter().map(|k| (*k).to_owned()).collect());
        let deployment = KindSchema::builtin("apps/v1", "Deployment");
        let service = KindSchema::builtin("v1", "Service");
        let hpa1 = KindSchema::builtin("autoscaling/v1", "HorizontalPodAutoscaler");
        let hpa2 = KindSchema::builtin("autoscaling/v2", "HorizontalPodAutoscaler");
        let pod = "spec.template.spec";
        assert_eq!(
            at(&deployment, &format!("{pod}.containers.[].ports")).list(),
            &keys(&["containerPort", "protocol"])
        );
        assert_eq!(
            at(&deployment, &format!("{pod}.tolerations")).list(),
            &ListType::Atomic
        );
        assert_eq!(
            at(&deployment, "metadata.finalizers").list(),
            &ListType::Set
        );
        assert!(at(&deployment, "spec.selector").atomic());
        assert!(at(&deployment, &format!("{pod}.nodeSelector")).atomic());
        assert!(!at(&deployment, "metadata.labels").atomic());
        assert_eq!(
            at(&service, "spec.ports").list(),
            &keys(&["port", "protocol"])
        );
        assert!(at(&hpa1, "spec.scaleTargetRef").atomic());
        assert!(!at(&hpa2, "spec.scaleTargetRef").atomic());
    }

    #[test]
    fn knows_items_that_have_one_owner() {
        let deployment = KindSchema::builtin("apps/v1", "Deployment");
        for (path, expect) in [
            ("spec.template.spec.imagePullSecrets.[]", true),
            ("spec.template.spec.containers.[]", false),
        ] {
            assert_eq!(at(&deployment, path).atomic(), expect, "{path}");
        }
    }

    #[test]
    fn knows_types_and_what_vanishes() {
        let schema = KindSchema::builtin("apps/v1", "Deployment");
        let container = "spec.template.spec.containers.[]";
        let node = |rest: &str| at(&schema, &format!("{container}.{rest}"));
        assert_eq!(node("resources.limits.cpu").holds(), Holds::Quantity);
        assert_eq!(
            node("livenessProbe.httpGet.port").holds(),
            Holds::IntOrString
        );
        assert!(node("stdin").vanishes_when_empty());
        assert!(!node("securityContext.privileged").vanishes_when_empty());
        assert!(!node("resources").vanishes_when_empty());
        assert_eq!(node("imagePulPolicy").holds(), Holds::Undeclared);
        assert_eq!(
            at(&schema, "spec.template.spec").holds(),
            Holds::Struct("core/v1.PodSpec")
        );
    }

    #[test]
    fn knows_the_groups_of_the_server() {
        for (version, expect) in [
            ("v1", true),
            ("apps/v1beta1", true),
            ("networking.k8s.io/v1", true),
            ("gateway.networking.k8s.io/v1", false),
            ("lab.example.test/v1", false),
        ] {
            assert_eq!(is_built_in(version), expect, "{version}");
        }
    }

    #[test]
    fn reads_custom_schemas() {
        let crd = json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": {
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "listeners": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {"weight": {"type": "integer", "default": 100}}}}}}}}}}]}});
        let schema = KindSchema::of_crd(&crd, "v1").unwrap();
        assert_eq!(at(&schema, "spec.tags").list(), &ListType::Set);
        assert_eq!(
            at(&schema, "spec.listeners").list(),
            &ListType::Map(vec!["name".into()])
        );
        assert_eq!(
            at(&schema, "spec.listeners.[].weight").default(),
            Some(&json!(100))
        );
        assert_eq!(at(&schema, "spec.nope").holds(), Holds::Undeclared);
    }

    #[test]
    fn the_server_s_document_decides_about_lists_and_fields() {
        let document = Arc::new(json!({"components": {"schemas": {
            "Deployment": {"type": "object", "x-kubernetes-group-version-kind":
                    [{"group": "apps", "version": "v1", "kind": "Deployment"}],
                "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"},
                    "metadata": {"allOf": [{"$ref": "#/components/schemas/Meta"}], "default": {}},
                    "spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}]}}},
            "Meta": {"type": "object", "properties": {"name": {"type": "string"}}},
            "Spec": {"type": "object", "properties": {
                "replicas": {"type": "integer"},
                "fresh": {"type": "string", "default": ""},
                "selector": {"allOf": [{"$ref": "#/components/schemas/Selector"}]},
                "template": {"type": "object"}}},
            "Selector": {"type": "object", "x-kubernetes-map-type": "atomic",
                "properties": {"matchLabels": {"type": "object", "additionalProperties": {"type": "string"}}}},
            "Widget": {"type": "object", "x-kubernetes-group-version-kind":
                    [{"group": "lab.example.test", "version": "v1", "kind": "Widget"}],
                "properties": {"spec": {"type": "object", "properties": {
                    "size": {"type": "integer", "default": 3},
                    "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
                        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}}}}));
        let kinds = KindSchema::all_of(&document, "apps/v1");
        assert_eq!(kinds.len(), 1);
        let schema = kinds["Deployment"].clone();
        assert_eq!(at(&schema, "spec.replicas").holds(), Holds::Integer);
        assert!(at(&schema, "spec.replicas").is_pointer());
        assert!(at(&schema, "spec.selector").atomic());
        assert_eq!(at(&schema, "spec.fresh").holds(), Holds::String);
        assert_eq!(
            at(&schema, "spec.fresh").default(),
            None,
            "Go's, not the server's"
        );
        assert_eq!(at(&schema, "spec.paused").holds(), Holds::Undeclared);
        // what the document leaves open is the table's
        let containers = at(&schema, "spec.template.spec.containers");
        assert_eq!(containers.list(), &ListType::Map(vec!["name".into()]));
        let widget = KindSchema::all_of(&document, "lab.example.test/v1")["Widget"].clone();
        let parts = at(&widget, "spec.parts");
        assert_eq!(parts.list(), &ListType::Map(vec!["id".into()]));
        assert_eq!(parts.item().field("any").holds(), Holds::Any);
        assert_eq!(at(&widget, "spec.size").default(), Some(&json!(3)));
        assert_eq!(at(&widget, "metadata.finalizers").list(), &ListType::Set);
        assert!(KindSchema::all_of(&document, "lab.example.test/v2").is_empty());
    }

    #[test]
    fn infers_lists_from_managed_fields() {
        let live = json!({"metadata": {"managedFields": [{"manager": "m", "operation": "Apply", "fieldsV1":
            {"f:spec": {"f:a": {"k:{\"name\":\"x\"}": {".": {}}}, "f:b": {"v:\"y\"": {}}}}}]}});
        let schema = KindSchema::inferred(&entries(&live));
        assert_eq!(
            at(&schema, "spec.a").list(),
            &ListType::Map(vec!["name".into()])
        );
        assert_eq!(at(&schema, "spec.b").list(), &ListType::Set);
        assert_eq!(at(&schema, "spec.c").list(), &ListType::Atomic);
    }
}
