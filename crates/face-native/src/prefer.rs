//! The preferences of a request (RFC 7240): `Prefer: wait=N`.

use std::time::Duration;

use allod_edge::{Call, Problem, Reply};
use http::{HeaderName, HeaderValue};

const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// For how long the client wants to wait for the outcome; `None`: not at all. Other preferences are ignored.
pub(crate) fn wait(call: &Call) -> Result<Option<Duration>, Problem> {
    for value in call.head.headers.get_all(&PREFER) {
        let text = value.to_str();
        let text = text.map_err(|_| Problem::malformed("the header prefer is not ASCII"))?;
        for preference in text.split(',') {
            let preference = preference.split(';').next().unwrap_or_default();
            let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
            if !name.trim().eq_ignore_ascii_case("wait") {
                continue;
            }
            let value = value.trim();
            let seconds = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            let seconds = seconds.unwrap_or(value);
            let expected = "expected a number of seconds, such as wait=10";
            let seconds: u32 = seconds.parse().map_err(|_| {
                Problem::malformed(format!("prefer: wait is '{value}'; {expected}"))
            })?;
            return Ok(Some(Duration::from_secs(seconds.into())));
        }
    }
    Ok(None)
}

/// Says in the reply how long the server was ready to wait.
pub(crate) fn applied(mut reply: Reply, wait: Option<Duration>, wait_ms_max: u64) -> Reply {
    if let Some(wait) = wait {
        let seconds = wait.min(Duration::from_millis(wait_ms_max)).as_secs();
        if let Ok(value) = HeaderValue::try_from(format!("wait={seconds}")) {
            reply.headers_mut().insert(PREFERENCE_APPLIED, value);
        }
    }
    reply
}
