//! The schemas of bodies and queries, by microversion.
//!
//! They are facts about the interface, in the order in which its own description has them. A function picks the form of a
//! version; what came with which version is in its list.

use super::pattern::Pattern;
use super::{Format, Kind, Limit, Rule, Schema};
use crate::versions::{Feature, Version};

use Rule::{
    AnyOf, Enum, Items, MaxLength, Maximum, MinItems, MinLength, MinProperties, Minimum, NoOthers,
    PatternProperties, Properties, Required, Type, UniqueItems,
};

const OBJECT: Rule = Type(&[Kind::Object]);
const ARRAY: Rule = Type(&[Kind::Array]);
const STRING: Rule = Type(&[Kind::String]);
const INT_MAX: Limit = Limit::Whole(0x7fff_ffff);
const FLOAT_MAX: Limit = Limit::Float(3.40282e38);

const TEXT: Schema = &[STRING];
const INTEGER: Schema = &[Type(&[Kind::Integer])];
const UUID: Schema = &[STRING, Rule::Format(Format::Uuid)];
const DASHED_UUID: Schema = &[STRING, Rule::Format(Format::DashedUuid)];
/// The id of a project or a user.
const OWNER: Schema = &[STRING, MinLength(1), MaxLength(255)];

const PROVIDER_NAME: Schema = &[STRING, MaxLength(200)];
const PARENT: Schema = &[AnyOf(&[UUID, &[Type(&[Kind::Null])]])];

pub(crate) fn post_provider(version: Version) -> Schema {
    const FIRST: Schema = &[
        OBJECT,
        Properties(&[("name", PROVIDER_NAME), ("uuid", UUID)]),
        Required(&["name"]),
        NoOthers,
    ];
    const TREES: Schema = &[
        OBJECT,
        Properties(&[("name", PROVIDER_NAME), ("uuid", UUID), ("parent_provider_uuid", PARENT)]),
        Required(&["name"]),
        NoOthers,
    ];
    version.pick(FIRST, &[(Feature::Trees, TREES)])
}

pub(crate) fn put_provider(version: Version) -> Schema {
    const FIRST: Schema =
        &[OBJECT, Properties(&[("name", PROVIDER_NAME)]), Required(&["name"]), NoOthers];
    const TREES: Schema = &[
        OBJECT,
        Properties(&[("name", PROVIDER_NAME), ("parent_provider_uuid", PARENT)]),
        Required(&["name"]),
        NoOthers,
    ];
    version.pick(FIRST, &[(Feature::Trees, TREES)])
}

