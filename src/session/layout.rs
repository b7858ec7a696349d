//! How many rows each part of the screen has: one answer for the state (which scrolls) and for the painter.

use super::screen::Screen;

/// Rows of the screen's parts, top to bottom; they add up to the terminal's height.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Title and counts.
    pub header: u16,
    /// What is said about the whole (an app's summary).
    pub summary: u16,
    /// Names of the columns.
    pub columns: u16,
    /// The list, or the text.
    pub list: u16,
    /// What is said about the row under the cursor.
    pub panel: u16,
    /// The hint line.
    pub footer: u16,
}

impl Layout {
    /// Lays out a screen on `height` rows. The list gets what it needs first.
    pub fn of(screen: &Screen, height: u16) -> Self {
        let footer = u16::from(height >= 3);
        let header = match height {
            0..=3 => u16::from(height > footer),
            4..=11 => 1,
            _ => 2,
        };
        let body = height - header - footer;
        let columns = match screen {
            Screen::Diff(_) => u16::from(body >= 6),
            _ => u16::from(body >= 3),
        };
        let (summary, panel) = match screen {
            Screen::App(_) => (part(body, 8), 0),
            Screen::Diff(_) => (0, part(body, 6)),
            Screen::Fleet(_) | Screen::Drift(_) => (0, if body >= 16 { 3 } else { 0 }),
            _ => (0, 0),
        };
        Self {
            header,
            summary,
            columns,
            list: body - columns - summary - panel,
            panel,
            footer,
        }
    }
}

/// What a part that would like `most` rows gets of a body: never more than two fifths.
fn part(body: u16, most: u16) -> u16 {
    if body < 7 { 0 } else { most.min(body * 2 / 5) }
}
