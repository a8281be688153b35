//! Translates valid bodies into the core's types.
//!
//! The schema has been checked; a missing member takes its default.

use std::sync::Arc;

use allod_core::capacity::{Inventory, Ratio, Uuid};
use allod_core::command::Expect;
use allod_core::command::capacity::Holding;
use serde_json::{Map, Value};

use crate::error::{PlacementError, PlacementResult};
use crate::settings::PlacementSettings;
use crate::uuid;
use crate::versions::{Feature, Microversion};

/// A non-negative integer, clamped to `u64::MAX`.
pub(crate) fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| value.as_f64().unwrap_or_default() as u64)
}

/// A generation. A negative one becomes `u64::MAX`, which matches none.
pub(crate) fn generation(value: &Value) -> u64 {
    match value.as_f64() {
        Some(number) if number < 0.0 => u64::MAX,
        _ => whole(value),
    }
}

pub(crate) fn inventory(body: &Value) -> Inventory {
    let number = |name: &str, default: u32| {
        body.get(name).map_or(default, |value| u32::try_from(whole(value)).unwrap_or(u32::MAX))
    };
    let usual = Inventory::of(0);
    let ratio = body.get("allocation_ratio").and_then(Value::as_f64);
    Inventory {
        total: number("total", usual.total),
        reserved: number("reserved", usual.reserved),
        min_unit: number("min_unit", usual.min_unit),
        max_unit: number("max_unit", usual.max_unit),
        step_size: number("step_size", usual.step_size),
        allocation_ratio: Ratio(ratio.unwrap_or(usual.allocation_ratio.0)),
    }
}

/// Inventories by class.
pub(crate) fn inventories(body: &Value) -> Vec<(Arc<str>, Inventory)> {
    let members = body.get("inventories").and_then(Value::as_object);
    let each = members.into_iter().flatten();
    each.map(|(class, body)| (class.as_str().into(), inventory(body))).collect()
}

/// Refuses an inventory whose capacity is negative or, before 1.26, zero.
pub(crate) fn check_capacity(
    version: Microversion,
    provider: Uuid,
    class: &str,
    inventory: &Inventory,
) -> Result<(), String> {
    let free = f64::from(inventory.total) - f64::from(inventory.reserved);
    let capacity = (free * inventory.allocation_ratio.0).trunc();
    let whole = version.has(Feature::ReservedWhole);
    let (is_wrong, how) = match whole {
        true => (capacity < 0.0, "greater than"),
        false => (capacity <= 0.0, "greater than or equal to"),
    };
    match is_wrong {
        true => Err(format!(
            "Invalid inventory for '{class}' on resource provider '{provider}'. The reserved value is {how} total."
        )),
        false => Ok(()),
    }
}

/// The new allocations of one consumer.
pub(crate) fn holding(
    consumer: Uuid,
    body: &Value,
    version: Microversion,
    settings: &PlacementSettings,
) -> PlacementResult<Holding> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let expect = match (version.has(Feature::ConsumerGenerations), body.get("consumer_generation"))
    {
        (false, _) => Expect::Any,
        (true, None | Some(Value::Null)) => Expect::Absent,
        (true, Some(number)) => Expect::Is(generation(number)),
    };
    let allocations = match body.get("allocations") {
        Some(Value::Array(items)) => listed(items)?,
        Some(Value::Object(members)) => by_provider(members)?,
        _ => Vec::new(),
    };
    Ok(Holding {
        consumer,
        expect,
        project: text("project_id").unwrap_or(&settings.incomplete_consumer_project_id).into(),
        user: text("user_id").unwrap_or(&settings.incomplete_consumer_user_id).into(),
        consumer_type: text("consumer_type").map(Into::into),
        allocations,
        lease: None,
    })
}

/// The new allocations of several consumers.
pub(crate) fn holdings(
    body: &Value,
    version: Microversion,
    settings: &PlacementSettings,
) -> PlacementResult<Vec<Holding>> {
    let mut holdings = Vec::new();
    for (consumer, body) in body.as_object().into_iter().flatten() {
        let uuid = uuid::read(consumer).ok_or_else(|| malformed_consumer(consumer))?;
        holdings.push(holding(uuid, body, version, settings)?);
    }
    Ok(holdings)
}

