//! Answers one request: checks limits and access, selects the route, reads the body, calls the handler, records metrics.

use std::any::Any;
use std::future::poll_fn;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ACCESS_CONTROL_REQUEST_METHOD, CONTENT_TYPE, EXPECT, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use hyper::body::Body;

use crate::budget::{ByteBudget, ClientKey, SMALL_BYTES_MAX};
use crate::call::Params;
use crate::error_format::ErrorFormats;
use crate::meter::{RouteMeter, ServerMeter};
use crate::receive;
use crate::request_id::{self, RequestIds};
use crate::route::{BodyLimit, RouteMatch, Routes};
use crate::{
    Access, AllowedHosts, Call, Cors, ErrorCause, ErrorContext, ErrorFormat, Guard, HttpLimits,
    Identity, Problem, Reply, Role, Route,
};

/// How long a client may take to send the rest of a body that the budget refuses. It gets the reply after that.
const DRAIN_WAIT: Duration = Duration::from_secs(1);

/// The routes of all faces, with the limits, authentication, error formats and CORS rules that apply to them.
pub struct App {
    routes: Routes,
    guard: Guard,
    error_formats: ErrorFormats,
    cors: Cors,
    /// Set if browsers must be kept out because clients are not authenticated.
    allowed_hosts: Option<AllowedHosts>,
    budget: ByteBudget,
    pub(crate) limits: HttpLimits,
    ids: RequestIds,
    pub(crate) meter: ServerMeter,
    at_stop: Vec<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Two routes match the same path.
#[derive(Debug, thiserror::Error)]
#[error("routes conflict: {what}")]
pub struct Unroutable {
    what: String,
}

/// Why a future did not complete.
enum CallAborted {
    TimedOut,
    Panicked(Box<dyn Any + Send>),
}

impl App {
    pub fn new(routes: Vec<Route>, limits: HttpLimits) -> Result<App, Unroutable> {
        let routes = Routes::new(routes).map_err(|error| Unroutable { what: error.to_string() })?;
        let (ids, meter) = (RequestIds::new(), ServerMeter::new());
        let (guard, error_formats, cors) = (Guard::Disabled, ErrorFormats::new(), Cors::default());
        let budget = ByteBudget::new(&limits, meter.in_flight_bytes.clone());
        let allowed_hosts = None;
        let at_stop = Vec::new();
        Ok(App {
            routes,
            guard,
            error_formats,
            cors,
            allowed_hosts,
            budget,
            limits,
            ids,
            meter,
            at_stop,
        })
    }

    /// Calls this when the server begins to stop, so that handlers which wait for something answer at once.
    pub fn at_stop(mut self, call: impl Fn() + Send + Sync + 'static) -> App {
        self.at_stop.push(Box::new(call));
        self
    }

    /// The server begins to stop.
    pub(crate) fn stop(&self) {
        self.at_stop.iter().for_each(|call| call());
    }

    /// Authenticates requests to all routes but the open ones with this guard.
    pub fn with_guard(self, guard: Guard) -> App {
        App { guard, ..self }
    }

    /// Sets the format of the edge's own errors for paths below this prefix.
    pub fn error_format(mut self, prefix: &'static str, format: Arc<dyn ErrorFormat>) -> App {
        self.error_formats.set(prefix, format);
        self
    }

    /// Sets the CORS rules.
    pub fn cors(self, cors: Cors) -> App {
        App { cors, ..self }
    }

    /// Refuses requests to other host names than these and the loopback names, and requests of other web sites. For
    /// servers that do not authenticate clients.
    pub fn only_for_hosts(self, hosts: AllowedHosts) -> App {
        App { allowed_hosts: Some(hosts), ..self }
    }

    /// Answers one request of an unknown peer.
    pub async fn answer<B>(&self, request: Request<B>) -> Reply
    where
        B: Body<Data = Bytes> + Unpin,
    {
        self.answer_peer(request, None).await
    }

