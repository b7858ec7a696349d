//! Text side by side: aligned rows, changed words within lines, folded stretches, hunks, and the way from a row back
//! to the field that it shows.
//!
//! Rows are indices into the two texts, and words are worked out for the rows that are looked at ([`Aligned::words`]),
//! so that a diff of 20,000 lines or a line of a megabyte opens at once. Where the exact answer would cost too much a
//! coarser one is given, and [`Aligned::coarse`] says so. Colours, widths and what is marked are left to the screens.

mod align;
mod fields;
mod fold;
mod words;

pub use align::{Aligned, Row, RowKind};
pub use fields::{Field, fields_of};
pub use fold::{Shown, fold};
pub use words::Piece;