pub(crate) fn malformed_consumer(text: &str) -> PlacementError {
    PlacementError::bad_request(format!("Malformed consumer_uuid: {text}"))
}

type Allocations = Vec<(Uuid, Vec<(Arc<str>, u64)>)>;

/// The list form, before 1.12. If a provider appears twice, the last entry counts.
fn listed(items: &[Value]) -> PlacementResult<Allocations> {
    let mut allocations = Allocations::new();
    for item in items {
        let provider = provider(item["resource_provider"]["uuid"].as_str().unwrap_or_default())?;
        let amounts = amounts(&item["resources"]);
        match allocations.iter_mut().find(|(known, _)| *known == provider) {
            Some((_, known)) => *known = amounts,
            None => allocations.push((provider, amounts)),
        }
    }
    Ok(allocations)
}

fn by_provider(members: &Map<String, Value>) -> PlacementResult<Allocations> {
    let each = members.iter();
    each.map(|(uuid, body)| Ok((provider(uuid)?, amounts(&body["resources"])))).collect()
}

fn amounts(body: &Value) -> Vec<(Arc<str>, u64)> {
    let members = body.as_object().into_iter().flatten();
    members.map(|(class, amount)| (class.as_str().into(), whole(amount))).collect()
}

/// A text that is not a UUID names a provider that does not exist.
fn provider(text: &str) -> PlacementResult<Uuid> {
    uuid::read(text).ok_or_else(|| {
        PlacementError::bad_request(format!(
            "Allocation for resource provider '{text}' that does not exist."
        ))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RP: &str = "7a3f0a5e-0000-4000-8000-00000000000b";

    #[test]
    fn an_inventory_has_defaults_and_needs_capacity() {
        let body = json!({"total": 8, "reserved": 2, "allocation_ratio": 16});
        let read = inventory(&body);
        assert_eq!((read.total, read.reserved, read.max_unit), (8, 2, 2_147_483_647));
        assert_eq!(read.allocation_ratio.0, 16.0);
        for (reserved, minor, words) in [
            (2, 0, ""),
            (8, 25, "is greater than or equal to total."),
            (8, 26, ""),
            (9, 26, "is greater than total."),
        ] {
            let inventory = Inventory { reserved, ..read };
            let checked = check_capacity(Microversion::tested(minor), Uuid(1), "VCPU", &inventory);
            match checked {
                Ok(()) => assert_eq!(words, ""),
                Err(why) => assert!(!words.is_empty() && why.ends_with(words), "{why}"),
            }
        }
        let rounded = Inventory { allocation_ratio: Ratio(0.5), ..Inventory::of(1) };
        assert!(check_capacity(Microversion::tested(0), Uuid(1), "VCPU", &rounded).is_err());
    }

    #[test]
    fn the_two_forms_of_allocations_mean_the_same() {
        let settings = PlacementSettings::default();
        let list = json!({"allocations": [
            {"resource_provider": {"uuid": RP}, "resources": {"VCPU": 9}},
            {"resource_provider": {"uuid": RP}, "resources": {"VCPU": 1, "MEMORY_MB": 2}},
        ]});
        let old = holding(Uuid(7), &list, Microversion::tested(0), &settings).unwrap();
        assert_eq!(&*old.project, "00000000-0000-0000-0000-000000000000");
        assert_eq!(old.expect, Expect::Any);
        let body = json!({
            "allocations": {RP: {"resources": {"VCPU": 1, "MEMORY_MB": 2}}},
            "project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "X",
        });
        let new = holding(Uuid(7), &body, Microversion::MAX, &settings).unwrap();
        assert_eq!((new.expect, new.consumer_type.as_deref()), (Expect::Absent, Some("X")));
        assert_eq!(new.allocations, old.allocations);
        let all = holdings(&json!({RP: body}), Microversion::MAX, &settings).unwrap();
        assert_eq!((all.len(), all[0].consumer.to_string().as_str()), (1, RP));
        let dashes = json!({"-".repeat(36): {}});
        assert!(
            holdings(&dashes, Microversion::MAX, &settings)
                .unwrap_err()
                .message
                .contains("Malformed")
        );
    }
}
