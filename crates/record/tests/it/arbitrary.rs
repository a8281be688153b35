//! Strategies for all stored types, with short, long, empty and non-ASCII texts and extreme numbers.

mod authority;
mod capacity;
mod ids;
mod resource;

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use allod_core::claim::{Claim, ClaimParams, ClaimState, Parity, Values, Want};
use allod_core::event::{
    ClaimEvent, ClaimGranted, ClaimReleased, Event, IdempotencyEvent, IdempotencyExpired,
    IdempotencyStored, LeaseChanged, PoolDefined, PoolEvent, PoolRemoved, QuarantineEnded,
    ReleaseCause, Was,
};
use allod_core::pool::{Labels, PoolRange, PoolSpec, Strategy as Pick};
use allod_core::receipt::{ClaimIn, Outcome, Receipt};
use allod_core::span::Span;
use allod_core::state::restore::PoolImage;
use allod_core::value::Kind;
use allod_record::{Cause, CheckpointPart, Entry, Item, LEVEL};

pub fn text() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![Just(String::new()), "[a-z0-9-]{1,12}", "\\PC{0,20}", "[ä-ü🐙]{1,60}"]
        .prop_map(Arc::from)
}

pub fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), 0..300u64]
}

fn point() -> impl Strategy<Value = u128> {
    prop_oneof![Just(0), Just(u128::MAX), any::<u128>(), 0..5000u128]
}

fn span() -> impl Strategy<Value = Span> {
    (point(), point()).prop_map(|(a, b)| Span { first: a.min(b), last: a.max(b) })
}

fn spans() -> impl Strategy<Value = Vec<Span>> {
    vec(span(), 0..5)
}

fn values() -> impl Strategy<Value = Values> {
    prop_oneof![
        span().prop_map(Values::one),
        // Ascending, and no value twice.
        vec(span(), 1..6).prop_map(|mut spans| {
            spans.sort_unstable_by_key(|span| span.first);
            spans.dedup_by(|next, kept| next.first <= kept.last);
            Values::new(&spans).unwrap()
        })
    ]
}

pub fn labels() -> impl Strategy<Value = Labels> {
    vec((text(), text()), 0..4).prop_map(Labels::from)
}

fn kind() -> impl Strategy<Value = Kind> {
    select(&Kind::ALL[..])
}

fn pick() -> impl Strategy<Value = Pick> {
    select(&Pick::ALL[..])
}

fn range() -> impl Strategy<Value = PoolRange> {
    (span(), any::<Option<u8>>()).prop_map(|(span, subnet_len)| PoolRange { span, subnet_len })
}

fn spec() -> BoxedStrategy<PoolSpec> {
    let sets = (vec(range(), 0..5), spans(), spans(), spans());
    let choices = (any::<bool>(), number(), option::of(number()), any::<bool>());
    let others = (choices, labels(), option::of(text()));
    (kind(), sets, pick(), others)
        .prop_map(|(kind, sets, strategy, others)| {
            let (choices, labels, authority) = others;
            let (ranges, exclude, manual, draining) = sets;
            let (keep_edges, quarantine_ms, lease_ms, reap) = choices;
            PoolSpec {
                kind,
                ranges,
                exclude,
                manual,
                draining,
                strategy,
                keep_edges,
                quarantine_ms,
                lease_ms,
                reap,
                labels,
                authority,
            }
        })
        .boxed()
}

pub fn params() -> impl Strategy<Value = Arc<ClaimParams>> {
    let parity = option::of(select(vec![Parity::Even, Parity::Odd]));
    let flags = (any::<bool>(), any::<bool>());
    let want = (option::of(span()), any::<u32>(), any::<Option<u8>>(), parity, option::of(pick()));
    (want, flags, option::of(number())).prop_map(|(want, (fallback, contiguous), ttl_ms)| {
        let (value, count, prefix_len, parity, strategy) = want;
        let want = Want { value, fallback, count, contiguous, prefix_len, parity, strategy };
        Arc::new(ClaimParams { want, ttl_ms })
    })
}

/// A key, and an owner that often is the key.
fn key_and_owner() -> impl Strategy<Value = (Arc<str>, Arc<str>)> {
    prop_oneof![text().prop_map(|key| (key.clone(), key)), (text(), text())]
}

pub fn claim() -> impl Strategy<Value = Claim> {
    let state = option::of(number()).prop_map(|until| match until {
        Some(until_ms) => ClaimState::Quarantined { until_ms },
        None => ClaimState::Held,
    });
    let numbers = (number(), number(), option::of(number()));
    (key_and_owner(), values(), numbers, state, labels(), option::of(params())).prop_map(
        |((key, owner), values, (version, created_ms, expires_ms), state, labels, params)| Claim {
            key,
            owner,
            values,
            version,
            created_ms,
            expires_ms,
            state,
            labels,
            params,
        },
    )
}

/// The owner and the values of an event; `None` as in records of level 1. The owner is often the key.
fn was(key: Arc<str>) -> impl Strategy<Value = Option<Was>> {
    let owner = prop_oneof![Just(key), text()];
    option::of((owner, values(), kind()))
        .prop_map(|was| was.map(|(owner, values, kind)| Was { owner, values, kind }))
}

