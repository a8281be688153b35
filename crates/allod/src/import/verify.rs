//! Compares the two sides from the beginning: everything is asked for again, on both. Writes nothing.
//!
//! Generations are not compared. They count the writes of each server, and no client carries one from the one to the other.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use allod_core::capacity::Uuid;
use serde_json::{Value, json};

use super::id::Id;
use super::progress::Phase;
use super::report::{Compared, Count, Kind};
use super::wire::{PartKind, Provider};
use super::{Ends, Others, parallel, walk};
use crate::failed::Failed;

struct Verify {
    ends: Arc<Ends>,
    found: Mutex<Compared>,
}

pub async fn run(ends: &Arc<Ends>) -> Result<Compared, Failed> {
    let verify = Arc::new(Verify { ends: ends.clone(), found: Mutex::default() });
    // What there is none of on either side is told as well.
    verify.found().kinds.extend(Kind::ALL.map(|kind| (kind, Count::default())));
    verify.names().await?;
    let uuids = verify.providers().await?;
    let phase = Arc::new(Phase::new("verifying providers", uuids.len()));
    parallel::each(ends.jobs, uuids.iter().copied(), |uuid| {
        let (verify, phase) = (verify.clone(), phase.clone());
        async move {
            verify.provider(uuid).await?;
            phase.one();
            Ok(())
        }
    })
    .await?;
    drop(phase);
    let phase = Arc::new(Phase::new("verifying allocations", uuids.len()));
    walk::each_consumer(ends, &uuids, &phase, |id| {
        let verify = verify.clone();
        async move { verify.consumer(&id).await }
    })
    .await?;
    let found = std::mem::take(&mut *verify.found());
    Ok(found)
}

impl Verify {
    fn found(&self) -> MutexGuard<'_, Compared> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names that only the target has do no harm: other things there may need them.
    async fn names(&self) -> Result<(), Failed> {
        let (source, target) = (&self.ends.source, &self.ends.target.side);
        let compare = |kind, source: &BTreeSet<String>, target: &BTreeSet<String>| {
            let mut found = self.found();
            let count = found.of(kind);
            (count.source, count.target) = (source.len() as u64, target.len() as u64);
            for name in source.difference(target) {
                found.compare(kind, name, &json!(true), &Value::Null);
            }
        };
        let classes = (source.custom_classes().await?, target.custom_classes().await?);
        compare(Kind::ResourceClasses, &classes.0, &classes.1);
        let traits = (source.custom_traits().await?, target.custom_traits().await?);
        compare(Kind::Traits, &traits.0, &traits.1);
        Ok(())
    }

    /// Compares the providers as such; gives those of the source.
    async fn providers(&self) -> Result<Vec<Uuid>, Failed> {
        let mut missing: HashMap<Uuid, Provider> = HashMap::new();
        self.ends.source.providers(|row| drop(missing.insert(row.uuid, row))).await?;
        let uuids: Vec<Uuid> = missing.keys().copied().collect();
        self.found().of(Kind::Providers).source = uuids.len() as u64;
        let keep = self.ends.others == Others::Keep;
        let each = |row: Provider| {
            let mut found = self.found();
            let wanted = missing.remove(&row.uuid);
            if wanted.is_none() && keep {
                found.others += 1;
                return;
            }
            found.of(Kind::Providers).target += 1;
            if wanted.as_ref().is_some_and(|wanted| wanted.generation != row.generation) {
                found.generations_differ += 1;
            }
            let wanted = wanted.as_ref().map_or(Value::Null, shown);
            found.compare(Kind::Providers, &row.uuid.to_string(), &wanted, &shown(&row));
        };
        self.ends.target.side.providers(each).await?;
        for (uuid, row) in &missing {
            self.found().compare(Kind::Providers, &uuid.to_string(), &shown(row), &Value::Null);
        }
        Ok(uuids)
    }

    async fn provider(&self, uuid: Uuid) -> Result<(), Failed> {
        let (source, target) = (&self.ends.source, &self.ends.target.side);
        let of = uuid.to_string();
        for (part, kind) in [
            (PartKind::Inventories, Kind::Inventories),
            (PartKind::Traits, Kind::ProviderTraits),
            (PartKind::Aggregates, Kind::ProviderAggregates),
        ] {
            let (wanted, there) = (source.part(part, uuid).await?, target.part(part, uuid).await?);
            let (wanted, there) = (wanted.map(|(part, _)| part), there.map(|(part, _)| part));
            let mut found = self.found();
            let count = found.of(kind);
            count.source += wanted.as_ref().map_or(0, |part| part.len() as u64);
            count.target += there.as_ref().map_or(0, |part| part.len() as u64);
            let json =
                |part: Option<super::wire::Part>| part.map_or(Value::Null, |part| part.json());
            found.compare(kind, &of, &json(wanted), &json(there));
        }
        let (wanted, there) = (source.usages(uuid).await?, target.usages(uuid).await?);
        let (wanted, there) = (wanted.map(|all| all.usages), there.map(|all| all.usages));
        let mut found = self.found();
        let count = found.of(Kind::Usages);
        count.source += wanted.as_ref().map_or(0, |all| all.len() as u64);
        count.target += there.as_ref().map_or(0, |all| all.len() as u64);
        found.compare(Kind::Usages, &of, &json!(wanted), &json!(there));
        Ok(())
    }

    async fn consumer(&self, id: &Id) -> Result<(), Failed> {
        let wanted = self.ends.source.consumer(id).await?;
        let there = self.ends.target.side.consumer(id).await?;
        let mut found = self.found();
        let count = found.of(Kind::Consumers);
        count.source += u64::from(!wanted.holds_nothing());
        count.target += u64::from(!there.holds_nothing());
        let count = found.of(Kind::Allocations);
        count.source += wanted.rows();
        count.target += there.rows();
        let typed = self.ends.typed();
        found.compare(Kind::Consumers, &id.to_string(), &wanted.json(typed), &there.json(typed));
        Ok(())
    }
}

/// What is compared of a provider as such.
fn shown(row: &Provider) -> Value {
    let parent = row.parent.map(|parent| parent.to_string());
    json!({ "name": row.name, "parent_provider_uuid": parent })
}
