//! Pictures: what stands there, the edit, what stands there afterwards.

use serde_json::{Value, json};

use super::super::{Route, RouteStep};
use super::{Edit, EditError, apply};

/// Reads `a.b[0]."x.y"` (keys with dots in quotes).
fn route(text: &str) -> Route {
    let mut route = Route::root();
    let mut rest = text;
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if let Some(after) = rest.strip_prefix('[') {
            let (index, after) = after.split_once(']').unwrap();
            route = route.index(index.parse().unwrap());
            rest = after;
        } else if let Some(after) = rest.strip_prefix('"') {
            let (key, after) = after.split_once('"').unwrap();
            route = route.key(key);
            rest = after;
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            route = route.key(&rest[..end]);
            rest = &rest[end..];
        }
    }
    route
}

fn set(at: &str, value: Value) -> Edit {
    Edit::Set {
        route: route(at),
        value,
    }
}

fn add(parent: &str, key: &str, value: Value) -> Edit {
    Edit::Insert {
        parent: route(parent),
        at: RouteStep::Key(key.to_owned()),
        value,
    }
}

fn push(parent: &str, index: usize, value: Value) -> Edit {
    Edit::Insert {
        parent: route(parent),
        at: RouteStep::Index(index),
        value,
    }
}

fn remove(at: &str) -> Edit {
    Edit::Remove { route: route(at) }
}

#[track_caller]
fn check(before: &str, edit: Edit, after: &str) {
    check_in(before, 0, edit, after);
}

#[track_caller]
fn check_in(before: &str, document: usize, edit: Edit, after: &str) {
    let shown = format!("{edit:?}");
    let got =
        apply(before.as_bytes(), document, &[edit]).map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(got.as_deref(), Ok(after), "{before}\n{shown}");
}

#[test]
fn scalars_keep_quotes_comments_and_anchors() {
    check(
        "a:\n  - name: x\n    image: 'r/x:1'   # pinned\n",
        set("a[0].image", json!("r/x:2")),
        "a:\n  - name: x\n    image: 'r/x:2'   # pinned\n",
    );
    check(
        "a: \"x\"\n",
        set("a", json!("it's \"q\"")),
        "a: \"it's \\\"q\\\"\"\n",
    );
    check("a: 'x'\n", set("a", json!("it's")), "a: 'it''s'\n");
    check(
        "a: &x 1 # one\nb: 2\n",
        set("a", json!(5)),
        "a: &x 5 # one\nb: 2\n",
    );
    check("a: \"1\"\n", set("a", json!(2)), "a: 2\n");
    check("a: 1\n", set("a", json!("2")), "a: \"2\"\n");
    check("a:\nb: 1\n", set("a", json!("x")), "a: x\nb: 1\n");
    check(
        "a: # later\nb: 1\n",
        set("a", json!("x")),
        "a: x # later\nb: 1\n",
    );
    check("a: !!str 1\n", set("a", json!("2")), "a: !!str \"2\"\n");
    check(
        "\"a.b/c\": 1\n\u{fc}: \u{e9}\n",
        set("\"a.b/c\"", json!(2)),
        "\"a.b/c\": 2\n\u{fc}: \u{e9}\n",
    );
    check(
        "a: long\n  plain\n  text\nb: 1\n",
        set("a", json!("short")),
        "a: short\nb: 1\n",
    );
}

#[test]
fn text_that_reads_as_something_else_is_quoted() {
    for (text, written) in [
        ("yes", "\"yes\""),
        ("0755", "\"0755\""),
        ("a: b", "'a: b'"),
        ("#x", "'#x'"),
        ("1e3", "\"1e3\""),
        ("2024-01-01", "\"2024-01-01\""),
        ("null", "\"null\""),
        ("", "\"\""),
        ("1:30", "\"1:30\""),
        ("- a", "'- a'"),
        ("a #b", "'a #b'"),
        ("*a", "'*a'"),
        ("tab\there", "\"tab\\there\""),
        ("a\nb", "\"a\\nb\""),
        ("x:", "'x:'"),
        ("plain text", "plain text"),
        ("http://x?y=z#f", "http://x?y=z#f"),
        ("${VAR}", "${VAR}"),
        ("--flag=1", "--flag=1"),
    ] {
        check("a: b\n", set("a", json!(text)), &format!("a: {written}\n"));
    }
}

