//! Request pools and requests, alarms, and notifications.

use allod_core::alarm::{AlarmChanged, AlarmPurged};
use allod_core::claim::Parity;
use allod_core::outbox::{DeliveryFailed, NotificationClosed, NotificationQueued, Payload};
use allod_core::requests::event::{
    RequestAnswered, RequestPoolDefined, RequestWithdrawn, Retry, RetryScheduled,
};
use allod_core::requests::{
    AddressSupply, AlarmSettings, Answer, ExcludedIds, Failure, IdSupply, Redeploy, Request,
    RequestPool, SiteNodes, Subnet, Supply, Wanted, WantedId, WantedParity, WantedPrefix,
};
use allod_core::value::IpVersion;
use serde::{Deserialize, Serialize};

use super::form::{StoredForm, stored_structs};
use super::number::{AlarmKindV1, MethodV1, RedeployV1};

stored_structs! {
    AddressSupplyV1 of AddressSupply {
        version: bool,
        subnets: Vec<SubnetV1>,
        exclude: Vec<SubnetV1>,
        ranges: Vec<(u128, u128)>,
        auto_redeploy: Option<bool>,
        sequential: Option<bool>,
    }

    SubnetV1 of Subnet {
        address: u128,
        len: u8,
    }

    ExcludedIdsV1 of ExcludedIds {
        start: u32,
        end: u32,
        flag: Option<bool>,
    }

    AlarmSettingsV1 of AlarmSettings {
        enabled: bool,
        low: Option<u8>,
        low_odd: Option<u8>,
        low_even: Option<u8>,
    }

    RequestPoolDefinedV1<'a> of RequestPoolDefined {
        pool: &'a str,
        config: RequestPoolV1,
    }

    WantedIdV1 of WantedId {
        sync: Option<bool>,
        id: Option<u32>,
        parity: Option<WantedParityV1>,
        method: Option<MethodV1>,
    }

    WantedPrefixV1 of WantedPrefix {
        size: u8,
        invert: bool,
        start: Option<(bool, u128)>,
    }

    RetryScheduledV1<'a> of RetryScheduled {
        pool: Option<&'a str>,
        #[serde(borrow)]
        retry: Option<RetryV1<'a>>,
    }

    RetryV1<'a> of Retry {
        at_ms: u64,
        after: Option<&'a str>,
        upto: Option<&'a str>,
        again: Option<&'a str>,
        update: bool,
    }

    AlarmChangedV1<'a> of AlarmChanged {
        object: &'a str,
        kind: AlarmKindV1,
        ids: bool,
        raised: bool,
        at_ms: u64,
    }

    AlarmPurgedV1<'a> of AlarmPurged {
        object: &'a str,
        kind: AlarmKindV1,
    }

    NotificationQueuedV1<'a> of NotificationQueued {
        number: u128,
        target: &'a str,
        user: &'a str,
        payload: RedeployV1,
        #[serde(borrow)]
        about: Vec<(&'a str, &'a str)>,
        at_ms: u64,
    }

    DeliveryFailedV1<'a> of DeliveryFailed {
        number: u128,
        attempts: u32,
        error: &'a str,
        again_ms: Option<u64>,
    }

    NotificationClosedV1 of NotificationClosed {
        number: u128,
        delivered: bool,
    }
}

/// A pool whose requests this server answers, without nodes of a site's modules. Version 2 has the rest.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestPoolV1 {
    supply: SupplyV1,
    alarms: AlarmSettingsV1,
}

impl StoredForm<'_, RequestPool> for RequestPoolV1 {
    fn store(pool: &RequestPool) -> RequestPoolV1 {
        let (supply, alarms) = (StoredForm::store(&pool.supply), StoredForm::store(&pool.alarms));
        RequestPoolV1 { supply, alarms }
    }

    fn load(self) -> RequestPool {
        let (supply, alarms) = (self.supply.load(), self.alarms.load());
        RequestPool { supply, alarms, allocator: None, site: SiteNodes::default() }
    }
}

/// A request without nodes of a site's modules.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestV1<'a> {
    user: &'a str,
    #[serde(borrow)]
    services: Vec<&'a str>,
    redeploy: Option<RedeployV1>,
    sync_alloc: bool,
    want: WantedV1,
}

impl<'a> StoredForm<'a, Request> for RequestV1<'a> {
    fn store(request: &'a Request) -> RequestV1<'a> {
        RequestV1 {
            user: &request.user,
            services: StoredForm::store(&request.services),
            redeploy: StoredForm::store(&request.redeploy),
            sync_alloc: request.sync_alloc,
            want: StoredForm::store(&request.want),
        }
    }

    fn load(self) -> Request {
        Request {
            user: self.user.into(),
            services: self.services.load(),
            redeploy: self.redeploy.load(),
            sync_alloc: self.sync_alloc,
            want: self.want.load(),
            site: SiteNodes::default(),
        }
    }
}

/// The answer of this server to a request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestAnsweredV1<'a> {
    pool: &'a str,
    key: &'a str,
    #[serde(borrow)]
    request: RequestV1<'a>,
    answer: AnswerV1,
}

