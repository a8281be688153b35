//! Providers taken out of the state, a page at a time. Pure.
//!
//! Whoever reads holds up whoever writes, so only what is asked for is copied, and nothing is written as JSON here.

use std::sync::Arc;

use allod_core::capacity::{Inventory, Uuid};
use allod_core::refusal::CapacityRefusal;
use allod_core::state::capacity::Capacity;
use allod_core::state::capacity::bits::Bits;
use allod_core::state::capacity::provider::{Provider, ProviderIx};
use allod_core::view::Page;

/// A part of a provider that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Name,
    Generation,
    Parent,
    Root,
    Aggregates,
    Traits,
    Inventories,
    Consumers,
    Changed,
}

const NAMES: [(&str, Field); 9] = [
    ("name", Field::Name),
    ("generation", Field::Generation),
    ("parent", Field::Parent),
    ("root", Field::Root),
    ("aggregates", Field::Aggregates),
    ("traits", Field::Traits),
    ("inventories", Field::Inventories),
    ("consumers", Field::Consumers),
    ("changed", Field::Changed),
];

/// Which parts are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fields(u16);

impl Fields {
    pub(crate) const ALL: Fields = Fields(u16::MAX);

    pub(crate) fn has(self, field: Field) -> bool {
        self.0 & (1 << field as u16) != 0
    }

    pub(crate) fn names() -> [&'static str; NAMES.len()] {
        NAMES.map(|(name, _)| name)
    }

    /// Names with commas between; the first that is none is the error. `uuid` is always shown and may be named.
    pub(crate) fn read(text: &str) -> Result<Fields, &str> {
        text.split(',').filter(|name| *name != "uuid").try_fold(Fields(0), |fields, name| {
            let known = NAMES.iter().find(|(known, _)| *known == name);
            known.map(|(_, field)| Fields(fields.0 | 1 << *field as u16)).ok_or(name)
        })
    }
}

/// A provider as it was, with the parts that were asked for; the others are empty.
#[derive(Debug)]
pub(crate) struct Row {
    pub uuid: Uuid,
    pub name: Arc<str>,
    pub generation: u64,
    pub parent: Option<Uuid>,
    pub root: Uuid,
    pub aggregates: Vec<Uuid>,
    pub traits: Vec<Arc<str>>,
    pub stocks: Vec<StockRow>,
    pub consumers: u64,
    pub changed_ms: u64,
}

#[derive(Debug)]
pub(crate) struct StockRow {
    pub class: Arc<str>,
    pub inventory: Inventory,
    pub used: u64,
    pub free: i64,
}

impl Row {
    pub(crate) fn of(capacity: &Capacity, provider: &Provider, fields: Fields) -> Row {
        let mut row = Row {
            uuid: provider.uuid,
            name: provider.name.clone(),
            generation: provider.generation,
            parent: capacity.parent(provider),
            root: capacity.root(provider),
            aggregates: Vec::new(),
            traits: Vec::new(),
            stocks: Vec::new(),
            consumers: provider.consumers.len() as u64,
            changed_ms: provider.changed_ms,
        };
        if fields.has(Field::Aggregates) {
            row.aggregates = capacity.aggregates(provider).collect();
        }
        if fields.has(Field::Traits) {
            row.traits = capacity.trait_names(provider).cloned().collect();
        }
        if fields.has(Field::Inventories) {
            let stocks = provider.stocks.iter().map(|stock| StockRow {
                class: capacity.classes().name(stock.class),
                inventory: stock.inventory,
                used: stock.used,
                free: stock.room(),
            });
            row.stocks = stocks.collect();
        }
        row
    }
}

/// Which providers to show; every part that is given must hold.
#[derive(Debug, Default)]
pub(crate) struct Filter<'a> {
    pub name_prefix: &'a str,
    pub in_tree: Option<Uuid>,
    pub traits: Vec<&'a str>,
    pub classes: Vec<&'a str>,
    pub aggregates: Vec<Uuid>,
}

