//! From a complete request head to a reply: the limits, the route, the body, the handler, the count.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::header::{ACCESS_CONTROL_REQUEST_METHOD, EXPECT, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::BodyExt;
use hyper::body::Body;

use crate::call::Params;
use crate::manner::Manners;
use crate::meter::{RouteMeter, ServerMeter};
use crate::request_id::{self, RequestIds};
use crate::route::{Found, Room, Routes};
use crate::{
    Asked, Call, Cors, Guard, Identity, Limits, Manner, Problem, Reply, Role, Route, Trouble,
};

/// How much of a body that is too long is read and thrown away, so that the client gets to see the answer.
const DRAIN_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The same for the body of a request that is turned away at the door: what a client has sent before it looks for an answer.
const DRAIN_DENIED_BYTES_MAX: u64 = 64 * 1024;

/// Everything that answers: the routes of all faces, under the limits of the edge.
pub struct App {
    routes: Routes,
    guard: Guard,
    manners: Manners,
    cors: Cors,
    pub(crate) limits: Limits,
    ids: RequestIds,
    pub(crate) meter: ServerMeter,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Two routes cannot be told apart.
#[derive(Debug, thiserror::Error)]
#[error("the routes contradict each other: {what}")]
pub struct Unroutable {
    what: String,
}

/// Why a future was given up.
enum Ended {
    Late,
    Panicked(Box<dyn Any + Send>),
}

impl App {
    pub fn new(routes: Vec<Route>, limits: Limits) -> Result<App, Unroutable> {
        let routes = Routes::new(routes).map_err(|error| Unroutable { what: error.to_string() })?;
        let (ids, meter) = (RequestIds::new(), ServerMeter::new());
        let (guard, manners, cors) = (Guard::Everybody, Manners::new(), Cors::default());
        Ok(App { routes, guard, manners, cors, limits, ids, meter })
    }

    /// With this guard at the door of every route that is not open.
    pub fn guarded(self, guard: Guard) -> App {
        App { guard, ..self }
    }

    /// Where no handler answers below this prefix, this manner does.
    pub fn mannered(mut self, prefix: &'static str, manner: Arc<dyn Manner>) -> App {
        self.manners.set(prefix, manner);
        self
    }

    /// With these permissions for pages of other origins.
    pub fn shared(self, cors: Cors) -> App {
        App { cors, ..self }
    }

    /// Answers one request. Its time limit is looked at whenever the future is polled; the connection polls it at least
    /// once a second, whoever calls this without one has to bring a clock of their own.
    pub async fn answer<B>(&self, request: Request<B>) -> Reply
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let began = Instant::now();
        let id = self.ids.of(request.headers());
        let _in_flight = InFlight::new(&self.meter.in_flight);
        let access = Access::of(&request);
        let head_only = request.method() == Method::HEAD;
        let origin = request.headers().get(ORIGIN).filter(|_| self.cors.is_on()).cloned();
        let (meter, identity, mut reply) = self.route(request, began, &id).await;
        self.cors.apply(origin.as_ref(), reply.headers_mut());
        if head_only {
            reply.body_mut().head_only();
        }
        let (status, took) = (reply.status(), began.elapsed());
        meter.record(status, took);
        access.log(status, took, &id, &identity);
        reply.body_mut().read_by(identity);
        reply.headers_mut().insert(request_id::HEADER, id);
        reply
    }

