//! Writes the items of the source to the target, and skips those that are equal.
//!
//! In the order that Placement needs: resource classes and traits, providers from the roots down with their parts, then
//! consumers (in `consumers`). Each item is read from the target before it is written, so an interrupted import resumes
//! when it is run again. `plan` decides what to do with an item; `verify` compares at the end.

mod consumers;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use allod_core::capacity::Uuid;
use tokio::sync::RwLock;

use crate::error::{ImportError, ImportErrorKind, ImportResult};
use crate::plan::{self, PlanStep};
use crate::progress::Phase;
use crate::report::{CopyReport, ItemKind};
use crate::wire::{ProviderEntry, ProviderPartKind};
use crate::writer::WriteOutcome;
use crate::{ExtraProviders, Import, parallel};

/// How often an item is read and written again after a conflict with another client.
const TRIES: usize = 8;

/// The providers of both sides at the start.
#[derive(Debug, Default)]
pub struct ProviderLists {
    pub source: Vec<ProviderEntry>,
    target: HashMap<Uuid, ProviderEntry>,
    /// Those that only the target has.
    extra: Vec<ProviderEntry>,
}

impl ProviderLists {
    pub async fn read(import: &Import) -> ImportResult<ProviderLists> {
        let mut found = ProviderLists::default();
        import.source.providers(|provider| found.source.push(provider)).await?;
        let known: HashSet<Uuid> = found.source.iter().map(|row| row.uuid).collect();
        let each = |provider: ProviderEntry| {
            if known.contains(&provider.uuid) {
                found.target.insert(provider.uuid, provider);
            } else {
                found.extra.push(provider);
            }
        };
        import.target.reader.providers(each).await?;
        Ok(found)
    }

    pub fn ensure_no_extra(&self, policy: ExtraProviders) -> ImportResult<()> {
        let Some(one) = self.extra.first().filter(|_| policy == ExtraProviders::Refuse) else {
            return Ok(());
        };
        let ProviderEntry { uuid, name, .. } = one;
        let count = self.extra.len();
        let what = format!(
            "the target has {count} providers that the source does not have, such as {uuid} ({name}); nothing was written"
        );
        Err(ImportError::new(ImportErrorKind::Refused, what).with_advice(
            "import into an empty server, or use --others keep to leave them or --others delete to delete them",
        ))
    }
}

pub struct Copier {
    import: Arc<Import>,
    report: Mutex<CopyReport>,
    /// Locked for writing while inventories are widened, and for reading by other writes of allocations.
    widening: RwLock<()>,
    /// Providers with a refused part. Allocations that are written or released later may allow it.
    retry: Mutex<Vec<ProviderEntry>>,
}

pub async fn run(import: &Arc<Import>, found: ProviderLists) -> ImportResult<CopyReport> {
    let copy = Arc::new(Copier {
        import: import.clone(),
        report: Mutex::default(),
        widening: RwLock::default(),
        retry: Mutex::default(),
    });
    copy.names().await?;
    copy.free_names(&found).await?;
    copy.providers(&found).await?;
    copy.consumers(&found).await?;
    copy.retry_parts().await?;
    if import.options.extra_providers == ExtraProviders::Delete {
        copy.delete(found.extra).await?;
    }
    let report = std::mem::take(&mut *copy.report());
    Ok(report)
}

