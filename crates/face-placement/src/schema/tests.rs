//! Validation and its error texts.

use serde_json::json;

use super::*;
use crate::versions::Microversion;

fn version(minor: u8) -> Microversion {
    Microversion::tested(minor)
}

const RP: &str = "7a3f0a5e-0000-4000-8000-00000000000b";

#[test]
fn an_error_names_the_keyword_the_path_and_the_value() {
    let why =
        check(&json!({"total": 0, "resource_provider_generation": 1}), schemas::PUT_INVENTORY);
    let why = why.unwrap();
    assert!(
        why.starts_with(
            "0 is less than the minimum of 1\n\nFailed validating 'minimum' in schema['properties']['total']:\n    {'type': 'integer', 'maximum': 2147483647, 'minimum': 1}\n\nOn instance['total']:\n    0"
        ),
        "{why}"
    );
    let why = check(&json!({}), schemas::post_provider(version(0))).unwrap();
    assert!(why.starts_with("'name' is a required property\n\nFailed validating 'required' in schema:\n    {'type': 'object',"), "{why}");
    assert!(why.ends_with("On instance:\n    {}"), "{why}");
    let body =
        json!({"allocations": [{"resource_provider": {"uuid": "x"}, "resources": {"VCPU": 1}}]});
    let why = check(&body, schemas::put_allocations(version(0))).unwrap();
    assert!(why.starts_with("'x' is not a 'uuid'"), "{why}");
    assert!(why.contains("in schema['properties']['allocations']['items']['properties']['resource_provider']['properties']['uuid']:"), "{why}");
    assert!(
        why.contains("On instance['allocations'][0]['resource_provider']['uuid']:\n    'x'"),
        "{why}"
    );
}

#[test]
fn bodies_are_validated_by_the_schema_of_their_version() {
    let owned = |extra: Value| {
        let mut body = json!({
            "allocations": {RP: {"resources": {"VCPU": 1}}},
            "project_id": "p",
            "user_id": "u",
        });
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let list =
        json!({"allocations": [{"resource_provider": {"uuid": RP}, "resources": {"VCPU": 1}}]});
    let empty = owned(json!({"allocations": {}, "consumer_generation": null}));
    let typed = owned(json!({"consumer_generation": 1, "consumer_type": "INSTANCE"}));
    for (body, minor, words) in [
        (list.clone(), 0, ""),
        (list.clone(), 8, "'project_id' is a required property"),
        (owned(json!({"allocations": []})), 12, "[] is not of type 'object'"),
        (owned(json!({})), 12, ""),
        (owned(json!({})), 28, "'consumer_generation' is a required property"),
        (owned(json!({"allocations": {}})), 12, "{} should be non-empty"),
        (empty.clone(), 28, ""),
        (
            empty.clone(),
            27,
            "Additional properties are not allowed ('consumer_generation' was unexpected)",
        ),
        (empty, 38, "'consumer_type' is a required property"),
        (typed.clone(), 38, ""),
        (typed, 37, "'consumer_type' was unexpected"),
        (
            owned(json!({"consumer_generation": 1, "consumer_type": "instance"})),
            38,
            "'instance' does not match '^[A-Z0-9_]+$'",
        ),
        (owned(json!({"consumer_generation": "1"})), 28, "'1' is not of type 'integer', 'null'"),
        (owned(json!({"consumer_generation": 1.0})), 28, ""),
        (owned(json!({"consumer_generation": 1, "mappings": {}})), 34, "{} should be non-empty"),
        (owned(json!({"consumer_generation": 1, "mappings": {"": ["x"]}})), 34, ""),
        (
            owned(json!({"consumer_generation": 1, "mappings": {"a": ["x"]}})),
            34,
            "'x' is not a 'uuid'",
        ),
        (
            owned(json!({"allocations": {"x": {}}})),
            12,
            "'x' does not match any of the regexes: '^[0-9a-fA-F-]{36}$'",
        ),
        (
            owned(json!({"project_id": ""})),
            12,
            "'' should be non-empty\n\nFailed validating 'minLength'",
        ),
        (
            owned(json!({"project_id": "x".repeat(256)})),
            12,
            "is too long\n\nFailed validating 'maxLength'",
        ),
    ] {
        let why = check(&body, schemas::put_allocations(version(minor)));
        match why {
            None => assert_eq!(words, "", "1.{minor} {body}"),
            Some(why) => {
                assert!(!words.is_empty() && why.contains(words), "1.{minor} {body}: {why}")
            }
        }
    }
}

#[test]
fn other_schemas_give_the_error_texts_that_clients_know() {
    let aggregates = schemas::put_aggregates(version(19));
    let by_tree = schemas::post_provider(version(14));
    for (body, schema, words) in [
        (
            json!({"aggregates": [RP, RP], "resource_provider_generation": 1}),
            aggregates,
            "has non-unique elements",
        ),
        (
            json!({"aggregates": "invalid_type", "resource_provider_generation": 1}),
            aggregates,
            "'invalid_type' is not of type 'array'",
        ),
        (
            json!({"name": "x", "parent_provider_uuid": "y"}),
            by_tree,
            "'y' is not a 'uuid'\n\nFailed validating 'format' in schema[0]",
        ),
        (
            json!({"name": "x", "parent_provider_uuid": 7}),
            by_tree,
            "7 is not valid under any of the given schemas",
        ),
        (
            json!({"name": "x", "a": 1, "b": 2}),
            by_tree,
            "Additional properties are not allowed ('a', 'b' were unexpected)",
        ),
        (
            json!({"total": 1, "resource_class": "VCPU", "allocation_ratio": 1e39}),
            schemas::POST_INVENTORY,
            "1e+39 is greater than the maximum of 3.40282e+38",
        ),
        (
            json!({"total": 2_147_483_648_u64, "resource_class": "VCPU"}),
            schemas::POST_INVENTORY,
            "Failed validating 'maximum'",
        ),
        (
            json!({"group_policy": "bogus"}),
            schemas::candidates(version(25)),
            "'bogus' is not one of ['none', 'isolate']",
        ),
        (
            json!({"resources01": "x"}),
            schemas::candidates(version(25)),
            "'resources01' does not match any of the regexes: '^member_of([1-9][0-9]*)?$', '^required",
        ),
        (
            json!({"resources1": "x"}),
            schemas::candidates(version(21)),
            "'resources' is a required property",
        ),
        (
            json!({"limit": "0", "resources": "x"}),
            schemas::candidates(version(16)),
            "Failed validating 'pattern'",
        ),
        (
            json!({"uuid": "7a3f0a5e000040008000000000000000"}),
            schemas::list_providers(version(0)),
            "is not a 'uuid'",
        ),
    ] {
        let why = check(&body, schema).unwrap();
        assert!(why.contains(words), "{body}: {why}");
    }
    for (body, schema) in [
        (json!({"name": "x", "parent_provider_uuid": null}), by_tree),
        (json!({"name": "x", "uuid": RP.replace('-', "")}), by_tree),
        (
            json!({"resource_provider_generation": 1, "inventories": {"vcpu": 1}}),
            schemas::PUT_INVENTORIES,
        ),
        (
            json!({"inventories": {RP: {"resource_provider_generation": 1, "inventories": {}}}, "allocations": {}}),
            schemas::reshape(version(30)),
        ),
    ] {
        assert_eq!(check(&body, schema), None, "{body}");
    }
    let malformed = body(b"{", schemas::PUT_INVENTORY).unwrap_err();
    assert!(malformed.message.starts_with("Malformed JSON: "), "{malformed:?}");
}
