//! Strategies for authorities and their claims.

use std::sync::Arc;

use allod_core::alarm::{AlarmChanged, AlarmEvent, AlarmKind, AlarmPurged};
use allod_core::authority::event::{
    AuthorityDefined, AuthorityRemoved, ClaimProgressed, ClaimWanted, ExternalClaimClosed,
    FindingSettled, IdentityDrawn, LookUpChanged, LookUpChecked, LookUpRemoved, LookUpsRefreshed,
    ReconciliationEnded, ReconciliationWanted,
};
use allod_core::authority::{
    AuthoritySpec, ConflictFound, DriftPolicy, Drifted, ExternalProgress, ExternalRequest,
    ExternalState, FindingCounts, Findings, LookUp, LookUpState, Missing, Orphan, Protocol,
    ReconciliationState, RefusalCode, Seen, SqlStatements,
};
use allod_core::capacity::Uuid;
use allod_core::claim::ClaimParams;
use allod_core::event::Event;
use proptest::collection::vec;
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

fn look_up() -> BoxedStrategy<LookUp> {
    let kinds = (select(&DriftPolicy::ALL[..]), select(&LookUpState::ALL[..]));
    let texts = (text(), text(), option::of(text()), option::of(text()), option::of(text()));
    let numbers = (number(), option::of(number()), any::<u32>(), number(), option::of(number()));
    let seen = (option::of(text()), option::of(text()), number())
        .prop_map(|(value, version, at_ms)| Seen { value, version, at_ms });
    (kinds, texts, numbers, option::of(seen), number())
        .prop_map(|((policy, state), texts, numbers, seen, checked)| {
            let (authority, key, value, value_version, reason) = texts;
            let (version, resolved_ms, attempts, since_ms, due_ms) = numbers;
            LookUp {
                authority,
                key,
                policy,
                state,
                version,
                value,
                value_version,
                resolved_ms,
                seen,
                reason,
                attempts,
                since_ms,
                due_ms,
                checked,
            }
        })
        .boxed()
}

fn findings() -> BoxedStrategy<Findings> {
    let orphan = (reference(), text(), option::of(text()), any::<bool>())
        .prop_map(|(reference, value, handle, own)| Orphan { reference, value, handle, own });
    let missing = (reference(), text(), text(), text())
        .prop_map(|(reference, pool, key, value)| Missing { reference, pool, key, value });
    let drifted = (reference(), text(), text(), text(), text()).prop_map(
        |(reference, pool, key, value, seen)| Drifted { reference, pool, key, value, seen },
    );
    let conflict = (reference(), text(), text(), text())
        .prop_map(|(reference, value, pool, key)| ConflictFound { reference, value, pool, key });
    let counts = (number(), number(), number(), number()).prop_map(
        |(orphans, missing, drifted, conflicts)| FindingCounts {
            orphans,
            missing,
            drifted,
            conflicts,
        },
    );
    let lists = (vec(orphan, 0..3), vec(missing, 0..3), vec(drifted, 0..3), vec(conflict, 0..3));
    (lists, counts)
        .prop_map(|((orphans, missing, drifted, conflicts), counts)| Findings {
            orphans,
            missing,
            drifted,
            conflicts,
            counts,
        })
        .boxed()
}

fn reconciliation_event() -> BoxedStrategy<Event> {
    let wanted = (text(), number(), number()).prop_map(|(authority, number, at_ms)| {
        ReconciliationWanted { authority, number, at_ms }.into()
    });
    let state = select(&ReconciliationState::ALL[..]);
    let numbers = (number(), number(), number());
    let ended = (text(), numbers, state, findings(), option::of(text())).prop_map(
        |(authority, (number, at_ms, position), state, findings, reason)| {
            let findings = Arc::new(findings);
            ReconciliationEnded { authority, number, state, at_ms, position, findings, reason }
                .into()
        },
    );
    prop_oneof![wanted, ended].boxed()
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
        look_up().prop_map(|look_up| LookUpChanged { look_up }.into()),
        reconciliation_event(),
        (text(), number()).prop_map(|(authority, position)| LookUpsRefreshed {
            authority,
            position
        }
        .into()),
    ]
    .boxed()
}

pub fn event() -> impl Strategy<Value = Event> {
    let alarm = || select(AlarmKind::ALL.to_vec()).prop_filter("of authorities", is_of_authority);
    prop_oneof![
        state_event(),
        text().prop_map(|name| AuthorityRemoved { name }.into()),
        (text(), reference()).prop_map(|(authority, reference)| FindingSettled {
            authority,
            reference
        }
        .into()),
        (text(), text()).prop_map(|(authority, key)| LookUpRemoved { authority, key }.into()),
        look_up().prop_map(|look_up| {
            let LookUp { authority, key, checked, due_ms, attempts, reason, .. } = look_up;
            LookUpChecked { authority, key, checked, due_ms, attempts, reason }.into()
        }),
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
