//! The screens over a hand-made fleet: the painter and the state machine together, and the loop that ships.

mod acts;

use std::fmt::Write as _;
use std::sync::Arc;

use gitops_tui::domain::drift::{
    AppDrift, FieldDrift, FieldStatus, Hidden, ObjectDrift, ObjectState, Owner, OwnerClass, Sides,
    Verdict,
};
use gitops_tui::domain::fault::{Fault, FaultKind};
use gitops_tui::domain::fleet::{App, AppKind, AppState, Change, ContextState, Fleet, Settings};
use gitops_tui::domain::object::{Home, ObjectId, Origin, Step};
use gitops_tui::domain::yaml::Route;
use gitops_tui::session::key::{Key, Press, keys};
use gitops_tui::session::{Effect, Message, Options, Session};
use gitops_tui::ui::{Depth, Theme, draw};
use jiff::Timestamp;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Style;
use serde_json::{Value, json};

fn now() -> Timestamp {
    "2026-12-01T03:00:00Z".parse().unwrap()
}

fn kustomization(name: &str, extra: Value) -> Value {
    let mut object = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": name, "namespace": "flux-system", "generation": 1, "resourceVersion": "7",
            "creationTimestamp": "2026-11-01T00:00:00Z"},
        "spec": {"interval": "10m", "path": format!("./apps/{name}"), "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": "fleet"}},
        "status": {"observedGeneration": 1, "lastAppliedRevision": "main@sha1:45691eba687d2430ce14000b902016de2d2ce9a4",
            "lastAttemptedRevision": "main@sha1:45691eba687d2430ce14000b902016de2d2ce9a4",
            "conditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded",
                "message": "Applied revision", "lastTransitionTime": "2026-12-01T02:00:00Z", "observedGeneration": 1}]}
    });
    merge(&mut object, extra);
    object
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn field(path: &str, git: Option<Value>, live: Option<Value>, verdict: Verdict) -> FieldDrift {
    FieldDrift {
        path: path.parse().unwrap(),
        status: FieldStatus::Changed,
        verdict,
        git,
        live,
        masked: false,
        owners: vec![Owner {
            manager: "kubectl-edit".into(),
            operation: Some("Update".into()),
            subresource: None,
            time: Some("2026-12-01T02:41:00Z".into()),
            class: OwnerClass::Person,
        }],
        origin: Some(Arc::new(Origin {
            home: Home::Repository,
            file: "apps/checkout/deployment.yaml".into(),
            document: 0,
            line: 14,
            route: Route::root().key("spec"),
            inner: None,
            step: Step::Resource,
            before: None,
        })),
        rule: None,
        note: None,
    }
}

fn deployment(replicas: i64, image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "checkout", "namespace": "shop",
        "labels": {"app": "checkout", "team": "payments"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "checkout"}}, "template": {
            "metadata": {"labels": {"app": "checkout"}},
            "spec": {"containers": [{"image": image, "name": "app", "ports": [{"containerPort": 8080}]}],
                "serviceAccountName": "checkout"}}}})
}

fn drifted(
    session: &Session,
    name: &str,
    git: Value,
    live: Value,
    fields: Vec<FieldDrift>,
) -> AppDrift {
    let app = session
        .fleet
        .iter()
        .find(|a| a.app.target.name == name)
        .unwrap()
        .app
        .clone();
    let id = ObjectId::of(&git).unwrap();
    let quiet = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "checkout", "namespace": "shop"}});
    AppDrift {
        app: Some(app),
        state: AppState::Drifted,
        cause: Some(format!("{} field(s) were edited live", fields.len())),
        objects: vec![
            ObjectDrift {
                id,
                state: ObjectState::Drifted,
                cause: None,
                fields,
                sides: Sides {
                    git: Some(git),
                    live: Some(live),
                    ..Sides::default()
                },
            },
            ObjectDrift {
                id: ObjectId::of(&quiet).unwrap(),
                state: ObjectState::InSync,
                cause: None,
                fields: vec![],
                sides: Sides {
                    git: Some(quiet.clone()),
                    live: Some(quiet),
                    ..Sides::default()
                },
            },
        ],
        hidden: Hidden {
            ignored: 1,
            noise: 3,
            foreign: 0,
        },
        problems: vec![],
    }
}

fn checkout(session: &Session) -> AppDrift {
    drifted(
        session,
        "checkout",
        deployment(3, "registry.example.test/checkout:1.4.0"),
        deployment(5, "registry.example.test/checkout:1.4.1-hotfix"),
        vec![
            field(
                "spec.replicas",
                Some(json!(3)),
                Some(json!(5)),
                Verdict::Drift,
            ),
            field(
                "spec.template.spec.containers[name=app].image",
                Some(json!("registry.example.test/checkout:1.4.0")),
                Some(json!("registry.example.test/checkout:1.4.1-hotfix")),
                Verdict::Drift,
            ),
        ],
    )
}

