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

const PROVIDER_NAME: JsonSchema = &[STRING, MaxLength(200)];
const PARENT: JsonSchema = &[AnyOf(&[UUID, &[Type(&[JsonType::Null])]])];

pub(crate) fn post_provider(version: Microversion) -> JsonSchema {
    const FIRST: JsonSchema = &[
        OBJECT,
        Properties(&[("name", PROVIDER_NAME), ("uuid", UUID)]),
        Required(&["name"]),
        NoOthers,
    ];
    const TREES: JsonSchema = &[
        OBJECT,
        Properties(&[("name", PROVIDER_NAME), ("uuid", UUID), ("parent_provider_uuid", PARENT)]),
        Required(&["name"]),
        NoOthers,
    ];
    version.pick(FIRST, &[(Feature::Trees, TREES)])
}

pub(crate) fn put_provider(version: Microversion) -> JsonSchema {
    const FIRST: JsonSchema =
        &[OBJECT, Properties(&[("name", PROVIDER_NAME)]), Required(&["name"]), NoOthers];
    const TREES: JsonSchema = &[
        OBJECT,
        Properties(&[("name", PROVIDER_NAME), ("parent_provider_uuid", PARENT)]),
        Required(&["name"]),
        NoOthers,
    ];
    version.pick(FIRST, &[(Feature::Trees, TREES)])
}

pub(crate) fn list_providers(version: Microversion) -> JsonSchema {
    const NAME: (&str, JsonSchema) = ("name", TEXT);
    const UUID: (&str, JsonSchema) = ("uuid", DASHED_UUID);
    const MEMBER_OF: (&str, JsonSchema) = ("member_of", TEXT);
    const RESOURCES: (&str, JsonSchema) = ("resources", TEXT);
    const IN_TREE: (&str, JsonSchema) = ("in_tree", DASHED_UUID);
    const REQUIRED: (&str, JsonSchema) = ("required", TEXT);
    version.pick(
        &[OBJECT, Properties(&[NAME, UUID]), NoOthers],
        &[
            (
                Feature::ProvidersByAggregate,
                &[OBJECT, Properties(&[NAME, UUID, MEMBER_OF]), NoOthers],
            ),
            (
                Feature::ProvidersByResources,
                &[OBJECT, Properties(&[NAME, UUID, MEMBER_OF, RESOURCES]), NoOthers],
            ),
            (
                Feature::Trees,
                &[OBJECT, Properties(&[NAME, UUID, MEMBER_OF, RESOURCES, IN_TREE]), NoOthers],
            ),
            (
                Feature::ProvidersByTraits,
                &[
                    OBJECT,
                    Properties(&[NAME, UUID, MEMBER_OF, RESOURCES, IN_TREE, REQUIRED]),
                    NoOthers,
                ],
            ),
        ],
    )
}

const FROM_0: JsonSchema = &[Type(&[JsonType::Integer]), Maximum(INT_MAX), Minimum(0)];
const FROM_1: JsonSchema = &[Type(&[JsonType::Integer]), Maximum(INT_MAX), Minimum(1)];
const RATIO: JsonSchema = &[Type(&[JsonType::Number]), Maximum(FLOAT_MAX)];
const INVENTORY_FIELDS: Keyword = Properties(&[
    ("resource_provider_generation", INTEGER),
    ("total", FROM_1),
    ("reserved", FROM_0),
    ("min_unit", FROM_1),
    ("max_unit", FROM_1),
    ("step_size", FROM_1),
    ("allocation_ratio", RATIO),
]);

pub(crate) const PUT_INVENTORY: JsonSchema =
    &[OBJECT, INVENTORY_FIELDS, Required(&["total", "resource_provider_generation"]), NoOthers];

pub(crate) const POST_INVENTORY: JsonSchema = &[
    OBJECT,
    Properties(&[
        ("resource_provider_generation", INTEGER),
        ("total", FROM_1),
        ("reserved", FROM_0),
        ("min_unit", FROM_1),
        ("max_unit", FROM_1),
        ("step_size", FROM_1),
        ("allocation_ratio", RATIO),
        ("resource_class", &[STRING, Keyword::Pattern(SchemaPattern::Name)]),
    ]),
    Required(&["total", "resource_class"]),
    NoOthers,
];

const INVENTORY_RECORD: JsonSchema = &[OBJECT, INVENTORY_FIELDS, Required(&["total"]), NoOthers];

pub(crate) const PUT_INVENTORIES: JsonSchema = &[
    OBJECT,
    Properties(&[
        ("resource_provider_generation", INTEGER),
        ("inventories", &[OBJECT, PatternProperties(&[(SchemaPattern::Name, INVENTORY_RECORD)])]),
    ]),
    Required(&["resource_provider_generation", "inventories"]),
    NoOthers,
];

const AGGREGATES: JsonSchema = &[ARRAY, Items(UUID), UniqueItems];

