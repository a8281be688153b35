//! The quick part of every attack: honest clients get no errors, no value twice, and the server keeps its memory within a bound,
//! answers, stops and has a journal that verifies. Pauses are measured by `cargo xtask attack` only.

use std::collections::BTreeSet;
use std::path::Path;

use allod_attack::{ATTACKS, Effort};

fn endure(name: &str) {
    let attack = ATTACKS.iter().find(|attack| attack.name == name).unwrap();
    let outcome =
        allod_attack::run(attack, Path::new(env!("CARGO_BIN_EXE_allod")), Effort::Quick).unwrap();
    assert!(outcome.sent.count > 0 || !outcome.harms().is_empty());
    assert_eq!(outcome.harms(), [""; 0], "{}", outcome.sent.answers);
}

/// A test for each attack, so that they run beside each other.
macro_rules! attacks {
    ($($test:ident $name:literal,)+) => {
        $(
            #[test]
            fn $test() {
                endure($name);
            }
        )+

        const NAMES: &[&str] = &[$($name),+];
    };
}

attacks! {
    connections "connections",
    control_keys "control-keys",
    documents "documents",
    endless_bodies "endless-bodies",
    greedy_watchers "greedy-watchers",
    half_bodies "half-bodies",
    huge_heads "huge-heads",
    idempotency_keys "idempotency-keys",
    largest_reads "largest-reads",
    largest_writes "largest-writes",
    malformed_heads "malformed-heads",
    pipelining "pipelining",
    refused_writes "refused-writes",
    roles "roles",
    sites "sites",
    slow_bodies "slow-bodies",
    slow_heads "slow-heads",
    smuggling "smuggling",
    unread_answers "unread-answers",
}

#[test]
fn every_attack_has_a_test() {
    let all: BTreeSet<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
    assert_eq!(NAMES.iter().copied().collect::<BTreeSet<&str>>(), all);
}
