//! One request, and what of it every handler wants to know.

use std::sync::Arc;

use allod_edge::{Call, Consistency};
use http::{HeaderMap, Method, StatusCode};

use super::Restconf;
use super::errors::{self, Listener};
use super::media::{self, Media};
use super::space::{Part, RESTCONF, Space};
use crate::codec::Dialect;
use crate::fault::{Fault, Tag};
use crate::settings::Settings;

pub(crate) struct Ask {
    pub call: Call,
    pub space: Space,
    /// Where in the path that begins which is not our own to name.
    rest: usize,
}

impl Ask {
    pub(crate) fn new(call: Call) -> Ask {
        let path = call.head.uri.path();
        let (space, rest) = Space::of(path, &call.head.headers);
        let rest = path.len() - rest.len();
        Ask { call, space, rest }
    }

    pub(crate) fn method(&self) -> &Method {
        &self.call.head.method
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.call.head.headers
    }

    /// What the path names below the root and its part, still percent-encoded.
    pub(crate) fn rest(&self) -> &str {
        self.call.head.uri.path().get(self.rest..).unwrap_or_default()
    }

    pub(crate) fn query(&self) -> &str {
        self.call.head.uri.query().unwrap_or_default()
    }

    /// What the reply is written in.
    pub(crate) fn reply_media(&self) -> Result<Media, Fault> {
        media::of_reply(self.headers(), self.space.dialect)
    }

    /// What the body is written in. Where both dialects meet, the types of both are read.
    pub(crate) fn body_media(&self) -> Result<Media, Fault> {
        let takes_patches = *self.method() == Method::PATCH;
        let own = media::of_body(self.headers(), self.space.dialect, takes_patches);
        match own {
            Err(fault) if self.space.part == Part::Operations && self.space.root == RESTCONF => {
                media::of_body(self.headers(), Dialect::Draft02, false).map_err(|_| fault)
            }
            own => own,
        }
    }

    pub(crate) fn listener<'a>(&'a self, settings: &'a Settings) -> Listener<'a> {
        Listener { space: self.space, headers: self.headers(), settings }
    }
}

impl Restconf {
    /// Whether this client may be here at all. A token for some pools only may not: data of a model is not of one pool.
    pub(super) fn admit(&self, ask: &Ask) -> Result<(), Fault> {
        match ask.call.identity().scope() {
            None => Ok(()),
            Some(scope) => Err(Fault::protocol(
                Tag::AccessDenied,
                format!("the token is only for pools whose names begin with '{scope}', and this is about all"),
            )
            .with_status(StatusCode::FORBIDDEN)),
        }
    }

    /// Waits until reads have the consistency that the request's headers ask for.
    pub(super) async fn wait_for_position(self: &Arc<Restconf>, ask: &Ask) -> Result<(), Fault> {
        let Consistency { linearizable, min_position } = Consistency::of(&ask.call)
            .map_err(|problem| Fault::protocol(Tag::InvalidValue, problem.detail))?;
        let waited = self.handle.wait_for_read(linearizable, min_position).await;
        waited.map_err(|why| errors::failure(&why))
    }
}
