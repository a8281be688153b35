//! The schemas of parameters, by name. The descriptions are in the route table.

use allod_core::alarm::AlarmKind;
use allod_core::authority::{ExternalState, LookUpState};
use serde_json::json;
use utoipa::openapi::schema::{
    Array, KnownFormat, Object, ObjectBuilder, OneOfBuilder, SchemaFormat, Type,
};
use utoipa::openapi::{RefOr, Schema};

use crate::providers::rows::ProviderFields;
use allod_core::event::projection::EventKind;

const NAME: &str = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$";
const ETAG: &str = "^(\\*|\"[0-9]{1,19}\")$";
const VISIBLE: &str = "^[!-~]([ -~]*[!-~])?$";

/// The schema of a parameter; `None` if it is missing here, which a test reports.
pub(super) fn form(operation: &str, name: &str) -> Option<RefOr<Schema>> {
    let several = operation == "watch";
    let form = match name {
        "pool" if several => Array::new(pattern(NAME, "vlans")).into(),
        "kind" if several => Array::new(words(&EventKind::ALL.map(EventKind::name))).into(),
        // Invalid names are allowed here; they match nothing.
        "pool" | "key" | "owner" if operation == "getHistory" => {
            Object::with_type(Type::String).into()
        }
        "pool" => pattern(NAME, "vlans"),
        "authority" => pattern(NAME, "inventory"),
        "reference" => reference(),
        "key" => text("blue"),
        "value" => text("100"),
        "prefix" | "key_prefix" | "owner_prefix" | "object_prefix" | "target_prefix" | "after" => {
            Object::with_type(Type::String).into()
        }
        "kind" => words(&AlarmKind::ALL.map(AlarmKind::name)),
        "number" => pattern("^(0|[1-9][0-9]{0,18})-(0|[1-9][0-9]{0,8})$", "1042-0"),
        "overlaps" => text("100-199"),
        "provider" | "consumer" | "aggregate" if repeated(operation, name) => {
            Array::new(uuid()).into()
        }
        "provider" | "consumer" | "in_tree" => uuid(),
        "trait" | "class" => Array::new(pattern(NAME, "VCPU")).into(),
        "project" | "name_prefix" => Object::with_type(Type::String).into(),
        "fields" => {
            let part = format!("(uuid|{})", ProviderFields::names().join("|"));
            pattern(&format!("^{part}(,{part})*$"), "name,inventories")
        }
        "limit" if operation == "listProviders" => number(1, crate::providers::LIMIT_MAX),
        "limit" => number(1, 1000),
        "expired" | "draining" | "keep_held" | "raised" | "dead" => {
            Object::with_type(Type::Boolean).into()
        }
        "state" if operation == "listLookups" => words(&LookUpState::ALL.map(LookUpState::name)),
        "state" if operation == "listAuthorityClaims" => {
            words(&ExternalState::ALL.map(ExternalState::name))
        }
        "state" => {
            words(&["held", "quarantined", "wanted", "refused", "stuck", "conflict", "releasing"])
        }
        "Prefer" => text("wait=10"),
        "order" => words(&["newest_first", "oldest_first"]),
        "from" | "Last-Event-ID" | "Allod-Min-Position" => position(),
        "at" | "since" | "until" => moment(),
        "If-Match" => pattern(ETAG, "\"17\""),
        "If-None-Match" => words(&["*"]),
        "Allod-Consistency" => words(&["linearizable"]),
        "Idempotency-Key" => pattern(VISIBLE, "order-4711"),
        _ => return None,
    };
    Some(form)
}

/// Whether a parameter may be repeated.
fn repeated(operation: &str, name: &str) -> bool {
    operation == "watch" || name == "aggregate"
}

fn uuid() -> RefOr<Schema> {
    let form = SchemaFormat::Custom("uuid".into());
    ObjectBuilder::new().schema_type(Type::String).format(Some(form)).into()
}

/// The reference of a claim at an authority, or of a transaction.
fn reference() -> RefOr<Schema> {
    let form = SchemaFormat::Custom("uuid".into());
    let text = ObjectBuilder::new().schema_type(Type::String).format(Some(form));
    text.examples([json!("5d3c1f0a-7be2-8a41-9c6d-000000012c00")]).into()
}

fn text(example: &str) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1));
    text.examples([json!(example)]).into()
}

fn pattern(pattern: &str, example: &str) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
    text.examples([json!(example)]).into()
}

fn words(words: &[&str]) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(words.iter().map(|word| json!(word))))
        .into()
}

fn number(min: usize, max: usize) -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Integer);
    number.minimum(Some(min)).maximum(Some(max)).into()
}

/// A position of the journal: a number of 64 bits.
fn position() -> RefOr<Schema> {
    number(0, u64::MAX as usize)
}

fn moment() -> RefOr<Schema> {
    let time = ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    OneOfBuilder::new().item(position()).item(time).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::table;

    #[test]
    fn every_parameter_has_a_schema() {
        for entry in table() {
            let query = entry.request.query.iter().map(|param| param.name);
            for name in query.chain(entry.request.headers.iter().map(|header| header.name)) {
                assert!(form(entry.name, name).is_some(), "{} {name}", entry.name);
            }
        }
    }
}
