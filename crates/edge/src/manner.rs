//! How the edge speaks where it has to answer in place of a handler: nothing is at a path, a method is not answered, a
//! stranger is turned away, a limit is passed.
//!
//! Most of the server speaks in problem details. A face that imitates another service says so for the paths below its
//! prefix, and answers in that service's words. Not here: the words of any face.

use std::sync::Arc;

use http::header::ALLOW;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use crate::auth::Denied;
use crate::{Access, Problem, Reply};

/// What is known of a request that no handler answers.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub method: &'a Method,
    pub path: &'a str,
    /// Empty when a handler had them already.
    pub headers: &'a HeaderMap,
    pub request_id: &'a HeaderValue,
}

/// Why no handler answers.
#[derive(Debug)]
pub enum Trouble<'a> {
    /// There is nothing at this path.
    NoRoute,
    /// The path answers to these methods only, as they stand in an Allow header.
    OtherMethods(&'a HeaderValue),
    /// Who sends the request is not known, or may not do this.
    Denied(&'a Denied),
    /// A limit was passed, or a handler failed.
    Other(&'a Problem),
}

/// A way to speak.
pub trait Manner: Send + Sync {
    fn answer(&self, asked: &Asked<'_>, trouble: &Trouble<'_>) -> Reply;

    /// Whether a HEAD is answered as a GET without its body.
    fn head_is_get(&self) -> bool {
        true
    }

    /// Who gets to hear that there is nothing at a path.
    fn access_to_nothing(&self) -> Access {
        Access::Open
    }
}

/// In problem details, as everything speaks that does not say otherwise.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Manner for Plain {
    fn answer(&self, asked: &Asked<'_>, trouble: &Trouble<'_>) -> Reply {
        match trouble {
            Trouble::NoRoute => no_route(asked.path).reply(),
            Trouble::OtherMethods(allow) => wrong_method(asked.method, allow),
            Trouble::Denied(denied) => denied.reply(),
            Trouble::Other(problem) => problem.reply(),
        }
    }
}

/// Which manner counts below which prefix.
pub(crate) struct Manners(Vec<(&'static str, Arc<dyn Manner>)>);

impl Manners {
    pub(crate) fn new() -> Manners {
        Manners(vec![("/", Arc::new(Plain))])
    }

    pub(crate) fn set(&mut self, prefix: &'static str, manner: Arc<dyn Manner>) {
        self.0.retain(|(known, _)| *known != prefix);
        self.0.push((prefix, manner));
        // The longest prefix that fits is the one that counts.
        self.0.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
    }

    pub(crate) fn of(&self, path: &str) -> &dyn Manner {
        let below = |prefix: &str| match path.strip_prefix(prefix) {
            Some(rest) => rest.is_empty() || rest.starts_with('/') || prefix.ends_with('/'),
            None => false,
        };
        let found = self.0.iter().find(|(prefix, _)| below(prefix));
        found.map_or(&Plain as &dyn Manner, |(_, manner)| &**manner)
    }
}

fn no_route(path: &str) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "route_unknown",
        "there is nothing at this path",
        format!("there is no route {path}; a slash inside a name is written %2F"),
    )
}

fn wrong_method(method: &Method, allow: &HeaderValue) -> Reply {
    let allowed = allow.to_str().unwrap_or_default();
    let mut reply = Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_unknown",
        "this path does not answer to this method",
        format!("{method} is not answered here, only {allowed}"),
    )
    .reply();
    reply.headers_mut().insert(ALLOW, allow.clone());
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(u16);

    impl Manner for Named {
        fn answer(&self, _: &Asked<'_>, _: &Trouble<'_>) -> Reply {
            let mut reply = Reply::new(bytes::Bytes::new().into());
            *reply.status_mut() = StatusCode::from_u16(self.0).unwrap();
            reply
        }
    }

    #[test]
    fn the_longest_prefix_that_ends_where_a_segment_does_counts() {
        let mut manners = Manners::new();
        manners.set("/", Arc::new(Named(201)));
        manners.set("/v1", Arc::new(Named(202)));
        manners.set("/v1/deep", Arc::new(Named(203)));
        let (headers, id) = (HeaderMap::new(), HeaderValue::from_static("r"));
        for (path, status) in [
            ("/", 201),
            ("/x", 201),
            ("/v1", 202),
            ("/v1/x", 202),
            ("/v1x", 201),
            ("/v1/deep/x", 203),
            ("*", 404),
        ] {
            let asked = Asked { method: &Method::GET, path, headers: &headers, request_id: &id };
            let reply = manners.of(path).answer(&asked, &Trouble::NoRoute);
            assert_eq!(reply.status(), status, "{path}");
        }
    }
}
