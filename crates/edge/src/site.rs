//! Refuses requests that a web page of another site makes a browser send.
//!
//! A server without authentication listens on loopback only, but a browser on the same machine can reach it, and runs
//! scripts of any web page. Two checks keep these out. The name in `Host` must be a loopback name, or be configured: a page
//! whose own name resolves to a loopback address sends that name. And `Origin` and `Sec-Fetch-Site`, which a page cannot
//! change, must not name another origin, unless the CORS rules allow it. Programs other than browsers send neither header.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName, Method, Request, StatusCode, Uri};

use crate::{Cors, Problem};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The names under which clients may address a server without authentication, besides the loopback names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<String>);

impl AllowedHosts {
    /// `names`: host names or addresses, without a port.
    pub fn new(names: impl IntoIterator<Item = String>) -> AllowedHosts {
        AllowedHosts(names.into_iter().collect())
    }

    /// Checks the name that the request uses for the server, and the site that caused the request. `foreign_reads`: see
    /// [`ErrorFormat::allows_foreign_reads`](crate::ErrorFormat::allows_foreign_reads).
    pub(crate) fn check<B>(
        &self,
        request: &Request<B>,
        cors: &Cors,
        foreign_reads: bool,
    ) -> Result<(), Problem> {
        let host = self.check_host(request.uri(), request.headers())?;
        check_origin(request, host, cors, foreign_reads)
    }

    /// Returns the authority that the request names; `None` for a request without one, which no browser sends.
    fn check_host<'a>(
        &self,
        uri: &'a Uri,
        headers: &'a HeaderMap,
    ) -> Result<Option<&'a str>, Problem> {
        let mut hosts = headers.get_all(HOST).iter();
        let header = hosts.next().map(|host| host.to_str().unwrap_or("\u{fffd}").trim());
        if hosts.next().is_some() {
            return Err(Problem::malformed("the header host is repeated"));
        }
        let header = header.filter(|host| !host.is_empty());
        let target = uri.authority().map(|authority| authority.as_str());
        for authority in header.into_iter().chain(target) {
            if !self.allows(name_of(authority)) {
                return Err(host_not_allowed(authority));
            }
        }
        Ok(target.or(header))
    }

    fn allows(&self, name: &str) -> bool {
        is_loopback_name(name) || self.0.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    }
}

/// Checks that no page of another origin caused the request. With CORS, such a page may send reads; the browser keeps the
/// replies from pages that the rules do not allow.
fn check_origin<B>(
    request: &Request<B>,
    host: Option<&str>,
    cors: &Cors,
    foreign_reads: bool,
) -> Result<(), Problem> {
    let headers = request.headers();
    let (origin, site) = (headers.get(ORIGIN), headers.get(SEC_FETCH_SITE));
    if origin.is_none() && site.is_none() {
        return Ok(());
    }
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if origin.is_some_and(|origin| cors.allows(origin)) || (is_read && cors.is_on()) {
        return Ok(());
    }
    // Without `Sec-Fetch-Site` it is not a present-day browser.
    if is_read && foreign_reads && site.is_none() {
        return Ok(());
    }
    let same = match (site.map(|site| site.as_bytes()), origin) {
        (Some(site), _) => matches!(site, b"same-origin" | b"none"),
        (None, Some(origin)) => {
            let origin = origin.to_str().unwrap_or_default();
            let authority = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
            authority.is_some() && authority == host
        }
        (None, None) => true,
    };
    if same {
        return Ok(());
    }
    let origin = origin.and_then(|origin| origin.to_str().ok()).unwrap_or("another site");
    Err(origin_not_allowed(origin))
}

/// The name or address in an authority, without user and port.
fn name_of(authority: &str) -> &str {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.starts_with('[') {
        return host.find(']').map_or(host, |end| &host[..=end]);
    }
    host.split_once(':').map_or(host, |(name, _)| name)
}

fn is_loopback_name(name: &str) -> bool {
    if let Some(address) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address = address.parse::<Ipv6Addr>();
        return address.is_ok_and(|address| IpAddr::V6(address).to_canonical().is_loopback());
    }
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

fn host_not_allowed(authority: &str) -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "host_not_allowed",
        "host not allowed",
        format!(
            "'{authority}' is not a name of this server, which has no authentication; use localhost or 127.0.0.1, or add the name to allowed_hosts"
        ),
    )
}

