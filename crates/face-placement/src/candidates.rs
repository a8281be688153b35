//! `/allocation_candidates`: which providers could serve a request.
//!
//! The core searches. The answer is the largest of this API, so writing it is optimised: most candidates have the same
//! resources as the one before.

use std::sync::Arc;

use allod_core::capacity::Uuid;
use allod_core::search::{
    self, Candidate, CandidateOrder, CandidateQuery, Candidates, RequestGroup,
};
use allod_core::view::capacity::{CapacityView, NameIx, ProviderIx, ProviderView};
use http::StatusCode;

use crate::Placement;
use crate::error::{PlacementError, PlacementResult};
use crate::explain;
use crate::json::{ARRAY, JsonBuffer, OBJECT};
use crate::lookup;
use crate::query::groups::CandidatesParams;
use crate::request::PlacementRequest;
use crate::settings::GenerationStrategy;
use crate::summaries::summary;
use crate::to_wire::{HandlerResult, PlacementReply};
use crate::versions::{Feature, Microversion};

pub(crate) fn list(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let params = CandidatesParams::read(&request.query(), request.version)?;
    let (found, names, summaries, shown) = face.read(|capacity, snapshot| {
        let query = face.look_up(capacity, &params, request.version)?;
        let found = search::candidates(capacity, &query, &face.settings.search);
        let names = CandidateNames::of(capacity, &query, &found, request.version);
        let mut summaries = JsonBuffer::default();
        face.summarise(&mut summaries, capacity, &query, &found, request.version);
        let explain = request.call.head.headers.contains_key(explain::HEADER);
        let why = explain.then(|| explain::line(capacity, &query, &face.settings.search));
        let shown = PlacementReply::empty(snapshot.at, StatusCode::OK).modified(snapshot.now_ms);
        Ok((found, names, summaries, shown.explained(why)))
    })?;
    // The rest is written after the snapshot has been released.
    if let Some(limit) = found.limit_hit {
        tracing::debug!(?limit, candidates = found.len(), "a search ended early");
    }
    let mut out = JsonBuffer::with_capacity(128 + 256 * found.len() + summaries.0.len());
    out.raw("{\"allocation_requests\":");
    AllocationRequestsWriter::new(&names, request.version).write(&mut out, &found);
    out.raw(",\"provider_summaries\":{").0.extend_from_slice(&summaries.0);
    out.raw("}}");
    Ok(shown.body(out))
}

impl Placement {
    /// The query with the indexes of this snapshot in place of names.
    fn look_up(
        &self,
        capacity: CapacityView<'_>,
        params: &CandidatesParams,
        version: Microversion,
    ) -> PlacementResult<CandidateQuery> {
        let traits = |traits| lookup::traits(capacity, traits).map_err(PlacementError::bad_request);
        let root = traits(&params.root)?;
        let mut groups = Vec::with_capacity(params.groups.len());
        for group in &params.groups {
            groups.push(RequestGroup {
                suffix: Arc::from(group.suffix.as_str()),
                resources: lookup::classes(capacity, &group.resources)?,
                traits: traits(&group.traits)?,
                member_of: group.aggregates.any_of_each.clone(),
                not_member_of: group.aggregates.forbidden.clone(),
                in_tree: group.in_tree,
            });
        }
        groups.sort_by_key(|group| !group.suffix.is_empty());
        let place = |suffix: &String| groups.iter().position(|group| *group.suffix == **suffix);
        let same_subtree = params.same_subtree.iter();
        let same_subtree =
            same_subtree.map(|suffixes| suffixes.iter().filter_map(place).collect()).collect();
        let settings = &self.settings;
        let max = usize::try_from(settings.max_allocation_candidates).ok();
        Ok(CandidateQuery {
            same_subtree,
            groups,
            isolate: params.isolate,
            root,
            nested: version.has(Feature::NestedCandidates),
            limit: params.limit.into_iter().chain(max).min(),
            order: match settings.allocation_candidates_generation_strategy {
                GenerationStrategy::DepthFirst => CandidateOrder::DepthFirst,
                GenerationStrategy::BreadthFirst => CandidateOrder::BreadthFirst,
            },
            seed: settings.randomize_allocation_candidates.then(|| self.uuids.seed()),
        })
    }
}

