//! Entity tags and times of change, and what requests make of them: If-Match, If-None-Match, If-Modified-Since and
//! If-Unmodified-Since.
//!
//! The tag of a resource is the position of the journal at which it changed last; in XML it has an ending of its own,
//! because a strong tag stands for the very bytes. Not here: who knows when something changed; that is the model.

use allod_edge::time;
use http::header::{
    ETAG, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, LAST_MODIFIED,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::codec::Format;
use crate::fault::{Fault, Tag};
use crate::model::Change;

const XML_ENDING: &str = "-xml";

/// What must hold of the target for a request to be carried out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
    if_modified_since: Option<u64>,
    if_unmodified_since: Option<u64>,
}

/// `*`, or the positions that tags of ours stand for. Tags that are not ours fit nothing.
#[derive(Debug, PartialEq, Eq)]
enum Tags {
    Any,
    Positions(Vec<u64>),
}

impl Tags {
    fn read(headers: &HeaderMap, name: &HeaderName, weak: bool) -> Option<Tags> {
        let mut positions = Vec::new();
        for line in headers.get_all(name).iter() {
            for text in String::from_utf8_lossy(line.as_bytes()).split(',').map(str::trim) {
                if text == "*" {
                    return Some(Tags::Any);
                }
                let strong = match text.strip_prefix("W/") {
                    Some(rest) if weak => rest,
                    _ => text,
                };
                let inner = strong.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                let plain = inner.map(|text| text.strip_suffix(XML_ENDING).unwrap_or(text));
                positions.extend(plain.and_then(|text| text.parse::<u64>().ok()));
            }
        }
        headers.contains_key(name).then_some(Tags::Positions(positions))
    }

    /// `now`: when the target changed last; `None` when there is none.
    fn fit(&self, now: Option<&Change>) -> bool {
        match (self, now) {
            (_, None) => false,
            (Tags::Any, Some(_)) => true,
            (Tags::Positions(all), Some(now)) => all.contains(&now.position),
        }
    }
}

/// What becomes of a read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fresh {
    /// It is answered.
    Shown,
    /// The client has it already.
    NotModified,
}

impl Conditions {
    pub(crate) fn of(headers: &HeaderMap) -> Conditions {
        let time = |name| {
            headers.get(name).and_then(|text| text.to_str().ok()).and_then(time::parse_http_date)
        };
        Conditions {
            if_match: Tags::read(headers, &IF_MATCH, false),
            if_none_match: Tags::read(headers, &IF_NONE_MATCH, true),
            if_modified_since: time(IF_MODIFIED_SINCE),
            if_unmodified_since: time(IF_UNMODIFIED_SINCE),
        }
    }

    /// Whether an edit rests on how its target is.
    pub(crate) fn any_for_edit(&self) -> bool {
        self.if_match.is_some()
            || self.if_none_match.is_some()
            || self.if_unmodified_since.is_some()
    }

    pub(crate) fn of_read(&self, now: Option<&Change>) -> Result<Fresh, Fault> {
        self.hold(now)?;
        let unmodified = match (&self.if_none_match, self.if_modified_since) {
            (Some(tags), _) => tags.fit(now),
            (None, Some(since)) => second_of(now).is_some_and(|second| second <= since / 1000),
            (None, None) => false,
        };
        Ok(if unmodified { Fresh::NotModified } else { Fresh::Shown })
    }

    pub(crate) fn of_edit(&self, now: Option<&Change>) -> Result<(), Fault> {
        self.hold(now)?;
        match &self.if_none_match {
            Some(tags) if tags.fit(now) => Err(failed("If-None-Match", now)),
            _ => Ok(()),
        }
    }

    fn hold(&self, now: Option<&Change>) -> Result<(), Fault> {
        match (&self.if_match, self.if_unmodified_since) {
            (Some(tags), _) if !tags.fit(now) => Err(failed("If-Match", now)),
            (None, Some(since)) if second_of(now).is_none_or(|second| second > since / 1000) => {
                Err(failed("If-Unmodified-Since", now))
            }
            _ => Ok(()),
        }
    }
}

/// Headers count in whole seconds.
fn second_of(now: Option<&Change>) -> Option<u64> {
    now.and_then(|now| now.at_ms).map(|ms| ms / 1000)
}

