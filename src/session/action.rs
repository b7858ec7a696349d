//! The one table of actions: keymap, hints, palette, help, menu and docs/keymap.md all read it.
//!
//! An action is named once, here, with its words, its risk, its default keys and the screens where it applies. What it
//! does stands in the session; why it does not apply right now is said by `Session::why_not`.

/// Every action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(
    missing_docs,
    reason = "the table below holds the words of each action"
)]
pub enum Action {
    Down,
    Up,
    Top,
    Bottom,
    HalfDown,
    HalfUp,
    Left,
    Right,
    Open,
    Back,
    BackOrQuit,
    Quit,
    Palette,
    Filter,
    Help,
    Menu,
    Mark,
    MarkAll,
    Next,
    Previous,
    Diff,
    Blame,
    Yaml,
    Inspect,
    Owners,
    Copy,
    View,
    MoreContext,
    LessContext,
    NextObject,
    PreviousObject,
    Noise,
    Sync,
    SyncPrune,
    Refresh,
    HardRefresh,
    Hold,
    Accept,
    Revert,
    Terminate,
    Compare,
    SortState,
    SortName,
    SortAge,
    SortDrift,
    SortContext,
    GoFleet,
    GoDrift,
    GoJournal,
    GoContexts,
    Notices,
    Reconnect,
    ReadOnly,
    Redraw,
    Suspend,
}

/// What an action may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Risk {
    /// Nothing outside this program.
    None,
    /// It opens a dialog with a plan that writes once confirmed.
    Writes,
    /// As [`Risk::Writes`], and the plan may delete or overwrite.
    Destroys,
}

impl Risk {
    /// Returns its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Writes => "writes",
            Self::Destroys => "may delete or overwrite",
        }
    }
}

/// The screens where an action applies, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct On(pub u8);

impl On {
    /// The list of apps.
    pub const FLEET: Self = Self(1);
    /// One app.
    pub const APP: Self = Self(2);
    /// Git and live side by side.
    pub const DIFF: Self = Self(4);
    /// Every drifted field of the fleet.
    pub const DRIFT: Self = Self(8);
    /// The contexts.
    pub const CONTEXTS: Self = Self(16);
    /// The journal.
    pub const JOURNAL: Self = Self(32);
    /// Everywhere.
    pub const ALL: Self = Self(63);
    const APPS: Self = Self(1 | 2 | 4 | 8);

    /// Tells whether the screens have one in common.
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The action.
    pub action: Action,
    /// Its name, in the keymap file and in the palette.
    pub name: &'static str,
    /// One or two words for the hint line; empty where it is not hinted at.
    pub short: &'static str,
    /// What it does, in a sentence without a full stop.
    pub words: &'static str,
    /// What it may do to the world.
    pub risk: Risk,
    /// Its default keys.
    pub keys: &'static [&'static str],
    /// Where it applies.
    pub on: On,
}

const fn entry(
    action: Action,
    name: &'static str,
    short: &'static str,
    words: &'static str,
    keys: &'static [&'static str],
    on: On,
) -> Entry {
    Entry {
        action,
        name,
        short,
        words,
        risk: Risk::None,
        keys,
        on,
    }
}

const fn write(
    action: Action,
    name: &'static str,
    short: &'static str,
    words: &'static str,
    keys: &'static [&'static str],
    on: On,
) -> Entry {
    Entry {
        risk: Risk::Writes,
        ..entry(action, name, short, words, keys, on)
    }
}

const fn destroy(
    action: Action,
    name: &'static str,
    short: &'static str,
    words: &'static str,
    keys: &'static [&'static str],
    on: On,
) -> Entry {
    Entry {
        risk: Risk::Destroys,
        ..entry(action, name, short, words, keys, on)
    }
}

