//! Content negotiation, by the rules of WebOb, the web library of Placement.
//!
//! No `Accept` header, an empty one and exactly `*/*` mean JSON. Otherwise the most specific range that covers an offer
//! decides its weight, and between equal weights the first offer wins. A header that cannot be parsed excludes nothing.

use http::HeaderMap;
use http::header::ACCEPT;

pub(crate) const JSON: &str = "application/json";
const HTML: &str = "text/html";

/// The media type of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorMediaType {
    Json,
    Html,
    Plain,
}

/// The `Accept` header of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Accept {
    /// As the client sent it; `application/json` if it is absent, empty or `*/*`.
    pub text: String,
}

/// A media range and its weight in thousandths.
struct MediaRange<'a> {
    kind: &'a str,
    subkind: &'a str,
    weight: u16,
    /// Has parameters, so it covers none of the offers.
    narrow: bool,
}

impl Accept {
    pub(crate) fn of(headers: &HeaderMap) -> Accept {
        let mut text = String::new();
        for line in headers.get_all(ACCEPT) {
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(&String::from_utf8_lossy(line.as_bytes()));
        }
        if text.is_empty() || text == "*/*" {
            text = JSON.to_owned();
        }
        Accept { text }
    }

    pub(crate) fn takes_json(&self) -> bool {
        self.text == JSON || self.weigh(JSON).is_none_or(|weight| weight > 0)
    }

    /// The media type of an error for this client.
    pub(crate) fn error_media_type(&self) -> ErrorMediaType {
        if self.text == JSON {
            return ErrorMediaType::Json;
        }
        match (self.weigh(HTML), self.weigh(JSON)) {
            (None, _) | (_, None) => ErrorMediaType::Html,
            (Some(0), Some(0)) => ErrorMediaType::Plain,
            (Some(html), Some(json)) if html >= json => ErrorMediaType::Html,
            _ => ErrorMediaType::Json,
        }
    }

    /// The weight of an offer; `None` if the header cannot be parsed.
    fn weigh(&self, offer: &str) -> Option<u16> {
        let (kind, subkind) = offer.split_once('/')?;
        let mut best = (0, 0);
        for part in split_outside_quotes(&self.text, ',') {
            let part = part.trim();
            if part.is_empty() {
                continue;
            }
            let range = MediaRange::read(part)?;
            let specificity = match (range.kind, range.subkind) {
                _ if range.narrow => 0,
                (own, sub)
                    if own.eq_ignore_ascii_case(kind) && sub.eq_ignore_ascii_case(subkind) =>
                {
                    3
                }
                (own, "*") if own.eq_ignore_ascii_case(kind) => 2,
                ("*", "*") => 1,
                _ => 0,
            };
            if specificity > best.0 {
                best = (specificity, range.weight);
            }
        }
        Some(best.1)
    }
}

impl MediaRange<'_> {
    fn read(part: &str) -> Option<MediaRange<'_>> {
        let mut pieces = split_outside_quotes(part, ';').into_iter();
        let (kind, subkind) = pieces.next()?.trim().split_once('/')?;
        if !is_token(kind) || !is_token(subkind) || (kind == "*" && subkind != "*") {
            return None;
        }
        let mut range = MediaRange { kind, subkind, weight: 1000, narrow: false };
        for piece in pieces {
            let (name, value) = piece.trim().split_once('=')?;
            match name {
                "q" | "Q" => {
                    range.weight = weight(value)?;
                    break;
                }
                _ => range.narrow = true,
            }
        }
        Some(range)
    }
}

/// `0.815` as 815: at most three digits after the point, and at most 1.
fn weight(text: &str) -> Option<u16> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let digits = rest.len() <= 3 && rest.bytes().all(|byte| byte.is_ascii_digit());
    let rest: u16 = format!("{rest:0<3}").parse().ok()?;
    match whole {
        "0" if digits => Some(rest),
        "1" if digits && rest == 0 => Some(1000),
        _ => None,
    }
}

fn is_token(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

fn split_outside_quotes(text: &str, at: char) -> Vec<&str> {
    let mut quoted = false;
    text.split(|c: char| {
        quoted ^= c == '"';
        c == at && !quoted
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_media_type_follows_the_weights_and_html_wins_ties() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for (text, error_media_type, json) in [
            ("", ErrorMediaType::Json, true),
            ("*/*", ErrorMediaType::Json, true),
            ("application/json", ErrorMediaType::Json, true),
            ("application/json, text/html", ErrorMediaType::Html, true),
            ("application/json, */*", ErrorMediaType::Html, true),
            ("application/*", ErrorMediaType::Json, true),
            ("text/html;q=0.5, application/json", ErrorMediaType::Json, true),
            ("*/*;q=0.1, text/html;q=0", ErrorMediaType::Json, true),
            ("text/plain", ErrorMediaType::Plain, false),
            ("application/json;q=0", ErrorMediaType::Plain, false),
            ("application/json;v=1", ErrorMediaType::Plain, false),
            (browser, ErrorMediaType::Html, true),
            ("text/html,application/xhtml+xml,application/xml;q=0.9", ErrorMediaType::Html, false),
            ("nonsense", ErrorMediaType::Html, true),
            ("text/html;q=7", ErrorMediaType::Html, true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(text));
            let accept = Accept::of(&headers);
            assert_eq!(
                (accept.error_media_type(), accept.takes_json()),
                (error_media_type, json),
                "{text}"
            );
        }
        assert_eq!(Accept::of(&HeaderMap::new()).text, JSON);
    }
}
