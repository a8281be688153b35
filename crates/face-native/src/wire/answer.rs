//! JSON forms of replies.

use allod_core::authority::{RefusalCode, TransactionState};
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
    words(&["held", "quarantined", "wanted", "refused", "stuck", "conflict", "releasing"]).into()
}

fn value_state() -> Schema {
    let all = ["free", "held", "quarantined", "manual", "draining", "excluded", "outside"];
    words(&all).into()
}

fn advice() -> Schema {
    let about = "What the client can do. Only refusals have it.";
    let all = ["reread", "wait_until", "wait_for_release", "change"];
    words(&all).description(Some(about)).into()
}

/// One claim.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Claim<'a> {
    pub pool: &'a str,
    pub key: &'a str,
    pub owner: &'a str,
    /// The value; the first if there are several. Null: the authority of the pool has granted none that the claim has.
    pub value: Option<WireValue>,
    /// All values. Omitted if there are more than 4096; `ranges` has them then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<WireValue>>)]
    pub values: Option<EachValue<'a>>,
    /// With several ids or addresses: all of them, consecutive ones as `first-last`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranges: Option<Vec<String>>,
    /// Changes with every change of the claim. Also the ETag.
    pub version: u64,
    #[schema(schema_with = claim_state)]
    pub state: &'static str,
    pub created: Time,
    /// When the lease ends; null: never.
    pub expires: Option<Time>,
    /// The lease has expired, but the values have not been reclaimed yet.
    pub expired: bool,
    /// The end of the quarantine, if it is in quarantine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub labels: LabelsOf<'a>,
    /// The authority of the pool. This and the following members exist only in a pool with an authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<&'a str>,
    /// The name of the claim at the authority. It is never used for another claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<UuidText>,
    /// The authority's own name for the grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<&'a str>,
    /// Why the authority has refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = refusal_code, required = false)]
    pub code: Option<&'static str>,
    /// Why the authority has refused, the last attempt has failed, or an operator must resolve the claim. Shortened for
    /// clients that are not admins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// Failed attempts of the present request to the authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// When the authority is asked next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt: Option<Time>,
    /// When the claim or its release was requested that the authority has not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

fn refusal_code() -> Schema {
    words(&RefusalCode::ALL.map(RefusalCode::name)).into()
}

/// Every value of a claim.
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

/// The definition of a pool, and on reads its usage.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Pool<'a> {
    pub name: &'a str,
    /// Increases with every change of the definition. Also the ETag.
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
    /// The authority that grants its values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<&'a str>,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub labels: LabelsOf<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// The usage of a pool. Counts are of values unless the name says claims.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Usage {
    pub size: u128,
    pub claims: u64,
    pub held: u128,
    /// Counted up to 1000.
    pub expired_claims: u64,
    pub quarantined: u128,
    pub excluded: u128,
    /// In ranges that are being drained, held or not.
    pub draining: u128,
    /// The held ones among `draining`.
    pub draining_held: u128,
    /// Free, but only for claims that name the value.
    pub manual_free: u128,
    pub free: u128,
    /// Held outside the ranges after a change with `keep_held`.
    pub outside_held: u128,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PoolList<'a> {
    pub pools: Vec<Pool<'a>>,
    /// The cursor of the next page, for `after`. Null: this is the last page.
    pub next: Option<&'a str>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClaimList<'a> {
    pub claims: Vec<Claim<'a>>,
    /// The cursor of the next page, for `after`. Null: this is the last page. A page may be short and still have a next.
    pub next: Option<&'a str>,
}

/// The state of one value.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ValueAnswer<'a> {
    pub pool: &'a str,
    pub value: WireValue,
    #[schema(schema_with = value_state)]
    pub state: &'static str,
    /// The claim that holds it.
    pub claim: Option<Claim<'a>>,
    /// With `at`: the position and time that the answer is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<AtAnswer>,
}

/// A position in the past with its time.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AtAnswer {
    /// The last position at that time.
    pub position: u64,
    /// The requested time, or the time of the requested position.
    pub time: Time,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HistoryAnswer<'a> {
    pub changes: Vec<Change<'a>>,
    /// The cursor of the next page, for `after`. Null: this is the last page. A page may be short and still have a next.
    pub next: Option<&'a str>,
    /// Everything after this position is retained.
    pub oldest_position: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TransactionAnswer<'a> {
    /// One for each operation, in order.
    pub results: Vec<OpAnswer<'a>>,
    pub dry_run: bool,
    /// The ID of the transaction, if authorities have to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction: Option<UuidText>,
    /// `waiting`: an authority has not answered yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = transaction_state, required = false)]
    pub state: Option<&'static str>,
}

fn transaction_state() -> Schema {
    words(&TransactionState::ALL.map(TransactionState::name)).into()
}

