//! `/usages` and `/resource_providers/{uuid}/usages`.

use std::collections::BTreeMap;

use allod_core::view::capacity::{CapacityView, ProjectUsage};

use crate::Placement;
use crate::allocations::UNKNOWN_TYPE;
use crate::json::{JsonBuffer, OBJECT};
use crate::long_read::{LongRead, LongReadResult, SMALL_ENTRIES_MAX};
use crate::providers::{provider_in_path, provider_not_found_twice};
use crate::request::PlacementRequest;
use crate::schema::schemas;
use crate::to_wire::{HandlerResult, PlacementReply};
use crate::versions::Feature;

/// Requests the sum over all consumer types.
const ALL_TYPES: &str = "all";

pub(crate) fn of_provider(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    face.read(|capacity, snapshot| {
        let provider = provider_in_path(capacity, request, || provider_not_found_twice(request))?;
        let mut out = JsonBuffer::with_capacity(256);
        out.raw("{\"resource_provider_generation\":").number(provider.generation());
        out.raw(",\"usages\":");
        out.list(OBJECT, provider.inventories(), |out, one| {
            out.text(one.class_name).raw(":").number(one.used);
        });
        out.raw("}");
        Ok(PlacementReply::json(snapshot.at, out).modified(snapshot.now_ms))
    })
}

pub(crate) fn total(read: &LongRead<'_>) -> LongReadResult {
    let (request, capacity) = (read.request, read.capacity());
    let query = request.query();
    query.check(schemas::usages(request.version))?;
    let project = query.last("project_id").unwrap_or_default();
    let (user, wanted) = (query.last("user_id"), query.last("consumer_type"));
    read.ensure_effort(capacity.usages(project, user).take(SMALL_ENTRIES_MAX + 1).count())?;
    let mut out = JsonBuffer::with_capacity(256);
    out.raw("{\"usages\":");
    if request.has(Feature::ConsumerTypes) {
        let by_type = by_type(capacity, project, user, wanted);
        out.list(OBJECT, &by_type, |out, (name, usage)| {
            out.text(name).raw(":{");
            for (class, used) in &usage.used {
                out.text(&capacity.classes().name(*class)).raw(":").number(*used).raw(",");
            }
            out.raw("\"consumer_count\":").number(usage.consumers).raw("}");
        });
    } else {
        let mut sum = ProjectUsage::default();
        capacity.usages(project, user).for_each(|(_, usage)| add(&mut sum, usage));
        out.list(OBJECT, &sum.used, |out, (class, used)| {
            out.text(&capacity.classes().name(*class)).raw(":").number(*used);
        });
    }
    out.raw("}");
    Ok(PlacementReply::json(read.at(), out).modified(read.frozen.now_ms))
}

fn by_type(
    capacity: CapacityView<'_>,
    project: &str,
    user: Option<&str>,
    wanted: Option<&str>,
) -> BTreeMap<String, ProjectUsage> {
    let mut sums = BTreeMap::new();
    for (kind, usage) in capacity.usages(project, user) {
        let kind = kind.map(|kind| &**kind);
        let name = match wanted {
            Some(ALL_TYPES) => ALL_TYPES,
            Some(UNKNOWN_TYPE) if kind.is_some() => continue,
            Some(wanted) if wanted != UNKNOWN_TYPE && kind != Some(wanted) => continue,
            _ => kind.unwrap_or(UNKNOWN_TYPE),
        };
        add(sums.entry(name.to_owned()).or_default(), usage);
    }
    sums
}

fn add(sum: &mut ProjectUsage, usage: &ProjectUsage) {
    sum.consumers += usage.consumers;
    for (class, used) in &usage.used {
        *sum.used.entry(*class).or_default() += used;
    }
}
