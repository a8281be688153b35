//! The result of a search. All candidates share a few lists of large chunks, so thousands of them need few allocations.

use super::chunks::{self, ChunkedList, ChunkedSlices, SliceAt};
use super::{CandidateQuery, LimitHit};
use crate::state::capacity::bits::Bits;
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::ProviderIx;
use crate::view::capacity::CapacityView;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    rows: ChunkedList<CandidateRow>,
    amounts: ChunkedSlices<Amount>,
    /// The providers of the unsuffixed group first, then one for each suffixed group.
    servers: ChunkedSlices<ProviderIx>,
    /// Buffers for the candidate that is added. They are empty otherwise.
    next_amounts: Vec<Amount>,
    next_servers: Vec<ProviderIx>,
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

type Amount = (ProviderIx, NameIx, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CandidateRow {
    anchor: ProviderIx,
    amounts: SliceAt,
    servers: SliceAt,
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
    /// The most memory that a number of candidates with a number of entries needs.
    pub(super) fn bytes_max(candidates: u64, entries: u64) -> u64 {
        let rows = candidates.saturating_mul(size_of::<CandidateRow>() as u64);
        // The entries are amounts and providers.
        let entries = entries.saturating_mul(size_of::<Amount>() as u64);
        rows.saturating_add(chunks::bytes_max(entries))
    }

    pub(super) fn new(query: &CandidateQuery) -> Candidates {
        let suffixed = query.groups.iter().filter(|group| !group.suffix.is_empty()).count();
        let unsuffixed = suffixed < query.groups.len();
        Candidates { suffixed, unsuffixed, nested: query.nested, ..Candidates::default() }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = Candidate<'_>> {
        self.rows.iter().map(|row| self.candidate(row))
    }

    /// All providers that occur in a candidate, with duplicates.
    pub fn providers(&self) -> impl Iterator<Item = ProviderIx> {
        let anchors = self.rows.iter().map(|row| row.anchor);
        let givers = self.amounts.entries().map(|(provider, ..)| *provider);
        anchors.chain(givers).chain(self.servers.entries().copied())
    }

    /// The size in memory.
    pub fn bytes(&self) -> usize {
        let buffers = self.next_amounts.capacity() * size_of::<Amount>()
            + self.next_servers.capacity() * size_of::<ProviderIx>();
        self.rows.bytes() + self.amounts.bytes() + self.servers.bytes() + buffers
    }

    /// The candidate with this number, from 0 to `len() - 1`.
    pub fn at(&self, at: usize) -> Candidate<'_> {
        self.candidate(self.rows.at(at))
    }

    fn candidate(&self, row: &CandidateRow) -> Candidate<'_> {
        Candidate {
            anchor: row.anchor,
            amounts: self.amounts.slice(row.amounts),
            servers: self.servers.slice(row.servers),
            suffixed: self.suffixed,
            unsuffixed: self.unsuffixed,
        }
    }

    /// Adds a candidate. The amounts of a provider and class may come in several parts; `suffixed` has one provider for
    /// each suffixed group. Returns the number of entries written.
    pub(super) fn push(
        &mut self,
        anchor: ProviderIx,
        amounts: impl IntoIterator<Item = Amount>,
        unsuffixed: impl IntoIterator<Item = ProviderIx>,
        suffixed: impl IntoIterator<Item = ProviderIx>,
    ) -> usize {
        let (parts, servers) = (&mut self.next_amounts, &mut self.next_servers);
        parts.extend(amounts);
        parts.sort_unstable();
        parts.dedup_by(|next, kept| {
            let is_same = (next.0, next.1) == (kept.0, kept.1);
            if is_same {
                kept.2 += next.2;
            }
            is_same
        });
        for server in unsuffixed {
            if !servers.contains(&server) {
                servers.push(server);
            }
        }
        servers.extend(suffixed);
        let written = parts.len() + servers.len();
        let (amounts, servers_at) = (self.amounts.add(parts), self.servers.add(servers));
        parts.clear();
        servers.clear();
        self.rows.push(CandidateRow { anchor, amounts, servers: servers_at });
        written
    }
}

/// The providers that an answer has to describe, without duplicates: all providers of each tree that serves something
/// or, for requests before 1.29, the serving providers only.
pub fn summaries(view: CapacityView<'_>, found: &Candidates) -> Vec<ProviderIx> {
    let capacity = view.capacity;
    let givers: Bits = found.amounts.entries().map(|(provider, ..)| *provider).collect();
    if !found.nested || !capacity.is_nested() {
        return givers.iter().collect();
    }
    let providers = givers.iter().filter_map(|ix| capacity.at(ix));
    let roots: Bits = providers.map(|provider| provider.root).collect();
    roots.iter().flat_map(|root| capacity.tree(root)).collect()
}
