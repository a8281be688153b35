//! The modules that the protocol itself serves or imports. Those of a model are with the model.

/// File names and texts, for [`super::Schema::compile`].
pub const PROTOCOL: &[(&str, &str)] = &[];
