//! Media types: which ones a request body may have, and which one a reply gets.

use http::HeaderMap;
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE};

use crate::codec::{Dialect, Encoding};
use crate::error::{Result, invalid_value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MediaType {
    pub name: &'static str,
    pub encoding: Encoding,
    /// A YANG Patch instead of data.
    pub patch: bool,
}

const fn data(name: &'static str, encoding: Encoding) -> MediaType {
    MediaType { name, encoding, patch: false }
}

const fn patch(name: &'static str, encoding: Encoding) -> MediaType {
    MediaType { name, encoding, patch: true }
}

use Encoding::{Json, Xml};

/// The media types of replies, in order of preference.
const RFC_OFFERS: &[MediaType] = &[
    data("application/yang-data+json", Json),
    data("application/yang-data+xml", Xml),
    data("application/json", Json),
    data("application/xml", Xml),
    data("text/xml", Xml),
];

const DRAFT_OFFERS: &[MediaType] = &[
    data("application/json", Json),
    data("application/xml", Xml),
    data("text/xml", Xml),
    data("application/yang.data+json", Json),
    data("application/yang.data+xml", Xml),
    data("application/yang.operation+json", Json),
    data("application/yang.operation+xml", Xml),
    data("application/yang.api+json", Json),
    data("application/yang.api+xml", Xml),
];

const RFC_PATCHES: &[MediaType] =
    &[patch("application/yang-patch+json", Json), patch("application/yang-patch+xml", Xml)];

const DRAFT_PATCHES: &[MediaType] =
    &[patch("application/yang.patch+json", Json), patch("application/yang.patch+xml", Xml)];

fn offers(dialect: Dialect) -> &'static [MediaType] {
    match dialect {
        Dialect::Draft02 => DRAFT_OFFERS,
        Dialect::Rfc8040 => RFC_OFFERS,
    }
}

fn patches(dialect: Dialect) -> &'static [MediaType] {
    match dialect {
        Dialect::Draft02 => DRAFT_PATCHES,
        Dialect::Rfc8040 => RFC_PATCHES,
    }
}

/// A list for an `Accept-Patch` header or a message.
pub(crate) fn names(dialect: Dialect, with_patches: bool) -> String {
    let patches = if with_patches { patches(dialect) } else { &[] };
    let all: Vec<&str> = offers(dialect).iter().chain(patches).map(|media| media.name).collect();
    all.join(", ")
}

/// The media type of the request body. Without a Content-Type it is JSON; the edge refuses a body without one.
pub(crate) fn of_body(
    headers: &HeaderMap,
    dialect: Dialect,
    takes_patches: bool,
) -> Result<MediaType> {
    let json = offers(dialect)[0];
    let Some(given) = headers.get(CONTENT_TYPE).filter(|given| !given.is_empty()) else {
        return Ok(json);
    };
    let given = String::from_utf8_lossy(given.as_bytes());
    let essence = given.split(';').next().unwrap_or_default().trim();
    let patches = if takes_patches { patches(dialect) } else { &[] };
    let mut known = offers(dialect).iter().chain(patches);
    known.find(|media| media.name.eq_ignore_ascii_case(essence)).copied().ok_or_else(|| {
        let known = names(dialect, takes_patches);
        let message = format!("unsupported media type {essence}; use one of {known}");
        invalid_value(message).with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
    })
}

/// The media type of the reply: an accepted one, or, without an Accept header, the encoding of the request body.
pub(crate) fn of_reply(headers: &HeaderMap, dialect: Dialect) -> Result<MediaType> {
    if !headers.contains_key(ACCEPT) {
        return Ok(as_sent(headers, dialect));
    }
    accepted(headers, offers(dialect)).ok_or_else(|| {
        let message = format!(
            "none of the accepted media types is available; use one of {}",
            names(dialect, false)
        );
        invalid_value(message).with_status(StatusCode::NOT_ACCEPTABLE)
    })
}

