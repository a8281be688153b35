//! Copies who holds what, also where an inventory has no room for it any more.

use std::sync::Arc;

use allod_core::capacity::Uuid;

use super::{Copy, Found, TRIES};
use crate::failed::Failed;
use crate::import::id::Id;
use crate::import::plan::{self, Step};
use crate::import::progress::Phase;
use crate::import::report::Kind;
use crate::import::target::Written;
use crate::import::wire::{Consumer, Part, PartKind};
use crate::import::{Ends, Others, walk};

impl Copy {
    pub(super) async fn consumers(self: &Arc<Self>, found: &Found) -> Result<(), Failed> {
        let mut uuids: Vec<Uuid> = found.source.iter().map(|row| row.uuid).collect();
        if self.ends.others == Others::Delete {
            uuids.extend(found.others.iter().map(|row| row.uuid));
        }
        let phase = Arc::new(Phase::new("copying allocations", uuids.len()));
        walk::each_consumer(&self.ends, &uuids, &phase, |id| {
            let copy = self.clone();
            async move { copy.consumer(&id).await }
        })
        .await
    }

    async fn consumer(&self, id: &Id) -> Result<(), Failed> {
        let Ends { source, target, .. } = &*self.ends;
        let mut last = Written::Overtaken(String::new());
        for _ in 0..TRIES {
            let wanted = source.consumer(id).await?;
            let there = target.side.consumer(id).await?;
            match plan::consumer(&wanted, &there, self.ends.typed(), self.replace) {
                Step::Leave => {
                    self.done().of(Kind::Consumers).equal += 1;
                    return Ok(());
                }
                Step::Report => {
                    self.done().of(Kind::Consumers).differing += 1;
                    return Ok(());
                }
                // A type cannot be taken away, only with everything else.
                Step::Write if wanted.holds_nothing() || loses_type(&wanted, &there) => {
                    let released = target.release(id).await?;
                    if wanted.holds_nothing() && released == Written::Done {
                        self.done().of(Kind::Consumers).removed += 1;
                        return Ok(());
                    }
                    last = Written::Overtaken("it is written to by others".to_owned());
                }
                Step::Write => last = self.hold(id, &wanted, there.consumer_generation).await?,
            }
            if !matches!(last, Written::Overtaken(_)) {
                break;
            }
        }
        self.note(Kind::Consumers, id, last);
        Ok(())
    }

    async fn hold(&self, id: &Id, consumer: &Consumer, at: Option<u64>) -> Result<Written, Failed> {
        let written = {
            let _shared = self.widening.read().await;
            self.ends.target.consumer(id, consumer, at).await?
        };
        match written {
            Written::NoRoom(_) => self.squeeze(id, consumer, at).await,
            written => Ok(written),
        }
    }

    /// Writes what an inventory has no room for any more, or gave out in other portions: see [`plan::widened`].
    async fn squeeze(
        &self,
        id: &Id,
        consumer: &Consumer,
        at: Option<u64>,
    ) -> Result<Written, Failed> {
        const KIND: PartKind = PartKind::Inventories;
        let _alone = self.widening.write().await;
        let target = &self.ends.target;
        let mut narrow = Vec::new();
        for (provider, held) in &consumer.allocations {
            let Ok(uuid) = provider.parse::<Uuid>() else { continue };
            let Some((Part::Inventories(now), generation)) = target.side.part(KIND, uuid).await?
            else {
                continue;
            };
            let mut wide = now.clone();
            for (class, inventory) in &mut wide {
                if held.resources.contains_key(class) {
                    *inventory = plan::widened(inventory);
                }
            }
            let written = target.part(KIND, uuid, &Part::Inventories(wide), generation).await?;
            if written == Written::Done {
                narrow.push((uuid, Part::Inventories(now)));
            }
        }
        let written = target.consumer(id, consumer, at).await;
        // Whatever became of it, nothing stays wide.
        for (uuid, part) in narrow {
            let mut back = Written::Overtaken(String::new());
            for _ in 0..TRIES {
                let Some((_, generation)) = target.side.part(KIND, uuid).await? else { break };
                back = target.part(KIND, uuid, &part, generation).await?;
                if back == Written::Done {
                    break;
                }
            }
            if back != Written::Done {
                self.note(Kind::Inventories, uuid, back);
            }
        }
        written
    }
}

fn loses_type(wanted: &Consumer, there: &Consumer) -> bool {
    wanted.kind().is_none() && there.kind().is_some()
}
