//! The side that is written to: what there is to say to it, and how it says no.

use allod_core::capacity::Uuid;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::id::Id;
use super::side::Side;
use super::version::{self, TYPES, Version};
use super::wire::{Consumer, Part, PartKind, Provider};
use super::words::words;
use crate::client::part as path_part;
use crate::failed::Failed;

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    Done,
    /// Somebody else wrote in between: look again.
    Overtaken(String),
    /// There is no room, or not in such portions.
    NoRoom(String),
    Refused(String),
}

#[derive(Debug)]
pub struct Target {
    pub side: Side,
}

impl Target {
    pub async fn class(&self, name: &str) -> Result<Written, Failed> {
        self.write(Method::PUT, &format!("/resource_classes/{}", path_part(name)), None).await
    }

    pub async fn custom_trait(&self, name: &str) -> Result<Written, Failed> {
        self.write(Method::PUT, &format!("/traits/{}", path_part(name)), None).await
    }

    /// `exists`: it is there under another name, or elsewhere in the tree.
    pub async fn provider(&self, provider: &Provider, exists: bool) -> Result<Written, Failed> {
        let Provider { uuid, name, .. } = provider;
        let parent = provider.parent.map(|parent| parent.to_string());
        let mut body = json!({ "name": name, "parent_provider_uuid": parent });
        if exists {
            return self
                .write(Method::PUT, &format!("/resource_providers/{uuid}"), Some(body))
                .await;
        }
        body["uuid"] = json!(uuid.to_string());
        self.write(Method::POST, "/resource_providers", Some(body)).await
    }

    pub async fn delete_provider(&self, uuid: Uuid) -> Result<Written, Failed> {
        self.write(Method::DELETE, &format!("/resource_providers/{uuid}"), None).await
    }

    /// `generation`: of the provider as it was looked at.
    pub async fn part(
        &self,
        kind: PartKind,
        of: Uuid,
        part: &Part,
        generation: u64,
    ) -> Result<Written, Failed> {
        let mut body = json!({ "resource_provider_generation": generation });
        body[kind.name()] = part.json();
        self.write(Method::PUT, &format!("/resource_providers/{of}/{}", kind.name()), Some(body))
            .await
    }

    /// `generation`: of the consumer as it was looked at.
    pub async fn consumer(
        &self,
        id: &Id,
        consumer: &Consumer,
        generation: Option<u64>,
    ) -> Result<Written, Failed> {
        let Consumer { allocations, project_id, user_id, .. } = consumer;
        let mut body = json!({
            "allocations": allocations,
            "project_id": project_id,
            "user_id": user_id,
            "consumer_generation": generation,
        });
        let mut version = self.side.version;
        match consumer.kind() {
            Some(kind) if version >= TYPES => body["consumer_type"] = json!(kind),
            // Since there are types every write names one; one that never had any is written as it was before.
            _ => version = version.min(Version(TYPES.0 - 1)),
        }
        self.write_as(version, Method::PUT, &allocations_of(id), Some(body)).await
    }

    pub async fn release(&self, id: &Id) -> Result<Written, Failed> {
        self.write(Method::DELETE, &allocations_of(id), None).await
    }

    async fn write(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Written, Failed> {
        self.write_as(self.side.version, method, path, body).await
    }

    async fn write_as(
        &self,
        version: Version,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Written, Failed> {
        let body = body.map(|body| body.to_string().into_bytes());
        let answer = self.side.ask(method.clone(), path, version, body).await?;
        let (code, why) = words(&answer.body);
        Ok(match answer.status {
            status if status.is_success() => Written::Done,
            StatusCode::CONFLICT if code == "placement.concurrent_update" => {
                Written::Overtaken(why)
            }
            StatusCode::CONFLICT if code == "placement.undefined_code" => Written::NoRoom(why),
            StatusCode::CONFLICT | StatusCode::BAD_REQUEST => Written::Refused(why),
            // Of another writer: it was there a moment ago.
            StatusCode::NOT_FOUND if method != Method::POST => Written::Overtaken(why),
            status => {
                return Err(self.side.failed(&format!("{method} {path}"), status, &answer.body));
            }
        })
    }
}

fn allocations_of(id: &Id) -> String {
    format!("/allocations/{}", path_part(&id.to_string()))
}

/// The oldest version that can be written to.
pub const OLDEST: Version = version::OLDEST_WRITTEN;
