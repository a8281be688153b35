//! Clients that claim, release, renew and read on a few pools, and record every answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use allod_core::claim::Want;
use allod_core::command::{
    Check, ClaimOp, Command, ConfirmOp, Expect, Idempotency, Op, PutPool, ReleaseOp, RenewOp,
    Transact,
};
use allod_core::pool::{PoolRange, PoolSpec, Strategy};
use allod_core::value::Kind;
use allod_testkit::http::Client;
use allod_testkit::{Call, CallAnswer, Request, native};

/// A seeded random generator.
pub struct SeededRandom(pub u64);

impl SeededRandom {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Pools that become exhausted, with leases, reaping and quarantine.
pub const POOLS: [&str; 4] = ["ids", "leased", "hosts", "nets"];

pub fn kind(pool: &str) -> Kind {
    match pool {
        "hosts" => Kind::Address4,
        "nets" => Kind::Prefix6,
        _ => Kind::Id32,
    }
}

pub fn pools() -> Vec<Request> {
    let pool = |name: &str, range: &str, change: fn(&mut PoolSpec)| {
        let kind = kind(name);
        let (span, subnet_len) = kind.parse_range(range).unwrap();
        let mut spec = PoolSpec::new(kind, vec![PoolRange { span, subnet_len }]);
        change(&mut spec);
        let put = PutPool { pool: name.into(), spec, expect: Expect::Any, keep_held: false };
        Request::Command(Command::PutPool(put))
    };
    vec![
        pool("ids", "100-139", |spec| spec.strategy = Strategy::Next),
        pool("leased", "0-19", |spec| {
            (spec.lease_ms, spec.strategy) = (Some(40), Strategy::Random);
        }),
        pool("hosts", "10.0.0.0/27", |spec| {
            (spec.quarantine_ms, spec.strategy) = (30, Strategy::LeastRecentlyUsed);
        }),
        pool("nets", "2001:db8::/122", |spec| (spec.lease_ms, spec.reap) = (Some(60), true)),
    ]
}

pub fn request(random: &mut SeededRandom, pools: &[&str]) -> Request {
    let pool = pools[random.below(pools.len() as u64) as usize];
    let key: Arc<str> = format!("key/{}", random.below(60)).into();
    let release = || ReleaseOp { pool: pool.into(), key: key.clone(), expect: Expect::Any };
    let one = |op| Request::Command(Command::Transact(Transact::one(op)));
    match random.below(20) {
        0..8 => one(Op::Claim(claim(random, pool, &key))),
        8..12 => one(Op::Release(release())),
        12 => one(Op::Renew(RenewOp {
            pool: pool.into(),
            key: key.clone(),
            expect: Expect::Any,
            ttl_ms: Some(50),
        })),
        13 => one(Op::Confirm(ConfirmOp {
            pool: pool.into(),
            key: key.clone(),
            expect: Expect::Present,
        })),
        14 => {
            let n = random.below(1_000);
            // The same key means the same request, also after a restart.
            let mut again = SeededRandom(n);
            let check = Check::Pool { pool: "ids".into(), expect: Expect::Present };
            let ops = vec![
                Op::Claim(claim(&mut again, "ids", &format!("once/{n}").into())),
                Op::Check(check),
            ];
            let idempotency =
                Idempotency { key: format!("request-{n}").into(), fingerprint: [0; 32] };
            Request::Command(Command::Transact(Transact {
                ops,
                idempotency: Some(idempotency),
                ..Transact::default()
            }))
        }
        15 => {
            let ops = vec![Op::Release(release()), Op::Claim(claim(random, pool, &key))];
            Request::Command(Command::Transact(Transact { ops, ..Transact::default() }))
        }
        16 | 17 => Request::GetClaim { pool: pool.into(), key: key.to_string() },
        18 => Request::GetValue { pool: pool.into(), value: value(random, pool) },
        _ => Request::GetPool { pool: pool.into() },
    }
}

fn value(random: &mut SeededRandom, pool: &str) -> String {
    let at = random.below(40);
    match pool {
        "ids" => (100 + at).to_string(),
        "hosts" => format!("10.0.0.{at}"),
        "nets" => format!("2001:db8::{at:x}/128"),
        _ => at.to_string(),
    }
}

fn claim(random: &mut SeededRandom, pool: &str, key: &Arc<str>) -> ClaimOp {
    let mut want = Want::any();
    match pool {
        "nets" => want.prefix_len = Some(125 + random.below(4) as u8),
        "ids" if random.below(5) == 0 => want.value = Some(value(random, pool).as_str().into()),
        "leased" if random.below(5) == 0 => want.count = 3,
        _ => {}
    }
    ClaimOp {
        pools: vec![pool.into()],
        key: key.clone(),
        owner: (random.below(4) == 0).then(|| "someone".into()),
        want,
        ttl_ms: None,
        labels: Arc::default(),
        expect: Expect::Any,
    }
}

/// A client that sends requests until its server is gone or `enough` is set.
pub fn client(
    mut client: Client,
    pools: &'static [&'static str],
    seed: u64,
    start: Instant,
    enough: Arc<AtomicBool>,
) -> JoinHandle<Vec<Call>> {
    std::thread::spawn(move || {
        let mut random = SeededRandom(seed);
        let mut calls = Vec::new();
        while !enough.load(Ordering::Relaxed) {
            let request = request(&mut random, pools);
            calls.push(native::call(&mut client, request, start, seed));
            if calls.last().is_some_and(|call| call.answer == CallAnswer::Lost) {
                break;
            }
        }
        calls
    })
}
