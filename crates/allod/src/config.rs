//! The settings of `allod serve`. Precedence: flag, environment variable, `allod.toml`, default.
//!
//! The keys are rows of the tables in `keys` and `tables`. The flags, the environment variables, the keys of `allod.toml`,
//! `allod config` and the reference are generated from them.

mod arguments;
mod authorities;
mod history;
mod keys;
mod tables;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use allod_core::authority::AuthoritySpec;
use allod_edge::{Auth, Cors};
use allod_engine::RetentionPolicy;
use allod_journal::postgres::PostgresAddress;
use allod_reactor::authority::{AllowedTargets, AuthoritySettings, Secrets};
use allod_reactor::webhook::{WebhookSettings, Webhooks};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;

pub use arguments::ServeArguments;
pub use keys::{ConfigKey, KEYS};
pub use tables::TABLE_KEYS;

use crate::limits::AllLimits;

/// The configuration file if `--config` is not given. It may be missing.
const CONFIG_DEFAULT: &str = "allod.toml";

const LIMITS: &str = "limits";

const WEBHOOK: &str = "webhook";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

#[derive(Debug)]
pub struct ServerSettings {
    pub listen: SocketAddr,
    pub data: PathBuf,
    /// The folder was given, and is not the default.
    pub data_given: bool,
    /// Replaces the journal in the folder.
    pub journal: Option<PostgresAddress>,
    pub ha: bool,
    pub log: String,
    pub log_format: LogFormat,
    pub auth: Auth,
    /// Names of the server besides the loopback names, for a server without authentication.
    pub allowed_hosts: Vec<String>,
    pub tokens: Option<PathBuf>,
    pub tls_cert: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    pub history: RetentionPolicy,
    pub archive: Option<PathBuf>,
    pub placement: allod_face_placement::PlacementSettings,
    /// Its limits are in `limits`.
    pub restconf: allod_face_restconf::RestconfSettings,
    pub id_manager: allod_face_restconf::id_manager::IdManagerSettings,
    pub cors: Cors,
    /// The first that matches a target is used.
    pub webhooks: Vec<WebhookSettings>,
    /// Where authorities may be.
    pub authority_targets: AllowedTargets,
    pub secrets: Secrets,
    /// Defined when the server starts.
    pub authorities: BTreeMap<String, AuthoritySpec>,
    pub limits: AllLimits,
}

impl Default for ServerSettings {
    fn default() -> ServerSettings {
        ServerSettings {
            listen: SocketAddr::from(([127, 0, 0, 1], 8778)),
            data: "allod-data".into(),
            data_given: false,
            journal: None,
            ha: false,
            log: "info".into(),
            log_format: LogFormat::default(),
            auth: Auth::default(),
            allowed_hosts: Vec::new(),
            tokens: None,
            tls_cert: None,
            tls_key: None,
            history: RetentionPolicy::All,
            archive: None,
            placement: allod_face_placement::PlacementSettings::default(),
            restconf: allod_face_restconf::RestconfSettings::default(),
            id_manager: allod_face_restconf::id_manager::IdManagerSettings::default(),
            cors: Cors::default(),
            webhooks: Vec::new(),
            authority_targets: AllowedTargets::default(),
            secrets: Secrets::default(),
            authorities: BTreeMap::new(),
            limits: AllLimits::default(),
        }
    }
}

/// Where a setting was set, in order of increasing precedence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSource {
    Default,
    File(PathBuf),
    Environment(String),
    Flag(String),
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingSource::Default => f.write_str("default"),
            SettingSource::File(path) => write!(f, "{}", path.display()),
            SettingSource::Environment(name) => f.write_str(name),
            SettingSource::Flag(name) => f.write_str(name),
        }
    }
}

/// The effective value of a setting, and where it was set.
#[derive(Debug, PartialEq, Eq)]
pub struct EffectiveSetting {
    pub name: &'static str,
    /// The value without passwords.
    pub text: String,
    pub source: SettingSource,
}

#[derive(Debug)]
pub struct ResolvedSettings {
    pub settings: ServerSettings,
    pub keys: Vec<EffectiveSetting>,
    pub limits: Vec<EffectiveSetting>,
}

impl ServeArguments {
    pub fn settings(self) -> Result<ServerSettings> {
        Ok(self.resolve()?.settings)
    }

