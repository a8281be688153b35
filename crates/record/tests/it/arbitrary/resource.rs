//! Strategies for request pools, alarms and notifications.

use allod_core::alarm::AlarmKind;
use allod_core::alarm::{AlarmChanged, AlarmEvent, AlarmPurged};
use allod_core::authority::RefusalCode;
use allod_core::claim::Parity;
use allod_core::event::Event;
use allod_core::outbox::{DeliveryFailed, NotificationClosed, NotificationQueued, OutboxEvent};
use allod_core::requests::event::{
    RequestAnswered, RequestPoolDefined, RequestWithdrawn, RequestsEvent, Retry, RetryScheduled,
};
use allod_core::requests::{
    AddressSupply, AlarmSettings, Allocator, Answer, ExcludedIds, Failure, IdSupply, Method,
    OutsideFailure, Redeploy, Request, RequestPool, SiteNode, SiteNodes, SiteValue, Subnet, Supply,
    Wanted, WantedId, WantedParity, WantedPrefix,
};
use allod_core::value::IpVersion;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{number, text};

fn version() -> impl Strategy<Value = IpVersion> {
    select(vec![IpVersion::V4, IpVersion::V6])
}

fn pool() -> impl Strategy<Value = RequestPool> {
    let exclude = (any::<u32>(), any::<u32>(), any::<Option<bool>>())
        .prop_map(|(start, end, flag)| ExcludedIds { start, end, flag });
    let ids = (any::<u32>(), any::<u32>(), vec(exclude, 0..3)).prop_map(|(start, end, exclude)| {
        Supply::Ids(IdSupply { start, end, exclude, alarm_base: end.saturating_sub(start) })
    });
    let subnets = || {
        let one = (any::<u128>(), any::<u8>()).prop_map(|(address, len)| Subnet { address, len });
        vec(one, 0..3)
    };
    let flags = (version(), any::<Option<bool>>(), any::<Option<bool>>());
    let addresses = (flags, subnets(), subnets(), vec(any::<(u128, u128)>(), 0..3)).prop_map(
        |((version, auto_redeploy, sequential), subnets, exclude, ranges)| {
            Supply::Addresses(AddressSupply {
                version,
                subnets,
                exclude,
                ranges,
                auto_redeploy,
                sequential,
            })
        },
    );
    let alarms = any::<(bool, Option<u8>, Option<u8>, Option<u8>)>();
    let alarms = alarms.prop_map(|(enabled, low, low_odd, low_even)| AlarmSettings {
        enabled,
        low,
        low_odd,
        low_even,
    });
    (prop_oneof![ids.boxed(), addresses.boxed()], alarms)
        .prop_flat_map(|(supply, alarms)| {
            let plain = select(vec![None, Some(Allocator::Internal), Some(Allocator::External)]);
            let authority = text().prop_map(|name| Some(Allocator::Authority(name)));
            let allocator = prop_oneof![plain, authority];
            (Just(supply), Just(alarms), allocator, site())
        })
        .prop_map(|(supply, alarms, allocator, site)| RequestPool {
            supply,
            alarms,
            allocator,
            site,
        })
}

fn site() -> impl Strategy<Value = SiteNodes> {
    let value = prop_oneof![text().prop_map(SiteValue::Text), text().prop_map(SiteValue::Json)];
    let node = (text(), value).prop_map(|(path, value)| SiteNode { path, value });
    vec(node, 0..3).prop_map(SiteNodes::from)
}

pub fn config() -> impl Strategy<Value = Option<(RequestPool, u64)>> {
    option::of((pool(), number()))
}

fn how() -> impl Strategy<Value = Redeploy> {
    select(vec![
        Redeploy::Default,
        Redeploy::Touch,
        Redeploy::Reactive,
        Redeploy::Whole,
        Redeploy::Never,
    ])
}

fn request() -> impl Strategy<Value = Request> {
    let parity = select(vec![
        WantedParity::Any,
        WantedParity::Only(Parity::Even),
        WantedParity::Only(Parity::Odd),
    ]);
    let method = select(vec![Method::FirstFree, Method::RoundRobin]);
    let id = (any::<Option<bool>>(), any::<Option<u32>>(), option::of(parity), option::of(method))
        .prop_map(|(sync, id, parity, method)| Wanted::Id(WantedId { sync, id, parity, method }));
    let prefix = (any::<u8>(), any::<bool>(), option::of((version(), any::<u128>())))
        .prop_map(|(size, invert, start)| Wanted::Prefix(WantedPrefix { size, invert, start }));
    let want = prop_oneof![id.boxed(), prefix.boxed()];
    (text(), vec(text(), 0..3), option::of(how()), any::<bool>(), want, site()).prop_map(
        |(user, services, redeploy, sync_alloc, want, site)| Request {
            user,
            services,
            redeploy,
            sync_alloc,
            want,
            site,
        },
    )
}

