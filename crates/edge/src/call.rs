//! One request with its whole body, as a handler receives it.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode};
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::{Identity, Problem};

/// The most parameters of a path.
const PARAMS_MAX: usize = 4;

/// A request with its whole body and the parameters of its path.
#[derive(Debug)]
pub struct Call {
    pub head: Parts,
    pub body: Bytes,
    params: Params,
    identity: Identity,
    request_id: HeaderValue,
}

/// Start and end of each parameter in the path, which is still percent-encoded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Params {
    ranges: [(usize, usize); PARAMS_MAX],
    len: usize,
}

impl Params {
    /// Adds `part`, which is a slice of `path`.
    pub(crate) fn push(&mut self, path: &str, part: &str) {
        let start = (part.as_ptr() as usize).saturating_sub(path.as_ptr() as usize);
        if let Some(range) = self.ranges.get_mut(self.len) {
            *range = (start, start + part.len());
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

    /// The id of this request in the reply and in the log.
    pub fn request_id(&self) -> &HeaderValue {
        &self.request_id
    }

    /// The authenticated client. Its token has been removed from the headers.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The path parameter with this index, percent-decoded. It may contain any character, also a slash.
    pub fn param(&self, index: usize) -> Result<Cow<'_, str>, Problem> {
        let (from, to) =
            self.params.ranges[..self.params.len].get(index).copied().unwrap_or((0, 0));
        let raw = self.head.uri.path().get(from..to).unwrap_or_default();
        if !escapes_are_whole(raw) {
            return Err(Problem::malformed(format!(
                "'{raw}' in the path has a % that two hexadecimal digits do not follow; write the character % as %25"
            )));
        }
        percent_decode_str(raw).decode_utf8().map_err(|_| {
            Problem::malformed(format!("'{raw}' in the path is not UTF-8 after percent-decoding"))
        })
    }

    /// Names and values of the query parameters, decoded.
    pub fn query(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        form_urlencoded::parse(self.head.uri.query().unwrap_or_default().as_bytes())
    }

    /// The header's text; `None` if it is absent. A repeated or non-ASCII header is an error.
    pub fn header(&self, name: &HeaderName) -> Result<Option<&str>, Problem> {
        let mut all = self.head.headers.get_all(name).iter();
        let Some(value) = all.next() else { return Ok(None) };
        if all.next().is_some() {
            return Err(Problem::malformed(format!("the header {name} is repeated")));
        }
        match value.to_str() {
            Ok(text) => Ok(Some(text.trim())),
            Err(_) => Err(Problem::malformed(format!("the header {name} is not ASCII"))),
        }
    }

    /// The body, which must be a JSON object. An empty body is read as `{}`.
    pub fn json<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Problem> {
        self.must_be_json()?;
        let body: &[u8] = if self.body.is_empty() { b"{}" } else { &self.body };
        // serde's derived readers would also accept an array of the fields in order.
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
            "unsupported media type",
            format!("the body is {}; send application/json", String::from_utf8_lossy(bytes)),
        ))
    }
}

/// Whether two hexadecimal digits follow every percent sign. The decoder leaves other percent signs as they are, which
/// would hide that a client does not encode names.
fn escapes_are_whole(raw: &str) -> bool {
    let mut after = raw.as_bytes().split(|&byte| byte == b'%').skip(1);
    after.all(|part| part.len() >= 2 && part[..2].iter().all(u8::is_ascii_hexdigit))
}

/// Reads a malformed body again with a slower reader that knows where the error is.
fn explain<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Problem {
    let mut json = serde_json::Deserializer::from_slice(body);
    let detail = match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Ok(_) => "the body continues after the end of the JSON object".to_owned(),
        Err(error) => match error.path().to_string().as_str() {
            // The error is outside any field.
            "." | "?" => error.into_inner().to_string(),
            path => format!("{path}: {}", error.inner()),
        },
    };
    Problem::malformed(detail)
}