impl Copier {
    fn report(&self) -> std::sync::MutexGuard<'_, CopyReport> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, kind: ItemKind, of: impl ToString, written: WriteOutcome) {
        match written {
            WriteOutcome::Done => self.report().of(kind).written += 1,
            WriteOutcome::Conflict(why)
            | WriteOutcome::NoRoom(why)
            | WriteOutcome::Refused(why) => {
                self.report().refused(kind, of.to_string(), why);
            }
        }
    }

    async fn names(&self) -> ImportResult<()> {
        let Import { source, target, .. } = &*self.import;
        let classes = (source.custom_classes().await?, target.reader.custom_classes().await?);
        let traits = (source.custom_traits().await?, target.reader.custom_traits().await?);
        for (kind, list, (wanted, there)) in [
            (ItemKind::ResourceClasses, "resource_classes", classes),
            (ItemKind::Traits, "traits", traits),
        ] {
            for name in wanted {
                if there.contains(&name) {
                    self.report().of(kind).equal += 1;
                } else {
                    self.record(kind, &name, target.custom_name(list, &name).await?);
                }
            }
        }
        Ok(())
    }

    /// Renames providers of the target whose name another provider is to get, if they are to be changed or deleted.
    async fn free_names(&self, found: &ProviderLists) -> ImportResult<()> {
        let options = &self.import.options;
        let known = found.target.values().filter(|_| options.replace);
        let delete = options.extra_providers == ExtraProviders::Delete;
        let extra = found.extra.iter().filter(|_| delete);
        for row in plan::name_conflicts(&found.source, known.chain(extra)) {
            let renamed = ProviderEntry { name: row.uuid.to_string().into(), ..row.clone() };
            // If renaming fails, the write of the other provider is refused and reported.
            self.import.target.provider(&renamed, true).await?;
        }
        Ok(())
    }

    async fn providers(self: &Arc<Self>, found: &ProviderLists) -> ImportResult<()> {
        let phase =
            Arc::new(Phase::new(&*self.import.progress, "copying providers", found.source.len()));
        for level in plan::by_depth(&found.source) {
            let rows = level.into_iter().map(|ix| found.source[ix].clone());
            parallel::each(self.import.options.jobs, rows, |provider| {
                let there = found.target.get(&provider.uuid).cloned();
                let (copy, phase) = (self.clone(), phase.clone());
                async move {
                    copy.provider(&provider, there.as_ref()).await?;
                    phase.provider_done();
                    Ok(())
                }
            })
            .await?;
        }
        Ok(())
    }

    async fn provider(
        &self,
        wanted: &ProviderEntry,
        there: Option<&ProviderEntry>,
    ) -> ImportResult<()> {
        match plan::provider(wanted, there, self.import.options.replace) {
            PlanStep::Skip => self.report().of(ItemKind::Providers).equal += 1,
            PlanStep::KeepDifferent => self.report().of(ItemKind::Providers).differing += 1,
            PlanStep::Write => {
                let written = self.import.target.provider(wanted, there.is_some()).await?;
                let exists = there.is_some() || written == WriteOutcome::Done;
                self.record(ItemKind::Providers, wanted.uuid, written);
                if !exists {
                    return Ok(());
                }
            }
        }
        for part in ProviderPartKind::ALL {
            match self.part(part, wanted.uuid).await? {
                Some(WriteOutcome::Refused(_) | WriteOutcome::NoRoom(_))
                    if self.import.options.replace =>
                {
                    self.retry.lock().unwrap_or_else(PoisonError::into_inner).push(wanted.clone());
                    break;
                }
                Some(written) => self.record(kind_of(part), wanted.uuid, written),
                None => {}
            }
        }
        Ok(())
    }

    /// Writes a part of a provider. `None` if it is equal or may not be overwritten.
    async fn part(&self, kind: ProviderPartKind, of: Uuid) -> ImportResult<Option<WriteOutcome>> {
        let Import { source, target, .. } = &*self.import;
        let mut last = WriteOutcome::Conflict(String::new());
        for _ in 0..TRIES {
            // A provider deleted meanwhile is left to the comparison at the end.
            let Some((wanted, _)) = source.part(kind, of).await? else { return Ok(None) };
            let Some((there, generation)) = target.reader.part(kind, of).await? else {
                return Ok(None);
            };
            match plan::part(&wanted, &there, self.import.options.replace) {
                PlanStep::Skip => {
                    self.report().of(kind_of(kind)).equal += 1;
                    return Ok(None);
                }
                PlanStep::KeepDifferent => {
                    self.report().of(kind_of(kind)).differing += 1;
                    return Ok(None);
                }
                PlanStep::Write => last = target.part(kind, of, &wanted, generation).await?,
            }
            if !matches!(last, WriteOutcome::Conflict(_)) {
                break;
            }
        }
        Ok(Some(last))
    }

    /// Writes the refused parts again, now that all consumers are written.
    async fn retry_parts(&self) -> ImportResult<()> {
        let retry = std::mem::take(&mut *self.retry.lock().unwrap_or_else(PoisonError::into_inner));
        for provider in retry {
            for part in ProviderPartKind::ALL {
                if let Some(written) = self.part(part, provider.uuid).await? {
                    self.record(kind_of(part), provider.uuid, written);
                }
            }
        }
        Ok(())
    }

    /// Deletes providers, children before their parents.
    async fn delete(&self, providers: Vec<ProviderEntry>) -> ImportResult<()> {
        for level in plan::by_depth(&providers).into_iter().rev() {
            for ix in level {
                let uuid = providers[ix].uuid;
                match self.import.target.delete_provider(uuid).await? {
                    WriteOutcome::Done | WriteOutcome::Conflict(_) => {
                        self.report().of(ItemKind::Providers).removed += 1;
                    }
                    refused => self.record(ItemKind::Providers, uuid, refused),
                }
            }
        }
        Ok(())
    }
}

fn kind_of(part: ProviderPartKind) -> ItemKind {
    match part {
        ProviderPartKind::Inventories => ItemKind::Inventories,
        ProviderPartKind::Traits => ItemKind::ProviderTraits,
        ProviderPartKind::Aggregates => ItemKind::ProviderAggregates,
    }
}
