//! Writes to the target.

use allod_core::capacity::Uuid;
use allod_outbound::path_segment;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::consumer_id::ConsumerId;
use crate::error::ImportResult;
use crate::error_text::error_text;
use crate::reader::PlacementReader;
use crate::version::{PlacementVersion, TYPES};
use crate::wire::{ConsumerBody, ProviderEntry, ProviderPart, ProviderPartKind};

/// The outcome of a write that the target understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteOutcome {
    Done,
    /// Another client changed the item since it was read: read it again.
    Conflict(String),
    /// The inventory has no room for the allocation, or its units do not allow it.
    NoRoom(String),
    Refused(String),
}

#[derive(Debug)]
pub struct PlacementWriter {
    pub reader: PlacementReader,
}

impl PlacementWriter {
    /// Creates a custom class or trait; `list` is the path of all of them.
    pub async fn custom_name(&self, list: &str, name: &str) -> ImportResult<WriteOutcome> {
        self.write(Method::PUT, &format!("/{list}/{}", path_segment(name)), None).await
    }

    /// Creates a provider or, if it exists, changes its name and parent.
    pub async fn provider(
        &self,
        provider: &ProviderEntry,
        exists: bool,
    ) -> ImportResult<WriteOutcome> {
        let ProviderEntry { uuid, name, .. } = provider;
        let parent = provider.parent.map(|parent| parent.to_string());
        let mut body = json!({ "name": name, "parent_provider_uuid": parent });
        if exists {
            let path = format!("/resource_providers/{uuid}");
            return self.write(Method::PUT, &path, Some(body)).await;
        }
        body["uuid"] = json!(uuid.to_string());
        self.write(Method::POST, "/resource_providers", Some(body)).await
    }

    pub async fn delete_provider(&self, uuid: Uuid) -> ImportResult<WriteOutcome> {
        self.write(Method::DELETE, &format!("/resource_providers/{uuid}"), None).await
    }

    /// `generation` is that of the provider when the part was read.
    pub async fn part(
        &self,
        kind: ProviderPartKind,
        of: Uuid,
        part: &ProviderPart,
        generation: u64,
    ) -> ImportResult<WriteOutcome> {
        let mut body = json!({ "resource_provider_generation": generation });
        body[kind.name()] = part.json();
        let path = format!("/resource_providers/{of}/{}", kind.name());
        self.write(Method::PUT, &path, Some(body)).await
    }

    /// `generation` is that of the consumer when it was read.
    pub async fn consumer(
        &self,
        id: &ConsumerId,
        consumer: &ConsumerBody,
        generation: Option<u64>,
    ) -> ImportResult<WriteOutcome> {
        let ConsumerBody { allocations, project_id, user_id, .. } = consumer;
        let mut body = json!({
            "allocations": allocations,
            "project_id": project_id,
            "user_id": user_id,
            "consumer_generation": generation,
        });
        let mut version = self.reader.version;
        match consumer.kind() {
            Some(kind) if version >= TYPES => body["consumer_type"] = json!(kind),
            // From 1.38 on every write needs a type, so a consumer without one is written with an older version.
            _ => version = version.min(PlacementVersion(TYPES.0 - 1)),
        }
        self.write_as(version, Method::PUT, &allocations_path(id), Some(body)).await
    }

    pub async fn release(&self, id: &ConsumerId) -> ImportResult<WriteOutcome> {
        self.write(Method::DELETE, &allocations_path(id), None).await
    }

    async fn write(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> ImportResult<WriteOutcome> {
        self.write_as(self.reader.version, method, path, body).await
    }

    async fn write_as(
        &self,
        version: PlacementVersion,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> ImportResult<WriteOutcome> {
        let body = body.map(|body| body.to_string().into_bytes());
        let answer = self.reader.send(method.clone(), path, version, body).await?;
        let (code, why) = error_text(&answer.body);
        Ok(match answer.status {
            status if status.is_success() => WriteOutcome::Done,
            StatusCode::CONFLICT if code == "placement.concurrent_update" => {
                WriteOutcome::Conflict(why)
            }
            StatusCode::CONFLICT if code == "placement.undefined_code" => WriteOutcome::NoRoom(why),
            StatusCode::CONFLICT | StatusCode::BAD_REQUEST => WriteOutcome::Refused(why),
            // Another client deleted it since it was read.
            StatusCode::NOT_FOUND if method != Method::POST => WriteOutcome::Conflict(why),
            status => {
                let request = format!("{method} {path}");
                return Err(self.reader.error_answer(&request, status, &answer.body));
            }
        })
    }
}

fn allocations_path(id: &ConsumerId) -> String {
    format!("/allocations/{}", path_segment(&id.to_string()))
}
