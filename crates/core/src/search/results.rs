//! The result of a search. All candidates share a few large vectors, so thousands of them need few allocations.

use super::{CandidateQuery, LimitHit};
use crate::state::capacity::bits::Bits;
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::ProviderIx;
use crate::view::capacity::CapacityView;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    rows: Vec<CandidateEnds>,
    amounts: Vec<(ProviderIx, NameIx, u64)>,
    /// The providers of the unsuffixed group first, then one for each suffixed group.
    servers: Vec<ProviderIx>,
    /// The number of suffixed groups.
    suffixed: usize,
    /// Whether there is an unsuffixed group.
    unsuffixed: bool,
    nested: bool,
    /// The limit that ended the search early. `None`: the result is complete, up to the limit of the query.
    pub limit_hit: Option<LimitHit>,
    /// The steps that the search took.
    pub steps: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CandidateEnds {
    anchor: ProviderIx,
    amounts_end: usize,
    servers_end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// The root of the tree that the search was examining.
    pub anchor: ProviderIx,
    /// What to allocate: grouped by provider, each class once.
    pub amounts: &'a [(ProviderIx, NameIx, u64)],
    servers: &'a [ProviderIx],
    suffixed: usize,
    unsuffixed: bool,
}

impl<'a> Candidate<'a> {
    /// The providers that serve a group, without duplicates. `group` is an index into the groups of the query.
    pub fn mapping(&self, group: usize) -> &'a [ProviderIx] {
        let (unsuffixed, suffixed) = self.servers.split_at(self.servers.len() - self.suffixed);
        match group.checked_sub(usize::from(self.unsuffixed)) {
            None => unsuffixed,
            Some(at) => suffixed.get(at..=at).unwrap_or_default(),
        }
    }

    /// For each group of the query: the providers that serve it.
    pub fn mappings(&self) -> impl Iterator<Item = &'a [ProviderIx]> {
        let groups = self.suffixed + usize::from(self.unsuffixed);
        let candidate = *self;
        (0..groups).map(move |group| candidate.mapping(group))
    }
}

impl Candidates {
    pub(super) fn new(query: &CandidateQuery) -> Candidates {
        let suffixed = query.groups.iter().filter(|group| !group.suffix.is_empty()).count();
        let unsuffixed = suffixed < query.groups.len();
        Candidates { suffixed, unsuffixed, nested: query.nested, ..Candidates::default() }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = Candidate<'_>> {
        (0..self.rows.len()).map(|at| self.at(at))
    }

    /// All providers that occur in a candidate, with duplicates.
    pub fn providers(&self) -> impl Iterator<Item = ProviderIx> {
        let anchors = self.rows.iter().map(|row| row.anchor);
        let givers = self.amounts.iter().map(|(provider, ..)| *provider);
        anchors.chain(givers).chain(self.servers.iter().copied())
    }

    /// The approximate size in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.rows[..])
            + size_of_val(&self.amounts[..])
            + size_of_val(&self.servers[..])
    }

    /// The candidate with this number, from 0 to `len() - 1`.
    pub fn at(&self, at: usize) -> Candidate<'_> {
        let row = self.rows[at];
        let before = at.checked_sub(1).map(|before| self.rows[before]);
        let amounts_start = before.map_or(0, |before| before.amounts_end);
        let servers_start = before.map_or(0, |before| before.servers_end);
        Candidate {
            anchor: row.anchor,
            amounts: &self.amounts[amounts_start..row.amounts_end],
            servers: &self.servers[servers_start..row.servers_end],
            suffixed: self.suffixed,
            unsuffixed: self.unsuffixed,
        }
    }

    /// Adds a candidate. The amounts of a provider and class may come in several parts; `suffixed` has one provider for
    /// each suffixed group. Returns the number of entries written.
    pub(super) fn push(
        &mut self,
        anchor: ProviderIx,
        amounts: impl IntoIterator<Item = (ProviderIx, NameIx, u64)>,
        unsuffixed: impl IntoIterator<Item = ProviderIx>,
        suffixed: impl IntoIterator<Item = ProviderIx>,
    ) -> usize {
        let amounts_start = self.amounts.len();
        self.amounts.extend(amounts);
        self.amounts[amounts_start..].sort_unstable();
        let mut end = amounts_start;
        for at in amounts_start..self.amounts.len() {
            let (provider, class, amount) = self.amounts[at];
            match end.checked_sub(1).filter(|last| *last >= amounts_start) {
                Some(last) if (self.amounts[last].0, self.amounts[last].1) == (provider, class) => {
                    self.amounts[last].2 += amount;
                }
                _ => {
                    self.amounts[end] = (provider, class, amount);
                    end += 1;
                }
            }
        }
        self.amounts.truncate(end);

        let servers_start = self.servers.len();
        for server in unsuffixed {
            if !self.servers[servers_start..].contains(&server) {
                self.servers.push(server);
            }
        }
        self.servers.extend(suffixed);
        let row = CandidateEnds {
            anchor,
            amounts_end: self.amounts.len(),
            servers_end: self.servers.len(),
        };
        self.rows.push(row);
        (row.amounts_end - amounts_start) + (row.servers_end - servers_start)
    }
}

/// The providers that an answer has to describe, without duplicates: all providers of each tree that serves something
/// or, for requests before 1.29, the serving providers only.
pub fn summaries(view: CapacityView<'_>, found: &Candidates) -> Vec<ProviderIx> {
    let capacity = view.capacity;
    let givers: Bits = found.amounts.iter().map(|(provider, ..)| *provider).collect();
    if !found.nested || !capacity.is_nested() {
        return givers.iter().collect();
    }
    let providers = givers.iter().filter_map(|ix| capacity.at(ix));
    let roots: Bits = providers.map(|provider| provider.root).collect();
    roots.iter().flat_map(|root| capacity.tree(root)).collect()
}
