//! The keys of `allod.toml` that are also flags and environment variables of `allod serve`.
//!
//! To add one, add a field with its default to `ServerSettings`, and a row here. Limits are in `limits`.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;

use super::{ServerSettings, history};
use crate::journal_location;

#[derive(Debug)]
pub struct ConfigKey {
    /// The key in `allod.toml`. The flag has `-` for `_`; the environment variable is in capitals after `ALLOD_`.
    pub name: &'static str,
    /// The name of the value in the help.
    pub value: &'static str,
    /// Empty if there is no default.
    pub default: &'static str,
    pub about: &'static str,
    /// The possible values, if they can be listed. A flag with `true` and `false` needs no value.
    pub choices: &'static [&'static str],
    pub set: fn(&mut ServerSettings, &str) -> Result<(), String>,
}

pub static KEYS: &[ConfigKey] = &[
    ConfigKey {
        name: "listen",
        value: "ADDRESS",
        default: "127.0.0.1:8778",
        about: "Address and port to listen on; port 0 selects a free port",
        choices: &[],
        set: |settings, text| put(&mut settings.listen, text),
    },
    ConfigKey {
        name: "data",
        value: "FOLDER",
        default: "allod-data",
        about: "Data folder with the journal; created if missing",
        choices: &[],
        set: |settings, text| {
            settings.data_given = true;
            put(&mut settings.data, text)
        },
    },
    ConfigKey {
        name: "journal",
        value: "ADDRESS",
        default: "",
        about: "Store the journal in PostgreSQL, such as postgres://user@host/database, instead of in the data folder",
        choices: &[],
        set: |settings, text| {
            settings.journal = Some(journal_location::parse_address(text)?);
            Ok(())
        },
    },
    ConfigKey {
        name: "ha",
        value: "BOOL",
        default: "false",
        about: "High availability: refuse writes that are not replicated to a second machine",
        choices: &["true", "false"],
        set: |settings, text| put(&mut settings.ha, text),
    },
    ConfigKey {
        name: "log",
        value: "LEVELS",
        default: "info",
        about: "Log level, or levels by target, such as \"info,allod::access=debug\"",
        choices: &[],
        set: |settings, text| put(&mut settings.log, text),
    },
    ConfigKey {
        name: "log_format",
        value: "FORMAT",
        default: "text",
        about: "Format of log lines",
        choices: &["text", "json"],
        set: |settings, text| choose(&mut settings.log_format, text),
    },
    ConfigKey {
        name: "auth",
        value: "METHOD",
        default: "none",
        about: "Authentication of clients; none, and noauth2 for tests, are allowed on loopback only",
        choices: &["none", "tokens", "noauth2"],
        set: |settings, text| put(&mut settings.auth, text),
    },
    ConfigKey {
        name: "tokens",
        value: "FILE",
        default: "",
        about: "Tokens file for --auth tokens; see allod token new",
        choices: &[],
        set: |settings, text| name_file(&mut settings.tokens, text),
    },
    ConfigKey {
        name: "tls_cert",
        value: "FILE",
        default: "",
        about: "TLS certificate with its chain, in PEM format; needs --tls-key",
        choices: &[],
        set: |settings, text| name_file(&mut settings.tls_cert, text),
    },
    ConfigKey {
        name: "tls_key",
        value: "FILE",
        default: "",
        about: "Private key of --tls-cert, in PEM format",
        choices: &[],
        set: |settings, text| name_file(&mut settings.tls_key, text),
    },
    ConfigKey {
        name: "history",
        value: "RETENTION",
        default: "all",
        about: "How much history to retain: all, since-checkpoint (only what the oldest checkpoint needs), a time such as 30d or 12h, a size such as 10GB or 500MB, or both, such as 30d,10GB",
        choices: &[],
        set: |settings, text| {
            settings.history = history::parse(text)?;
            Ok(())
        },
    },
    ConfigKey {
        name: "archive",
        value: "FOLDER",
        default: "",
        about: "Folder to archive records in before they are trimmed from the journal; without it they are deleted",
        choices: &[],
        set: |settings, text| {
            settings.archive = (!text.is_empty()).then(|| text.into());
            Ok(())
        },
    },
];

impl ConfigKey {
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    pub fn variable(&self) -> String {
        format!("ALLOD_{}", self.name.to_uppercase())
    }

    /// Checks a value.
    pub fn check(&self, text: &str) -> Result<(), String> {
        (self.set)(&mut ServerSettings::default(), text)
    }
}

/// Parses a value and sets it.
pub(super) fn put<T: FromStr<Err: Display>>(setting: &mut T, text: &str) -> Result<(), String> {
    *setting = text.parse().map_err(|error: T::Err| error.to_string())?;
    Ok(())
}

/// Sets the path of an optional file.
fn name_file(setting: &mut Option<PathBuf>, text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("expected the name of a file".to_owned());
    }
    *setting = Some(text.into());
    Ok(())
}

/// Sets an enum by the name of a value.
fn choose<T: ValueEnum>(setting: &mut T, text: &str) -> Result<(), String> {
    *setting = T::from_str(text, false).map_err(|_| {
        let known = T::value_variants().iter().filter_map(T::to_possible_value);
        let known: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
        format!("'{text}' is not one of {}", known.join(", "))
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_defaults_match_the_settings() {
        let mut settings = ServerSettings::default();
        let wanted = format!("{settings:?}");
        for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
            (key.set)(&mut settings, key.default).unwrap();
            // Set by giving any value, even the default.
            settings.data_given = false;
            assert_eq!(format!("{settings:?}"), wanted, "{}", key.name);
        }
    }

    #[test]
    fn every_choice_is_accepted() {
        for key in KEYS {
            for choice in key.choices {
                key.check(choice).unwrap();
            }
        }
    }
}
