//! Routes, and the selection of the route of a request.

use std::fmt;
use std::pin::Pin;

use http::{HeaderValue, Method};

use crate::call::Params;
use crate::meter::RouteMeter;
use crate::{Call, Reply};

/// The future of a reply.
pub type ReplyFuture = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// The access that a route requires, if the server authenticates clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// None: the route reveals nothing and changes nothing.
    Open,
    /// Any authenticated client; the face decides what the client may do.
    Authenticated,
    /// Role reader.
    Read,
    /// Role writer, or role allocator: the face decides which of them.
    Answer,
    /// Role writer.
    Write,
    /// Role admin.
    Admin,
}

/// The maximum length of a body, with the name of the limit for the error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimit {
    pub limit: &'static str,
    pub max: u64,
}

/// A method, a path and a handler. `{name}` in the path matches one segment, `{*name}` all remaining ones.
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    /// Replaces the server's limit.
    pub(crate) body_limit: Option<BodyLimit>,
    /// Checks the head of a request before a large body is read.
    pub(crate) head_check: Option<HeadCheck>,
    /// How much longer than other routes the handler may take.
    pub(crate) more_ms: u64,
    handler: Box<dyn Fn(Call) -> ReplyFuture + Send + Sync>,
}

type HeadCheck = Box<dyn Fn(&Call) -> Result<(), Reply> + Send + Sync>;

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

impl Route {
    pub fn new<F, A>(method: Method, path: &'static str, access: Access, handler: F) -> Route
    where
        F: Fn(Call) -> A + Send + Sync + 'static,
        A: Future<Output = Reply> + Send + 'static,
    {
        Route::boxed(method, path, access, move |call| Box::pin(handler(call)))
    }

    /// For a handler that returns a boxed future.
    pub fn boxed<F>(method: Method, path: &'static str, access: Access, handler: F) -> Route
    where
        F: Fn(Call) -> ReplyFuture + Send + Sync + 'static,
    {
        let (body_limit, head_check, more_ms) = (None, None, 0);
        Route { method, path, access, body_limit, head_check, more_ms, handler: Box::new(handler) }
    }

    /// Sets a body limit for this route; `limit` is its name in the error.
    pub fn with_body_limit(self, limit: &'static str, max: u64) -> Route {
        Route { body_limit: Some(BodyLimit { limit, max }), ..self }
    }

    /// Adds a check that needs no body. It runs before a large body is read, so that the body of a client without access is
    /// not read; the handler must make the same check for other requests.
    pub fn with_head_check<F>(self, check: F) -> Route
    where
        F: Fn(&Call) -> Result<(), Reply> + Send + Sync + 'static,
    {
        Route { head_check: Some(Box::new(check)), ..self }
    }

    /// Gives the handler this much time beyond `request_ms_max`, because clients may ask it to wait.
    pub fn with_more_time(self, more_ms: u64) -> Route {
        Route { more_ms, ..self }
    }

    pub(crate) fn answer(&self, call: Call) -> ReplyFuture {
        (self.handler)(call)
    }
}

/// The routes of one path, one for each method.
struct PathRoutes {
    path: &'static str,
    routes: Vec<(Route, RouteMeter)>,
    /// The Allow header.
    allow: HeaderValue,
    /// The same where HEAD is not accepted as GET.
    allow_without_head: HeaderValue,
}

pub(crate) struct Routes {
    router: matchit::Router<usize>,
    paths: Vec<PathRoutes>,
}

/// The result of a lookup.
pub(crate) enum RouteMatch<'a> {
    Found(&'a Route, &'a RouteMeter, Params),
    /// The path has other methods; the value is the Allow header.
    MethodNotAllowed(&'a HeaderValue),
    NotFound,
}

impl Routes {
    pub(crate) fn new(routes: Vec<Route>) -> Result<Routes, matchit::InsertError> {
        let mut all = Routes { router: matchit::Router::new(), paths: Vec::new() };
        for route in routes {
            let meter = RouteMeter::new(&route.method, route.path);
            match all.paths.iter_mut().find(|at_path| at_path.path == route.path) {
                Some(at_path) => at_path.routes.push((route, meter)),
                None => {
                    all.router.insert(route.path, all.paths.len())?;
                    let (allow, path) = (HeaderValue::from_static(""), route.path);
                    let allow_without_head = allow.clone();
                    let routes = vec![(route, meter)];
                    all.paths.push(PathRoutes { path, routes, allow, allow_without_head });
                }
            }
        }
        for at_path in &mut all.paths {
            at_path.allow = at_path.methods(true);
            at_path.allow_without_head = at_path.methods(false);
        }
        Ok(all)
    }

    /// Whether a face has a route for OPTIONS at this path.
    pub(crate) fn has_options(&self, path: &str) -> bool {
        matches!(self.find(&Method::OPTIONS, path, false), RouteMatch::Found(..))
    }

    pub(crate) fn find(&self, method: &Method, path: &str, head_is_get: bool) -> RouteMatch<'_> {
        let Ok(found) = self.router.at(path) else { return RouteMatch::NotFound };
        let Some(at_path) = self.paths.get(*found.value) else { return RouteMatch::NotFound };
        // For HEAD, hyper drops the body of the reply.
        let as_get = *method == Method::HEAD && head_is_get;
        let method = if as_get { &Method::GET } else { method };
        match at_path.routes.iter().find(|(route, _)| route.method == *method) {
            Some((route, meter)) => {
                let mut params = Params::default();
                found.params.iter().for_each(|(_, part)| params.push(path, part));
                RouteMatch::Found(route, meter, params)
            }
            None if head_is_get => RouteMatch::MethodNotAllowed(&at_path.allow),
            None => RouteMatch::MethodNotAllowed(&at_path.allow_without_head),
        }
    }
}

impl PathRoutes {
    fn methods(&self, with_head: bool) -> HeaderValue {
        let mut names: Vec<&str> = Vec::new();
        for (route, _) in &self.routes {
            names.push(route.method.as_str());
            if with_head && route.method == Method::GET {
                names.push("HEAD");
            }
        }
        HeaderValue::from_str(&names.join(", ")).unwrap_or(HeaderValue::from_static(""))
    }
}
