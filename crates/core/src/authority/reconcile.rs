//! Reconciliation: how what an authority lists differs from what is stored here.
//!
//! The reactor compares. What it has found is stored here until an operator settles it or the next comparison ends.

pub(crate) mod decide;

use std::sync::Arc;

use crate::capacity::Uuid;
use crate::named::named;

named! {
    pub enum ReconciliationState {
        /// The reactor has not finished yet. The findings are those of the previous one.
        Wanted = "wanted",
        Done = "done",
        Failed = "failed",
    }
}

/// The last reconciliation of an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconciliation {
    /// The journal position of its request.
    pub number: u64,
    pub state: ReconciliationState,
    /// When it was requested, or when it ended.
    pub at_ms: u64,
    /// The journal position at which the findings were stored.
    pub position: u64,
    pub findings: Arc<Findings>,
    /// Why it has failed.
    pub reason: Option<Arc<str>>,
}

/// What a reconciliation has found. The lists are shorter than the counts if there are too many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    pub orphans: Vec<Orphan>,
    pub missing: Vec<Missing>,
    pub drifted: Vec<Drifted>,
    pub conflicts: Vec<ConflictFound>,
    pub counts: FindingCounts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FindingCounts {
    pub orphans: u64,
    pub missing: u64,
    pub drifted: u64,
    pub conflicts: u64,
}

/// The authority has a grant that is unknown here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    pub reference: Uuid,
    pub value: Arc<str>,
    pub handle: Option<Arc<str>>,
    /// This journal has drawn the reference.
    pub own: bool,
}

/// A claim that is held here and that the authority does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub reference: Uuid,
    pub pool: Arc<str>,
    pub key: Arc<str>,
    pub value: Arc<str>,
}

/// A claim that has another value at the authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drifted {
    pub reference: Uuid,
    pub pool: Arc<str>,
    pub key: Arc<str>,
    pub value: Arc<str>,
    pub seen: Arc<str>,
}

/// A grant of the authority whose value another claim holds here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictFound {
    pub reference: Uuid,
    pub value: Arc<str>,
    pub pool: Arc<str>,
    /// The key that holds the value here.
    pub key: Arc<str>,
}

/// One entry of the findings that can be settled.
pub(crate) enum Finding<'a> {
    Orphan(&'a Orphan),
    Missing,
    Drifted(&'a Drifted),
}

impl Findings {
    pub(crate) fn find(&self, reference: Uuid) -> Option<Finding<'_>> {
        let orphan = self.orphans.iter().find(|one| one.reference == reference);
        let missing = || self.missing.iter().find(|one| one.reference == reference);
        let drifted = || self.drifted.iter().find(|one| one.reference == reference);
        orphan
            .map(Finding::Orphan)
            .or_else(|| missing().map(|_| Finding::Missing))
            .or_else(|| drifted().map(Finding::Drifted))
    }

    /// Without what was found about this reference.
    pub(crate) fn without(&self, reference: Uuid) -> Findings {
        let mut left = self.clone();
        let FindingCounts { orphans, missing, drifted, .. } = &mut left.counts;
        remove(&mut left.orphans, orphans, |one| one.reference == reference);
        remove(&mut left.missing, missing, |one| one.reference == reference);
        remove(&mut left.drifted, drifted, |one| one.reference == reference);
        left
    }
}

fn remove<T>(list: &mut Vec<T>, count: &mut u64, is_settled: impl Fn(&T) -> bool) {
    let before = list.len();
    list.retain(|one| !is_settled(one));
    *count = count.saturating_sub((before - list.len()) as u64);
}

impl Reconciliation {
    pub fn is_wanted(&self) -> bool {
        self.state == ReconciliationState::Wanted
    }
}
