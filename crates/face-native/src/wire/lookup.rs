//! JSON forms of look-ups: values that an authority knows under a name.

use allod_core::authority::DriftPolicy;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::Schema;
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};

use super::{Time, words};

wire_enum! {
    /// What happens when the authority changes the value: `pin` keeps it and reports the drift, `follow` takes the new one,
    /// `ask` keeps it until the new one is accepted.
    DriftPolicyName for DriftPolicy { Pin, Follow, Ask }
}

/// A look-up. Everything is optional.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"policy": "follow"}))]
pub(crate) struct LookUpBody {
    /// Default: that of the look-up; of a new one `pin`.
    pub policy: Option<DriftPolicyName>,
}

fn policy() -> Schema {
    words(&["pin", "follow", "ask"]).into()
}

fn look_up_state() -> Schema {
    words(&["wanted", "resolved", "drifted", "unknown"]).into()
}

/// Any JSON.
fn json() -> Schema {
    let all = [Type::Null, Type::Boolean, Type::Number, Type::String, Type::Array, Type::Object];
    ObjectBuilder::new().schema_type(SchemaType::from_iter(all)).into()
}

/// A value that an authority knows under a name.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LookUp<'a> {
    pub authority: &'a str,
    pub key: &'a str,
    /// `wanted`: the authority has not answered yet. `drifted`: the authority has another value, see `seen`. `unknown`: the
    /// authority does not know the name.
    #[schema(schema_with = look_up_state)]
    pub state: &'static str,
    #[schema(schema_with = policy)]
    pub policy: &'static str,
    /// Any JSON; null: there is none.
    #[schema(schema_with = json)]
    pub value: Option<Box<RawValue>>,
    /// Changes with every change of the look-up. Also the ETag.
    pub version: u64,
    /// The authority's version of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_version: Option<&'a str>,
    /// When the value was resolved; null: it was not.
    pub resolved: Option<Time>,
    /// With drift: what the authority has now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<SeenValue<'a>>,
    /// Why the last attempt failed. Shortened for clients that are not admins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// Failed attempts since the last success.
    pub attempts: u32,
    /// When the authority is asked next; null: it is not.
    pub next_attempt: Option<Time>,
}

/// A value that an authority has now.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SeenValue<'a> {
    /// Any JSON; null: the authority does not know the name any more.
    #[schema(schema_with = json)]
    pub value: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_version: Option<&'a str>,
    pub at: Time,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LookUpList<'a> {
    pub lookups: Vec<LookUp<'a>>,
    /// The cursor of the next page, for `after`. Null: this is the last page.
    pub next: Option<&'a str>,
}

/// Names whose values have changed at the authority. Everything is optional.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"keys": ["site-fra"]}))]
pub(crate) struct HintsBody {
    /// Default: all look-ups of the authority.
    pub keys: Option<Vec<String>>,
}