    async fn route<B>(
        &self,
        request: Request<B>,
        began: Instant,
        id: &HeaderValue,
    ) -> (&RouteMeter, Identity, Reply)
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let unrouted = |identity, reply| (&self.meter.unrouted, identity, reply);
        if self.cors.is_on() && self.is_preflight(&request) {
            return unrouted(Identity::Stranger, self.cors.preflight(request.headers()));
        }
        let uri = request.uri().clone();
        let manner = self.manners.of(uri.path());
        let uri_bytes = uri.path_and_query().map_or(0, |text| text.as_str().len()) as u64;
        if uri_bytes > self.limits.uri_bytes_max {
            let problem = uri_too_long(uri_bytes, self.limits.uri_bytes_max);
            let reply = manner.answer(&asked(&request, id), &Trouble::Other(&problem));
            return unrouted(Identity::Stranger, reply);
        }
        match self.routes.find(request.method(), uri.path(), manner.head_is_get()) {
            Found::Route(route, meter, params) => {
                let speaker = Speaker { manner, uri: &uri, method: request.method().clone(), id };
                let (identity, reply) = self.call(route, params, request, began, &speaker).await;
                (meter, identity, reply)
            }
            Found::OtherMethods(allow) => {
                let (identity, reply) =
                    self.turn_away(manner, request, id, &Trouble::OtherMethods(allow));
                unrouted(identity, reply)
            }
            Found::Nothing => {
                let (identity, reply) = self.turn_away(manner, request, id, &Trouble::NoRoute);
                unrouted(identity, reply)
            }
        }
    }

    /// Whether a browser asks on behalf of a page. An OPTIONS that a face answers to itself is only that if it says so.
    fn is_preflight<B>(&self, request: &Request<B>) -> bool {
        request.method() == Method::OPTIONS
            && (request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
                || !self.routes.has_options(request.uri().path()))
    }

    /// Says that no route answers, to whom that may be said.
    fn turn_away<B>(
        &self,
        manner: &dyn Manner,
        mut request: Request<B>,
        id: &HeaderValue,
        trouble: &Trouble<'_>,
    ) -> (Identity, Reply) {
        match self.guard.admit(manner.access_to_nothing(), request.headers_mut()) {
            Ok(identity) => (identity, manner.answer(&asked(&request, id), trouble)),
            Err(denied) => {
                let reply = manner.answer(&asked(&request, id), &Trouble::Denied(&denied));
                (denied.identity(), reply)
            }
        }
    }

    async fn call<B>(
        &self,
        route: &Route,
        params: Params,
        request: Request<B>,
        began: Instant,
        speaker: &Speaker<'_>,
    ) -> (Identity, Reply)
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let deadline = began + Duration::from_millis(self.limits.request_ms_max);
        let (mut head, body) = request.into_parts();
        let patient = !head.headers.contains_key(EXPECT);
        let admitted = self.guard.admit(route.access, &mut head.headers);
        self.meter.auth.record(&admitted);
        let identity = match admitted {
            Ok(identity) => identity,
            Err(denied) => {
                if patient {
                    let _ = within(deadline, throw_away(body)).await;
                }
                let reply = speaker.say(&head.headers, &Trouble::Denied(&denied));
                return (denied.identity(), reply);
            }
        };
        let body = match within(deadline, read(body, self.room(route), patient)).await {
            Ok(Ok(body)) => body,
            Ok(Err(problem)) => {
                return (identity, speaker.say(&head.headers, &Trouble::Other(&problem)));
            }
            Err(_) => {
                let problem = body_too_slow(self.limits.request_ms_max);
                return (identity, speaker.say(&head.headers, &Trouble::Other(&problem)));
            }
        };
        let call = Call::new(head, body, params, identity.clone(), speaker.id.clone());
        let failed = |problem| speaker.say(&HeaderMap::new(), &Trouble::Other(&problem));
        let reply = match within(deadline, async { route.answer(call).await }).await {
            Ok(reply) => reply,
            Err(Ended::Late) => failed(too_slow(self.limits.request_ms_max)),
            Err(Ended::Panicked(what)) => {
                let what = panic_text(&*what);
                tracing::error!(?route, what, "a handler panicked");
                failed(broken())
            }
        };
        (identity, reply)
    }

    /// How long the body of a request to this route may be.
    fn room(&self, route: &Route) -> Room {
        route.room.unwrap_or(Room { limit: "body_bytes_max", max: self.limits.body_bytes_max })
    }
}

