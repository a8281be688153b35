//! What an operator can say, and where: a flag, else the environment, else `allod.toml`, else the default.
//!
//! The keys are data: see `keys`, where a new one is one row. The flags of `allod serve`, their environment variables, the
//! lines that `allod.toml` may have, `allod config` and the reference are all made from these rows.

mod given;
mod history;
mod keys;
mod tables;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use allod_edge::{Auth, Cors};
use allod_engine::RetentionPolicy;
use allod_journal::postgres::PostgresAddress;
use allod_reactor::webhook::{WebhookSettings, Webhooks};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;

pub use given::ServeArguments;
pub use keys::{KEYS, Key};
pub use tables::TABLE_KEYS;

use crate::limits::Limits;

/// Read when there is one and `--config` names no other.
pub const CONFIG_USUAL: &str = "allod.toml";

/// The table of `allod.toml` that has the limits by name.
const LIMITS: &str = "limits";

/// The tables of `allod.toml` that have a webhook each.
const WEBHOOK: &str = "webhook";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

/// As meant: everything has a value.
#[derive(Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub data: PathBuf,
    /// The folder was named, and is not just the usual one.
    pub data_given: bool,
    /// In place of the one in the folder.
    pub journal: Option<PostgresAddress>,
    pub ha: bool,
    pub log: String,
    pub log_format: LogFormat,
    pub auth: Auth,
    pub tokens: Option<PathBuf>,
    pub tls_cert: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    pub history: RetentionPolicy,
    pub archive: Option<PathBuf>,
    pub placement: allod_face_placement::Settings,
    /// Without its limits, which are among the limits.
    pub restconf: allod_face_restconf::Settings,
    pub id_manager: allod_face_restconf::id_manager::Settings,
    pub cors: Cors,
    /// In the order in which they are tried.
    pub webhooks: Vec<WebhookSettings>,
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            listen: SocketAddr::from(([127, 0, 0, 1], 8778)),
            data: "allod-data".into(),
            data_given: false,
            journal: None,
            ha: false,
            log: "info".into(),
            log_format: LogFormat::default(),
            auth: Auth::default(),
            tokens: None,
            tls_cert: None,
            tls_key: None,
            history: RetentionPolicy::All,
            archive: None,
            placement: allod_face_placement::Settings::default(),
            restconf: allod_face_restconf::Settings::default(),
            id_manager: allod_face_restconf::id_manager::Settings::default(),
            cors: Cors::default(),
            webhooks: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// Where a setting was said. What comes later here counts more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default,
    File(PathBuf),
    Environment(String),
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::File(path) => write!(f, "{}", path.display()),
            Source::Environment(name) => f.write_str(name),
            Source::Flag(name) => f.write_str(name),
        }
    }
}

/// One setting as it will be used, and where it was said.
#[derive(Debug, PartialEq, Eq)]
pub struct Effective {
    pub name: &'static str,
    /// As text, with nothing in it that must not be shown.
    pub text: String,
    pub source: Source,
}

/// All settings, and where each was said.
#[derive(Debug)]
pub struct Resolved {
    pub settings: Settings,
    /// In the order of the table of keys.
    pub keys: Vec<Effective>,
    /// In the order of the table of limits.
    pub limits: Vec<Effective>,
}

impl ServeArguments {
    pub fn settings(self) -> Result<Settings> {
        Ok(self.resolve()?.settings)
    }

    /// Puts together what was said in all places.
    pub fn resolve(self) -> Result<Resolved> {
        let path = match self.config {
            Some(path) => Some(path),
            None => Some(PathBuf::from(CONFIG_USUAL)).filter(|path| path.exists()),
        };
        let file = path.as_deref().map(read).transpose()?.unwrap_or_default();
        let from_file = || path.clone().map_or(Source::Default, Source::File);
        let mut settings = Settings::default();
        let mut keys = Vec::new();
        for key in KEYS {
            let given = self.given.iter().find(|given| given.key.name == key.name);
            let (text, source) = match (given, file.keys.get(key.name)) {
                (Some(given), _) => (given.text.as_str(), given.source.clone()),
                (None, Some(text)) => (text.as_str(), from_file()),
                (None, None) => (key.default, Source::Default),
            };
            if source != Source::Default {
                (key.set)(&mut settings, text)
                    .map_err(anyhow::Error::msg)
                    .with_context(|| format!("{} = \"{}\", from {source}", key.name, mask(text)))?;
            }
            keys.push(Effective { name: key.name, text: mask(text), source });
        }
        for key in TABLE_KEYS {
            let (text, source) = match file.tables.get(key.name) {
                Some(text) => (text.as_str(), from_file()),
                None => (key.default, Source::Default),
            };
            if source != Source::Default {
                (key.set)(&mut settings, text)
                    .map_err(anyhow::Error::msg)
                    .with_context(|| format!("{} = \"{text}\", from {source}", key.name))?;
            }
            keys.push(Effective { name: key.name, text: text.to_owned(), source });
        }
        settings.placement.policy.rules = file.rules;
        settings
            .placement
            .policy
            .check()
            .map_err(anyhow::Error::msg)
            .context("in [policy.rules]")?;
        if !file.webhooks.is_empty() {
            let shown = file.webhooks.iter().map(|hook| mask(&hook.url));
            let text = shown.collect::<Vec<_>>().join(", ");
            keys.push(Effective { name: WEBHOOK, text, source: from_file() });
        }
        settings.webhooks = file.webhooks;
        let (in_file, flags) = (file.limits, self.limits);
        settings.limits.set(in_file.clone()).context("in [limits]")?;
        settings.limits.set(flags.clone()).context("in --limit")?;
        settings.reachable()?;
        let limits = settings.limits.list().into_iter().map(|(name, value)| {
            let source = if flags.iter().any(|(flag, _)| flag == name) {
                self.limits_source.clone()
            } else if in_file.contains_key(name) {
                from_file()
            } else {
                Source::Default
            };
            Effective { name, text: value.to_string(), source }
        });
        let limits = limits.collect();
        Ok(Resolved { settings, keys, limits })
    }
}

