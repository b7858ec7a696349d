//! The demo as a person meets it: its first frame, the fleet listed, the fleet compared.

use std::error::Error;
use std::path::Path;

use futures::StreamExt as _;
use gitops_tui::domain::fault::Fault;
use gitops_tui::domain::fleet::{AppRef, Fleet};
use gitops_tui::domain::settings::Settings;
use gitops_tui::runtime::clock;
use gitops_tui::runtime::jobs::{Jobs, Options, Places};
use gitops_tui::session::{Message, Options as Start, Session};
use gitops_tui::ui::{self, Depth, Theme};
use gitops_tui::world::demo::Demo;
use gitops_tui::world::git::{Access, Timeouts};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tokio::runtime::{Builder, Runtime};

use crate::measure::{Report, check};

/// Comparisons at once, as the screens do it.
const AT_ONCE: usize = 4;

pub(crate) fn run(report: &mut Report) -> Result<(), Box<dyn Error>> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let theme = Theme::named("auto", Depth::True)?;
    report.time(
        "demo: repository written, story told",
        11,
        || Ok(()),
        |()| Ok(runtime.block_on(async { Demo::start(clock::now()) })?),
    )?;
    report.time(
        "demo: the same, session made, first frame at 120x40",
        11,
        || Ok(()),
        |()| {
            let jobs = runtime.block_on(async { jobs() })?;
            let mut session = Session::new(jobs.empty_fleet(), start());
            session.update(Message::Resize {
                width: 120,
                height: 40,
            });
            let mut terminal = Terminal::new(TestBackend::new(120, 40))?;
            terminal.draw(|frame| ui::draw(&session, frame, &theme))?;
            Ok((jobs, terminal))
        },
    )?;
    report.time(
        "demo: every context listed or given up",
        11,
        || Ok(runtime.block_on(async { jobs() })?),
        |jobs| Ok(runtime.block_on(jobs.gather())),
    )?;
    report.time(
        "demo: fleet rendered and compared, mirror still to be fetched",
        11,
        || gathered(&runtime),
        |(jobs, apps)| runtime.block_on(sweep(jobs, apps)),
    )?;
    let known = gathered(&runtime)?;
    runtime.block_on(sweep(&known.0, &known.1))?;
    report.time(
        "demo: fleet rendered and compared again",
        21,
        || Ok(()),
        |()| runtime.block_on(sweep(&known.0, &known.1)),
    )
}

fn start() -> Start {
    Start {
        now: clock::now(),
        ..Start::default()
    }
}

/// Starts the demo as the program does; must be called inside the runtime.
fn jobs() -> Result<Jobs, Fault> {
    let demo = Demo::start(clock::now())?;
    let folder = demo.repository().parent().unwrap_or(Path::new("."));
    let options = Options {
        mirrors: folder.join("mirrors"),
        actor: "oncall".to_owned(),
        ..Options::default()
    };
    let environment: Vec<(String, String)> = std::env::vars().collect();
    let variables = environment
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    Ok(Jobs::new(
        Places::demo(demo),
        Settings::default(),
        options,
        Access::new(variables, Timeouts::default()),
    ))
}

/// A listed demo, and those of its apps that can be compared.
fn gathered(runtime: &Runtime) -> Result<(Jobs, Vec<AppRef>), Box<dyn Error>> {
    let jobs = runtime.block_on(async { jobs() })?;
    let fleet: Fleet = runtime.block_on(jobs.gather());
    let apps: Vec<AppRef> = fleet
        .iter()
        .filter(|app| app.later.is_none())
        .map(|app| app.app.clone())
        .collect();
    check(apps.len() >= 10, format!("only {} apps", apps.len()))?;
    Ok((jobs, apps))
}

async fn sweep(jobs: &Jobs, apps: &[AppRef]) -> Result<usize, Box<dyn Error>> {
    let compared: Vec<_> = futures::stream::iter(apps)
        .map(|app| jobs.compare(app))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let mut objects = 0;
    for one in compared {
        objects += one?.drift.objects.len();
    }
    check(objects > apps.len(), format!("only {objects} objects"))?;
    Ok(objects)
}
