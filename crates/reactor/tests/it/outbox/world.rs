//! An engine on a journal in memory, and a reactor beside it.

use std::sync::Arc;
use std::time::Duration;

use allod_core::command::Command;
use allod_core::limits::Limits as CoreLimits;
use allod_core::outbox::Notification;
use allod_core::outbox::OutboxCommand;
use allod_core::requests::command::{
    EditRequests, PutRequestPool, RequestPoolEdit, RequestsCommand,
};
use allod_core::requests::{
    AlarmSettings, IdSupply, Redeploy, Request, RequestPool, Supply, Wanted, WantedId,
};
use allod_core::state::State;
use allod_core::view;
use allod_engine::{Config, Engine, Handle};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use allod_reactor::webhook::{WebhookSettings, Webhooks};
use allod_reactor::{Reactor, ReactorLimits};

pub struct World {
    pub storage: MemoryStorage,
    pub engine: Engine,
    pub handle: Handle,
}

/// Limits with short delays.
pub fn hasty() -> ReactorLimits {
    ReactorLimits {
        outbox_attempts_max: 3,
        outbox_backoff_first_ms: 20,
        outbox_backoff_max_ms: 40,
        webhook_ms_max: 5000,
        ..ReactorLimits::default()
    }
}

pub fn webhooks(settings: &str) -> Vec<WebhookSettings> {
    #[derive(serde::Deserialize)]
    struct File {
        webhook: Vec<WebhookSettings>,
    }
    let file: File = toml::from_str(settings).unwrap();
    file.webhook
}

/// One webhook of the plain shape for all targets.
pub fn plain(url: &str) -> Vec<WebhookSettings> {
    webhooks(&format!("[[webhook]]\nurl = \"{url}\"\n"))
}

impl World {
    pub async fn new() -> World {
        World::on(MemoryStorage::new()).await
    }

    pub async fn on(storage: MemoryStorage) -> World {
        let (outbox_max, requests_per_edit_max) = (10_000, 10_000);
        let limits = CoreLimits { outbox_max, requests_per_edit_max, ..CoreLimits::default() };
        let config = Config { limits, ..Config::default() };
        let checkpoints = Arc::new(MemoryCheckpoints::new());
        let engine = Engine::start(Arc::new(storage.open()), checkpoints, config).unwrap();
        let handle = engine.handle();
        while !handle.status().ready {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        World { storage, engine, handle }
    }

    pub fn react(&self, settings: &[WebhookSettings], limits: ReactorLimits) -> Reactor {
        let webhooks = Webhooks::new(settings, limits).unwrap();
        Reactor::start(self.handle.clone(), Arc::new(webhooks), limits)
    }

    async fn put(&self, pool: &str, put: PutRequestPool) {
        // No concurrent edits, so the current generation is used.
        let seen = u64::MAX;
        let pools = vec![(pool.into(), RequestPoolEdit::Put(Box::new(put)))];
        let edit = EditRequests { seen, seen_all: false, pools };
        self.submit(Command::Requests(RequestsCommand::Edit(edit))).await;
    }

    pub async fn submit(&self, command: Command) {
        self.handle.submit(command).await.unwrap().answer.unwrap();
    }

    pub async fn pool(&self, pool: &str) {
        let supply = Supply::Ids(IdSupply {
            start: 1,
            end: 1000,
            exclude: Vec::new(),
            alarm_base: 1000 - 1,
        });
        let config = RequestPool::new(supply, AlarmSettings::default());
        let (put, withdraw) = (Vec::new(), Vec::new());
        self.put(pool, PutRequestPool { config: Some(config), replace: false, put, withdraw })
            .await;
    }

    /// Requests with these keys in one transaction, each by one service.
    pub async fn ask(&self, pool: &str, asked: &[(&str, &str)]) {
        let request = |service: &str| Request {
            user: "admin".into(),
            services: vec![service.into()],
            redeploy: Some(Redeploy::Touch),
            sync_alloc: false,
            want: Wanted::Id(WantedId::default()),
            site: Default::default(),
        };
        let put = asked.iter().map(|(key, service)| ((*key).into(), request(service))).collect();
        let withdraw = Vec::new();
        self.put(pool, PutRequestPool { config: None, replace: false, put, withdraw }).await;
    }

    pub async fn notice(&self, command: OutboxCommand) {
        self.submit(Command::Outbox(command)).await;
    }

    pub fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.handle.read(|snapshot| look(snapshot.state)).unwrap()
    }

    pub fn outbox(&self) -> Vec<Arc<Notification>> {
        self.read(|state| view::outbox(state).from(0).cloned().collect())
    }

    /// Waits until the outbox fulfils a condition.
    pub async fn until(&self, what: &str, mut holds: impl FnMut(&[Arc<Notification>]) -> bool) {
        for _ in 0..2000 {
            if holds(&self.outbox()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{what}: {:?}", self.outbox());
    }

    pub async fn empty(&self) {
        self.until("it is not empty", <[_]>::is_empty).await;
    }
}
