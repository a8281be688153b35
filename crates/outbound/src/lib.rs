//! Connections from this process to other servers: one TLS set-up and one HTTP/1.1 client, used by webhooks, the command
//! line, the Placement importer, external authorities and the PostgreSQL journal.
//!
//! The client uses no proxy, follows no redirect and never retries a request that the server may have carried out.

pub mod tls;

#[cfg(feature = "http")]
mod endpoint;
#[cfg(feature = "http")]
mod http_client;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "http")]
mod url;

#[cfg(feature = "http")]
pub use endpoint::{Endpoint, Origin};
#[cfg(feature = "http")]
pub use http_client::{HttpAnswer, HttpClient, OutboundError, Repeatable};
pub use tls::{TlsSetupError, TrustedRoots};
#[cfg(feature = "http")]
pub use url::{BaseUrl, path_segment};
