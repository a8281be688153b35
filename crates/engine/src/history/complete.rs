//! Completes events of feature level 1, which lack owner, values and kind, from earlier events.
//!
//! Owner and values of a claim do not change, so they are taken from the last grant with its key; for the end of a
//! quarantine, from the last grant that began with its first value. If that grant has been trimmed, the event stays
//! incomplete and is found only by its pool and key.

use allod_core::event::{ClaimEvent, ClaimGranted, Event, PoolEvent, QuarantineEnded, Was};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_record::Entry;

use super::lookup::{HistoryOrder, TermGroup};
use super::{HistoryError, HistoryReader};

/// Whether an event lacks fields that later feature levels have.
pub(super) fn lacks(event: &Event) -> bool {
    match event {
        Event::Claim(ClaimEvent::Granted(event)) => event.kind.is_none(),
        Event::Claim(ClaimEvent::LeaseChanged(event)) => event.was.is_none(),
        Event::Claim(ClaimEvent::Released(event)) => event.was.is_none(),
        Event::Claim(ClaimEvent::QuarantineEnded(event)) => event.was.is_none(),
        Event::Pool(_) | Event::Idempotency(_) => false,
        Event::Capacity(_)
        | Event::Blocks(_)
        | Event::Requests(_)
        | Event::Alarm(_)
        | Event::Outbox(_)
        | Event::Authority(_) => false,
    }
}

impl HistoryReader {
    /// Completes the entries of one record. The records before it must be in the index.
    pub(super) fn complete(
        &self,
        before: u64,
        entries: &mut [(u64, Entry)],
    ) -> Result<(), HistoryError> {
        for entry in 0..entries.len() {
            for event in 0..entries[entry].1.events.len() {
                let bare = &entries[entry].1.events[event];
                if !lacks(bare) {
                    continue;
                }
                let earlier = PriorEvents { reader: self, before, entries, at: (entry, event) };
                let completed = earlier.complete(bare)?;
                entries[entry].1.events[event] = completed;
            }
        }
        Ok(())
    }
}

/// The events before one event, in its own record and in earlier ones.
struct PriorEvents<'a> {
    reader: &'a HistoryReader,
    before: u64,
    entries: &'a [(u64, Entry)],
    at: (usize, usize),
}

impl PriorEvents<'_> {
    fn complete(&self, event: &Event) -> Result<Event, HistoryError> {
        let mut event = event.clone();
        match &mut event {
            Event::Claim(ClaimEvent::Granted(event)) => event.kind = self.kind(&event.pool)?,
            Event::Claim(ClaimEvent::LeaseChanged(event)) => {
                event.was = self.was(&event.pool, &event.key)?
            }
            Event::Claim(ClaimEvent::Released(event)) => {
                event.was = self.was(&event.pool, &event.key)?
            }
            Event::Claim(ClaimEvent::QuarantineEnded(event)) => self.complete_end(event)?,
            _ => {}
        }
        Ok(event)
    }

    fn was(&self, pool: &str, key: &str) -> Result<Option<Was>, HistoryError> {
        let groups = [TermGroup::Grants(key), TermGroup::Pool(pool)];
        let grant = self.last(&groups, |event| match event {
            Event::Claim(ClaimEvent::Granted(event))
                if *event.pool == *pool && *event.key == *key =>
            {
                Some(event.clone())
            }
            _ => None,
        })?;
        self.was_of(pool, grant.as_ref())
    }

    fn was_of(
        &self,
        pool: &str,
        grant: Option<&ClaimGranted>,
    ) -> Result<Option<Was>, HistoryError> {
        let (Some(grant), Some(kind)) = (grant, self.kind(pool)?) else { return Ok(None) };
        Ok(Some(Was { owner: grant.owner.clone(), values: grant.values.clone(), kind }))
    }

    fn complete_end(&self, ended: &mut QuarantineEnded) -> Result<(), HistoryError> {
        let first = ended.first;
        // The kind does not matter for the lookup of a single value.
        let values = [(Kind::Id64, Span::one(first))];
        let groups = [TermGroup::Values(&ended.pool, &values)];
        let grant = self.last(&groups, |event| match event {
            Event::Claim(ClaimEvent::Granted(event))
                if event.pool == ended.pool && event.values.first().first == first =>
            {
                Some(event.clone())
            }
            _ => None,
        })?;
        ended.was = self.was_of(&ended.pool, grant.as_ref())?;
        ended.key = grant.filter(|_| ended.was.is_some()).map(|grant| grant.key);
        Ok(())
    }

    fn kind(&self, pool: &str) -> Result<Option<Kind>, HistoryError> {
        self.last(&[TermGroup::Definitions(pool)], |event| match event {
            Event::Pool(PoolEvent::Defined(event)) if *event.pool == *pool => Some(event.spec.kind),
            _ => None,
        })
    }

    /// The last event before this one for which `find` returns something.
    fn last<T>(
        &self,
        groups: &[TermGroup<'_>],
        find: impl Fn(&Event) -> Option<T>,
    ) -> Result<Option<T>, HistoryError> {
        let (entry, event) = self.at;
        let same = self.entries[entry].1.events[..event].iter().rev();
        let others = self.entries[..entry].iter().rev();
        let others = others.flat_map(|(_, entry)| entry.events.iter().rev());
        if let Some(found) = same.chain(others).find_map(&find) {
            return Ok(Some(found));
        }
        let from = self.reader.first_kept()?;
        if from > self.before {
            return Ok(None);
        }
        let mut walk =
            self.reader.walk(groups, (from, self.before), HistoryOrder::NewestFirst)?.uncompleted();
        while let Some(record) = walk.next_record()? {
            let entries = record.entries.iter().rev().filter(|(at, _)| *at <= self.before);
            let mut events = entries.flat_map(|(_, entry)| entry.events.iter().rev());
            if let Some(found) = events.find_map(&find) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}