pub(crate) fn list_providers(version: Version) -> Schema {
    const NAME: (&str, Schema) = ("name", TEXT);
    const UUID: (&str, Schema) = ("uuid", DASHED_UUID);
    const MEMBER_OF: (&str, Schema) = ("member_of", TEXT);
    const RESOURCES: (&str, Schema) = ("resources", TEXT);
    const IN_TREE: (&str, Schema) = ("in_tree", DASHED_UUID);
    const REQUIRED: (&str, Schema) = ("required", TEXT);
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

const FROM_0: Schema = &[Type(&[Kind::Integer]), Maximum(INT_MAX), Minimum(0)];
const FROM_1: Schema = &[Type(&[Kind::Integer]), Maximum(INT_MAX), Minimum(1)];
const RATIO: Schema = &[Type(&[Kind::Number]), Maximum(FLOAT_MAX)];
const INVENTORY_FIELDS: Rule = Properties(&[
    ("resource_provider_generation", INTEGER),
    ("total", FROM_1),
    ("reserved", FROM_0),
    ("min_unit", FROM_1),
    ("max_unit", FROM_1),
    ("step_size", FROM_1),
    ("allocation_ratio", RATIO),
]);

pub(crate) const PUT_INVENTORY: Schema =
    &[OBJECT, INVENTORY_FIELDS, Required(&["total", "resource_provider_generation"]), NoOthers];

pub(crate) const POST_INVENTORY: Schema = &[
    OBJECT,
    Properties(&[
        ("resource_provider_generation", INTEGER),
        ("total", FROM_1),
        ("reserved", FROM_0),
        ("min_unit", FROM_1),
        ("max_unit", FROM_1),
        ("step_size", FROM_1),
        ("allocation_ratio", RATIO),
        ("resource_class", &[STRING, Rule::Pattern(Pattern::Name)]),
    ]),
    Required(&["total", "resource_class"]),
    NoOthers,
];

const INVENTORY_RECORD: Schema = &[OBJECT, INVENTORY_FIELDS, Required(&["total"]), NoOthers];

pub(crate) const PUT_INVENTORIES: Schema = &[
    OBJECT,
    Properties(&[
        ("resource_provider_generation", INTEGER),
        ("inventories", &[OBJECT, PatternProperties(&[(Pattern::Name, INVENTORY_RECORD)])]),
    ]),
    Required(&["resource_provider_generation", "inventories"]),
    NoOthers,
];

const AGGREGATES: Schema = &[ARRAY, Items(UUID), UniqueItems];

pub(crate) fn put_aggregates(version: Version) -> Schema {
    const GENERATION: Schema = &[
        OBJECT,
        Properties(&[("aggregates", AGGREGATES), ("resource_provider_generation", INTEGER)]),
        Required(&["aggregates", "resource_provider_generation"]),
        NoOthers,
    ];
    version.pick(AGGREGATES, &[(Feature::AggregatesGeneration, GENERATION)])
}

pub(crate) const NAMED_CLASS: Schema = &[
    OBJECT,
    Properties(&[("name", &[STRING, Rule::Pattern(Pattern::Custom), MaxLength(255)])]),
    Required(&["name"]),
    NoOthers,
];

/// The name of a trait that may be made.
pub(crate) const CUSTOM_TRAIT: Schema =
    &[STRING, MinLength(1), MaxLength(255), Rule::Pattern(Pattern::Custom)];

pub(crate) const PUT_PROVIDER_TRAITS: Schema = &[
    OBJECT,
    Properties(&[
        ("traits", &[ARRAY, Items(&[STRING, MinLength(1), MaxLength(255)])]),
        ("resource_provider_generation", INTEGER),
    ]),
    Required(&["traits", "resource_provider_generation"]),
    NoOthers,
];

pub(crate) const LIST_TRAITS: Schema =
    &[OBJECT, Properties(&[("name", TEXT), ("associated", TEXT)]), NoOthers];

pub(crate) fn usages(version: Version) -> Schema {
    const TYPE_ASKED: Schema =
        &[STRING, Rule::Pattern(Pattern::ConsumerTypeAsked), MinLength(1), MaxLength(255)];
    const FIRST: Schema = &[
        OBJECT,
        Properties(&[("project_id", OWNER), ("user_id", OWNER)]),
        Required(&["project_id"]),
        NoOthers,
    ];
    const TYPES: Schema = &[
        OBJECT,
        Properties(&[("project_id", OWNER), ("user_id", OWNER), ("consumer_type", TYPE_ASKED)]),
        Required(&["project_id"]),
        NoOthers,
    ];
    version.pick(FIRST, &[(Feature::ConsumerTypes, TYPES)])
}

const AMOUNTS: Schema = &[
    OBJECT,
    MinProperties(1),
    PatternProperties(&[(Pattern::Name, &[Type(&[Kind::Integer]), Minimum(1)])]),
    NoOthers,
];
const LISTED: Schema = &[
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
const OF_PROVIDER: Schema = &[
    OBJECT,
    Properties(&[("generation", INTEGER), ("resources", AMOUNTS)]),
    Required(&["resources"]),
    NoOthers,
];
const SOME_BY_PROVIDER: Schema =
    &[OBJECT, MinProperties(1), PatternProperties(&[(Pattern::Uuid, OF_PROVIDER)]), NoOthers];
const ANY_BY_PROVIDER: Schema =
    &[OBJECT, PatternProperties(&[(Pattern::Uuid, OF_PROVIDER)]), NoOthers];
const GENERATION_OR_NULL: Schema = &[Type(&[Kind::Integer, Kind::Null])];
const MAPPINGS: Schema = &[
    OBJECT,
    MinProperties(1),
    PatternProperties(&[(Pattern::Suffix, &[ARRAY, MinItems(1), Items(UUID)])]),
];
const CONSUMER_TYPE: Schema = &[STRING, Rule::Pattern(Pattern::Name), MinLength(1), MaxLength(255)];

const PROJECT: (&str, Schema) = ("project_id", OWNER);
const USER: (&str, Schema) = ("user_id", OWNER);

/// What one consumer gets, where it may also be nothing.
const DELETABLE: Schema = &[
    OBJECT,
    Properties(&[("allocations", ANY_BY_PROVIDER), PROJECT, USER]),
    NoOthers,
    Required(&["allocations", "project_id", "user_id"]),
];
const WITH_GENERATION: Schema = &[
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
const WITH_MAPPINGS: Schema = &[
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
const WITH_TYPE: Schema = &[
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

pub(crate) fn put_allocations(version: Version) -> Schema {
    const FIRST: Schema =
        &[OBJECT, Properties(&[("allocations", LISTED)]), Required(&["allocations"]), NoOthers];
    const OWNED: Schema = &[
        OBJECT,
        Properties(&[("allocations", LISTED), PROJECT, USER]),
        Required(&["allocations", "project_id", "user_id"]),
        NoOthers,
    ];
    const BY_PROVIDER: Schema = &[
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

pub(crate) fn post_allocations(version: Version) -> Schema {
    const fn of(consumer: &'static [(Pattern, Schema)]) -> [Rule; 4] {
        [OBJECT, MinProperties(1), NoOthers, PatternProperties(consumer)]
    }
    const FIRST: Schema = &of(&[(Pattern::Uuid, DELETABLE)]);
    const GENERATION: Schema = &of(&[(Pattern::Uuid, WITH_GENERATION)]);
    const MAPPED: Schema = &of(&[(Pattern::Uuid, WITH_MAPPINGS)]);
    const TYPED: Schema = &of(&[(Pattern::Uuid, WITH_TYPE)]);
    version.pick(
        FIRST,
        &[
            (Feature::ConsumerGenerations, GENERATION),
            (Feature::Mappings, MAPPED),
            (Feature::ConsumerTypes, TYPED),
        ],
    )
}

pub(crate) fn reshape(version: Version) -> Schema {
    const INVENTORIES: Schema = &[
        OBJECT,
        PatternProperties(&[(Pattern::Uuid, PUT_INVENTORIES)]),
        MinProperties(1),
        NoOthers,
    ];
    const fn of(properties: &'static [(&'static str, Schema)]) -> [Rule; 4] {
        [OBJECT, Properties(properties), Required(&["inventories", "allocations"]), NoOthers]
    }
    const fn all(consumer: &'static [(Pattern, Schema)]) -> [Rule; 3] {
        [OBJECT, NoOthers, PatternProperties(consumer)]
    }
    const GENERATION: Schema = &all(&[(Pattern::Uuid, WITH_GENERATION)]);
    const MAPPED: Schema = &all(&[(Pattern::Uuid, WITH_MAPPINGS)]);
    const TYPED: Schema = &all(&[(Pattern::Uuid, WITH_TYPE)]);
    const FIRST: Schema = &of(&[("inventories", INVENTORIES), ("allocations", GENERATION)]);
    const WITH_MAPPED: Schema = &of(&[("inventories", INVENTORIES), ("allocations", MAPPED)]);
    const WITH_TYPED: Schema = &of(&[("inventories", INVENTORIES), ("allocations", TYPED)]);
    version.pick(FIRST, &[(Feature::Mappings, WITH_MAPPED), (Feature::ConsumerTypes, WITH_TYPED)])
}

const LIMIT: (&str, Schema) = (
    "limit",
    &[
        Type(&[Kind::Integer, Kind::String]),
        Rule::Pattern(Pattern::Positive),
        Minimum(1),
        MinLength(1),
    ],
);

pub(crate) fn candidates(version: Version) -> Schema {
    const RESOURCES: (&str, Schema) = ("resources", TEXT);
    const REQUIRED: (&str, Schema) = ("required", TEXT);
    const MEMBER_OF: (&str, Schema) = ("member_of", TEXT);
    const POLICY: (&str, Schema) = ("group_policy", &[STRING, Enum(&["none", "isolate"])]);
    const ROOT_REQUIRED: (&str, Schema) = ("root_required", TEXT);
    const SAME_SUBTREE: (&str, Schema) = ("same_subtree", TEXT);
    const NEEDED: Rule = Required(&["resources"]);
    const NUMBERED: Rule = PatternProperties(&[
        (Pattern::Numbered("resources"), TEXT),
        (Pattern::Numbered("required"), TEXT),
        (Pattern::Numbered("member_of"), TEXT),
    ]);
    const NUMBERED_IN_TREE: Rule = PatternProperties(&[
        (Pattern::Numbered("resources"), TEXT),
        (Pattern::Numbered("required"), TEXT),
        (Pattern::Numbered("member_of"), TEXT),
        (Pattern::Numbered("in_tree"), TEXT),
    ]);
    const NAMED: Rule = PatternProperties(&[
        (Pattern::Named("resources"), TEXT),
        (Pattern::Named("required"), TEXT),
        (Pattern::Named("member_of"), TEXT),
        (Pattern::Named("in_tree"), TEXT),
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
