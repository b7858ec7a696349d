//! A large fleet on a large terminal: 5,000 apps in ten contexts, 200 columns and 60 rows.

use std::error::Error;
use std::sync::Arc;

use gitops_tui::domain::drift::{AppDrift, Hidden};
use gitops_tui::domain::fleet::{App, AppKind, AppState, Change, ContextState, Fleet, Settings};
use gitops_tui::session::key::keys;
use gitops_tui::session::{Effect, Message, Options, Session};
use gitops_tui::ui::{Depth, Theme, draw};
use jiff::Timestamp;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

use crate::measure::{Report, check};

const CONTEXTS: usize = 10;
const APPS: usize = 500;

pub(crate) fn run(report: &mut Report) -> Result<(), Box<dyn Error>> {
    let theme = Theme::named("auto", Depth::True)?;
    let now: Timestamp = "2026-12-01T03:00:00Z".parse()?;
    let objects: Vec<Value> = (0..APPS).map(kustomization).collect();
    report.time(
        "screen: 5,000 apps read and listed",
        11,
        || Ok(()),
        |()| listed(&objects, now),
    )?;
    let (session, asked) = listed(&objects, now)?;
    let mut screen = Shown::of(session, &theme)?;
    let mut answers = asked.into_iter().filter_map(answer);
    report.time(
        "screen: one comparison's answer among 5,000 apps",
        101,
        || Ok(answers.next()),
        |message| {
            let message = message.take().ok_or("no comparison was asked for")?;
            screen.session.update(message);
            Ok(())
        },
    )?;
    report.time(
        "screen: a frame over 5,000 apps at 200x60, nothing kept",
        101,
        || Ok(Terminal::new(TestBackend::new(200, 60))?),
        |terminal| {
            terminal.draw(|frame| draw(&screen.session, frame, &theme))?;
            Ok(())
        },
    )?;
    report.time(
        "screen: the key j and its frame",
        101,
        || Ok(()),
        |()| screen.play("j"),
    )?;
    report.time(
        "screen: the key G or gg and its frame",
        101,
        {
            let mut down = false;
            move || {
                down = !down;
                Ok(if down { "G" } else { "gg" })
            }
        },
        |key| screen.play(key),
    )?;
    report.time(
        "screen: a letter of the filter and its frame",
        31,
        || Ok(()),
        {
            let mut letters = "/app-0042<esc>".chars().cycle();
            move |()| {
                let mut key = String::from(letters.next().unwrap_or('/'));
                if key == "<" {
                    key.extend(letters.by_ref().take(4));
                }
                screen.play(&key)
            }
        },
    )?;
    let (session, _) = listed(&objects, now)?;
    let mut screen = Shown::of(session, &theme)?;
    let context: Arc<str> = "prod-0".into();
    let mut turn = 0;
    report.time(
        "screen: one app changed by its watch, and the frame",
        101,
        || {
            turn += 1;
            let mut object = kustomization(turn % APPS);
            object["metadata"]["resourceVersion"] = json!((1000 + turn).to_string());
            object["spec"]["suspend"] = json!(turn % 2 == 0);
            let app = App::read(
                &context,
                AppKind::Kustomization,
                &object,
                now,
                &Settings::default(),
            );
            Ok(app.map(|app| Message::Fleet(vec![Change::Upsert(Box::new(app))])))
        },
        |message| {
            let message = message.take().ok_or("the object is no app")?;
            screen.session.update(message);
            screen.frame()
        },
    )?;
    report.time(
        "screen: the clock's second, and the frame",
        101,
        || Ok(()),
        {
            let mut second = now.as_second();
            move |()| {
                second += 1;
                let now = Timestamp::from_second(second)?;
                screen.session.update(Message::Tick(now));
                screen.frame()
            }
        },
    )
}

/// A session with its terminal.
struct Shown<'a> {
    session: Session,
    terminal: Terminal<TestBackend>,
    theme: &'a Theme,
}