/// Providers in the order of their uuids, which is the same on every server, after the one named `after`.
pub(crate) fn page(
    capacity: &Capacity,
    filter: &Filter<'_>,
    fields: Fields,
    after: Option<Uuid>,
    limit: usize,
) -> Result<Page<Row>, CapacityRefusal> {
    let sets = sets(capacity, filter)?;
    let fits = |(ix, provider): &(ProviderIx, &Provider)| {
        after.is_none_or(|after| provider.uuid > after)
            && sets.iter().all(|set| set.contains(*ix))
            && provider.name.starts_with(filter.name_prefix)
    };
    let at = |ix: ProviderIx| Some((ix, capacity.at(ix)?));
    // Whatever is smallest is looked through: a tree, or a set.
    let smallest = sets.iter().min_by_key(|set| set.len());
    let mut found: Vec<&Provider> = match (filter.in_tree, smallest) {
        (Some(member), _) => {
            let root = capacity.provider(member).map(|member| member.root);
            let tree = root.into_iter().flat_map(|root| capacity.tree(root));
            tree.filter_map(at).filter(fits).map(|(_, provider)| provider).collect()
        }
        (None, Some(set)) => {
            set.iter().filter_map(at).filter(fits).map(|(_, provider)| provider).collect()
        }
        (None, None) => return Ok(walk(capacity, filter, fields, after, limit)),
    };
    let more = found.len() > limit;
    if more {
        found.select_nth_unstable_by_key(limit - 1, |provider| provider.uuid);
        found.truncate(limit);
    }
    found.sort_unstable_by_key(|provider| provider.uuid);
    let items: Vec<Row> =
        found.into_iter().map(|provider| Row::of(capacity, provider, fields)).collect();
    Ok(Page { next: items.last().filter(|_| more).map(|last| last.uuid.to_string()), items })
}

/// How many providers are looked at for one page, so that a name that nobody has does not look at all of them at once.
const LOOKED_AT_MAX: usize = 100_000;

/// Providers of any kind, as they come.
fn walk(
    capacity: &Capacity,
    filter: &Filter<'_>,
    fields: Fields,
    after: Option<Uuid>,
    limit: usize,
) -> Page<Row> {
    let mut items = Vec::new();
    // Nobody comes after the last uuid.
    let from = after.map_or(Some(0), |after| after.0.checked_add(1));
    let Some(from) = from else { return Page { items, next: None } };
    let mut seen: Option<Uuid> = None;
    for (looked_at, provider) in capacity.providers_from(Uuid(from)).enumerate() {
        if items.len() >= limit || looked_at == LOOKED_AT_MAX {
            return Page { items, next: seen.map(|seen| seen.to_string()) };
        }
        seen = Some(provider.uuid);
        if provider.name.starts_with(filter.name_prefix) {
            items.push(Row::of(capacity, provider, fields));
        }
    }
    Page { items, next: None }
}

/// For each trait, class and aggregate that is asked for: who has it.
fn sets<'a>(capacity: &'a Capacity, filter: &Filter<'_>) -> Result<Vec<&'a Bits>, CapacityRefusal> {
    static NOBODY: Bits = Bits::EMPTY;
    let mut sets = Vec::new();
    for name in &filter.traits {
        let found = capacity.traits().find(name).map(|ix| capacity.with_trait(ix));
        let unknown = || CapacityRefusal::TraitUnknown { traits: vec![(*name).into()] };
        sets.push(found.ok_or_else(unknown)?);
    }
    for name in &filter.classes {
        let class = capacity.classes().find(name);
        let unknown = || CapacityRefusal::ClassUnknown { class: (*name).into() };
        let column = capacity.column(class.ok_or_else(unknown)?);
        sets.push(column.map_or(&NOBODY, |column| &column.have));
    }
    sets.extend(filter.aggregates.iter().map(|aggregate| capacity.members_of(*aggregate)));
    Ok(sets)
}