    /// Answers one request. Its time limit is checked whenever the future is polled. A connection polls at least once a
    /// second; other callers must do so themselves.
    pub(crate) async fn answer_peer<B>(&self, request: Request<B>, peer: Option<IpAddr>) -> Reply
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let began = Instant::now();
        let id = self.ids.of(request.headers());
        let _in_flight = InFlightGuard::new(&self.meter.in_flight);
        let access = AccessLog::of(&request);
        let head_only = request.method() == Method::HEAD;
        let origin = request.headers().get(ORIGIN).filter(|_| self.cors.is_on()).cloned();
        let (meter, identity, mut reply) = self.route(request, peer, began, &id).await;
        self.cors.apply(origin.as_ref(), reply.headers_mut());
        if head_only {
            reply.body_mut().head_only();
        }
        let (status, took) = (reply.status(), began.elapsed());
        meter.record(status, took);
        access.log(status, took, &id, &identity);
        reply.body_mut().set_reader(identity);
        reply.headers_mut().insert(request_id::HEADER, id);
        reply
    }

    async fn route<B>(
        &self,
        request: Request<B>,
        peer: Option<IpAddr>,
        began: Instant,
        id: &HeaderValue,
    ) -> (&RouteMeter, Identity, Reply)
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let unrouted = |identity, reply| (&self.meter.unrouted, identity, reply);
        let format = self.error_formats.of(request.uri().path());
        let foreign_reads = format.allows_foreign_reads();
        let hosts = self.allowed_hosts.as_ref();
        if let Some(Err(problem)) =
            hosts.map(|hosts| hosts.check(&request, &self.cors, foreign_reads))
        {
            self.meter.auth.record_foreign();
            let reply = format.answer(&context_of(&request, id), &ErrorCause::Other(&problem));
            return unrouted(Identity::Anonymous, reply);
        }
        if self.cors.is_on() && self.is_preflight(&request) {
            return unrouted(Identity::Anonymous, self.cors.preflight(request.headers()));
        }
        let uri = request.uri().clone();
        let format = self.error_formats.of(uri.path());
        let uri_bytes = uri.path_and_query().map_or(0, |text| text.as_str().len()) as u64;
        if uri_bytes > self.limits.uri_bytes_max {
            let problem = uri_too_long(uri_bytes, self.limits.uri_bytes_max);
            let reply = format.answer(&context_of(&request, id), &ErrorCause::Other(&problem));
            return unrouted(Identity::Anonymous, reply);
        }
        match self.routes.find(request.method(), uri.path(), format.head_is_get()) {
            RouteMatch::Found(route, meter, params) => {
                let errors =
                    ErrorReplier { format, uri: &uri, method: request.method().clone(), id };
                let (identity, reply) =
                    self.call(route, params, request, peer, began, &errors).await;
                (meter, identity, reply)
            }
            RouteMatch::MethodNotAllowed(allow) => {
                let (identity, reply) =
                    self.reply_unrouted(format, request, id, &ErrorCause::MethodNotAllowed(allow));
                unrouted(identity, reply)
            }
            RouteMatch::NotFound => {
                let (identity, reply) =
                    self.reply_unrouted(format, request, id, &ErrorCause::NoRoute);
                unrouted(identity, reply)
            }
        }
    }

    /// Whether this is a CORS preflight. If a face has a route for OPTIONS here, only the CORS header makes it one.
    fn is_preflight<B>(&self, request: &Request<B>) -> bool {
        request.method() == Method::OPTIONS
            && (request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
                || !self.routes.has_options(request.uri().path()))
    }

    /// Replies that no route matches, if the client has the access to learn it.
    fn reply_unrouted<B>(
        &self,
        format: &dyn ErrorFormat,
        mut request: Request<B>,
        id: &HeaderValue,
        cause: &ErrorCause<'_>,
    ) -> (Identity, Reply) {
        match self.guard.admit(format.unrouted_access(), request.headers_mut()) {
            Ok(identity) => (identity, format.answer(&context_of(&request, id), cause)),
            Err(denied) => {
                let reply = format.answer(&context_of(&request, id), &ErrorCause::Denied(&denied));
                (denied.identity(), reply)
            }
        }
    }

    async fn call<B>(
        &self,
        route: &Route,
        params: Params,
        request: Request<B>,
        peer: Option<IpAddr>,
        began: Instant,
        errors: &ErrorReplier<'_>,
    ) -> (Identity, Reply)
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let deadline = began + Duration::from_millis(self.limits.request_ms_max);
        let (mut head, mut body) = request.into_parts();
        let may_drain = !head.headers.contains_key(EXPECT);
        let admitted = self.guard.admit(route.access, &mut head.headers);
        self.meter.auth.record(&admitted);
        let identity = match admitted {
            Ok(identity) => identity,
            Err(denied) => {
                if may_drain {
                    let _ = within(deadline, receive::drain_denied(&mut body)).await;
                }
                let reply = errors.reply(&head.headers, &ErrorCause::Denied(&denied));
                return (denied.identity(), reply);
            }
        };
        let mut call = Call::new(head, Bytes::new(), params, identity.clone(), errors.id.clone());
        if let Some(check) = &route.head_check
            && !receive::is_small(&body)
            && let Err(reply) = check(&call)
        {
            if may_drain {
                let _ = within(deadline, receive::drain_denied(&mut body)).await;
            }
            return (identity, reply);
        }
        let body_limit = self.body_limit(route);
        let mut share = self.budget.share(ClientKey::of(&identity, peer));
        match within(deadline, receive::read(&mut body, body_limit, &mut share)).await {
            Ok(Ok(body)) => call.body = body,
            Ok(Err(refused)) => {
                drop(share);
                let mut until = deadline;
                if matches!(refused, receive::BodyRefused::Budget(_)) {
                    self.meter.bytes_refused.increment(1);
                    until = deadline.min(Instant::now() + DRAIN_WAIT);
                }
                if may_drain {
                    let _ = within(until, receive::drain(&mut body, body_limit)).await;
                }
                let problem = refused.problem(body_limit);
                return (identity, errors.reply(&call.head.headers, &ErrorCause::Other(&problem)));
            }
            Err(_) => {
                let problem = body_too_slow(self.limits.request_ms_max);
                return (identity, errors.reply(&call.head.headers, &ErrorCause::Other(&problem)));
            }
        }
        drop(body);
        if !call.body.is_empty()
            && call.head.headers.get(CONTENT_TYPE).is_none_or(HeaderValue::is_empty)
        {
            let problem = untyped_body();
            return (identity, errors.reply(&call.head.headers, &ErrorCause::Other(&problem)));
        }
        let failed = |problem| errors.reply(&HeaderMap::new(), &ErrorCause::Other(&problem));
        let answer_deadline = deadline + Duration::from_millis(route.more_ms);
        let mut reply = match within(answer_deadline, async { route.answer(call).await }).await {
            Ok(reply) => reply,
            Err(CallAborted::TimedOut) => {
                failed(too_slow(self.limits.request_ms_max, route.more_ms))
            }
            Err(CallAborted::Panicked(what)) => {
                let what = panic_text(&*what);
                tracing::error!(?route, what, "a handler panicked");
                failed(handler_panicked())
            }
        };
        // The body is gone.
        drop(share);
        let reply_bytes = reply.body().held_bytes();
        if reply_bytes > SMALL_BYTES_MAX && errors.method != Method::HEAD {
            let mut share = self.budget.share(ClientKey::of(&identity, peer));
            // A reply to a write says what has happened, so it is not refused.
            let is_read = errors.method == Method::GET || route.access <= Access::Read;
            match share.grow_to(reply_bytes) {
                Err(exceeded) if is_read => {
                    self.meter.bytes_refused.increment(1);
                    reply = failed(exceeded.problem());
                }
                _ => {
                    share.force_to(reply_bytes);
                    reply.body_mut().count(share);
                }
            }
        }
        (identity, reply)
    }

    /// The limit for bodies of requests to this route.
    fn body_limit(&self, route: &Route) -> BodyLimit {
        route
            .body_limit
            .unwrap_or(BodyLimit { limit: "body_bytes_max", max: self.limits.body_bytes_max })
    }
}

