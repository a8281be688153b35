//! Entity tags and conditional requests: If-Match, If-None-Match, If-Modified-Since and If-Unmodified-Since.
//!
//! The entity tag of a resource is the journal position of its last change. In XML it has a suffix, because a strong tag
//! identifies the exact bytes.

use allod_edge::time;
use http::header::{
    ETAG, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, LAST_MODIFIED,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::codec::Encoding;
use crate::error::{ErrorTag, RestconfError, Result};
use crate::model::LastChange;

const XML_ENDING: &str = "-xml";

/// The preconditions of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Preconditions {
    if_match: Option<EntityTags>,
    if_none_match: Option<EntityTags>,
    if_modified_since: Option<u64>,
    if_unmodified_since: Option<u64>,
}

/// `*`, or the positions in our tags. Other tags match nothing.
#[derive(Debug, PartialEq, Eq)]
enum EntityTags {
    Any,
    Positions(Vec<u64>),
}

impl EntityTags {
    fn read(headers: &HeaderMap, name: &HeaderName, weak: bool) -> Option<EntityTags> {
        let mut positions = Vec::new();
        for line in headers.get_all(name).iter() {
            for text in String::from_utf8_lossy(line.as_bytes()).split(',').map(str::trim) {
                if text == "*" {
                    return Some(EntityTags::Any);
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
        headers.contains_key(name).then_some(EntityTags::Positions(positions))
    }

    /// `now`: the last change of the target; `None` if it does not exist.
    fn matches(&self, now: Option<&LastChange>) -> bool {
        match (self, now) {
            (_, None) => false,
            (EntityTags::Any, Some(_)) => true,
            (EntityTags::Positions(all), Some(now)) => all.contains(&now.position),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    Full,
    NotModified,
}

impl Preconditions {
    pub(crate) fn of(headers: &HeaderMap) -> Preconditions {
        let time = |name| {
            headers.get(name).and_then(|text| text.to_str().ok()).and_then(time::parse_http_date)
        };
        Preconditions {
            if_match: EntityTags::read(headers, &IF_MATCH, false),
            if_none_match: EntityTags::read(headers, &IF_NONE_MATCH, true),
            if_modified_since: time(IF_MODIFIED_SINCE),
            if_unmodified_since: time(IF_UNMODIFIED_SINCE),
        }
    }

    /// Whether there is a precondition that applies to edits.
    pub(crate) fn apply_to_edits(&self) -> bool {
        self.if_match.is_some()
            || self.if_none_match.is_some()
            || self.if_unmodified_since.is_some()
    }

    pub(crate) fn check_read(&self, now: Option<&LastChange>) -> Result<ReadOutcome> {
        self.check(now)?;
        let unmodified = match (&self.if_none_match, self.if_modified_since) {
            (Some(tags), _) => tags.matches(now),
            (None, Some(since)) => second_of(now).is_some_and(|second| second <= since / 1000),
            (None, None) => false,
        };
        Ok(if unmodified { ReadOutcome::NotModified } else { ReadOutcome::Full })
    }

    pub(crate) fn check_edit(&self, now: Option<&LastChange>) -> Result<()> {
        self.check(now)?;
        match &self.if_none_match {
            Some(tags) if tags.matches(now) => Err(failed("If-None-Match", now)),
            _ => Ok(()),
        }
    }

    fn check(&self, now: Option<&LastChange>) -> Result<()> {
        match (&self.if_match, self.if_unmodified_since) {
            (Some(tags), _) if !tags.matches(now) => Err(failed("If-Match", now)),
            (None, Some(since)) if second_of(now).is_none_or(|second| second > since / 1000) => {
                Err(failed("If-Unmodified-Since", now))
            }
            _ => Ok(()),
        }
    }
}

/// HTTP dates have a resolution of one second.
fn second_of(now: Option<&LastChange>) -> Option<u64> {
    now.and_then(|now| now.at_ms).map(|ms| ms / 1000)
}

fn failed(header: &str, now: Option<&LastChange>) -> RestconfError {
    let actual = match now {
        Some(now) => format!("the entity tag is \"{}\"", now.position),
        None => "the target does not exist".to_owned(),
    };
    RestconfError::protocol(
        ErrorTag::OperationFailed,
        format!("the precondition {header} failed: {actual}"),
    )
    .with_status(StatusCode::PRECONDITION_FAILED)
}

/// Sets ETag and Last-Modified.
pub(crate) fn set_validators(headers: &mut HeaderMap, change: &LastChange, encoding: Encoding) {
    let ending = match encoding {
        Encoding::Json => "",
        Encoding::Xml => XML_ENDING,
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
    const NOW: LastChange = LastChange { position: 7, at_ms: Some(1_767_254_400_500) };
    const EIGHT: &str = "Thu, 01 Jan 2026 08:00:00 GMT";
    const BEFORE: &str = "Thu, 01 Jan 2026 07:59:59 GMT";

    fn with(name: HeaderName, value: &'static str) -> Preconditions {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        Preconditions::of(&headers)
    }

    #[test]
    fn tags_and_dates_decide_reads_and_edits() {
        // The outcome of a read, whether an edit is carried out, and whether one of a missing target is.
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
            let shown = match conditions.check_read(Some(&NOW)) {
                Ok(ReadOutcome::Full) => Some("shown"),
                Ok(ReadOutcome::NotModified) => Some("not modified"),
                Err(error) => {
                    assert_eq!(error.status, Some(StatusCode::PRECONDITION_FAILED));
                    None
                }
            };
            assert_eq!(shown, read, "{name}: {value}");
            assert_eq!(conditions.check_edit(Some(&NOW)).is_ok(), edit, "{name}: {value}");
            assert_eq!(conditions.check_edit(None).is_ok(), missing, "{name}: {value}, not there");
        }
        assert!(!Preconditions::of(&HeaderMap::new()).apply_to_edits());
        assert!(!with(IF_MODIFIED_SINCE, EIGHT).apply_to_edits());
        assert!(with(IF_MATCH, "nonsense").apply_to_edits());
    }

    #[test]
    fn the_entity_tag_depends_on_the_encoding() {
        let mut headers = HeaderMap::new();
        set_validators(&mut headers, &NOW, Encoding::Xml);
        assert_eq!(
            (&headers[ETAG], &headers[LAST_MODIFIED]),
            (&HeaderValue::from_static("\"7-xml\""), &HeaderValue::from_static(EIGHT),)
        );
        set_validators(&mut headers, &LastChange { position: 8, at_ms: None }, Encoding::Json);
        assert_eq!(headers[ETAG], "\"8\"");
    }
}
