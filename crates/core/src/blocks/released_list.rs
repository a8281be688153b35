//! Released ids in the order in which they can be used again.

use std::collections::BTreeMap;

use super::ReleasedIds;
use crate::span::{self, Span};

/// Ids that are not held, in runs that were released together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReleasedList {
    /// By ready time, number and first id of each run: its last id.
    order: BTreeMap<(u32, u64, u128), u128>,
    /// By first id: last id, ready time and number.
    runs: BTreeMap<u128, (u128, u32, u64)>,
    count: u128,
}

/// Ids of one release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReleasedRun {
    pub ids: Span,
    pub ready_s: u32,
    /// The number of the release: orders runs that are ready at the same time.
    pub number: u64,
}

impl ReleasedList {
    /// The number of ids.
    pub fn len(&self) -> u128 {
        self.count
    }

    /// In the order in which they can be used again.
    pub fn iter(&self) -> impl Iterator<Item = ReleasedRun> + '_ {
        self.order.iter().map(|(&(ready_s, number, first), &last)| ReleasedRun {
            ids: Span { first, last },
            ready_s,
            number,
        })
    }

    pub fn image(&self) -> Vec<ReleasedIds> {
        self.iter().map(|run| ReleasedIds { ids: run.ids, ready_s: run.ready_s }).collect()
    }

    /// The runs that have ids of this span, ascending.
    pub fn overlapping(&self, span: Span) -> impl Iterator<Item = ReleasedRun> + '_ {
        let before = self.runs.range(..span.first).next_back();
        let before = before.filter(move |(_, (last, ..))| *last >= span.first);
        before.into_iter().chain(self.runs.range(span.first..=span.last)).map(
            |(&first, &(last, ready_s, number))| ReleasedRun {
                ids: Span { first, last },
                ready_s,
                number,
            },
        )
    }

    /// The run that has this id.
    pub fn at(&self, id: u128) -> Option<ReleasedRun> {
        self.overlapping(Span::one(id)).next()
    }

    pub fn add(&mut self, run: ReleasedRun) {
        self.order.insert((run.ready_s, run.number, run.ids.first), run.ids.last);
        self.runs.insert(run.ids.first, (run.ids.last, run.ready_s, run.number));
        self.count += run.ids.len();
    }

    pub fn remove(&mut self, run: ReleasedRun) {
        if self.order.remove(&(run.ready_s, run.number, run.ids.first)).is_some() {
            self.runs.remove(&run.ids.first);
            self.count -= run.ids.len();
        }
    }

    /// The runs to remove and the runs to add so that the list has none of these ids.
    pub fn without(&self, gone: Span) -> (Vec<ReleasedRun>, Vec<ReleasedRun>) {
        let out: Vec<ReleasedRun> = self.overlapping(gone).collect();
        let rest = |run: &ReleasedRun| {
            let rest = span::subtract(&[run.ids], &[gone]);
            let run = *run;
            rest.into_iter().map(move |ids| ReleasedRun { ids, ..run })
        };
        let keep = out.iter().flat_map(rest).collect();
        (out, keep)
    }

    /// What is inconsistent, if anything.
    pub fn check(&self) -> Option<&'static str> {
        let order = self.runs.iter();
        let order: BTreeMap<_, _> =
            order.map(|(&first, &(last, ready, number))| ((ready, number, first), last)).collect();
        let ends: Vec<(u128, u128)> =
            self.runs.iter().map(|(&first, &(last, ..))| (first, last)).collect();
        if order != self.order {
            return Some("the order of released ids does not match them");
        }
        if ends.iter().any(|(first, last)| first > last)
            || ends.windows(2).any(|pair| pair[0].1 >= pair[1].0)
        {
            return Some("released ids overlap");
        }
        let count: u128 = ends.iter().map(|(first, last)| last - first + 1).sum();
        (count != self.count).then_some("the number of released ids is wrong")
    }
}
