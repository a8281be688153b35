//! Strategies for authorities and their claims.

use allod_core::alarm::{AlarmChanged, AlarmEvent, AlarmKind, AlarmPurged};
use allod_core::authority::event::{
    AuthorityDefined, AuthorityRemoved, ClaimProgressed, ClaimWanted, ExternalClaimClosed,
    IdentityDrawn,
};
use allod_core::authority::{
    AuthoritySpec, ExternalProgress, ExternalRequest, ExternalState, Protocol, RefusalCode,
    SqlStatements,
};
use allod_core::capacity::Uuid;
use allod_core::claim::ClaimParams;
use allod_core::event::Event;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{labels, number, params, text};

fn reference() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid)
}

fn protocol() -> impl Strategy<Value = Protocol> {
    let statement = || option::of(text());
    let statements = (statement(), statement(), statement(), statement(), statement());
    prop_oneof![
        Just(Protocol::Http),
        text().prop_map(|pool| Protocol::Allod { pool }),
        statements.prop_map(|(find, take, release, list, lookup)| {
            Protocol::Sql(SqlStatements { find, take, release, list, lookup })
        }),
    ]
}

fn spec() -> BoxedStrategy<AuthoritySpec> {
    let texts = (text(), option::of(text()), option::of(text()));
    let numbers = (any::<u32>(), number(), number(), number());
    let periods = (option::of(number()), option::of(number()));
    (protocol(), texts, numbers, periods)
        .prop_map(|(protocol, texts, numbers, periods)| {
            let (url, secret, ca) = texts;
            let (parallel, timeout_ms, queue_max, alarm_after_ms) = numbers;
            let (poll_ms, reconcile_ms) = periods;
            AuthoritySpec {
                protocol,
                url,
                secret,
                ca,
                parallel,
                timeout_ms,
                queue_max,
                alarm_after_ms,
                poll_ms,
                reconcile_ms,
            }
        })
        .boxed()
}

fn progress() -> BoxedStrategy<ExternalProgress> {
    let state = select(&ExternalState::ALL[..]);
    let texts = (option::of(text()), option::of(text()), option::of(text()), option::of(text()));
    let numbers = (number(), number(), any::<u32>(), option::of(number()));
    let code = option::of(select(&RefusalCode::ALL[..]));
    (state, any::<(bool, bool)>(), texts, numbers, code)
        .prop_map(|(state, (asked, withdrawn), texts, numbers, code)| {
            let (value, handle, granted_version, reason) = texts;
            let (version, since_ms, attempts, due_ms) = numbers;
            ExternalProgress {
                state,
                version,
                since_ms,
                asked,
                withdrawn,
                value,
                handle,
                granted_version,
                code,
                reason,
                attempts,
                due_ms,
            }
        })
        .boxed()
}

fn request() -> BoxedStrategy<ExternalRequest> {
    let texts = (text(), text(), text(), text());
    (reference(), texts, params(), labels())
        .prop_map(|(reference, texts, params, labels)| {
            let (authority, pool, key, owner) = texts;
            let params = ClaimParams::clone(&params);
            ExternalRequest { reference, authority, pool, key, owner, params, labels }
        })
        .boxed()
}

/// An event that a checkpoint may have.
pub fn state_event() -> BoxedStrategy<Event> {
    prop_oneof![
        any::<u32>().prop_map(|identity| IdentityDrawn { identity }.into()),
        (text(), number(), spec()).prop_map(|(name, generation, spec)| {
            AuthorityDefined { name, generation, spec }.into()
        }),
        (request(), progress())
            .prop_map(|(request, progress)| ClaimWanted { request, progress }.into()),
    ]
    .boxed()
}

pub fn event() -> impl Strategy<Value = Event> {
    let alarm = || select(AlarmKind::ALL.to_vec()).prop_filter("of authorities", is_of_authority);
    prop_oneof![
        state_event(),
        text().prop_map(|name| AuthorityRemoved { name }.into()),
        (reference(), (text(), text(), text()), progress()).prop_map(
            |(reference, (pool, key, owner), progress)| {
                ClaimProgressed { reference, pool, key, owner, progress }.into()
            }
        ),
        (reference(), text(), text(), text()).prop_map(|(reference, pool, key, owner)| {
            ExternalClaimClosed { reference, pool, key, owner }.into()
        }),
        (text(), alarm(), any::<bool>(), number()).prop_map(|(object, kind, raised, at_ms)| {
            Event::Alarm(AlarmEvent::Changed(AlarmChanged {
                object,
                kind,
                ids: false,
                raised,
                at_ms,
            }))
        }),
        (text(), alarm()).prop_map(|(object, kind)| {
            Event::Alarm(AlarmEvent::Purged(AlarmPurged { object, kind }))
        }),
    ]
}

fn is_of_authority(kind: &AlarmKind) -> bool {
    kind.is_of_authority()
}
