//! The HTTP server: from a socket to a handler and back. It knows no domain.
//!
//! It has the listener (with or without TLS), authentication and roles, the limits of the protocol, a budget for the
//! memory of bodies and replies, protection against requests of foreign web pages, request ids, metrics, problem details, CORS, health routes and the graceful stop. A face passes in its [`Route`]s; the edge
//! selects the route of a request, reads the body and calls the handler. It uses hyper directly, so that a request costs
//! one allocation for the handler's future and none for layers. There is no timer per request: each connection has one
//! slow clock (see [`connection`]).
//!
//! Not here: the meaning of a route, or of the scope of a token.

mod app;
pub mod auth;
mod body;
mod budget;
mod call;
pub mod connection;
mod consistency;
mod cors;
mod error_format;
mod health;
pub mod limits;
mod listen;
mod meter;
mod problem;
mod receive;
mod reload;
mod request_id;
mod route;
mod site;
pub mod time;
mod tls;

pub use app::{App, Unroutable};
pub use auth::{Auth, Denied, Guard, Identity, Principal, Role, Tokens};
pub use body::{Body, StreamError, StreamWriter};
pub use budget::SMALL_BYTES_MAX;
pub use call::Call;
pub use consistency::{Consistency, position};
pub use cors::Cors;
pub use error_format::{ErrorCause, ErrorContext, ErrorFormat, ProblemDetails};
pub use health::{Ready, routes as health_routes};
pub use limits::HttpLimits;
pub use listen::{ListenError, Listener, stop_signal};
pub use meter::Exporter;
pub use problem::Problem;
pub use reload::{Reload, Reloader, SourceFile};
pub use route::{Access, ReplyFuture, Route};
pub use site::AllowedHosts;
pub use tls::Tls;

/// The reply of a handler.
pub type Reply = http::Response<Body>;
