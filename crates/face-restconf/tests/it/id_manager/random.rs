//! Random steps: each id of a pool is allocated, released or available, and never two of these; a restored export continues
//! like the original.

use std::collections::BTreeSet;

use allod_core::command::Command;
use allod_testkit::transcript::ManualClock;
use proptest::prelude::*;
use serde_json::Value;

use crate::id_manager::server::Server;

#[derive(Debug, Clone)]
enum RandomStep {
    Allocate {
        pool: u8,
        key: u8,
        id: Option<u8>,
        seconds: Option<u8>,
    },
    Range {
        pool: u8,
        key: u8,
        size: u8,
    },
    Release {
        pool: u8,
        key: u8,
    },
    Wait(u8),
    /// Export, delete, restore.
    Carry,
}

fn step() -> impl Strategy<Value = RandomStep> {
    let (pool, key) = (0u8..3, 0u8..12);
    prop_oneof![
        6 => (pool.clone(), key.clone(), prop::option::of(0u8..40), prop::option::of(0u8..60))
            .prop_map(|(pool, key, id, seconds)| RandomStep::Allocate { pool, key, id, seconds }),
        2 => (pool.clone(), key.clone(), 0u8..9)
            .prop_map(|(pool, key, size)| RandomStep::Range { pool, key, size }),
        4 => (pool, key).prop_map(|(pool, key)| RandomStep::Release { pool, key }),
        2 => (0u8..50).prop_map(RandomStep::Wait),
        1 => Just(RandomStep::Carry),
    ]
}

const POOLS: [(&str, u64, u64, bool); 3] =
    [("plain", 3, 33, false), ("leased", 3, 30, true), ("small", 0, 4, true)];

async fn take(server: &Server, clock: &ManualClock, step: &RandomStep) {
    let at = |pool: u8, key: u8| {
        format!(r#""pool-name":"{}","id-key":"k{key}""#, POOLS[usize::from(pool)].0)
    };
    let answer = match step {
        RandomStep::Allocate { pool, key, id, seconds } => {
            let mut input = at(*pool, *key);
            input.extend(id.map(|id| format!(r#","id-value":{id}"#)));
            input.extend(seconds.map(|after| format!(r#","expiration-time-sec":{after}"#)));
            server.call("allocateId", &input).await
        }
        RandomStep::Range { pool, key, size } => {
            let input = format!(r#"{},"size":{size}"#, at(*pool, *key));
            server.call("allocateIdRange", &input).await
        }
        RandomStep::Release { pool, key } => server.call("releaseId", &at(*pool, *key)).await,
        RandomStep::Wait(seconds) => {
            clock.wait((*seconds).into());
            server.handle.submit(Command::Tick).await.unwrap();
            return;
        }
        RandomStep::Carry => {
            let whole = "/rests/data/id-manager:id-pools";
            let before = server.ask("GET", whole, "").await.body;
            assert_eq!(server.ask("DELETE", whole, "").await.status, 204);
            let put = server.ask("PUT", whole, &before).await;
            assert_eq!(put.status, 201, "{} to {before}", put.body);
            assert_eq!(server.ask("GET", whole, "").await.body, before);
            return;
        }
    };
    assert!([200, 204, 500].contains(&answer.status), "{} {}", answer.status, answer.body);
}

/// Checks that every id of every pool occurs exactly once in the data.
fn audit(shown: &Value) {
    let entries = shown["id-pools"]["id-pool"].as_array().unwrap();
    for (name, low, high, enhanced) in POOLS {
        let children = entries.iter().filter(|entry| entry["parent-pool-name"] == name);
        let children: Vec<&Value> = children.collect();
        let parent = entries.iter().find(|entry| entry["pool-name"] == name).unwrap();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let number = |value: &Value| value.as_u64().unwrap();
        let mut held = BTreeSet::new();
        for id in list(&parent["id-entries"]).iter().flat_map(|entry| list(&entry["id-value"])) {
            assert!(held.insert(number(&id)), "{id} is held twice");
        }
        if enhanced {
            let leased = children
                .iter()
                .flat_map(|child| list(&child["allocated-ids-holder"]["allocated-id-entries"]));
            let leased: BTreeSet<u64> = leased.map(|entry| number(&entry["id"])).collect();
            assert_eq!(leased, held);
        }
        let (mut placed, mut open) = (held, BTreeSet::new());
        for entry in children.into_iter().chain([parent]) {
            let released = &entry["released-ids-holder"];
            let listed = list(&released["delayed-id-entries"]);
            assert_eq!(number(&released["available-id-count"]), listed.len() as u64);
            for id in listed.iter().map(|entry| number(&entry["id"])) {
                assert!(placed.insert(id), "{id} is released, and more than that");
            }
            let available = &entry["available-ids-holder"];
            let after = u64::try_from(available["cursor"].as_i64().unwrap() + 1).unwrap();
            for id in after..=number(&available["end"]) {
                assert!(open.insert(id), "{id} is available in two places");
            }
        }
        placed.extend(open);
        assert_eq!(placed, (low..=high).collect(), "{name}: {shown}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn each_id_has_exactly_one_state(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let clock = ManualClock::morning();
            let server = Server::fresh(clock.clone()).await;
            for (name, low, high, enhanced) in POOLS {
                let input = format!(
                    r#""pool-name":"{name}","low":{low},"high":{high},"enhanced-id-allocation":{enhanced}"#
                );
                server.call("createIdPool", &input).await;
            }
            for step in &steps {
                take(&server, &clock, step).await;
                audit(&server.ask("GET", "/restconf/config/id-manager:id-pools", "").await.json());
            }
        });
    }
}
