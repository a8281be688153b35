//! The schemas of bodies and query strings, by microversion.
//!
//! They have the order of Placement's own schemas, which error texts show. A function returns the schema for a version.

use super::pattern::SchemaPattern;
use super::{JsonSchema, JsonType, Keyword, MaximumValue, StringFormat};
use crate::versions::{Feature, Microversion};

use Keyword::{
    AnyOf, Enum, Items, MaxLength, Maximum, MinItems, MinLength, MinProperties, Minimum, NoOthers,
    PatternProperties, Properties, Required, Type, UniqueItems,
};

const OBJECT: Keyword = Type(&[JsonType::Object]);
const ARRAY: Keyword = Type(&[JsonType::Array]);
const STRING: Keyword = Type(&[JsonType::String]);
const INT_MAX: MaximumValue = MaximumValue::Whole(0x7fff_ffff);
const FLOAT_MAX: MaximumValue = MaximumValue::Float(3.40282e38);

const TEXT: JsonSchema = &[STRING];
const INTEGER: JsonSchema = &[Type(&[JsonType::Integer])];
const UUID: JsonSchema = &[STRING, Keyword::Format(StringFormat::Uuid)];
const DASHED_UUID: JsonSchema = &[STRING, Keyword::Format(StringFormat::DashedUuid)];
/// The ID of a project or a user.
const OWNER: JsonSchema = &[STRING, MinLength(1), MaxLength(255)];

type PropertyList = &'static [(&'static str, JsonSchema)];

/// An object with these properties and no others.
const fn object(properties: PropertyList, required: &'static [&'static str]) -> [Keyword; 4] {
    [OBJECT, Properties(properties), Required(required), NoOthers]
}

/// An object with these properties and no others, all of them optional.
const fn optional(properties: PropertyList) -> [Keyword; 3] {
    [OBJECT, Properties(properties), NoOthers]
}

const PROVIDER_NAME: JsonSchema = &[STRING, MaxLength(200)];
const PARENT: JsonSchema = &[AnyOf(&[UUID, &[Type(&[JsonType::Null])]])];

pub(crate) fn post_provider(version: Microversion) -> JsonSchema {
    const NAME: (&str, JsonSchema) = ("name", PROVIDER_NAME);
    const TREES: JsonSchema =
        &object(&[NAME, ("uuid", UUID), ("parent_provider_uuid", PARENT)], &["name"]);
    const FIRST: JsonSchema = &object(&[NAME, ("uuid", UUID)], &["name"]);
    version.pick(FIRST, &[(Feature::Trees, TREES)])
}

pub(crate) fn put_provider(version: Microversion) -> JsonSchema {
    const NAME: (&str, JsonSchema) = ("name", PROVIDER_NAME);
    const TREES: JsonSchema = &object(&[NAME, ("parent_provider_uuid", PARENT)], &["name"]);
    const FIRST: JsonSchema = &object(&[NAME], &["name"]);
    version.pick(FIRST, &[(Feature::Trees, TREES)])
}

pub(crate) fn list_providers(version: Microversion) -> JsonSchema {
    const NAME: (&str, JsonSchema) = ("name", TEXT);
    const UUID: (&str, JsonSchema) = ("uuid", DASHED_UUID);
    const MEMBER_OF: (&str, JsonSchema) = ("member_of", TEXT);
    const RESOURCES: (&str, JsonSchema) = ("resources", TEXT);
    const IN_TREE: (&str, JsonSchema) = ("in_tree", DASHED_UUID);
    const REQUIRED: (&str, JsonSchema) = ("required", TEXT);
    const FIRST: JsonSchema = &optional(&[NAME, UUID]);
    const LATER: &[(Feature, JsonSchema)] = &[
        (Feature::ProvidersByAggregate, &optional(&[NAME, UUID, MEMBER_OF])),
        (Feature::ProvidersByResources, &optional(&[NAME, UUID, MEMBER_OF, RESOURCES])),
        (Feature::Trees, &optional(&[NAME, UUID, MEMBER_OF, RESOURCES, IN_TREE])),
        (
            Feature::ProvidersByTraits,
            &optional(&[NAME, UUID, MEMBER_OF, RESOURCES, IN_TREE, REQUIRED]),
        ),
    ];
    version.pick(FIRST, LATER)
}

