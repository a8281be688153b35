//! The HTTP client of one webhook. Its server is fixed by the settings; templates cannot change it.

use std::path::Path;
use std::time::Duration;

use allod_outbound::{Endpoint, HttpClient, Origin, TlsSetupError, TrustedRoots};
use http::Uri;

use crate::limits::ReactorLimits;

/// A client for the server of `url`, which may have template fields after the server.
pub(super) fn client(
    url: &str,
    ca: Option<&Path>,
    limits: &ReactorLimits,
) -> Result<HttpClient, String> {
    let invalid = || format!("'{url}' is not a valid address; use http://host:8080/path");
    let (scheme, rest) = url.split_once("://").ok_or_else(invalid)?;
    let server = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let uri: Uri = format!("{scheme}://{server}/").parse().map_err(|_| invalid())?;
    let origin = Origin::of(&uri).filter(|_| !server.contains(['{', '}'])).ok_or_else(invalid)?;
    let endpoint = Endpoint::new(origin, TrustedRoots::file_or_system(ca));
    let endpoint = endpoint.map_err(|error| match error {
        TlsSetupError::NoSystemCertificates => format!("{error}; name a file with them as ca"),
        error => error.to_string(),
    })?;
    let buffer_max = usize::try_from(limits.webhook_answer_bytes_max).unwrap_or(usize::MAX);
    let connect_max = Duration::from_millis(limits.webhook_ms_max);
    Ok(HttpClient::new(endpoint, connect_max).with_buffer_max(buffer_max))
}
