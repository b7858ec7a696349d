//! What the product knows: values in, values out.
//!
//! Nothing here touches a file, a socket, the environment, the clock or the terminal; trees, bytes and times are
//! arguments. Ranks (a module names only lower ones): `text`, `fault` · `yaml` · `object`, `settings` · `render`,
//! `diff`, `fleet` · `drift` · `backfill`, `operate`.

pub mod backfill;
pub mod diff;
pub mod drift;
pub mod fault;
pub mod fleet;
pub mod object;
pub mod operate;
pub mod render;
pub mod settings;
pub mod text;
pub mod yaml;