    /// Combines flags, environment and file.
    pub fn resolve(self) -> Result<ResolvedSettings> {
        let path = match self.config {
            Some(path) => Some(path),
            None => Some(PathBuf::from(CONFIG_DEFAULT)).filter(|path| path.exists()),
        };
        let file = path.as_deref().map(read).transpose()?.unwrap_or_default();
        let from_file = || path.clone().map_or(SettingSource::Default, SettingSource::File);
        let mut settings = ServerSettings::default();
        let mut keys = Vec::new();
        for key in KEYS.iter().chain(TABLE_KEYS) {
            let given = self.given.iter().find(|given| given.key.name == key.name);
            let (text, source) = match (given, file.keys.get(key.name)) {
                (Some(given), _) => (given.text.as_str(), given.source.clone()),
                (None, Some(text)) => (text.as_str(), from_file()),
                (None, None) => (key.default, SettingSource::Default),
            };
            if source != SettingSource::Default {
                (key.set)(&mut settings, text)
                    .map_err(anyhow::Error::msg)
                    .with_context(|| format!("{} = \"{}\", from {source}", key.name, mask(text)))?;
            }
            keys.push(EffectiveSetting { name: key.name, text: mask(text), source });
        }
        settings.placement.policy.rules = file.rules;
        let rules = settings.placement.policy.check();
        rules.map_err(anyhow::Error::msg).context("in [policy.rules]")?;
        if !file.webhooks.is_empty() {
            let shown = file.webhooks.iter().map(|hook| mask(&hook.url));
            let text = shown.collect::<Vec<_>>().join(", ");
            keys.push(EffectiveSetting { name: WEBHOOK, text, source: from_file() });
        }
        settings.webhooks = file.webhooks;
        let (in_file, flags) = (file.limits, self.limits);
        settings.limits.set(in_file.clone()).context("in [limits]")?;
        settings.limits.set(flags.clone()).context("in --limit")?;
        settings.build_webhooks()?;
        for (name, text) in authorities::shown(&file.secrets, &file.authorities) {
            keys.push(EffectiveSetting { name, text, source: from_file() });
        }
        (settings.secrets, settings.authorities) = (file.secrets, file.authorities);
        settings.check_authorities()?;
        let limits = settings.limits.list().into_iter().map(|(name, value)| {
            let source = if flags.iter().any(|(flag, _)| flag == name) {
                self.limits_source.clone()
            } else if in_file.contains_key(name) {
                from_file()
            } else {
                SettingSource::Default
            };
            EffectiveSetting { name, text: value.to_string(), source }
        });
        let limits = limits.collect();
        Ok(ResolvedSettings { settings, keys, limits })
    }
}

impl ServerSettings {
    /// Checks the webhooks and reads their certificates.
    pub fn build_webhooks(&self) -> Result<Webhooks> {
        Webhooks::new(&self.webhooks, self.limits.reactor)
            .map_err(anyhow::Error::msg)
            .context("in [[webhook]]")
    }

    /// What the reactor needs to know about authorities.
    pub fn authority_settings(&self) -> AuthoritySettings {
        AuthoritySettings {
            secrets: self.secrets.clone(),
            targets: self.authority_targets.clone(),
            ..AuthoritySettings::default()
        }
    }
}

/// The contents of `allod.toml`, with values as text.
#[derive(Debug, Default)]
struct ConfigFile {
    /// Keys in tables as `table.key`.
    keys: BTreeMap<String, String>,
    /// `[policy.rules]`.
    rules: BTreeMap<String, String>,
    limits: BTreeMap<String, u64>,
    webhooks: Vec<WebhookSettings>,
    secrets: Secrets,
    authorities: BTreeMap<String, AuthoritySpec>,
}

fn read(path: &Path) -> Result<ConfigFile> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the configuration {}", path.display()))?;
    parse(&text).with_context(|| format!("the configuration {} is invalid", path.display()))
}

fn parse(text: &str) -> Result<ConfigFile> {
    let table: toml::Table = text.parse()?;
    let known: Vec<&str> = KEYS
        .iter()
        .map(|key| key.name)
        .chain(tables::TABLES)
        .chain([LIMITS, WEBHOOK])
        .chain(authorities::TABLES)
        .collect();
    let unknown: Vec<&str> =
        table.keys().map(String::as_str).filter(|key| !known.contains(key)).collect();
    if !unknown.is_empty() {
        bail!("unknown keys: {}; the keys are {}", unknown.join(", "), known.join(", "));
    }
    let mut file = ConfigFile::default();
    for (name, value) in table {
        if name == LIMITS {
            file.limits = value.try_into().context("in [limits]")?;
        } else if name == WEBHOOK {
            file.webhooks = value.try_into().context("in [[webhook]]")?;
        } else if name == authorities::SECRETS {
            file.secrets = value.try_into().context("in [secrets]")?;
        } else if name == authorities::AUTHORITIES {
            file.authorities = authorities::parse(value)?;
        } else if tables::TABLES.contains(&name.as_str()) {
            tables::read(&mut file, &name, value)?;
        } else {
            let text = as_text(&value).with_context(|| format!("{name} must be a single value"))?;
            file.keys.insert(name, text);
        }
    }
    Ok(file)
}

