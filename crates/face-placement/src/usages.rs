//! `/usages` and `/resource_providers/{uuid}/usages`: how much is held.

use std::collections::BTreeMap;

use allod_core::state::capacity::Capacity;
use allod_core::state::capacity::usage::Usage;

use crate::Placement;
use crate::allocations::UNKNOWN_TYPE;
use crate::ask::Ask;
use crate::fault::Fault;
use crate::out::{OBJECT, Out};
use crate::providers::{look, unknown};
use crate::schema::forms;
use crate::to_wire::Shown;
use crate::versions::Feature;

/// All types of consumers in one.
const ALL_TYPES: &str = "all";

pub(crate) fn of_provider(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    face.read(|capacity, snapshot| {
        let provider = look(capacity, ask, || {
            let unknown = unknown(ask);
            Fault::not_found(format!("{unknown}: {unknown}"))
        })?;
        let mut out = Out::with_room(256);
        out.raw("{\"resource_provider_generation\":").number(provider.generation);
        out.raw(",\"usages\":");
        out.list(OBJECT, &provider.stocks, |out, stock| {
            out.text(&capacity.classes().name(stock.class)).raw(":").number(stock.used);
        });
        out.raw("}");
        Ok(Shown::json(snapshot.at, out).modified(snapshot.now_ms))
    })
}

pub(crate) fn total(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let query = ask.query();
    query.check(forms::usages(ask.version))?;
    let project = query.last("project_id").unwrap_or_default();
    let (user, wanted) = (query.last("user_id"), query.last("consumer_type"));
    face.read(|capacity, snapshot| {
        let mut out = Out::with_room(256);
        out.raw("{\"usages\":");
        if ask.has(Feature::ConsumerTypes) {
            let by_type = by_type(capacity, project, user, wanted);
            out.list(OBJECT, &by_type, |out, (name, usage)| {
                out.text(name).raw(":{");
                for (class, used) in &usage.used {
                    out.text(&capacity.classes().name(*class)).raw(":").number(*used).raw(",");
                }
                out.raw("\"consumer_count\":").number(usage.consumers).raw("}");
            });
        } else {
            let mut sum = Usage::default();
            capacity.usages().of(project, user).for_each(|(_, usage)| add(&mut sum, usage));
            out.list(OBJECT, &sum.used, |out, (class, used)| {
                out.text(&capacity.classes().name(*class)).raw(":").number(*used);
            });
        }
        out.raw("}");
        Ok(Shown::json(snapshot.at, out).modified(snapshot.now_ms))
    })
}

fn by_type(
    capacity: &Capacity,
    project: &str,
    user: Option<&str>,
    wanted: Option<&str>,
) -> BTreeMap<String, Usage> {
    let mut sums = BTreeMap::new();
    for (kind, usage) in capacity.usages().of(project, user) {
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

fn add(sum: &mut Usage, usage: &Usage) {
    sum.consumers += usage.consumers;
    for (class, used) in &usage.used {
        *sum.used.entry(*class).or_default() += used;
    }
}
