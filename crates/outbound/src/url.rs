//! URLs of servers, and the encoding of path segments.

use std::fmt;
use std::str::FromStr;

use http::Uri;
use http::uri::InvalidUri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::endpoint::Origin;

/// The URL of a server. Its path, if any, is put before the path of every request, for servers behind a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    pub origin: Origin,
    path: String,
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.path)
    }
}

impl FromStr for BaseUrl {
    type Err = String;

    /// `http://` may be omitted.
    fn from_str(text: &str) -> Result<BaseUrl, String> {
        let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let invalid =
            || format!("'{text}' is not the URL of a server, such as http://127.0.0.1:8778");
        let uri: Uri = whole.parse().map_err(|_| invalid())?;
        let origin = Origin::of(&uri).filter(|_| uri.query().is_none()).ok_or_else(invalid)?;
        Ok(BaseUrl { origin, path: uri.path().trim_end_matches('/').to_owned() })
    }
}

impl BaseUrl {
    /// The request target for `path`.
    pub fn target(&self, path: &str) -> Result<Uri, InvalidUri> {
        format!("{}{path}", self.path).parse()
    }
}

/// The characters to encode in a path segment.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':');

/// Percent-encodes one segment of a path, so that a slash or a question mark stays part of the segment.
pub fn path_segment(text: &str) -> String {
    match text {
        // Unencoded, these are relative segments.
        "." => "%2E".into(),
        ".." => "%2E%2E".into(),
        _ => utf8_percent_encode(text, ENCODED).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_urls_are_parsed() {
        for (text, shown, target) in [
            ("http://127.0.0.1:8778", "http://127.0.0.1:8778", "/v1/pools"),
            ("127.0.0.1:8778", "http://127.0.0.1:8778", "/v1/pools"),
            ("https://[::1]/allod/", "https://[::1]/allod", "/allod/v1/pools"),
            ("https://host", "https://host", "/v1/pools"),
        ] {
            let url: BaseUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(url.target("/v1/pools").unwrap(), target);
        }
        for text in ["", "ftp://host", "http://", "http://a b", "http://user:pw@host", "http://h?q"]
        {
            let error = text.parse::<BaseUrl>().unwrap_err();
            assert!(error.contains("is not the URL of a server"), "{error}");
        }
    }

    #[test]
    fn a_path_segment_stays_one_segment() {
        for (text, encoded) in [
            ("blue", "blue"),
            ("a/b c", "a%2Fb%20c"),
            ("10.0.0.0/24", "10.0.0.0%2F24"),
            ("fd00::1", "fd00::1"),
            ("é?#%", "%C3%A9%3F%23%25"),
            ("..", "%2E%2E"),
        ] {
            assert_eq!(path_segment(text), encoded);
        }
    }
}
