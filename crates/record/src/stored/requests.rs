//! Request pools and requests, alarms, and notifications.

use allod_core::alarm::AlarmKind;
use allod_core::alarm::event::{AlarmChanged, AlarmPurged};
use allod_core::claim::Parity;
use allod_core::outbox::event::{DeliveryFailed, NotificationQueued};
use allod_core::requests::event::{RequestAnswered, RequestPoolDefined, RequestWithdrawn};
use allod_core::requests::{
    AddressSupply, AlarmSettings, Answer, ExcludedIds, Failure, IdSupply, Redeploy, Request,
    RequestPool, Subnet, Supply, Wanted, WantedId, WantedParity, WantedPrefix,
};
use serde::{Deserialize, Serialize};

use super::number::{AlarmKindV1, MethodV1, RedeployV1};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestPoolV1 {
    supply: SupplyV1,
    alarms: AlarmSettingsV1,
}

#[derive(Debug, Serialize, Deserialize)]
enum SupplyV1 {
    Ids { start: u32, end: u32, exclude: Vec<(u32, u32, Option<bool>)> },
    Addresses(AddressSupplyV1),
}

#[derive(Debug, Serialize, Deserialize)]
struct AddressSupplyV1 {
    six: bool,
    subnets: Vec<(u128, u8)>,
    exclude: Vec<(u128, u8)>,
    ranges: Vec<(u128, u128)>,
    auto_redeploy: Option<bool>,
    sequential: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize)]
struct AlarmSettingsV1 {
    enabled: bool,
    low: Option<u8>,
    low_odd: Option<u8>,
    low_even: Option<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestPoolDefinedV1<'a> {
    pool: &'a str,
    config: RequestPoolV1,
}

#[derive(Debug, Serialize, Deserialize)]
struct RequestV1<'a> {
    user: &'a str,
    #[serde(borrow)]
    services: Vec<&'a str>,
    redeploy: Option<RedeployV1>,
    sync_alloc: bool,
    want: WantedV1,
}

#[derive(Debug, Serialize, Deserialize)]
enum WantedV1 {
    Id { sync: Option<bool>, id: Option<u32>, parity: Option<ParityV1>, method: Option<MethodV1> },
    Prefix { size: u8, invert: bool, start: Option<(bool, u128)> },
}

#[derive(Debug, Serialize, Deserialize)]
enum ParityV1 {
    Any,
    Even,
    Odd,
}