impl<'a> StoredForm<'a, RequestAnswered> for RequestAnsweredV1<'a> {
    fn store(event: &'a RequestAnswered) -> RequestAnsweredV1<'a> {
        RequestAnsweredV1 {
            pool: &event.pool,
            key: &event.key,
            request: StoredForm::store(&event.request),
            answer: StoredForm::store(&event.answer),
        }
    }

    fn load(self) -> RequestAnswered {
        RequestAnswered {
            pool: self.pool.into(),
            key: self.key.into(),
            request: self.request.load(),
            answer: self.answer.load(),
            version: 0,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestWithdrawnV1<'a> {
    pool: &'a str,
    key: &'a str,
}

impl<'a> StoredForm<'a, RequestWithdrawn> for RequestWithdrawnV1<'a> {
    fn store(event: &'a RequestWithdrawn) -> RequestWithdrawnV1<'a> {
        RequestWithdrawnV1 { pool: &event.pool, key: &event.key }
    }

    fn load(self) -> RequestWithdrawn {
        RequestWithdrawn { pool: self.pool.into(), key: self.key.into(), version: 0 }
    }
}

/// An alarm of an authority, which programs before level 7 do not know.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AlarmChangedV2<'a>(#[serde(borrow)] AlarmChangedV1<'a>);

impl<'a> AlarmChangedV2<'a> {
    /// `None`: version 1 is sufficient.
    pub fn of(event: &'a AlarmChanged) -> Option<AlarmChangedV2<'a>> {
        event.kind.is_of_authority().then(|| AlarmChangedV2(StoredForm::store(event)))
    }

    pub fn load(self) -> AlarmChanged {
        self.0.load()
    }
}

/// As [`AlarmChangedV2`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AlarmPurgedV2<'a>(#[serde(borrow)] AlarmPurgedV1<'a>);

impl<'a> AlarmPurgedV2<'a> {
    /// `None`: version 1 is sufficient.
    pub fn of(event: &'a AlarmPurged) -> Option<AlarmPurgedV2<'a>> {
        event.kind.is_of_authority().then(|| AlarmPurgedV2(StoredForm::store(event)))
    }

    pub fn load(self) -> AlarmPurged {
        self.0.load()
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum SupplyV1 {
    Ids { start: u32, end: u32, exclude: Vec<ExcludedIdsV1> },
    Addresses(AddressSupplyV1),
}

impl StoredForm<'_, Supply> for SupplyV1 {
    fn store(supply: &Supply) -> SupplyV1 {
        match supply {
            Supply::Ids(supply) => {
                let exclude = StoredForm::store(&supply.exclude);
                SupplyV1::Ids { start: supply.start, end: supply.end, exclude }
            }
            Supply::Addresses(supply) => SupplyV1::Addresses(StoredForm::store(supply)),
        }
    }

    fn load(self) -> Supply {
        match self {
            SupplyV1::Ids { start, end, exclude } => {
                let (exclude, alarm_base) = (exclude.load(), end.saturating_sub(start));
                Supply::Ids(IdSupply { start, end, exclude, alarm_base })
            }
            SupplyV1::Addresses(supply) => Supply::Addresses(supply.load()),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WantedV1 {
    Id(WantedIdV1),
    Prefix(WantedPrefixV1),
}

impl StoredForm<'_, Wanted> for WantedV1 {
    fn store(want: &Wanted) -> WantedV1 {
        match want {
            Wanted::Id(want) => WantedV1::Id(StoredForm::store(want)),
            Wanted::Prefix(want) => WantedV1::Prefix(StoredForm::store(want)),
        }
    }

    fn load(self) -> Wanted {
        match self {
            WantedV1::Id(want) => Wanted::Id(want.load()),
            WantedV1::Prefix(want) => Wanted::Prefix(want.load()),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WantedParityV1 {
    Any,
    Even,
    Odd,
}

impl StoredForm<'_, WantedParity> for WantedParityV1 {
    fn store(parity: &WantedParity) -> WantedParityV1 {
        match parity {
            WantedParity::Any => WantedParityV1::Any,
            WantedParity::Only(Parity::Even) => WantedParityV1::Even,
            WantedParity::Only(Parity::Odd) => WantedParityV1::Odd,
        }
    }

    fn load(self) -> WantedParity {
        match self {
            WantedParityV1::Any => WantedParity::Any,
            WantedParityV1::Even => WantedParity::Only(Parity::Even),
            WantedParityV1::Odd => WantedParity::Only(Parity::Odd),
        }
    }
}

/// Version 1 has a number for each payload that exists. A new payload needs a new version of the kinds that store it.
impl StoredForm<'_, Payload> for RedeployV1 {
    fn store(payload: &Payload) -> RedeployV1 {
        RedeployV1(Redeploy::from_name(payload.0).unwrap_or(Redeploy::Default))
    }

    fn load(self) -> Payload {
        self.0.payload()
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum AnswerV1 {
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

/// Whether it is IPv6.
impl StoredForm<'_, IpVersion> for bool {
    fn store(version: &IpVersion) -> bool {
        *version == IpVersion::V6
    }

    fn load(self) -> IpVersion {
        if self { IpVersion::V6 } else { IpVersion::V4 }
    }
}

impl StoredForm<'_, Answer> for AnswerV1 {
    fn store(answer: &Answer) -> AnswerV1 {
        let failure = match answer {
            // Version 2 stores `Wanted`.
            Answer::Granted | Answer::Wanted => return AnswerV1::Granted,
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
            // Version 2 stores `Outside`.
            Failure::TooLong | Failure::Outside(_) => AnswerV1::TooLong,
        }
    }

    fn load(self) -> Answer {
        Answer::Failed(match self {
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
