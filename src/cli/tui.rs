//! The screens: without a command, and as `demo`.

use std::path::Path;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::args::Global;
use super::env::Env;
use super::exit::Exit;
use super::{setup, words};
use crate::domain::fault::{Fault, FaultKind};
use crate::runtime::jobs::Jobs;
use crate::runtime::perform::Performer;
use crate::runtime::{clock, screen};
use crate::session::keymap::Keymap;
use crate::session::{Effect, Message, Options, Session, Tone};
use crate::ui::{self, Depth, Theme};
use crate::world::disk::{Folders, read_input, start_log};
use crate::world::term::{self, Guard};

/// Opens the screens.
pub(super) async fn run(global: &Global, env: &Env) -> Result<Exit, Fault> {
    let depth = Depth::of(env.get("TERM"), env.get("COLORTERM"), env.get("NO_COLOR"))?;
    let (settings, folders) = setup::settings(global, env)?;
    let theme = Theme::named(&settings.theme, depth)?;
    let keymap = keymap(&settings.keymap, folders.as_ref());
    let jobs = setup::jobs_with(global, env, settings.clone(), folders.clone())?;
    if let Some(folders) = folders.filter(|_| !global.demo) {
        // Without a log the screens still run; the reason is worth a word before they open.
        if let Err(fault) = start_log(&folders.state, env.get("GITOPS_TUI_LOG")) {
            words::problem(&fault);
        }
    }
    let options = Options {
        guard: settings.guard.clone(),
        read_only: jobs.is_read_only(),
        keymap,
        now: clock::now(),
        ..Options::default()
    };
    let session = Session::new(jobs.empty_fleet(), options);
    term::install_panic_hook()?;
    open(jobs, session, &theme, env).await?;
    Ok(Exit::Clean)
}

/// Reads the user's keys: the file that the configuration names, else `keymap.yaml` beside it where there is one.
fn keymap(named: &str, folders: Option<&Folders>) -> Keymap {
    let file = if named.is_empty() {
        folders
            .map(|folders| folders.config.join("keymap.yaml"))
            .filter(|file| file.exists())
    } else {
        Some(Path::new(named).to_owned())
    };
    let Some(file) = file else {
        return Keymap::default();
    };
    let name = file.display().to_string();
    match read_input(&name) {
        Ok(bytes) => {
            let (keymap, faults) = Keymap::load(&name, &String::from_utf8_lossy(&bytes));
            for fault in &faults {
                words::problem(fault);
            }
            keymap
        }
        Err(fault) => {
            words::problem(&fault);
            Keymap::default()
        }
    }
}

async fn open(jobs: Jobs, mut session: Session, theme: &Theme, env: &Env) -> Result<(), Fault> {
    let (sender, mut inbox) = mpsc::unbounded_channel();
    for problem in jobs.kubeconfig_problems() {
        drop(sender.send(Message::Notice {
            tone: Tone::Bad,
            text: problem.to_string(),
        }));
    }
    stop_on_signals(&sender)?;
    let mut guard = Guard::enter()?;
    let size = guard.terminal.size().map_err(|error| {
        Fault::new(
            FaultKind::Internal,
            "the terminal does not say how large it is",
        )
        .because(error)
    })?;
    drop(sender.send(Message::Resize {
        width: size.width,
        height: size.height,
    }));
    let mut performer = Performer::new(jobs, sender.clone());
    performer.watch();
    let pager = env.get("PAGER").unwrap_or("less").to_owned();
    let events = term::events();
    let ended = screen::run(
        &mut session,
        &mut guard,
        events,
        &mut inbox,
        |session, frame| ui::draw(session, frame, theme),
        |effect, guard| match effect {
            Effect::Copy(text) => {
                tell(&sender, term::copy(&text));
                Ok(())
            }
            Effect::Page(text) => {
                let result = guard.without(|| term::page(&pager, &text))?;
                tell(&sender, result);
                Ok(())
            }
            Effect::Suspend => {
                let result = guard.without(term::stop_as_ctrl_z)?;
                tell(&sender, result);
                Ok(())
            }
            Effect::Redraw => guard.redraw(),
            other => {
                performer.perform(other);
                Ok(())
            }
        },
    )
    .await;
    drop(guard);
    ended
}

/// Tells of what failed beside the session.
fn tell(sender: &mpsc::UnboundedSender<Message>, result: Result<(), Fault>) {
    if let Err(fault) = result {
        drop(sender.send(Message::Notice {
            tone: Tone::Bad,
            text: fault.to_string(),
        }));
    }
}

/// Ends the session when the system asks for it, so that the terminal is given back.
fn stop_on_signals(sender: &mpsc::UnboundedSender<Message>) -> Result<(), Fault> {
    for kind in [SignalKind::terminate(), SignalKind::hangup()] {
        let mut signals = signal(kind).map_err(|error| {
            Fault::new(FaultKind::Internal, "signals could not be listened to").because(error)
        })?;
        let sender = sender.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                drop(sender.send(Message::Stop));
            }
        });
    }
    Ok(())
}
