//! What needs neither a server nor a model: schemas, trees, JSON and XML, paths, parameters, edits.

#![expect(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod compiling;
mod edits;
mod filters;
mod fixture;
mod json;
mod parameters;
mod patches;
mod paths;
mod protocol_modules;
mod round_trips;
mod types;
mod validation;
mod xml;
