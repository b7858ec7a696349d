//! Keys while a sheet is open: dialogs, prompts, the palette.

use super::Session;
use super::action::{Action, TABLE};
use super::key::{Key, Press};
use super::message::Tone;
use super::sheet::{Button, Confirm, Palette, Prompt, Purpose, Review, Scroll, Sheet};

/// What becomes of the sheet after a key.
enum After {
    Keep(Sheet),
    Close,
}

impl Session {
    /// Gives a key to the sheet on top.
    pub(super) fn sheet_key(&mut self, key: Key) {
        let Some(sheet) = self.sheets.pop() else {
            return;
        };
        let depth = self.sheets.len();
        let after = match sheet {
            Sheet::Confirm(confirm) => self.confirm_key(confirm, key),
            Sheet::Accept(review) => self.review_key(review, key),
            Sheet::Prompt(prompt) => self.prompt_key(prompt, key),
            Sheet::Palette(palette) => self.palette_key(palette, key, true),
            Sheet::Menu(palette) => self.palette_key(palette, key, false),
            Sheet::Help(scroll) => scroll_key(scroll, key, self.page())
                .map_or(After::Close, |s| After::Keep(Sheet::Help(s))),
            Sheet::Text(scroll) => scroll_key(scroll, key, self.page())
                .map_or(After::Close, |s| After::Keep(Sheet::Text(s))),
            Sheet::Quit => {
                if key.press == Press::Enter || matches!(key.typed(), Some('y' | 'q')) {
                    self.effects.push(super::Effect::Quit);
                }
                After::Close
            }
        };
        if let After::Keep(sheet) = after {
            // what the key opened lies over this one
            self.sheets.insert(depth.min(self.sheets.len()), sheet);
        }
    }

    fn page(&self) -> usize {
        usize::from(self.size.1).saturating_sub(6).max(1)
    }

    /// Takes pasted text where something is typed.
    pub(super) fn paste(&mut self, text: &str) {
        let line: String = text.chars().filter(|c| !c.is_control()).collect();
        match self.sheets.last_mut() {
            Some(Sheet::Prompt(prompt)) => {
                prompt.text.push_str(&line);
                if prompt.purpose == Purpose::Filter {
                    let text = prompt.text.clone();
                    self.try_filter(&text);
                }
            }
            Some(Sheet::Confirm(confirm)) if confirm.guard.is_some() => {
                confirm.typed.push_str(&line);
            }
            Some(Sheet::Palette(_)) => {
                if let Some(Sheet::Palette(mut palette)) = self.sheets.pop() {
                    palette.text.push_str(&line);
                    self.fill_palette(&mut palette);
                    self.sheets.push(Sheet::Palette(palette));
                }
            }
            _ => {}
        }
    }

    fn confirm_key(&mut self, mut confirm: Confirm, key: Key) -> After {
        match key.press {
            Press::Esc => return After::Close,
            Press::Tab | Press::BackTab | Press::Left | Press::Right => confirm.act = !confirm.act,
            Press::Up => confirm.scroll = confirm.scroll.saturating_sub(1),
            Press::Down => confirm.scroll += 1,
            Press::Backspace => {
                confirm.typed.pop();
            }
            Press::Enter if !confirm.act => return After::Close,
            Press::Enter if !confirm.allowed() => {
                self.tell(Tone::Bad, "type the context's name first");
            }
            Press::Enter => {
                self.confirm(confirm);
                return After::Close;
            }
            _ => match key.typed() {
                Some(c) if confirm.guard.is_some() => {
                    confirm.typed.push(c);
                    // once the name stands there, Enter acts, unless the plan destroys something
                    if confirm.allowed() && !confirm.plans.iter().any(|p| p.destructive) {
                        confirm.act = true;
                    }
                }
                Some('j') => confirm.scroll += 1,
                Some('k') => confirm.scroll = confirm.scroll.saturating_sub(1),
                Some('q') => return After::Close,
                _ => {}
            },
        }
        After::Keep(Sheet::Confirm(confirm))
    }

