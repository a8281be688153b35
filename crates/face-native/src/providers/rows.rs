//! Copies a page of providers from the state. Pure.
//!
//! Only the requested fields are copied, and nothing is serialised here.

use std::sync::Arc;

use allod_core::capacity::{Inventory, Uuid};
use allod_core::refusal::CapacityRefusal;
use allod_core::view::Page;
use allod_core::view::capacity::{CapacityView, ProviderSet, ProviderView};

use crate::query;

/// A field of a provider that can be omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProviderField {
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

const NAMES: [(&str, ProviderField); 9] = [
    ("name", ProviderField::Name),
    ("generation", ProviderField::Generation),
    ("parent", ProviderField::Parent),
    ("root", ProviderField::Root),
    ("aggregates", ProviderField::Aggregates),
    ("traits", ProviderField::Traits),
    ("inventories", ProviderField::Inventories),
    ("consumers", ProviderField::Consumers),
    ("changed", ProviderField::Changed),
];

/// The requested fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProviderFields(u16);

impl ProviderFields {
    pub(crate) const ALL: ProviderFields = ProviderFields(u16::MAX);

    pub(crate) fn has(self, field: ProviderField) -> bool {
        self.0 & (1 << field as u16) != 0
    }

    pub(crate) fn names() -> [&'static str; NAMES.len()] {
        NAMES.map(|(name, _)| name)
    }

    /// Reads comma-separated names; the error is the first unknown one. `uuid` is allowed and always returned.
    pub(crate) fn read(text: &str) -> Result<ProviderFields, &str> {
        text.split(',').filter(|name| *name != "uuid").try_fold(
            ProviderFields(0),
            |fields, name| {
                let known = NAMES.iter().find(|(known, _)| *known == name);
                known.map(|(_, field)| ProviderFields(fields.0 | 1 << *field as u16)).ok_or(name)
            },
        )
    }
}

/// A provider with the requested fields; the others are empty.
#[derive(Debug)]
pub(crate) struct ProviderCopy {
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

impl ProviderCopy {
    pub(crate) fn of(
        capacity: CapacityView<'_>,
        provider: ProviderView<'_>,
        fields: ProviderFields,
    ) -> ProviderCopy {
        let mut row = ProviderCopy {
            uuid: provider.uuid(),
            name: provider.name().clone(),
            generation: provider.generation(),
            parent: provider.parent(),
            root: provider.root(),
            aggregates: Vec::new(),
            traits: Vec::new(),
            stocks: Vec::new(),
            consumers: provider.consumer_count() as u64,
            changed_ms: provider.changed_ms(),
        };
        if fields.has(ProviderField::Aggregates) {
            row.aggregates = provider.aggregates().collect();
        }
        if fields.has(ProviderField::Traits) {
            row.traits = provider.traits().map(|row| row.name.clone()).collect();
        }
        if fields.has(ProviderField::Inventories) {
            let stocks = provider.inventories().map(|stock| StockRow {
                class: capacity.classes().name(stock.class),
                inventory: *stock.inventory,
                used: stock.used,
                free: stock.free(),
            });
            row.stocks = stocks.collect();
        }
        row
    }
}

/// All conditions must hold.
#[derive(Debug, Default)]
pub(crate) struct ProviderListFilter<'a> {
    pub name_prefix: &'a str,
    pub in_tree: Option<Uuid>,
    pub traits: Vec<&'a str>,
    pub classes: Vec<&'a str>,
    pub aggregates: Vec<Uuid>,
}

