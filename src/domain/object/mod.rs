//! Kubernetes objects as values: who they are, where a field is, what it is worth, where it came from.

pub mod id;
pub mod managed_fields;
pub mod openapi;
pub mod origin;
pub mod path;
pub mod quantity;
pub mod types;

pub use id::ObjectId;
pub use origin::{Desired, Home, Origin, Origins, Step};
pub use path::{FieldPath, PathStep};
