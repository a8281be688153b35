//! What clients get.

use allod_core::claim::Values;
use allod_core::value::Kind;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::Schema;

use super::{
    CapacityMembers, Change, HoldingAnswer, KindName, Seconds, StrategyName, Time, UuidText,
    WireValue, words,
};

fn claim_state() -> Schema {
    words(&["held", "quarantined"]).into()
}

fn value_state() -> Schema {
    let all = ["free", "held", "quarantined", "manual", "draining", "excluded", "outside"];
    words(&all).into()
}

fn advice() -> Schema {
    let about = "What can be done about a refusal; problems that are none have no advice.";
    let all = ["reread", "wait_until", "wait_for_release", "change"];
    words(&all).description(Some(about)).into()
}

/// One claim.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Claim<'a> {
    pub pool: &'a str,
    pub key: &'a str,
    pub owner: &'a str,
    /// Its value, or the first of several.
    pub value: WireValue,
    /// All of them. Left out when there are very many; `ranges` then has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<WireValue>>)]
    pub values: Option<EachValue<'a>>,
    /// When there are several ids or addresses: all of them, as `first-last` where they follow each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranges: Option<Vec<String>>,
    /// Changes with every change of the claim; also its ETag.
    pub version: u64,
    #[schema(schema_with = claim_state)]
    pub state: &'static str,
    pub created: Time,
    /// When it may be taken away; null: never.
    pub expires: Option<Time>,
    /// Its lease has run out, and nobody has taken it yet.
    pub expired: bool,
    /// In quarantine: until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub labels: LabelsOf<'a>,
}

/// Every single value of a claim.
#[derive(Debug)]
pub(crate) struct EachValue<'a>(pub Kind, pub &'a Values);

impl Serialize for EachValue<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let EachValue(kind, values) = *self;
        serializer.collect_seq(values.each(kind).map(|span| WireValue(kind, span)))
    }
}

/// Labels as an object.
#[derive(Debug)]
pub(crate) struct LabelsOf<'a>(pub &'a allod_core::pool::Labels);

impl Serialize for LabelsOf<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (&**key, &**value)))
    }
}

/// A pool as it is defined, and when it was read how full it is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Pool<'a> {
    pub name: &'a str,
    /// How many definitions it has had; also its ETag.
    pub generation: u64,
    #[schema(value_type = KindName)]
    pub kind: &'static str,
    pub ranges: Vec<String>,
    pub exclude: Vec<String>,
    pub manual: Vec<String>,
    pub draining: Vec<String>,
    #[schema(value_type = StrategyName)]
    pub strategy: &'static str,
    pub keep_edges: bool,
    pub quarantine: Seconds,
    pub lease: Option<Seconds>,
    pub reap: bool,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub labels: LabelsOf<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// How full a pool is: counts of values, but for those that say claims.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Usage {
    pub size: u128,
    pub claims: u64,
    pub held: u128,
    /// Counted up to 1000.
    pub expired_claims: u64,
    pub quarantined: u128,
    pub excluded: u128,
    /// In parts that are being drained, held or not.
    pub draining: u128,
    /// Of those, still held.
    pub draining_held: u128,
    /// Free for a claim that names the value.
    pub manual_free: u128,
    pub free: u128,
    /// Held outside the ranges since a change with `keep_held`.
    pub outside_held: u128,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PoolList<'a> {
    pub pools: Vec<Pool<'a>>,
    /// Where the list goes on: send it as `after`. Null: this was the end.
    pub next: Option<&'a str>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClaimList<'a> {
    pub claims: Vec<Claim<'a>>,
    /// Where the list goes on: send it as `after`. Null: this was the end. A page may be short and still have a next.
    pub next: Option<&'a str>,
}

/// What can be said of one value.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ValueAnswer<'a> {
    pub pool: &'a str,
    pub value: WireValue,
    #[schema(schema_with = value_state)]
    pub state: &'static str,
    /// Who has it.
    pub claim: Option<Claim<'a>>,
    /// With `at`: what the answer is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<AtAnswer>,
}

