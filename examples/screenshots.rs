//! Draws the pictures of the README: the real screens over the demo, through the jobs and the painter that ship.
//!
//! `cargo run --example screenshots -- [FOLDER]` writes `fleet.svg`, `app.svg`, `diff.svg` and `accept.svg` (into `assets`
//! by default). The demo is told a fixed time, and what differs from run to run (the temporary folder's name, the date in
//! the branch's) is written over, so that an unchanged program gives unchanged files.

#![expect(
    clippy::disallowed_methods,
    reason = "a tool for developers, which writes pictures"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gitops_tui::domain::fault::{Fault, FaultKind};
use gitops_tui::domain::settings::{Settings, Variables};
use gitops_tui::domain::text::width;
use gitops_tui::runtime::jobs::{Jobs, Options as JobOptions, Places};
use gitops_tui::runtime::perform::Performer;
use gitops_tui::session::key::keys;
use gitops_tui::session::sheet::Sheet;
use gitops_tui::session::{Effect, Message, Options, Session};
use gitops_tui::ui::{self, Depth, Theme};
use gitops_tui::world::demo::Demo;
use gitops_tui::world::git::{Access, Timeouts};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use tokio::sync::mpsc::{self, UnboundedReceiver};

const COLUMNS: u16 = 120;
const ROWS: u16 = 34;
/// The time that the demo is told: 03:04 on a night in December.
const NOW: &str = "2026-12-01T03:04:00Z";
/// How long one step may take before the pictures are given up.
const PATIENCE: Duration = Duration::from_mins(3);

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let folder = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "assets".to_owned());
    let folder = PathBuf::from(folder);
    let mut stage = Stage::open()?;
    stage
        .until(|s| s.compared.len() >= 13 && !shown(s, "unreachable").is_empty())
        .await?;
    stage
        .until(|s| s.running.is_empty() && s.waiting().is_none())
        .await?;
    stage.save(&folder, "fleet")?;
    stage.play("/checkout<enter><enter>")?;
    stage.until(|s| !shown(s, "kubectl-set").is_empty()).await?;
    stage.save(&folder, "app")?;
    stage.play("d<space>k")?;
    stage.until(|s| !shown(s, "1 marked").is_empty()).await?;
    stage.save(&folder, "diff")?;
    stage.play("a")?;
    stage
        .until(|s| matches!(s.sheets.last(), Some(Sheet::Accept(_))))
        .await?;
    stage.save(&folder, "accept")
}

/// Returns the line of the drawn session that holds `text`; empty where none does.
fn shown(session: &Session, text: &str) -> String {
    let Ok(buffer) = frame(session) else {
        return String::new();
    };
    lines(&buffer)
        .into_iter()
        .find(|line| line.contains(text))
        .unwrap_or_default()
}

fn wrong(sentence: &str, cause: impl std::fmt::Display) -> Fault {
    Fault::new(FaultKind::Internal, sentence).because(cause)
}

/// The program without a terminal.
struct Stage {
    session: Session,
    performer: Performer,
    inbox: UnboundedReceiver<Message>,
}

impl Stage {
    fn open() -> Result<Self, Fault> {
        let now = NOW
            .parse()
            .map_err(|e| wrong("the fixed time is no time", e))?;
        let demo = Demo::start(now)?;
        let mirrors = demo
            .repository()
            .parent()
            .unwrap_or(Path::new("."))
            .join("mirrors");
        let options = JobOptions {
            mirrors,
            actor: "oncall".to_owned(),
            identity: Some(("Demo On-Call".to_owned(), "oncall@acme.example".to_owned())),
            ..JobOptions::default()
        };
        let access = Access::new(Variables::default(), Timeouts::default());
        let jobs = Jobs::new(Places::demo(demo), Settings::default(), options, access);
        let (sender, inbox) = mpsc::unbounded_channel();
        let options = Options {
            now,
            ..Options::default()
        };
        let mut session = Session::new(jobs.empty_fleet(), options);
        let mut performer = Performer::new(jobs, sender);
        performer.watch();
        for effect in session.update(Message::Resize {
            width: COLUMNS,
            height: ROWS,
        }) {
            performer.perform(effect);
        }
        Ok(Self {
            session,
            performer,
            inbox,
        })
    }

    fn update(&mut self, message: Message) {
        for effect in self.session.update(message) {
            // The clock stands, so nothing is asked for twice; what concerns a terminal has none here.
            if effect != Effect::Quit {
                self.performer.perform(effect);
            }
        }
    }

    fn play(&mut self, text: &str) -> Result<(), Fault> {
        for key in keys(text).map_err(|e| wrong("these are no keys", e))? {
            self.update(Message::Key(key));
        }
        Ok(())
    }

    /// Takes what comes until `met` holds and nothing more comes.
    async fn until(&mut self, met: impl Fn(&Session) -> bool) -> Result<(), Fault> {
        let all = async {
            loop {
                let pause = if met(&self.session) {
                    Duration::from_secs(2)
                } else {
                    PATIENCE
                };
                match tokio::time::timeout(pause, self.inbox.recv()).await {
                    Ok(Some(message)) => self.update(message),
                    Ok(None) | Err(_) => return met(&self.session),
                }
            }
        };
        match tokio::time::timeout(PATIENCE, all).await {
            Ok(true) => Ok(()),
            _ => Err(wrong(
                "the demo did not come to rest",
                lines(&frame(&self.session)?).join("\n"),
            )),
        }
    }