const FROM_0: JsonSchema = &[Type(&[JsonType::Integer]), Maximum(INT_MAX), Minimum(0)];
const FROM_1: JsonSchema = &[Type(&[JsonType::Integer]), Maximum(INT_MAX), Minimum(1)];
const RATIO: JsonSchema = &[Type(&[JsonType::Number]), Maximum(FLOAT_MAX)];
const GENERATION: (&str, JsonSchema) = ("resource_provider_generation", INTEGER);
const TOTAL: (&str, JsonSchema) = ("total", FROM_1);
const RESERVED: (&str, JsonSchema) = ("reserved", FROM_0);
const MIN_UNIT: (&str, JsonSchema) = ("min_unit", FROM_1);
const MAX_UNIT: (&str, JsonSchema) = ("max_unit", FROM_1);
const STEP_SIZE: (&str, JsonSchema) = ("step_size", FROM_1);
const ALLOCATION_RATIO: (&str, JsonSchema) = ("allocation_ratio", RATIO);
const INVENTORY: PropertyList =
    &[GENERATION, TOTAL, RESERVED, MIN_UNIT, MAX_UNIT, STEP_SIZE, ALLOCATION_RATIO];

pub(crate) const PUT_INVENTORY: JsonSchema =
    &object(INVENTORY, &["total", "resource_provider_generation"]);

pub(crate) const POST_INVENTORY: JsonSchema = &object(
    &[
        GENERATION,
        TOTAL,
        RESERVED,
        MIN_UNIT,
        MAX_UNIT,
        STEP_SIZE,
        ALLOCATION_RATIO,
        ("resource_class", &[STRING, Keyword::Pattern(SchemaPattern::Name)]),
    ],
    &["total", "resource_class"],
);

const INVENTORY_RECORD: JsonSchema = &object(INVENTORY, &["total"]);
const BY_CLASS: JsonSchema =
    &[OBJECT, PatternProperties(&[(SchemaPattern::Name, INVENTORY_RECORD)])];

pub(crate) const PUT_INVENTORIES: JsonSchema = &object(
    &[GENERATION, ("inventories", BY_CLASS)],
    &["resource_provider_generation", "inventories"],
);

const AGGREGATES: JsonSchema = &[ARRAY, Items(UUID), UniqueItems];

pub(crate) fn put_aggregates(version: Microversion) -> JsonSchema {
    const WITH_GENERATION: JsonSchema = &object(
        &[("aggregates", AGGREGATES), GENERATION],
        &["aggregates", "resource_provider_generation"],
    );
    version.pick(AGGREGATES, &[(Feature::AggregatesGeneration, WITH_GENERATION)])
}

const CLASS_NAME: JsonSchema = &[STRING, Keyword::Pattern(SchemaPattern::Custom), MaxLength(255)];
pub(crate) const NAMED_CLASS: JsonSchema = &object(&[("name", CLASS_NAME)], &["name"]);

/// The name of a custom trait.
pub(crate) const CUSTOM_TRAIT: JsonSchema =
    &[STRING, MinLength(1), MaxLength(255), Keyword::Pattern(SchemaPattern::Custom)];

const TRAITS: JsonSchema = &[ARRAY, Items(&[STRING, MinLength(1), MaxLength(255)])];
pub(crate) const PUT_PROVIDER_TRAITS: JsonSchema =
    &object(&[("traits", TRAITS), GENERATION], &["traits", "resource_provider_generation"]);

pub(crate) const LIST_TRAITS: JsonSchema = &optional(&[("name", TEXT), ("associated", TEXT)]);

const PROJECT: (&str, JsonSchema) = ("project_id", OWNER);
const USER: (&str, JsonSchema) = ("user_id", OWNER);

pub(crate) fn usages(version: Microversion) -> JsonSchema {
    const TYPE_ASKED: JsonSchema =
        &[STRING, Keyword::Pattern(SchemaPattern::ConsumerTypeAsked), MinLength(1), MaxLength(255)];
    const FIRST: JsonSchema = &object(&[PROJECT, USER], &["project_id"]);
    const TYPES: JsonSchema =
        &object(&[PROJECT, USER, ("consumer_type", TYPE_ASKED)], &["project_id"]);
    version.pick(FIRST, &[(Feature::ConsumerTypes, TYPES)])
}

const AMOUNTS: JsonSchema = &[
    OBJECT,
    MinProperties(1),
    PatternProperties(&[(SchemaPattern::Name, &[Type(&[JsonType::Integer]), Minimum(1)])]),
    NoOthers,
];
const NAMED_PROVIDER: JsonSchema = &owned(&[("uuid", UUID)], &["uuid"]);
const LISTED: JsonSchema = &[
    ARRAY,
    MinItems(1),
    Items(&object(
        &[("resource_provider", NAMED_PROVIDER), ("resources", AMOUNTS)],
        &["resource_provider", "resources"],
    )),
];
const OF_PROVIDER: JsonSchema =
    &object(&[("generation", INTEGER), ("resources", AMOUNTS)], &["resources"]);
