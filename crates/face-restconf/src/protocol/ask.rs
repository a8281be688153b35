//! One request, and what of it every handler wants to know.

use std::sync::Arc;

use allod_edge::Call;
use http::{HeaderMap, HeaderName, Method, StatusCode};

use super::errors::{self, Listener};
use super::media::{self, Media};
use super::space::{Part, RESTCONF, Space};
use super::{Restconf, error_format};
use crate::codec::Dialect;
use crate::fault::{Fault, Tag};
use crate::settings::Settings;

const MIN_POSITION: HeaderName = HeaderName::from_static("allod-min-position");
const CONSISTENCY: HeaderName = HeaderName::from_static("allod-consistency");

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

    fn text(&self, name: &HeaderName) -> Result<Option<&str>, Fault> {
        self.call.header(name).map_err(|problem| error_format::of_problem(&problem))
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

    /// Waits until what is read is as fresh as the request asks for.
    pub(super) async fn wait_for_position(self: &Arc<Restconf>, ask: &Ask) -> Result<(), Fault> {
        let failed = |why| errors::failure(&why);
        if ask.text(&CONSISTENCY)? == Some("linearizable") {
            self.handle.confirm_tail().await.map_err(failed)?;
        }
        let Some(position) = ask.text(&MIN_POSITION)? else { return Ok(()) };
        let position = position.parse().map_err(|_| {
            let message = format!("allod-min-position is '{position}'; a number is expected");
            Fault::protocol(Tag::InvalidValue, message)
        })?;
        self.handle.wait_for(position).await.map_err(failed)
    }
}