#[test]
fn keys_are_added_at_the_end_in_the_file_s_style() {
    check(
        "a:\n  b: 1 # x\n  # last\nc: 2\n",
        add("a", "z", json!(3)),
        "a:\n  b: 1 # x\n  z: 3\n  # last\nc: 2\n",
    );
    check(
        "a:\r\n  b: 1\r\n",
        add("a", "z", json!(3)),
        "a:\r\n  b: 1\r\n  z: 3\r\n",
    );
    check("a:\n  b: 1", add("a", "z", json!(3)), "a:\n  b: 1\n  z: 3");
    check(
        "a:\n    b: |\n        x\n\nc: 1\n",
        add("a", "z", json!({"k": ["v"]})),
        "a:\n    b: |\n        x\n    z:\n        k:\n        - v\n\nc: 1\n",
    );
    check(
        "a:\n  - b: 1\n    c:\n      - x\n",
        add("a[0]", "d", json!(["w"])),
        "a:\n  - b: 1\n    c:\n      - x\n    d:\n      - w\n",
    );
    check(
        "a: {b: 1}\n",
        add("a", "c", json!("yes")),
        "a: {b: 1, c: \"yes\"}\n",
    );
    check("a: {}\n", add("a", "c", json!(1)), "a: {c: 1}\n");
    check(
        "a: {\n  b: 1,\n  c: 2   # two\n}\n",
        add("a", "d", json!(3)),
        "a: {\n  b: 1,\n  c: 2,   # two\n  d: 3\n}\n",
    );
    check(
        "a:\nb: 1\n",
        add("a", "x", json!("w")),
        "a:\n  x: w\nb: 1\n",
    );
    check(
        "a: null\n",
        add("a", "x", json!({"w": 1})),
        "a:\n  x:\n    w: 1\n",
    );
    check(
        "a:\n  b: |+\n    x\n\nc: 1\n",
        add("a", "z", json!(1)),
        "a:\n  b: |+\n    x\n\n  z: 1\nc: 1\n",
    );
    check(
        "a:\n  b: 1\n",
        add("a", "no", json!("x\ny\n")),
        "a:\n  b: 1\n  \"no\": |\n    x\n    y\n",
    );
}

#[test]
fn items_are_added_where_the_dashes_stand() {
    check(
        "a:\n    - x\n    - y\n",
        push("a", 2, json!("z")),
        "a:\n    - x\n    - y\n    - z\n",
    );
    check(
        "a:\n- x\nb: 1\n",
        push("a", 1, json!({"k": 1, "l": [1]})),
        "a:\n- x\n- k: 1\n  l:\n  - 1\nb: 1\n",
    );
    check(
        "a:\n-   k: 1\n    l: 2\n",
        push("a", 1, json!({"k": 3, "l": 4})),
        "a:\n-   k: 1\n    l: 2\n-   k: 3\n    l: 4\n",
    );
    check(
        "a:\n# first\n- x\n",
        push("a", 0, json!("w")),
        "a:\n# first\n- w\n- x\n",
    );
    check("a: [x, y]\n", push("a", 1, json!("w")), "a: [x, w, y]\n");
    check("a: [x]\n", push("a", 1, json!("-")), "a: [x, '-']\n");
    check("a: []\n", push("a", 0, json!(1)), "a: [1]\n");
}

#[test]
fn entries_and_items_leave_with_their_comments() {
    check(
        "a:\n  b: 1\n  # about c\n  c:\n    d: 1 # x\n    # inner\n\n  e: 2\n",
        remove("a.c"),
        "a:\n  b: 1\n\n  e: 2\n",
    );
    check("a:\n  b: 1 # x\nc: 2\n", remove("a.b"), "a: {}\nc: 2\n");
    check(
        "a:\n- b: 1\n  c: 2\n- d\n",
        remove("a[0].b"),
        "a:\n- c: 2\n- d\n",
    );
    check("a:\n- b: 1\n  c: 2\n- d\n", remove("a[0]"), "a:\n- d\n");
    check("a:\n- d\n", remove("a[0]"), "a: []\n");
    check(
        "a: {b: 1, c: 2, d: 3}\n",
        remove("a.b"),
        "a: {c: 2, d: 3}\n",
    );
    check(
        "a: {b: 1, c: 2, d: 3}\n",
        remove("a.d"),
        "a: {b: 1, c: 2}\n",
    );
    check("a: {b: 1}\n", remove("a.b"), "a: {}\n");
    check("a: 1\r\nb: 2\r\nc: 3\r\n", remove("b"), "a: 1\r\nc: 3\r\n");
    check("a: 1\nb: 2", remove("b"), "a: 1");
    check("# licence\na: 1\nb: 2\n", remove("a"), "# licence\nb: 2\n");
    check("- - a\n  - b\n- c\n", remove("[0][0]"), "- - b\n- c\n");
}

