//! Clients that write, and readers.

use std::sync::atomic::{AtomicBool, Ordering};

use allod_core::capacity::Uuid;
use serde_json::{Value, json};

use crate::placement_concurrency::wire::{
    CPUS, CPUS_TOTAL, Client, DISKS, HOT, MEMORY, code, consumer, holding, provider,
};

const OPERATIONS: u32 = 150;
/// The number of shared consumers.
pub const FOUGHT_OVER: u32 = 2;

/// Kinds of consumers.
const FILLING: u8 = 1;
const ROOMY: u8 = 2;
const MOVING: u8 = 3;
const RIVAL: u8 = 4;

const OVERTAKEN: &str = "placement.concurrent_update";

/// The positions between which a refusal was decided.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub from: u64,
    pub to: u64,
}

/// A refusal for lack of capacity.
#[derive(Debug)]
pub struct Full {
    pub provider: Uuid,
    pub more: i64,
    pub window: Window,
}

/// A refusal because the consumer had another generation.
#[derive(Debug)]
pub struct StaleGeneration {
    pub consumer: Uuid,
    pub sent: Option<u64>,
    pub window: Window,
}

/// The answers of all clients.
#[derive(Debug, Default)]
pub struct ClientAnswers {
    pub full: Vec<Full>,
    pub stale: Vec<StaleGeneration>,
    pub moves: u64,
}

impl ClientAnswers {
    pub fn add(&mut self, other: ClientAnswers) {
        self.full.extend(other.full);
        self.stale.extend(other.stale);
        self.moves += other.moves;
    }
}

/// Reads the present position, which is after every earlier decision.
fn window(client: &mut Client, from: u64) -> Window {
    client.get(&format!("/resource_providers/{}/usages", provider(0)));
    Window { from, to: client.position }
}

fn random(seed: &mut u64, n: u32) -> u32 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    u32::try_from((*seed >> 33) % u64::from(n)).unwrap()
}

/// Allocates scarce capacity for new consumers, changes the amount, and releases it. No other client writes these consumers,
/// so the only possible refusal is lack of capacity.
pub fn fill(mut client: Client, me: u32) -> ClientAnswers {
    let (mut answers, mut seed) = (ClientAnswers::default(), u64::from(me) + 1);
    let mut mine: Vec<(Uuid, u32, u32, u64)> = Vec::new();
    window(&mut client, 0);
    for n in 0..OPERATIONS {
        let (hot, amount) = (random(&mut seed, HOT), 1 + random(&mut seed, 4));
        let from = client.position;
        let again = (random(&mut seed, 4) == 0).then(|| mine.pop()).flatten();
        let (uuid, hot, before, generation) =
            again.unwrap_or((consumer(FILLING, me, n), hot, 0, 0));
        let sent = Some(generation).filter(|generation| *generation > 0);
        let answer = client.put(uuid, &holding(Some((hot, CPUS, amount)), sent));
        if answer.status == 204 {
            mine.push((uuid, hot, amount, generation + 1));
        } else {
            assert_eq!(answer.status, 409, "{}", answer.text());
            assert_ne!(code(&answer), OVERTAKEN, "no other client writes {uuid}");
            let more = i64::from(amount) - i64::from(before);
            let window = window(&mut client, from);
            answers.full.push(Full { provider: provider(hot), more, window });
            if before > 0 {
                mine.push((uuid, hot, before, generation));
            }
        }
        if mine.len() > 3 {
            let (uuid, _, _, generation) = mine.remove(0);
            let answer = match n % 2 {
                0 => client.send("DELETE", &format!("/allocations/{uuid}"), &Value::Null),
                _ => client.put(uuid, &holding(None, Some(generation))),
            };
            assert_eq!(answer.status, 204, "{}", answer.text());
        }
    }
    answers
}