/// Providers by uuid, after `after`.
pub(crate) fn page(
    capacity: CapacityView<'_>,
    filter: &ProviderListFilter<'_>,
    fields: ProviderFields,
    after: Option<Uuid>,
    limit: usize,
) -> Result<Page<ProviderCopy>, CapacityRefusal> {
    let sets = sets(capacity, filter)?;
    let fits = |provider: &ProviderView<'_>| {
        after.is_none_or(|after| provider.uuid() > after)
            && sets.iter().all(|set| set.contains(provider.ix()))
            && provider.name().starts_with(filter.name_prefix)
    };
    // Iterate over the smallest: a tree or a set.
    let smallest = sets.iter().min_by_key(|set| set.len());
    let mut found: Vec<ProviderView<'_>> = match (filter.in_tree, smallest) {
        (Some(member), _) => capacity.tree(member).filter(fits).collect(),
        (None, Some(set)) => {
            set.iter().filter_map(|ix| capacity.provider_at(ix)).filter(fits).collect()
        }
        (None, None) => return Ok(walk(capacity, filter, fields, after, limit)),
    };
    let more = found.len() > limit;
    if more {
        found.select_nth_unstable_by_key(limit - 1, |provider| provider.uuid());
        found.truncate(limit);
    }
    found.sort_unstable_by_key(|provider| provider.uuid());
    let items: Vec<ProviderCopy> =
        found.into_iter().map(|provider| ProviderCopy::of(capacity, provider, fields)).collect();
    Ok(Page { next: items.last().filter(|_| more).map(|last| last.uuid.to_string()), items })
}

/// How many providers are examined for one page.
const EXAMINED_MAX: usize = 100_000;

/// A page without traits, classes, aggregates or tree.
fn walk(
    capacity: CapacityView<'_>,
    filter: &ProviderListFilter<'_>,
    fields: ProviderFields,
    after: Option<Uuid>,
    limit: usize,
) -> Page<ProviderCopy> {
    // No uuid comes after the last one.
    let from = after.map_or(Some(0), |after| after.0.checked_add(1));
    let Some(from) = from else { return Page { items: Vec::new(), next: None } };
    let pick = |provider: ProviderView<'_>| {
        let fits = provider.name().starts_with(filter.name_prefix);
        fits.then(|| ProviderCopy::of(capacity, provider, fields))
    };
    let cursor = |provider: ProviderView<'_>| provider.uuid().to_string();
    query::page(capacity.providers_from(Uuid(from)), limit, EXAMINED_MAX, pick, cursor)
}

/// The set of providers for each requested trait, class and aggregate.
fn sets<'a>(
    capacity: CapacityView<'a>,
    filter: &ProviderListFilter<'_>,
) -> Result<Vec<ProviderSet<'a>>, CapacityRefusal> {
    let mut sets = Vec::new();
    for name in &filter.traits {
        let found = capacity.traits().find(name).map(|ix| capacity.with_trait(ix));
        let unknown = || CapacityRefusal::TraitUnknown { traits: vec![(*name).into()] };
        sets.push(found.ok_or_else(unknown)?);
    }
    for name in &filter.classes {
        let class = capacity.classes().find(name);
        let unknown = || CapacityRefusal::ClassUnknown { class: (*name).into() };
        sets.push(capacity.with_inventory(class.ok_or_else(unknown)?));
    }
    sets.extend(filter.aggregates.iter().map(|aggregate| capacity.in_aggregate(*aggregate)));
    Ok(sets)
}

#[cfg(test)]
mod tests {
    use allod_core::event::Event;
    use allod_core::event::capacity::{
        AggregatesSet, CapacityEvent, InventoriesSet, InventorySet, ProviderDefined, TraitsSet,
    };
    use allod_core::random;
    use allod_core::view::{self, State};

    use super::*;

    const TRAITS: [&str; 2] = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"];
    const CLASSES: [&str; 2] = ["VCPU", "DISK_GB"];

    /// The expected contents of a provider.
    struct TestProvider {
        uuid: Uuid,
        name: String,
        root: Uuid,
        traits: Vec<&'static str>,
        classes: Vec<&'static str>,
        aggregates: Vec<Uuid>,
    }

    fn some<T: Copy>(seed: &mut u64, of: &[T]) -> Vec<T> {
        of.iter().copied().filter(|_| random::next(seed).is_multiple_of(2)).collect()
    }

