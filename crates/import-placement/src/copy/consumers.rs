//! Copies consumers with their allocations, even if the inventories of the target do not allow them.

use std::sync::Arc;

use allod_core::capacity::Uuid;

use super::{Copier, ProviderLists, TRIES};
use crate::consumer_id::ConsumerId;
use crate::error::ImportResult;
use crate::plan::{self, PlanStep};
use crate::progress::Phase;
use crate::report::ItemKind;
use crate::wire::{ConsumerBody, ProviderPart, ProviderPartKind};
use crate::writer::WriteOutcome;
use crate::{ExtraProviders, Import, find_consumers};

impl Copier {
    pub(super) async fn consumers(self: &Arc<Self>, found: &ProviderLists) -> ImportResult<()> {
        let mut uuids: Vec<Uuid> = found.source.iter().map(|row| row.uuid).collect();
        if self.import.options.extra_providers == ExtraProviders::Delete {
            uuids.extend(found.extra.iter().map(|row| row.uuid));
        }
        let phase =
            Arc::new(Phase::new(&*self.import.progress, "copying allocations", uuids.len()));
        find_consumers::each_consumer(&self.import, &uuids, &phase, |id| {
            let copy = self.clone();
            async move { copy.consumer(&id).await }
        })
        .await
    }

    async fn consumer(&self, id: &ConsumerId) -> ImportResult<()> {
        let Import { source, target, .. } = &*self.import;
        let mut last = WriteOutcome::Conflict(String::new());
        for _ in 0..TRIES {
            let wanted = source.consumer(id).await?;
            let there = target.reader.consumer(id).await?;
            match plan::consumer(
                &wanted,
                &there,
                self.import.has_types(),
                self.import.options.replace,
            ) {
                PlanStep::Skip => {
                    self.report().of(ItemKind::Consumers).equal += 1;
                    return Ok(());
                }
                PlanStep::KeepDifferent => {
                    self.report().of(ItemKind::Consumers).differing += 1;
                    return Ok(());
                }
                // Placement cannot remove a type from a consumer, so its allocations are deleted and written again.
                PlanStep::Write if wanted.is_empty() || loses_type(&wanted, &there) => {
                    let released = target.release(id).await?;
                    if wanted.is_empty() && released == WriteOutcome::Done {
                        self.report().of(ItemKind::Consumers).removed += 1;
                        return Ok(());
                    }
                    last = WriteOutcome::Conflict("other clients keep changing it".to_owned());
                }
                PlanStep::Write => {
                    last = self.write(id, &wanted, there.consumer_generation).await?
                }
            }
            if !matches!(last, WriteOutcome::Conflict(_)) {
                break;
            }
        }
        self.record(ItemKind::Consumers, id, last);
        Ok(())
    }

    async fn write(
        &self,
        id: &ConsumerId,
        consumer: &ConsumerBody,
        at: Option<u64>,
    ) -> ImportResult<WriteOutcome> {
        let written = {
            let _guard = self.widening.read().await;
            self.import.target.consumer(id, consumer, at).await?
        };
        match written {
            WriteOutcome::NoRoom(_) => self.write_widened(id, consumer, at).await,
            written => Ok(written),
        }
    }

    /// Writes allocations that the inventories do not allow: see [`plan::widened`].
    async fn write_widened(
        &self,
        id: &ConsumerId,
        consumer: &ConsumerBody,
        at: Option<u64>,
    ) -> ImportResult<WriteOutcome> {
        const KIND: ProviderPartKind = ProviderPartKind::Inventories;
        let _guard = self.widening.write().await;
        let target = &self.import.target;
        let mut widened = Vec::new();
        for (provider, held) in &consumer.allocations {
            let Ok(uuid) = provider.parse::<Uuid>() else { continue };
            let Some((ProviderPart::Inventories(now), generation)) =
                target.reader.part(KIND, uuid).await?
            else {
                continue;
            };
            let mut wide = now.clone();
            for (class, inventory) in &mut wide {
                if held.resources.contains_key(class) {
                    *inventory = plan::widened(inventory);
                }
            }
            let written =
                target.part(KIND, uuid, &ProviderPart::Inventories(wide), generation).await?;
            if written == WriteOutcome::Done {
                widened.push((uuid, ProviderPart::Inventories(now)));
            }
        }
        let written = target.consumer(id, consumer, at).await;
        // The inventories are restored even if the write failed.
        for (uuid, part) in widened {
            let mut restored = WriteOutcome::Conflict(String::new());
            for _ in 0..TRIES {
                let Some((_, generation)) = target.reader.part(KIND, uuid).await? else { break };
                restored = target.part(KIND, uuid, &part, generation).await?;
                if restored == WriteOutcome::Done {
                    break;
                }
            }
            if restored != WriteOutcome::Done {
                self.record(ItemKind::Inventories, uuid, restored);
            }
        }
        written
    }
}

fn loses_type(wanted: &ConsumerBody, there: &ConsumerBody) -> bool {
    wanted.kind().is_none() && there.kind().is_some()
}
