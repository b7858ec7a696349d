//! What the API server knows of a kind's fields: types, list types and keys, atomic maps, quantities, defaults.
//!
//! Built-in kinds come from a table compiled in (`types.txt`: the Go types of 1.37 with the list types that the server's
//! OpenAPI v3 states). Custom resources come from their CRD or from the server's OpenAPI
//! document; without either, list types are inferred from the tags in managedFields, else a list is atomic. A
//! [`Node`] is a place in a schema: walk it beside a value with [`Node::field`] and [`Node::item`].

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::PathStep;
use super::managed_fields::{Entry, FieldSet};

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
    Builtin(usize),
    Open { document: Arc<Value>, at: String },
    Inferred(Arc<BTreeMap<String, ListType>>),
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
    },
    Open {
        document: &'s Value,
        schema: &'s Value,
        /// The object itself, whose metadata the server knows.
        root: bool,
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
            Some(&at) => Self(Source::Builtin(at)),
            None => Self(Source::Inferred(Arc::default())),
        }
    }

    /// Tells whether the built-in table has the kind.
    pub fn is_builtin(&self) -> bool {
        matches!(self.0, Source::Builtin(_))
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
        Some(Self(Source::Open {
            document: Arc::new(schema.clone()),
            at: String::new(),
        }))
    }

    /// Finds the schema of a kind in an OpenAPI v3 document of the server (`/openapi/v3/apis/GROUP/VERSION`).
    pub fn of_openapi(document: &Arc<Value>, api_version: &str, kind: &str) -> Option<Self> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let schemas = document.pointer("/components/schemas")?.as_object()?;
        let is_ours = |schema: &Value| {
            let ids = schema
                .get("x-kubernetes-group-version-kind")
                .and_then(Value::as_array);
            ids.into_iter().flatten().any(|id| {
                let is = |key: &str, text: &str| id.get(key).and_then(Value::as_str) == Some(text);
                is("group", group) && is("version", version) && is("kind", kind)
            })
        };
        let name = schemas.iter().find(|(_, schema)| is_ours(schema))?.0;
        Some(Self(Source::Open {
            document: Arc::clone(document),
            at: format!(
                "/components/schemas/{}",
                name.replace('~', "~0").replace('/', "~1")
            ),
        }))
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
            Source::Builtin(at) => Place::Builtin {
                expr: &TABLE.roots[*at],
                mark: &Mark::None,
                omit: false,
            },
            Source::Open { document, at } => match document.pointer(at) {
                Some(schema) => Place::Open {
                    document,
                    schema,
                    root: true,
                },
                None => Place::Any,
            },
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
            Place::Builtin { expr, .. } => match expr.inner() {
                Expr::Struct(at) => match TABLE.types[*at].fields.get(key) {
                    Some(field) => Place::Builtin {
                        expr: &field.expr,
                        mark: &field.mark,
                        omit: field.omit,
                    },
                    None => Place::Undeclared,
                },
                Expr::Map(below) => Place::Builtin {
                    expr: below,
                    mark: &Mark::None,
                    omit: false,
                },
                Expr::Any => Place::Any,
                _ => Place::Undeclared,
            },
            Place::Open { root: true, .. } if key == "metadata" => object_meta(),
            Place::Inferred { at, .. } if at.is_empty() && key == "metadata" => object_meta(),
            Place::Open {
                document, schema, ..
            } => open_field(document, schema, key),
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
            Place::Builtin { expr, .. } => match expr.inner() {
                Expr::List(below) => Place::Builtin {
                    expr: below,
                    mark: match below.inner() {
                        Expr::Struct(at) if TABLE.types[*at].atomic => &Mark::Atomic,
                        _ => &Mark::None,
                    },
                    omit: false,
                },
                _ => Place::Any,
            },
            Place::Open {
                document, schema, ..
            } => match schema.get("items").map(|items| resolve(document, items)) {
                Some(schema) => Place::Open {
                    document,
                    schema,
                    root: false,
                },
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
        static SET: ListType = ListType::Set;
        match &self.0 {
            Place::Builtin {
                mark: Mark::List(list),
                ..
            } => list,
            Place::Inferred { lists, at } => lists.get(at.as_str()).unwrap_or(&ATOMIC),
            Place::Open { schema, .. } => {
                match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
                    Some("set") => &SET,
                    Some("map") => schema
                        .get("x-kubernetes-list-map-keys")
                        .map_or(&ATOMIC, interned),
                    _ => &ATOMIC,
                }
            }
            _ => &ATOMIC,
        }
    }

    /// Tells whether the map or struct at this place has one owner for the whole.
    pub fn atomic(&self) -> bool {
        match &self.0 {
            Place::Builtin { mark, .. } => matches!(mark, Mark::Atomic),
            Place::Open { schema, .. } => {
                schema.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic")
            }
            _ => false,
        }
    }

    /// Returns what the place holds.
    pub fn holds(&self) -> Holds<'s> {
        match &self.0 {
            Place::Builtin { expr, .. } => expr.holds(),
            Place::Open { schema, .. } => open_holds(schema),
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
            Place::Open { schema, .. } => schema.get("default"),
            _ => None,
        }
    }

    /// Tells whether a custom resource keeps `null` here.
    pub fn keeps_null(&self) -> bool {
        match &self.0 {
            Place::Open { schema, .. } => {
                schema.get("nullable") == Some(&Value::Bool(true)) || preserves(schema)
            }
            Place::Any => true,
            _ => false,
        }
    }

    /// Returns the format that a custom resource's schema states (`duration`, `date-time` …).
    pub fn format(&self) -> Option<&'s str> {
        match &self.0 {
            Place::Open { schema, .. } => schema.get("format").and_then(Value::as_str),
            _ => None,
        }
    }

    /// Returns the names of the declared fields with their places (custom resources only: for defaulting).
    pub fn declared(&self) -> Vec<(&'s str, Self)> {
        let Place::Open {
            document, schema, ..
        } = &self.0
        else {
            return vec![];
        };
        let fields = schema.get("properties").and_then(Value::as_object);
        fields
            .into_iter()
            .flatten()
            .map(|(key, schema)| {
                let schema = resolve(document, schema);
                let root = false;
                let place = Place::Open {
                    document,
                    schema,
                    root,
                };
                (key.as_str(), Node(place))
            })
            .collect()
    }

    /// Returns the value of a merge key `key` that an item does not spell out.
    pub fn default_key(&self, key: &str) -> Option<Value> {
        match &self.0 {
            Place::Open { schema, .. } => schema.get("default").cloned(),
            _ if key == "protocol" => Some("TCP".into()),
            _ => None,
        }
    }
}

