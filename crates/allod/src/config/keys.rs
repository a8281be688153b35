//! The keys of `allod.toml` that are also flags and environment variables of `allod serve`.
//!
//! To add one, add a field with its default to `ServerSettings`, and a row here. Limits are in `limits`.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use allod_engine::RetentionPolicy;
use allod_journal::postgres::PostgresAddress;
use clap::ValueEnum;

use super::{ServerSettings, history};
use crate::journal_location;

#[derive(Debug)]
pub struct ConfigKey {
    /// The key in `allod.toml`, or `table.key`. The flag has `-` for `_`; the environment variable is in capitals after
    /// `ALLOD_`. Keys in tables have neither.
    pub name: &'static str,
    /// The name of the value in the help of the flag.
    pub value: &'static str,
    /// Empty if there is no default.
    pub default: &'static str,
    pub about: &'static str,
    /// The possible values, if they can be listed. A flag with `true` and `false` needs no value.
    pub choices: &'static [&'static str],
    pub set: fn(&mut ServerSettings, &str) -> Result<(), String>,
}

/// A row is `name (VALUE) = default [choices], setter(field), description;`.
macro_rules! config_keys {
    ($($name:literal $(($value:ident))? = $default:literal $([$($choice:literal),*])?,
        $set:ident($($field:ident).*), $about:literal;)*) => {
        &[$(ConfigKey {
            name: $name,
            value: concat!($(stringify!($value))?),
            default: $default,
            about: $about,
            choices: &[$($($choice),*)?],
            set: |settings, text| $set(&mut (*settings)$(.$field)*, text),
        }),*]
    };
}
pub(super) use config_keys;

pub static KEYS: &[ConfigKey] = config_keys! {
    "listen" (ADDRESS) = "127.0.0.1:8778", put(listen),
        "Address and port to listen on; port 0 selects a free port";
    "data" (FOLDER) = "allod-data", put_data(),
        "Data folder with the journal; created if missing";
    "journal" (ADDRESS) = "", put_journal(journal),
        "Store the journal in PostgreSQL, such as postgres://user@host/database, instead of in the data folder";
    "ha" (BOOL) = "false" ["true", "false"], put(ha),
        "High availability: refuse writes that are not replicated to a second machine";
    "log" (LEVELS) = "info", put(log),
        "Log level, or levels by target, such as \"info,allod::access=debug\"";
    "log_format" (FORMAT) = "text" ["text", "json"], choose(log_format),
        "Format of log lines";
    "auth" (METHOD) = "none" ["none", "tokens", "noauth2"], put(auth),
        "Authentication of clients; none, and noauth2 for tests, are allowed on loopback only";
    "allowed_hosts" (NAMES) = "", list_hosts(allowed_hosts),
        "Host names, comma-separated, that requests may use besides localhost and loopback addresses; only with --auth none or noauth2, for example behind a proxy";
    "tokens" (FILE) = "", name_file(tokens),
        "Tokens file for --auth tokens; see allod token new";
    "tls_cert" (FILE) = "", name_file(tls_cert),
        "TLS certificate with its chain, in PEM format; needs --tls-key";
    "tls_key" (FILE) = "", name_file(tls_key),
        "Private key of --tls-cert, in PEM format";
    "history" (RETENTION) = "all", put_history(history),
        "How much history to retain: all, since-checkpoint (only what the oldest checkpoint needs), a time such as 30d or 12h, a size such as 10GB or 500MB, or both, such as 30d,10GB";
    "archive" (FOLDER) = "", put_folder(archive),
        "Folder to archive records in before they are trimmed from the journal; without it they are deleted";
    "authority_targets" (HOSTS) = "", put(authority_targets),
        "Servers, comma-separated, where authorities may be: host, host:port or *.example.org; empty: all";
};

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

fn put_data(settings: &mut ServerSettings, text: &str) -> Result<(), String> {
    settings.data_given = true;
    put(&mut settings.data, text)
}

fn put_journal(setting: &mut Option<PostgresAddress>, text: &str) -> Result<(), String> {
    *setting = Some(journal_location::parse_address(text)?);
    Ok(())
}

fn put_history(setting: &mut RetentionPolicy, text: &str) -> Result<(), String> {
    *setting = history::parse(text)?;
    Ok(())
}

fn put_folder(setting: &mut Option<PathBuf>, text: &str) -> Result<(), String> {
    *setting = (!text.is_empty()).then(|| text.into());
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

/// Sets a list of host names. A port would never match.
fn list_hosts(setting: &mut Vec<String>, text: &str) -> Result<(), String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(str::to_owned).collect();
    let with_port = |name: &&String| name.contains(':') && !name.ends_with(']');
    if let Some(name) = names.iter().find(|name| name.contains('/') || with_port(name)) {
        return Err(format!("'{name}' is not a host name; write it without scheme and port"));
    }
    *setting = names;
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
    fn allowed_hosts_are_names_without_port() {
        let mut hosts = Vec::new();
        list_hosts(&mut hosts, "allod.example.com, [2001:db8::1],").unwrap();
        assert_eq!(hosts, ["allod.example.com", "[2001:db8::1]"]);
        for wrong in ["allod:8778", "http://allod", "[::2]:80"] {
            assert!(list_hosts(&mut hosts, wrong).unwrap_err().contains("without scheme"));
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