/// Feeds a message; answers the comparisons that it asks for by `answer`.
fn fleet_session(names: &[&str]) -> Session {
    let contexts: Vec<Arc<str>> = vec!["prod-eu".into(), "staging".into(), "prod-us".into()];
    let fleet = Fleet::new(Settings::default(), contexts.clone());
    let mut session = Session::new(
        fleet,
        Options {
            now: now(),
            ..Options::default()
        },
    );
    let mut apps: Vec<App> = vec![];
    for name in names {
        apps.push(
            App::read(
                &contexts[0],
                AppKind::Kustomization,
                &kustomization(name, json!({})),
                now(),
                &Settings::default(),
            )
            .unwrap(),
        );
    }
    let failing = kustomization(
        "infra",
        json!({"status": {"conditions": [{"type": "Ready", "status": "False",
        "reason": "BuildFailed", "message": "kustomize build failed: no such file", "lastTransitionTime": "2026-12-01T01:00:00Z", "observedGeneration": 1}]}}),
    );
    let held = kustomization("batch", json!({"spec": {"suspend": true}}));
    let others = [failing, held].map(|o| {
        App::read(
            &contexts[1],
            AppKind::Kustomization,
            &o,
            now(),
            &Settings::default(),
        )
        .unwrap()
    });
    let mut changes = vec![];
    for (context, apps) in [(0, apps), (1, others.to_vec())] {
        changes.push(Change::Context {
            context: contexts[context].clone(),
            state: ContextState::Ready,
            fault: None,
        });
        changes.push(Change::Reset {
            context: contexts[context].clone(),
            kind: AppKind::Kustomization,
            namespace: None,
            apps,
        });
        changes.push(Change::Absent {
            context: contexts[context].clone(),
            kind: AppKind::HelmRelease,
        });
        changes.push(Change::Absent {
            context: contexts[context].clone(),
            kind: AppKind::Application,
        });
    }
    changes.push(Change::Degraded {
        context: contexts[2].clone(),
        kind: None,
        fault: Fault::new(FaultKind::Unreachable, "the server does not answer").about("prod-us"),
    });
    let effects = session.update(Message::Fleet(changes));
    for effect in effects {
        if let Effect::Compare { ticket, app, .. } = effect {
            let result = match app.target.name.as_str() {
                "checkout" => Ok(Box::new(checkout(&session))),
                _ => Ok(Box::new(AppDrift {
                    app: Some(app),
                    state: AppState::InSync,
                    cause: None,
                    objects: vec![],
                    hidden: Hidden::default(),
                    problems: vec![],
                })),
            };
            session.update(Message::Drift { ticket, result });
        }
    }
    session
}

fn demo() -> Session {
    fleet_session(&["checkout", "cart", "search", "設定-本番", "deploy 🚀 now"])
}

fn play(session: &mut Session, text: &str) -> Vec<Effect> {
    keys(text)
        .unwrap()
        .into_iter()
        .flat_map(|key| session.update(Message::Key(key)))
        .collect()
}

fn paint(session: &mut Session, width: u16, height: u16, depth: Depth) -> Terminal<TestBackend> {
    session.update(Message::Resize { width, height });
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let theme = Theme::named("auto", depth).unwrap();
    terminal.draw(|frame| draw(session, frame, &theme)).unwrap();
    terminal
}

/// Two planes: the glyphs, and one letter per style with a legend.
fn planes(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let (mut glyphs, mut styles, mut legend) = (String::new(), String::new(), Vec::<Style>::new());
    for y in 0..buffer.area.height {
        let (mut line, mut marks) = (String::new(), String::new());
        let mut hidden = 0;
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let style = Style {
                fg: cell.style().fg,
                bg: cell.style().bg,
                add_modifier: cell.modifier,
                ..Style::default()
            };
            let at = legend.iter().position(|s| *s == style).unwrap_or_else(|| {
                legend.push(style);
                legend.len() - 1
            });
            marks.push(char::from(b'a' + (at % 26) as u8));
            if hidden > 0 {
                hidden -= 1;
            } else {
                line.push_str(cell.symbol());
                hidden = gitops_tui::domain::text::width(cell.symbol()).saturating_sub(1);
            }
        }
        writeln!(glyphs, "{}", line.trim_end()).unwrap();
        writeln!(styles, "{marks}").unwrap();
    }
    for (at, style) in legend.iter().enumerate() {
        writeln!(
            styles,
            "{} {:?} {:?} {:?}",
            char::from(b'a' + (at % 26) as u8),
            style.fg,
            style.bg,
            style.add_modifier
        )
        .unwrap();
    }
    format!("{glyphs}---\n{styles}")
}

#[test]
fn every_screen_at_three_sizes() {
    for (name, played) in [
        ("fleet", ""),
        ("app", "/checkout<enter><enter>"),
        ("diff", "/checkout<enter><enter>d"),
        ("unified", "/checkout<enter><enter>d|b"),
        ("fields", "/checkout<enter><enter>d||A"),
        ("drift", "2"),
        ("contexts", "5"),
        ("help", "?"),
        ("menu", "x"),
        ("palette", ":sy"),
    ] {
        for (width, height, depth) in [
            (80, 24, Depth::True),
            (120, 40, Depth::Sixteen),
            (200, 60, Depth::None),
        ] {
            let mut session = demo();
            session.update(Message::Resize { width, height });
            play(&mut session, played);
            let terminal = paint(&mut session, width, height, depth);
            insta::assert_snapshot!(format!("{name}-{width}x{height}"), planes(&terminal));
        }
    }
}

