//! The edge: from a socket to a handler and back, with nothing of the domain in it.
//!
//! A listener with or without TLS, who may use which route, the limits of the protocol, request ids, metrics, problem details, cross-origin requests, health, and a graceful stop. A face
//! hands over its [`Route`]s; the edge finds the one that a request means, reads the body, and calls it. The edge speaks
//! hyper directly: one allocation for the handler's future and none for layers. It keeps no timer per request either:
//! each connection has one slow clock that looks at what the connection is doing (see [`connection`]).
//!
//! Not here: what any route means, and what the scope of a token does.

mod app;
pub mod auth;
mod body;
mod call;
pub mod connection;
mod cors;
pub mod date;
mod health;
pub mod limits;
mod listen;
mod manner;
mod meter;
mod problem;
mod reload;
mod request_id;
mod route;
mod tls;

pub use app::{App, Unroutable};
pub use auth::{Auth, Denied, Guard, Identity, Principal, Role, Tokens};
pub use body::{Body, Broken, Sink};
pub use call::Call;
pub use cors::Cors;
pub use health::{Ready, routes as health_routes};
pub use limits::Limits;
pub use listen::{ListenError, Listener, stop_signal};
pub use manner::{Asked, Manner, Plain, Trouble};
pub use meter::Exporter;
pub use problem::Problem;
pub use reload::{Reload, Reloader, SourceFile};
pub use route::{Access, Answer, Route};
pub use tls::Tls;

/// What a handler answers with.
pub type Reply = http::Response<Body>;
