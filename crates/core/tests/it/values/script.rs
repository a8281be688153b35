//! The script language of the tables: one command in each line, with its answer after `->`.
//!
//! [`check`] runs a script and compares the transcript, so a failure shows the actual answer of every line.

use std::sync::Arc;

use allod_core::claim::{Parity, Want};
use allod_core::command::{
    Check, ClaimOp, Command, ConfirmOp, DeletePool, Expect, Idempotency, Op, PutPool, ReleaseOp,
    RenewOp, Transact,
};
use allod_core::pool::{Labels, PoolRange, PoolSpec, Strategy};
use allod_core::span::Span;
use allod_core::value::{Kind, ValueText};

use crate::values::answer;
use crate::values::authorities;
use crate::values::blocks;
use crate::values::capacity;
use crate::values::lookups;
use crate::values::reconciliations;
use crate::values::requests;
use crate::values::world::World;

/// Runs a script in a new world and compares the answers.
pub fn check(script: &str) -> World {
    let mut world = World::new();
    play(&mut world, script);
    world
}

/// Continues a world with another script.
pub fn play(world: &mut World, script: &str) {
    let mut transcript = String::new();
    let mut wanted = String::new();
    let mut open: Option<Vec<Op>> = None;
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (request, expected) = match line.split_once("->") {
            Some((request, expected)) => (request.trim(), Some(expected.trim())),
            None => (line, None),
        };
        let answer = step(world, request, &mut open);
        let shown = match (expected, &answer) {
            (None, answer) if !answer.starts_with("no ") => request.to_string(),
            _ => format!("{request} -> {answer}"),
        };
        let shown = shown.trim_end();
        transcript.push_str(shown);
        transcript.push('\n');
        wanted.push_str(&match expected {
            None => request.to_string(),
            Some("") => format!("{request} ->"),
            Some(expected) => format!("{request} -> {expected}"),
        });
        wanted.push('\n');
    }
    assert!(open.is_none(), "a transaction has no end");
    assert!(transcript == wanted, "expected:\n\n{wanted}\nactual:\n\n{transcript}");
}

/// The answer to one line.
pub fn ask(world: &mut World, request: &str) -> String {
    step(world, request, &mut None)
}

fn step(world: &mut World, request: &str, open: &mut Option<Vec<Op>>) -> String {
    if request.contains(" & ") && !request.starts_with('#') {
        return answer::of(world, &requests::together(&world.state, request));
    }
    let words = Words::of(request);
    match words.verb {
        "#" => return String::new(),
        "at" => {
            world.now_ms += duration(words.plain(0).trim_start_matches('+'));
            return String::new();
        }
        "limit" => {
            set_limit(world, &words);
            return String::new();
        }
        "usage" => return answer::usage(world, words.plain(0)),
        "who" => return answer::who(world, words.plain(0), words.plain(1)),
        "show" => return answer::show(world, words.plain(0), words.plain(1)),
        "list" => return answer::list(world, &words),
        "owners" => return answer::owners(world, &words),
        "pools" => return answer::pools(world, &words),
        "has" => return capacity::has(&world.state, &words),
        "holds" => return capacity::holds(&world.state, world.now_ms, &words),
        "uses" => return capacity::uses(&world.state, &words),
        "answers" | "left" | "alarms" | "outbox" | "asks" => {
            return requests::show(&world.state, &words);
        }
        "ask" | "net" => {
            let answer = answer::of(world, &requests::command(&world.state, &words).expect("one"));
            return requests::answered(&world.state, &words, answer);
        }
        "seize" | "look" => {
            let answer = answer::of(world, &requests::command(&world.state, &words).expect("one"));
            return requests::found(&world.state, &words, answer);
        }
        "lookup" | "lookups" | "lookups_due" => {
            return lookups::show(&world.state, world.now_ms, &words);
        }
        "findings" => return reconciliations::show(&world.state, words.plain(0)),
        "external" | "at_authority" | "ready" | "next_due" => {
            return authorities::show(&world.state, world.now_ms, &words);
        }
        "account" => return blocks::account(&world.state, words.plain(0)),
        "begin" => {
            *open = Some(Vec::new());
            return String::new();
        }
        "end" => {
            let transact = Transact {
                ops: open.take().expect("begin comes first"),
                dry_run: words.has("dry"),
                idempotency: words.get("key").map(|key| {
                    let fingerprint = words.get("fingerprint").map_or(0, number) as u8;
                    Idempotency::new(words.get("client"), &text(key), [fingerprint; 32])
                }),
            };
            return answer::of(world, &Command::Transact(transact));
        }
        _ => {}
    }
    if let Some(command) = requests::command(&world.state, &words) {
        return answer::of(world, &command);
    }
    if let Some(command) = authorities::command(&world.state, world.now_ms, &words) {
        let answer = answer::of(world, &command);
        return authorities::answered(&world.state, answer);
    }
    if let Some(command) = blocks::command(&world.state, &words) {
        return answer::of(world, &command);
    }
    if let Some(command) = capacity::command(request) {
        return answer::of(world, &command);
    }
    let command = match words.verb {
        "tick" => Command::Tick,
        "pool" => Command::PutPool(put(&words)),
        "delete" => Command::DeletePool(DeletePool {
            pool: text(words.plain(0)),
            expect: expect(&words, Expect::Any),
        }),
        _ => {
            let op = capacity::op(request).unwrap_or_else(|| op(&words));
            if let Some(ops) = open {
                ops.push(op);
                return String::new();
            }
            Command::Transact(Transact::one(op))
        }
    };
    answer::of(world, &command)
}

