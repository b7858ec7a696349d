//! Widths in terminal cells, by grapheme: never cut a character in its middle, never count bytes.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Returns how many cells `text` takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Returns `text` in at most `cells` cells, ending in `…` where something was cut.
pub fn truncate(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let room = cells.saturating_sub(1);
    let mut used = 0;
    let mut out = String::new();
    for grapheme in text.graphemes(true) {
        let w = grapheme.width();
        if used + w > room {
            break;
        }
        used += w;
        out.push_str(grapheme);
    }
    if cells > 0 {
        out.push('…');
    }
    Cow::Owned(out)
}

/// Returns `text` cut or filled with spaces to exactly `cells` cells.
pub fn pad(text: &str, cells: usize) -> String {
    let mut out = truncate(text, cells).into_owned();
    out.extend(std::iter::repeat_n(' ', cells.saturating_sub(width(&out))));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_cuts_a_wide_character_in_half() {
        assert_eq!(truncate("日本語", 4), "日…");
        assert_eq!(pad("日本語", 4), "日… ");
        assert_eq!(truncate("abc", 3), "abc");
        assert_eq!(truncate("abc", 0), "");
    }
}
