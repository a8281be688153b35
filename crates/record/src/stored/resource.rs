//! Pools of resources, what is asked of them, alarms, and the outbox.

use allod_core::claim::Parity;
use allod_core::event::resource::{
    AlarmChanged, AlarmPurged, NoticeQueued, NoticeTried, RequestAnswered, RequestWithdrawn,
    ResourcePoolDefined,
};
use allod_core::resource::{
    AlarmKind, AlarmSettings, Answer, ExcludedIds, Failure, Given, GivenAddresses, GivenIds,
    Redeploy, Request, ResourcePool, Subnet, Wanted, WantedId, WantedParity, WantedPrefix,
};
use serde::{Deserialize, Serialize};

use super::number::{AlarmKindV1, MethodV1, RedeployV1};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ResourcePoolV1 {
    given: GivenV1,
    alarms: AlarmSettingsV1,
}

#[derive(Debug, Serialize, Deserialize)]
enum GivenV1 {
    Ids { start: u32, end: u32, exclude: Vec<(u32, u32, Option<bool>)> },
    Addresses(GivenAddressesV1),
}

#[derive(Debug, Serialize, Deserialize)]
struct GivenAddressesV1 {
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
pub(crate) struct ResourcePoolDefinedV1<'a> {
    pool: &'a str,
    config: ResourcePoolV1,
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
pub(crate) struct NoticeQueuedV1<'a> {
    number: u128,
    target: &'a str,
    user: &'a str,
    how: RedeployV1,
    #[serde(borrow)]
    about: Vec<(&'a str, &'a str)>,
    at_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NoticeTriedV1<'a> {
    number: u128,
    attempts: u32,
    error: &'a str,
    again_ms: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NoticeSettledV1 {
    pub number: u128,
    pub delivered: bool,
}

impl From<&ResourcePool> for ResourcePoolV1 {
    fn from(config: &ResourcePool) -> ResourcePoolV1 {
        let subnets = |all: &[Subnet]| all.iter().map(|one| (one.address, one.len)).collect();
        let given = match &config.given {
            Given::Ids(given) => {
                let exclude = given.exclude.iter();
                let exclude = exclude.map(|ids| (ids.start, ids.end, ids.stop_allocation));
                GivenV1::Ids { start: given.start, end: given.end, exclude: exclude.collect() }
            }
            Given::Addresses(given) => GivenV1::Addresses(GivenAddressesV1 {
                six: given.six,
                subnets: subnets(&given.subnets),
                exclude: subnets(&given.exclude),
                ranges: given.ranges.clone(),
                auto_redeploy: given.auto_redeploy,
                sequential: given.sequential,
            }),
        };
        let AlarmSettings { enabled, low, low_odd, low_even } = config.alarms;
        let alarms = AlarmSettingsV1 { enabled, low, low_odd, low_even };
        ResourcePoolV1 { given, alarms }
    }
}

impl From<ResourcePoolV1> for ResourcePool {
    fn from(stored: ResourcePoolV1) -> ResourcePool {
        let subnets = |all: Vec<(u128, u8)>| {
            all.into_iter().map(|(address, len)| Subnet { address, len }).collect()
        };
        let given = match stored.given {
            GivenV1::Ids { start, end, exclude } => {
                let exclude = exclude.into_iter().map(|(start, end, stop_allocation)| {
                    ExcludedIds { start, end, stop_allocation }
                });
                Given::Ids(GivenIds { start, end, exclude: exclude.collect() })
            }
            GivenV1::Addresses(given) => Given::Addresses(GivenAddresses {
                six: given.six,
                subnets: subnets(given.subnets),
                exclude: subnets(given.exclude),
                ranges: given.ranges,
                auto_redeploy: given.auto_redeploy,
                sequential: given.sequential,
            }),
        };
        let AlarmSettingsV1 { enabled, low, low_odd, low_even } = stored.alarms;
        let alarms = AlarmSettings { enabled, low, low_odd, low_even };
        ResourcePool { given, alarms }
    }
}

impl<'a> From<&'a ResourcePoolDefined> for ResourcePoolDefinedV1<'a> {
    fn from(event: &'a ResourcePoolDefined) -> ResourcePoolDefinedV1<'a> {
        ResourcePoolDefinedV1 { pool: &event.pool, config: ResourcePoolV1::from(&event.config) }
    }
}

impl From<ResourcePoolDefinedV1<'_>> for ResourcePoolDefined {
    fn from(stored: ResourcePoolDefinedV1<'_>) -> ResourcePoolDefined {
        ResourcePoolDefined { pool: stored.pool.into(), config: stored.config.into() }
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

impl<'a> From<&'a NoticeQueued> for NoticeQueuedV1<'a> {
    fn from(event: &'a NoticeQueued) -> NoticeQueuedV1<'a> {
        let how: Redeploy = event.how;
        NoticeQueuedV1 {
            number: event.number,
            target: &event.target,
            user: &event.user,
            how: RedeployV1(how),
            about: event.about.iter().map(|(pool, key)| (&**pool, &**key)).collect(),
            at_ms: event.at_ms,
        }
    }
}

impl From<NoticeQueuedV1<'_>> for NoticeQueued {
    fn from(stored: NoticeQueuedV1<'_>) -> NoticeQueued {
        let about = stored.about.into_iter().map(|(pool, key)| (pool.into(), key.into()));
        NoticeQueued {
            number: stored.number,
            target: stored.target.into(),
            user: stored.user.into(),
            how: stored.how.0,
            about: about.collect(),
            at_ms: stored.at_ms,
        }
    }
}

impl<'a> From<&'a NoticeTried> for NoticeTriedV1<'a> {
    fn from(event: &'a NoticeTried) -> NoticeTriedV1<'a> {
        let &NoticeTried { number, attempts, again_ms, .. } = event;
        NoticeTriedV1 { number, attempts, error: &event.error, again_ms }
    }
}

impl From<NoticeTriedV1<'_>> for NoticeTried {
    fn from(stored: NoticeTriedV1<'_>) -> NoticeTried {
        let NoticeTriedV1 { number, attempts, error, again_ms } = stored;
        NoticeTried { number, attempts, error: error.into(), again_ms }
    }
}
