//! Compares the two sides. Reads everything again from both, and writes nothing.
//!
//! Generations are not compared: each server counts its own writes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use allod_core::capacity::Uuid;
use serde_json::{Value, json};

use crate::consumer_id::ConsumerId;
use crate::error::ImportResult;
use crate::progress::Phase;
use crate::report::{CompareCounts, CompareReport, ItemKind};
use crate::wire::{ProviderEntry, ProviderPart, ProviderPartKind};
use crate::{ExtraProviders, Import, find_consumers, parallel};

struct Verifier {
    import: Arc<Import>,
    found: Mutex<CompareReport>,
}

pub async fn run(import: &Arc<Import>) -> ImportResult<CompareReport> {
    let verify = Arc::new(Verifier { import: import.clone(), found: Mutex::default() });
    // Kinds without items are reported, too.
    verify.found().kinds.extend(ItemKind::ALL.map(|kind| (kind, CompareCounts::default())));
    verify.names().await?;
    let uuids = verify.providers().await?;
    let phase = Arc::new(Phase::new(&*import.progress, "verifying providers", uuids.len()));
    parallel::each(import.options.jobs, uuids.iter().copied(), |uuid| {
        let (verify, phase) = (verify.clone(), phase.clone());
        async move {
            verify.provider(uuid).await?;
            phase.provider_done();
            Ok(())
        }
    })
    .await?;
    drop(phase);
    let phase = Arc::new(Phase::new(&*import.progress, "verifying allocations", uuids.len()));
    find_consumers::each_consumer(import, &uuids, &phase, |id| {
        let verify = verify.clone();
        async move { verify.consumer(&id).await }
    })
    .await?;
    let found = std::mem::take(&mut *verify.found());
    Ok(found)
}

impl Verifier {
    fn found(&self) -> MutexGuard<'_, CompareReport> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares custom resource classes and traits. Names that only the target has are no difference.
    async fn names(&self) -> ImportResult<()> {
        let (source, target) = (&self.import.source, &self.import.target.reader);
        let compare = |kind, source: &BTreeSet<String>, target: &BTreeSet<String>| {
            let mut found = self.found();
            found.count(kind, source.len(), target.len());
            for name in source.difference(target) {
                found.compare(kind, name, &json!(true), &Value::Null);
            }
        };
        let classes = (source.custom_classes().await?, target.custom_classes().await?);
        compare(ItemKind::ResourceClasses, &classes.0, &classes.1);
        let traits = (source.custom_traits().await?, target.custom_traits().await?);
        compare(ItemKind::Traits, &traits.0, &traits.1);
        Ok(())
    }

    /// Compares names and parents of the providers, and returns the providers of the source.
    async fn providers(&self) -> ImportResult<Vec<Uuid>> {
        let mut missing: HashMap<Uuid, ProviderEntry> = HashMap::new();
        self.import.source.providers(|row| drop(missing.insert(row.uuid, row))).await?;
        let uuids: Vec<Uuid> = missing.keys().copied().collect();
        self.found().of(ItemKind::Providers).source = uuids.len() as u64;
        let keep = self.import.options.extra_providers == ExtraProviders::Keep;
        let each = |row: ProviderEntry| {
            let mut found = self.found();
            let wanted = missing.remove(&row.uuid);
            if wanted.is_none() && keep {
                found.others += 1;
                return;
            }
            found.of(ItemKind::Providers).target += 1;
            if wanted.as_ref().is_some_and(|wanted| wanted.generation != row.generation) {
                found.generations_differ += 1;
            }
            let wanted = wanted.as_ref().map_or(Value::Null, compared);
            found.compare(ItemKind::Providers, &row.uuid.to_string(), &wanted, &compared(&row));
        };
        self.import.target.reader.providers(each).await?;
        for (uuid, row) in &missing {
            let mut found = self.found();
            found.compare(ItemKind::Providers, &uuid.to_string(), &compared(row), &Value::Null);
        }
        Ok(uuids)
    }

    async fn provider(&self, uuid: Uuid) -> ImportResult<()> {
        let (source, target) = (&self.import.source, &self.import.target.reader);
        let of = uuid.to_string();
        for (part, kind) in [
            (ProviderPartKind::Inventories, ItemKind::Inventories),
            (ProviderPartKind::Traits, ItemKind::ProviderTraits),
            (ProviderPartKind::Aggregates, ItemKind::ProviderAggregates),
        ] {
            let (wanted, there) = (source.part(part, uuid).await?, target.part(part, uuid).await?);
            let (wanted, there) = (wanted.map(|(part, _)| part), there.map(|(part, _)| part));
            let mut found = self.found();
            let len = |part: &Option<ProviderPart>| part.as_ref().map_or(0, ProviderPart::len);
            found.count(kind, len(&wanted), len(&there));
            let json = |part: Option<ProviderPart>| part.map_or(Value::Null, |part| part.json());
            found.compare(kind, &of, &json(wanted), &json(there));
        }
        let (wanted, there) = (source.usages(uuid).await?, target.usages(uuid).await?);
        let (wanted, there) = (wanted.map(|all| all.usages), there.map(|all| all.usages));
        let mut found = self.found();
        let len = |usages: &Option<BTreeMap<_, _>>| usages.as_ref().map_or(0, BTreeMap::len);
        found.count(ItemKind::Usages, len(&wanted), len(&there));
        found.compare(ItemKind::Usages, &of, &json!(wanted), &json!(there));
        Ok(())
    }

    async fn consumer(&self, id: &ConsumerId) -> ImportResult<()> {
        let wanted = self.import.source.consumer(id).await?;
        let there = self.import.target.reader.consumer(id).await?;
        let mut found = self.found();
        let [one, other] = [&wanted, &there].map(|consumer| usize::from(!consumer.is_empty()));
        found.count(ItemKind::Consumers, one, other);
        found.count(ItemKind::Allocations, wanted.allocation_count(), there.allocation_count());
        let has_types = self.import.has_types();
        let [wanted, there] = [wanted, there].map(|consumer| consumer.json(has_types));
        found.compare(ItemKind::Consumers, &id.to_string(), &wanted, &there);
        Ok(())
    }
}

/// The members of a provider to compare.
fn compared(row: &ProviderEntry) -> Value {
    let parent = row.parent.map(|parent| parent.to_string());
    json!({ "name": row.name, "parent_provider_uuid": parent })
}