#[derive(Debug, Serialize, Deserialize)]
enum AnswerV1 {
    Granted,
    Exhausted,
    IdUnavailable(u32),
    SyncExhausted,
    SyncConflict,
    NoAddresses,
    TooBig(Vec<u8>),
    PrefixUnavailable { address: u128, len: u8 },
    EdgeAddress { address: u128 },
    Misaligned,
    TooLong,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestAnsweredV1<'a> {
    pool: &'a str,
    key: &'a str,
    #[serde(borrow)]
    request: RequestV1<'a>,
    answer: AnswerV1,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestWithdrawnV1<'a> {
    pool: &'a str,
    key: &'a str,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AlarmChangedV1<'a> {
    object: &'a str,
    kind: AlarmKindV1,
    ids: bool,
    raised: bool,
    at_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AlarmPurgedV1<'a> {
    object: &'a str,
    kind: AlarmKindV1,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotificationQueuedV1<'a> {
    number: u128,
    target: &'a str,
    user: &'a str,
    how: RedeployV1,
    #[serde(borrow)]
    about: Vec<(&'a str, &'a str)>,
    at_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DeliveryFailedV1<'a> {
    number: u128,
    attempts: u32,
    error: &'a str,
    again_ms: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotificationClosedV1 {
    pub number: u128,
    pub delivered: bool,
}

impl From<&RequestPool> for RequestPoolV1 {
    fn from(config: &RequestPool) -> RequestPoolV1 {
        let subnets = |all: &[Subnet]| all.iter().map(|one| (one.address, one.len)).collect();
        let supply = match &config.supply {
            Supply::Ids(supply) => {
                let exclude = supply.exclude.iter();
                let exclude = exclude.map(|ids| (ids.start, ids.end, ids.flag));
                SupplyV1::Ids { start: supply.start, end: supply.end, exclude: exclude.collect() }
            }
            Supply::Addresses(supply) => SupplyV1::Addresses(AddressSupplyV1 {
                six: supply.six,
                subnets: subnets(&supply.subnets),
                exclude: subnets(&supply.exclude),
                ranges: supply.ranges.clone(),
                auto_redeploy: supply.auto_redeploy,
                sequential: supply.sequential,
            }),
        };
        let AlarmSettings { enabled, low, low_odd, low_even } = config.alarms;
        let alarms = AlarmSettingsV1 { enabled, low, low_odd, low_even };
        RequestPoolV1 { supply, alarms }
    }
}

impl From<RequestPoolV1> for RequestPool {
    fn from(stored: RequestPoolV1) -> RequestPool {
        let subnets = |all: Vec<(u128, u8)>| {
            all.into_iter().map(|(address, len)| Subnet { address, len }).collect()
        };
        let supply = match stored.supply {
            SupplyV1::Ids { start, end, exclude } => {
                let exclude =
                    exclude.into_iter().map(|(start, end, flag)| ExcludedIds { start, end, flag });
                Supply::Ids(IdSupply {
                    start,
                    end,
                    exclude: exclude.collect(),
                    alarm_base: end.saturating_sub(start),
                })
            }
            SupplyV1::Addresses(supply) => Supply::Addresses(AddressSupply {
                six: supply.six,
                subnets: subnets(supply.subnets),
                exclude: subnets(supply.exclude),
                ranges: supply.ranges,
                auto_redeploy: supply.auto_redeploy,
                sequential: supply.sequential,
            }),
        };
        let AlarmSettingsV1 { enabled, low, low_odd, low_even } = stored.alarms;
        let alarms = AlarmSettings { enabled, low, low_odd, low_even };
        RequestPool { supply, alarms }
    }
}

impl<'a> From<&'a RequestPoolDefined> for RequestPoolDefinedV1<'a> {
    fn from(event: &'a RequestPoolDefined) -> RequestPoolDefinedV1<'a> {
        RequestPoolDefinedV1 { pool: &event.pool, config: RequestPoolV1::from(&event.config) }
    }
}

impl From<RequestPoolDefinedV1<'_>> for RequestPoolDefined {
    fn from(stored: RequestPoolDefinedV1<'_>) -> RequestPoolDefined {
        RequestPoolDefined { pool: stored.pool.into(), config: stored.config.into() }
    }
}

impl<'a> From<&'a Request> for RequestV1<'a> {
    fn from(request: &'a Request) -> RequestV1<'a> {
        let parity = |parity: WantedParity| match parity {
            WantedParity::Any => ParityV1::Any,
            WantedParity::Only(Parity::Even) => ParityV1::Even,
            WantedParity::Only(Parity::Odd) => ParityV1::Odd,
        };
        let want = match request.want {
            Wanted::Id(WantedId { sync, id, parity: only, method }) => {
                WantedV1::Id { sync, id, parity: only.map(parity), method: method.map(MethodV1) }
            }
            Wanted::Prefix(WantedPrefix { size, invert, start }) => {
                WantedV1::Prefix { size, invert, start }
            }
        };
        RequestV1 {
            user: &request.user,
            services: request.services.iter().map(|service| &**service).collect(),
            redeploy: request.redeploy.map(RedeployV1),
            sync_alloc: request.sync_alloc,
            want,
        }
    }
}

impl From<RequestV1<'_>> for Request {
    fn from(stored: RequestV1<'_>) -> Request {
        let parity = |parity: ParityV1| match parity {
            ParityV1::Any => WantedParity::Any,
            ParityV1::Even => WantedParity::Only(Parity::Even),
            ParityV1::Odd => WantedParity::Only(Parity::Odd),
        };
        let want = match stored.want {
            WantedV1::Id { sync, id, parity: only, method } => {
                let (parity, method) = (only.map(parity), method.map(|MethodV1(method)| method));
                Wanted::Id(WantedId { sync, id, parity, method })
            }
            WantedV1::Prefix { size, invert, start } => {
                Wanted::Prefix(WantedPrefix { size, invert, start })
            }
        };
        Request {
            user: stored.user.into(),
            services: stored.services.into_iter().map(Into::into).collect(),
            redeploy: stored.redeploy.map(|RedeployV1(how)| how),
            sync_alloc: stored.sync_alloc,
            want,
        }
    }
}

impl From<&Answer> for AnswerV1 {
    fn from(answer: &Answer) -> AnswerV1 {
        let failure = match answer {
            Answer::Granted => return AnswerV1::Granted,
            Answer::Failed(failure) => failure,
        };
        match failure {
            Failure::Exhausted => AnswerV1::Exhausted,
            &Failure::IdUnavailable(id) => AnswerV1::IdUnavailable(id),
            Failure::SyncExhausted => AnswerV1::SyncExhausted,
            Failure::SyncConflict => AnswerV1::SyncConflict,
            Failure::NoAddresses => AnswerV1::NoAddresses,
            Failure::TooBig(lens) => AnswerV1::TooBig(lens.clone()),
            &Failure::PrefixUnavailable { address, len } => {
                AnswerV1::PrefixUnavailable { address, len }
            }
            &Failure::EdgeAddress { address } => AnswerV1::EdgeAddress { address },
            Failure::Misaligned => AnswerV1::Misaligned,
            Failure::TooLong => AnswerV1::TooLong,
        }
    }
}

