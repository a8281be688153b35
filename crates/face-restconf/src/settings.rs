//! The settings of the RESTCONF face, as the table `[restconf]` has them.
//!
//! What is not here: how they are read; that is the binary's. Every limit has a name, a default and an answer.

use std::fmt;
use std::str::FromStr;

/// How the face behaves where its clients differ, and how much it takes on. The status in brackets is the answer beyond a
/// limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The name of the top member of errors in JSON.
    pub error_prefix: ErrorPrefix,
    /// With what status it is said that data is missing.
    pub data_missing: DataMissing,
    /// Length of a request body (413).
    pub restconf_body_bytes_max: u64,
    /// Open event streams (503 with Retry-After).
    pub restconf_streams_max: u64,
    /// Answers so large that they are written while they are sent, at one time (503 with Retry-After).
    pub restconf_large_reads_max: u64,
    /// Edits in one YANG Patch, or nodes at the top of one request (413).
    pub edits_per_request_max: u64,
    /// How often an edit is planned anew because something changed beneath it (409 in-use).
    pub plans_max: u32,
    /// How long an event stream stays silent before it says that nothing has happened.
    pub stream_heartbeat_ms: u64,
    /// Of the addresses in `Location` and the like: what the server speaks.
    pub scheme: &'static str,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            error_prefix: ErrorPrefix::Auto,
            data_missing: DataMissing::Auto,
            restconf_body_bytes_max: 16 << 20,
            restconf_streams_max: 256,
            restconf_large_reads_max: 64,
            edits_per_request_max: 10_000,
            plans_max: 16,
            stream_heartbeat_ms: 15_000,
            scheme: "http",
        }
    }
}

impl Settings {
    /// Says what cannot be meant.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, value) in [
            ("restconf_body_bytes_max", self.restconf_body_bytes_max),
            ("restconf_large_reads_max", self.restconf_large_reads_max),
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

/// `errors`, as OpenDaylight writes it, or `ietf-restconf:errors`, as RFC 8040 does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorPrefix {
    /// As the clients of each place expect it: RFC 8040 below `/restconf/data`, OpenDaylight elsewhere.
    #[default]
    Auto,
    Odl,
    Rfc,
}

/// RFC 8040 says 409; OpenDaylight did so from its tenth release on, and said 404 before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DataMissing {
    /// As the clients of each place expect it: 404 below `/restconf/data`, 409 elsewhere.
    #[default]
    Auto,
    NotFound,
    Conflict,
}

impl fmt::Display for ErrorPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorPrefix::Auto => "auto",
            ErrorPrefix::Odl => "odl",
            ErrorPrefix::Rfc => "rfc",
        })
    }
}

impl FromStr for ErrorPrefix {
    type Err = String;

    fn from_str(text: &str) -> Result<ErrorPrefix, String> {
        match text {
            "auto" => Ok(ErrorPrefix::Auto),
            "odl" => Ok(ErrorPrefix::Odl),
            "rfc" => Ok(ErrorPrefix::Rfc),
            _ => Err(format!("'{text}' is no prefix of errors; auto, odl and rfc are")),
        }
    }
}

impl fmt::Display for DataMissing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DataMissing::Auto => "auto",
            DataMissing::NotFound => "404",
            DataMissing::Conflict => "409",
        })
    }
}

impl FromStr for DataMissing {
    type Err = String;

    fn from_str(text: &str) -> Result<DataMissing, String> {
        match text {
            "auto" => Ok(DataMissing::Auto),
            "404" => Ok(DataMissing::NotFound),
            "409" => Ok(DataMissing::Conflict),
            _ => Err(format!("'{text}' is no status of missing data; auto, 404 and 409 are")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_read_as_it_is_shown() {
        for prefix in [ErrorPrefix::Auto, ErrorPrefix::Odl, ErrorPrefix::Rfc] {
            assert_eq!(prefix.to_string().parse(), Ok(prefix));
        }
        for missing in [DataMissing::Auto, DataMissing::NotFound, DataMissing::Conflict] {
            assert_eq!(missing.to_string().parse(), Ok(missing));
        }
        assert!("410".parse::<DataMissing>().unwrap_err().contains("auto, 404 and 409 are"));
        assert!("ODL".parse::<ErrorPrefix>().unwrap_err().contains("auto, odl and rfc are"));
    }

    #[test]
    fn the_defaults_can_be_meant_and_nothing_cannot() {
        assert_eq!(Settings::default().check(), Ok(()));
        let none = Settings { plans_max: 0, ..Settings::default() };
        assert_eq!(none.check(), Err("plans_max is 0; at least 1 is needed".to_owned()));
    }
}
