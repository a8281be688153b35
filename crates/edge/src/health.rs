//! Routes for monitoring: liveness, readiness, metrics.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};

use crate::{Access, Exporter, Problem, Reply, Route};

/// The readiness check behind `/readyz`.
pub trait Ready: Send + Sync {
    /// `Err` says for an operator why the server is not ready; `Ok(Some(…))`, what is wrong although it is ready.
    fn ready(&self) -> Result<Option<String>, String>;
}

/// `/healthz`, `/readyz` and `/metrics`.
pub fn routes(ready: Arc<dyn Ready>, exporter: Exporter) -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/healthz", Access::Open, |_| async { text("ok\n") }),
        Route::new(Method::GET, "/readyz", Access::Open, move |_| {
            let ready = ready.ready();
            async move {
                match ready {
                    Ok(None) => text("ready\n"),
                    Ok(Some(warning)) => text(format!("ready\nwarning: {warning}\n")),
                    Err(why) => not_ready(why).reply(),
                }
            }
        }),
        Route::new(Method::GET, "/metrics", Access::Read, move |_| {
            let exporter = exporter.clone();
            async move { text(exporter.render()) }
        }),
    ]
}

fn not_ready(why: String) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", "the server is not ready", why)
        .retry_after(1)
}

fn text(body: impl Into<Bytes>) -> Reply {
    let mut reply = Reply::new(body.into().into());
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    reply.headers_mut().insert(CONTENT_TYPE, plain);
    reply
}