fn key_and_was() -> impl Strategy<Value = (Arc<str>, Option<Was>)> {
    text().prop_flat_map(|key| (Just(key.clone()), was(key)))
}

fn grant() -> impl Strategy<Value = ClaimGranted> {
    (text(), option::of(kind()), claim(), option::of(point())).prop_map(
        |(pool, kind, claim, cursor)| ClaimGranted {
            pool,
            kind,
            key: claim.key,
            owner: claim.owner,
            values: claim.values,
            version: claim.version,
            at_ms: claim.created_ms,
            expires_ms: claim.expires_ms,
            labels: claim.labels,
            params: claim.params,
            cursor,
        },
    )
}

fn release() -> impl Strategy<Value = ClaimReleased> {
    let cause = select(vec![ReleaseCause::Asked, ReleaseCause::Taken, ReleaseCause::Reaped]);
    (text(), key_and_was(), number(), number(), cause, option::of(number())).prop_map(
        |(pool, (key, was), version, at_version, cause, quarantine_until_ms)| ClaimReleased {
            pool,
            key,
            version,
            at_version,
            cause,
            quarantine_until_ms,
            was,
        },
    )
}

fn claim_in() -> impl Strategy<Value = ClaimIn> {
    (text(), kind(), claim()).prop_map(|(pool, kind, claim)| ClaimIn { pool, kind, claim })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        (any::<bool>(), number())
            .prop_map(|(created, generation)| Outcome::PoolPut { created, generation }),
        any::<bool>().prop_map(|existed| Outcome::PoolDeleted { existed }),
        (vec(claim_in(), 0..3), any::<bool>())
            .prop_map(|(claims, created)| Outcome::Claimed { claims, created }),
        any::<bool>().prop_map(|existed| Outcome::Released { existed }),
        claim_in().prop_map(Outcome::Leased),
        Just(Outcome::Checked),
        Just(Outcome::Ticked),
        capacity::outcome().boxed(),
    ]
}

pub fn request() -> impl Strategy<Value = IdempotencyStored> {
    (text(), any::<[u8; 32]>(), number(), vec(outcome(), 0..4)).prop_map(
        |(key, fingerprint, until_ms, outcomes)| {
            IdempotencyStored::new(&key, fingerprint, until_ms, &Receipt::of(outcomes))
        },
    )
}

pub fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (text(), number(), spec()).prop_map(|(pool, generation, spec)| Event::Pool(
            PoolEvent::Defined(PoolDefined { pool, generation, spec })
        )),
        (text(), option::of((number(), number()))).prop_map(|(pool, many)| {
            let (claims, requests) = many.unwrap_or_default();
            Event::Pool(PoolEvent::Removed(PoolRemoved { pool, claims, requests }))
        }),
        grant().prop_map(Event::from),
        (text(), key_and_was(), number(), option::of(number())).prop_map(
            |(pool, (key, was), version, expires_ms)| Event::Claim(ClaimEvent::LeaseChanged(
                LeaseChanged { pool, key, version, expires_ms, was }
            ))
        ),
        release().prop_map(Event::from),
        (text(), point(), key_and_was()).prop_map(|(pool, first, (key, was))| {
            let key = was.is_some().then_some(key);
            Event::Claim(ClaimEvent::QuarantineEnded(QuarantineEnded { pool, first, key, was }))
        }),
        request().prop_map(Event::from).boxed(),
        text().prop_map(|key| Event::Idempotency(IdempotencyEvent::Expired(IdempotencyExpired {
            key
        }))),
        capacity::event().boxed(),
        ids::event().boxed(),
        resource::event().boxed(),
        authority::event().boxed(),
    ]
}

pub fn item() -> impl Strategy<Value = Item> {
    let cause = select(vec![
        Cause::PutPool,
        Cause::DeletePool,
        Cause::Transact,
        Cause::Tick,
        Cause::Capacity,
        Cause::Authority,
    ]);
    let entry = (number(), cause, vec(event(), 0..5))
        .prop_map(|(at_ms, cause, events)| Item::Entry(Entry { at_ms, cause, events }));
    prop_oneof![
        8 => entry,
        1 => text().prop_map(|writer| Item::Epoch { writer }),
        1 => (0..=LEVEL).prop_map(|level| Item::Level { level }),
    ]
}

pub fn items() -> impl Strategy<Value = Vec<Item>> {
    vec(item(), 0..6)
}

pub fn pool_image() -> impl Strategy<Value = PoolImage> {
    (text(), number(), spec(), option::of(point()), spans(), (ids::account(), resource::config()))
        .prop_map(|(name, generation, mut spec, cursor, released, (blocks, requests))| {
            // The authority of a request pool is in its configuration, and a pool with blocks has none.
            if let Some((config, _)) = &requests {
                spec.authority = config.authority().cloned();
            } else if blocks.is_some() {
                spec.authority = None;
            }
            PoolImage { name, generation, spec, cursor, released, blocks, requests }
        })
}

/// What a checkpoint has of authorities.
pub fn authority_parts() -> impl Strategy<Value = Vec<CheckpointPart>> {
    vec(authority::state_event().prop_map(CheckpointPart::Event), 0..4)
}

/// What a checkpoint has of providers and consumers.
pub fn capacity_parts() -> impl Strategy<Value = Vec<CheckpointPart>> {
    capacity::parts()
}
