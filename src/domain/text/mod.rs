//! Text for people: sanitised, measured in cells, and painted in roles.
//!
//! Every string that comes from a cluster, from Git or from a plugin passes [`clean()`] once before it is drawn, printed
//! or written into a commit message. A [`Role`] says what a word means; the theme decides at the last moment how it
//! looks. This module knows no terminal.

mod age;
mod clean;
mod role;
mod width;

pub use age::age;
pub use clean::{MASK, clean, clean_line, mask, without_logins};
pub use role::{Line, Role, Span};
pub use width::{pad, truncate, width};