pub(crate) fn put_aggregates(version: Microversion) -> JsonSchema {
    const GENERATION: JsonSchema = &[
        OBJECT,
        Properties(&[("aggregates", AGGREGATES), ("resource_provider_generation", INTEGER)]),
        Required(&["aggregates", "resource_provider_generation"]),
        NoOthers,
    ];
    version.pick(AGGREGATES, &[(Feature::AggregatesGeneration, GENERATION)])
}

pub(crate) const NAMED_CLASS: JsonSchema = &[
    OBJECT,
    Properties(&[("name", &[STRING, Keyword::Pattern(SchemaPattern::Custom), MaxLength(255)])]),
    Required(&["name"]),
    NoOthers,
];

/// The name of a custom trait.
pub(crate) const CUSTOM_TRAIT: JsonSchema =
    &[STRING, MinLength(1), MaxLength(255), Keyword::Pattern(SchemaPattern::Custom)];

pub(crate) const PUT_PROVIDER_TRAITS: JsonSchema = &[
    OBJECT,
    Properties(&[
        ("traits", &[ARRAY, Items(&[STRING, MinLength(1), MaxLength(255)])]),
        ("resource_provider_generation", INTEGER),
    ]),
    Required(&["traits", "resource_provider_generation"]),
    NoOthers,
];

pub(crate) const LIST_TRAITS: JsonSchema =
    &[OBJECT, Properties(&[("name", TEXT), ("associated", TEXT)]), NoOthers];

pub(crate) fn usages(version: Microversion) -> JsonSchema {
    const TYPE_ASKED: JsonSchema =
        &[STRING, Keyword::Pattern(SchemaPattern::ConsumerTypeAsked), MinLength(1), MaxLength(255)];
    const FIRST: JsonSchema = &[
        OBJECT,
        Properties(&[("project_id", OWNER), ("user_id", OWNER)]),
        Required(&["project_id"]),
        NoOthers,
    ];
    const TYPES: JsonSchema = &[
        OBJECT,
        Properties(&[("project_id", OWNER), ("user_id", OWNER), ("consumer_type", TYPE_ASKED)]),
        Required(&["project_id"]),
        NoOthers,
    ];
    version.pick(FIRST, &[(Feature::ConsumerTypes, TYPES)])
}

const AMOUNTS: JsonSchema = &[
    OBJECT,
    MinProperties(1),
    PatternProperties(&[(SchemaPattern::Name, &[Type(&[JsonType::Integer]), Minimum(1)])]),
    NoOthers,
];
const LISTED: JsonSchema = &[
    ARRAY,
    MinItems(1),
    Items(&[
        OBJECT,
        Properties(&[
            (
                "resource_provider",
                &[OBJECT, Properties(&[("uuid", UUID)]), NoOthers, Required(&["uuid"])],
            ),
            ("resources", AMOUNTS),
        ]),
        Required(&["resource_provider", "resources"]),
        NoOthers,
    ]),
];
const OF_PROVIDER: JsonSchema = &[
    OBJECT,
    Properties(&[("generation", INTEGER), ("resources", AMOUNTS)]),
    Required(&["resources"]),
    NoOthers,
];
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

const PROJECT: (&str, JsonSchema) = ("project_id", OWNER);
const USER: (&str, JsonSchema) = ("user_id", OWNER);

/// The allocations of one consumer, which may be empty.
const DELETABLE: JsonSchema = &[
    OBJECT,
    Properties(&[("allocations", ANY_BY_PROVIDER), PROJECT, USER]),
    NoOthers,
    Required(&["allocations", "project_id", "user_id"]),
];
const WITH_GENERATION: JsonSchema = &[
    OBJECT,
    Properties(&[
        ("allocations", ANY_BY_PROVIDER),
        PROJECT,
        USER,
        ("consumer_generation", GENERATION_OR_NULL),
    ]),
    NoOthers,
    Required(&["allocations", "project_id", "user_id", "consumer_generation"]),
];
const WITH_MAPPINGS: JsonSchema = &[
    OBJECT,
    Properties(&[
        ("allocations", ANY_BY_PROVIDER),
        PROJECT,
        USER,
        ("consumer_generation", GENERATION_OR_NULL),
        ("mappings", MAPPINGS),
    ]),
    NoOthers,
    Required(&["allocations", "project_id", "user_id", "consumer_generation"]),
];
const WITH_TYPE: JsonSchema = &[
    OBJECT,
    Properties(&[
        ("allocations", ANY_BY_PROVIDER),
        PROJECT,
        USER,
        ("consumer_generation", GENERATION_OR_NULL),
        ("mappings", MAPPINGS),
        ("consumer_type", CONSUMER_TYPE),
    ]),
    NoOthers,
    Required(&["allocations", "project_id", "user_id", "consumer_generation", "consumer_type"]),
];

