//! The state of a value at a moment in the past.
//!
//! It follows from the last change of the value before that moment; for an unclaimed value, from the definition of its pool
//! at that time. If these have been trimmed, the present state may give the answer: what has not changed since then was the
//! same then.

use std::sync::Arc;

use allod_core::claim::{Claim, ClaimState};
use allod_core::event::{ClaimEvent, Event, PoolEvent, Was};
use allod_core::pool::PoolSpec;
use allod_core::receipt::ClaimIn;
use allod_core::span::{self, Span};
use allod_core::value::Kind;
use allod_core::view::{self, ClaimFilter, ValueView};

use super::lookup::{HistoryOrder, TermGroup};
use super::records::HistoryRecord;
use super::{HistoryError, HistoryReader, Moment};
use crate::handle::CommitPoint;

/// The state of a value at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoricalValue {
    /// The last position at or before the moment.
    pub position: u64,
    /// The requested time, or the time of that position.
    pub at_ms: u64,
    pub kind: Kind,
    pub value: Span,
    pub view: ValueView,
    /// The end of the journal that the answer covers.
    pub at: CommitPoint,
}

/// A claim that existed at the moment, according to its last event.
struct LiveClaim {
    /// The first of its values that overlaps the queried one. The claim with the lowest is reported.
    first: u128,
    found: FoundClaim,
}

enum FoundClaim {
    /// Complete.
    Whole(Claim),
    /// Lacks the fields that only its grant has.
    Changed { position: u64, claim: Claim },
}

/// The progress of a query.
struct ValueSearch<'a> {
    reader: &'a HistoryReader,
    pool: &'a Arc<str>,
    kind: Kind,
    value: Span,
    /// The parts of the value whose state is known; sorted, disjoint.
    decided: Vec<Span>,
    alive: Vec<LiveClaim>,
}

impl HistoryReader {
    pub(super) fn find_value(
        &self,
        pool: &Arc<str>,
        text: &str,
        moment: Moment,
        at: CommitPoint,
    ) -> Result<HistoricalValue, HistoryError> {
        let oldest = self.first_kept()?;
        let position = self.moment(moment, oldest, at)?;
        let at_ms = match moment {
            Moment::TimeMs(at_ms) => at_ms,
            Moment::Position(position) => self.time_of(position)?,
        };
        let spec = self.definition(pool, position, oldest, at)?;
        let Some(spec) = spec else {
            let pool = pool.clone();
            return Err(HistoryError::PoolUnknown { pool, position, at });
        };
        let kind = spec.kind;
        let value = kind.parse(text).map_err(|error| HistoryError::NotAValue { error, at })?;

        let removals = [TermGroup::Removals(pool)];
        let removed =
            self.find_event(&removals, (oldest, position), HistoryOrder::NewestFirst, |event| {
                removes(event, pool).then_some(())
            })?;
        let begin = removed.map_or(0, |(position, ())| position);
        let (decided, alive) = (Vec::new(), Vec::new());
        let mut search = ValueSearch { reader: self, pool, kind, value, decided, alive };
        search.look_back(begin.saturating_add(1).max(oldest), position)?;
        if begin < oldest && oldest > 1 {
            search.look_ahead(position, oldest)?;
        }
        let claim = search.first_claim(oldest)?;
        let view = match claim {
            None => view::unclaimed(&spec, value),
            Some(claim) => {
                let held = claim.state == ClaimState::Held;
                let claim = ClaimIn { pool: pool.clone(), kind, claim };
                if held { ValueView::Held(claim) } else { ValueView::Quarantined(claim) }
            }
        };
        Ok(HistoricalValue { position, at_ms, kind, value, view, at })
    }

