//! wip
mod accept;
mod fault;
mod query;
mod schema;
mod uuid;
mod versions;
