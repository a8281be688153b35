//! What clients send and get when they look for room: who could serve a request, and why others could not.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{SeqAccessDeserializer, StrDeserializer};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize as Readable, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use super::{AllocationMap, ClassAmounts, OrderedMap, UuidText, allocations, amounts, words};

/// What is to be found: for every group a provider, or for the group without a name several of one tree.
#[derive(Debug, Readable, ToSchema)]
#[schema(example = json!({"groups": [{"resources": {"VCPU": 2, "MEMORY_MB": 512}, "required": ["HW_CPU_X86_AVX2"]}], "limit": 5, "explain": true}))]
#[serde(deny_unknown_fields)]
pub(crate) struct CandidatesBody {
    #[schema(min_items = 1)]
    pub groups: Vec<GroupBody>,
    /// `isolate`: no two groups with a name may be served by the same provider. `none` unless said otherwise.
    pub group_policy: Option<GroupPolicyName>,
    /// Names of groups of whose providers one must stand above all others, or be it.
    #[serde(default)]
    pub same_subtree: Vec<Vec<String>>,
    /// Of the root of the tree.
    #[serde(default)]
    #[schema(schema_with = traits)]
    pub root_required: Vec<AnyOf<String>>,
    #[serde(default)]
    pub root_forbidden: Vec<String>,
    /// How many at most; 100 unless said otherwise.
    #[schema(minimum = 1, maximum = 1000)]
    pub limit: Option<u64>,
    /// `breadth_first` unless said otherwise: one of each tree in turn.
    pub order: Option<OrderName>,
    /// Say also which constraint removed how many, and who came nearest.
    #[serde(default)]
    pub explain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Readable, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GroupPolicyName {
    None,
    Isolate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Readable, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OrderName {
    BreadthFirst,
    DepthFirst,
}

/// What one provider is to serve. The group without a name may be served by several providers of one tree, each of its
/// classes by one.
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
    /// It must be in the tree of this provider.
    pub in_tree: Option<UuidText>,
}

/// One thing, or a list of which one is enough.
#[derive(Debug)]
pub(crate) struct AnyOf<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for AnyOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnyOf<T>, D::Error> {
        struct OneOrMore<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMore<T> {
            type Value = AnyOf<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a list of texts of which one is enough")
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

/// A list of names, each of which may be a list of which one is enough.
fn any_of(one: RefOr<Schema>, about: &str) -> Schema {
    let list = utoipa::openapi::schema::ArrayBuilder::new().items(one.clone()).min_items(Some(1));
    let either = utoipa::openapi::schema::OneOfBuilder::new().item(one).item(list);
    let each = utoipa::openapi::schema::ArrayBuilder::new().items(either);
    each.description(Some(about)).into()
}

fn traits() -> Schema {
    let name = utoipa::openapi::schema::Object::with_type(utoipa::openapi::schema::Type::String);
    any_of(name.into(), "Traits that it must have; of a list of them, one.")
}

fn aggregates() -> Schema {
    let one = <UuidText as utoipa::PartialSchema>::schema();
    any_of(one, "Aggregates that it must be in; of a list of them, one.")
}

/// Who could serve the request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CandidatesAnswer {
    pub candidates: Vec<Candidate>,
    /// The names of all providers that the answer speaks of.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub providers: OrderedMap<UuidText, String>,
    /// Why there may be more than `limit` would explain; null: there are not.
    #[schema(schema_with = cut)]
    pub cut: Option<&'static str>,
    /// With `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

fn cut() -> Schema {
    let about = "`candidates`: an answer has no more. `steps`: looking further would take too long. Null: it is all there is.";
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

/// One way to serve the request. What it would hold has the form that `allocate` takes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Candidate {
    /// The root of the tree that it was found in.
    pub root: UuidText,
    #[schema(schema_with = allocations)]
    pub allocations: AllocationMap,
    /// For each group, by its name: the providers that serve it.
    #[schema(value_type = std::collections::BTreeMap<String, Vec<UuidText>>)]
    pub mappings: OrderedMap<String, Vec<UuidText>>,
}

/// Why there are no more candidates.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Explanation {
    /// How many there are in all.
    pub providers: usize,
    pub groups: Vec<GroupExplained>,
    pub trees: TreesExplained,
    /// Why it is not complete; what is there is right as far as it goes.
    #[schema(schema_with = cut)]
    pub cut: Option<&'static str>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GroupExplained {
    pub name: String,
    /// What one provider has to serve: all of a group with a name, or one class of the group without.
    pub parts: Vec<PartExplained>,
    /// In how many trees the group could be served, were it alone.
    pub trees: usize,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PartExplained {
    /// The class, for the group without a name.
    pub class: Option<String>,
    /// In the order in which they are applied.
    pub stages: Vec<StageExplained>,
    /// How many providers passed all.
    pub left: usize,
}

/// One constraint and what it did.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StageExplained {
    #[serde(flatten)]
    pub constraint: Constraint,
    /// How many providers had passed everything before.
    pub before: usize,
    pub removed: usize,
    /// The one of the removed that came nearest.
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
    let about = "`has`: an inventory of the class. `portion`: it gives portions of this size. `room`: so much is left. `anything`: a group that asks for nothing has to say what its provider must have or be in.";
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
    /// Whether this constraint is all that stands against it.
    pub only: bool,
    /// What it has left of the class.
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
    /// How many there are, and how many of them were looked at.
    pub total: usize,
    pub seen: usize,
    /// How many had a root that lacks what a root must have, or has what it must not.
    pub root_removed: usize,
    /// How many of the others can serve each group, were it alone.
    pub all_groups: usize,
    /// The tree that can serve the most groups but not all.
    pub nearest: Option<NearestTree>,
    /// What else must hold, for those that can serve each group alone: in the order in which it is applied.
    pub rules: Vec<RuleExplained>,
    pub with_candidates: usize,
    /// Of how many it is not known, because finding out takes too long.
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
    /// The root of one of the removed.
    pub example: Option<UuidText>,
}

fn rule() -> Schema {
    let about = "`traits`: the providers of the group without a name have its traits together. `isolation`: groups with a name have different providers. `subtree`: what must be in one subtree is. `room`: what several groups take of one provider fits together. `one_provider`: no two providers of one tree.";
    let all = ["traits", "isolation", "subtree", "room", "one_provider"];
    words(&all).description(Some(about)).into()
}