    fn save(&mut self, folder: &Path, name: &str) -> Result<(), Fault> {
        if let Some(Sheet::Accept(review)) = self.session.sheets.last_mut() {
            // The date in the branch's name and the hash in the mirror's are of this run.
            "drift/prod-eu/checkout/2026-12-01-1".clone_into(&mut review.proposal.branch);
            "/tmp/gitops-tui-demo-fleet1/mirrors/fleet-c71a9ff3ac2e.git"
                .clone_into(&mut review.proposal.repository);
        }
        let file = folder.join(format!("{name}.svg"));
        std::fs::write(&file, svg(&frame(&self.session)?)).map_err(|e| {
            wrong("a picture could not be written", e).about(file.display().to_string())
        })
    }
}

/// Draws the session.
fn frame(session: &Session) -> Result<Buffer, Fault> {
    let theme = Theme::named("dark", Depth::True)?;
    let Ok(mut terminal) = Terminal::new(TestBackend::new(COLUMNS, ROWS));
    let Ok(_) = terminal.draw(|frame| ui::draw(session, frame, &theme));
    let mut buffer = terminal.backend().buffer().clone();
    name_folder(&mut buffer);
    Ok(buffer)
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let rows = buffer.content.chunks(usize::from(COLUMNS));
    rows.map(|row| row.iter().map(Cell::symbol).collect())
        .collect()
}

/// Writes over the random end of the temporary folder's name.
fn name_folder(buffer: &mut Buffer) {
    let before: Vec<&str> = "gitops-tui-demo-"
        .split("")
        .filter(|c| !c.is_empty())
        .collect();
    for row in buffer.content.chunks_mut(usize::from(COLUMNS)) {
        for at in 0..row.len().saturating_sub(before.len()) {
            let here = row[at..].iter().take(before.len()).map(Cell::symbol);
            if !here.eq(before.iter().copied()) {
                continue;
            }
            for (cell, with) in row[at + before.len()..]
                .iter_mut()
                .zip("fleet1".split("").skip(1))
            {
                let random = cell.symbol().chars().all(|c| c.is_ascii_alphanumeric());
                if !random || with.is_empty() {
                    break;
                }
                cell.set_symbol(with);
            }
        }
    }
}

const WIDE: f64 = 8.4;
const HIGH: f64 = 18.0;
const EDGE: f64 = 12.0;
const PAPER: &str = "#16161e";
const INK: &str = "#c0c6d8";

/// Writes the buffer as a picture: rectangles where the ground is coloured, text with a place for each word.
fn svg(buffer: &Buffer) -> String {
    let (w, h) = (
        f64::from(COLUMNS) * WIDE + 2.0 * EDGE,
        f64::from(ROWS) * HIGH + 2.0 * EDGE,
    );
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w:.0}\" height=\"{h:.0}\" viewBox=\"0 0 {w:.0} {h:.0}\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{PAPER}\"/>\n"
    );
    for (row, cells) in buffer.content.chunks(usize::from(COLUMNS)).enumerate() {
        let top = EDGE + row as f64 * HIGH;
        let mut at = 0;
        while at < cells.len() {
            let run = run(&cells[at..]);
            ground(&mut out, &cells[at], at, run, top);
            text(&mut out, &cells[at..at + run], at, top);
            at += run;
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Returns how many cells from the first on look the same.
fn run(cells: &[Cell]) -> usize {
    let look = |cell: &Cell| (cell.fg, cell.bg, cell.modifier);
    cells
        .iter()
        .take_while(|c| look(c) == look(&cells[0]))
        .count()
}

/// Returns the colours of ink and ground; reversed cells swap them.
fn colours(cell: &Cell) -> (String, String) {
    let (ink, paper) = (colour(cell.fg, INK), colour(cell.bg, PAPER));
    if cell.modifier.contains(Modifier::REVERSED) {
        (paper, ink)
    } else {
        (ink, paper)
    }
}

fn colour(colour: Color, none: &str) -> String {
    match colour {
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        // The picture is drawn with 24 bits: nothing else comes but "the terminal's own".
        _ => none.to_owned(),
    }
}

fn ground(out: &mut String, cell: &Cell, at: usize, run: usize, top: f64) {
    let (_, paper) = colours(cell);
    if paper != PAPER {
        let (x, wide) = (EDGE + at as f64 * WIDE, run as f64 * WIDE);
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{top:.0}\" width=\"{wide:.1}\" height=\"{HIGH:.0}\" fill=\"{paper}\"/>"
        );
    }
}

/// Writes cells of one look: each word at the place of its first cell and as wide as its cells, so that it stands where
/// the terminal would show it whatever font draws it.
fn text(out: &mut String, cells: &[Cell], at: usize, top: f64) {
    let mut letters = String::new();
    let mut offset = 0;
    while offset < cells.len() {
        let first = offset;
        let mut word = String::new();
        while let Some(symbol) = cells
            .get(offset)
            .map(Cell::symbol)
            .filter(|s| !s.trim().is_empty())
        {
            word.push_str(symbol);
            // A wide character owns the cell after it.
            offset += width(symbol).max(1);
        }
        if word.is_empty() {
            offset += 1;
            continue;
        }
        let word = word
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        let (x, wide) = (
            EDGE + (at + first) as f64 * WIDE,
            (offset - first) as f64 * WIDE,
        );
        let _ = write!(
            letters,
            "<tspan x=\"{x:.1}\" textLength=\"{wide:.1}\" lengthAdjust=\"spacingAndGlyphs\">{word}</tspan>"
        );
    }
    if letters.is_empty() {
        return;
    }
    let (ink, _) = colours(&cells[0]);
    let has = |modifier| cells[0].modifier.contains(modifier);
    let mut look = String::new();
    for (modifier, words) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
        (Modifier::DIM, " opacity=\"0.7\""),
    ] {
        if has(modifier) {
            look.push_str(words);
        }
    }
    let y = top + 13.5;
    let _ = writeln!(
        out,
        "<text y=\"{y:.1}\" fill=\"{ink}\"{look}>{letters}</text>"
    );
}