fn origin_not_allowed(origin: &str) -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "origin_not_allowed",
        "origin not allowed",
        format!(
            "a web page of {origin} caused this request, and the server has no authentication; add the origin to [cors] allowed_origin, or use --auth tokens"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path of a face that allows foreign reads.
    const PLACEMENT: &str = "/placement";

    fn checked(method: &str, uri: &str, headers: &[(&str, &str)], cors: &Cors) -> String {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let hosts = AllowedHosts::new(["allod.example.com".to_owned()]);
        let foreign_reads = uri == PLACEMENT;
        match hosts.check(&request.body(()).unwrap(), cors, foreign_reads) {
            Ok(()) => "ok".to_owned(),
            Err(problem) => problem.code.to_owned(),
        }
    }

    #[test]
    fn only_loopback_names_and_configured_names_are_hosts() {
        for (host, wanted) in [
            ("localhost", "ok"),
            ("LocalHost:8778", "ok"),
            ("127.0.0.1:8778", "ok"),
            ("127.255.3.4", "ok"),
            ("[::1]:8778", "ok"),
            ("[::1]", "ok"),
            ("[::ffff:127.0.0.1]:1", "ok"),
            ("allod.example.com:8778", "ok"),
            ("Allod.Example.Com", "ok"),
            ("", "ok"),
            ("example.com", "host_not_allowed"),
            ("allod.example.com.evil.example", "host_not_allowed"),
            ("localhost.evil.example:8778", "host_not_allowed"),
            ("127.0.0.1.evil.example", "host_not_allowed"),
            ("localhost@evil.example", "host_not_allowed"),
            ("128.0.0.1", "host_not_allowed"),
            ("[::2]:8778", "host_not_allowed"),
            ("[::1", "host_not_allowed"),
            ("::1", "host_not_allowed"),
        ] {
            let all = [("host", host)];
            assert_eq!(checked("GET", "/", &all, &Cors::default()), wanted, "{host}");
        }
        let absolute = "http://evil.example/";
        assert_eq!(checked("GET", absolute, &[], &Cors::default()), "host_not_allowed");
        let named = [("host", "localhost")];
        assert_eq!(checked("GET", absolute, &named, &Cors::default()), "host_not_allowed");
        let two = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(checked("GET", "/", &two, &Cors::default()), "malformed");
        assert_eq!(checked("GET", "/", &[], &Cors::default()), "ok");
    }

    #[test]
    fn requests_of_other_origins_are_refused_unless_cors_allows_them() {
        let cors = Cors { allowed_origin: vec!["http://ui.example".into()], ..Cors::default() };
        let (refused, own) = ("origin_not_allowed", "http://localhost:8778");
        for (headers, without, with_cors) in [
            (&[("origin", own)][..], "ok", "ok"),
            (&[("origin", "http://localhost:8779")], refused, refused),
            (&[("origin", "http://127.0.0.1:8778")], refused, refused),
            (&[("origin", "null")], refused, refused),
            (&[("origin", "http://ui.example")], refused, "ok"),
            (&[("origin", "http://ui.example"), ("sec-fetch-site", "cross-site")], refused, "ok"),
            (&[("sec-fetch-site", "same-origin"), ("origin", own)], "ok", "ok"),
            (&[("sec-fetch-site", "none")], "ok", "ok"),
            (&[("sec-fetch-site", "same-site")], refused, refused),
            (&[("sec-fetch-site", "cross-site")], refused, refused),
            (&[("sec-fetch-site", "")], refused, refused),
        ] {
            let mut all = vec![("host", "localhost:8778")];
            all.extend(headers);
            assert_eq!(checked("POST", "/", &all, &Cors::default()), without, "{headers:?}");
            assert_eq!(checked("GET", "/", &all, &Cors::default()), without, "{headers:?}");
            assert_eq!(checked("POST", "/", &all, &cors), with_cors, "{headers:?}");
            assert_eq!(checked("GET", "/", &all, &cors), "ok", "{headers:?}");
        }
    }

    #[test]
    fn face_may_answer_reads_with_a_foreign_origin_unless_a_browser_marks_them() {
        let foreign = [("host", "localhost"), ("origin", "http://evil.example")];
        let marked = [&foreign[..], &[("sec-fetch-site", "cross-site")]].concat();
        for (method, plain) in [
            ("GET", "ok"),
            ("HEAD", "ok"),
            ("OPTIONS", "ok"),
            ("POST", "origin_not_allowed"),
            ("PUT", "origin_not_allowed"),
            ("DELETE", "origin_not_allowed"),
        ] {
            let cors = Cors::default();
            assert_eq!(checked(method, PLACEMENT, &foreign, &cors), plain, "{method}");
            assert_eq!(checked(method, PLACEMENT, &marked, &cors), "origin_not_allowed");
        }
    }
}