    /// The last position at or before a moment. An error if it is in the future or has been trimmed.
    fn moment(&self, moment: Moment, oldest: u64, at: CommitPoint) -> Result<u64, HistoryError> {
        if let Moment::TimeMs(at_ms) = moment
            && at_ms > self.shared.read(|snapshot| snapshot.now_ms)
        {
            return Err(HistoryError::TimeUnknown);
        }
        let position = self.position_at(moment, at)?;
        // A time before the first available entry may be anywhere among the trimmed ones.
        let kept = match moment {
            Moment::Position(_) => position + 1 >= oldest,
            Moment::TimeMs(_) => position >= oldest || oldest <= 1,
        };
        if kept { Ok(position) } else { Err(HistoryError::Trimmed { oldest_position: oldest - 1 }) }
    }

    /// The time of a position.
    fn time_of(&self, position: u64) -> Result<u64, HistoryError> {
        let oldest = self.journal.oldest()?;
        let seq = self.journal.seq_of_position(position)?.max(oldest);
        let Some(record) = self.record(seq)? else { return Ok(0) };
        let entry = record.entries.iter().find(|(found, _)| *found == position);
        Ok(entry.map_or(record.at_ms, |(_, entry)| entry.at_ms))
    }

    /// The definition of a pool at a position. `None`: it did not exist.
    fn definition(
        &self,
        pool: &Arc<str>,
        position: u64,
        oldest: u64,
        at: CommitPoint,
    ) -> Result<Option<Arc<PoolSpec>>, HistoryError> {
        let defines = |event: &Event| match event {
            Event::Pool(PoolEvent::Defined(event)) if event.pool == *pool => {
                Some((event.generation, Some(Arc::new(event.spec.clone()))))
            }
            Event::Pool(PoolEvent::Removed(event)) if event.pool == *pool => Some((0, None)),
            _ => None,
        };
        let groups = [TermGroup::Definitions(pool)];
        let (before, after) = (HistoryOrder::NewestFirst, HistoryOrder::OldestFirst);
        let last = self.find_event(&groups, (oldest, position), before, defines)?;
        if let Some((_, (_, spec))) = last {
            return Ok(spec);
        }
        if oldest <= 1 {
            return Ok(None);
        }
        let (live, end) = self.shared.read(|snapshot| {
            (snapshot.state.pool(pool).map(|pool| pool.spec.clone()), snapshot.at.position)
        });
        self.await_position(end, at)?;
        match self.find_event(&groups, (position + 1, end), after, defines)? {
            None => Ok(live),
            Some((_, (1, _))) => Ok(None),
            Some(_) => Err(HistoryError::Trimmed { oldest_position: oldest - 1 }),
        }
    }