impl Settings {
    /// The webhooks as they are meant.
    pub fn reachable(&self) -> Result<Webhooks> {
        Webhooks::new(&self.webhooks, self.limits.reactor)
            .map_err(anyhow::Error::msg)
            .context("in [[webhook]]")
    }
}

/// What `allod.toml` says, not yet understood.
#[derive(Debug, Default)]
struct File {
    keys: BTreeMap<String, String>,
    /// The keys that stand in tables, with the table before them.
    tables: BTreeMap<String, String>,
    /// `[policy.rules]`.
    rules: BTreeMap<String, String>,
    limits: BTreeMap<String, u64>,
    webhooks: Vec<WebhookSettings>,
}

fn read(path: &Path) -> Result<File> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("the configuration {} cannot be read", path.display()))?;
    parse(&text).with_context(|| format!("the configuration {} is wrong", path.display()))
}

fn parse(text: &str) -> Result<File> {
    let table: toml::Table = text.parse()?;
    let known: Vec<&str> =
        KEYS.iter().map(|key| key.name).chain(tables::TABLES).chain([LIMITS, WEBHOOK]).collect();
    let unknown: Vec<&str> =
        table.keys().map(String::as_str).filter(|key| !known.contains(key)).collect();
    if !unknown.is_empty() {
        bail!("unknown keys {}; known are {}", unknown.join(", "), known.join(", "));
    }
    let mut file = File::default();
    for (name, value) in table {
        if name == LIMITS {
            file.limits = value.try_into().context("in [limits]")?;
        } else if name == WEBHOOK {
            file.webhooks = value.try_into().context("in [[webhook]]")?;
        } else if tables::TABLES.contains(&name.as_str()) {
            tables::read(&mut file, &name, value)?;
        } else {
            let text = as_text(&value).with_context(|| format!("{name} must be one value"))?;
            file.keys.insert(name, text);
        }
    }
    Ok(file)
}

/// A value of the file as it would stand on the command line: a list is its members with commas between.
fn as_text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) => {
            Some(value.to_string())
        }
        toml::Value::Array(members) => {
            let members: Option<Vec<String>> = members.iter().map(as_text).collect();
            members.map(|members| members.join(","))
        }
        toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}