#[test]
fn block_scalars_keep_style_and_lines() {
    check(
        "a: |\n  x\n   \n  y  \nb: 1\n",
        set("a", json!("x\n \nz\n")),
        "a: |\n  x\n   \n  z\nb: 1\n",
    );
    check(
        "a: |-\n  x\n",
        set("a", json!("x\ny\n")),
        "a: |\n  x\n  y\n",
    );
    check(
        "a: >-\n  one two\n  three four\nb: 1\n",
        set("a", json!("one two three five")),
        "a: >-\n  one two\n  three five\nb: 1\n",
    );
    check(
        "a: >\n  one\n",
        set("a", json!("one\ntwo\n")),
        "a: >\n  one\n\n  two\n",
    );
    check(
        "a: >\n  one\n",
        set("a", json!("one\n  two\n")),
        "a: |\n  one\n    two\n",
    );
    check("a: |\n  x\n", set("a", json!("")), "a: \"\"\n");
    check(
        "a: |\n  x\n",
        set("a", json!("  lead\n")),
        "a: |2\n    lead\n",
    );
    check(
        "a: |  # why\n  x\n",
        set("a", json!("y\n")),
        "a: |  # why\n  y\n",
    );
    check(
        "l:\n- |\n  x\n- y\n",
        set("l[0]", json!("x\n\nz\n")),
        "l:\n- |\n  x\n\n  z\n- y\n",
    );
}

#[test]
fn collections_change_place_by_place() {
    check(
        "a:\n  b: 1 # one\n  c: 2\n  d: [1, 2, 3]\n",
        set("a", json!({"b": 1, "d": [1, 5, 3], "e": null})),
        "a:\n  b: 1 # one\n  d: [1, 5, 3]\n  e: null\n",
    );
    check(
        "a: x  # was text\nb: 1\n",
        set("a", json!({"k": "v"})),
        "a:  # was text\n  k: v\nb: 1\n",
    );
    check(
        "a:  # map\n  b: 1\nc: 1\n",
        set("a", json!("text")),
        "a: text  # map\nc: 1\n",
    );
    check(
        "a:\n- x # one\n- y\n- z\n",
        set("a", json!(["x", "z"])),
        "a:\n- x # one\n- z\n",
    );
    check(
        "- x\n- y\n",
        set("[0]", json!({"a": 1, "b": 2})),
        "- a: 1\n  b: 2\n- y\n",
    );
}

#[test]
fn anchors_stay_and_aliases_get_a_local_override() {
    check(
        "a: &x {k: 1}\nb: *x\n",
        set("b.k", json!(2)),
        "a: &x {k: 1}\nb:\n  <<: *x\n  k: 2\n",
    );
    check(
        "a: &x {k: 1}\nb: {c: *x}\n",
        set("b.c.k", json!(2)),
        "a: &x {k: 1}\nb: {c: {<<: *x, k: 2}}\n",
    );
    check(
        "a: &x [1, 2]\nb: *x\n",
        set("b[1]", json!(3)),
        "a: &x [1, 2]\nb:\n- 1\n- 3\n",
    );
    check("a: &x 1\nb: *x\n", set("b", json!(2)), "a: &x 1\nb: 2\n");
    let shared = apply(b"a: &x 1\nb: *x\n", 0, &[set("a", json!(2))]);
    assert_eq!(
        shared,
        Err(EditError::Shared {
            anchor: "x".to_owned(),
            line: 1
        })
    );
}

#[test]
fn any_document_of_a_stream_is_reached_and_the_others_stay() {
    let before = "\u{feff}# head\na: 1\n---\n\u{feff}a: 1\n---\n---\na: 1\n...\n";
    check_in(
        before,
        0,
        set("a", json!(2)),
        &before.replacen("a: 1", "a: 2", 1),
    );
    check_in(
        before,
        1,
        set("a", json!(2)),
        "\u{feff}# head\na: 1\n---\n\u{feff}a: 2\n---\n---\na: 1\n...\n",
    );
    check_in(
        before,
        3,
        add("", "b", json!(2)),
        "\u{feff}# head\na: 1\n---\n\u{feff}a: 1\n---\n---\na: 1\nb: 2\n...\n",
    );
    assert_eq!(
        apply(before.as_bytes(), 7, &[set("a", json!(2))]),
        Err(EditError::NoDocument(7))
    );
}

#[test]
fn keys_are_renamed_in_their_own_style() {
    let rename = |key: &str| Edit::Rename {
        route: route("a.b"),
        key: key.to_owned(),
    };
    check("a:\n  b: 1 # x\n", rename("c"), "a:\n  c: 1 # x\n");
    check("a:\n  'b': 1\n", rename("on"), "a:\n  'on': 1\n");
    check("a:\n  b: 1\n", rename("on"), "a:\n  \"on\": 1\n");
    assert!(apply(b"a:\n  b: 1\n  c: 2\n", 0, &[rename("c")]).is_err());
}
