//! Error formats by path prefix, body limits by route, and CORS.

use std::sync::Arc;

use allod_edge::{
    Access, AllowedHosts, App, Body, Cors, ErrorCause, ErrorContext, ErrorFormat, Guard,
    HttpLimits, ProblemDetails, Reply, Route,
};
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Empty, Full};

/// Replies with the cause as plain text.
struct PlainText;

impl ErrorFormat for PlainText {
    fn answer(&self, context: &ErrorContext<'_>, cause: &ErrorCause<'_>) -> Reply {
        let what = match cause {
            ErrorCause::NoRoute => "nothing".to_owned(),
            ErrorCause::MethodNotAllowed(allow) => format!("only {}", allow.to_str().unwrap()),
            ErrorCause::Denied(denied) => format!("denied {denied:?}"),
            ErrorCause::Other(problem) => format!("problem {}", problem.code),
        };
        let text = format!("{} {}: {what}", context.method, context.path);
        Response::new(Body::from(Bytes::from(text)))
    }

    fn head_is_get(&self) -> bool {
        false
    }

    fn unrouted_access(&self) -> Access {
        Access::Authenticated
    }
}

fn app() -> App {
    let text = |text: &'static str| async move { Response::new(Body::from(Bytes::from(text))) };
    let routes = vec![
        Route::new(Method::GET, "/", Access::Open, move |_| text("root")),
        Route::new(Method::GET, "/things/{name}", Access::Authenticated, move |_| text("thing")),
        Route::new(Method::PUT, "/things/{name}", Access::Authenticated, move |_| text("put")),
        Route::new(Method::GET, "/broken", Access::Open, |_| async { panic!("on purpose") }),
        Route::new(Method::GET, "/v1/things", Access::Read, move |_| text("v1")),
        Route::new(Method::PUT, "/roomy", Access::Open, move |_| text("took"))
            .with_body_limit("roomy_max", 9),
        Route::new(Method::PUT, "/checked", Access::Open, move |_| text("called"))
            .with_body_limit("checked_max", 1 << 31)
            .with_head_check(move |_| Err(Response::new(Body::from(Bytes::from("refused"))))),
        Route::new(Method::OPTIONS, "/roomy", Access::Open, move |_| text("options")),
    ];
    let limits = HttpLimits { body_bytes_max: 4, uri_bytes_max: 50, ..HttpLimits::default() };
    App::new(routes, limits)
        .unwrap()
        .error_format("/v1", Arc::new(ProblemDetails))
        .error_format("/", Arc::new(PlainText))
        .with_guard(Guard::NoAuth2)
}

async fn send(app: &App, method: &str, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let reply = app.answer(request.body(Empty::<Bytes>::new()).unwrap()).await;
    let status = reply.status().as_u16();
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn each_prefix_has_its_own_error_format() {
    let app = app();
    let known = [("x-auth-token", "u"), ("x-roles", "reader")];
    let long = format!("/{}", "x".repeat(60));
    for (method, path, headers, status, words) in [
        ("GET", "/", &[][..], 200, "root"),
        ("GET", "/things/x", &known, 200, "thing"),
        ("GET", "/things/x", &[], 200, "GET /things/x: denied Missing"),
        ("HEAD", "/things/x", &known, 200, ""),
        ("PATCH", "/things/x", &known, 200, "PATCH /things/x: only GET, PUT"),
        ("PATCH", "/things/x", &[], 200, "PATCH /things/x: denied Missing"),
        ("GET", "/nothing", &known, 200, "GET /nothing: nothing"),
        ("GET", "/nothing", &[], 200, "GET /nothing: denied Missing"),
        ("GET", "/broken", &[], 200, "GET /broken: problem internal"),
        ("GET", &long, &known, 200, ": problem uri_too_long"),
        ("GET", "/v1/things", &known, 200, "v1"),
        ("HEAD", "/v1/things", &known, 200, ""),
        ("GET", "/v1/things", &[], 401, "\"code\":\"unauthenticated\""),
        ("GET", "/v1/things", &[("x-auth-token", "u")], 403, "\"code\":\"not_allowed\""),
        ("GET", "/v1/nothing", &[], 404, "\"code\":\"route_unknown\""),
        ("PUT", "/v1/things", &[], 405, "allowed: GET, HEAD"),
    ] {
        let (got, body) = send(&app, method, path, headers).await;
        assert_eq!(got, status, "{method} {path} {headers:?}: {body}");
        assert!(body.ends_with(words) || body.contains(words), "{method} {path}: {body}");
    }
}

#[tokio::test]
async fn body_too_long_is_reported_in_the_faces_format() {
    let request = Request::put("/things/x").header("x-auth-token", "u");
    let request = request.body(Full::from("too long")).unwrap();
    let body = app().answer(request).await.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "PUT /things/x: problem body_too_long");
}