/// Returns one shared list type per set of keys, so that places can lend it.
fn interned(keys: &Value) -> &'static ListType {
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
        },
        None => Place::Any,
    }
}

fn open_field<'s>(document: &'s Value, schema: &'s Value, key: &str) -> Place<'s> {
    if let Some(below) = schema.get("properties").and_then(|fields| fields.get(key)) {
        let schema = resolve(document, below);
        return Place::Open {
            document,
            schema,
            root: false,
        };
    }
    match schema.get("additionalProperties") {
        Some(below @ Value::Object(_)) => Place::Open {
            document,
            schema: resolve(document, below),
            root: false,
        },
        Some(Value::Bool(true)) => Place::Any,
        _ if preserves(schema)
            || schema.get("properties").is_none()
            || matches!(key, "apiVersion" | "kind" | "metadata") =>
        {
            Place::Any
        }
        _ => Place::Undeclared,
    }
}

fn preserves(schema: &Value) -> bool {
    schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true))
}

/// Follows `$ref` and single `allOf` to the schema that says something.
fn resolve<'s>(document: &'s Value, schema: &'s Value) -> &'s Value {
    let mut at = schema;
    for _ in 0..8 {
        let reference = at
            .get("$ref")
            .or_else(|| at.pointer("/allOf/0/$ref"))
            .and_then(Value::as_str)
            .and_then(|reference| document.pointer(reference.strip_prefix('#')?));
        match reference {
            Some(next) => at = next,
            None => break,
        }
    }
    at
}

fn open_holds(schema: &Value) -> Holds<'static> {
    let flag = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    if flag("x-kubernetes-int-or-string") {
        return Holds::IntOrString;
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => match schema.get("format").and_then(Value::as_str) {
            Some("byte") => Holds::Bytes,
            _ => Holds::String,
        },
        Some("integer") => Holds::Integer,
        Some("number") => Holds::Number,
        Some("boolean") => Holds::Boolean,
        Some("array") => Holds::List,
        Some("object") if schema.get("additionalProperties").is_some() => Holds::Map,
        Some("object") if schema.get("properties").is_some() => Holds::Struct(""),
        _ => Holds::Any,
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
