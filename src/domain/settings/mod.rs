//! Settings: layers that know their source (defaults, file, environment, flags), the keymap's and the themes' text.

mod variables;

pub use variables::Variables;
