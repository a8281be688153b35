//! CORS: which web pages of other origins may use the server from a browser. Off unless configured.
//!
//! Preflight requests are answered here for every path, without authentication, because browsers send them without a
//! token. All other replies get the CORS headers added. The rules are those of OpenStack's middleware.

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue};

use crate::Reply;

/// Request headers that are always allowed.
const ALWAYS_ALLOWED: [&str; 8] = [
    "accept",
    "accept-language",
    "content-type",
    "cache-control",
    "content-language",
    "expires",
    "last-modified",
    "pragma",
];

/// The CORS rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cors {
    /// `*` allows all.
    pub allowed_origin: Vec<String>,
    pub allow_credentials: bool,
    pub expose_headers: Vec<String>,
    /// Seconds for which a browser may cache the reply to a preflight; 0 omits the header.
    pub max_age: u64,
    pub allow_methods: Vec<String>,
    pub allow_headers: Vec<String>,
}

impl Default for Cors {
    fn default() -> Cors {
        let methods = ["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "PATCH"];
        Cors {
            allowed_origin: Vec::new(),
            allow_credentials: true,
            expose_headers: Vec::new(),
            max_age: 3600,
            allow_methods: methods.map(str::to_owned).to_vec(),
            allow_headers: Vec::new(),
        }
    }
}

impl Cors {
    pub fn is_on(&self) -> bool {
        !self.allowed_origin.is_empty()
    }

    /// The reply to an OPTIONS request.
    pub(crate) fn preflight(&self, asked: &HeaderMap) -> Reply {
        let mut reply = Reply::new(bytes::Bytes::new().into());
        let Some(origin) = self.origin(asked) else { return reply };
        let Some(method) = asked.get(ACCESS_CONTROL_REQUEST_METHOD) else { return reply };
        let wanted = listed(asked.get(ACCESS_CONTROL_REQUEST_HEADERS));
        let method_allowed = self.allow_methods.iter().any(|allowed| method == allowed.as_str());
        if !method_allowed || !wanted.iter().all(|name| self.allows_header(name)) {
            return reply;
        }
        let headers = reply.headers_mut();
        headers.insert(VARY, HeaderValue::from_static("Origin"));
        self.permit(origin, headers);
        if self.max_age > 0 {
            headers.insert(ACCESS_CONTROL_MAX_AGE, self.max_age.into());
        }
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, method.clone());
        put_list(headers, ACCESS_CONTROL_ALLOW_HEADERS, &wanted);
        reply
    }

    /// Adds the CORS headers to a reply that is not a preflight.
    pub(crate) fn apply(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        let Some(origin) = origin.and_then(|origin| self.permitted(origin)) else { return };
        let vary = match headers.get(VARY).and_then(|vary| vary.to_str().ok()) {
            Some(vary) => HeaderValue::from_str(&format!("{vary},Origin")),
            None => Ok(HeaderValue::from_static("Origin")),
        };
        headers.insert(VARY, vary.unwrap_or(HeaderValue::from_static("Origin")));
        self.permit(origin, headers);
        put_list(headers, ACCESS_CONTROL_EXPOSE_HEADERS, &self.expose_headers);
    }

    fn permit(&self, origin: HeaderValue, headers: &mut HeaderMap) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if self.allow_credentials {
            let yes = HeaderValue::from_static("true");
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, yes);
        }
    }

    fn origin(&self, asked: &HeaderMap) -> Option<HeaderValue> {
        self.permitted(asked.get(ORIGIN)?)
    }

    /// Whether pages of this origin may use the server.
    pub(crate) fn allows(&self, origin: &HeaderValue) -> bool {
        self.permitted(origin).is_some()
    }

    /// The value of Access-Control-Allow-Origin, if this origin is allowed.
    fn permitted(&self, origin: &HeaderValue) -> Option<HeaderValue> {
        if self.allowed_origin.iter().any(|allowed| origin == allowed.as_str()) {
            return Some(origin.clone());
        }
        let all = self.allowed_origin.iter().any(|allowed| allowed == "*");
        all.then(|| HeaderValue::from_static("*"))
    }

    fn allows_header(&self, name: &str) -> bool {
        let mut allowed =
            self.allow_headers.iter().map(String::as_str).chain(ALWAYS_ALLOWED.iter().copied());
        allowed.any(|allowed| allowed.eq_ignore_ascii_case(name))
    }
}

fn listed(value: Option<&HeaderValue>) -> Vec<String> {
    let text = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

fn put_list(headers: &mut HeaderMap, name: http::HeaderName, list: &[String]) {
    if let Ok(value) = HeaderValue::from_str(&list.join(","))
        && !list.is_empty()
    {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cors() -> Cors {
        Cors {
            allowed_origin: vec!["http://valid.example.com".into()],
            allow_headers: vec!["OpenStack-API-Version".into()],
            expose_headers: vec!["a".into(), "b".into()],
            ..Cors::default()
        }
    }

    fn asked(origin: &str, method: Option<&str>, headers: &str) -> HeaderMap {
        let mut asked = HeaderMap::new();
        asked.insert(ORIGIN, origin.parse().unwrap());
        if let Some(method) = method {
            asked.insert(ACCESS_CONTROL_REQUEST_METHOD, method.parse().unwrap());
        }
        asked.insert(ACCESS_CONTROL_REQUEST_HEADERS, headers.parse().unwrap());
        asked
    }

    #[test]
    fn preflight_allows_only_configured_origins_methods_and_headers() {
        let valid = "http://valid.example.com";
        for (origin, method, headers, yes) in [
            (valid, Some("GET"), "openstack-api-version, Accept", true),
            (valid, Some("GET"), "", true),
            (valid, Some("GET"), "x-other", false),
            (valid, Some("BREW"), "", false),
            (valid, None, "", false),
            ("http://other.example.com", Some("GET"), "", false),
        ] {
            let reply = cors().preflight(&asked(origin, method, headers));
            assert_eq!(reply.status(), 200);
            let allowed = reply.headers().get(ACCESS_CONTROL_ALLOW_ORIGIN);
            assert_eq!(allowed.is_some(), yes, "{origin} {method:?} {headers}");
        }
        let reply = cors().preflight(&asked(valid, Some("PUT"), "openstack-api-version, accept"));
        let headers = reply.headers();
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_HEADERS], "openstack-api-version,accept");
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_METHODS], "PUT");
        assert_eq!(headers[ACCESS_CONTROL_MAX_AGE], "3600");
        assert_eq!(headers[VARY], "Origin");
    }

    #[test]
    fn replies_to_allowed_origins_have_cors_headers() {
        let given = |origin: &str, cors: &Cors| {
            let mut headers = HeaderMap::new();
            headers.insert(VARY, HeaderValue::from_static("openstack-api-version"));
            cors.apply(Some(&origin.parse().unwrap()), &mut headers);
            headers
        };
        let headers = given("http://valid.example.com", &cors());
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_ORIGIN], "http://valid.example.com");
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_CREDENTIALS], "true");
        assert_eq!(headers[ACCESS_CONTROL_EXPOSE_HEADERS], "a,b");
        assert_eq!(headers[VARY], "openstack-api-version,Origin");
        assert_eq!(given("http://other.example.com", &cors()).len(), 1);
        let all =
            Cors { allowed_origin: vec!["*".into()], allow_credentials: false, ..Cors::default() };
        let headers = given("http://other.example.com", &all);
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert!(!headers.contains_key(ACCESS_CONTROL_ALLOW_CREDENTIALS));
    }
}