/// Waits for `future` until `deadline`, and catches its panic. There is no timer: the deadline is checked at each poll,
/// and the connection's clock polls regularly.
async fn within<T>(deadline: Instant, future: impl Future<Output = T>) -> Result<T, CallAborted> {
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Err(panic) => Poll::Ready(Err(CallAborted::Panicked(panic))),
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Ok(Poll::Pending) if Instant::now() >= deadline => Poll::Ready(Err(CallAborted::TimedOut)),
        Ok(Poll::Pending) => Poll::Pending,
    })
    .await
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Counts a request as in flight until dropped, which also happens if the client disconnects.
struct InFlightGuard<'a>(&'a metrics::Gauge);

impl InFlightGuard<'_> {
    fn new(gauge: &metrics::Gauge) -> InFlightGuard<'_> {
        gauge.increment(1);
        InFlightGuard(gauge)
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// What the access log needs of a request; empty if the log is off.
struct AccessLog(Option<(Method, Uri)>);

impl AccessLog {
    fn of<B>(request: &Request<B>) -> AccessLog {
        let read = tracing::enabled!(target: "allod::access", tracing::Level::DEBUG);
        AccessLog(read.then(|| (request.method().clone(), request.uri().clone())))
    }

    fn log(self, status: StatusCode, took: Duration, id: &HeaderValue, identity: &Identity) {
        let Some((method, uri)) = self.0 else { return };
        let (status, us) = (status.as_u16(), took.as_micros() as u64);
        let id = id.to_str().unwrap_or_default();
        let token = identity.name();
        let role = token.and(identity.role()).map(Role::name);
        tracing::debug!(target: "allod::access", %method, %uri, status, us, id, token, role, "request");
    }
}