/// A parsed line: the verb, the words without `=`, and those with one.
pub struct Words<'a> {
    verb: &'a str,
    plain: Vec<&'a str>,
    named: Vec<(&'a str, &'a str)>,
}

impl<'a> Words<'a> {
    pub fn of(line: &'a str) -> Words<'a> {
        let mut words = line.split_whitespace();
        let verb = words.next().expect("a line is never empty");
        let (named, plain) = words.partition::<Vec<_>, _>(|word| word.contains('='));
        let named = named.into_iter().filter_map(|word| word.split_once('=')).collect();
        Words { verb, plain, named }
    }

    pub fn verb(&self) -> &'a str {
        self.verb
    }

    pub fn plains(&self) -> impl Iterator<Item = &'a str> {
        self.plain.iter().copied()
    }

    pub fn named(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.named.iter().copied()
    }

    pub fn plain(&self, n: usize) -> &'a str {
        self.plain.get(n).unwrap_or_else(|| panic!("'{}' lacks a word", self.verb))
    }

    pub fn has(&self, flag: &str) -> bool {
        self.plain.contains(&flag)
    }

    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.named.iter().find(|(named, _)| *named == name).map(|(_, value)| *value)
    }
}

fn put(words: &Words<'_>) -> PutPool {
    let kind = Kind::from_name(words.plain(1)).expect("a kind");
    let range = |text: &str| kind.parse_range(text).expect("a range");
    let ranges = words.plain(2).split(',').filter(|text| *text != "none").map(range);
    let ranges = ranges.map(|(span, subnet_len)| PoolRange { span, subnet_len }).collect();
    let spans = |name| -> Vec<Span> {
        let list = words.get(name).into_iter().flat_map(|list| list.split(','));
        list.map(|text| range(text).0).collect()
    };
    let plain = PoolSpec::new(kind, ranges);
    let spec = PoolSpec {
        exclude: spans("exclude"),
        manual: spans("manual"),
        draining: spans("draining"),
        strategy: words.get("strategy").map_or(plain.strategy, strategy),
        keep_edges: plain.keep_edges && !words.has("no_edges"),
        quarantine_ms: words.get("quarantine").map_or(0, duration),
        lease_ms: words.get("lease").map(duration),
        reap: words.has("reap"),
        labels: labels(words),
        authority: words.get("authority").map(text),
        ..plain
    };
    let keep_held = words.has("keep_held");
    PutPool { pool: text(words.plain(0)), spec, expect: expect(words, Expect::Any), keep_held }
}

fn op(words: &Words<'_>) -> Op {
    let pools: Vec<Arc<str>> =
        words.plain(0).split('+').filter(|name| *name != "none").map(text).collect();
    let name = || pools.first().cloned().expect("a pool");
    let expect = expect(words, Expect::Any);
    let ttl_ms = words.get("ttl").map(duration);
    match words.verb {
        "claim" => Op::Claim(ClaimOp {
            key: text(words.plain(1)),
            owner: words.get("owner").map(text),
            want: want(words),
            ttl_ms,
            labels: labels(words),
            expect,
            pools,
        }),
        "release" => Op::Release(ReleaseOp { pool: name(), key: text(words.plain(1)), expect }),
        "renew" => Op::Renew(RenewOp { pool: name(), key: text(words.plain(1)), expect, ttl_ms }),
        "confirm" => Op::Confirm(ConfirmOp { pool: name(), key: text(words.plain(1)), expect }),
        "check" => Op::Check(Check::Claim {
            pool: name(),
            key: text(words.plain(1)),
            expect,
            owner: words.get("owner").map(text),
            value: words.get("value").map(ValueText::from),
        }),
        "check_free" => Op::Check(Check::Free { pool: name(), value: words.plain(1).into() }),
        "check_pool" => Op::Check(Check::Pool { pool: name(), expect }),
        other => panic!("'{other}' is no request"),
    }
}

fn want(words: &Words<'_>) -> Want<ValueText> {
    Want {
        value: words.get("value").map(ValueText::from),
        fallback: words.has("fallback"),
        count: words.get("count").map_or(1, |count| number(count) as u32),
        contiguous: words.has("contiguous"),
        prefix_len: words.get("len").map(|len| number(len) as u8),
        parity: match (words.has("odd"), words.has("even")) {
            (true, _) => Some(Parity::Odd),
            (_, true) => Some(Parity::Even),
            _ => None,
        },
        strategy: words.get("strategy").map(strategy),
    }
}