#[tokio::test]
async fn route_can_have_its_own_body_limit() {
    let put = async |body: &'static str| {
        let request = Request::put("/roomy").header("content-type", "text/plain");
        let request = request.body(Full::from(body)).unwrap();
        let body = app().answer(request).await.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    };
    assert_eq!(put("too long").await, "took");
    assert_eq!(put("far too long").await, "PUT /roomy: problem body_too_long");
}

#[tokio::test]
async fn requests_of_foreign_pages_are_refused_in_the_faces_format() {
    let app = app().only_for_hosts(AllowedHosts::new(["allod.example".to_owned()]));
    let known = [("x-auth-token", "u"), ("x-roles", "reader")];
    for (path, headers, status, words) in [
        ("/", &[("host", "localhost:8778")][..], 200, "root"),
        ("/", &[("host", "allod.example")], 200, "root"),
        ("/", &[("host", "evil.example")], 200, "GET /: problem host_not_allowed"),
        ("/things/x", &[("origin", "http://evil.example"), known[0]], 200, "origin_not_allowed"),
        ("/v1/things", &[("host", "evil.example"), known[0], known[1]], 403, "host_not_allowed"),
        ("/v1/things", &[("sec-fetch-site", "cross-site"), known[0]], 403, "origin_not_allowed"),
        ("/v1/no", &[("host", "evil.example")], 403, "host_not_allowed"),
    ] {
        let (got, body) = send(&app, "GET", path, headers).await;
        assert_eq!(got, status, "{path} {headers:?}: {body}");
        assert!(body.contains(words), "{path} {headers:?}: {body}");
    }
    let (status, body) = send(&app, "OPTIONS", "/v1/things", &[("origin", "http://evil")]).await;
    assert!(status == 403 && body.contains("origin_not_allowed"), "{body}");
}

/// A body of a gibibyte that must not be read.
struct UnreadBody;

impl hyper::body::Body for UnreadBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
        panic!("it was read")
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(1 << 30)
    }
}

#[tokio::test]
async fn body_with_an_excessive_content_length_is_not_read() {
    let reply = app().answer(Request::put("/roomy").body(UnreadBody).unwrap()).await;
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "PUT /roomy: problem body_too_long");
}

#[tokio::test]
async fn large_body_is_not_read_if_the_check_of_the_head_refuses() {
    let reply = app().answer(Request::put("/checked").body(UnreadBody).unwrap()).await;
    assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), "refused");
    // The handler checks requests without a large body.
    assert_eq!(send(&app(), "PUT", "/checked", &[]).await.1, "called");
}

#[tokio::test]
async fn face_answers_options_unless_it_is_a_preflight() {
    let cors = Cors { allowed_origin: vec!["http://here".into()], ..Cors::default() };
    let app = app().cors(cors);
    let preflight = [("origin", "http://here"), ("access-control-request-method", "PUT")];
    assert_eq!(send(&app, "OPTIONS", "/roomy", &[]).await.1, "options");
    assert_eq!(send(&app, "OPTIONS", "/roomy", &preflight).await.1, "");
    assert_eq!(send(&app, "OPTIONS", "/things/x", &[]).await, (200, String::new()));
}

#[tokio::test]
async fn cors_headers_are_sent_only_if_configured() {
    let origin = ("origin", "http://here");
    let preflight = [origin, ("access-control-request-method", "GET")];
    // Without CORS rules, OPTIONS is a method like any other.
    assert!(send(&app(), "OPTIONS", "/", &preflight).await.1.contains("denied"));
    let cors = Cors { allowed_origin: vec!["http://here".into()], ..Cors::default() };
    let app = app().cors(cors);
    for (method, path, headers) in [
        ("OPTIONS", "/things/x", &preflight[..]),
        ("GET", "/", &[origin]),
        ("GET", "/no", &[origin]),
    ] {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let reply = app.answer(request.body(Empty::<Bytes>::new()).unwrap()).await;
        assert_eq!(reply.status(), 200, "{method} {path}");
        assert_eq!(reply.headers()["access-control-allow-origin"], "http://here");
        assert!(reply.headers().contains_key("x-request-id"));
    }
}
