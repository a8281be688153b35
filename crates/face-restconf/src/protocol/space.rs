//! Where in our addresses a request is: which root, which resource below it, and so which dialect.
//!
//! Not here: what the rest of a path names; that is `path`.

use http::{HeaderMap, StatusCode};

use super::media;
use crate::codec::Dialect;
use crate::fault::{Fault, Tag};
use crate::settings::{DataMissing, ErrorPrefix, Settings};

/// The root of RFC 8040 and of the draft before it, which share what can be shared.
pub(crate) const RESTCONF: &str = "/restconf";

/// The root of RFC 8040 in OpenDaylight.
pub(crate) const RESTS: &str = "/rests";

/// What a root has below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All data, in RFC 8040.
    Data,
    /// Configuration and state, in the draft.
    Config,
    Operational,
    Operations,
    /// The list of modules, in the draft.
    Modules,
    /// The root itself, and what tells of it.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    pub root: &'static str,
    pub part: Part,
    pub dialect: Dialect,
}

impl Space {
    /// Of a path and what is said with it; and the rest of the path, as it was sent.
    pub(crate) fn of<'a>(path: &'a str, headers: &HeaderMap) -> (Space, &'a str) {
        let (root, inside) = match below(path, RESTS) {
            Some(inside) => (RESTS, inside),
            None => (RESTCONF, below(path, RESTCONF).unwrap_or_default()),
        };
        let (name, rest) = inside.split_once('/').unwrap_or((inside, ""));
        let part = match name {
            "data" => Part::Data,
            "config" if root == RESTCONF => Part::Config,
            "operational" if root == RESTCONF => Part::Operational,
            "modules" if root == RESTCONF => Part::Modules,
            "operations" => Part::Operations,
            _ => Part::Other,
        };
        let is_draft = match part {
            Part::Config | Part::Operational | Part::Modules => true,
            Part::Operations => root == RESTCONF && !media::says_rfc(headers),
            Part::Data | Part::Other => false,
        };
        let dialect = if is_draft { Dialect::Draft02 } else { Dialect::Rfc8040 };
        (Space { root, part, dialect }, rest)
    }

    /// Whether clients of NSO and of RFC 8040 come here, and not those of OpenDaylight.
    fn is_plain_rfc(self) -> bool {
        self.root == RESTCONF && self.dialect == Dialect::Rfc8040
    }

    /// Whether errors have the prefix of their module, as RFC 8040 says.
    pub(crate) fn prefixes_errors(self, settings: &Settings) -> bool {
        match settings.error_prefix {
            ErrorPrefix::Auto => self.is_plain_rfc(),
            ErrorPrefix::Odl => false,
            ErrorPrefix::Rfc => true,
        }
    }

    pub(crate) fn status(self, fault: &Fault, settings: &Settings) -> StatusCode {
        if let Some(status) = fault.status {
            return status;
        }
        let is_404 = match settings.data_missing {
            DataMissing::Auto => self.is_plain_rfc(),
            DataMissing::NotFound => true,
            DataMissing::Conflict => false,
        };
        match fault.tag {
            Tag::DataMissing if is_404 => StatusCode::NOT_FOUND,
            tag => tag.status(),
        }
    }
}

fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(root)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::ACCEPT;

    use super::*;

    #[test]
    fn a_path_says_where_it_is_and_in_which_dialect() {
        use Dialect::{Draft02, Rfc8040};
        for (path, root, part, dialect, rest) in [
            ("/restconf", RESTCONF, Part::Other, Rfc8040, ""),
            ("/restconf/data", RESTCONF, Part::Data, Rfc8040, ""),
            ("/restconf/data/", RESTCONF, Part::Data, Rfc8040, ""),
            ("/restconf/data/a:b/c=d%2Fe/", RESTCONF, Part::Data, Rfc8040, "a:b/c=d%2Fe/"),
            ("/rests/data/a:b", RESTS, Part::Data, Rfc8040, "a:b"),
            ("/restconf/config/a:b", RESTCONF, Part::Config, Draft02, "a:b"),
            ("/rests/config/a:b", RESTS, Part::Other, Rfc8040, "a:b"),
            ("/restconf/operational/a:b", RESTCONF, Part::Operational, Draft02, "a:b"),
            ("/restconf/operations/a:b", RESTCONF, Part::Operations, Draft02, "a:b"),
            ("/rests/operations/a:b", RESTS, Part::Operations, Rfc8040, "a:b"),
            ("/restconf/modules", RESTCONF, Part::Modules, Draft02, ""),
            ("/.well-known/host-meta", RESTCONF, Part::Other, Rfc8040, ""),
        ] {
            let found = Space::of(path, &HeaderMap::new());
            assert_eq!(found, (Space { root, part, dialect }, rest), "{path}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/yang-data+json"));
        assert_eq!(Space::of("/restconf/operations/a:b", &headers).0.dialect, Rfc8040);
        assert_eq!(Space::of("/restconf/config/a:b", &headers).0.dialect, Draft02);
    }

    #[test]
    fn clients_are_told_of_missing_data_as_they_expect_it() {
        let fault = Fault::protocol(Tag::DataMissing, "it is not there");
        let space = |path| Space::of(path, &HeaderMap::new()).0;
        let settings = |data_missing, error_prefix| Settings {
            data_missing,
            error_prefix,
            ..Settings::default()
        };
        for (missing, prefix, data, rests, draft) in [
            (DataMissing::Auto, ErrorPrefix::Auto, (404, true), (409, false), (409, false)),
            (DataMissing::NotFound, ErrorPrefix::Rfc, (404, true), (404, true), (404, true)),
            (DataMissing::Conflict, ErrorPrefix::Odl, (409, false), (409, false), (409, false)),
        ] {
            let settings = settings(missing, prefix);
            for (path, wanted) in [
                ("/restconf/data/x", data),
                ("/rests/data/x", rests),
                ("/restconf/config/x", draft),
            ] {
                let space = space(path);
                let status = space.status(&fault, &settings).as_u16();
                assert_eq!((status, space.prefixes_errors(&settings)), wanted, "{path}");
            }
        }
    }
}
