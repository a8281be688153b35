//! The tokens and the TLS certificate of `allod serve`.

use std::sync::Arc;

use allod_edge::{AllowedHosts, App, Auth, Guard, Listener, Reload, Reloader, Tls, Tokens};
use anyhow::{Result, anyhow, bail};

use crate::config::ServerSettings;

/// The key of a token's scope in the tokens file: the prefix of the names of its pools.
pub const SCOPE_WORD: &str = "pools";

pub struct Security {
    auth: Auth,
    allowed_hosts: AllowedHosts,
    tokens: Option<Arc<Tokens>>,
    tls: Option<Arc<Tls>>,
}

impl Security {
    pub fn open(settings: &ServerSettings) -> Result<Security> {
        let tokens = match (settings.auth, &settings.tokens) {
            (Auth::None | Auth::NoAuth2, None) => None,
            (Auth::Tokens, Some(path)) => {
                Some(Tokens::open(path, SCOPE_WORD).map_err(anyhow::Error::msg)?)
            }
            (Auth::Tokens, None) => {
                bail!(
                    "--auth tokens needs --tokens FILE; create the file with allod token new --file FILE"
                )
            }
            (Auth::None | Auth::NoAuth2, Some(_)) => bail!("--tokens needs --auth tokens"),
        };
        let tls = match (&settings.tls_cert, &settings.tls_key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => {
                Some(Tls::open(certificate, key).map_err(|why| anyhow!("TLS: {why}"))?)
            }
            (Some(_), None) => bail!("--tls-cert needs --tls-key"),
            (None, Some(_)) => bail!("--tls-key needs --tls-cert"),
        };
        if settings.auth == Auth::Tokens && !settings.allowed_hosts.is_empty() {
            bail!(
                "--allowed-hosts is for --auth none and noauth2; with tokens, all names are allowed"
            );
        }
        let allowed_hosts = AllowedHosts::new(settings.allowed_hosts.iter().cloned());
        Ok(Security { auth: settings.auth, allowed_hosts, tokens, tls })
    }

    pub fn of_listener(&self, listener: Listener) -> Listener {
        let listener = match &self.tls {
            Some(tls) => listener.with_tls(tls.clone()),
            None => listener,
        };
        if listener.is_unencrypted_beyond_loopback() {
            tracing::warn!(
                address = %listener.address(),
                "tokens are sent without encryption; set --tls-cert and --tls-key, or use a TLS proxy"
            );
        }
        listener
    }

    pub fn of_app(&self, app: App) -> App {
        let hosts = self.allowed_hosts.clone();
        match (&self.tokens, self.auth) {
            (Some(tokens), _) => app.with_guard(Guard::Tokens(tokens.clone())),
            (None, Auth::NoAuth2) => app.with_guard(Guard::NoAuth2).only_for_hosts(hosts),
            (None, Auth::None | Auth::Tokens) => app.only_for_hosts(hosts),
        }
    }

    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Starts to reload the files when they change and on SIGHUP. Without files, SIGHUP ends the process, which is the
    /// default.
    pub fn start_reloading(self) -> std::io::Result<()> {
        let tokens = self.tokens.map(|tokens| tokens as Arc<dyn Reload>);
        let tls = self.tls.map(|tls| tls as Arc<dyn Reload>);
        let sources: Vec<_> = tokens.into_iter().chain(tls).collect();
        if !sources.is_empty() {
            tokio::spawn(Reloader::new(sources)?.run());
        }
        Ok(())
    }
}
