//! One request, complete with its body, as a handler sees it.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode};
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::{Identity, Problem};

/// The most parameters that a path can have.
const PARAMS_MAX: usize = 4;

/// A request with its whole body and the places of its path's parameters.
#[derive(Debug)]
pub struct Call {
    pub head: Parts,
    pub body: Bytes,
    params: Params,
    identity: Identity,
    request_id: HeaderValue,
}

/// Where in the path each parameter stands, still percent-encoded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Params {
    places: [(usize, usize); PARAMS_MAX],
    len: usize,
}

impl Params {
    /// Remembers `part`, which is a slice of `path`.
    pub(crate) fn push(&mut self, path: &str, part: &str) {
        let start = (part.as_ptr() as usize).saturating_sub(path.as_ptr() as usize);
        if let Some(place) = self.places.get_mut(self.len) {
            *place = (start, start + part.len());
            self.len += 1;
        }
    }
}

impl Call {
    pub(crate) fn new(
        head: Parts,
        body: Bytes,
        params: Params,
        identity: Identity,
        request_id: HeaderValue,
    ) -> Call {
        Call { head, body, params, identity, request_id }
    }

    /// The name of this request, which the reply and the log carry.
    pub fn request_id(&self) -> &HeaderValue {
        &self.request_id
    }

    /// Who sends it. The headers no longer have the token that says so.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The path's parameter with this number, decoded. It may contain anything, a slash too.
    pub fn param(&self, index: usize) -> Result<Cow<'_, str>, Problem> {
        let (from, to) =
            self.params.places[..self.params.len].get(index).copied().unwrap_or((0, 0));
        let raw = self.head.uri.path().get(from..to).unwrap_or_default();
        if !escapes_are_whole(raw) {
            return Err(Problem::malformed(format!(
                "'{raw}' in the path has a % without two hexadecimal digits; the sign itself is written %25"
            )));
        }
        percent_decode_str(raw).decode_utf8().map_err(|_| {
            Problem::malformed(format!("'{raw}' in the path is not UTF-8 after percent-decoding"))
        })
    }

    /// Name and value of each part of the query, decoded.
    pub fn query(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        form_urlencoded::parse(self.head.uri.query().unwrap_or_default().as_bytes())
    }

    /// The header's text; `None` when it is not there. Twice, or not ASCII, is an error.
    pub fn header(&self, name: &HeaderName) -> Result<Option<&str>, Problem> {
        let mut all = self.head.headers.get_all(name).iter();
        let Some(value) = all.next() else { return Ok(None) };
        if all.next().is_some() {
            return Err(Problem::malformed(format!("the header {name} is there more than once")));
        }
        match value.to_str() {
            Ok(text) => Ok(Some(text.trim())),
            Err(_) => Err(Problem::malformed(format!("the header {name} is not plain text"))),
        }
    }

    /// The body, a JSON object. No body at all reads as `{}`.
    pub fn json<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Problem> {
        self.must_be_json()?;
        let body: &[u8] = if self.body.is_empty() { b"{}" } else { &self.body };
        // A derived reader would also take the fields in order from an array.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(Problem::malformed("the body is not a JSON object"));
        }
        serde_json::from_slice(body).map_err(|_| explain::<T>(body))
    }

    fn must_be_json(&self) -> Result<(), Problem> {
        let Some(given) = self.head.headers.get(CONTENT_TYPE) else { return Ok(()) };
        let bytes = given.as_bytes();
        let essence = bytes.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
        if essence.eq_ignore_ascii_case(b"application/json") || self.body.is_empty() {
            return Ok(());
        }
        Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "media_type_unsupported",
            "the body is of a type that this route does not read",
            format!("the body is {}; send application/json", String::from_utf8_lossy(bytes)),
        ))
    }
}

/// Whether two hexadecimal digits follow every percent sign. Decoding alone would let the others pass as they are, and a
/// client that forgot to encode would go unnoticed until one of its names happened to look encoded.
fn escapes_are_whole(raw: &str) -> bool {
    let mut after = raw.as_bytes().split(|&byte| byte == b'%').skip(1);
    after.all(|part| part.len() >= 2 && part[..2].iter().all(u8::is_ascii_hexdigit))
}

/// Reads a body that is known to be wrong once more, to say where. Slower, and only paid for by who sent it.
fn explain<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Problem {
    let mut json = serde_json::Deserializer::from_slice(body);
    let detail = match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Ok(_) => "there is something after the end of the JSON body".to_owned(),
        Err(error) => match error.path().to_string().as_str() {
            // What is broken stands in no field, or in one whose name was not read.
            "." | "?" => error.into_inner().to_string(),
            path => format!("{path}: {}", error.inner()),
        },
    };
    Problem::malformed(detail)
}
