//! Which form of an answer a client takes, by the rules that Placement's web library follows.
//!
//! No header, an empty one, and exactly `*/*` all mean JSON. Otherwise the offers are weighed by the most specific range
//! that covers each, and of equal weights the one offered first wins. A header that cannot be read rules nothing out.

use http::HeaderMap;
use http::header::ACCEPT;

pub(crate) const JSON: &str = "application/json";
const HTML: &str = "text/html";

/// In which form an error is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Html,
    Plain,
}

/// What a client said that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Accept {
    /// As the client wrote it; what stands for nothing has been written out.
    pub text: String,
}

/// A range of media types and how much it is wanted, in thousandths.
struct Range<'a> {
    kind: &'a str,
    subkind: &'a str,
    weight: u16,
    /// With parameters it covers only what has the same ones, and no offer has any.
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

    /// In which form this client is told of an error.
    pub(crate) fn form(&self) -> Form {
        if self.text == JSON {
            return Form::Json;
        }
        match (self.weigh(HTML), self.weigh(JSON)) {
            (None, _) | (_, None) => Form::Html,
            (Some(0), Some(0)) => Form::Plain,
            (Some(html), Some(json)) if html >= json => Form::Html,
            _ => Form::Json,
        }
    }

    /// How much an offer is wanted; `None` when the header says nothing that can be read.
    fn weigh(&self, offer: &str) -> Option<u16> {
        let (kind, subkind) = offer.split_once('/')?;
        let mut best = (0, 0);
        for part in split_outside_quotes(&self.text, ',') {
            let part = part.trim();
            if part.is_empty() {
                continue;
            }
            let range = Range::read(part)?;
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

impl Range<'_> {
    fn read(part: &str) -> Option<Range<'_>> {
        let mut pieces = split_outside_quotes(part, ';').into_iter();
        let (kind, subkind) = pieces.next()?.trim().split_once('/')?;
        if !is_token(kind) || !is_token(subkind) || (kind == "*" && subkind != "*") {
            return None;
        }
        let mut range = Range { kind, subkind, weight: 1000, narrow: false };
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

/// `0.815` as 815; at most three digits after the point, and not more than 1.
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
    fn the_form_follows_the_weights_and_html_wins_ties() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for (text, form, json) in [
            ("", Form::Json, true),
            ("*/*", Form::Json, true),
            ("application/json", Form::Json, true),
            ("application/json, text/html", Form::Html, true),
            ("application/json, */*", Form::Html, true),
            ("application/*", Form::Json, true),
            ("text/html;q=0.5, application/json", Form::Json, true),
            ("*/*;q=0.1, text/html;q=0", Form::Json, true),
            ("text/plain", Form::Plain, false),
            ("application/json;q=0", Form::Plain, false),
            ("application/json;v=1", Form::Plain, false),
            (browser, Form::Html, true),
            ("text/html,application/xhtml+xml,application/xml;q=0.9", Form::Html, false),
            ("nonsense", Form::Html, true),
            ("text/html;q=7", Form::Html, true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(text));
            let accept = Accept::of(&headers);
            assert_eq!((accept.form(), accept.takes_json()), (form, json), "{text}");
        }
        assert_eq!(Accept::of(&HeaderMap::new()).text, JSON);
    }
}
