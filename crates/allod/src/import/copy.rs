//! Writes into the target what the source has, and leaves alone what is there and equal.
//!
//! The order is what Placement asks for: names, providers from the roots down, what they have, and then who holds it. Each
//! thing is looked at before it is written, so an import that was cut off goes on where it was, without any file that would
//! say where. Who holds what is in `consumers`. Not here: deciding, which is in `plan`, and comparing at the end, which is in `verify`.

mod consumers;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use allod_core::capacity::Uuid;
use tokio::sync::RwLock;

use super::plan::{self, Step};
use super::progress::Phase;
use super::report::{Copying, Kind};
use super::target::Written;
use super::wire::{PartKind, Provider};
use super::{Ends, Others, parallel};
use crate::failed::{Failed, advised};

/// How often a thing is looked at again because somebody else wrote in between.
const TRIES: usize = 8;

/// The providers of both sides as they were at the start.
#[derive(Debug, Default)]
pub struct Found {
    pub source: Vec<Provider>,
    pub target: HashMap<Uuid, Provider>,
    /// Those that only the target has.
    pub others: Vec<Provider>,
}

impl Found {
    pub async fn read(ends: &Ends) -> Result<Found, Failed> {
        let mut found = Found::default();
        ends.source.providers(|provider| found.source.push(provider)).await?;
        let known: HashMap<Uuid, ()> = found.source.iter().map(|row| (row.uuid, ())).collect();
        ends.target
            .side
            .providers(|provider| {
                if known.contains_key(&provider.uuid) {
                    found.target.insert(provider.uuid, provider);
                } else {
                    found.others.push(provider);
                }
            })
            .await?;
        Ok(found)
    }

    /// Whether the target may be written to as it is.
    pub fn check(&self, others: Others) -> Result<(), Failed> {
        let Some(one) = self.others.first().filter(|_| others == Others::Refuse) else {
            return Ok(());
        };
        let Provider { uuid, name, .. } = one;
        let count = self.others.len();
        Err(Failed::Refused(advised(
            format!(
                "the target has {count} providers that the source has not, such as {uuid} ({name}); nothing was written"
            ),
            "import into an empty one, or say --others keep to leave them, or --others delete to remove them",
        )))
    }
}

/// An import under way.
pub struct Copy {
    ends: Arc<Ends>,
    replace: bool,
    done: Mutex<Copying>,
    /// Held alone by whoever widens inventories, and shared by all others that write allocations.
    widening: RwLock<()>,
    /// Providers of which something was refused, perhaps because of who still holds something of them.
    again: Mutex<Vec<Provider>>,
}

pub async fn run(ends: &Arc<Ends>, replace: bool, found: Found) -> Result<Copying, Failed> {
    let copy = Arc::new(Copy {
        ends: ends.clone(),
        replace,
        done: Mutex::default(),
        widening: RwLock::default(),
        again: Mutex::default(),
    });
    copy.names().await?;
    copy.make_way(&found).await?;
    copy.providers(&found).await?;
    copy.consumers(&found).await?;
    copy.second_try().await?;
    if ends.others == Others::Delete {
        copy.delete(found.others).await?;
    }
    let done = std::mem::take(&mut *copy.done());
    Ok(done)
}

impl Copy {
    fn done(&self) -> std::sync::MutexGuard<'_, Copying> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down what became of a thing that was to be written.
    fn note(&self, kind: Kind, of: impl ToString, written: Written) {
        match written {
            Written::Done => self.done().of(kind).written += 1,
            Written::Overtaken(why) | Written::NoRoom(why) | Written::Refused(why) => {
                self.done().refused(kind, of.to_string(), why);
            }
        }
    }

    async fn names(&self) -> Result<(), Failed> {
        let Ends { source, target, .. } = &*self.ends;
        let there = target.side.custom_classes().await?;
        for name in source.custom_classes().await? {
            if there.contains(&name) {
                self.done().of(Kind::ResourceClasses).equal += 1;
            } else {
                self.note(Kind::ResourceClasses, &name, target.class(&name).await?);
            }
        }
        let there = target.side.custom_traits().await?;
        for name in source.custom_traits().await? {
            if there.contains(&name) {
                self.done().of(Kind::Traits).equal += 1;
            } else {
                self.note(Kind::Traits, &name, target.custom_trait(&name).await?);
            }
        }
        Ok(())
    }