fn strategy(name: &str) -> Strategy {
    Strategy::from_name(if name == "lru" { "least_recently_used" } else { name }).expect("strategy")
}

pub fn expect(words: &Words<'_>, otherwise: Expect) -> Expect {
    match words.get("expect") {
        None => otherwise,
        Some("absent") => Expect::Absent,
        Some("present") => Expect::Present,
        Some(version) => Expect::Is(number(version)),
    }
}

fn labels(words: &Words<'_>) -> Labels {
    let labels = words.named.iter().filter(|(name, _)| *name == "label");
    let pairs = labels.filter_map(|(_, pair)| pair.split_once(':'));
    pairs.map(|(key, value)| (text(key), text(value))).collect()
}

fn set_limit(world: &mut World, words: &Words<'_>) {
    for (name, value) in &words.named {
        let limits = &mut world.limits;
        let limit = match *name {
            "pool_name_bytes_max" => &mut limits.pool_name_bytes_max,
            "key_bytes_max" => &mut limits.key_bytes_max,
            "owner_bytes_max" => &mut limits.owner_bytes_max,
            "labels_max" => &mut limits.labels_max,
            "label_bytes_max" => &mut limits.label_bytes_max,
            "ranges_per_pool_max" => &mut limits.ranges_per_pool_max,
            "pools_max" => &mut limits.pools_max,
            "values_per_claim_max" => &mut limits.values_per_claim_max,
            "claims_ended_per_claim_max" => &mut limits.claims_ended_per_claim_max,
            "search_steps_max" => &mut limits.search_steps_max,
            "pools_per_claim_max" => &mut limits.pools_per_claim_max,
            "values_per_transaction_max" => &mut limits.values_per_transaction_max,
            "ops_per_transaction_max" => &mut limits.ops_per_transaction_max,
            "idempotency_keys_max" => &mut limits.idempotency_keys_max,
            "idempotency_bytes_max" => &mut limits.idempotency_bytes_max,
            "idempotency_client_percent_max" => &mut limits.idempotency_client_percent_max,
            "idempotency_ms" => &mut limits.idempotency_ms,
            "lease_ms_max" => &mut limits.lease_ms_max,
            "providers_max" => &mut limits.providers_max,
            "provider_name_chars_max" => &mut limits.provider_name_chars_max,
            "provider_depth_max" => &mut limits.provider_depth_max,
            "inventories_per_provider_max" => &mut limits.inventories_per_provider_max,
            "traits_per_provider_max" => &mut limits.traits_per_provider_max,
            "aggregates_per_provider_max" => &mut limits.aggregates_per_provider_max,
            "custom_classes_max" => &mut limits.custom_classes_max,
            "custom_traits_max" => &mut limits.custom_traits_max,
            "custom_name_bytes_max" => &mut limits.custom_name_bytes_max,
            "consumers_max" => &mut limits.consumers_max,
            "consumers_per_request_max" => &mut limits.consumers_per_request_max,
            "allocations_per_consumer_max" => &mut limits.allocations_per_consumer_max,
            "allocations_per_request_max" => &mut limits.allocations_per_request_max,
            "providers_per_move_max" => &mut limits.providers_per_move_max,
            "claims_per_pool_change_max" => &mut limits.claims_per_pool_change_max,
            "claims_per_transaction_max" => &mut limits.claims_per_transaction_max,
            "ids_per_edit_max" => &mut limits.ids_per_edit_max,
            "ids_per_range_max" => &mut limits.ids_per_range_max,
            "requests_per_edit_max" => &mut limits.requests_per_edit_max,
            "pools_per_edit_max" => &mut limits.pools_per_edit_max,
            "pools_per_group_max" => &mut limits.pools_per_group_max,
            "waiting_requests_per_entry_max" => &mut limits.waiting_requests_per_entry_max,
            "services_per_request_max" => &mut limits.services_per_request_max,
            "outbox_max" => &mut limits.outbox_max,
            "authorities_max" => &mut limits.authorities_max,
            "authority_bytes_max" => &mut limits.authority_bytes_max,
            "lookups_max" => &mut limits.lookups_max,
            "lookup_bytes_max" => &mut limits.lookup_bytes_max,
            "lookups_bytes_max" => &mut limits.lookups_bytes_max,
            "reconcile_findings_max" => &mut limits.reconcile_findings_max,
            "refused_claim_ms" => &mut limits.refused_claim_ms,
            other => panic!("'{other}' is no limit"),
        };
        *limit = number(value);
    }
}

/// A name as written; `''` is the empty one.
pub fn text(word: &str) -> Arc<str> {
    if word == "''" { "".into() } else { word.into() }
}

pub fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("'{text}' is no number"))
}

pub fn duration(text: &str) -> u64 {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1,
        "s" | "" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        other => panic!("'{other}' is no unit of time"),
    };
    number(digits) * unit
}
