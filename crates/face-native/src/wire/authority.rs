//! JSON forms of authorities, and of what an operator says about their claims.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::Schema;

use super::{Claim, Seconds, ValueText, words};

/// The protocol of an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProtocolName {
    /// An adapter that implements the HTTP contract.
    Http,
    /// A pool of another allod server.
    Allod,
    /// Tables of a PostgreSQL database.
    Sql,
}

/// The definition of an authority: an inventory that grants the values of pools.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"kind": "http", "url": "http://127.0.0.1:9"}))]
pub(crate) struct AuthorityBody {
    pub kind: ProtocolName,
    /// `http://…` or `https://…`, for `sql` `postgres://…`. Without a password.
    #[schema(pattern = "^(https?|postgres(ql)?)://.+")]
    pub url: String,
    /// `allod`: the pool of the other server.
    pub pool: Option<String>,
    /// `sql`: the statement that finds the grant of a reference.
    pub find: Option<String>,
    /// `sql`: the statement that takes a value.
    pub take: Option<String>,
    /// `sql`: the statement that releases the grant of a reference.
    pub release: Option<String>,
    /// `sql`: the statement that lists grants.
    pub list: Option<String>,
    /// `sql`: the statement that looks up a name.
    pub lookup: Option<String>,
    /// The name of the secret, which the server's configuration has.
    #[schema(min_length = 1)]
    pub secret: Option<String>,
    /// A file on the server with the CA certificates to trust instead of those of the system.
    #[schema(min_length = 1)]
    pub ca: Option<String>,
    /// The most requests at a time. Default: 1.
    #[schema(minimum = 1)]
    pub parallel: Option<u32>,
    /// The time limit of one request. Default: 10.
    pub timeout: Option<Seconds>,
    /// The most claims that wait for the authority. Default: 10,000.
    pub queue_max: Option<u64>,
    /// A claim or release that waits for longer raises an alarm. Default: 300.
    pub alarm_after: Option<Seconds>,
    /// How often look-ups are asked again. Default: 300; 0: only on request.
    pub poll: Option<Seconds>,
    /// How often the authority is reconciled. Default: 0: only on request.
    pub reconcile: Option<Seconds>,
}

fn protocol() -> Schema {
    words(&["http", "allod", "sql"]).into()
}

fn authority_state() -> Schema {
    words(&["ok", "failing", "busy"]).into()
}

/// The definition of an authority, and on reads its state.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Authority<'a> {
    pub name: &'a str,
    /// Increases with every change of the definition. Also the ETag.
    pub generation: u64,
    #[schema(schema_with = protocol)]
    pub kind: &'static str,
    pub url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub find: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub take: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lookup: Option<&'a str>,
    /// The name of the secret. The secret itself is never shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<&'a str>,
    pub parallel: u32,
    pub timeout: Seconds,
    pub queue_max: u64,
    pub alarm_after: Seconds,
    /// How often look-ups are asked again; 0: only on request.
    pub poll: Seconds,
    /// How often the authority is reconciled; 0: only on request.
    pub reconcile: Seconds,
    /// `ok`; `failing`: an attempt of one of the oldest open claims has failed; `busy`: as many claims wait as `queue_max`
    /// allows.
    #[schema(schema_with = authority_state)]
    pub state: &'static str,
    /// How many pools have this authority, counted up to 1000.
    pub pools: usize,
    /// Claims that wait for the authority.
    pub wanted: u64,
    pub held: u64,
    /// Refused claims that are still shown.
    pub refused: u64,
    /// Claims about which an operator must say what the authority has done.
    pub stuck: u64,
    /// Claims for which the authority has granted a value that they cannot have.
    pub conflicts: u64,
    /// Releases that the authority has not confirmed yet.
    pub releasing: u64,
    /// How many look-ups there are.
    pub lookups: u64,
    /// Look-ups for which the authority has another value.
    pub drifted: u64,
    /// The age of the oldest claim or release that waits for the authority; null: there is none.
    pub oldest_seconds: Option<Seconds>,
    /// Why the last attempt of one of the oldest open claims failed; null: none has failed. Shortened for clients that are
    /// not admins.
    pub last_error: Option<&'a str>,
    /// The claim or release that has waited for the authority for the longest time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Box<Claim<'a>>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuthorityList<'a> {
    pub authorities: Vec<Authority<'a>>,
    /// The cursor of the next page, for `after`. Null: this is the last page.
    pub next: Option<&'a str>,
}

/// What an operator has found out about a claim that is stuck or in conflict: exactly one of the members.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"gone": true}))]
pub(crate) struct ResolveBody {
    /// The authority has granted this value.
    pub granted: Option<ValueText>,
    /// The authority has no grant for the claim.
    #[serde(default)]
    pub gone: bool,
    /// Ask the authority again, although it may grant a second value.
    #[serde(default)]
    pub ask_again: bool,
}
