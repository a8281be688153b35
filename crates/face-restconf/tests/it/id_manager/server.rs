//! A server with the id-manager, in process: engine, model, protocol and routes, without a socket.

use std::sync::Arc;
use std::time::Duration;

use allod_core::limits::Limits;
use allod_edge::{App, Guard, HttpLimits};
use allod_engine::{Clock, Config, Engine, Handle};
use allod_face_restconf::id_manager::{self, IdManager};
use allod_face_restconf::yang::{Schema, embedded};
use allod_face_restconf::{Restconf, RestconfSettings};
use allod_journal::Journal;
use allod_journal::checkpoint::{CheckpointStore, MemoryCheckpoints};
use allod_journal::memory::MemoryStorage;
use http::Request;
use http_body_util::{BodyExt, Full};

#[derive(Clone)]
pub struct Setup {
    pub restconf: RestconfSettings,
    pub id_manager: id_manager::IdManagerSettings,
    pub guard: Guard,
}

impl Default for Setup {
    fn default() -> Setup {
        // The node number of the specification's sample.
        let id_manager = id_manager::IdManagerSettings { node: 168101180, ..Default::default() };
        Setup { restconf: RestconfSettings::default(), id_manager, guard: Guard::Disabled }
    }
}

pub struct Server {
    pub app: App,
    pub handle: Handle,
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
    pub async fn start(
        journal: Arc<dyn Journal>,
        checkpoints: Arc<dyn CheckpointStore>,
        clock: Arc<dyn Clock>,
        setup: &Setup,
    ) -> Server {
        // Tests write large pools in one edit.
        let limits = Limits { ids_per_edit_max: 1_000_000, ..Limits::default() };
        let config = Config { limits, ..Config::default() };
        let engine = Engine::start_with_clock(journal, checkpoints, config, clock);
        let engine = engine.unwrap();
        let handle = engine.handle();
        while !handle.status().ready {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let files: Vec<_> = embedded::PROTOCOL.iter().chain(id_manager::MODULES).copied().collect();
        let schema = Arc::new(Schema::compile(&files).unwrap());
        let model = IdManager::new(schema.clone(), setup.id_manager.clone()).unwrap();
        let (restconf, models) = (setup.restconf.clone(), vec![Arc::new(model) as Arc<_>]);
        let face = Restconf::new(handle.clone(), restconf, schema, models).unwrap();
        let app =
            App::new(face.routes(), HttpLimits::default()).unwrap().with_guard(setup.guard.clone());
        let app = app
            .error_format("/restconf", face.error_format())
            .error_format("/rests", face.error_format());
        Server { app, handle, engine }
    }

    /// Starts on an empty journal in memory.
    pub async fn fresh(clock: Arc<dyn Clock>) -> Server {
        let journal = Arc::new(MemoryStorage::new().open());
        let checkpoints = Arc::new(MemoryCheckpoints::new());
        Server::start(journal, checkpoints, clock, &Setup::default()).await
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
            let kind = if body.starts_with('<') { "application/xml" } else { "application/json" };
            request = request.header("content-type", kind).header("content-length", body.len());
            request = request.header("accept", kind);
        }
        self.answer(request.body(Full::from(body.to_owned())).unwrap()).await
    }

    /// Calls an RPC of the id-manager, in draft-02.
    pub async fn call(&self, rpc: &str, input: &str) -> Answer {
        let path = format!("/restconf/operations/id-manager:{rpc}");
        self.ask("POST", &path, &format!(r#"{{"input":{{{input}}}}}"#)).await
    }

    /// Allocates an id for a key.
    pub async fn allocate(&self, pool: &str, key: &str) -> Option<u64> {
        let answer =
            self.call("allocateId", &format!(r#""pool-name":"{pool}","id-key":"{key}""#)).await;
        (answer.status == 200).then(|| answer.json()["output"]["id-value"].as_u64().unwrap())
    }

    /// Finishes pending work and stops.
    pub fn stop(self) {
        self.engine.stop().unwrap();
    }
}
