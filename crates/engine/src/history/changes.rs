//! Finds changes by pool, value, key, owner, provider, consumer and time.

use std::sync::Arc;

use allod_core::capacity::Uuid;
use allod_core::claim::Values;
use allod_core::event::Event;
use allod_core::event::projection::Projection;
use allod_core::span::Span;
use allod_core::value::Kind;

use super::lookup::{HistoryOrder, TermGroup};
use super::records::HistoryRecord;
use super::{HistoryError, HistoryReader, Moment};
use crate::handle::CommitPoint;

/// A query for changes. A change must match every field that is set.
#[derive(Debug, Clone)]
pub struct ChangeQuery {
    pub pool: Option<Arc<str>>,
    /// Only pools whose name begins with this.
    pub pool_prefix: Arc<str>,
    /// Only claims whose values overlap one of these, which is interpreted by the kind of the pool. Empty: all claims.
    /// Requires `pool`.
    pub values: Vec<(Kind, Span)>,
    pub key: Option<Arc<str>>,
    pub owner: Option<Arc<str>>,
    /// Only changes of this provider, or of allocations from it.
    pub provider: Option<Uuid>,
    pub consumer: Option<Uuid>,
    /// Inclusive.
    pub since: Option<Moment>,
    /// Inclusive.
    pub until: Option<Moment>,
    pub order: HistoryOrder,
    /// The most changes of a page.
    pub limit: usize,
    /// Continue after this position, in the direction of `order`.
    pub after: Option<u64>,
}

/// The matching events of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    pub position: u64,
    pub at_ms: u64,
    pub events: Vec<Event>,
}

/// A page of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryPage {
    pub changes: Vec<HistoryEntry>,
    /// The `after` of the next page. `None`: this is the last page.
    pub next: Option<u64>,
    /// Everything after this position is available.
    pub oldest_position: u64,
    /// The end of what the answer covers.
    pub at: CommitPoint,
}

impl ChangeQuery {
    pub(super) fn fits(&self, event: &Event) -> bool {
        let Some(about) = Projection::of(event) else { return false };
        let Some(pool) = about.pool else {
            let is_shown = matches!(event, Event::Capacity(_) | Event::Authority(_));
            return is_shown && self.fits_without_pool(&about);
        };
        let same = |asked: &Option<Arc<str>>, found: Option<&Arc<str>>| {
            asked.as_ref().is_none_or(|asked| Some(asked) == found)
        };
        let in_pool = pool.starts_with(&*self.pool_prefix) && same(&self.pool, Some(pool));
        if about.ends_claims && self.pool.is_some() {
            // The removal of the pool is the end of the claim that is asked for.
            return in_pool && self.provider.is_none() && self.consumer.is_none();
        }
        in_pool
            && same(&self.key, about.key)
            && same(&self.owner, about.owner)
            && (self.values.is_empty() || about.values.is_some_and(|values| self.has_value(values)))
            && self.provider.is_none()
            && self.consumer.is_none()
    }

    /// Events of capacity and of authorities have no pool, key or owner.
    fn fits_without_pool(&self, about: &Projection<'_>) -> bool {
        self.pool_prefix.is_empty()
            && self.pool.is_none()
            && self.key.is_none()
            && self.owner.is_none()
            && self.values.is_empty()
            && self.provider.is_none_or(|asked| about.providers().any(|found| found == asked))
            && self.consumer.is_none_or(|asked| about.consumer == Some(asked))
    }

    fn has_value(&self, (kind, values): (Option<Kind>, &Values)) -> bool {
        let is = |asked: &(Kind, Span)| {
            kind.is_none_or(|kind| kind == asked.0) && values.first_within(asked.1).is_some()
        };
        self.values.iter().any(is)
    }

    fn groups(&self) -> Vec<TermGroup<'_>> {
        let mut groups = Vec::new();
        let pool = self.pool.as_deref();
        groups.extend(self.key.as_deref().map(|key| TermGroup::Key(key, pool)));
        groups.extend(self.owner.as_deref().map(|owner| TermGroup::Owner(owner, pool)));
        groups.extend(self.provider.map(TermGroup::Provider));
        groups.extend(self.consumer.map(TermGroup::Consumer));
        match pool {
            Some(pool) if !self.values.is_empty() => {
                groups.push(TermGroup::Values(pool, &self.values))
            }
            pool => groups.extend(pool.map(TermGroup::Pool)),
        }
        groups
    }
}

impl HistoryReader {
    pub(super) fn find_changes(
        &self,
        ask: &ChangeQuery,
        at: CommitPoint,
    ) -> Result<HistoryPage, HistoryError> {
        let oldest = self.first_kept()?;
        let oldest_position = oldest - 1;
        let mut page = HistoryPage { changes: Vec::new(), next: None, oldest_position, at };
        let (from, upto) = self.between(ask, oldest, at)?;
        if from > upto {
            return Ok(page);
        }
        let newest_first = ask.order == HistoryOrder::NewestFirst;
        let mut walk = self.walk(&ask.groups(), (from, upto), ask.order)?;
        let mut seen = None;
        loop {
            let record = match walk.next_record() {
                Ok(Some(record)) => record,
                Ok(None) => return Ok(page),
                // Few records match: the next page continues from here.
                Err(HistoryError::TooWide { .. }) => {
                    page.next = seen;
                    return Ok(page);
                }
                Err(error) => return Err(error),
            };
            let HistoryRecord { before, mut entries, .. } = record;
            let last = entries.last().map_or(before, |(position, _)| *position);
            if newest_first {
                entries.reverse();
            }
            for (position, entry) in entries {
                if !(from..=upto).contains(&position) {
                    continue;
                }
                let at_ms = entry.at_ms;
                let events: Vec<Event> =
                    entry.events.into_iter().filter(|event| ask.fits(event)).collect();
                if events.is_empty() {
                    continue;
                }
                if page.changes.len() == ask.limit {
                    page.next = page.changes.last().map(|change| change.position);
                    return Ok(page);
                }
                page.changes.push(HistoryEntry { position, at_ms, events });
            }
            seen = Some(if newest_first { before + 1 } else { last });
        }
    }

    /// The positions that the query covers, inclusive.
    fn between(
        &self,
        ask: &ChangeQuery,
        oldest: u64,
        at: CommitPoint,
    ) -> Result<(u64, u64), HistoryError> {
        let mut from = match ask.since {
            None => oldest,
            Some(Moment::Position(since)) => since.max(1),
            // Inclusive: from the first position after the millisecond before.
            Some(Moment::TimeMs(at_ms)) => {
                let before = at_ms.checked_sub(1).map(Moment::TimeMs);
                let before = before.map_or(Ok(0), |before| self.position_at(before, at))?;
                // All available records are younger, so trimmed ones may match.
                if before < oldest && oldest > 1 { 0 } else { before.saturating_add(1) }
            }
        };
        let mut upto = match ask.until {
            None => at.position,
            Some(Moment::Position(until)) => until.min(at.position),
            Some(moment) => self.position_at(moment, at)?,
        };
        match (ask.order, ask.after) {
            (_, None) => {}
            (HistoryOrder::NewestFirst, Some(after)) => upto = upto.min(after.saturating_sub(1)),
            (HistoryOrder::OldestFirst, Some(after)) => from = from.max(after.saturating_add(1)),
        }
        let oldest_position = oldest - 1;
        if from < oldest_position && (ask.since.is_some() || ask.after.is_some()) {
            return Err(HistoryError::Trimmed { oldest_position });
        }
        Ok((from.max(oldest), upto))
    }
}
