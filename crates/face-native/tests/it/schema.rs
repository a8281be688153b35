//! Validates JSON values against the schemas of the OpenAPI document.
//!
//! Only the keywords that the document uses are implemented; an unknown one fails the test. `format`, bounds and texts are
//! not checked.

use serde_json::Value;

/// The errors, each with its path in the value.
pub fn errors(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    check(document, schema, value, "", &mut errors);
    errors
}

fn check(document: &Value, schema: &Value, value: &Value, place: &str, errors: &mut Vec<String>) {
    let words = schema.as_object().expect("a schema is an object");
    for (word, given) in words {
        match word.as_str() {
            "$ref" => {
                let pointer = given.as_str().and_then(|text| text.strip_prefix('#'));
                let schema = pointer.and_then(|pointer| document.pointer(pointer));
                check(document, schema.expect("a schema"), value, place, errors);
            }
            "allOf" => {
                for part in list(given) {
                    check(document, part, value, place, errors);
                }
            }
            "oneOf" => {
                let fits = |part: &&Value| self::errors(document, part, value).is_empty();
                let fitting = list(given).iter().filter(fits).count();
                if fitting != 1 {
                    errors.push(format!("{place}: fits {fitting} of the schemas, not one"));
                }
            }
            "type" => {
                let named = given.as_array().map_or(std::slice::from_ref(given), Vec::as_slice);
                if !named.iter().any(|name| is_of(value, name.as_str().unwrap_or_default())) {
                    errors.push(format!("{place}: is not of type {given}"));
                }
            }
            "enum" => {
                if !list(given).contains(value) {
                    errors.push(format!("{place}: is none of {given}"));
                }
            }
            "required" => {
                for name in list(given).iter().filter_map(Value::as_str) {
                    if value.is_object() && value.get(name).is_none() {
                        errors.push(format!("{place}: lacks {name}"));
                    }
                }
            }
            "properties" => {
                for (name, schema) in given.as_object().into_iter().flatten() {
                    if let Some(member) = value.get(name) {
                        check(document, schema, member, &format!("{place}/{name}"), errors);
                    }
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(document, given, item, &format!("{place}/{index}"), errors);
                }
            }
            "additionalProperties" if given.is_object() => {
                for (name, member) in value.as_object().into_iter().flatten() {
                    check(document, given, member, &format!("{place}/{name}"), errors);
                }
            }
            "description" | "format" | "minimum" | "maximum" | "minLength" | "minItems"
            | "pattern" => {}
            "example" | "examples" | "propertyNames" | "additionalProperties" => {}
            word => panic!("the schema says '{word}', which this test does not know"),
        }
    }
}

fn list(given: &Value) -> &[Value] {
    given.as_array().map(Vec::as_slice).expect("a list")
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => {
            value.is_u64() || value.is_i64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("'{other}' is no type"),
    }
}