/// Every action, in the order of help and hints.
pub const TABLE: &[Entry] = &[
    entry(
        Action::Open,
        "open",
        "open",
        "Open what is under the cursor",
        &["enter"],
        On::ALL,
    ),
    entry(
        Action::Diff,
        "diff",
        "diff",
        "Show Git and live side by side",
        &["d"],
        On(1 | 2 | 8),
    ),
    entry(
        Action::View,
        "view",
        "view",
        "Switch between side by side, unified and fields",
        &["|", "v"],
        On::DIFF,
    ),
    entry(
        Action::Mark,
        "mark",
        "mark",
        "Mark or unmark what is under the cursor",
        &["space"],
        On(1 | 2 | 4),
    ),
    entry(
        Action::MarkAll,
        "mark-all",
        "all",
        "Mark everything, or nothing",
        &["A"],
        On(2 | 4),
    ),
    write(
        Action::Accept,
        "accept",
        "accept",
        "Make Git say what is live: plan a backfill",
        &["a"],
        On(2 | 4 | 8),
    ),
    destroy(
        Action::Revert,
        "revert",
        "revert",
        "Put live back to Git",
        &["u"],
        On(2 | 4 | 8),
    ),
    write(
        Action::Sync,
        "sync",
        "sync",
        "Let the controller apply Git now",
        &["s"],
        On::APPS,
    ),
    destroy(
        Action::SyncPrune,
        "sync-prune",
        "",
        "Sync, and delete what Git no longer has (Argo CD)",
        &[],
        On::APPS,
    ),
    write(
        Action::Hold,
        "hold",
        "hold",
        "Take the app out of its controller's hands, or give it back",
        &["p"],
        On::APPS,
    ),
    write(
        Action::Refresh,
        "refresh",
        "refresh",
        "Let the controller look at Git again",
        &["r"],
        On::APPS,
    ),
    write(
        Action::HardRefresh,
        "hard-refresh",
        "",
        "Refresh, and forget what was rendered",
        &["R"],
        On::APPS,
    ),
    write(
        Action::Terminate,
        "terminate",
        "",
        "Stop the running operation (Argo CD)",
        &[],
        On::APPS,
    ),
    entry(
        Action::Compare,
        "compare",
        "",
        "Compare Git and live again",
        &["f5", "ctrl-r"],
        On::APPS,
    ),
    entry(
        Action::Filter,
        "filter",
        "filter",
        "Show only what matches",
        &["/"],
        On(1 | 4),
    ),
    entry(
        Action::Next,
        "next",
        "",
        "Go to the next change or match",
        &["n"],
        On(2 | 4 | 8),
    ),
    entry(
        Action::Previous,
        "previous",
        "",
        "Go to the previous change or match",
        &["N"],
        On(2 | 4 | 8),
    ),
    entry(
        Action::NextObject,
        "next-object",
        "",
        "Go to the next object",
        &["}", "tab"],
        On::DIFF,
    ),
    entry(
        Action::PreviousObject,
        "previous-object",
        "",
        "Go to the previous object",
        &["{", "backtab"],
        On::DIFF,
    ),
    entry(
        Action::Blame,
        "blame",
        "blame",
        "Show who changed each field",
        &["b"],
        On::DIFF,
    ),
    entry(
        Action::Owners,
        "owners",
        "",
        "Show everyone who holds the field",
        &["m"],
        On::DIFF,
    ),
    entry(
        Action::Noise,
        "noise",
        "noise",
        "Show or hide what is ignored, noise or foreign",
        &["."],
        On::DIFF,
    ),
    entry(
        Action::MoreContext,
        "more-context",
        "",
        "Show more unchanged lines",
        &["+"],
        On::DIFF,
    ),
    entry(
        Action::LessContext,
        "less-context",
        "",
        "Show fewer unchanged lines",
        &["-"],
        On::DIFF,
    ),
    entry(
        Action::Yaml,
        "yaml",
        "yaml",
        "Show the live object as YAML",
        &["y"],
        On::APPS,
    ),
    entry(
        Action::Inspect,
        "inspect",
        "inspect",
        "Show everything that is known about it",
        &["i"],
        On::ALL,
    ),
    entry(
        Action::Copy,
        "copy",
        "",
        "Copy its name or value to the clipboard",
        &["c"],
        On::ALL,
    ),
    entry(Action::Down, "down", "", "Go down", &["j", "down"], On::ALL),
    entry(Action::Up, "up", "", "Go up", &["k", "up"], On::ALL),
    entry(
        Action::HalfDown,
        "half-down",
        "",
        "Go down half a page",
        &["ctrl-d", "pagedown"],
        On::ALL,
    ),
    entry(
        Action::HalfUp,
        "half-up",
        "",
        "Go up half a page",
        &["ctrl-u", "pageup"],
        On::ALL,
    ),
    entry(
        Action::Top,
        "top",
        "",
        "Go to the top",
        &["g", "home"],
        On::ALL,
    ),
    entry(
        Action::Bottom,
        "bottom",
        "",
        "Go to the bottom",
        &["G", "end"],
        On::ALL,
    ),
    entry(
        Action::Left,
        "left",
        "",
        "Scroll left",
        &["h", "left"],
        On::ALL,
    ),
    entry(
        Action::Right,
        "right",
        "",
        "Scroll right",
        &["l", "right"],
        On::ALL,
    ),
    entry(
        Action::SortState,
        "sort-state",
        "",
        "Sort by state, urgent first",
        &["S"],
        On::FLEET,
    ),
    entry(
        Action::SortName,
        "sort-name",
        "",
        "Sort by name",
        &["N"],
        On::FLEET,
    ),
    entry(
        Action::SortAge,
        "sort-age",
        "",
        "Sort by age, newest first",
        &["A"],
        On::FLEET,
    ),
    entry(
        Action::SortDrift,
        "sort-drift",
        "",
        "Sort by drift, most first",
        &["D"],
        On::FLEET,
    ),
    entry(
        Action::SortContext,
        "sort-context",
        "",
        "Sort by context",
        &["C"],
        On::FLEET,
    ),
    entry(
        Action::GoFleet,
        "fleet",
        "",
        "Go to the fleet",
        &["1"],
        On::ALL,
    ),
    entry(
        Action::GoDrift,
        "drift",
        "",
        "Go to every drifted field of the fleet",
        &["2"],
        On::ALL,
    ),
    entry(
        Action::GoJournal,
        "journal",
        "",
        "Go to what was done from here",
        &["4"],
        On::ALL,
    ),
    entry(
        Action::GoContexts,
        "contexts",
        "",
        "Go to the contexts",
        &["5", "@"],
        On::ALL,
    ),
    entry(
        Action::Notices,
        "notices",
        "",
        "Show the notices so far",
        &["!"],
        On::ALL,
    ),
    entry(
        Action::Menu,
        "menu",
        "menu",
        "Show every action that applies here, and why others do not",
        &["x"],
        On::ALL,
    ),
    entry(
        Action::Palette,
        "palette",
        "",
        "Run an action by its name",
        &[":", "ctrl-p"],
        On::ALL,
    ),
    entry(
        Action::Help,
        "help",
        "help",
        "Show this help",
        &["?"],
        On::ALL,
    ),
    entry(
        Action::Back,
        "back",
        "",
        "Go back one level",
        &["esc"],
        On::ALL,
    ),
    entry(
        Action::BackOrQuit,
        "back-or-quit",
        "",
        "Go back one level; at the root, ask whether to quit",
        &["q"],
        On::ALL,
    ),
    entry(Action::Quit, "quit", "", "Quit", &["Q", "ctrl-c"], On::ALL),
    entry(
        Action::Reconnect,
        "reconnect",
        "",
        "Connect again to what cannot be reached",
        &["ctrl-e"],
        On::ALL,
    ),
    entry(
        Action::ReadOnly,
        "readonly",
        "",
        "Turn every write off for this session",
        &[],
        On::ALL,
    ),
    entry(
        Action::Redraw,
        "redraw",
        "",
        "Draw the screen anew",
        &["ctrl-l"],
        On::ALL,
    ),
    entry(
        Action::Suspend,
        "suspend",
        "",
        "Stop the program until it is continued",
        &["ctrl-z"],
        On::ALL,
    ),
];

/// Returns an action's line of the table.
pub fn entry_of(action: Action) -> &'static Entry {
    // every action has a line (a test holds that), so the first is never a wrong answer
    TABLE
        .iter()
        .find(|entry| entry.action == action)
        .unwrap_or(&TABLE[0])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_writes_have_words() {
        let names: BTreeSet<_> = TABLE.iter().map(|e| e.name).collect();
        let actions: BTreeSet<_> = TABLE.iter().map(|e| e.action).collect();
        assert_eq!((names.len(), actions.len()), (TABLE.len(), TABLE.len()));
        assert_eq!(
            actions.len(),
            Action::Suspend as usize + 1,
            "an action has no line"
        );
        assert!(
            TABLE
                .iter()
                .all(|e| !e.words.is_empty() && !e.words.ends_with('.'))
        );
    }
}
