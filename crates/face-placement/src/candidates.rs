//! `/allocation_candidates`: which providers could serve a request.
//!
//! The search is the core's. Its answer is the largest that there is, so it is written with some care: the resources of
//! one candidate are mostly those of the one before.

use std::sync::Arc;

use allod_core::capacity::Uuid;
use allod_core::search::{self, Candidate, Found, Group, Order};
use allod_core::state::capacity::Capacity;
use allod_core::state::capacity::names::NameIx;
use allod_core::state::capacity::provider::ProviderIx;

use http::StatusCode;

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
    let (found, taken, summaries, shown) = face.read(|capacity, snapshot| {
        let query = face.look_up(capacity, &wanted, ask.version)?;
        let found = search::candidates(capacity, &query, &face.settings.search);
        let taken = Taken::of(capacity, &query, &found, ask.version);
        let mut summaries = Out::default();
        face.summarise(&mut summaries, capacity, &query, &found, ask.version);
        let explain = ask.call.head.headers.contains_key(explain::HEADER);
        let why = explain.then(|| explain::line(capacity, &query, &face.settings.search));
        let shown = Shown::nothing(snapshot.at, StatusCode::OK).modified(snapshot.now_ms);
        Ok((found, taken, summaries, shown.explained(why)))
    })?;
    // The rest is written when nobody waits for the state any more.
    if let Some(cut) = found.cut {
        tracing::debug!(?cut, candidates = found.len(), "a search ended early");
    }
    let mut out = Out::with_room(128 + 256 * found.len() + summaries.0.len());
    out.raw("{\"allocation_requests\":");
    Requests::new(&taken, ask.version).write(&mut out, &found);
    out.raw(",\"provider_summaries\":{").0.extend_from_slice(&summaries.0);
    out.raw("}}");
    Ok(shown.body(out))
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

impl Placement {
    /// Writes what the providers of an answer look like.
    fn summarise(
        &self,
        out: &mut Out,
        capacity: &Capacity,
        query: &search::Query,
        found: &Found,
        version: Version,
    ) {
        let providers = search::summaries(capacity, found);
        out.0.reserve(512 * providers.len());
        if version.has(Feature::NestedCandidates) {
            return self.summaries.write(out, capacity, &providers);
        }
        let all = version.has(Feature::AllClassesInSummaries);
        let asked = |class: NameIx| {
            query.groups.iter().flat_map(|group| &group.resources).any(|(own, _)| *own == class)
        };
        for (n, provider) in providers.iter().filter_map(|ix| capacity.at(*ix)).enumerate() {
            out.comma(n == 0);
            summary(out, capacity, provider, version, |class| all || asked(class));
        }
    }
}

/// What has to be known of the state to write candidates.
struct Taken {
    /// Of providers, each time that one is written, in that order.
    uuids: Vec<Uuid>,
    /// Of the classes that are asked for.
    classes: Vec<(NameIx, Arc<str>)>,
    /// Of the groups, in order.
    suffixes: Vec<Arc<str>>,
}

impl Taken {
    fn of(capacity: &Capacity, query: &search::Query, found: &Found, version: Version) -> Taken {
        let with_mappings = version.has(Feature::Mappings);
        let mut uuids = Vec::with_capacity(2 * found.len());
        let mut take = |ix: &ProviderIx| {
            uuids.push(capacity.at(*ix).map(|provider| provider.uuid).unwrap_or_default());
        };
        for candidate in found.iter() {
            by_provider(&candidate).for_each(|part| take(&part[0].0));
            if with_mappings {
                candidate.mappings().flatten().for_each(&mut take);
            }
        }
        let mut classes: Vec<(NameIx, Arc<str>)> = Vec::new();
        for (class, _) in query.groups.iter().flat_map(|group| &group.resources) {
            if !classes.iter().any(|(known, _)| known == class) {
                classes.push((*class, capacity.classes().name(*class)));
            }
        }
        let suffixes = query.groups.iter().map(|group| group.suffix.clone()).collect();
        Taken { uuids, classes, suffixes }
    }
}

/// What a candidate takes of each provider; no part is empty.
fn by_provider<'a>(
    candidate: &Candidate<'a>,
) -> impl Iterator<Item = &'a [(ProviderIx, NameIx, u64)]> + use<'a> {
    candidate.amounts.chunk_by(|one, next| one.0 == next.0)
}

/// The candidates as requests that a client can send back.
struct Requests<'a> {
    taken: &'a Taken,
    /// Those that have not been written yet.
    uuids: std::slice::Iter<'a, Uuid>,
    version: Version,
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
    fn new(taken: &Taken, version: Version) -> Requests<'_> {
        Requests { taken, uuids: taken.uuids.iter(), version, texts: Vec::new() }
    }

    fn write(&mut self, out: &mut Out, found: &Found) {
        let as_object = self.version.has(Feature::AllocationsByProvider);
        let with_mappings = self.version.has(Feature::Mappings);
        out.list(ARRAY, found.iter(), |out, candidate| {
            out.raw("{\"allocations\":");
            let brackets = if as_object { OBJECT } else { ARRAY };
            out.list(brackets, by_provider(&candidate), |out, part| {
                if as_object {
                    self.uuid(out);
                    out.raw(":{\"resources\":");
                } else {
                    out.raw("{\"resource_provider\":{\"uuid\":");
                    self.uuid(out);
                    out.raw("},\"resources\":");
                }
                self.resources(out, part);
                out.raw("}");
            });
            if with_mappings {
                out.raw(",\"mappings\":");
                let groups = self.taken.suffixes.iter().zip(candidate.mappings());
                out.list(OBJECT, groups, |out, (suffix, providers)| {
                    // A suffix needs no escaping.
                    out.raw("\"").raw(suffix).raw("\":");
                    out.list(ARRAY, providers, |out, _| self.uuid(out));
                });
            }
            out.raw("}");
        });
    }

    fn uuid(&mut self, out: &mut Out) {
        out.uuid_or_null(self.uuids.next().copied());
    }

    fn resources(&mut self, out: &mut Out, part: &[(ProviderIx, NameIx, u64)]) {
        let own = part.iter().map(|(_, class, amount)| (*class, *amount));
        let known = self.texts.iter().find(|known| own.clone().eq(known.amounts.iter().copied()));
        if let Some(known) = known {
            out.0.extend_from_slice(&known.text);
            return;
        }
        let begin = out.0.len();
        let classes = &self.taken.classes;
        out.list(OBJECT, own.clone(), |out, (class, amount)| {
            let name = classes.iter().find(|(known, _)| *known == class);
            out.text(name.map_or("", |(_, name)| name)).raw(":").number(amount);
        });
        if self.texts.len() < TEXTS_MAX {
            self.texts.push(Text { amounts: own.collect(), text: out.0[begin..].to_vec() });
        }
    }
}