fn failed(header: &str, now: Option<&Change>) -> Fault {
    let actual = match now {
        Some(now) => format!("its tag is \"{}\"", now.position),
        None => "it is not there".to_owned(),
    };
    Fault::protocol(Tag::OperationFailed, format!("{header} does not hold of the target: {actual}"))
        .with_status(StatusCode::PRECONDITION_FAILED)
}

/// Says of a resource when it changed last.
pub(crate) fn mark(headers: &mut HeaderMap, change: &Change, format: Format) {
    let ending = match format {
        Format::Json => "",
        Format::Xml => XML_ENDING,
    };
    if let Ok(tag) = HeaderValue::try_from(format!("\"{}{ending}\"", change.position)) {
        headers.insert(ETAG, tag);
    }
    let date = change.at_ms.and_then(|ms| HeaderValue::try_from(time::http_date(ms)).ok());
    if let Some(date) = date {
        headers.insert(LAST_MODIFIED, date);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change at position 7, half a second after eight o'clock.
    const NOW: Change = Change { position: 7, at_ms: Some(1_767_254_400_500) };
    const EIGHT: &str = "Thu, 01 Jan 2026 08:00:00 GMT";
    const BEFORE: &str = "Thu, 01 Jan 2026 07:59:59 GMT";

    fn with(name: HeaderName, value: &'static str) -> Conditions {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        Conditions::of(&headers)
    }

    #[test]
    fn reads_and_edits_go_by_the_tag_and_the_time() {
        // What a read says, whether an edit is carried out, and the same of something that is not there.
        for (name, value, read, edit, missing) in [
            (IF_MATCH, "\"7\"", Some("shown"), true, false),
            (IF_MATCH, "\"7-xml\"", Some("shown"), true, false),
            (IF_MATCH, "\"6\", \"7\"", Some("shown"), true, false),
            (IF_MATCH, "*", Some("shown"), true, false),
            (IF_MATCH, "\"6\"", None, false, false),
            (IF_MATCH, "W/\"7\"", None, false, false),
            (IF_MATCH, "\"2016-04-06-id-pool\"", None, false, false),
            (IF_NONE_MATCH, "\"7\"", Some("not modified"), false, true),
            (IF_NONE_MATCH, "W/\"7\"", Some("not modified"), false, true),
            (IF_NONE_MATCH, "*", Some("not modified"), false, true),
            (IF_NONE_MATCH, "\"6\"", Some("shown"), true, true),
            (IF_MODIFIED_SINCE, EIGHT, Some("not modified"), true, true),
            (IF_MODIFIED_SINCE, BEFORE, Some("shown"), true, true),
            (IF_MODIFIED_SINCE, "yesterday", Some("shown"), true, true),
            (IF_UNMODIFIED_SINCE, EIGHT, Some("shown"), true, false),
            (IF_UNMODIFIED_SINCE, BEFORE, None, false, false),
        ] {
            let conditions = with(name.clone(), value);
            let shown = match conditions.of_read(Some(&NOW)) {
                Ok(Fresh::Shown) => Some("shown"),
                Ok(Fresh::NotModified) => Some("not modified"),
                Err(fault) => {
                    assert_eq!(fault.status, Some(StatusCode::PRECONDITION_FAILED));
                    None
                }
            };
            assert_eq!(shown, read, "{name}: {value}");
            assert_eq!(conditions.of_edit(Some(&NOW)).is_ok(), edit, "{name}: {value}");
            assert_eq!(conditions.of_edit(None).is_ok(), missing, "{name}: {value}, not there");
        }
        assert!(!Conditions::of(&HeaderMap::new()).any_for_edit());
        assert!(!with(IF_MODIFIED_SINCE, EIGHT).any_for_edit());
        assert!(with(IF_MATCH, "nonsense").any_for_edit());
    }

    #[test]
    fn a_resource_is_marked_in_the_form_that_it_is_shown_in() {
        let mut headers = HeaderMap::new();
        mark(&mut headers, &NOW, Format::Xml);
        assert_eq!(
            (&headers[ETAG], &headers[LAST_MODIFIED]),
            (&HeaderValue::from_static("\"7-xml\""), &HeaderValue::from_static(EIGHT),)
        );
        mark(&mut headers, &Change { position: 8, at_ms: None }, Format::Json);
        assert_eq!(headers[ETAG], "\"8\"");
    }
}
