//! The table of routes, and what happens around every handler.
//!
//! A path with anything behind it is there three times, without a slash, with one, and with more, because to a router these
//! are three.

use std::pin::Pin;
use std::sync::Arc;

use allod_edge::{Access, Call, Reply, Route};
use http::header::ALLOW;
use http::{HeaderName, HeaderValue, Method, StatusCode};

use super::ask::Ask;
use super::{Restconf, discovery, invoke, media, read, streams, write};
use crate::fault::Fault;
use crate::path;

pub(crate) const BODY_LIMIT: &str = "restconf_body_bytes_max";

const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");

type Answering<'a> = Pin<Box<dyn Future<Output = Result<Reply, Fault>> + Send + 'a>>;

/// What answers.
type Run = for<'a> fn(&'a Arc<Restconf>, &'a Ask) -> Answering<'a>;

struct Entry {
    method: Method,
    paths: &'static [&'static str],
    access: Access,
    run: Run,
}

const HOST_META: &[&str] = &["/.well-known/host-meta"];
const API: &[&str] = &["/restconf", "/restconf/", "/rests", "/rests/"];
const VERSION: &[&str] = &["/restconf/yang-library-version", "/rests/yang-library-version"];
const MODULES: &[&str] = &["/restconf/modules", "/restconf/modules/", "/restconf/modules/{*rest}"];
const TEXTS: &[&str] = &["/restconf/yang/{file}", "/rests/yang/{file}"];
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
    ($method:ident $paths:ident, $access:ident, |$face:ident, $ask:ident| $run:expr) => {
        Entry {
            method: Method::$method,
            paths: $paths,
            access: Access::$access,
            run: |$face, $ask| Box::pin(async move { $run }),
        }
    };
}

/// In the order in which Allow headers list the methods of a path.
static TABLE: &[Entry] = &[
    entry!(GET HOST_META, Open, |_face, _ask| Ok(discovery::host_meta())),
    entry!(GET API, Read, |_face, ask| discovery::api(ask)),
    entry!(OPTIONS API, Read, |_face, _ask| Ok(options("GET, HEAD, OPTIONS", None))),
    entry!(GET VERSION, Read, |_face, ask| discovery::library_version(ask)),
    entry!(GET MODULES, Read, |face, ask| discovery::modules(face, ask)),
    entry!(GET TEXTS, Read, |face, ask| discovery::text(&face.schema, file(ask))),
    entry!(GET STREAMS, Read, |face, ask| streams::get(face, ask).await),
    entry!(GET OPERATIONS, Read, |face, ask| discovery::operations(face, ask)),
    entry!(OPTIONS OPERATIONS, Read, |_face, _ask| Ok(options("GET, HEAD, OPTIONS", None))),
    entry!(POST OPERATION, Write, |face, ask| invoke::operation(face, ask).await),
    entry!(OPTIONS OPERATION, Read, |face, ask| invoke::options(face, ask)),
    entry!(GET DATA, Read, |face, ask| read::get(face, ask).await),
    entry!(POST DATA, Write, |face, ask| write::post(face, ask).await),
    entry!(PUT DATA, Write, |face, ask| write::put(face, ask).await),
    entry!(PATCH DATA, Write, |face, ask| write::patch(face, ask).await),
    entry!(DELETE DATA, Write, |face, ask| write::delete(face, ask).await),
    entry!(OPTIONS DATA, Read, |face, ask| read::options(face, ask)),
    entry!(GET OPERATIONAL, Read, |face, ask| read::get(face, ask).await),
    entry!(OPTIONS OPERATIONAL, Read, |_face, _ask| Ok(options("GET, HEAD, OPTIONS", None))),
];

pub(super) fn all(face: &Arc<Restconf>) -> Vec<Route> {
    let mut routes = Vec::new();
    for entry in TABLE {
        for &path in entry.paths {
            let (face, run) = (face.clone(), entry.run);
            let max = face.settings.restconf_body_bytes_max;
            let answer = move |call: Call| {
                let face = face.clone();
                async move { face.serve(run, call).await }
            };
            let route = Route::new(entry.method.clone(), path, entry.access, answer);
            routes.push(route.with_body_limit(BODY_LIMIT, max));
        }
    }
    routes
}

impl Restconf {
    async fn serve(self: &Arc<Restconf>, run: Run, call: Call) -> Reply {
        let ask = Ask::new(call);
        let answer = match self.admit(&ask) {
            Ok(()) => run(self, &ask).await,
            Err(fault) => Err(fault),
        };
        answer.unwrap_or_else(|fault| self.refuse(&ask, &fault))
    }

    fn refuse(&self, ask: &Ask, fault: &Fault) -> Reply {
        let mut reply = ask.listener(&self.settings).tell(fault);
        if reply.status() == StatusCode::METHOD_NOT_ALLOWED
            && let Ok(target) = path::parse(&self.schema, ask.space.dialect, ask.rest())
        {
            let allowed = HeaderValue::from_static(read::allowed(self, &target));
            reply.headers_mut().insert(ALLOW, allowed);
        }
        reply
    }
}

/// What a resource answers to. `patches`: the media types that can change it.
pub(super) fn options(allow: &'static str, patches: Option<&Ask>) -> Reply {
    let mut reply = Reply::new(bytes::Bytes::new().into());
    *reply.status_mut() = StatusCode::OK;
    let headers = reply.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(allow));
    let names = patches.map(|ask| media::names(ask.space.dialect, true));
    if let Some(names) = names.and_then(|names| HeaderValue::try_from(names).ok()) {
        headers.insert(ACCEPT_PATCH, names);
    }
    reply
}

fn file(ask: &Ask) -> &str {
    ask.call.head.uri.path().rsplit('/').next().unwrap_or_default()
}