/// The media type of an error: that of a reply, else the encoding of the request body.
pub(crate) fn of_error(headers: &HeaderMap, dialect: Dialect) -> MediaType {
    of_reply(headers, dialect).unwrap_or_else(|_| as_sent(headers, dialect))
}

fn as_sent(headers: &HeaderMap, dialect: Dialect) -> MediaType {
    let offers = offers(dialect);
    let sent = of_body(headers, dialect, true).map_or(Json, |media| media.encoding);
    let same = offers.iter().find(|offer| offer.encoding == sent);
    same.copied().unwrap_or(offers[0])
}

/// Whether the headers name media types of RFC 8040. This decides the dialect of a path that both dialects have.
pub(crate) fn names_rfc8040_types(headers: &HeaderMap) -> bool {
    let named = headers.get_all(ACCEPT).iter().chain(headers.get_all(CONTENT_TYPE));
    named.into_iter().any(|value| {
        let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        text.contains("application/yang-data+")
    })
}

/// The best offer for the Accept header; the first one without a header.
///
/// The most specific range that covers an offer decides its quality. Ties go to the more specific range, then to the range
/// that the client named first, then to the earlier offer.
fn accepted(headers: &HeaderMap, offers: &[MediaType]) -> Option<MediaType> {
    let mut text = String::new();
    for line in headers.get_all(ACCEPT) {
        text.push_str(&String::from_utf8_lossy(line.as_bytes()));
        text.push(',');
    }
    let ranges: Vec<MediaRange<'_>> = text.split(',').filter_map(MediaRange::read).collect();
    if ranges.is_empty() {
        return offers.first().copied();
    }
    let mut best: Option<(OfferRank, MediaType)> = None;
    for offer in offers {
        let weight = weigh(&ranges, offer.name).filter(|weight| weight.quality > 0);
        if let Some(weight) = weight
            && best.as_ref().is_none_or(|(known, _)| weight > *known)
        {
            best = Some((weight, *offer));
        }
    }
    best.map(|(_, media)| media)
}

/// The rank of an offer; greater is better.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OfferRank {
    /// In thousandths.
    quality: u16,
    specificity: u8,
    early: std::cmp::Reverse<usize>,
}

fn weigh(ranges: &[MediaRange<'_>], offer: &str) -> Option<OfferRank> {
    let (kind, subkind) = offer.split_once('/')?;
    let mut best: Option<OfferRank> = None;
    for (index, range) in ranges.iter().enumerate() {
        let own = range.kind.eq_ignore_ascii_case(kind);
        let specificity = match range.subkind {
            sub if own && sub.eq_ignore_ascii_case(subkind) => 2,
            "*" if own => 1,
            "*" if range.kind == "*" => 0,
            _ => continue,
        };
        if best.as_ref().is_none_or(|known| specificity > known.specificity) {
            let early = std::cmp::Reverse(index);
            best = Some(OfferRank { quality: range.quality, specificity, early });
        }
    }
    best
}

struct MediaRange<'a> {
    kind: &'a str,
    subkind: &'a str,
    quality: u16,
}

impl MediaRange<'_> {
    /// `None` if the text is not a media range; it is then ignored.
    fn read(text: &str) -> Option<MediaRange<'_>> {
        let mut parts = text.split(';').map(str::trim);
        let (kind, subkind) = parts.next()?.split_once('/')?;
        let quality = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then(|| quality(value.trim()))
        });
        Some(MediaRange { kind, subkind, quality: quality.unwrap_or(1000) })
    }
}

