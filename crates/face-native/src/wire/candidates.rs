//! JSON forms of candidate requests and answers.

use std::fmt;
use std::marker::PhantomData;

use allod_core::search::CandidateOrder;
use serde::de::value::{SeqAccessDeserializer, StrDeserializer};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize as Readable, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use super::{AllocationMap, ClassAmounts, OrderedMap, UuidText, allocations, amounts, words};

/// A request for candidates: each named group is served by one provider, the unnamed group by providers of one tree.
#[derive(Debug, Readable, ToSchema)]
#[schema(example = json!({"groups": [{"resources": {"VCPU": 2, "MEMORY_MB": 512}, "required": ["HW_CPU_X86_AVX2"]}], "limit": 5, "explain": true}))]
#[serde(deny_unknown_fields)]
pub(crate) struct CandidatesBody {
    #[schema(min_items = 1)]
    pub groups: Vec<GroupBody>,
    /// `isolate`: no provider serves two named groups. Default: `none`.
    pub group_policy: Option<GroupPolicyName>,
    /// Lists of group names. The providers of the groups in a list must be in one subtree whose root is one of them.
    #[serde(default)]
    pub same_subtree: Vec<Vec<String>>,
    /// Traits that the root of the tree must have.
    #[serde(default)]
    #[schema(schema_with = traits)]
    pub root_required: Vec<AnyOf<String>>,
    #[serde(default)]
    pub root_forbidden: Vec<String>,
    /// The maximum number of candidates. Default: 100.
    #[schema(minimum = 1, maximum = 1000)]
    pub limit: Option<u64>,
    /// Default: `breadth_first`, one candidate of each tree in turn.
    pub order: Option<OrderName>,
    /// Explain how many providers each constraint removed, and which came nearest.
    #[serde(default)]
    pub explain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Readable, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GroupPolicyName {
    None,
    Isolate,
}

wire_enum! {
    OrderName for CandidateOrder { BreadthFirst, DepthFirst }
}

/// What one provider must serve. The unnamed group may be served by several providers of one tree, each class by one
/// provider.
#[derive(Debug, Readable, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupBody {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    #[schema(schema_with = amounts)]
    pub resources: ClassAmounts,
    #[serde(default)]
    #[schema(schema_with = traits)]
    pub required: Vec<AnyOf<String>>,
    #[serde(default)]
    pub forbidden: Vec<String>,
    #[serde(default)]
    #[schema(schema_with = aggregates)]
    pub member_of: Vec<AnyOf<UuidText>>,
    #[serde(default)]
    pub not_member_of: Vec<UuidText>,
    /// The provider must be in the tree of this provider.
    pub in_tree: Option<UuidText>,
}

/// One name, or a list of alternatives.
#[derive(Debug)]
pub(crate) struct AnyOf<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for AnyOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnyOf<T>, D::Error> {
        struct OneOrMore<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMore<T> {
            type Value = AnyOf<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of alternative strings")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<AnyOf<T>, E> {
                Ok(AnyOf(vec![T::deserialize(StrDeserializer::new(text))?]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<AnyOf<T>, A::Error> {
                let all: Vec<T> = Vec::deserialize(SeqAccessDeserializer::new(list))?;
                match all.is_empty() {
                    true => Err(de::Error::invalid_length(0, &self)),
                    false => Ok(AnyOf(all)),
                }
            }
        }
        deserializer.deserialize_any(OneOrMore(PhantomData))
    }
}

/// The schema of a list of names. An item may be a list of alternatives.
fn any_of(one: RefOr<Schema>, about: &str) -> Schema {
    let list = utoipa::openapi::schema::ArrayBuilder::new().items(one.clone()).min_items(Some(1));
    let either = utoipa::openapi::schema::OneOfBuilder::new().item(one).item(list);
    let each = utoipa::openapi::schema::ArrayBuilder::new().items(either);
    each.description(Some(about)).into()
}

fn traits() -> Schema {
    let name = utoipa::openapi::schema::Object::with_type(utoipa::openapi::schema::Type::String);
    any_of(name.into(), "Traits that the provider must have. A list inside the list: one of these.")
}

fn aggregates() -> Schema {
    let one = <UuidText as utoipa::PartialSchema>::schema();
    any_of(
        one,
        "Aggregates that the provider must be a member of. A list inside the list: one of these.",
    )
}

/// The candidates for the request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CandidatesAnswer {
    pub candidates: Vec<Candidate>,
    /// The names of all providers in the answer.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub providers: OrderedMap<UuidText, String>,
    /// Why the search stopped before `limit` was reached; null: it is complete.
    #[schema(schema_with = cut)]
    pub cut: Option<&'static str>,
    /// With `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

fn cut() -> Schema {
    let about = "`candidates`: the server's limit of candidates. `steps`: the server's limit of search steps. Null: the search is complete.";
    let words = ["candidates", "steps"].map(serde_json::Value::from);
    utoipa::openapi::schema::ObjectBuilder::new()
        .schema_type(utoipa::openapi::schema::SchemaType::from_iter([
            utoipa::openapi::schema::Type::String,
            utoipa::openapi::schema::Type::Null,
        ]))
        .enum_values(Some(words.into_iter().chain([serde_json::Value::Null])))
        .description(Some(about))
        .into()
}

/// One way to serve the request. `allocations` has the form that the operation `allocate` takes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Candidate {
    /// The root of the candidate's tree.
    pub root: UuidText,
    #[schema(schema_with = allocations)]
    pub allocations: AllocationMap,
    /// The providers that serve each group, by group name.
    #[schema(value_type = std::collections::BTreeMap<String, Vec<UuidText>>)]
    pub mappings: OrderedMap<String, Vec<UuidText>>,
}

