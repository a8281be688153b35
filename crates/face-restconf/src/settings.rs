//! The settings in the table `[restconf]`.
//!
//! Not here: reading them from the file; the binary does that.

use std::path::PathBuf;

/// Behaviour in which clients differ, and limits. The status in parentheses is the reply when a limit is exceeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestconfSettings {
    /// The name of the top member of errors in JSON.
    pub error_prefix: ErrorPrefix,
    /// The status of a reply about missing data.
    pub data_missing: DataMissing,
    /// Size of a request body (413).
    pub restconf_body_bytes_max: u64,
    /// Open event streams (503 with Retry-After).
    pub restconf_streams_max: u64,
    /// Concurrent replies that are large enough to be streamed (503 with Retry-After).
    pub restconf_large_reads_max: u64,
    /// Pools and alarms in a read or a replacement of a whole tree (413).
    pub pools_per_read_max: u64,
    /// Edits in one YANG Patch, or top-level nodes in one request (413).
    pub edits_per_request_max: u64,
    /// Attempts to plan an edit while other requests change the same data (409 in-use).
    pub plans_max: u32,
    /// How long an event stream is silent before the server sends a comment as a heartbeat.
    pub stream_heartbeat_ms: u64,
    /// The folder with the YANG modules of the site. `None`: it has none.
    pub modules: Option<PathBuf>,
    /// The scheme of the URIs in `Location` headers.
    pub scheme: &'static str,
}

impl Default for RestconfSettings {
    fn default() -> RestconfSettings {
        RestconfSettings {
            error_prefix: ErrorPrefix::Auto,
            data_missing: DataMissing::Auto,
            restconf_body_bytes_max: 16 << 20,
            restconf_streams_max: 256,
            restconf_large_reads_max: 64,
            pools_per_read_max: 10_000,
            edits_per_request_max: 10_000,
            plans_max: 16,
            stream_heartbeat_ms: 15_000,
            modules: None,
            scheme: "http",
        }
    }
}

impl RestconfSettings {
    /// Returns what is wrong with the settings.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, value) in [
            ("restconf_body_bytes_max", self.restconf_body_bytes_max),
            ("restconf_large_reads_max", self.restconf_large_reads_max),
            ("pools_per_read_max", self.pools_per_read_max),
            ("edits_per_request_max", self.edits_per_request_max),
            ("plans_max", u64::from(self.plans_max)),
            ("stream_heartbeat_ms", self.stream_heartbeat_ms),
        ] {
            if value == 0 {
                return Err(format!("{name} is 0; at least 1 is needed"));
            }
        }
        Ok(())
    }
}

/// `errors`, as in OpenDaylight, or `ietf-restconf:errors`, as in RFC 8040.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorPrefix {
    /// By endpoint: RFC 8040 below `/restconf/data`, OpenDaylight elsewhere.
    #[default]
    Auto,
    Odl,
    Rfc,
}

/// RFC 8040 says 409. OpenDaylight answers 409 since its tenth release, and answered 404 before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DataMissing {
    /// By endpoint: 404 below `/restconf/data`, 409 elsewhere.
    #[default]
    Auto,
    NotFound,
    Conflict,
}

/// Defines how the values of a setting are written and read.
macro_rules! setting_names {
    ($ty:ident, $unknown:literal, $usage:literal, $($name:literal => $variant:ident,)*) => {
        impl std::fmt::Display for $ty {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $($ty::$variant => $name,)*
                })
            }
        }

        impl std::str::FromStr for $ty {
            type Err = String;

            fn from_str(text: &str) -> Result<$ty, String> {
                match text {
                    $($name => Ok($ty::$variant),)*
                    _ => Err(format!(concat!("unknown ", $unknown, "; use ", $usage), text)),
                }
            }
        }
    };
}

pub(crate) use setting_names;

setting_names! {
    ErrorPrefix, "error prefix '{}'", "auto, odl or rfc",
    "auto" => Auto,
    "odl" => Odl,
    "rfc" => Rfc,
}

setting_names! {
    DataMissing, "status for missing data '{}'", "auto, 404 or 409",
    "auto" => Auto,
    "404" => NotFound,
    "409" => Conflict,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_parses_as_it_is_displayed() {
        for prefix in [ErrorPrefix::Auto, ErrorPrefix::Odl, ErrorPrefix::Rfc] {
            assert_eq!(prefix.to_string().parse(), Ok(prefix));
        }
        for missing in [DataMissing::Auto, DataMissing::NotFound, DataMissing::Conflict] {
            assert_eq!(missing.to_string().parse(), Ok(missing));
        }
        assert!("410".parse::<DataMissing>().unwrap_err().contains("auto, 404 or 409"));
        assert!("ODL".parse::<ErrorPrefix>().unwrap_err().contains("auto, odl or rfc"));
    }

    #[test]
    fn defaults_are_valid_and_zero_is_refused() {
        assert_eq!(RestconfSettings::default().check(), Ok(()));
        let none = RestconfSettings { plans_max: 0, ..RestconfSettings::default() };
        assert_eq!(none.check(), Err("plans_max is 0; at least 1 is needed".to_owned()));
    }
}