/// Replies with an error in place of a handler, after the request has been taken apart.
struct ErrorReplier<'a> {
    format: &'a dyn ErrorFormat,
    method: Method,
    uri: &'a Uri,
    id: &'a HeaderValue,
}

impl ErrorReplier<'_> {
    fn reply(&self, headers: &HeaderMap, cause: &ErrorCause<'_>) -> Reply {
        let (method, path, request_id) = (&self.method, self.uri.path(), self.id);
        self.format.answer(&ErrorContext { method, path, headers, request_id }, cause)
    }
}

fn context_of<'a, B>(request: &'a Request<B>, request_id: &'a HeaderValue) -> ErrorContext<'a> {
    let (method, path, headers) = (request.method(), request.uri().path(), request.headers());
    ErrorContext { method, path, headers, request_id }
}

fn uri_too_long(actual: u64, max: u64) -> Problem {
    Problem::new(
        StatusCode::URI_TOO_LONG,
        "uri_too_long",
        "path and query are too long",
        format!("path and query have {actual} bytes; uri_bytes_max is {max}"),
    )
}

fn untyped_body() -> Problem {
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Problem::UNTYPED_BODY,
        "the body has no type",
        "the request has a body, but no Content-Type header; name the type of the body, such as application/json",
    )
}

fn body_too_slow(max_ms: u64) -> Problem {
    Problem::new(
        StatusCode::REQUEST_TIMEOUT,
        "request_too_slow",
        "the request did not arrive in time",
        format!("the body did not arrive within {max_ms} ms; request_ms_max is {max_ms}"),
    )
}

fn too_slow(max_ms: u64, more_ms: u64) -> Problem {
    let limit = match more_ms {
        0 => format!("{max_ms} ms (request_ms_max)"),
        more_ms => format!("{max_ms} ms (request_ms_max) and {more_ms} ms for waiting"),
    };
    Problem::new(
        StatusCode::GATEWAY_TIMEOUT,
        "answer_too_slow",
        "the answer was not ready in time",
        format!(
            "no answer within {limit}; the request may have been carried out: read the state, or retry"
        ),
    )
    .retry_after(1)
}

fn handler_panicked() -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "internal error",
        "the handler failed because of a bug; the server's log has details under this request id",
    )
}
