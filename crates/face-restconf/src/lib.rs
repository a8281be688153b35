//! The RESTCONF face: YANG-modelled data over HTTP, as RFC 8040 has it and as the draft before it had it, which is what
//! OpenDaylight spoke.
//!
//! It translates and nothing else: a write becomes exactly one command, a read looks at one snapshot. What each part knows:
//!
//! - `yang`: the modules, which are files in `yang/`, and the schema that follows from them
//! - `tree`: instances of that schema, whole or as a stream of nodes
//! - `codec`: JSON and XML, both ways, in both dialects
//! - `path`, `query`: what a request names
//! - `edit`: what PUT, PATCH, POST, DELETE and YANG Patch do to a tree
//! - `fault`: how a no is told
//! - `protocol`: routes, negotiation, headers, streams; the same for every model
//! - `model`: what a model is to the protocol
//! - `id_manager`: OpenDaylight's id-manager
//! - `resource_pools`: NSO's resource-manager
//!
//! Not here: which ids are free; that is the core's.

pub mod codec;
pub mod edit;
pub mod fault;
pub mod id_manager;
pub mod model;
pub mod path;
pub mod protocol;
pub mod query;
pub mod resource_pools;
pub mod settings;
pub mod tree;
pub mod yang;

pub use protocol::Restconf;
pub use settings::Settings;