    /// The first event in this order, between two positions, for which `find` returns something.
    fn find_event<T>(
        &self,
        groups: &[TermGroup<'_>],
        between: (u64, u64),
        order: HistoryOrder,
        find: impl Fn(&Event) -> Option<T>,
    ) -> Result<Option<(u64, T)>, HistoryError> {
        let mut found = None;
        self.each_event(groups, between, order, |position, event| {
            found = find(event).map(|found| (position, found));
            Ok(found.is_none())
        })?;
        Ok(found)
    }

    /// Calls `take` for the events between two positions, in order, until it returns `false`.
    fn each_event(
        &self,
        groups: &[TermGroup<'_>],
        (from, upto): (u64, u64),
        order: HistoryOrder,
        mut take: impl FnMut(u64, &Event) -> Result<bool, HistoryError>,
    ) -> Result<(), HistoryError> {
        if from > upto {
            return Ok(());
        }
        let newest_first = order == HistoryOrder::NewestFirst;
        let mut walk = self.walk(groups, (from, upto), order)?;
        while let Some(HistoryRecord { mut entries, .. }) = walk.next_record()? {
            if newest_first {
                entries.reverse();
            }
            entries.retain(|(position, _)| (from..=upto).contains(position));
            for (position, mut entry) in entries {
                if newest_first {
                    entry.events.reverse();
                }
                for event in &entry.events {
                    if !take(position, event)? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits until the index covers a position.
    fn await_position(&self, position: u64, at: CommitPoint) -> Result<(), HistoryError> {
        let until = std::time::Instant::now() + self.wait;
        let reached = self.wait_for_index(position);
        while reached.borrow().position < position {
            if std::time::Instant::now() > until {
                return Err(self.late(CommitPoint { position, ..at }));
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Ok(())
    }
}

impl ValueSearch<'_> {
    fn done(&self) -> bool {
        span::subtract(&[self.value], &self.decided).is_empty()
    }

    /// Marks the values of an event as known. Returns the first one that was not known before.
    fn decide(&mut self, values: impl Iterator<Item = Span>) -> Option<u128> {
        let here: Vec<Span> = values.filter_map(|span| span.intersection(self.value)).collect();
        let new = span::subtract(&span::normalise(here.clone()), &self.decided);
        let first = new.first()?.first;
        self.decided = span::normalise([&self.decided[..], &here].concat());
        Some(first)
    }

    /// Examines the changes up to the moment, latest first.
    fn look_back(&mut self, from: u64, upto: u64) -> Result<(), HistoryError> {
        let (reader, pool, values) = (self.reader, self.pool, [(self.kind, self.value)]);
        let groups = [TermGroup::Values(pool, &values)];
        let order = HistoryOrder::NewestFirst;
        reader.each_event(&groups, (from, upto), order, |position, event| {
            let Some((values, found)) = self.found(position, event) else { return Ok(true) };
            let Some(first) = self.decide(values.into_iter()) else { return Ok(true) };
            self.alive.extend(found.map(|found| LiveClaim { first, found }));
            Ok(!self.done())
        })
    }

    /// The values that an event concerns, and the claim after it.
    fn found(&self, position: u64, event: &Event) -> Option<(Vec<Span>, Option<FoundClaim>)> {
        let of = |was: &Was| was.values.spans().collect::<Vec<_>>();
        match event {
            Event::Claim(ClaimEvent::Granted(event)) if event.pool == *self.pool => {
                let found = FoundClaim::Whole(event.claim());
                Some((event.values.spans().collect(), Some(found)))
            }
            Event::Claim(ClaimEvent::LeaseChanged(event)) if event.pool == *self.pool => {
                let was = event.was.as_ref()?;
                let (key, state) = (&event.key, ClaimState::Held);
                let claim = changed(key, was, event.version, event.expires_ms, state);
                Some((of(was), Some(FoundClaim::Changed { position, claim })))
            }
            Event::Claim(ClaimEvent::Released(event)) if event.pool == *self.pool => {
                let was = event.was.as_ref()?;
                let kept = event.quarantine_until_ms.map(|until_ms| {
                    let state = ClaimState::Quarantined { until_ms };
                    let claim = changed(&event.key, was, event.version, None, state);
                    FoundClaim::Changed { position, claim }
                });
                Some((of(was), kept))
            }
            Event::Claim(ClaimEvent::QuarantineEnded(event)) if event.pool == *self.pool => {
                Some((of(event.was.as_ref()?), None))
            }
            _ => None,
        }
    }

    /// For values whose last change has been trimmed: if they did not change after the moment, their present state is the
    /// answer.
    fn look_ahead(&mut self, position: u64, oldest: u64) -> Result<(), HistoryError> {
        if self.done() {
            return Ok(());
        }
        let (live, end) = self.reader.shared.read(|snapshot| {
            let mut live = Vec::new();
            for quarantined in [false, true] {
                let filter = ClaimFilter {
                    overlaps: Some(self.value),
                    quarantined,
                    ..ClaimFilter::default()
                };
                let limit = self.reader.records_max;
                let page = view::claims(snapshot.state, self.pool, 0, &filter, None, limit);
                let Ok(Some(page)) = page else { continue };
                if page.next.is_some() {
                    return (None, snapshot.at.position);
                }
                live.extend(page.items);
            }
            (Some(live), snapshot.at.position)
        });
        self.reader.await_position(end, CommitPoint { position: end, ..CommitPoint::default() })?;
        let Some(mut live) = live else {
            return Err(HistoryError::TooWide { history_records_max: self.reader.records_max });
        };
        // After a removal, a pool of the same name is a different one.
        let mut end = end;
        let (reader, pool, values) = (self.reader, self.pool, [(self.kind, self.value)]);
        let order = HistoryOrder::OldestFirst;
        let removals = [TermGroup::Removals(pool)];
        let removed = reader.find_event(&removals, (position + 1, end), order, |event| {
            let Event::Pool(PoolEvent::Removed(event)) = event else { return None };
            (event.pool == *pool).then_some(event.claims)
        })?;
        let ended = removed.map_or(0, |(_, claims)| claims);
        if let Some((removed, _)) = removed {
            end = removed;
            live.clear();
        }
        let groups = [TermGroup::Values(pool, &values)];
        reader.each_event(&groups, (position + 1, end), order, |_, event| {
            let Some((values, _)) = self.found(position, event) else { return Ok(true) };
            let decided = self.decide(values.into_iter()).is_some();
            // The claim existed before this change, and its grant has been trimmed.
            if decided && !matches!(event, Event::Claim(ClaimEvent::Granted(_))) {
                return Err(HistoryError::Trimmed { oldest_position: oldest - 1 });
            }
            Ok(!self.done())
        })?;
        // A claim that ended with the pool has no event of its own, and its grant may have been trimmed.
        if ended > 0 && !self.done() {
            return Err(HistoryError::Trimmed { oldest_position: oldest - 1 });
        }
        for ClaimIn { claim, .. } in live {
            if let Some(first) = self.decide(claim.values.spans()) {
                self.alive.push(LiveClaim { first, found: FoundClaim::Whole(claim) });
            }
        }
        Ok(())
    }

    /// The claim with the lowest value, complete.
    fn first_claim(self, oldest: u64) -> Result<Option<Claim>, HistoryError> {
        let Some(LiveClaim { found, .. }) = self.alive.into_iter().min_by_key(|alive| alive.first)
        else {
            return Ok(None);
        };
        let (position, claim) = match found {
            FoundClaim::Whole(claim) => return Ok(Some(claim)),
            FoundClaim::Changed { position, claim } => (position, claim),
        };
        let groups = [TermGroup::Grants(&claim.key), TermGroup::Pool(self.pool)];
        let grants = |event: &Event| match event {
            Event::Claim(ClaimEvent::Granted(event))
                if event.pool == *self.pool && event.key == claim.key =>
            {
                Some(event.claim())
            }
            _ => None,
        };
        let (before, after) = (HistoryOrder::NewestFirst, HistoryOrder::OldestFirst);
        let last = self.reader.find_event(&groups, (oldest, position), before, grants)?;
        if let Some((_, grant)) = last {
            let Claim { created_ms, labels, params, .. } = grant;
            return Ok(Some(Claim { created_ms, labels, params, ..claim }));
        }
        // The fields of a grant never change, so if the claim still exists, the present state has them.
        let (live, end) = self.reader.shared.read(|snapshot| {
            (view::claim(snapshot.state, self.pool, &claim.key), snapshot.at.position)
        });
        self.reader.await_position(end, CommitPoint { position: end, ..CommitPoint::default() })?;
        let again = self.reader.find_event(&groups, (position + 1, end), after, grants)?;
        match live {
            Some(ClaimIn { claim: Claim { created_ms, labels, params, .. }, .. })
                if again.is_none() =>
            {
                Ok(Some(Claim { created_ms, labels, params, ..claim }))
            }
            _ => Err(HistoryError::Trimmed { oldest_position: oldest - 1 }),
        }
    }
}

fn removes(event: &Event, pool: &Arc<str>) -> bool {
    matches!(event, Event::Pool(PoolEvent::Removed(event)) if event.pool == *pool)
}

/// A claim from a later event, without the fields that only its grant has.
fn changed(
    key: &Arc<str>,
    was: &Was,
    version: u64,
    expires_ms: Option<u64>,
    state: ClaimState,
) -> Claim {
    Claim {
        key: key.clone(),
        owner: was.owner.clone(),
        values: was.values.clone(),
        version,
        created_ms: 0,
        expires_ms,
        state,
        labels: Default::default(),
        params: None,
    }
}
