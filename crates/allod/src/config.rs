//! What an operator can say, and where: a flag, else the environment, else `allod.toml`, else the default.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use allod_edge::Auth;
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::limits::Limits;

/// Read when there is one and `--config` names no other.
const CONFIG_USUAL: &str = "allod.toml";

/// As typed; what was not said is `None`.
#[derive(Debug, Default, Args)]
pub struct ServeArguments {
    /// Where to listen; port 0 takes any that is free [default: 127.0.0.1:8778]
    #[arg(long, env = "ALLOD_LISTEN")]
    listen: Option<SocketAddr>,

    /// The folder of the journal; made when it is not there [default: ./allod-data]
    #[arg(long, env = "ALLOD_DATA")]
    data: Option<PathBuf>,

    /// The configuration file [default: allod.toml, if there is one]
    #[arg(long, env = "ALLOD_CONFIG")]
    config: Option<PathBuf>,

    /// What to log: a level, or levels by target as in "info,allod::access=debug" [default: info]
    #[arg(long, env = "ALLOD_LOG")]
    log: Option<String>,

    /// How a log line looks [default: text]
    #[arg(long, env = "ALLOD_LOG_FORMAT")]
    log_format: Option<LogFormat>,

    /// How clients prove who they are; none is for loopback only [default: none]
    #[arg(long, env = "ALLOD_AUTH")]
    auth: Option<Auth>,

    /// How much of the journal to keep: all of it, or only what the oldest checkpoint needs [default: all]
    #[arg(long, env = "ALLOD_HISTORY")]
    history: Option<KeptHistory>,

    /// A limit by its name, as in key_bytes_max=2000; may be repeated
    #[arg(long, env = "ALLOD_LIMIT", value_delimiter = ',', value_parser = named_number)]
    limit: Vec<(String, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeptHistory {
    #[default]
    All,
    SinceCheckpoint,
}

/// `allod.toml`.
#[derive(Debug, Default, Deserialize)]
struct File {
    listen: Option<SocketAddr>,
    data: Option<PathBuf>,
    log: Option<String>,
    log_format: Option<LogFormat>,
    auth: Option<String>,
    history: Option<KeptHistory>,
    #[serde(default)]
    limits: BTreeMap<String, u64>,
}

const FILE_KEYS: [&str; 7] = ["listen", "data", "log", "log_format", "auth", "history", "limits"];

/// As meant: everything has a value.
#[derive(Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub data: PathBuf,
    pub log: String,
    pub log_format: LogFormat,
    pub auth: Auth,
    pub history: KeptHistory,
    pub limits: Limits,
}

impl ServeArguments {
    pub fn settings(self) -> Result<Settings> {
        let file = match &self.config {
            Some(path) => read(path)?,
            None if Path::new(CONFIG_USUAL).exists() => read(Path::new(CONFIG_USUAL))?,
            None => File::default(),
        };
        let mut limits = Limits::default();
        limits.set(file.limits).context("in [limits]")?;
        limits.set(self.limit).context("in --limit")?;
        let auth = match (self.auth, file.auth) {
            (Some(auth), _) => auth,
            (None, Some(text)) => text.parse().map_err(anyhow::Error::msg).context("auth")?,
            (None, None) => Auth::default(),
        };
        Ok(Settings {
            listen: self.listen.or(file.listen).unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8778))),
            data: self.data.or(file.data).unwrap_or_else(|| "allod-data".into()),
            log: self.log.or(file.log).unwrap_or_else(|| "info".into()),
            log_format: self.log_format.or(file.log_format).unwrap_or_default(),
            auth,
            history: self.history.or(file.history).unwrap_or_default(),
            limits,
        })
    }
}

fn read(path: &Path) -> Result<File> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("the configuration {} cannot be read", path.display()))?;
    parse(&text).with_context(|| format!("the configuration {} is wrong", path.display()))
}

fn parse(text: &str) -> Result<File> {
    let table: toml::Table = text.parse()?;
    let unknown: Vec<&str> =
        table.keys().map(String::as_str).filter(|key| !FILE_KEYS.contains(key)).collect();
    if !unknown.is_empty() {
        bail!("unknown keys {}; known are {}", unknown.join(", "), FILE_KEYS.join(", "));
    }
    Ok(table.try_into()?)
}

fn named_number(text: &str) -> Result<(String, u64), String> {
    let (name, number) = text.split_once('=').ok_or("name=number is expected")?;
    let number = number.trim().parse().map_err(|_| format!("'{number}' is not a number"))?;
    Ok((name.trim().to_owned(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file(text: &str, arguments: ServeArguments) -> Result<Settings> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("allod.toml");
        std::fs::write(&path, text)?;
        ServeArguments { config: Some(path), ..arguments }.settings()
    }

    #[test]
    fn what_is_said_nearer_counts_and_the_rest_has_defaults() {
        let file = "listen = \"127.0.0.1:1\"\nlog = \"debug\"\nhistory = \"since-checkpoint\"\n[limits]\nkey_bytes_max = 5\nlabels_max = 6\n";
        let flags = ServeArguments {
            listen: Some("127.0.0.1:2".parse().unwrap()),
            limit: vec![("key_bytes_max".into(), 7)],
            ..Default::default()
        };
        let settings = with_file(file, flags).unwrap();
        assert_eq!(settings.listen.port(), 2);
        assert_eq!((settings.log.as_str(), settings.log_format), ("debug", LogFormat::Text));
        assert_eq!(settings.history, KeptHistory::SinceCheckpoint);
        assert_eq!(settings.data, Path::new("allod-data"));
        assert_eq!(settings.limits.core.key_bytes_max, 7);
        assert_eq!(settings.limits.core.labels_max, 6);
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        for (text, words) in [
            ("lisen = 1\ndat = 2", "unknown keys dat, lisen; known are listen, data"),
            ("listen = \"here\"", "invalid socket address"),
            ("auth = \"magic\"", "'magic' is no way to authenticate"),
            ("[limits]\nkeys_max = 1", "unknown limits keys_max; known are"),
            ("listen", "TOML parse error"),
        ] {
            let error = with_file(text, ServeArguments::default()).unwrap_err();
            assert!(format!("{error:#}").contains(words), "{error:#}");
        }
        assert!(named_number("a").is_err() && named_number("a=b").is_err());
    }
}
