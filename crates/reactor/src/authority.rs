//! External authorities: systems that own values and grant them to this server.
//!
//! - `connector`: what every authority is asked and can answer, and the choice of the protocol
//! - `http`: an adapter that implements the HTTP contract
//! - `allod`: a pool of another allod server
//! - `sql`: tables in a PostgreSQL database, with the operator's statements
//! - `exchange`, `value`, `message`: parts that the first two share
//!
//! A connector makes one attempt and reports its outcome. It stores nothing and decides nothing.
//!
//! - `decision`: what to do next about a claim
//! - `reconcile`: compares the listing of an authority with the claims here
//! - `driver`: finds what is due, calls the connectors, and reports the outcome to the engine
//! - `secrets`, `targets`: what the configuration of a server says about authorities

mod allod;
mod connector;
pub mod decision;
mod driver;
mod exchange;
mod http;
mod message;
pub mod reconcile;
mod secrets;
mod sql;
mod targets;
mod value;

pub use connector::{
    Abilities, Ask, AuthorityAnswer, AuthorityKind, Connector, Fact, Finds, Grant, Known, Listed,
    Page, RefusalCode, Secret, Settings, Statements, Wish,
};
pub use driver::{AuthorityDriver, AuthoritySettings, connect};
pub use secrets::{SecretSource, Secrets};
pub use targets::AllowedTargets;