/// `0.815` as 815. An invalid quality counts as 1.
fn quality(text: &str) -> u16 {
    let value: f32 = text.parse().unwrap_or(1.0);
    if value.is_finite() { (value.clamp(0.0, 1.0) * 1000.0).round() as u16 } else { 1000 }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(all: &[(HeaderName, &'static str)]) -> HeaderMap {
        all.iter().map(|(name, text)| (name.clone(), HeaderValue::from_static(text))).collect()
    }

    #[test]
    fn the_reply_has_the_media_type_with_the_highest_quality() {
        const RFC: Dialect = Dialect::Rfc8040;
        const DRAFT: Dialect = Dialect::Draft02;
        for (accept, dialect, wanted) in [
            ("", RFC, Some("application/yang-data+json")),
            ("", DRAFT, Some("application/json")),
            ("*/*", RFC, Some("application/yang-data+json")),
            ("*/*", DRAFT, Some("application/json")),
            ("application/*", RFC, Some("application/yang-data+json")),
            ("application/yang-data+xml", RFC, Some("application/yang-data+xml")),
            ("application/xml", RFC, Some("application/xml")),
            ("application/json", RFC, Some("application/json")),
            ("text/*", RFC, Some("text/xml")),
            ("application/xml, application/json", RFC, Some("application/xml")),
            ("application/xml;q=0.5, application/json", RFC, Some("application/json")),
            ("application/xml;q=0.5, */*;q=0.1", RFC, Some("application/xml")),
            ("*/*, application/xml", RFC, Some("application/xml")),
            ("*/*, application/yang-data+json;q=0", RFC, Some("application/yang-data+xml")),
            ("APPLICATION/JSON; Q=1.0", RFC, Some("application/json")),
            ("application/yang.data+xml", DRAFT, Some("application/yang.data+xml")),
            ("application/yang.data+xml", RFC, None),
            ("text/html", RFC, None),
            ("text/html, */*;q=0.1", RFC, Some("application/yang-data+json")),
            ("application/json;q=0", DRAFT, None),
            ("nonsense", RFC, Some("application/yang-data+json")),
        ] {
            let all = headers(&[(ACCEPT, accept)]);
            let media = of_reply(&all, dialect);
            assert_eq!(media.ok().map(|media| media.name), wanted, "{accept}");
        }
        let none = of_reply(&headers(&[(ACCEPT, "image/png")]), RFC).unwrap_err();
        assert_eq!(none.status, Some(StatusCode::NOT_ACCEPTABLE));
    }

    #[test]
    fn a_body_must_have_a_media_type_of_its_dialect() {
        for (given, rfc, draft) in [
            ("", Some(Json), Some(Json)),
            ("application/json", Some(Json), Some(Json)),
            ("application/json; charset=utf-8", Some(Json), Some(Json)),
            ("Application/XML", Some(Xml), Some(Xml)),
            ("text/xml", Some(Xml), Some(Xml)),
            ("application/yang-data+xml", Some(Xml), None),
            ("application/yang.operation+json", None, Some(Json)),
            ("application/yang-patch+json", None, None),
            ("text/plain", None, None),
        ] {
            let all = headers(&[(CONTENT_TYPE, given)]);
            for (dialect, wanted) in [(Dialect::Rfc8040, rfc), (Dialect::Draft02, draft)] {
                let media = of_body(&all, dialect, false);
                assert_eq!(media.ok().map(|media| media.encoding), wanted, "{given} {dialect:?}");
            }
        }
        let patch = headers(&[(CONTENT_TYPE, "application/yang-patch+xml")]);
        let media = of_body(&patch, Dialect::Rfc8040, true);
        assert_eq!(media, Ok(RFC_PATCHES[1]));
        let other = of_body(&patch, Dialect::Draft02, true).unwrap_err();
        assert_eq!(other.status, Some(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }

    #[test]
    fn an_error_has_the_media_type_of_a_reply_or_of_the_request() {
        for (all, wanted) in [
            (&[][..], "application/yang-data+json"),
            (&[(ACCEPT, "application/xml")], "application/xml"),
            (&[(ACCEPT, "text/html"), (CONTENT_TYPE, "application/xml")], {
                "application/yang-data+xml"
            }),
            (&[(CONTENT_TYPE, "application/yang-patch+xml")], "application/yang-data+xml"),
            (&[(CONTENT_TYPE, "text/plain")], "application/yang-data+json"),
        ] {
            assert_eq!(of_error(&headers(all), Dialect::Rfc8040).name, wanted, "{all:?}");
        }
    }
}