#[test]
fn never_writes_what_a_terminal_would_obey() {
    let strings: Vec<Value> =
        serde_json::from_str(include_str!("../../corpus/cases/T01/strings.json")).unwrap();
    for hostile in strings.iter().filter_map(|s| s["value"].as_str()) {
        let mut session = demo();
        let git = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hostile", "namespace": "shop"}, "data": {"key": "plain"}});
        let mut live = git.clone();
        live["data"]["key"] = json!(hostile);
        let answer = drifted(
            &session,
            "cart",
            git,
            live,
            vec![field(
                "data.key",
                Some(json!("plain")),
                Some(json!(hostile)),
                Verdict::Drift,
            )],
        );
        let effects = play(&mut session, "/cart<enter><f5>");
        let Some(Effect::Compare { ticket, .. }) = effects
            .into_iter()
            .rfind(|e| matches!(e, Effect::Compare { .. }))
        else {
            panic!("no comparison")
        };
        session.update(Message::Drift {
            ticket,
            result: Ok(Box::new(answer)),
        });
        for more in ["<enter>", "d", "|", "|", "i"] {
            play(&mut session, more);
            let terminal = paint(&mut session, 120, 40, Depth::True);
            let buffer = terminal.backend().buffer();
            let bad = |c: char| {
                c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            };
            assert!(
                buffer
                    .content
                    .iter()
                    .all(|cell| !cell.symbol().chars().any(bad)),
                "{hostile:?} after {more}"
            );
        }
        // a copy takes the true value
        play(&mut session, "<esc>");
        assert!(play(&mut session, "c").contains(&Effect::Copy(hostile.to_owned())));
    }
}

/// T08: one line of 900,000 characters is scrolled to its changed spot.
#[test]
fn brings_the_changed_spot_of_a_long_line_into_view() {
    let mut session = demo();
    let long: String = (0..100_000).fold("[".to_owned(), |mut s, i| {
        write!(s, "\"{i:06}\",").unwrap();
        s
    });
    let map = |text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"}, "data": {"json": text}});
    let live = long.replace("\"050000\"", "\"05000x\"");
    let answer = drifted(
        &session,
        "cart",
        map(&long),
        map(&live),
        vec![field(
            "data.json",
            Some(json!(long)),
            Some(json!(live)),
            Verdict::Drift,
        )],
    );
    let effects = play(&mut session, "/cart<enter><f5>");
    let Some(Effect::Compare { ticket, .. }) = effects
        .into_iter()
        .rfind(|e| matches!(e, Effect::Compare { .. }))
    else {
        panic!("no comparison")
    };
    session.update(Message::Drift {
        ticket,
        result: Ok(Box::new(answer)),
    });
    play(&mut session, "<enter>d");
    let shown = planes(&paint(&mut session, 120, 40, Depth::None));
    assert!(shown.contains("05000x"), "{shown}");
}

#[test]
fn an_older_answer_is_dropped() {
    let mut session = demo();
    let first = play(&mut session, "/cart<enter><f5>");
    let second = play(&mut session, "<f5>");
    let ticket = |effects: Vec<Effect>| {
        effects
            .into_iter()
            .find_map(|e| match e {
                Effect::Compare { ticket, .. } => Some(ticket),
                _ => None,
            })
            .unwrap()
    };
    let (old, new) = (ticket(first), ticket(second));
    let answer = |state| {
        Ok(Box::new(AppDrift {
            app: None,
            state,
            cause: None,
            objects: vec![],
            hidden: Hidden::default(),
            problems: vec![],
        }))
    };
    session.update(Message::Drift {
        ticket: new,
        result: answer(AppState::InSync),
    });
    session.update(Message::Drift {
        ticket: old,
        result: answer(AppState::Drifted),
    });
    let cart = session
        .fleet
        .iter()
        .find(|a| a.app.target.name == "cart")
        .unwrap();
    assert_eq!(cart.state, AppState::InSync);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn no_key_at_any_size_panics(width in 1_u16..200, height in 1_u16..60, typed in proptest::collection::vec(0_usize..60, 0..60)) {
        const PRESSES: &[&str] = &["enter", "esc", "tab", "backtab", "up", "down", "left", "right", "space", "ctrl-d", "ctrl-u", "backspace", "f5", "pageup", "pagedown", "home", "end"];
        const CHARS: &str = "jkgGdbyimxacuspPrR/?:|.+-nN{}A12345@!qvhlSDC";
        let mut session = demo();
        session.update(Message::Resize { width, height });
        for at in typed {
            let key: Key = match PRESSES.get(at) {
                Some(word) => word.parse().unwrap(),
                None => Key::plain(Press::Char(CHARS.chars().nth(at - PRESSES.len()).unwrap_or('j'))),
            };
            session.update(Message::Key(key));
        }
        paint(&mut session, width, height, Depth::True);
    }
}
