//! The route table, and the common part of all handlers.
//!
//! A path that may have more segments is listed three times: without a slash, with a slash, and with segments. The router
//! treats these as different paths.

use std::pin::Pin;
use std::sync::Arc;

use allod_edge::{Access, Call, Reply, Route};
use http::header::ALLOW;
use http::{HeaderName, HeaderValue, Method, StatusCode};

use super::endpoint::ApiEndpoint;
use super::errors::ErrorResponder;
use super::request::{RestconfRequest, admit};
use super::{Restconf, discovery, invoke, media, read, send, streams, write};
use crate::error::{RestconfError, Result};
use crate::path;

pub(crate) const BODY_LIMIT: &str = "restconf_body_bytes_max";

const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");

type HandlerFuture<'a> = Pin<Box<dyn Future<Output = Result<Reply>> + Send + 'a>>;

type HandlerFn = for<'a> fn(&'a Arc<Restconf>, &'a RestconfRequest) -> HandlerFuture<'a>;

struct RestconfRoute {
    method: Method,
    paths: &'static [&'static str],
    access: Access,
    run: HandlerFn,
}

const HOST_META: &[&str] = &["/.well-known/host-meta"];
const API: &[&str] = &["/restconf", "/restconf/", "/rests", "/rests/"];
const VERSION: &[&str] = &["/restconf/yang-library-version", "/rests/yang-library-version"];
const MODULES: &[&str] = &["/restconf/modules", "/restconf/modules/", "/restconf/modules/{*rest}"];
const MODULE_TEXTS: &[&str] = &["/restconf/yang/{file}", "/rests/yang/{file}"];
const STREAMS: &[&str] =
    &["/restconf/streams/{name}/{encoding}", "/rests/streams/{name}/{encoding}"];
const OPERATIONS: &[&str] =
    &["/restconf/operations", "/restconf/operations/", "/rests/operations", "/rests/operations/"];
const OPERATION: &[&str] = &["/restconf/operations/{*rest}", "/rests/operations/{*rest}"];
const DATA: &[&str] = &[
    "/restconf/data",
    "/restconf/data/",
    "/restconf/data/{*rest}",
    "/rests/data",
    "/rests/data/",
    "/rests/data/{*rest}",
    "/restconf/config",
    "/restconf/config/",
    "/restconf/config/{*rest}",
];
const OPERATIONAL: &[&str] =
    &["/restconf/operational", "/restconf/operational/", "/restconf/operational/{*rest}"];

macro_rules! entry {
    ($method:ident $paths:ident, $access:ident, |$face:ident, $request:ident| $run:expr) => {
        RestconfRoute {
            method: Method::$method,
            paths: $paths,
            access: Access::$access,
            run: |$face, $request| Box::pin(async move { $run }),
        }
    };
}

/// In the order in which Allow headers list the methods of a path.
static TABLE: &[RestconfRoute] = &[
    entry!(GET HOST_META, Open, |_face, _request| Ok(discovery::host_meta())),
    entry!(GET API, Read, |_face, request| discovery::api(request)),
    entry!(OPTIONS API, Read, |_face, _request| Ok(options("GET, HEAD, OPTIONS", None))),
    entry!(GET VERSION, Read, |_face, request| discovery::library_version(request)),
    entry!(GET MODULES, Read, |face, request| discovery::modules(face, request)),
    entry!(GET MODULE_TEXTS, Read, |face, request| discovery::text(&face.schema, file(request))),
    entry!(GET STREAMS, Read, |face, request| streams::get(face, request).await),
    entry!(GET OPERATIONS, Read, |face, request| discovery::operations(face, request)),
    entry!(OPTIONS OPERATIONS, Read, |_face, _request| Ok(options("GET, HEAD, OPTIONS", None))),
    entry!(POST OPERATION, Write, |face, request| invoke::operation(face, request).await),
    entry!(OPTIONS OPERATION, Read, |face, request| invoke::options(face, request)),
    entry!(GET DATA, Read, |face, request| read::get(face, request).await),
    entry!(POST DATA, Write, |face, request| write::post(face, request).await),
    entry!(PUT DATA, Answer, |face, request| write::put(face, request).await),
    entry!(PATCH DATA, Answer, |face, request| write::patch(face, request).await),
    entry!(DELETE DATA, Write, |face, request| write::delete(face, request).await),
    entry!(OPTIONS DATA, Read, |face, request| read::options(face, request)),
    entry!(GET OPERATIONAL, Read, |face, request| read::get(face, request).await),
    entry!(OPTIONS OPERATIONAL, Read, |_face, _request| Ok(options("GET, HEAD, OPTIONS", None))),
];

pub(super) fn all(face: &Arc<Restconf>) -> Vec<Route> {
    let mut routes = Vec::new();
    for entry in TABLE {
        for &path in entry.paths {
            let own = face;
            let (face, run) = (face.clone(), entry.run);
            let max = face.settings.restconf_body_bytes_max;
            let answer = move |call: Call| {
                let face = face.clone();
                async move { face.serve(run, call).await }
            };
            let route = Route::new(entry.method.clone(), path, entry.access, answer);
            let route = route.with_body_limit(BODY_LIMIT, max);
            let head_check = {
                let face = own.clone();
                move |call: &Call| face.check_head(call)
            };
            routes.push(route.with_head_check(head_check));
        }
    }
    routes
}

impl Restconf {
    async fn serve(self: &Arc<Restconf>, run: HandlerFn, call: Call) -> Reply {
        let request = RestconfRequest::new(call);
        let answer = match admit(request.call.identity()) {
            Ok(()) => run(self, &request).await,
            Err(error) => Err(error),
        };
        answer.unwrap_or_else(|error| self.refuse(&request, &error))
    }

    fn check_head(&self, call: &Call) -> Result<(), Reply> {
        let headers = &call.head.headers;
        let (endpoint, rest) = ApiEndpoint::of(call.head.uri.path(), headers);
        let admitted = admit(call.identity()).and_then(|()| {
            let edits = matches!(call.head.method, Method::PUT | Method::PATCH);
            match path::parse(&self.schema, endpoint.dialect, rest) {
                Ok(target) if edits => self.ensure_may_write(call.identity(), &target),
                _ => Ok(()),
            }
        });
        admitted.map_err(|error| {
            ErrorResponder { endpoint, headers, settings: &self.settings }.reply(&error)
        })
    }

    fn refuse(&self, request: &RestconfRequest, error: &RestconfError) -> Reply {
        let mut reply = request.error_responder(&self.settings).reply(error);
        if reply.status() == StatusCode::METHOD_NOT_ALLOWED
            && let Ok(target) = path::parse(&self.schema, request.endpoint.dialect, request.rest())
        {
            let allowed = HeaderValue::from_static(read::allowed(self, &target));
            reply.headers_mut().insert(ALLOW, allowed);
        }
        reply
    }
}

/// The methods of a resource. `patches`: the request whose dialect decides the patch media types; `None`: it has no PATCH.
pub(super) fn options(allow: &'static str, patches: Option<&RestconfRequest>) -> Reply {
    let mut reply = send::empty(StatusCode::OK);
    let headers = reply.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(allow));
    let names = patches.map(|request| media::names(request.endpoint.dialect, true));
    if let Some(names) = names.and_then(|names| HeaderValue::try_from(names).ok()) {
        headers.insert(ACCEPT_PATCH, names);
    }
    reply
}

fn file(request: &RestconfRequest) -> &str {
    request.call.head.uri.path().rsplit('/').next().unwrap_or_default()
}