/// The whole body. One that came in one piece, as most do, is not copied.
async fn read<B>(mut body: B, room: Room, patient: bool) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes> + Unpin,
{
    let max = room.max;
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let mut first: Option<Bytes> = None;
    let mut all = BytesMut::new();
    let mut seen = 0_u64;
    let announced = body.size_hint().lower();
    let mut fits = announced <= max;
    // Of one whose end would not be reached, reading a part helps nobody.
    let patient = patient && announced <= DRAIN_BYTES_MAX;
    while fits || (patient && seen <= DRAIN_BYTES_MAX) {
        let Some(frame) = body.frame().await else { break };
        let Ok(frame) = frame else {
            return Err(Problem::malformed("the body ended early or was not framed correctly"));
        };
        let Ok(data) = frame.into_data() else { continue };
        seen += data.len() as u64;
        fits &= seen <= max;
        match &mut first {
            _ if !fits => {}
            None => first = Some(data),
            Some(start) => {
                if all.is_empty() {
                    all.extend_from_slice(start);
                }
                all.extend_from_slice(&data);
            }
        }
    }
    if !fits {
        return Err(body_too_long(room));
    }
    Ok(if all.is_empty() { first.unwrap_or_default() } else { all.freeze() })
}

/// Reads a body that nobody wants, if it is short: a client whose body is not read may not get to see the answer.
async fn throw_away<B>(mut body: B)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut left = DRAIN_DENIED_BYTES_MAX;
    if body.size_hint().lower() > left {
        return;
    }
    while let Some(Ok(frame)) = body.frame().await {
        let len = frame.data_ref().map_or(0, Bytes::len) as u64;
        match left.checked_sub(len) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// Waits for `future`, not beyond `deadline`, and survives its panic. The deadline costs no timer: it is looked at when
/// something polls, and the connection's clock sees to it that something does.
async fn within<T>(deadline: Instant, future: impl Future<Output = T>) -> Result<T, Ended> {
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Err(panic) => Poll::Ready(Err(Ended::Panicked(panic))),
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Ok(Poll::Pending) if Instant::now() >= deadline => Poll::Ready(Err(Ended::Late)),
        Ok(Poll::Pending) => Poll::Pending,
    })
    .await
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Counts a request for as long as it lives, also when its client goes away in the middle.
struct InFlight<'a>(&'a metrics::Gauge);

impl InFlight<'_> {
    fn new(gauge: &metrics::Gauge) -> InFlight<'_> {
        gauge.increment(1);
        InFlight(gauge)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// What the access log wants to know of a request; empty when nobody reads it.
struct Access(Option<(Method, Uri)>);

impl Access {
    fn of<B>(request: &Request<B>) -> Access {
        let read = tracing::enabled!(target: "allod::access", tracing::Level::DEBUG);
        Access(read.then(|| (request.method().clone(), request.uri().clone())))
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

/// Answers in place of a handler that has the request already, or soon.
struct Speaker<'a> {
    manner: &'a dyn Manner,
    method: Method,
    uri: &'a Uri,
    id: &'a HeaderValue,
}

impl Speaker<'_> {
    fn say(&self, headers: &HeaderMap, trouble: &Trouble<'_>) -> Reply {
        let (method, path, request_id) = (&self.method, self.uri.path(), self.id);
        self.manner.answer(&Asked { method, path, headers, request_id }, trouble)
    }
}

fn asked<'a, B>(request: &'a Request<B>, request_id: &'a HeaderValue) -> Asked<'a> {
    let (method, path, headers) = (request.method(), request.uri().path(), request.headers());
    Asked { method, path, headers, request_id }
}

fn uri_too_long(actual: u64, max: u64) -> Problem {
    Problem::new(
        StatusCode::URI_TOO_LONG,
        "uri_too_long",
        "path and query are too long",
        format!("uri_bytes_max is {max}, the request has {actual}"),
    )
}

fn body_too_long(Room { limit, max }: Room) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "body_too_long",
        "the body is too long",
        format!("{limit} is {max}, the request has more"),
    )
}

fn body_too_slow(max_ms: u64) -> Problem {
    Problem::new(
        StatusCode::REQUEST_TIMEOUT,
        "request_too_slow",
        "the request did not arrive in time",
        format!("request_ms_max is {max_ms}, and the body had not arrived by then"),
    )
}

fn too_slow(max_ms: u64) -> Problem {
    Problem::new(
        StatusCode::GATEWAY_TIMEOUT,
        "answer_too_slow",
        "the answer was not ready in time",
        format!(
            "request_ms_max is {max_ms}; whether the request was carried out is unknown: read, or repeat it"
        ),
    )
    .retry_after(1)
}

fn broken() -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the server has a bug",
        "the request met a bug in the server; the server's log has more under this request's id",
    )
}