const SOME_BY_PROVIDER: JsonSchema =
    &[OBJECT, MinProperties(1), PatternProperties(&[(SchemaPattern::Uuid, OF_PROVIDER)]), NoOthers];
const ANY_BY_PROVIDER: JsonSchema =
    &[OBJECT, PatternProperties(&[(SchemaPattern::Uuid, OF_PROVIDER)]), NoOthers];
const GENERATION_OR_NULL: JsonSchema = &[Type(&[JsonType::Integer, JsonType::Null])];
const MAPPINGS: JsonSchema = &[
    OBJECT,
    MinProperties(1),
    PatternProperties(&[(SchemaPattern::Suffix, &[ARRAY, MinItems(1), Items(UUID)])]),
];
const CONSUMER_TYPE: JsonSchema =
    &[STRING, Keyword::Pattern(SchemaPattern::Name), MinLength(1), MaxLength(255)];

/// As [`object`], with the keywords in the order of Placement's schemas of allocations.
const fn owned(properties: PropertyList, required: &'static [&'static str]) -> [Keyword; 4] {
    [OBJECT, Properties(properties), NoOthers, Required(required)]
}

const ALLOCATIONS: (&str, JsonSchema) = ("allocations", ANY_BY_PROVIDER);
const CONSUMER_GENERATION: (&str, JsonSchema) = ("consumer_generation", GENERATION_OR_NULL);

/// The allocations of one consumer, which may be empty.
const DELETABLE: JsonSchema =
    &owned(&[ALLOCATIONS, PROJECT, USER], &["allocations", "project_id", "user_id"]);
const WITH_GENERATION: JsonSchema = &owned(
    &[ALLOCATIONS, PROJECT, USER, CONSUMER_GENERATION],
    &["allocations", "project_id", "user_id", "consumer_generation"],
);
const WITH_MAPPINGS: JsonSchema = &owned(
    &[ALLOCATIONS, PROJECT, USER, CONSUMER_GENERATION, ("mappings", MAPPINGS)],
    &["allocations", "project_id", "user_id", "consumer_generation"],
);
const WITH_TYPE: JsonSchema = &owned(
    &[
        ALLOCATIONS,
        PROJECT,
        USER,
        CONSUMER_GENERATION,
        ("mappings", MAPPINGS),
        ("consumer_type", CONSUMER_TYPE),
    ],
    &["allocations", "project_id", "user_id", "consumer_generation", "consumer_type"],
);

pub(crate) fn put_allocations(version: Microversion) -> JsonSchema {
    const REQUIRED: &[&str] = &["allocations", "project_id", "user_id"];
    const FIRST: JsonSchema = &object(&[("allocations", LISTED)], &["allocations"]);
    const LATER: &[(Feature, JsonSchema)] = &[
        (Feature::ConsumerOwner, &object(&[("allocations", LISTED), PROJECT, USER], REQUIRED)),
        (
            Feature::AllocationsByProvider,
            &owned(&[("allocations", SOME_BY_PROVIDER), PROJECT, USER], REQUIRED),
        ),
        (Feature::ConsumerGenerations, WITH_GENERATION),
        (Feature::Mappings, WITH_MAPPINGS),
        (Feature::ConsumerTypes, WITH_TYPE),
    ];
    version.pick(FIRST, LATER)
}

pub(crate) fn post_allocations(version: Microversion) -> JsonSchema {
    const fn of(consumer: &'static [(SchemaPattern, JsonSchema)]) -> [Keyword; 4] {
        [OBJECT, MinProperties(1), NoOthers, PatternProperties(consumer)]
    }
    const FIRST: JsonSchema = &of(&[(SchemaPattern::Uuid, DELETABLE)]);
    const LATER: &[(Feature, JsonSchema)] = &[
        (Feature::ConsumerGenerations, &of(&[(SchemaPattern::Uuid, WITH_GENERATION)])),
        (Feature::Mappings, &of(&[(SchemaPattern::Uuid, WITH_MAPPINGS)])),
        (Feature::ConsumerTypes, &of(&[(SchemaPattern::Uuid, WITH_TYPE)])),
    ];
    version.pick(FIRST, LATER)
}