/// A value of the file as on the command line. Lists are comma-separated.
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

/// Hides passwords: `scheme://user:password@host` and `password=…`.
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

    /// Resolves the settings from this file and these flags.
    fn with_file(text: &str, flags: &[&str]) -> Result<ResolvedSettings> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("allod.toml");
        std::fs::write(&path, text)?;
        let mut flags = flags.to_vec();
        flags.extend(["--config", path.to_str().unwrap()]);
        arguments::parse(&flags)?.resolve()
    }

    #[test]
    fn flags_override_the_file_and_the_file_overrides_defaults() {
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
    fn errors_name_the_invalid_setting() {
        for (text, words) in [
            ("lisen = 1\ndat = 2", "unknown keys: dat, lisen; the keys are listen, data"),
            ("listen = \"here\"", "invalid socket address"),
            ("auth = \"magic\"", "unknown authentication strategy 'magic'; expected none"),
            ("log_format = \"xml\"", "'xml' is not one of text, json"),
            ("data = { a = 1 }", "data must be a single value"),
            ("[limits]\nkeys_max = 1", "unknown limits: keys_max; the limits are"),
            ("limits = 7", "in [limits]"),
            ("cors = 7", "write [cors]"),
            ("webhook = 7", "in [[webhook]]"),
            ("[[webhook]]\nmatch = \"/a\"", "missing field `url`"),
            ("[[webhook]]\nurl = \"here\"", "in [[webhook]]: the webhook to 'here'"),
            ("[placement]\nmax = 1", "unknown key max in [placement]; the keys are randomize_"),
            ("[placement]\nmax_allocation_candidates = \"x\"", "invalid digit"),
            ("[policy.rules]\nx = 1", "in [policy.rules]"),
            (
                "[policy.rules]\nx = \"rule:y\"",
                "in [policy.rules]: policy rule 'x' refers to rule 'y'",
            ),
            ("listen", "TOML parse error"),
            ("secrets = 7", "in [secrets]"),
            ("[secrets]\na = { fil = \"x\" }", "unknown variant `fil`"),
            ("authorities = 7", "write [authorities.NAME]"),
            ("[authorities.a]\nkind = \"http\"", "in [authorities.a]: missing field `url`"),
            (
                "[authorities.a]\nkind = \"http\"\nurl = \"http://h\"\nsecret = \"s\"",
                "in [authorities.a]: there is no secret 's'; add it to [secrets]",
            ),
            (
                "authority_targets = [\"ipam\"]\n[authorities.a]\nkind = \"http\"\nurl = \"http://h\"",
                "in [authorities.a]: h:80 is not one of the authority_targets",
            ),
            (
                "[authorities.a]\nkind = \"http\"\nurl = \"http://h\"\nparallel = 1000",
                "authority_parallel_max",
            ),
            ("authority_targets = \"http://h\"", "is not a host; write host, host:port"),
        ] {
            let error = with_file(text, &[]).unwrap_err();
            assert!(format!("{error:#}").contains(words), "{error:#}");
        }
    }

    #[test]
    fn tables_use_the_option_names_of_openstack() {
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
        assert_eq!(row("cors.max_age").source, SettingSource::Default);
    }

    #[test]
    fn webhooks_keep_the_order_of_the_file() {
        let file = "[[webhook]]\nmatch = \"/a\"\nurl = \"http://a/{target}\"\n[[webhook]]\nshape = \"nso\"\nurl = \"http://nso\"\n";
        let resolved = with_file(file, &["--limit", "outbox_attempts_max=2"]).unwrap();
        let urls = resolved.settings.webhooks.iter().map(|hook| hook.url.as_str());
        assert_eq!(urls.collect::<Vec<_>>(), ["http://a/{target}", "http://nso"]);
        assert_eq!(resolved.settings.limits.reactor.outbox_attempts_max, 2);
        let row = resolved.keys.iter().find(|row| row.name == "webhook").unwrap();
        assert_eq!(row.text, "http://a/{target}, http://nso");
    }

    #[test]
    fn passwords_are_hidden() {
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