/// Why there are no more candidates.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Explanation {
    /// The number of providers.
    pub providers: usize,
    pub groups: Vec<GroupExplained>,
    pub trees: TreesExplained,
    /// Why the explanation is incomplete; null: it is complete.
    #[schema(schema_with = cut)]
    pub cut: Option<&'static str>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GroupExplained {
    pub name: String,
    /// What one provider must serve: a whole named group, or one class of the unnamed group.
    pub parts: Vec<PartExplained>,
    /// The number of trees that can serve this group alone.
    pub trees: usize,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PartExplained {
    /// The class, for the unnamed group.
    pub class: Option<String>,
    /// In the order of application.
    pub stages: Vec<StageExplained>,
    /// The number of providers that passed all stages.
    pub left: usize,
}

/// One constraint and its effect.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StageExplained {
    #[serde(flatten)]
    pub constraint: Constraint,
    /// The number of providers before this constraint.
    pub before: usize,
    pub removed: usize,
    /// The removed provider that came nearest.
    pub nearest: Option<Nearest>,
}

#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct Constraint {
    #[schema(schema_with = constraint)]
    pub constraint: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<u64>,
    /// `required`: at least one of these. `forbidden`: none of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<String>,
    /// `member_of`: in at least one of each of these. `not_member_of`: in none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aggregates: Vec<Vec<UuidText>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_tree: Option<UuidText>,
}

fn constraint() -> Schema {
    let about = "`has`: an inventory of the class. `portion`: the amount fits min_unit, max_unit and step_size. `room`: the amount is free. `anything`: a group without resources needs another constraint.";
    let all = [
        "in_tree",
        "member_of",
        "not_member_of",
        "required",
        "forbidden",
        "anything",
        "has",
        "portion",
        "room",
    ];
    words(&all).description(Some(about)).into()
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Nearest {
    pub provider: UuidText,
    /// Whether this is the only constraint that it does not satisfy.
    pub only: bool,
    /// What is free of the class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free: Option<i64>,
    /// How much is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_unit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_size: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TreesExplained {
    /// The number of trees, and how many of them were searched.
    pub total: usize,
    pub seen: usize,
    /// The number of trees whose root does not satisfy `root_required` and `root_forbidden`.
    pub root_removed: usize,
    /// The number of other trees that can serve every group alone.
    pub all_groups: usize,
    /// The tree that can serve the most groups, but not all.
    pub nearest: Option<NearestTree>,
    /// The further rules for trees that can serve every group alone, in the order of application.
    pub rules: Vec<RuleExplained>,
    pub with_candidates: usize,
    /// The number of trees whose search was stopped by a limit.
    pub undecided: usize,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NearestTree {
    pub root: UuidText,
    /// Names of the groups that it cannot serve.
    pub without: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RuleExplained {
    #[schema(schema_with = rule)]
    pub rule: &'static str,
    pub before: usize,
    pub removed: usize,
    /// The root of one of the removed trees.
    pub example: Option<UuidText>,
}

fn rule() -> Schema {
    let about = "`traits`: the providers of the unnamed group together have its traits. `isolation`: named groups have different providers. `subtree`: the groups of same_subtree are in one subtree. `room`: the amounts of several groups fit on one provider together. `one_provider`: not two providers of one tree.";
    let all = ["traits", "isolation", "subtree", "room", "one_provider"];
    words(&all).description(Some(about)).into()
}