/// The text without the passwords that may be in it: `scheme://user:password@host` and `password=…`.
fn mask(text: &str) -> String {
    const HIDDEN: &str = "***";
    let mut shown = text.to_owned();
    if let Some(begin) = shown.find("://").map(|at| at + 3) {
        let rest = &shown[begin..];
        let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
        let user = authority.rfind('@').and_then(|at| authority[..at].find(':').map(|c| (c, at)));
        if let Some((colon, at)) = user {
            shown.replace_range(begin + colon + 1..begin + at, HIDDEN);
        }
    }
    if let Some(begin) = shown.find("password=").map(|at| at + "password=".len()) {
        let rest = &shown[begin..];
        let len = rest.find(['&', ' ']).unwrap_or(rest.len());
        shown.replace_range(begin..begin + len, HIDDEN);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `allod serve` with these flags and this file would do.
    fn with_file(text: &str, flags: &[&str]) -> Result<Resolved> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("allod.toml");
        std::fs::write(&path, text)?;
        let mut flags = flags.to_vec();
        flags.extend(["--config", path.to_str().unwrap()]);
        given::typed(&flags)?.resolve()
    }

    #[test]
    fn what_is_said_nearer_counts_and_the_rest_has_defaults() {
        let file = "listen = \"127.0.0.1:1\"\nlog = \"debug\"\nhistory = \"since-checkpoint\"\n[limits]\nkey_bytes_max = 5\nlabels_max = 6\n";
        let flags = ["--listen", "127.0.0.1:2", "--limit", "key_bytes_max=7"];
        let resolved = with_file(file, &flags).unwrap();
        let settings = &resolved.settings;
        assert_eq!(settings.listen.port(), 2);
        assert_eq!((settings.log.as_str(), settings.log_format), ("debug", LogFormat::Text));
        assert_eq!(settings.history, RetentionPolicy::SinceCheckpoint);
        assert_eq!(settings.data, Path::new("allod-data"));
        assert_eq!(settings.limits.core.key_bytes_max, 7);
        assert_eq!(settings.limits.core.labels_max, 6);
        let source = |name: &str| {
            let mut all = resolved.keys.iter().chain(&resolved.limits);
            all.find(|row| row.name == name).map(|row| row.source.to_string()).unwrap()
        };
        assert_eq!((source("listen"), source("data")), ("--listen".into(), "default".into()));
        assert!(source("log").ends_with("allod.toml"));
        assert_eq!(source("key_bytes_max"), "--limit");
        assert!(source("labels_max").ends_with("allod.toml"));
        assert_eq!(source("label_bytes_max"), "default");
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        for (text, words) in [
            ("lisen = 1\ndat = 2", "unknown keys dat, lisen; known are listen, data"),
            ("listen = \"here\"", "invalid socket address"),
            ("auth = \"magic\"", "'magic' is no way to authenticate"),
            ("log_format = \"xml\"", "'xml' is none of text, json"),
            ("data = { a = 1 }", "data must be one value"),
            ("[limits]\nkeys_max = 1", "unknown limits keys_max; known are"),
            ("limits = 7", "in [limits]"),
            ("cors = 7", "write [cors]"),
            ("webhook = 7", "in [[webhook]]"),
            ("[[webhook]]\nmatch = \"/a\"", "missing field `url`"),
            ("[[webhook]]\nurl = \"here\"", "in [[webhook]]: the webhook to 'here'"),
            ("[placement]\nmax = 1", "unknown key max in [placement]; known are randomize_"),
            ("[placement]\nmax_allocation_candidates = \"x\"", "invalid digit"),
            ("[policy.rules]\nx = 1", "in [policy.rules]"),
            (
                "[policy.rules]\nx = \"rule:y\"",
                "in [policy.rules]: the rule 'x' is about a rule 'y'",
            ),
            ("listen", "TOML parse error"),
        ] {
            let error = with_file(text, &[]).unwrap_err();
            assert!(format!("{error:#}").contains(words), "{error:#}");
        }
    }

    #[test]
    fn tables_have_the_names_that_openstack_has() {
        let file = "[placement]\nmax_allocation_candidates = 7\nallocation_candidates_generation_strategy = \"breadth-first\"\nallocation_conflict_retry_count = 3\n[policy]\nenforce_new_defaults = false\n[policy.rules]\n\"placement:usages\" = \"@\"\n[cors]\nallowed_origin = [\"http://a\", \"http://b\"]\nallow_headers = \"x,y\"\n";
        let resolved = with_file(file, &[]).unwrap();
        let settings = &resolved.settings;
        assert_eq!(settings.placement.max_allocation_candidates, 7);
        assert!(!settings.placement.policy.enforce_new_defaults);
        assert!(settings.placement.policy.enforce_scope);
        assert_eq!(settings.placement.policy.rules["placement:usages"], "@");
        assert_eq!(settings.cors.allowed_origin, ["http://a", "http://b"]);
        assert_eq!(settings.cors.allow_headers, ["x", "y"]);
        let row = |name: &str| resolved.keys.iter().find(|row| row.name == name).unwrap();
        assert_eq!(row("placement.max_allocation_candidates").text, "7");
        assert_eq!(row("cors.max_age").source, Source::Default);
    }

    #[test]
    fn webhooks_are_read_in_the_order_in_which_they_stand() {
        let file = "[[webhook]]\nmatch = \"/a\"\nurl = \"http://a/{target}\"\n[[webhook]]\nshape = \"nso\"\nurl = \"http://nso\"\n";
        let resolved = with_file(file, &["--limit", "outbox_attempts_max=2"]).unwrap();
        let urls = resolved.settings.webhooks.iter().map(|hook| hook.url.as_str());
        assert_eq!(urls.collect::<Vec<_>>(), ["http://a/{target}", "http://nso"]);
        assert_eq!(resolved.settings.limits.reactor.outbox_attempts_max, 2);
        let row = resolved.keys.iter().find(|row| row.name == "webhook").unwrap();
        assert_eq!(row.text, "http://a/{target}, http://nso");
    }

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            ("postgres://me:secret@host/db", "postgres://me:***@host/db"),
            ("postgres://me:se@cret@host", "postgres://me:***@host"),
            ("postgres://me@host:5432/db", "postgres://me@host:5432/db"),
            ("postgres://host/db?password=x&a=b", "postgres://host/db?password=***&a=b"),
            ("host=h password=secret dbname=d", "host=h password=*** dbname=d"),
            ("info,allod::access=debug", "info,allod::access=debug"),
        ] {
            assert_eq!(mask(text), shown);
        }
    }
}