/// Allocates plentiful capacity on shared providers: no write may be refused.
pub fn take_what_is_there(mut client: Client, me: u32) -> ClientAnswers {
    for n in 0..OPERATIONS {
        let uuid = consumer(ROOMY, me, n);
        let answer = client.put(uuid, &holding(Some(((me + n) % HOT, MEMORY, 7)), None));
        assert_eq!(answer.status, 204, "unexpected conflict: {}", answer.text());
    }
    ClientAnswers::default()
}

/// Creates the allocation that a mover moves.
pub fn settle(client: &mut Client, me: u32) {
    let body = holding(Some((me % HOT, DISKS, 1)), None);
    let answer = client.put(consumer(MOVING, me, 0), &body);
    assert_eq!(answer.status, 204, "{}", answer.text());
}

/// Moves an allocation to another consumer and back. There is no capacity for both, so the move must be atomic.
pub fn move_to_and_fro(mut client: Client, me: u32) -> ClientAnswers {
    for n in 0..OPERATIONS {
        let (from, to) = (consumer(MOVING, me, n % 2), consumer(MOVING, me, 1 - n % 2));
        // A consumer without allocations does not exist, so its generation starts again.
        let body = json!({
            from.to_string(): holding(None, Some(1)),
            to.to_string(): holding(Some((me % HOT, DISKS, 1)), None),
        });
        let answer = client.send("POST", "/allocations", &body);
        assert_eq!(answer.status, 204, "unexpected conflict: {}", answer.text());
    }
    ClientAnswers { moves: OPERATIONS.into(), ..ClientAnswers::default() }
}

pub fn fought_over(n: u32) -> Uuid {
    consumer(RIVAL, 0, n)
}

/// Writes a shared consumer at the generation that was just read.
pub fn rival(mut client: Client, me: u32) -> ClientAnswers {
    let mut answers = ClientAnswers::default();
    for n in 0..OPERATIONS {
        let uuid = fought_over((me + n) % FOUGHT_OVER);
        let seen = client.get(&format!("/allocations/{uuid}"));
        let sent = seen.get("consumer_generation").and_then(Value::as_u64);
        let from = client.position;
        let held = Some((n % HOT, MEMORY, me + 1)).filter(|_| n % 5 != 4 || sent.is_none());
        let answer = client.put(uuid, &holding(held, sent));
        if answer.status != 204 {
            assert_eq!(
                (answer.status, code(&answer).as_str()),
                (409, OVERTAKEN),
                "{}",
                answer.text()
            );
            let window = window(&mut client, from);
            answers.stale.push(StaleGeneration { consumer: uuid, sent, window });
        }
    }
    answers
}

/// Reads the providers until `enough` is set: capacity is not exceeded, exactly one consumer of each pair has the allocation,
/// and generations do not decrease. Returns the number of reads.
pub fn read(mut client: Client, movers: u32, enough: &AtomicBool) -> u64 {
    let mut generations = [0; HOT as usize];
    let mut looks = 0;
    while !enough.load(Ordering::Relaxed) || looks == 0 {
        for hot in 0..HOT {
            let path = format!("/resource_providers/{}", provider(hot));
            let usages = client.get(&format!("{path}/usages"));
            let used = usages["usages"][CPUS].as_u64().unwrap();
            assert!(used <= CPUS_TOTAL.into(), "{used} of {CPUS_TOTAL} are given out");
            let all = client.get(&format!("{path}/allocations"));
            let held = all["allocations"].as_object().unwrap();
            let sum = |class: &str| -> u64 {
                held.values().filter_map(|held| held["resources"][class].as_u64()).sum()
            };
            assert!(sum(CPUS) <= CPUS_TOTAL.into());
            for mover in (0..movers).filter(|mover| mover % HOT == hot) {
                let pair = [0, 1].map(|n| consumer(MOVING, mover, n).to_string());
                let holders = pair.iter().filter(|uuid| held.contains_key(*uuid)).count();
                assert_eq!(holders, 1, "a move is not atomic");
            }
            let generation = all["resource_provider_generation"].as_u64().unwrap();
            assert!(generation >= generations[hot as usize], "a generation decreased");
            generations[hot as usize] = generation;
            looks += 1;
        }
    }
    looks
}
