//! `/allocation_candidates`: which providers could serve a request.
//!
//! The search is the core's. Its answer is the largest that there is, so it is written with some care: the resources of
//! one candidate are mostly those of the one before.

use std::sync::Arc;

use allod_core::search::{self, Candidate, Found, Group, Order};
use allod_core::state::capacity::Capacity;
use allod_core::state::capacity::names::NameIx;
use allod_core::state::capacity::provider::ProviderIx;

use crate::Placement;
use crate::ask::Ask;
use crate::explain;
use crate::fault::Fault;
use crate::names;
use crate::out::{ARRAY, OBJECT, Out};
use crate::query::groups::Wanted;
use crate::settings::Strategy;
use crate::summaries::summary;
use crate::to_wire::Shown;
use crate::versions::{Feature, Version};

pub(crate) fn list(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let wanted = Wanted::read(&ask.query(), ask.version)?;
    face.read(|capacity, snapshot| {
        let query = face.look_up(capacity, &wanted, ask.version)?;
        let found = search::candidates(capacity, &query, &face.settings.search);
        if let Some(cut) = found.cut {
            tracing::debug!(?cut, candidates = found.len(), "a search ended early");
        }
        let summarised = search::summaries(capacity, &found);
        let mut out = Out::with_room(128 + 256 * found.len() + 512 * summarised.len());
        let suffixes: Vec<&str> = query.groups.iter().map(|group| &*group.suffix).collect();
        out.raw("{\"allocation_requests\":");
        Requests { capacity, version: ask.version, suffixes, texts: Vec::new() }
            .write(&mut out, &found);
        out.raw(",\"provider_summaries\":{");
        if ask.has(Feature::NestedCandidates) {
            face.summaries.write(&mut out, capacity, &summarised);
        } else {
            let all = ask.has(Feature::AllClassesInSummaries);
            let asked = |class: NameIx| {
                query.groups.iter().flat_map(|group| &group.resources).any(|(own, _)| *own == class)
            };
            let providers = summarised.iter().filter_map(|ix| capacity.at(*ix));
            for (n, provider) in providers.enumerate() {
                out.comma(n == 0);
                summary(&mut out, capacity, provider, ask.version, |class| all || asked(class));
            }
        }
        out.raw("}}");
        let explain = ask.call.head.headers.contains_key(explain::HEADER);
        let why = explain.then(|| explain::line(capacity, &query, &face.settings.search));
        Ok(Shown::json(snapshot.at, out).modified(snapshot.now_ms).explained(why))
    })?
}

impl Placement {
    /// What is asked, in the numbers that the state has for names.
    fn look_up(
        &self,
        capacity: &Capacity,
        wanted: &Wanted,
        version: Version,
    ) -> Result<search::Query, Fault> {
        let traits = |traits| names::traits(capacity, traits).map_err(Fault::bad_request);
        let root = traits(&wanted.root)?;
        let mut groups = Vec::with_capacity(wanted.groups.len());
        for group in &wanted.groups {
            groups.push(Group {
                suffix: Arc::from(group.suffix.as_str()),
                resources: names::classes(capacity, &group.resources)?,
                traits: traits(&group.traits)?,
                member_of: group.aggregates.any_of_each.clone(),
                not_member_of: group.aggregates.forbidden.clone(),
                in_tree: group.in_tree,
            });
        }
        groups.sort_by_key(|group| !group.suffix.is_empty());
        let place = |suffix: &String| groups.iter().position(|group| *group.suffix == **suffix);
        let same_subtree = wanted.same_subtree.iter();
        let same_subtree =
            same_subtree.map(|suffixes| suffixes.iter().filter_map(place).collect()).collect();
        let settings = &self.settings;
        let max = usize::try_from(settings.max_allocation_candidates).ok();
        Ok(search::Query {
            same_subtree,
            groups,
            isolate: wanted.isolate,
            root,
            nested: version.has(Feature::NestedCandidates),
            limit: wanted.limit.into_iter().chain(max).min(),
            order: match settings.allocation_candidates_generation_strategy {
                Strategy::DepthFirst => Order::DepthFirst,
                Strategy::BreadthFirst => Order::BreadthFirst,
            },
            seed: settings.randomize_allocation_candidates.then(|| self.fresh.seed()),
        })
    }
}

/// The candidates as requests that a client can send back.
struct Requests<'a> {
    capacity: &'a Capacity,
    version: Version,
    /// Of the groups, in order.
    suffixes: Vec<&'a str>,
    /// What has been taken of providers before.
    texts: Vec<Text>,
}

/// What is taken of a provider, and how that is written.
struct Text {
    amounts: Vec<(NameIx, u64)>,
    text: Vec<u8>,
}

/// How many different texts of resources are remembered within one answer.
const TEXTS_MAX: usize = 8;

impl Requests<'_> {
    fn write(&mut self, out: &mut Out, found: &Found) {
        let by_provider = self.version.has(Feature::AllocationsByProvider);
        let with_mappings = self.version.has(Feature::Mappings);
        out.list(ARRAY, found.iter(), |out, candidate| {
            out.raw("{\"allocations\":");
            let parts = candidate.amounts.chunk_by(|one, next| one.0 == next.0);
            let brackets = if by_provider { OBJECT } else { ARRAY };
            out.list(brackets, parts, |out, part| {
                let Some((provider, ..)) = part.first() else { return };
                if by_provider {
                    self.uuid(out, *provider);
                    out.raw(":{\"resources\":");
                } else {
                    out.raw("{\"resource_provider\":{\"uuid\":");
                    self.uuid(out, *provider);
                    out.raw("},\"resources\":");
                }
                self.resources(out, part);
                out.raw("}");
            });
            if with_mappings {
                out.raw(",\"mappings\":");
                self.mappings(out, &candidate);
            }
            out.raw("}");
        });
    }

    fn mappings(&self, out: &mut Out, candidate: &Candidate<'_>) {
        let groups = self.suffixes.iter().zip(candidate.mappings());
        out.list(OBJECT, groups, |out, (suffix, providers)| {
            // A suffix needs no escaping.
            out.raw("\"").raw(suffix).raw("\":");
            out.list(ARRAY, providers, |out, ix| self.uuid(out, *ix));
        });
    }

    fn uuid(&self, out: &mut Out, ix: ProviderIx) {
        out.uuid_or_null(self.capacity.at(ix).map(|provider| provider.uuid));
    }

    fn resources(&mut self, out: &mut Out, part: &[(ProviderIx, NameIx, u64)]) {
        let own = part.iter().map(|(_, class, amount)| (*class, *amount));
        let known = self.texts.iter().find(|known| own.clone().eq(known.amounts.iter().copied()));
        if let Some(known) = known {
            out.0.extend_from_slice(&known.text);
            return;
        }
        let begin = out.0.len();
        out.list(OBJECT, own.clone(), |out, (class, amount)| {
            let class = self.capacity.classes().get(class);
            out.text(class.map_or("", |class| &class.name)).raw(":").number(amount);
        });
        if self.texts.len() < TEXTS_MAX {
            self.texts.push(Text { amounts: own.collect(), text: out.0[begin..].to_vec() });
        }
    }
}
