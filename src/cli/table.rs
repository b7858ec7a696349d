//! Aligned columns for people: measured in cells, cleaned of what a terminal would obey.

use crate::domain::text;

/// Returns `rows` below `head` as aligned columns, two spaces apart; the last column is not padded.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let clean: Vec<Vec<String>> = std::iter::once(head.iter().map(|&h| h.to_owned()).collect())
        .chain(rows.iter().map(|row| {
            row.iter()
                .map(|cell| text::clean_line(cell).into_owned())
                .collect::<Vec<_>>()
        }))
        .collect();
    let columns = head.len();
    let widths: Vec<usize> = (0..columns)
        .map(|at| {
            clean
                .iter()
                .filter_map(|row| row.get(at))
                .map(|c| text::width(c))
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut out = String::new();
    for row in &clean {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            if at + 1 < columns {
                line.push_str(&text::pad(cell, widths[at]));
                line.push_str("  ");
            } else {
                line.push_str(cell);
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn aligns_by_cells() {
        let rows = vec![
            vec!["日本".into(), "x".into()],
            vec!["a".into(), "y\u{1b}".into()],
        ];
        assert_eq!(
            table(&["NAME", "V"], &rows),
            "NAME  V\n日本  x\na     y\u{FFFD}\n"
        );
    }
}