pub(crate) fn put_allocations(version: Microversion) -> JsonSchema {
    const FIRST: JsonSchema =
        &[OBJECT, Properties(&[("allocations", LISTED)]), Required(&["allocations"]), NoOthers];
    const OWNED: JsonSchema = &[
        OBJECT,
        Properties(&[("allocations", LISTED), PROJECT, USER]),
        Required(&["allocations", "project_id", "user_id"]),
        NoOthers,
    ];
    const BY_PROVIDER: JsonSchema = &[
        OBJECT,
        Properties(&[("allocations", SOME_BY_PROVIDER), PROJECT, USER]),
        NoOthers,
        Required(&["allocations", "project_id", "user_id"]),
    ];
    version.pick(
        FIRST,
        &[
            (Feature::ConsumerOwner, OWNED),
            (Feature::AllocationsByProvider, BY_PROVIDER),
            (Feature::ConsumerGenerations, WITH_GENERATION),
            (Feature::Mappings, WITH_MAPPINGS),
            (Feature::ConsumerTypes, WITH_TYPE),
        ],
    )
}

pub(crate) fn post_allocations(version: Microversion) -> JsonSchema {
    const fn of(consumer: &'static [(SchemaPattern, JsonSchema)]) -> [Keyword; 4] {
        [OBJECT, MinProperties(1), NoOthers, PatternProperties(consumer)]
    }
    const FIRST: JsonSchema = &of(&[(SchemaPattern::Uuid, DELETABLE)]);
    const GENERATION: JsonSchema = &of(&[(SchemaPattern::Uuid, WITH_GENERATION)]);
    const MAPPED: JsonSchema = &of(&[(SchemaPattern::Uuid, WITH_MAPPINGS)]);
    const TYPED: JsonSchema = &of(&[(SchemaPattern::Uuid, WITH_TYPE)]);
    version.pick(
        FIRST,
        &[
            (Feature::ConsumerGenerations, GENERATION),
            (Feature::Mappings, MAPPED),
            (Feature::ConsumerTypes, TYPED),
        ],
    )
}

pub(crate) fn reshape(version: Microversion) -> JsonSchema {
    const INVENTORIES: JsonSchema = &[
        OBJECT,
        PatternProperties(&[(SchemaPattern::Uuid, PUT_INVENTORIES)]),
        MinProperties(1),
        NoOthers,
    ];
    const fn of(properties: &'static [(&'static str, JsonSchema)]) -> [Keyword; 4] {
        [OBJECT, Properties(properties), Required(&["inventories", "allocations"]), NoOthers]
    }
    const fn all(consumer: &'static [(SchemaPattern, JsonSchema)]) -> [Keyword; 3] {
        [OBJECT, NoOthers, PatternProperties(consumer)]
    }
    const GENERATION: JsonSchema = &all(&[(SchemaPattern::Uuid, WITH_GENERATION)]);
    const MAPPED: JsonSchema = &all(&[(SchemaPattern::Uuid, WITH_MAPPINGS)]);
    const TYPED: JsonSchema = &all(&[(SchemaPattern::Uuid, WITH_TYPE)]);
    const FIRST: JsonSchema = &of(&[("inventories", INVENTORIES), ("allocations", GENERATION)]);
    const WITH_MAPPED: JsonSchema = &of(&[("inventories", INVENTORIES), ("allocations", MAPPED)]);
    const WITH_TYPED: JsonSchema = &of(&[("inventories", INVENTORIES), ("allocations", TYPED)]);
    version.pick(FIRST, &[(Feature::Mappings, WITH_MAPPED), (Feature::ConsumerTypes, WITH_TYPED)])
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
    const NEEDED: Keyword = Required(&["resources"]);
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
    version.pick(
        &[OBJECT, Properties(&[RESOURCES]), NEEDED, NoOthers],
        &[
            (
                Feature::CandidatesLimit,
                &[OBJECT, Properties(&[RESOURCES, LIMIT]), NEEDED, NoOthers],
            ),
            (
                Feature::CandidatesByTraits,
                &[OBJECT, Properties(&[RESOURCES, LIMIT, REQUIRED]), NEEDED, NoOthers],
            ),
            (
                Feature::CandidatesByAggregate,
                &[OBJECT, Properties(&[RESOURCES, LIMIT, REQUIRED, MEMBER_OF]), NEEDED, NoOthers],
            ),
            (Feature::Groups, &[OBJECT, Properties(&[LIMIT, POLICY]), NoOthers, NUMBERED]),
            (
                Feature::CandidatesInTree,
                &[OBJECT, Properties(&[LIMIT, POLICY]), NoOthers, NUMBERED_IN_TREE],
            ),
            (Feature::NamedGroups, &[OBJECT, Properties(&[LIMIT, POLICY]), NoOthers, NAMED]),
            (
                Feature::RootRequired,
                &[OBJECT, Properties(&[LIMIT, POLICY, ROOT_REQUIRED]), NoOthers, NAMED],
            ),
            (
                Feature::SameSubtree,
                &[
                    OBJECT,
                    Properties(&[LIMIT, POLICY, ROOT_REQUIRED, SAME_SUBTREE]),
                    NoOthers,
                    NAMED,
                ],
            ),
        ],
    )
}