/// A transaction that waits for authorities, or has ended a short time ago.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Transaction<'a> {
    pub transaction: UuidText,
    /// `waiting`; `done`: all parts are held; `refused`: a part was refused or withdrawn, and the others are released again.
    #[schema(schema_with = transaction_state)]
    pub state: &'static str,
    pub since: Time,
    /// When the record of the transaction is deleted; null: it waits.
    pub until: Option<Time>,
    /// The index of the operation that was refused or withdrawn, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<u32>,
    /// Why an authority has refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = refusal_code, required = false)]
    pub code: Option<&'static str>,
    /// Shortened for clients that are not admins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// What the transaction has claimed, without what was held before.
    pub parts: Vec<PartAnswer<'a>>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PartAnswer<'a> {
    Claim(Box<Claim<'a>>),
    /// A claim that has been released.
    Gone {
        pool: &'a str,
        key: &'a str,
    },
    /// A consumer with allocations.
    Consumer(UuidText),
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OpAnswer<'a> {
    Claim {
        /// Whether at least one claim was created.
        created: bool,
        /// One for each pool, in the order of the request.
        claims: Vec<Claim<'a>>,
    },
    Release {
        /// Whether anything was held.
        existed: bool,
        /// The claim, if the authority of its pool has not confirmed the release yet.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(required = false)]
        claim: Option<Box<Claim<'a>>>,
    },
    Renew(Claim<'a>),
    Confirm(Claim<'a>),
    Allocate {
        /// One for each consumer, in the order of the request.
        consumers: Vec<HoldingAnswer>,
    },
    Deallocate {
        /// Whether anything was held.
        existed: bool,
    },
    Extend {
        consumer: UuidText,
        generation: u64,
        /// Null: no lease.
        expires: Option<Time>,
    },
    Check {},
}

/// The status of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Status {
    pub version: &'static str,
    /// The journal has been replayed and the server answers requests.
    pub ready: bool,
    /// Why writes currently fail; null: they do not.
    pub degraded: Option<String>,
    pub position: u64,
    /// The hash of the last record of the journal.
    pub hash: String,
    pub epoch: u64,
    pub now: Time,
    pub uptime_ms: u64,
    pub clock: ClockAgreement,
    pub queue: QueueStatus,
    pub checkpoint_position: u64,
    /// The time of the newest checkpoint; null: there is none.
    pub checkpoint_at: Option<Time>,
    pub counters: CountersSinceStart,
    /// Duration of the last append to the journal.
    pub last_append_ms: f64,
    /// Number of commands in the last batch.
    pub last_batch_commands: u64,
    pub journal: JournalStatus,
}

/// How well the machine's clock agrees with the server's time, which goes on by the monotonic clock.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClockAgreement {
    /// The machine's clock minus the server's time; 0 while they agree.
    pub off_ms: i64,
    /// Jumps of the machine's clock since the server started.
    pub jumps: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueueStatus {
    /// Commands that wait in the queue.
    pub commands: usize,
    /// The limit of the queue.
    pub commands_max: usize,
}

/// Counters since the server started.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CountersSinceStart {
    pub commands: u64,
    /// Records that became durable.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Appends that failed because another server had appended first.
    pub conflicts: u64,
    pub checkpoints: u64,
}

/// The journal's back end and its guarantees.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JournalStatus {
    pub name: &'static str,
    /// Survives a power failure of one machine.
    pub durable: bool,
    /// Survives the loss of one machine.
    pub replicated: bool,
    /// Several servers can use it at the same time.
    pub shared: bool,
    /// More information, such as the replication mode.
    pub note: Option<String>,
}

/// The additional members of a refusal (RFC 9457). Members that do not apply are omitted.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct RefusalMembers<'a> {
    /// Transactions: the index of the refused operation, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<usize>,
    /// What the client can do. Only refusals have it.
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
    /// `limit_exceeded`: the name of the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
    /// `params_differ`: the fields that differ.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub fields: &'a [&'static str],
    /// `taken`: the holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<HolderAnswer<'a>>,
    /// `pool_in_use`, `held_outside`: the number of claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantined: Option<u64>,
    /// `held_outside`: some of the claims. `sync_differs`: the value that each pool holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sample: Vec<HeldAnswer<'a>>,
    /// `exhausted`, `sync_exhausted`: the usage of each pool.
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

/// Why a pool is exhausted: counts of values.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExhaustedAnswer<'a> {
    pub pool: &'a str,
    pub size: u128,
    pub held: u128,
    /// Held values whose lease has expired; reclaiming them is not enough.
    pub expired: u128,
    pub quarantined: u128,
    /// When the first of them becomes free.
    pub quarantined_until: Option<Time>,
    pub excluded: u128,
    pub draining: u128,
    /// Free, but only for claims that name the value.
    pub manual: u128,
    /// Free but not suitable: too few, not contiguous, or of the other parity.
    pub free: u128,
    pub longest_run: u128,
    /// Prefix pools: the length of the largest free block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_prefix_len: Option<u8>,
}

/// The additional member of `position_trimmed`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TrimmedMembers {
    /// `position_trimmed`: the oldest position from which a client can resume.
    #[schema(required = false)]
    pub oldest_position: u64,
}

/// A problem (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemMembers<'a> {
    /// `urn:allod:problem:` and the code.
    pub r#type: &'a str,
    pub title: &'a str,
    pub status: u16,
    /// One sentence for people.
    pub detail: &'a str,
    /// For programs. Never changes.
    pub code: &'a str,
    #[serde(flatten)]
    pub refusal: RefusalMembers<'a>,
    #[serde(flatten)]
    pub trimmed: TrimmedMembers,
}