impl<'a> Shown<'a> {
    fn of(session: Session, theme: &'a Theme) -> Result<Self, Box<dyn Error>> {
        let mut shown = Self {
            session,
            terminal: Terminal::new(TestBackend::new(200, 60))?,
            theme,
        };
        shown.frame()?;
        Ok(shown)
    }

    fn frame(&mut self) -> Result<(), Box<dyn Error>> {
        let (session, theme) = (&self.session, self.theme);
        self.terminal.draw(|frame| draw(session, frame, theme))?;
        Ok(())
    }

    fn play(&mut self, text: &str) -> Result<(), Box<dyn Error>> {
        for key in keys(text)? {
            self.session.update(Message::Key(key));
        }
        self.frame()
    }
}

/// A session over 5,000 apps, and the comparisons that it asks for.
fn listed(objects: &[Value], now: Timestamp) -> Result<(Session, Vec<Effect>), Box<dyn Error>> {
    let contexts: Vec<Arc<str>> = (0..CONTEXTS).map(|i| format!("prod-{i}").into()).collect();
    let fleet = Fleet::new(Settings::default(), contexts.clone());
    let mut session = Session::new(
        fleet,
        Options {
            now,
            ..Options::default()
        },
    );
    session.update(Message::Resize {
        width: 200,
        height: 60,
    });
    let mut asked = vec![];
    for context in contexts {
        let apps = objects
            .iter()
            .filter_map(|object| {
                App::read(
                    &context,
                    AppKind::Kustomization,
                    object,
                    now,
                    &Settings::default(),
                )
            })
            .collect();
        asked.extend(session.update(Message::Fleet(vec![
            Change::Context {
                context: Arc::clone(&context),
                state: ContextState::Ready,
                fault: None,
            },
            Change::Reset {
                context,
                kind: AppKind::Kustomization,
                namespace: None,
                apps,
            },
        ])));
    }
    let count = session.fleet.len();
    check(count == CONTEXTS * APPS, format!("{count} apps"))?;
    Ok((session, asked))
}

/// Answers a comparison: nothing differs.
fn answer(effect: Effect) -> Option<Message> {
    let Effect::Compare { ticket, app, .. } = effect else {
        return None;
    };
    let drift = AppDrift {
        app: Some(app),
        state: AppState::InSync,
        cause: None,
        objects: vec![],
        hidden: Hidden::default(),
        problems: vec![],
    };
    Some(Message::Drift {
        ticket,
        result: Ok(Box::new(drift)),
    })
}

/// One in ten fails, one in ten is held.
fn kustomization(number: usize) -> Value {
    let name = format!("app-{number:04}");
    let entries: Vec<Value> = ["apps_Deployment", "_Service", "_ConfigMap"]
        .iter()
        .map(|kind| json!({"id": format!("team-{}_{name}_{kind}", number % 40), "v": "v1"}))
        .collect();
    let (ready, reason, message) = if number % 10 == 3 {
        (
            "False",
            "BuildFailed",
            "kustomize build failed: no such file",
        )
    } else {
        ("True", "ReconciliationSucceeded", "Applied revision")
    };
    let revision = "main@sha1:45691eba687d2430ce14000b902016de2d2ce9a4";
    json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": name, "namespace": format!("team-{}", number % 40), "generation": 1,
            "resourceVersion": "7", "creationTimestamp": "2026-11-01T00:00:00Z"},
        "spec": {"interval": "10m", "path": format!("./apps/{name}"), "prune": true, "suspend": number % 10 == 7,
            "sourceRef": {"kind": "GitRepository", "name": "fleet", "namespace": "flux-system"}},
        "status": {"observedGeneration": 1, "lastAppliedRevision": revision, "lastAttemptedRevision": revision,
            "inventory": {"entries": entries},
            "conditions": [{"type": "Ready", "status": ready, "reason": reason, "message": message,
                "lastTransitionTime": "2026-12-01T02:00:00Z", "observedGeneration": 1}]}
    })
}
