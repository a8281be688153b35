//! A server with the resource-manager, in process: engine, model, protocol and routes, without a socket.

use std::sync::Arc;
use std::time::Duration;

use allod_edge::{App, HttpLimits};
use allod_engine::{Clock, Config, Engine};
use allod_face_restconf::resource_pools::{self, ResourcePools};
use allod_face_restconf::yang::{Schema, embedded};
use allod_face_restconf::{Restconf, RestconfSettings};
use allod_journal::Journal;
use allod_journal::checkpoint::{CheckpointStore, MemoryCheckpoints};
use allod_journal::memory::MemoryStorage;
use allod_testkit::transcript::ManualClock;
use http::Request;
use http_body_util::{BodyExt, Full};

/// The path of the pools.
pub const POOLS: &str = "/restconf/data/resource-allocator:resource-pools";

pub struct Server {
    app: App,
    engine: Engine,
}

/// A reply with its complete body.
pub struct Answer {
    pub status: u16,
    pub headers: http::HeaderMap,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }
}

impl Server {
    /// With a site's own YANG modules.
    pub async fn start_with_modules(
        journal: Arc<dyn Journal>,
        checkpoints: Arc<dyn CheckpointStore>,
        clock: Arc<dyn Clock>,
        modules: &[(&str, &str)],
    ) -> Server {
        let settings = RestconfSettings::default();
        Server::start_with(journal, checkpoints, clock, settings, modules).await
    }

    async fn start_with(
        journal: Arc<dyn Journal>,
        checkpoints: Arc<dyn CheckpointStore>,
        clock: Arc<dyn Clock>,
        settings: RestconfSettings,
        modules: &[(&str, &str)],
    ) -> Server {
        let mut config = Config::default();
        // Notifications to services are queued; no reactor delivers them here.
        config.limits.outbox_max = 1000;
        let engine = Engine::start_with_clock(journal, checkpoints, config, clock).unwrap();
        let handle = engine.handle();
        while !handle.status().ready {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let files = embedded::PROTOCOL.iter().chain(resource_pools::MODULES).chain(modules);
        let files: Vec<(&str, &str)> = files.copied().collect();
        let schema = Arc::new(Schema::compile(&files).unwrap());
        resource_pools::check_modules(
            &schema,
            &modules.iter().map(|(file, _)| file.trim_end_matches(".yang")).collect::<Vec<_>>(),
        )
        .unwrap();
        let model = Arc::new(ResourcePools::new(schema.clone()).unwrap());
        let face = Restconf::new(handle, settings, schema, vec![model]).unwrap();
        let app = App::new(face.routes(), HttpLimits::default()).unwrap();
        Server { app: app.error_format("/restconf", face.error_format()), engine }
    }

    /// Starts on an empty journal in memory.
    pub async fn fresh() -> Server {
        Server::fresh_with(RestconfSettings::default()).await
    }

    pub async fn fresh_with(settings: RestconfSettings) -> Server {
        let journal = Arc::new(MemoryStorage::new().open());
        let checkpoints = Arc::new(MemoryCheckpoints::new());
        Server::start_with(journal, checkpoints, ManualClock::morning(), settings, &[]).await
    }

    pub async fn answer(&self, request: Request<Full<bytes::Bytes>>) -> Answer {
        let (head, body) = self.app.answer(request).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        Answer { status: head.status.as_u16(), headers: head.headers, body }
    }

    pub async fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut request = Request::builder().method(method).uri(path).header("host", "allod:8778");
        if !body.is_empty() {
            request = request.header("content-type", "application/yang-data+json");
            request = request.header("content-length", body.len());
        }
        self.answer(request.body(Full::from(body.to_owned())).unwrap()).await
    }

    /// Finishes pending work and stops.
    pub fn stop(self) {
        self.engine.stop().unwrap();
    }
}