fn answer() -> impl Strategy<Value = Answer> {
    let failed = |failure| Just(Answer::Failed(failure));
    prop_oneof![
        Just(Answer::Granted),
        failed(Failure::Exhausted),
        any::<u32>().prop_map(|id| Answer::Failed(Failure::IdUnavailable(id))),
        failed(Failure::SyncExhausted),
        failed(Failure::SyncConflict),
        failed(Failure::NoAddresses),
        vec(any::<u8>(), 0..4).prop_map(|lens| Answer::Failed(Failure::TooBig(lens))),
        any::<(u128, u8)>()
            .prop_map(|(address, len)| Answer::Failed(Failure::PrefixUnavailable { address, len })),
        any::<u128>().prop_map(|address| Answer::Failed(Failure::EdgeAddress { address })),
        failed(Failure::Misaligned),
        failed(Failure::TooLong),
        Just(Answer::Wanted),
        (option::of(select(RefusalCode::ALL.to_vec())), text()).prop_map(|(code, text)| {
            Answer::Failed(Failure::Outside(OutsideFailure { code, text }))
        }),
    ]
}

fn alarm() -> impl Strategy<Value = AlarmKind> {
    select(vec![
        AlarmKind::Exhausted,
        AlarmKind::Low,
        AlarmKind::OddExhausted,
        AlarmKind::EvenExhausted,
        AlarmKind::OddLow,
        AlarmKind::EvenLow,
        AlarmKind::Undelivered,
    ])
}

pub fn event() -> impl Strategy<Value = Event> {
    let defined = (text(), pool()).prop_map(|(pool, config)| {
        Event::Requests(RequestsEvent::PoolDefined(RequestPoolDefined { pool, config }))
    });
    let answered = (text(), text(), request(), answer(), number()).prop_map(|answered| {
        let (pool, key, request, answer, version) = answered;
        Event::Requests(RequestsEvent::Answered(RequestAnswered {
            pool,
            key,
            request,
            answer,
            version,
        }))
    });
    let withdrawn = (text(), text(), number()).prop_map(|(pool, key, version)| {
        Event::Requests(RequestsEvent::Withdrawn(RequestWithdrawn { pool, key, version }))
    });
    let keys = (option::of(text()), option::of(text()), option::of(text()));
    let retry =
        (number(), keys, any::<bool>()).prop_map(|(at_ms, (after, upto, again), update)| Retry {
            at_ms,
            after,
            upto,
            again,
            update,
        });
    let scheduled = (option::of(text()), option::of(retry)).prop_map(|(pool, retry)| {
        Event::Requests(RequestsEvent::RetryScheduled(RetryScheduled { pool, retry }))
    });
    let changed = (text(), alarm(), any::<bool>(), any::<bool>(), number()).prop_map(
        |(object, kind, ids, raised, at_ms)| {
            Event::Alarm(AlarmEvent::Changed(AlarmChanged { object, kind, ids, raised, at_ms }))
        },
    );
    let purged = (text(), alarm())
        .prop_map(|(object, kind)| Event::Alarm(AlarmEvent::Purged(AlarmPurged { object, kind })));
    let queued = (any::<u128>(), text(), text(), how(), vec((text(), text()), 0..3), number())
        .prop_map(|(number, target, user, how, about, at_ms)| {
            let payload = how.payload();
            Event::Outbox(OutboxEvent::Queued(NotificationQueued {
                number,
                target,
                user,
                payload,
                about,
                at_ms,
            }))
        });
    let tried = (any::<u128>(), any::<u32>(), text(), option::of(number())).prop_map(
        |(number, attempts, error, again_ms)| {
            Event::Outbox(OutboxEvent::DeliveryFailed(DeliveryFailed {
                number,
                attempts,
                error,
                again_ms,
            }))
        },
    );
    let settled = any::<(u128, bool)>().prop_map(|(number, delivered)| {
        Event::Outbox(OutboxEvent::Closed(NotificationClosed { number, delivered }))
    });
    prop_oneof![
        defined.boxed(),
        answered.boxed(),
        withdrawn.boxed(),
        scheduled.boxed(),
        changed.boxed(),
        purged.boxed(),
        queued.boxed(),
        tried.boxed(),
        settled.boxed(),
    ]
}
