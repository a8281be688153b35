//! External authorities: systems that own values and grant them to this server.
//!
//! - `connector`: what every authority is asked and can answer, and the choice of the protocol
//! - `http`: an adapter that implements the HTTP contract
//! - `allod`: a pool of another allod server
//! - `sql`: tables in a PostgreSQL database, with the operator's statements
//! - `exchange`, `value`, `message`: parts that the first two share
//!
//! A connector makes one attempt and reports its outcome. It stores nothing and decides nothing: retries, alarms and the
//! state of a grant are not here.

mod allod;
mod connector;
mod exchange;
mod http;
mod message;
mod sql;
mod value;

pub use connector::{
    Abilities, Ask, AuthorityAnswer, AuthorityKind, Connector, Fact, Finds, Grant, Known, Listed,
    Page, RefusalCode, Secret, Settings, Statements, Wish,
};