    /// Takes names from providers that are to have another one, or are to go, where some other provider is to get them.
    async fn make_way(&self, found: &Found) -> Result<(), Failed> {
        let known = found.target.values().filter(|_| self.replace);
        let others = found.others.iter().filter(|_| self.ends.others == Others::Delete);
        for row in plan::in_the_way(&found.source, known.chain(others)) {
            let renamed = Provider { name: row.uuid.to_string().into(), ..row.clone() };
            // If it cannot be renamed, the one that wants the name is refused, which is noted.
            self.ends.target.provider(&renamed, true).await?;
        }
        Ok(())
    }

    async fn providers(self: &Arc<Self>, found: &Found) -> Result<(), Failed> {
        let phase = Arc::new(Phase::new("copying providers", found.source.len()));
        for level in plan::by_depth(&found.source) {
            let rows = level.into_iter().map(|ix| found.source[ix].clone());
            parallel::each(self.ends.jobs, rows, |provider| {
                let there = found.target.get(&provider.uuid).cloned();
                let (copy, phase) = (self.clone(), phase.clone());
                async move {
                    copy.provider(&provider, there.as_ref()).await?;
                    phase.one();
                    Ok(())
                }
            })
            .await?;
        }
        Ok(())
    }

    async fn provider(&self, wanted: &Provider, there: Option<&Provider>) -> Result<(), Failed> {
        match plan::provider(wanted, there, self.replace) {
            Step::Leave => self.done().of(Kind::Providers).equal += 1,
            Step::Report => self.done().of(Kind::Providers).differing += 1,
            Step::Write => {
                let written = self.ends.target.provider(wanted, there.is_some()).await?;
                let is_there = there.is_some() || written == Written::Done;
                self.note(Kind::Providers, wanted.uuid, written);
                if !is_there {
                    return Ok(());
                }
            }
        }
        for part in PartKind::ALL {
            match self.part(part, wanted.uuid).await? {
                Some(Written::Refused(_) | Written::NoRoom(_)) if self.replace => {
                    self.again.lock().unwrap_or_else(PoisonError::into_inner).push(wanted.clone());
                    break;
                }
                Some(written) => self.note(kind_of(part), wanted.uuid, written),
                None => {}
            }
        }
        Ok(())
    }

    /// Writes a part of a provider; `None` if it need not or may not be written, which is noted.
    async fn part(&self, kind: PartKind, of: Uuid) -> Result<Option<Written>, Failed> {
        let Ends { source, target, .. } = &*self.ends;
        let mut last = Written::Overtaken(String::new());
        for _ in 0..TRIES {
            // One that has gone meanwhile is for the next run, or for the comparison at the end.
            let Some((wanted, _)) = source.part(kind, of).await? else { return Ok(None) };
            let Some((there, generation)) = target.side.part(kind, of).await? else {
                return Ok(None);
            };
            match plan::part(&wanted, &there, self.replace) {
                Step::Leave => {
                    self.done().of(kind_of(kind)).equal += 1;
                    return Ok(None);
                }
                Step::Report => {
                    self.done().of(kind_of(kind)).differing += 1;
                    return Ok(None);
                }
                Step::Write => last = target.part(kind, of, &wanted, generation).await?,
            }
            if !matches!(last, Written::Overtaken(_)) {
                break;
            }
        }
        Ok(Some(last))
    }

    /// What was refused while somebody held what has to go may be taken now.
    async fn second_try(&self) -> Result<(), Failed> {
        let again = std::mem::take(&mut *self.again.lock().unwrap_or_else(PoisonError::into_inner));
        for provider in again {
            for part in PartKind::ALL {
                if let Some(written) = self.part(part, provider.uuid).await? {
                    self.note(kind_of(part), provider.uuid, written);
                }
            }
        }
        Ok(())
    }

    /// Removes providers, children before their parents.
    async fn delete(&self, others: Vec<Provider>) -> Result<(), Failed> {
        for level in plan::by_depth(&others).into_iter().rev() {
            for ix in level {
                let uuid = others[ix].uuid;
                match self.ends.target.delete_provider(uuid).await? {
                    Written::Done | Written::Overtaken(_) => {
                        self.done().of(Kind::Providers).removed += 1;
                    }
                    refused => self.note(Kind::Providers, uuid, refused),
                }
            }
        }
        Ok(())
    }
}

fn kind_of(part: PartKind) -> Kind {
    match part {
        PartKind::Inventories => Kind::Inventories,
        PartKind::Traits => Kind::ProviderTraits,
        PartKind::Aggregates => Kind::ProviderAggregates,
    }
}