    fn make(seed: &mut u64, state: &mut State, count: usize) -> Vec<TestProvider> {
        let mut all: Vec<TestProvider> = Vec::new();
        for n in 0..count {
            let uuid = Uuid(u128::from(random::next(seed)) << 64 | n as u128);
            let above = random::next(seed) as usize % (n + 1);
            let parent = all.get(above).map(|above| (above.uuid, above.root));
            let made = TestProvider {
                uuid,
                name: format!("{}-{n}", ["host", "card"][n % 2]),
                root: parent.map_or(uuid, |(_, root)| root),
                traits: some(seed, &TRAITS),
                classes: some(seed, &CLASSES),
                aggregates: some(seed, &[Uuid(1), Uuid(2)]),
            };
            let (provider, at_ms, generation) = (uuid, 0, 1);
            let name = made.name.as_str().into();
            let parent = parent.map(|(uuid, _)| uuid);
            let set = |class: &&str| InventorySet {
                class: (*class).into(),
                inventory: Inventory::of(8),
                written: true,
            };
            let inventories = made.classes.iter().map(set).collect();
            let traits = made.traits.iter().map(|name| (*name).into()).collect();
            let aggregates = made.aggregates.clone();
            let events = [
                Event::Capacity(CapacityEvent::ProviderDefined(ProviderDefined {
                    provider,
                    name,
                    parent,
                    at_ms,
                })),
                Event::Capacity(CapacityEvent::InventoriesSet(InventoriesSet {
                    provider,
                    generation,
                    inventories,
                    at_ms,
                })),
                Event::Capacity(CapacityEvent::TraitsSet(TraitsSet {
                    provider,
                    generation,
                    traits,
                    at_ms,
                })),
                Event::Capacity(CapacityEvent::AggregatesSet(AggregatesSet {
                    provider,
                    generation,
                    aggregates,
                    at_ms,
                })),
            ];
            state.apply_entry(0, &events);
            all.push(made);
        }
        all.sort_by_key(|made| made.uuid);
        all
    }

    #[test]
    fn pages_contain_all_matching_providers_by_uuid() {
        let (mut seed, mut state) = (17, State::new());
        let all = make(&mut seed, &mut state, 120);
        let mut shown = 0;
        for _ in 0..400 {
            let member = &all[random::next(&mut seed) as usize % all.len()];
            let filter = ProviderListFilter {
                name_prefix: ["", "", "host", "card-1"][random::next(&mut seed) as usize % 4],
                in_tree: random::next(&mut seed).is_multiple_of(3).then_some(member.uuid),
                traits: some(&mut seed, &TRAITS),
                classes: some(&mut seed, &CLASSES),
                aggregates: some(&mut seed, &[Uuid(1), Uuid(2)]),
            };
            let fits = |made: &&TestProvider| {
                made.name.starts_with(filter.name_prefix)
                    && filter.in_tree.is_none_or(|_| made.root == member.root)
                    && filter.traits.iter().all(|name| made.traits.contains(name))
                    && filter.classes.iter().all(|class| made.classes.contains(class))
                    && filter.aggregates.iter().all(|uuid| made.aggregates.contains(uuid))
            };
            let wanted: Vec<Uuid> = all.iter().filter(fits).map(|made| made.uuid).collect();
            let (mut found, mut after) = (Vec::new(), None);
            let limit = 1 + random::next(&mut seed) as usize % 40;
            loop {
                let page = page(view::capacity(&state), &filter, ProviderFields::ALL, after, limit)
                    .unwrap();
                assert!(page.items.len() <= limit);
                found.extend(page.items.iter().map(|row| row.uuid));
                match page.next {
                    Some(next) => after = Some(next.parse().unwrap()),
                    None => break,
                }
            }
            assert_eq!(found, wanted, "{filter:?}");
            shown += found.len();
        }
        assert!(shown > 1000, "{shown}");
        let last = page(
            view::capacity(&state),
            &ProviderListFilter::default(),
            ProviderFields::ALL,
            Some(Uuid(u128::MAX)),
            9,
        );
        assert!(last.unwrap().items.is_empty());
    }

    #[test]
    fn fields_are_parsed_by_name() {
        let fields = ProviderFields::read("uuid,name,inventories").unwrap();
        assert!(fields.has(ProviderField::Name) && fields.has(ProviderField::Inventories));
        assert!(!fields.has(ProviderField::Traits));
        assert_eq!(ProviderFields::read("name,colour"), Err("colour"));
        let all = ProviderFields::read(&ProviderFields::names().join(",")).unwrap();
        assert!(NAMES.iter().all(|(_, field)| all.has(*field)));
    }
}