    fn review_key(&mut self, mut review: Review, key: Key) -> After {
        let order = [Button::Cancel, Button::Commit, Button::Push];
        let step = |button: Button, by: usize| {
            let at = order.iter().position(|b| *b == button).unwrap_or(0);
            order[(at + by) % order.len()]
        };
        match (key.press, key.typed()) {
            (Press::Esc, _) | (_, Some('q')) => {
                if review.running.is_some() {
                    self.tell(
                        Tone::Plain,
                        "the commit goes on; its end is told here and in the journal",
                    );
                }
                return After::Close;
            }
            (Press::Tab | Press::Right, _) => review.button = step(review.button, 1),
            (Press::BackTab | Press::Left, _) => review.button = step(review.button, 2),
            (Press::Up, _) | (_, Some('k')) => review.scroll = review.scroll.saturating_sub(1),
            (Press::Down, _) | (_, Some('j')) => review.scroll += 1,
            (Press::PageDown, _) | (_, Some(' ')) => review.scroll += self.page() / 2,
            (Press::PageUp, _) => review.scroll = review.scroll.saturating_sub(self.page() / 2),
            (_, Some('b')) => {
                let text = review.proposal.branch.clone();
                self.sheets.push(Sheet::Prompt(Prompt {
                    purpose: Purpose::Branch,
                    before: text.clone(),
                    text,
                    wrong: None,
                }));
            }
            (Press::Enter, _) if review.button == Button::Cancel => return After::Close,
            (Press::Enter, _) if review.running.is_some() => {}
            (Press::Enter, _) => match review.why_not() {
                Some(why) => self.tell(Tone::Bad, why),
                None => self.commit(&mut review),
            },
            _ => {}
        }
        After::Keep(Sheet::Accept(review))
    }

    fn prompt_key(&mut self, mut prompt: Prompt, key: Key) -> After {
        match (key.press, key.ctrl) {
            (Press::Esc, _) => {
                if prompt.purpose == Purpose::Filter {
                    self.set_filter(&prompt.before);
                }
                return After::Close;
            }
            (Press::Enter, _) => return self.prompt_enter(prompt),
            (Press::Backspace, _) => {
                prompt.text.pop();
            }
            (Press::Char('u'), true) => prompt.text.clear(),
            _ => match key.typed() {
                Some(c) => prompt.text.push(c),
                None => return After::Keep(Sheet::Prompt(prompt)),
            },
        }
        prompt.wrong = None;
        if prompt.purpose == Purpose::Filter {
            prompt.wrong = self.try_filter(&prompt.text);
        }
        After::Keep(Sheet::Prompt(prompt))
    }

    /// Filters while typing; a word that is not whole yet changes nothing.
    fn try_filter(&mut self, text: &str) -> Option<String> {
        self.set_filter(text)
    }

    fn prompt_enter(&mut self, mut prompt: Prompt) -> After {
        match &prompt.purpose {
            Purpose::Filter => {
                if let Some(wrong) = self.set_filter(&prompt.text) {
                    prompt.wrong = Some(wrong);
                    return After::Keep(Sheet::Prompt(prompt));
                }
            }
            Purpose::Search => self.search(&prompt.text),
            Purpose::HoldReason(apps) => self.hold(&apps.clone(), &prompt.text),
            Purpose::Branch => {
                let name = prompt.text.trim();
                if name.is_empty() || name.contains(char::is_whitespace) || name.contains("..") {
                    prompt.wrong = Some("a branch's name has no spaces and no `..`".to_owned());
                    return After::Keep(Sheet::Prompt(prompt));
                }
                if let Some(Sheet::Accept(review)) = self.sheets.last_mut() {
                    name.clone_into(&mut review.proposal.branch);
                }
            }
        }
        After::Close
    }

    fn palette_key(&mut self, mut palette: Palette, key: Key, typing: bool) -> After {
        let keep = |palette| {
            After::Keep(if typing {
                Sheet::Palette(palette)
            } else {
                Sheet::Menu(palette)
            })
        };
        let last = palette.items.len().saturating_sub(1);
        match key.press {
            Press::Esc => return After::Close,
            Press::Up | Press::BackTab => palette.at = palette.at.saturating_sub(1),
            Press::Down | Press::Tab => palette.at = (palette.at + 1).min(last),
            Press::Backspace if typing => {
                if palette.text.pop().is_none() {
                    return After::Close;
                }
                self.fill_palette(&mut palette);
            }
            Press::Enter => {
                let Some((action, _)) = palette.items.get(palette.at).cloned() else {
                    if palette.text.trim() == "q" {
                        self.effects.push(super::Effect::Quit);
                        return After::Close;
                    }
                    return keep(palette);
                };
                self.act(action);
                return After::Close;
            }
            _ => match key.typed() {
                Some(c) if typing => {
                    palette.text.push(c);
                    self.fill_palette(&mut palette);
                }
                Some('q') => return After::Close,
                Some('j') => palette.at = (palette.at + 1).min(last),
                Some('k') => palette.at = palette.at.saturating_sub(1),
                // in the menu an action's own key does it
                Some(_) => {
                    if let Some(action) = self.options.keymap.action(key, self.screen().on()) {
                        self.act(action);
                        return After::Close;
                    }
                }
                None => {}
            },
        }
        keep(palette)
    }