/// A moment of the past.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AtAnswer {
    /// The last one that had been made by then.
    pub position: u64,
    /// The time that was asked for; of a position, when it was made.
    pub time: Time,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HistoryAnswer<'a> {
    pub changes: Vec<Change<'a>>,
    /// Where the list goes on: send it as `after`. Null: this was the end. A page may be short and still have a next.
    pub next: Option<&'a str>,
    /// Everything after this position is still kept.
    pub oldest_position: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TransactionAnswer<'a> {
    /// One for each operation, in order.
    pub results: Vec<OpAnswer<'a>>,
    pub dry_run: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OpAnswer<'a> {
    Claim {
        /// Whether at least one of the claims is new.
        created: bool,
        /// One for each pool, in the order asked.
        claims: Vec<Claim<'a>>,
    },
    Release {
        /// Whether anything was held.
        existed: bool,
    },
    Renew(Claim<'a>),
    Confirm(Claim<'a>),
    Allocate {
        /// One for each consumer, in the order asked.
        consumers: Vec<HoldingAnswer>,
    },
    Deallocate {
        /// Whether anything was held.
        existed: bool,
    },
    Extend {
        consumer: UuidText,
        generation: u64,
        /// Null: held until given up.
        expires: Option<Time>,
    },
    Check {},
}

/// How the server is doing.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Status {
    pub version: &'static str,
    /// The journal has been replayed; requests are answered.
    pub ready: bool,
    /// Why writes fail at present; null: they do not.
    pub degraded: Option<String>,
    pub position: u64,
    /// Of the record that the journal ends with.
    pub hash: String,
    pub epoch: u64,
    pub now: Time,
    pub uptime_ms: u64,
    pub queue: QueueStatus,
    pub checkpoint_position: u64,
    /// When the state that the newest checkpoint holds was written; null: there is none.
    pub checkpoint_at: Option<Time>,
    pub counters: CountersSinceStart,
    /// How long the last append to the journal took.
    pub last_append_ms: f64,
    /// How many commands were decided together the last time.
    pub last_batch_commands: u64,
    pub journal: JournalStatus,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueueStatus {
    /// Commands that wait to be decided.
    pub commands: usize,
    /// Beyond this they are refused.
    pub commands_max: usize,
}

/// What was done since the server started. Two answers and the time between them make a rate.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CountersSinceStart {
    pub commands: u64,
    /// Records that became durable.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Appends that came too late, because another server had appended.
    pub conflicts: u64,
    pub checkpoints: u64,
}

/// What keeps the journal, and what it promises.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JournalStatus {
    pub name: &'static str,
    /// Survives the loss of power of one machine.
    pub durable: bool,
    /// Survives the loss of one machine.
    pub replicated: bool,
    /// Other servers may have it open and write, too.
    pub shared: bool,
    /// What there is to say besides, such as how it is replicated.
    pub note: Option<String>,
}

/// Why a request was not carried out (RFC 9457). Members that do not apply are left out.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct RefusalMembers<'a> {
    /// Transactions: which operation met it, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<usize>,
    /// Of a refusal, which is an answer. Other problems have none.
    #[schema(required = false, schema_with = advice)]
    pub advice: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_until: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<WireValue>,
    /// `limit_exceeded`: its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
    /// `params_differ`: in what.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub fields: &'a [&'static str],
    /// `taken`: who has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<HolderAnswer<'a>>,
    /// `pool_in_use`, `held_outside`: how many claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantined: Option<u64>,
    /// `held_outside`: the first few. `sync_differs`: what each pool has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sample: Vec<HeldAnswer<'a>>,
    /// `exhausted`, `sync_exhausted`: for each pool, where its values are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exhausted: Vec<ExhaustedAnswer<'a>>,
    #[serde(flatten)]
    pub capacity: CapacityMembers<'a>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HolderAnswer<'a> {
    pub key: &'a str,
    pub owner: &'a str,
    pub expires: Option<Time>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeldAnswer<'a> {
    pub pool: &'a str,
    pub key: &'a str,
    pub value: WireValue,
}

/// Why a pool has nothing to give: counts of values.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExhaustedAnswer<'a> {
    pub pool: &'a str,
    pub size: u128,
    pub held: u128,
    /// Of the held ones, those whose lease has run out; even taking them was not enough.
    pub expired: u128,
    pub quarantined: u128,
    /// When the first of them becomes free.
    pub quarantined_until: Option<Time>,
    pub excluded: u128,
    pub draining: u128,
    /// Free, but only for a claim that names the value.
    pub manual: u128,
    /// Free and not enough: too few, too scattered, or of the other parity.
    pub free: u128,
    pub longest_run: u128,
    /// Prefix pools: the length of the largest free block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_prefix_len: Option<u8>,
}

/// What `position_trimmed` carries.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TrimmedMembers {
    /// `position_trimmed`: everything after this position is kept, so it is the least that can be gone on from.
    #[schema(required = false)]
    pub oldest_position: u64,
}

/// Every problem, refusal or not (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemMembers<'a> {
    /// `urn:allod:problem:` and the code.
    pub r#type: &'a str,
    pub title: &'a str,
    pub status: u16,
    /// One sentence for a person.
    pub detail: &'a str,
    /// What programs look at. Never changes.
    pub code: &'a str,
    #[serde(flatten)]
    pub refusal: RefusalMembers<'a>,
    #[serde(flatten)]
    pub trimmed: TrimmedMembers,
}
