//! `[secrets]` and `[authorities.NAME]` of `allod.toml`.

use std::collections::BTreeMap;

use allod_core::authority::AuthoritySpec;
use allod_core::authority::command::AuthorityCommand;
use allod_core::command::{Command, Expect, Stamp};
use allod_core::view::State;
use allod_reactor::authority::{Secrets, connect};
use anyhow::{Context, Result, anyhow, bail};

use super::ServerSettings;

pub(super) const SECRETS: &str = "secrets";
pub(super) const AUTHORITIES: &str = "authorities";
pub(super) const TABLES: [&str; 2] = [SECRETS, AUTHORITIES];

/// Reads the definitions. Their keys are those of `PUT /v1/authorities/{name}`.
pub(super) fn parse(value: toml::Value) -> Result<BTreeMap<String, AuthoritySpec>> {
    let toml::Value::Table(tables) = value else {
        bail!("authorities is not a table; write [authorities.NAME]");
    };
    let mut authorities = BTreeMap::new();
    for (name, definition) in tables {
        let definition = serde_json::to_value(definition)?;
        let spec =
            allod_face_native::authority_spec(definition).map_err(|why| in_table(&name, &why))?;
        authorities.insert(name, spec);
    }
    Ok(authorities)
}

/// The rows of `allod config show`: names only.
pub(super) fn shown(
    secrets: &Secrets,
    authorities: &BTreeMap<String, AuthoritySpec>,
) -> Vec<(&'static str, String)> {
    let names = |names: Vec<&str>| names.join(", ");
    let rows = [
        (SECRETS, names(secrets.0.keys().map(String::as_str).collect())),
        (AUTHORITIES, names(authorities.keys().map(String::as_str).collect())),
    ];
    rows.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

fn in_table(name: &str, why: &str) -> anyhow::Error {
    anyhow!("in [authorities.{name}]: {why}")
}

impl ServerSettings {
    /// Checks the definitions, as far as that is possible without a journal.
    pub(super) fn check_authorities(&self) -> Result<()> {
        let reactor = self.authority_settings();
        for (name, spec) in &self.authorities {
            connect(&reactor, spec, None).map_err(|why| in_table(name, &why))?;
            if let Some(secret) =
                spec.secret.as_ref().filter(|name| !self.secrets.0.contains_key(&***name))
            {
                bail!(in_table(
                    name,
                    &format!("there is no secret '{secret}'; add it to [secrets]")
                ));
            }
        }
        let stamp = Stamp { now_ms: 0, seed: 0 };
        let mut state = State::default();
        for command in self.authority_commands() {
            let decided = allod_core::decide(&mut state, &stamp, &command, &self.limits.core);
            decided.map_err(|refused| anyhow!("in [authorities]: {}", refused.refusal))?;
        }
        Ok(())
    }

    /// Reads all secrets.
    pub fn check_secrets(&self) -> Result<()> {
        for name in self.secrets.0.keys() {
            self.secrets.read(name).map_err(|why| anyhow!(why)).context("in [secrets]")?;
        }
        Ok(())
    }

    /// The commands that define the authorities of the file. They change nothing if the authorities are the same already.
    pub fn authority_commands(&self) -> impl Iterator<Item = Command> {
        self.authorities.iter().map(|(name, spec)| {
            let (name, spec) = (name.as_str().into(), spec.clone());
            Command::Authority(AuthorityCommand::Put { name, spec, expect: Expect::Any })
        })
    }
}
