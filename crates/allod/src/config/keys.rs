//! Every key of `allod.toml`, which is also a flag and an environment variable of `allod serve`.
//!
//! To add one: a field in `Settings` with its default there, and a row here. Limits are not here: they have names of
//! their own in `limits`.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;

use super::{Settings, history};
use crate::place;

/// One thing that an operator can set.
#[derive(Debug)]
pub struct Key {
    /// As in `allod.toml`. With `-` for `_` it is the flag, in capitals after `ALLOD_` the environment variable.
    pub name: &'static str,
    /// What kind of value follows the flag, for its help.
    pub value: &'static str,
    /// As it would be typed; empty when there is none.
    pub default: &'static str,
    pub about: &'static str,
    /// All values that there are, if they can be listed. With just `true` and `false` the flag may stand alone.
    pub choices: &'static [&'static str],
    pub set: fn(&mut Settings, &str) -> Result<(), String>,
}

/// In the order in which they are shown.
pub static KEYS: &[Key] = &[
    Key {
        name: "listen",
        value: "ADDRESS",
        default: "127.0.0.1:8778",
        about: "Where to listen; port 0 takes any that is free",
        choices: &[],
        set: |settings, text| put(&mut settings.listen, text),
    },
    Key {
        name: "data",
        value: "FOLDER",
        default: "allod-data",
        about: "The folder of the journal; made when it is not there",
        choices: &[],
        set: |settings, text| {
            settings.data_given = true;
            put(&mut settings.data, text)
        },
    },
    Key {
        name: "journal",
        value: "ADDRESS",
        default: "",
        about: "Keep the journal in PostgreSQL, as in postgres://user@host/database, instead of in the folder",
        choices: &[],
        set: |settings, text| {
            settings.journal = Some(place::address(text)?);
            Ok(())
        },
    },
    Key {
        name: "ha",
        value: "YES OR NO",
        default: "false",
        about: "Refuse to write what would not survive the loss of one machine",
        choices: &["true", "false"],
        set: |settings, text| put(&mut settings.ha, text),
    },
    Key {
        name: "log",
        value: "LEVELS",
        default: "info",
        about: "What to log: a level, or levels by target as in \"info,allod::access=debug\"",
        choices: &[],
        set: |settings, text| put(&mut settings.log, text),
    },
    Key {
        name: "log_format",
        value: "FORMAT",
        default: "text",
        about: "How a log line looks",
        choices: &["text", "json"],
        set: |settings, text| choose(&mut settings.log_format, text),
    },
    Key {
        name: "auth",
        value: "HOW",
        default: "none",
        about: "How clients prove who they are; none, and noauth2 for tests, are for loopback only",
        choices: &["none", "tokens", "noauth2"],
        set: |settings, text| put(&mut settings.auth, text),
    },
    Key {
        name: "tokens",
        value: "FILE",
        default: "",
        about: "With --auth tokens: the file that says which tokens may do what; see allod token new",
        choices: &[],
        set: |settings, text| name_file(&mut settings.tokens, text),
    },
    Key {
        name: "tls_cert",
        value: "FILE",
        default: "",
        about: "Speak TLS with this certificate, in PEM form and with its chain; needs --tls-key",
        choices: &[],
        set: |settings, text| name_file(&mut settings.tls_cert, text),
    },
    Key {
        name: "tls_key",
        value: "FILE",
        default: "",
        about: "The private key of --tls-cert, in PEM form",
        choices: &[],
        set: |settings, text| name_file(&mut settings.tls_key, text),
    },
    Key {
        name: "history",
        value: "HOW MUCH",
        default: "all",
        about: "How much of the journal to keep: all, since-checkpoint (only what the oldest checkpoint needs), a time as in 30d or 12h, a size as in 10GB or 500MB, or both as in 30d,10GB",
        choices: &[],
        set: |settings, text| {
            settings.history = history::read(text)?;
            Ok(())
        },
    },
    Key {
        name: "archive",
        value: "FOLDER",
        default: "",
        about: "The folder that records are archived in before they are trimmed from the journal; without one they are gone",
        choices: &[],
        set: |settings, text| {
            settings.archive = (!text.is_empty()).then(|| text.into());
            Ok(())
        },
    },
];

impl Key {
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    pub fn variable(&self) -> String {
        format!("ALLOD_{}", self.name.to_uppercase())
    }

    /// Whether it can be meant, and if not why.
    pub fn check(&self, text: &str) -> Result<(), String> {
        (self.set)(&mut Settings::default(), text)
    }
}

/// Sets what can be read from a text.
fn put<T: FromStr<Err: Display>>(place: &mut T, text: &str) -> Result<(), String> {
    *place = text.parse().map_err(|error: T::Err| error.to_string())?;
    Ok(())
}

/// Sets the path of a file that need not be given.
fn name_file(place: &mut Option<PathBuf>, text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("the name of a file is expected".to_owned());
    }
    *place = Some(text.into());
    Ok(())
}

/// Sets what has a few named values.
fn choose<T: ValueEnum>(place: &mut T, text: &str) -> Result<(), String> {
    *place = T::from_str(text, false).map_err(|_| {
        let known = T::value_variants().iter().filter_map(T::to_possible_value);
        let known: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
        format!("'{text}' is none of {}", known.join(", "))
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_are_shown_are_those_that_count() {
        let mut settings = Settings::default();
        let wanted = format!("{settings:?}");
        for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
            (key.set)(&mut settings, key.default).unwrap();
            // That it was said is no part of what it is.
            settings.data_given = false;
            assert_eq!(format!("{settings:?}"), wanted, "{}", key.name);
        }
    }

    #[test]
    fn every_choice_can_be_meant() {
        for key in KEYS {
            for choice in key.choices {
                key.check(choice).unwrap();
            }
        }
    }
}
