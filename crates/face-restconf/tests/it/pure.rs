//! Tests without a server or a model: schemas, trees, JSON and XML, paths, parameters, edits.

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
