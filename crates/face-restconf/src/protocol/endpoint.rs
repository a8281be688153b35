//! The endpoint of a request: its root, the resource below it, and the dialect that follows from them.
//!
//! Not here: the rest of the path; see `path`.

use http::{HeaderMap, StatusCode};

use super::media;
use crate::codec::Dialect;
use crate::error::{ErrorTag, RestconfError};
use crate::settings::{DataMissing, ErrorPrefix, RestconfSettings};

/// The root of RFC 8040 and of draft-02.
pub(crate) const RESTCONF: &str = "/restconf";

/// The root of RFC 8040 in OpenDaylight.
pub(crate) const RESTS: &str = "/rests";

/// The resource below a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndpointKind {
    /// RFC 8040: the datastore.
    Data,
    /// draft-02: configuration and state.
    Config,
    Operational,
    Operations,
    /// draft-02: the list of modules.
    Modules,
    /// The root itself, and discovery.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ApiEndpoint {
    pub root: &'static str,
    pub part: EndpointKind,
    pub dialect: Dialect,
}

impl ApiEndpoint {
    /// Returns the endpoint, and the rest of the path, still percent-encoded.
    pub(crate) fn of<'a>(path: &'a str, headers: &HeaderMap) -> (ApiEndpoint, &'a str) {
        let (root, inside) = match below(path, RESTS) {
            Some(inside) => (RESTS, inside),
            None => (RESTCONF, below(path, RESTCONF).unwrap_or_default()),
        };
        let (name, rest) = inside.split_once('/').unwrap_or((inside, ""));
        let part = match name {
            "data" => EndpointKind::Data,
            "config" if root == RESTCONF => EndpointKind::Config,
            "operational" if root == RESTCONF => EndpointKind::Operational,
            "modules" if root == RESTCONF => EndpointKind::Modules,
            "operations" => EndpointKind::Operations,
            _ => EndpointKind::Other,
        };
        let is_draft = match part {
            EndpointKind::Config | EndpointKind::Operational | EndpointKind::Modules => true,
            EndpointKind::Operations => root == RESTCONF && !media::names_rfc8040_types(headers),
            EndpointKind::Data | EndpointKind::Other => false,
        };
        let dialect = if is_draft { Dialect::Draft02 } else { Dialect::Rfc8040 };
        (ApiEndpoint { root, part, dialect }, rest)
    }

    /// Whether this endpoint is for RFC 8040 and NSO clients, and not for OpenDaylight's.
    fn is_plain_rfc(self) -> bool {
        self.root == RESTCONF && self.dialect == Dialect::Rfc8040
    }

    /// Whether the top member of errors has the module prefix of RFC 8040.
    pub(crate) fn prefixes_errors(self, settings: &RestconfSettings) -> bool {
        match settings.error_prefix {
            ErrorPrefix::Auto => self.is_plain_rfc(),
            ErrorPrefix::Odl => false,
            ErrorPrefix::Rfc => true,
        }
    }

    pub(crate) fn status(self, error: &RestconfError, settings: &RestconfSettings) -> StatusCode {
        if let Some(status) = error.status {
            return status;
        }
        let is_404 = match settings.data_missing {
            DataMissing::Auto => self.is_plain_rfc(),
            DataMissing::NotFound => true,
            DataMissing::Conflict => false,
        };
        match error.tag {
            ErrorTag::DataMissing if is_404 => StatusCode::NOT_FOUND,
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
    fn the_path_decides_endpoint_and_dialect() {
        use Dialect::{Draft02, Rfc8040};
        for (path, root, part, dialect, rest) in [
            ("/restconf", RESTCONF, EndpointKind::Other, Rfc8040, ""),
            ("/restconf/data", RESTCONF, EndpointKind::Data, Rfc8040, ""),
            ("/restconf/data/", RESTCONF, EndpointKind::Data, Rfc8040, ""),
            ("/restconf/data/a:b/c=d%2Fe/", RESTCONF, EndpointKind::Data, Rfc8040, "a:b/c=d%2Fe/"),
            ("/rests/data/a:b", RESTS, EndpointKind::Data, Rfc8040, "a:b"),
            ("/restconf/config/a:b", RESTCONF, EndpointKind::Config, Draft02, "a:b"),
            ("/rests/config/a:b", RESTS, EndpointKind::Other, Rfc8040, "a:b"),
            ("/restconf/operational/a:b", RESTCONF, EndpointKind::Operational, Draft02, "a:b"),
            ("/restconf/operations/a:b", RESTCONF, EndpointKind::Operations, Draft02, "a:b"),
            ("/rests/operations/a:b", RESTS, EndpointKind::Operations, Rfc8040, "a:b"),
            ("/restconf/modules", RESTCONF, EndpointKind::Modules, Draft02, ""),
            ("/.well-known/host-meta", RESTCONF, EndpointKind::Other, Rfc8040, ""),
        ] {
            let found = ApiEndpoint::of(path, &HeaderMap::new());
            assert_eq!(found, (ApiEndpoint { root, part, dialect }, rest), "{path}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/yang-data+json"));
        assert_eq!(ApiEndpoint::of("/restconf/operations/a:b", &headers).0.dialect, Rfc8040);
        assert_eq!(ApiEndpoint::of("/restconf/config/a:b", &headers).0.dialect, Draft02);
    }

    #[test]
    fn missing_data_has_the_status_that_clients_of_the_endpoint_expect() {
        let error = RestconfError::protocol(ErrorTag::DataMissing, "it does not exist");
        let endpoint = |path| ApiEndpoint::of(path, &HeaderMap::new()).0;
        let settings = |data_missing, error_prefix| RestconfSettings {
            data_missing,
            error_prefix,
            ..RestconfSettings::default()
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
                let endpoint = endpoint(path);
                let status = endpoint.status(&error, &settings).as_u16();
                assert_eq!((status, endpoint.prefixes_errors(&settings)), wanted, "{path}");
            }
        }
    }
}