impl From<AnswerV1> for Answer {
    fn from(stored: AnswerV1) -> Answer {
        Answer::Failed(match stored {
            AnswerV1::Granted => return Answer::Granted,
            AnswerV1::Exhausted => Failure::Exhausted,
            AnswerV1::IdUnavailable(id) => Failure::IdUnavailable(id),
            AnswerV1::SyncExhausted => Failure::SyncExhausted,
            AnswerV1::SyncConflict => Failure::SyncConflict,
            AnswerV1::NoAddresses => Failure::NoAddresses,
            AnswerV1::TooBig(lens) => Failure::TooBig(lens),
            AnswerV1::PrefixUnavailable { address, len } => {
                Failure::PrefixUnavailable { address, len }
            }
            AnswerV1::EdgeAddress { address } => Failure::EdgeAddress { address },
            AnswerV1::Misaligned => Failure::Misaligned,
            AnswerV1::TooLong => Failure::TooLong,
        })
    }
}

impl<'a> From<&'a RequestAnswered> for RequestAnsweredV1<'a> {
    fn from(event: &'a RequestAnswered) -> RequestAnsweredV1<'a> {
        let (request, answer) = (RequestV1::from(&event.request), AnswerV1::from(&event.answer));
        RequestAnsweredV1 { pool: &event.pool, key: &event.key, request, answer }
    }
}

impl From<RequestAnsweredV1<'_>> for RequestAnswered {
    fn from(stored: RequestAnsweredV1<'_>) -> RequestAnswered {
        let (pool, key) = (stored.pool.into(), stored.key.into());
        RequestAnswered { pool, key, request: stored.request.into(), answer: stored.answer.into() }
    }
}

impl<'a> From<&'a RequestWithdrawn> for RequestWithdrawnV1<'a> {
    fn from(event: &'a RequestWithdrawn) -> RequestWithdrawnV1<'a> {
        RequestWithdrawnV1 { pool: &event.pool, key: &event.key }
    }
}

impl From<RequestWithdrawnV1<'_>> for RequestWithdrawn {
    fn from(stored: RequestWithdrawnV1<'_>) -> RequestWithdrawn {
        RequestWithdrawn { pool: stored.pool.into(), key: stored.key.into() }
    }
}

impl<'a> From<&'a AlarmChanged> for AlarmChangedV1<'a> {
    fn from(event: &'a AlarmChanged) -> AlarmChangedV1<'a> {
        let &AlarmChanged { kind, ids, raised, at_ms, .. } = event;
        AlarmChangedV1 { object: &event.object, kind: AlarmKindV1(kind), ids, raised, at_ms }
    }
}

impl From<AlarmChangedV1<'_>> for AlarmChanged {
    fn from(stored: AlarmChangedV1<'_>) -> AlarmChanged {
        let AlarmChangedV1 { object, kind: AlarmKindV1(kind), ids, raised, at_ms } = stored;
        AlarmChanged { object: object.into(), kind, ids, raised, at_ms }
    }
}

impl<'a> From<&'a AlarmPurged> for AlarmPurgedV1<'a> {
    fn from(event: &'a AlarmPurged) -> AlarmPurgedV1<'a> {
        let kind: AlarmKind = event.kind;
        AlarmPurgedV1 { object: &event.object, kind: AlarmKindV1(kind) }
    }
}

impl From<AlarmPurgedV1<'_>> for AlarmPurged {
    fn from(stored: AlarmPurgedV1<'_>) -> AlarmPurged {
        AlarmPurged { object: stored.object.into(), kind: stored.kind.0 }
    }
}

impl<'a> From<&'a NotificationQueued> for NotificationQueuedV1<'a> {
    fn from(event: &'a NotificationQueued) -> NotificationQueuedV1<'a> {
        // Version 1 has a number for each payload that exists. A new payload needs a new version of this kind.
        let how = Redeploy::from_name(event.payload.0).unwrap_or(Redeploy::Default);
        NotificationQueuedV1 {
            number: event.number,
            target: &event.target,
            user: &event.user,
            how: RedeployV1(how),
            about: event.about.iter().map(|(pool, key)| (&**pool, &**key)).collect(),
            at_ms: event.at_ms,
        }
    }
}

impl From<NotificationQueuedV1<'_>> for NotificationQueued {
    fn from(stored: NotificationQueuedV1<'_>) -> NotificationQueued {
        let about = stored.about.into_iter().map(|(pool, key)| (pool.into(), key.into()));
        NotificationQueued {
            number: stored.number,
            target: stored.target.into(),
            user: stored.user.into(),
            payload: stored.how.0.payload(),
            about: about.collect(),
            at_ms: stored.at_ms,
        }
    }
}

impl<'a> From<&'a DeliveryFailed> for DeliveryFailedV1<'a> {
    fn from(event: &'a DeliveryFailed) -> DeliveryFailedV1<'a> {
        let &DeliveryFailed { number, attempts, again_ms, .. } = event;
        DeliveryFailedV1 { number, attempts, error: &event.error, again_ms }
    }
}

impl From<DeliveryFailedV1<'_>> for DeliveryFailed {
    fn from(stored: DeliveryFailedV1<'_>) -> DeliveryFailed {
        let DeliveryFailedV1 { number, attempts, error, again_ms } = stored;
        DeliveryFailed { number, attempts, error: error.into(), again_ms }
    }
}