pub(crate) fn reshape(version: Microversion) -> JsonSchema {
    const INVENTORIES: (&str, JsonSchema) = (
        "inventories",
        &[
            OBJECT,
            PatternProperties(&[(SchemaPattern::Uuid, PUT_INVENTORIES)]),
            MinProperties(1),
            NoOthers,
        ],
    );
    const BOTH: &[&str] = &["inventories", "allocations"];
    const fn of(consumer: &'static [(SchemaPattern, JsonSchema)]) -> [Keyword; 3] {
        [OBJECT, NoOthers, PatternProperties(consumer)]
    }
    const GENERATION: JsonSchema = &of(&[(SchemaPattern::Uuid, WITH_GENERATION)]);
    const MAPPED: JsonSchema = &of(&[(SchemaPattern::Uuid, WITH_MAPPINGS)]);
    const TYPED: JsonSchema = &of(&[(SchemaPattern::Uuid, WITH_TYPE)]);
    const FIRST: JsonSchema = &object(&[INVENTORIES, ("allocations", GENERATION)], BOTH);
    const LATER: &[(Feature, JsonSchema)] = &[
        (Feature::Mappings, &object(&[INVENTORIES, ("allocations", MAPPED)], BOTH)),
        (Feature::ConsumerTypes, &object(&[INVENTORIES, ("allocations", TYPED)], BOTH)),
    ];
    version.pick(FIRST, LATER)
}

const LIMIT: (&str, JsonSchema) = (
    "limit",
    &[
        Type(&[JsonType::Integer, JsonType::String]),
        Keyword::Pattern(SchemaPattern::Positive),
        Minimum(1),
        MinLength(1),
    ],
);

pub(crate) fn candidates(version: Microversion) -> JsonSchema {
    const RESOURCES: (&str, JsonSchema) = ("resources", TEXT);
    const REQUIRED: (&str, JsonSchema) = ("required", TEXT);
    const MEMBER_OF: (&str, JsonSchema) = ("member_of", TEXT);
    const POLICY: (&str, JsonSchema) = ("group_policy", &[STRING, Enum(&["none", "isolate"])]);
    const ROOT_REQUIRED: (&str, JsonSchema) = ("root_required", TEXT);
    const SAME_SUBTREE: (&str, JsonSchema) = ("same_subtree", TEXT);
    const fn grouped(properties: PropertyList, groups: Keyword) -> [Keyword; 4] {
        [OBJECT, Properties(properties), NoOthers, groups]
    }
    const NUMBERED: Keyword = PatternProperties(&[
        (SchemaPattern::Numbered("resources"), TEXT),
        (SchemaPattern::Numbered("required"), TEXT),
        (SchemaPattern::Numbered("member_of"), TEXT),
    ]);
    const NUMBERED_IN_TREE: Keyword = PatternProperties(&[
        (SchemaPattern::Numbered("resources"), TEXT),
        (SchemaPattern::Numbered("required"), TEXT),
        (SchemaPattern::Numbered("member_of"), TEXT),
        (SchemaPattern::Numbered("in_tree"), TEXT),
    ]);
    const NAMED: Keyword = PatternProperties(&[
        (SchemaPattern::Named("resources"), TEXT),
        (SchemaPattern::Named("required"), TEXT),
        (SchemaPattern::Named("member_of"), TEXT),
        (SchemaPattern::Named("in_tree"), TEXT),
    ]);
    const FIRST: JsonSchema = &object(&[RESOURCES], &["resources"]);
    const LATER: &[(Feature, JsonSchema)] = &[
        (Feature::CandidatesLimit, &object(&[RESOURCES, LIMIT], &["resources"])),
        (Feature::CandidatesByTraits, &object(&[RESOURCES, LIMIT, REQUIRED], &["resources"])),
        (
            Feature::CandidatesByAggregate,
            &object(&[RESOURCES, LIMIT, REQUIRED, MEMBER_OF], &["resources"]),
        ),
        (Feature::Groups, &grouped(&[LIMIT, POLICY], NUMBERED)),
        (Feature::CandidatesInTree, &grouped(&[LIMIT, POLICY], NUMBERED_IN_TREE)),
        (Feature::NamedGroups, &grouped(&[LIMIT, POLICY], NAMED)),
        (Feature::RootRequired, &grouped(&[LIMIT, POLICY, ROOT_REQUIRED], NAMED)),
        (Feature::SameSubtree, &grouped(&[LIMIT, POLICY, ROOT_REQUIRED, SAME_SUBTREE], NAMED)),
    ];
    version.pick(FIRST, LATER)
}
