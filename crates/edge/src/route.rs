//! Routes as data, and finding the one that a request means.

use std::fmt;
use std::pin::Pin;

use http::{HeaderValue, Method};

use crate::call::Params;
use crate::meter::RouteMeter;
use crate::{Call, Reply};

/// The future of a reply.
pub type Answer = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// Who may use a route, where clients have to say who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Anybody: it tells nothing and changes nothing.
    Open,
    /// Whoever the server knows; what they may do there is for the face to say.
    Known,
    /// Whoever may look.
    Read,
    /// Whoever may change what is handed out.
    Write,
    /// Whoever looks after the server itself.
    Admin,
}

/// How long a body may be, and the name of the limit that says so.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub limit: &'static str,
    pub max: u64,
}

/// A method and a path, and what answers there. `{name}` in the path is one segment, `{*name}` all that follow.
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    /// Where it takes longer bodies than others do, or only shorter ones.
    pub(crate) room: Option<Room>,
    handler: Box<dyn Fn(Call) -> Answer + Send + Sync>,
}

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

    /// For a handler that boxes its future itself.
    pub fn boxed<F>(method: Method, path: &'static str, access: Access, handler: F) -> Route
    where
        F: Fn(Call) -> Answer + Send + Sync + 'static,
    {
        Route { method, path, access, room: None, handler: Box::new(handler) }
    }

    /// With a limit of its own for the body, under the name that is told to who passes it.
    pub fn taking(self, limit: &'static str, max: u64) -> Route {
        Route { room: Some(Room { limit, max }), ..self }
    }

    pub(crate) fn answer(&self, call: Call) -> Answer {
        (self.handler)(call)
    }
}

/// A path and every method that it answers to.
struct Place {
    path: &'static str,
    routes: Vec<(Route, RouteMeter)>,
    /// For the Allow header.
    allow: HeaderValue,
    /// The same where a HEAD is not answered as a GET.
    allow_without_head: HeaderValue,
}

pub(crate) struct Routes {
    router: matchit::Router<usize>,
    places: Vec<Place>,
}

/// What a method and a path lead to.
pub(crate) enum Found<'a> {
    Route(&'a Route, &'a RouteMeter, Params),
    /// The path exists, with these methods.
    OtherMethods(&'a HeaderValue),
    Nothing,
}

impl Routes {
    pub(crate) fn new(routes: Vec<Route>) -> Result<Routes, matchit::InsertError> {
        let mut all = Routes { router: matchit::Router::new(), places: Vec::new() };
        for route in routes {
            let meter = RouteMeter::new(&route.method, route.path);
            match all.places.iter_mut().find(|place| place.path == route.path) {
                Some(place) => place.routes.push((route, meter)),
                None => {
                    all.router.insert(route.path, all.places.len())?;
                    let (allow, path) = (HeaderValue::from_static(""), route.path);
                    let allow_without_head = allow.clone();
                    let routes = vec![(route, meter)];
                    all.places.push(Place { path, routes, allow, allow_without_head });
                }
            }
        }
        for place in &mut all.places {
            place.allow = place.methods(true);
            place.allow_without_head = place.methods(false);
        }
        Ok(all)
    }

    /// Whether a face answers to OPTIONS at this path itself.
    pub(crate) fn has_options(&self, path: &str) -> bool {
        matches!(self.find(&Method::OPTIONS, path, false), Found::Route(..))
    }

    pub(crate) fn find(&self, method: &Method, path: &str, head_is_get: bool) -> Found<'_> {
        let Ok(found) = self.router.at(path) else { return Found::Nothing };
        let Some(place) = self.places.get(*found.value) else { return Found::Nothing };
        // A HEAD is a GET whose body is not sent; hyper leaves it out.
        let as_get = *method == Method::HEAD && head_is_get;
        let method = if as_get { &Method::GET } else { method };
        match place.routes.iter().find(|(route, _)| route.method == *method) {
            Some((route, meter)) => {
                let mut params = Params::default();
                found.params.iter().for_each(|(_, part)| params.push(path, part));
                Found::Route(route, meter, params)
            }
            None if head_is_get => Found::OtherMethods(&place.allow),
            None => Found::OtherMethods(&place.allow_without_head),
        }
    }
}

impl Place {
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
