//! One of the two servers that an import is about, and everything that is asked of it. Nothing here writes.
//!
//! Both are spoken to through Placement's public interface, so what is read from the one and from the other is the same.
//! Not here: writing, which is in `target`.

use std::collections::{BTreeMap, BTreeSet};

use allod_core::capacity::Uuid;
use anyhow::anyhow;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::id::Id;
use super::members::Members;
use super::patience::{Patience, is_later, may_pass};
use super::version::{self, Version};
use super::wire::{Consumer, Part, PartKind, PartRow, Provider, ProviderRow, Usages};
use super::words::words;
use crate::client::kept::{Kept, Whole};
use crate::client::{Ask, Client, part};
use crate::failed::{Failed, advised};

const API_VERSION: HeaderName = HeaderName::from_static("openstack-api-version");
const X_AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Source,
    Target,
}

impl Which {
    pub fn name(self) -> &'static str {
        match self {
            Which::Source => "source",
            Which::Target => "target",
        }
    }

    fn reached_by(self) -> &'static str {
        match self {
            Which::Source => {
                "--from names it: the address at which its version document is, such as http://host:8778 or http://host/placement"
            }
            Which::Target => "--to or --server names it; start one with `allod serve`",
        }
    }

    fn allowed_by(self) -> &'static str {
        match self {
            Which::Source => {
                "give a token with --from-token or ALLOD_FROM_TOKEN: one of Keystone whose role is admin or service, or 'admin' for a noauth2 server"
            }
            Which::Target => "give a token with --token or ALLOD_TOKEN",
        }
    }
}

#[derive(Debug)]
pub struct Side {
    pub which: Which,
    kept: Kept,
    pub version: Version,
}

/// The version document.
#[derive(Deserialize)]
struct Versions {
    versions: Vec<VersionRow>,
}

#[derive(Deserialize)]
struct VersionRow {
    max_version: String,
}

impl Side {
    /// Finds out which version to speak, and whether it is a Placement at all. `most`: no newer one than this.
    pub async fn open(
        which: Which,
        mut client: Client,
        most: Option<Version>,
        oldest: Version,
    ) -> Result<Side, Failed> {
        let mut headers = HeaderMap::new();
        if let Some(token) = client.token.take() {
            let mut value = HeaderValue::try_from(token).map_err(|_| {
                Failed::Asked(anyhow!("the token has a character that no token has"))
            })?;
            value.set_sensitive(true);
            headers.insert(X_AUTH_TOKEN, value);
        }
        let mut side = Side { which, kept: Kept::new(client, headers), version: oldest };
        let answer = side.kept.exchange(&Ask::get("/")).await;
        let answer = answer.map_err(|failed| failed.advised(which.reached_by()))?;
        let found = serde_json::from_slice::<Versions>(&answer.body).ok();
        let found = found.filter(|_| answer.status == StatusCode::OK);
        let theirs = found.and_then(|found| found.versions.first()?.max_version.parse().ok());
        let Some(theirs): Option<Version> = theirs else {
            return Err(Failed::Asked(advised(
                format!("there is no Placement at {side}: it has no version document there"),
                which.reached_by(),
            )));
        };
        let theirs = most.map_or(theirs, |most| theirs.min(most));
        side.version = version::agree(theirs, oldest)
            .map_err(|why| Failed::Asked(anyhow!("the {} at {side}: {why}", which.name())))?;
        // Asks for something that needs a token, so that a wrong one is told before anything is done.
        side.get::<IgnoredAny>("/traits?name=in:COMPUTE_NODE").await?;
        Ok(side)
    }

    pub fn url(&self) -> String {
        self.kept.client().server.to_string()
    }

    /// Names that are not standard, of the given kind.
    pub async fn custom_classes(&self) -> Result<BTreeSet<String>, Failed> {
        #[derive(Deserialize)]
        struct Classes {
            resource_classes: Vec<Named>,
        }
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let found: Classes = self.get("/resource_classes").await?;
        let names = found.resource_classes.into_iter().map(|class| class.name);
        Ok(names.filter(|name| name.starts_with("CUSTOM_")).collect())
    }

    pub async fn custom_traits(&self) -> Result<BTreeSet<String>, Failed> {
        #[derive(Deserialize)]
        struct Traits {
            traits: BTreeSet<String>,
        }
        Ok(self.get::<Traits>("/traits?name=startswith:CUSTOM_").await?.traits)
    }

    /// All providers, one by one as they come in.
    pub async fn providers(&self, mut each: impl FnMut(Provider)) -> Result<(), Failed> {
        self.members("/resource_providers", "resource_providers", |member| {
            let row: ProviderRow = serde_json::from_slice(member).map_err(|e| e.to_string())?;
            each(row.read()?);
            Ok(())
        })
        .await
    }

