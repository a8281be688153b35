//! Finds the candidate records of a query: those with at least one term of each of its groups.

use std::io;
use std::sync::Arc;

use allod_core::capacity::Uuid;
use allod_core::span::Span;
use allod_core::value::Kind;

use super::index::HistoryIndex;
use super::posting::PostingRun;
use super::segment::Segment;
use super::term::{self, BlockSizes, Fingerprint, Term};

/// A group of terms. A record must have at least one term of each group.
#[derive(Debug, Clone)]
pub(super) enum TermGroup<'a> {
    Pool(&'a str),
    Definitions(&'a str),
    Removals(&'a str),
    /// A claim or request with this key; or the removal of the pool, which ends it.
    Key(&'a str, Option<&'a str>),
    Grants(&'a str),
    /// A claim of this owner; or the removal of the pool, which ends it.
    Owner(&'a str, Option<&'a str>),
    /// Values of a pool that overlap one of these, or the removal of the pool.
    Values(&'a str, &'a [(Kind, Span)]),
    Provider(Uuid),
    Consumer(Uuid),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryOrder {
    NewestFirst,
    OldestFirst,
}

/// The candidate records within a range, in order. May include records that do not match.
#[derive(Debug)]
pub(super) struct Lookup {
    order: HistoryOrder,
    /// The remaining range; empty if the first is greater than the second.
    seqs: (u64, u64),
    /// `None`: every record is a candidate.
    parts: Option<Vec<PartRuns>>,
}

/// The postings of a query in one part of the index.
#[derive(Debug)]
struct PartRuns {
    seqs: (u64, u64),
    /// Smallest first.
    groups: Vec<Vec<PostingRun>>,
}

impl TermGroup<'_> {
    fn fingerprints(&self, seed: u64, sizes: BlockSizes) -> Vec<Fingerprint> {
        let mut all = Vec::new();
        let mut put = |term: Term<'_>| all.push(term.fingerprint(seed));
        match *self {
            TermGroup::Pool(pool) => put(Term::Pool(pool)),
            TermGroup::Definitions(pool) => put(Term::Definition(pool)),
            TermGroup::Removals(pool) => put(Term::Removal(pool)),
            TermGroup::Grants(key) => put(Term::Grant(key)),
            TermGroup::Key(key, pool) => {
                let terms = [Term::Grant(key), Term::Later(key)].into_iter();
                terms.chain(pool.map(Term::Removal)).for_each(put);
            }
            // An owner that equals the key has no term of its own.
            TermGroup::Owner(owner, pool) => {
                let terms = [Term::Owner(owner), Term::Grant(owner), Term::Later(owner)];
                terms.into_iter().chain(pool.map(Term::Removal)).for_each(put);
            }
            TermGroup::Provider(provider) => put(Term::Provider(provider)),
            TermGroup::Consumer(consumer) => put(Term::Consumer(consumer)),
            TermGroup::Values(pool, values) => {
                for &(kind, value) in values {
                    term::of_value(pool, kind, value, sizes, &mut put);
                }
                put(Term::Removal(pool));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Lookup {
    pub(super) fn new(
        index: &HistoryIndex,
        groups: &[TermGroup<'_>],
        (from, upto): (u64, u64),
        order: HistoryOrder,
    ) -> io::Result<Lookup> {
        if groups.is_empty() {
            return Ok(Lookup { order, seqs: (from, upto), parts: None });
        }
        let mut parts = Vec::new();
        for segment in &index.segments {
            let seqs = (segment.header.first_seq, segment.header.last_seq);
            if seqs.0 <= upto && seqs.1 >= from {
                let runs = |group: &TermGroup<'_>| in_segment(segment, group);
                parts.push(PartRuns {
                    seqs,
                    groups: groups.iter().map(runs).collect::<io::Result<_>>()?,
                });
            }
        }
        let memtable = &index.memtable;
        if let (Some(first), Some(last)) = (memtable.first_seq(), memtable.marks.last()) {
            let runs = |group: &TermGroup<'_>| {
                memtable.runs(&group.fingerprints(index.seed, memtable.sizes))
            };
            let groups = groups.iter().map(runs).collect();
            parts.push(PartRuns { seqs: (first, last.seq), groups });
        }
        for part in &mut parts {
            part.groups.sort_by_key(|runs| runs.iter().map(PostingRun::len).sum::<u64>());
        }
        if order == HistoryOrder::NewestFirst {
            parts.reverse();
        }
        Ok(Lookup { order, seqs: (from, upto), parts: Some(parts) })
    }

    /// The next record.
    pub(super) fn next_seq(&mut self) -> io::Result<Option<u64>> {
        let (from, upto) = self.seqs;
        if from > upto {
            return Ok(None);
        }
        let found = match &mut self.parts {
            None => Some(if self.order == HistoryOrder::NewestFirst { upto } else { from }),
            Some(parts) => {
                let mut found = None;
                for part in parts {
                    found = part.find(from, upto, self.order)?;
                    if found.is_some() {
                        break;
                    }
                }
                found
            }
        };
        match (found, self.order) {
            (None, _) => self.seqs = (1, 0),
            (Some(seq), HistoryOrder::OldestFirst) => self.seqs.0 = seq + 1,
            (Some(0), HistoryOrder::NewestFirst) => self.seqs = (1, 0),
            (Some(seq), HistoryOrder::NewestFirst) => self.seqs.1 = seq - 1,
        }
        Ok(found)
    }
}

fn in_segment(segment: &Arc<Segment>, group: &TermGroup<'_>) -> io::Result<Vec<PostingRun>> {
    let fingerprints = group.fingerprints(segment.header.seed, segment.header.sizes);
    fingerprints.into_iter().map(|fingerprint| segment.run(fingerprint)).collect()
}

impl PartRuns {
    /// The first record in the range, in order, that all groups contain.
    fn find(&mut self, from: u64, upto: u64, order: HistoryOrder) -> io::Result<Option<u64>> {
        let (first, last) = self.seqs;
        let (from, upto) = (from.max(first), upto.min(last));
        if from > upto {
            return Ok(None);
        }
        let (from, upto) = ((from - first) as u32, (upto - first) as u32);
        let mut bound = if order == HistoryOrder::NewestFirst { upto } else { from };
        'again: loop {
            for runs in &mut self.groups {
                let Some(nearest) = nearest(runs, bound, order)? else { return Ok(None) };
                if !(from..=upto).contains(&nearest) {
                    return Ok(None);
                }
                if nearest != bound {
                    bound = nearest;
                    continue 'again;
                }
            }
            return Ok(Some(first + u64::from(bound)));
        }
    }
}

/// The record of any of these runs that is nearest to `bound`, in the direction of `order`.
fn nearest(runs: &mut [PostingRun], bound: u32, order: HistoryOrder) -> io::Result<Option<u32>> {
    let mut best: Option<u32> = None;
    for run in runs {
        best = match order {
            HistoryOrder::NewestFirst => best.max(run.upto(bound)?),
            HistoryOrder::OldestFirst => match (best, run.from(bound)?) {
                (Some(best), Some(found)) => Some(best.min(found)),
                (best, found) => best.or(found),
            },
        };
        if best == Some(bound) {
            break;
        }
    }
    Ok(best)
}
