//! An engine on a journal in memory with a pool that has an authority, and the driver beside it.

use std::sync::Arc;
use std::time::Duration;

use allod_core::authority::command::AuthorityCommand;
use allod_core::authority::{AuthoritySpec, ExternalClaim, ExternalState, Protocol};
use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, Expect, Op, PutPool, ReleaseOp, Transact};
use allod_core::pool::PoolSpec;
use allod_core::receipt::Outcome;
use allod_core::refusal::Refusal;
use allod_core::state::State;
use allod_core::value::{Kind, ValueText};
use allod_core::view;
use allod_engine::{Config, Engine, Handle};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use allod_reactor::ReactorLimits;
use allod_reactor::authority::{AuthorityDriver, AuthoritySettings};

pub struct World {
    pub storage: MemoryStorage,
    pub engine: Engine,
    pub handle: Handle,
    driver: Option<AuthorityDriver>,
    limits: ReactorLimits,
    settings: AuthoritySettings,
}

/// Limits with short delays.
pub fn hasty() -> ReactorLimits {
    ReactorLimits {
        authority_backoff_first_ms: 20,
        authority_backoff_max_ms: 100,
        authority_pause_ms_max: 100,
        ..ReactorLimits::default()
    }
}

pub fn http(url: &str) -> AuthoritySpec {
    AuthoritySpec { timeout_ms: 1500, parallel: 4, ..AuthoritySpec::new(Protocol::Http, url) }
}

impl World {
    pub async fn new() -> World {
        World::with(hasty(), AuthoritySettings::default()).await
    }

    pub async fn with(limits: ReactorLimits, settings: AuthoritySettings) -> World {
        World::on(MemoryStorage::new(), limits, settings).await
    }

    pub async fn on(
        storage: MemoryStorage,
        limits: ReactorLimits,
        settings: AuthoritySettings,
    ) -> World {
        let (engine, handle) = start(&storage).await;
        let driver = AuthorityDriver::start(handle.clone(), settings.clone(), limits);
        World { storage, engine, handle, driver: Some(driver), limits, settings }
    }

    /// Stops the server at once and starts another one on the same journal.
    pub async fn restart(mut self) -> World {
        self.stop_driver().await;
        let World { storage, engine, limits, settings, .. } = self;
        tokio::task::spawn_blocking(move || engine.stop()).await.unwrap().unwrap();
        World::on(storage, limits, settings).await
    }

    pub async fn stop_driver(&mut self) {
        self.driver.take().unwrap().stop().await;
    }

    pub async fn submit(&self, command: Command) -> Result<Vec<Outcome>, Refusal> {
        let reply = self.handle.submit(command).await.unwrap();
        reply.answer.map(|receipt| receipt.outcomes).map_err(|refused| refused.refusal)
    }

    /// Defines an authority and a pool for it, both with this name.
    pub async fn pool(&self, name: &str, spec: AuthoritySpec) {
        self.define(name, spec).await;
        let spec = PoolSpec { authority: Some(name.into()), ..PoolSpec::new(Kind::Id32, vec![]) };
        let put = PutPool { pool: name.into(), spec, expect: Expect::Any, keep_held: false };
        self.submit(Command::PutPool(put)).await.unwrap();
    }

    pub async fn define(&self, name: &str, spec: AuthoritySpec) {
        let put = AuthorityCommand::Put { name: name.into(), spec, expect: Expect::Any };
        self.submit(Command::Authority(put)).await.unwrap();
    }

    pub async fn ask(&self, pool: &str, key: &str) {
        self.wish(pool, key, None).await;
    }

    pub async fn wish(&self, pool: &str, key: &str, value: Option<&str>) {
        let value = value.map(|value| ValueText(value.into()));
        let op = ClaimOp {
            pools: vec![pool.into()],
            key: key.into(),
            owner: None,
            want: Want { value, ..Want::any() },
            ttl_ms: None,
            labels: Arc::default(),
            expect: Expect::Any,
        };
        self.submit(Command::Transact(Transact::one(Op::Claim(op)))).await.unwrap();
    }

    pub async fn release(&self, pool: &str, key: &str) {
        let op = ReleaseOp { pool: pool.into(), key: key.into(), expect: Expect::Any };
        self.submit(Command::Transact(Transact::one(Op::Release(op)))).await.unwrap();
    }

    pub fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.handle.read(|snapshot| look(snapshot.state)).unwrap()
    }

    pub fn claim(&self, pool: &str, key: &str) -> Option<Arc<ExternalClaim>> {
        self.read(|state| view::authority::claim(state, pool, key).cloned())
    }

    /// The state of a claim and its value.
    pub fn shown(&self, pool: &str, key: &str) -> String {
        match self.claim(pool, key) {
            None => "gone".into(),
            Some(claim) => {
                let progress = &claim.progress;
                let value = progress.value.as_deref().unwrap_or_default();
                let code = progress.code.map(|code| code.name()).unwrap_or_default();
                format!("{} {value}{code}", progress.state.name()).trim_end().to_owned()
            }
        }
    }

    /// Waits until a claim is shown like this.
    pub async fn until(&self, pool: &str, key: &str, wanted: &str) {
        let is_reached = self.reaches(|| self.shown(pool, key) == wanted).await;
        assert!(is_reached, "{key} is not {wanted}: {:?}", self.claim(pool, key));
    }

    pub async fn reaches(&self, mut holds: impl FnMut() -> bool) -> bool {
        for _ in 0..4000 {
            if holds() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        false
    }

    /// References and values of the claims of a pool that hold one.
    pub fn held(&self, pool: &str) -> Vec<(String, u64)> {
        self.read(|state| {
            let authorities = view::authority::authorities(state);
            let claims = authorities.claims_in(pool);
            let held = claims.filter(|claim| claim.progress.state == ExternalState::Held);
            let mut held: Vec<_> = held
                .map(|claim| {
                    let value = claim.progress.value.as_deref().unwrap();
                    (claim.request.reference.to_string(), value.parse().unwrap())
                })
                .collect();
            held.sort();
            held
        })
    }

    pub fn position(&self) -> u64 {
        self.handle.status().at.position
    }
}

async fn start(storage: &MemoryStorage) -> (Engine, Handle) {
    let checkpoints = Arc::new(MemoryCheckpoints::new());
    let engine = Engine::start(Arc::new(storage.open()), checkpoints, Config::default()).unwrap();
    let handle = engine.handle();
    while !handle.status().ready {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    (engine, handle)
}
