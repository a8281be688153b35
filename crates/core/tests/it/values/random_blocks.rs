//! Random commands of the id-manager and of the native interface on the same pools: each id is held by one key, or is in
//! one place of the layout, or in none because an operator has written it so.

use std::collections::BTreeMap;

use allod_core::claim::ClaimState;
use allod_core::state::State;
use allod_core::view;
use proptest::prelude::*;
use proptest::sample::select;

use crate::values::script::{ask, check};

fn pool() -> impl Strategy<Value = &'static str> {
    select(vec!["p", "p", "e", "n"])
}

fn key() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "c", "d", "f"])
}

fn how() -> impl Strategy<Value = &'static str> {
    select(vec!["", "", " order=released", " order=available", " node=2"])
}

fn line() -> impl Strategy<Value = String> {
    let asked = select(vec!["", "", " id=3", " id=7", " exp=5", " exp=40 id=12", " id=99 strict"]);
    prop_oneof![
        10 => (pool(), key(), asked, how()).prop_map(|(p, k, a, h)| format!("alloc {p} {k}{a}{h}")),
        3 => (pool(), key(), 0..9u32, how()).prop_map(|(p, k, n, h)| format!("range {p} {k} {n}{h}")),
        6 => (pool(), key()).prop_map(|(p, k)| format!("free {p} {k}")),
        2 => (pool(), key(), select(vec!["", " value=9", " count=3", " strategy=next", " ttl=3s", " strategy=random"]))
            .prop_map(|(p, k, how)| format!("claim {p} {k}{how}")),
        2 => (pool(), key()).prop_map(|(p, k)| format!("release {p} {k}")),
        1 => (pool(), key(), 0..30u32).prop_map(|(p, k, id)| format!("entry {p} {k} {id}")),
        1 => (pool(), key()).prop_map(|(p, k)| format!("unentry {p} {k}")),
        1 => select(vec!["pool n id32 1-20 exclude=4", "pool n id32 5-30", "pool p id32 1-40 quarantine=30s keep_held"])
            .prop_map(String::from),
        1 => select(vec!["ids p 1-30", "drop p", "wipe e", "ids e 0-25 enhanced", "frame p 1-30 at=20 block=4 child=17-20:18 released=2@0,9-11@40"])
            .prop_map(String::from),
        2 => select(vec!["at +5s", "at +30s", "tick", "tick"]).prop_map(String::from),
    ]
}

/// Checks that no id of the pool is in two places.
fn partition(state: &State, name: &str) {
    let child = |pool: &str| format!("{pool}.1").into();
    let Some(frozen) = view::blocks::frozen(state, name, child) else { return };
    let mut places: BTreeMap<u128, Vec<String>> = BTreeMap::new();
    for entry in frozen.entries() {
        for id in entry.ids.iter().flat_map(|span| span.first..=span.last) {
            places.entry(id).or_default().push(format!("held by {}", entry.key));
        }
    }
    let frame = &frozen.definition;
    let lists = std::iter::once(&frame.layout.released)
        .chain(frame.layout.children.iter().map(|child| &child.released));
    for one in lists.flatten() {
        for id in one.ids.first..=one.ids.last {
            places.entry(id).or_default().push("released".into());
        }
    }
    // Ids after a cursor are available unless they are held or released; the rest is reserved.
    let layout = &frame.layout;
    let blocks = layout.children.iter().map(|child| (child.cursor, child.end));
    let ahead: Vec<(i64, u32)> = blocks.chain([(layout.cursor, frame.high)]).collect();
    for id in frame.low..=frame.high {
        let open = ahead.iter().filter(|(cursor, end)| i64::from(id) > *cursor && id <= *end);
        let open = open.filter(|(_, end)| *end <= frame.high).count();
        let places = places.get(&id.into()).map_or(&[][..], |places| places);
        assert!(places.len() <= 1 && open <= 1, "{id} of {name}: {places:?}, {open} times ahead");
    }
    assert!(places.values().all(|places| places.len() == 1), "{name}: {places:?}");
    // Ids in quarantine are not free.
    for claim in
        state.pool(name).into_iter().flat_map(|pool| pool.claims_by_value().collect::<Vec<_>>())
    {
        if let ClaimState::Quarantined { .. } = claim.state {
            let ids = claim.values.spans().flat_map(|span| span.first..=span.last);
            ids.for_each(|id| {
                assert!(!places.get(&id).is_some_and(|at| at[0].starts_with("held")))
            });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn each_id_is_in_one_place(lines in prop::collection::vec(line().boxed(), 1..60)) {
        let mut world = check("
            ids p 1-30
            ids e 0-25 enhanced
            pool n id32 1-20
        ");
        for line in &lines {
            ask(&mut world, line);
            for pool in ["p", "e", "n"] {
                partition(&world.state, pool);
            }
        }
    }

    /// Without edits by an operator no id is lost: in the end all ids can be allocated.
    #[test]
    fn no_id_is_lost(lines in prop::collection::vec(line().boxed(), 1..40)) {
        let mut world = check("
            ids p 1-30
            ids e 0-25 enhanced
            pool n id32 1-20
        ");
        let written = ["entry", "unentry", "frame", "wipe", "drop", "pool"];
        for line in lines.iter().filter(|line| !written.iter().any(|verb| line.starts_with(verb))) {
            ask(&mut world, line);
        }
        for pool in ["p", "e", "n"] {
            for key in ["a", "b", "c", "d", "f"] {
                ask(&mut world, &format!("free {pool} {key}"));
            }
        }
        ask(&mut world, "at +31s");
        for (pool, size) in [("p", 30), ("e", 26), ("n", 20)] {
            for n in 0..size {
                let answer = ask(&mut world, &format!("alloc {pool} all{n}"));
                prop_assert!(!answer.starts_with("no "), "{pool} {n}: {answer}");
            }
            let answer = ask(&mut world, &format!("alloc {pool} more"));
            prop_assert!(answer.starts_with("no exhausted"), "{pool}: {answer}");
        }
    }
}
