//! The RESTCONF face: YANG-modelled data over HTTP, as in RFC 8040 and in the earlier draft
//! (draft-bierman-netconf-restconf-02) that OpenDaylight implemented.
//!
//! It only translates: a write becomes exactly one command, a read uses one snapshot.
//!
//! - `yang`: parses the YANG modules in `yang/` and compiles them to a schema
//! - `tree`: data of that schema, as a tree in memory or as a stream of nodes
//! - `codec`: reads and writes JSON and XML, in both dialects
//! - `path`, `query`: parse the path and the query parameters of a URI
//! - `edit`: applies PUT, PATCH, POST, DELETE and YANG Patch to a tree
//! - `error`: RESTCONF errors
//! - `protocol`: routes, content negotiation, headers, streams; the same for all models
//! - `model`: the trait between the protocol and a model
//! - `id_manager`: the model of OpenDaylight's id-manager
//! - `resource_pools`: the model of NSO's resource-manager
//!
//! Not here: the decision which ids are free; that is in the core.

pub mod codec;
pub mod edit;
pub mod error;
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
pub use settings::RestconfSettings;