impl Placement {
    /// Writes the provider summaries.
    fn summarise(
        &self,
        out: &mut JsonBuffer,
        capacity: CapacityView<'_>,
        query: &CandidateQuery,
        found: &Candidates,
        version: Microversion,
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
        for (n, provider) in providers.iter().filter_map(|ix| capacity.provider_at(*ix)).enumerate()
        {
            out.comma(n == 0);
            summary(out, provider, version, |class| all || asked(class));
        }
    }
}

/// What the writer needs from the snapshot.
struct CandidateNames {
    /// UUIDs of providers in the order in which they are written.
    uuids: Vec<Uuid>,
    /// The names of the requested classes.
    classes: Vec<(NameIx, Arc<str>)>,
    /// The suffixes of the groups.
    suffixes: Vec<Arc<str>>,
}

impl CandidateNames {
    fn of(
        capacity: CapacityView<'_>,
        query: &CandidateQuery,
        found: &Candidates,
        version: Microversion,
    ) -> CandidateNames {
        let with_mappings = version.has(Feature::Mappings);
        let mut uuids = Vec::with_capacity(2 * found.len());
        let mut take = |ix: &ProviderIx| {
            uuids.push(capacity.provider_at(*ix).map(ProviderView::uuid).unwrap_or_default());
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
        CandidateNames { uuids, classes, suffixes }
    }
}

/// The amounts of a candidate, grouped by provider. No group is empty.
fn by_provider<'a>(
    candidate: &Candidate<'a>,
) -> impl Iterator<Item = &'a [(ProviderIx, NameIx, u64)]> + use<'a> {
    candidate.amounts.chunk_by(|one, next| one.0 == next.0)
}

/// Writes candidates as allocation requests, which a client can send back.
struct AllocationRequestsWriter<'a> {
    names: &'a CandidateNames,
    /// UUIDs that have not been written yet.
    uuids: std::slice::Iter<'a, Uuid>,
    version: Microversion,
    /// Texts of resources that were written before.
    texts: Vec<ResourcesText>,
}

/// The resources of one provider and their JSON text.
struct ResourcesText {
    amounts: Vec<(NameIx, u64)>,
    text: Vec<u8>,
}

/// The number of resource texts that are cached within one answer.
const TEXTS_MAX: usize = 8;

impl AllocationRequestsWriter<'_> {
    fn new(names: &CandidateNames, version: Microversion) -> AllocationRequestsWriter<'_> {
        AllocationRequestsWriter { names, uuids: names.uuids.iter(), version, texts: Vec::new() }
    }

    fn write(&mut self, out: &mut JsonBuffer, found: &Candidates) {
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
                let groups = self.names.suffixes.iter().zip(candidate.mappings());
                out.list(OBJECT, groups, |out, (suffix, providers)| {
                    // A suffix needs no escaping.
                    out.raw("\"").raw(suffix).raw("\":");
                    out.list(ARRAY, providers, |out, _| self.uuid(out));
                });
            }
            out.raw("}");
        });
    }

    fn uuid(&mut self, out: &mut JsonBuffer) {
        out.uuid_or_null(self.uuids.next().copied());
    }

    fn resources(&mut self, out: &mut JsonBuffer, part: &[(ProviderIx, NameIx, u64)]) {
        let own = part.iter().map(|(_, class, amount)| (*class, *amount));
        let known = self.texts.iter().find(|known| own.clone().eq(known.amounts.iter().copied()));
        if let Some(known) = known {
            out.0.extend_from_slice(&known.text);
            return;
        }
        let begin = out.0.len();
        let classes = &self.names.classes;
        out.list(OBJECT, own.clone(), |out, (class, amount)| {
            let name = classes.iter().find(|(known, _)| *known == class);
            out.text(name.map_or("", |(_, name)| name)).raw(":").number(amount);
        });
        if self.texts.len() < TEXTS_MAX {
            self.texts
                .push(ResourcesText { amounts: own.collect(), text: out.0[begin..].to_vec() });
        }
    }
}
