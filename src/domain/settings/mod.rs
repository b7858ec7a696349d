//! Settings: layers that know their source (defaults, file, environment, flags), the keymap's and the themes' text.
//!
//! A layer is a tree of values; layers are merged as trees and decoded once into [`Settings`]. A broken value is left
//! out and said with file and line, so that a typo at 03:00 costs a setting and not the program. `world::disk`
//! reads the files, this module never does. `assets/config.yaml` is the documented default and is held equal to it.

mod duration;
mod layer;
mod pattern;
mod schema;
mod variables;

pub use duration::Span;
pub use layer::{Layer, Loaded, Source, load};
pub use pattern::matches;
pub use schema::{Contexts, Owners, Settings, Timeouts};
pub use variables::Variables;

/// The documented defaults, as shipped.
pub const DEFAULT_CONFIG: &str = include_str!("../../../assets/config.yaml");