    /// One of the parts of a provider with the provider's generation; `None` if there is no such provider.
    pub async fn part(&self, kind: PartKind, of: Uuid) -> Result<Option<(Part, u64)>, Failed> {
        let path = format!("/resource_providers/{of}/{}", kind.name());
        let Some(row): Option<PartRow> = self.find(&path).await? else { return Ok(None) };
        let generation = row.resource_provider_generation;
        let part = row.read(kind).map_err(|why| self.senseless(&path, &why))?;
        Ok(Some((part, generation)))
    }

    pub async fn usages(&self, of: Uuid) -> Result<Option<Usages>, Failed> {
        self.find(&format!("/resource_providers/{of}/usages")).await
    }

    /// Everybody who holds something of a provider; nobody if there is no such provider.
    pub async fn consumers(&self, of: Uuid, mut each: impl FnMut(Id)) -> Result<(), Failed> {
        let path = format!("/resource_providers/{of}/allocations");
        self.members(&path, "allocations", |member| {
            let member = [b"{", member, b"}"].concat();
            let member: BTreeMap<String, IgnoredAny> =
                serde_json::from_slice(&member).map_err(|error| error.to_string())?;
            for name in member.into_keys() {
                each(name.parse()?);
            }
            Ok(())
        })
        .await
    }

    pub async fn consumer(&self, id: &Id) -> Result<Consumer, Failed> {
        self.get(&format!("/allocations/{}", part(&id.to_string()))).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failed> {
        let found = self.find(path).await?;
        found.ok_or_else(|| self.senseless(path, "it says that there is no such thing"))
    }

    async fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Failed> {
        let answer = self.ask(Method::GET, path, self.version, None).await?;
        match answer.status {
            StatusCode::OK => serde_json::from_slice(&answer.body)
                .map(Some)
                .map_err(|error| self.senseless(path, &error.to_string())),
            StatusCode::NOT_FOUND => Ok(None),
            status => Err(self.failed(&format!("GET {path}"), status, &answer.body)),
        }
    }

    /// Gives out the members of a list or an object as they come in. A provider that is gone has none.
    async fn members(
        &self,
        path: &str,
        wanted: &'static str,
        mut each: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), Failed> {
        let ask = Ask::get(path).header(API_VERSION, &format!("placement {}", self.version))?;
        let mut patience = Patience::of(self.kept.client().patience);
        let mut coming = loop {
            match self.kept.begin(&ask).await {
                Ok(coming) if !is_later(coming.status) || !patience.lasts().await => break coming,
                Ok(_) => {}
                Err(failed) if may_pass(&failed) && patience.lasts().await => {}
                Err(failed) => return Err(failed.advised(self.which.reached_by())),
            }
        };
        let mut members = Members::new(wanted);
        let (mut no, ok) = (Vec::new(), coming.status == StatusCode::OK);
        while let Some(bytes) = coming.chunk().await? {
            if ok {
                let taken = members.take_in(&bytes, &mut each);
                taken.map_err(|why| self.senseless(path, &why))?;
            } else {
                no.extend_from_slice(&bytes);
            }
        }
        match coming.status {
            StatusCode::OK if members.ended() => Ok(()),
            StatusCode::OK => Err(self.senseless(path, "the answer was cut off")),
            StatusCode::NOT_FOUND => Ok(()),
            status => Err(self.failed(&format!("GET {path}"), status, &no)),
        }
    }

    /// Asks until there is an answer that is more than "not now", for as long as patience lasts.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        version: Version,
        body: Option<Vec<u8>>,
    ) -> Result<Whole, Failed> {
        // A POST that got no answer may have been carried out.
        let repeatable = method != Method::POST;
        let mut ask =
            Ask::new(method, path).header(API_VERSION, &format!("placement {version}"))?;
        if let Some(body) = body {
            ask = ask.body(body);
        }
        let mut patience = Patience::of(self.kept.client().patience);
        loop {
            match self.kept.exchange(&ask).await {
                Ok(answer) if !is_later(answer.status) || !patience.lasts().await => {
                    return Ok(answer);
                }
                Ok(_) => {}
                Err(failed) if repeatable && may_pass(&failed) && patience.lasts().await => {}
                Err(failed) => return Err(failed.advised(self.which.reached_by())),
            }
        }
    }

    /// What an answer that is no success means.
    pub(super) fn failed(&self, asked: &str, status: StatusCode, body: &[u8]) -> Failed {
        let name = self.which.name();
        let what = format!("the {name} at {self} answered {status} to {asked}: {}", words(body).1);
        match status.as_u16() {
            401 | 403 => Failed::Denied(advised(what, self.which.allowed_by())),
            404..=406 => Failed::Asked(advised(what, self.which.reached_by())),
            408 | 429 | 502..=504 => Failed::Later(anyhow!(what)),
            _ => Failed::Running(anyhow!(what)),
        }
    }

    fn senseless(&self, path: &str, why: &str) -> Failed {
        let name = self.which.name();
        Failed::Running(anyhow!(
            "the {name} at {self} answered GET {path} in a way that Placement does not: {why}"
        ))
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.kept.client().server)
    }
}