    /// Lists the actions whose name or words hold what was typed, the best first.
    pub(super) fn fill_palette(&self, palette: &mut Palette) {
        let typed = palette.text.trim().to_lowercase();
        let mut found: Vec<(usize, Action)> = TABLE
            .iter()
            .filter_map(|entry| {
                let score = if entry.name == typed || (typed == "q" && entry.action == Action::Quit)
                {
                    0
                } else if entry.name.starts_with(&typed) {
                    1
                } else if entry.name.contains(&typed) {
                    2
                } else if entry.words.to_lowercase().contains(&typed) {
                    3
                } else if in_order(&typed, entry.name) {
                    4
                } else {
                    return None;
                };
                Some((score, entry.action))
            })
            .collect();
        found.sort_by_key(|(score, _)| *score);
        let here = |action: &Action| self.why_not(*action);
        palette.items = found
            .into_iter()
            .map(|(_, action)| (action, here(&action)))
            .collect();
        // what applies here comes first among equals of an empty search
        if typed.is_empty() {
            palette.items.sort_by_key(|(_, why)| why.is_some());
        }
        palette.at = 0;
    }

    /// Writes the help: every action with its keys, what applies here first.
    pub(super) fn help(&self) -> Scroll {
        let on = self.screen().on();
        let mut lines = vec![];
        let mut section = |title: &str, here: bool| {
            lines.push(title.to_owned());
            for entry in TABLE.iter().filter(|e| e.on.meets(on) == here) {
                let keys = self.options.keymap.words(entry.action);
                let risk = match entry.risk.word() {
                    "" => String::new(),
                    word => format!(" ({word})"),
                };
                lines.push(format!(
                    "  {keys:<16} {:<16} {}{risk}",
                    entry.name, entry.words
                ));
            }
            lines.push(String::new());
        };
        section(&format!("On this screen ({})", self.screen().name()), true);
        section("Elsewhere", false);
        lines.extend(
            [
                "Filter of the fleet",
                "  words look into names and sources; ! turns a word around",
                "  ctx:prod*  ns:shop  kind:hr  state:drifted  drift:>0  by:kubectl*  age:<2h  label:team=a",
                "",
                "States",
            ]
            .map(str::to_owned),
        );
        for state in crate::domain::fleet::AppState::ALL {
            lines.push(format!("  {} {}", state.sign(), state.word()));
        }
        Scroll {
            title: "help".to_owned(),
            lines,
            top: 0,
        }
    }
}

/// Tells whether the letters of `typed` stand in `name` in this order.
fn in_order(typed: &str, name: &str) -> bool {
    let mut letters = name.chars();
    typed.chars().all(|c| letters.any(|n| n == c))
}

/// Scrolls a text; `None` closes it.
fn scroll_key(mut scroll: Scroll, key: Key, page: usize) -> Option<Scroll> {
    let most = scroll.lines.len().saturating_sub(page);
    let top = match (key.press, key.typed(), key.ctrl) {
        (Press::Esc | Press::Enter, ..) | (_, Some('q' | '?'), _) => return None,
        (Press::Down, ..) | (_, Some('j'), _) => scroll.top + 1,
        (Press::Up, ..) | (_, Some('k'), _) => scroll.top.saturating_sub(1),
        (Press::PageDown, ..) | (_, Some(' '), _) | (Press::Char('d'), _, true) => {
            scroll.top + page
        }
        (Press::PageUp, ..) | (Press::Char('u'), _, true) => scroll.top.saturating_sub(page),
        (Press::Home, ..) | (_, Some('g'), _) => 0,
        (Press::End, ..) | (_, Some('G'), _) => most,
        _ => scroll.top,
    };
    scroll.top = top.min(most);
    Some(scroll)
}
