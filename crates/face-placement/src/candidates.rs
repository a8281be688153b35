//! `/allocation_candidates`: which providers could serve a request.
//!
//! The core searches. The answer is the largest of this API, so writing it is optimised: most candidates have the same
//! resources as the one before.

use std::sync::Arc;

use allod_core::search::{
    self, Candidate, CandidateOrder, CandidateQuery, Candidates, RequestGroup,
};
use allod_core::view::capacity::{
    CapacitySnapshot, CapacityView, NameIx, ProviderIx, ProviderView,
};
use http::StatusCode;

use crate::Placement;
use crate::error::{PlacementError, PlacementResult};
use crate::explain;
use crate::json::{ARRAY, JsonBuffer, OBJECT};
use crate::long_read::{BodyParts, LongRead, LongReadResult, ReplyBody};
use crate::lookup;
use crate::query::groups::CandidatesParams;
use crate::settings::GenerationStrategy;
use crate::summaries::{SummaryCache, summary};
use crate::to_wire::PlacementReply;
use crate::versions::{Feature, Microversion};

pub(crate) fn list(read: &LongRead<'_>) -> LongReadResult {
    let (face, request, capacity) = (read.face, read.request, read.capacity());
    let params = CandidatesParams::read(&request.query(), request.version)?;
    let query = read.found(face.look_up(capacity, &params, request.version))?;
    let limits = read.search_limits();
    let found = search::candidates(capacity, &query, &limits);
    read.ensure_steps(found.steps)?;
    let explain = request.call.head.headers.contains_key(explain::HEADER);
    let explained = explain.then(|| search::explain(capacity, &query, &limits));
    if explained.as_ref().is_some_and(|explained| explained.limit_hit.is_some()) {
        read.ensure_steps(limits.steps_max)?;
    }
    let why = explained.map(|explained| explain::line(capacity, &query, &explained));
    if let Some(limit) = found.limit_hit {
        tracing::debug!(?limit, candidates = found.len(), "a search ended early");
    }
    let reply = PlacementReply::empty(read.at(), StatusCode::OK).modified(read.frozen.now_ms);
    let body = CandidatesBody::new(
        face.summaries.clone(),
        &read.frozen.capacity,
        &query,
        found,
        request.version,
    );
    Ok(reply.explained(why).with_body(ReplyBody::of(body)))
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

/// An answer, written in parts.
struct CandidatesBody {
    cache: Arc<SummaryCache>,
    capacity: CapacitySnapshot,
    found: Candidates,
    version: Microversion,
    /// The names of the requested classes.
    classes: Vec<(NameIx, Arc<str>)>,
    /// The suffixes of the groups.
    suffixes: Vec<Arc<str>>,
    /// Texts of resources that were written before.
    texts: Vec<ResourcesText>,
    /// The providers to describe.
    summaries: Vec<ProviderIx>,
    next: NextEntry,
}

/// What is written next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextEntry {
    Start,
    Candidate(usize),
    Summary(usize),
}

/// The resources of one provider and their JSON text.
struct ResourcesText {
    amounts: Vec<(NameIx, u64)>,
    text: Vec<u8>,
}

/// The number of resource texts that are cached within one answer.
const TEXTS_MAX: usize = 8;

/// The summaries that are written in one go.
const SUMMARIES_STEP: usize = 64;

/// The approximate size of a provider in memory.
const PROVIDER_BYTES: usize = 512;

impl CandidatesBody {
    fn new(
        cache: Arc<SummaryCache>,
        capacity: &CapacitySnapshot,
        query: &CandidateQuery,
        found: Candidates,
        version: Microversion,
    ) -> CandidatesBody {
        let names = capacity.view().classes();
        let mut classes: Vec<(NameIx, Arc<str>)> = Vec::new();
        for (class, _) in query.groups.iter().flat_map(|group| &group.resources) {
            if !classes.iter().any(|(known, _)| known == class) {
                classes.push((*class, names.name(*class)));
            }
        }
        CandidatesBody {
            cache,
            suffixes: query.groups.iter().map(|group| group.suffix.clone()).collect(),
            summaries: search::summaries(capacity.view(), &found),
            capacity: capacity.clone(),
            found,
            version,
            classes,
            texts: Vec::new(),
            next: NextEntry::Start,
        }
    }

    /// Writes a candidate as an allocation request, which a client can send back.
    fn candidate(&mut self, out: &mut JsonBuffer, at: usize) {
        let CandidatesBody { capacity, found, classes, texts, .. } = self;
        let capacity = capacity.view();
        let candidate = found.at(at);
        let uuid = |ix: ProviderIx| capacity.provider_at(ix).map(ProviderView::uuid);
        let as_object = self.version.has(Feature::AllocationsByProvider);
        out.raw("{\"allocations\":");
        let brackets = if as_object { OBJECT } else { ARRAY };
        out.list(brackets, by_provider(&candidate), |out, part| {
            let provider = uuid(part[0].0);
            if as_object {
                out.uuid_or_null(provider).raw(":{\"resources\":");
            } else {
                out.raw("{\"resource_provider\":{\"uuid\":").uuid_or_null(provider);
                out.raw("},\"resources\":");
            }
            resources(out, part, classes, texts);
            out.raw("}");
        });
        if self.version.has(Feature::Mappings) {
            out.raw(",\"mappings\":");
            let groups = self.suffixes.iter().zip(candidate.mappings());
            out.list(OBJECT, groups, |out, (suffix, providers)| {
                // A suffix needs no escaping.
                out.raw("\"").raw(suffix).raw("\":");
                out.list(ARRAY, providers, |out, ix| {
                    out.uuid_or_null(uuid(*ix));
                });
            });
        }
        out.raw("}");
    }

    fn summaries(&self, out: &mut JsonBuffer, from: usize, to: usize) {
        let (capacity, providers) = (self.capacity.view(), &self.summaries[from..to]);
        if self.version.has(Feature::NestedCandidates) {
            return self.cache.write(out, capacity, providers, from == 0);
        }
        let all = self.version.has(Feature::AllClassesInSummaries);
        let is_asked = |class: NameIx| self.classes.iter().any(|(asked, _)| *asked == class);
        let providers = providers.iter().filter_map(|ix| capacity.provider_at(*ix));
        for (n, provider) in providers.enumerate() {
            out.comma(from + n == 0);
            summary(out, provider, self.version, |class| all || is_asked(class));
        }
    }
}

impl BodyParts for CandidatesBody {
    fn write(&mut self, out: &mut JsonBuffer, bytes_max: usize) -> bool {
        loop {
            self.next = match self.next {
                NextEntry::Start => {
                    out.raw("{\"allocation_requests\":[");
                    NextEntry::Candidate(0)
                }
                NextEntry::Candidate(at) if at < self.found.len() => {
                    out.comma(at == 0);
                    self.candidate(out, at);
                    NextEntry::Candidate(at + 1)
                }
                NextEntry::Candidate(_) => {
                    out.raw("],\"provider_summaries\":{");
                    NextEntry::Summary(0)
                }
                NextEntry::Summary(at) if at < self.summaries.len() => {
                    let to = self.summaries.len().min(at + SUMMARIES_STEP);
                    self.summaries(out, at, to);
                    NextEntry::Summary(to)
                }
                NextEntry::Summary(_) => {
                    out.raw("}}");
                    return false;
                }
            };
            if out.0.len() >= bytes_max {
                return true;
            }
        }
    }

    fn settle(&mut self) -> u64 {
        let needed = self.found.providers().chain(self.summaries.iter().copied());
        self.capacity = self.capacity.only(needed);
        let providers = self.capacity.view().provider_count() * PROVIDER_BYTES;
        (self.found.bytes() + size_of_val(&self.summaries[..]) + providers) as u64
    }
}

/// The amounts of a candidate, grouped by provider. No group is empty.
fn by_provider<'a>(
    candidate: &Candidate<'a>,
) -> impl Iterator<Item = &'a [(ProviderIx, NameIx, u64)]> + use<'a> {
    candidate.amounts.chunk_by(|one, next| one.0 == next.0)
}

fn resources(
    out: &mut JsonBuffer,
    part: &[(ProviderIx, NameIx, u64)],
    classes: &[(NameIx, Arc<str>)],
    texts: &mut Vec<ResourcesText>,
) {
    let own = part.iter().map(|(_, class, amount)| (*class, *amount));
    let known = texts.iter().find(|known| own.clone().eq(known.amounts.iter().copied()));
    if let Some(known) = known {
        out.0.extend_from_slice(&known.text);
        return;
    }
    let begin = out.0.len();
    out.list(OBJECT, own.clone(), |out, (class, amount)| {
        let name = classes.iter().find(|(known, _)| *known == class);
        out.text(name.map_or("", |(_, name)| name)).raw(":").number(amount);
    });
    if texts.len() < TEXTS_MAX {
        texts.push(ResourcesText { amounts: own.collect(), text: out.0[begin..].to_vec() });
    }
}

#[cfg(test)]
mod tests {
    use allod_core::capacity::{Inventory, Ratio, Uuid};
    use allod_core::command::capacity::{
        CapacityCommand, ChangeInventories, CreateProvider, InventoryChange,
    };
    use allod_core::command::{Command, Stamp};
    use allod_core::limits::Limits;
    use allod_core::search::SearchLimits;
    use allod_core::view::State;
    use allod_core::{decide, random, view};

    use super::*;

    fn run(state: &mut State, command: CapacityCommand) {
        let stamp = Stamp { now_ms: 1_000, seed: 1 };
        let decision = decide(state, &stamp, &Command::Capacity(command), &Limits::default());
        drop(decision.expect("decided").undo);
    }

    fn add(state: &mut State, number: u128, parent: Option<u128>, total: u32) {
        let (uuid, name) = (Uuid(number), format!("p{number}").into());
        let parent = parent.map(Uuid);
        run(state, CapacityCommand::CreateProvider(CreateProvider { uuid, name, parent }));
        let allocation_ratio = Ratio(1.0);
        let inventory = Inventory {
            total,
            reserved: 0,
            min_unit: 1,
            max_unit: total,
            step_size: 1,
            allocation_ratio,
        };
        let classes = ["VCPU", "MEMORY_MB"].into_iter().take(1 + number as usize % 2);
        let all = classes.map(|class| (class.into(), inventory)).collect();
        let change = InventoryChange::Replace(all);
        let change = ChangeInventories { provider: uuid, expect: None, change };
        run(state, CapacityCommand::ChangeInventories(change));
    }

    /// Hosts with up to five devices each.
    fn cloud(seed: &mut u64) -> (State, u128) {
        let (mut state, mut number) = (State::new(), 0);
        for _ in 0..1 + random::next(seed) % 12 {
            let host = number;
            add(&mut state, host, None, 1 + (random::next(seed) % 9) as u32);
            number += 1;
            for _ in 0..random::next(seed) % 6 {
                add(&mut state, number, Some(host), 1 + (random::next(seed) % 5) as u32);
                number += 1;
            }
        }
        (state, number)
    }

    fn query(capacity: CapacityView<'_>, seed: &mut u64, version: Microversion) -> CandidateQuery {
        let class = |name| capacity.classes().find(name).expect("a standard class");
        let mut group = |suffix: &str| RequestGroup {
            suffix: suffix.into(),
            resources: [class("VCPU"), class("MEMORY_MB")]
                .into_iter()
                .take(1 + random::next(seed) as usize % 2)
                .map(|class| (class, 1 + random::next(seed) % 2))
                .collect(),
            ..RequestGroup::default()
        };
        let groups = match version.has(Feature::NestedCandidates) {
            true => vec![group(""), group("1"), group("2")],
            false => vec![group("")],
        };
        let nested = version.has(Feature::NestedCandidates);
        CandidateQuery { groups, nested, limit: Some(200), ..CandidateQuery::default() }
    }

    #[test]
    fn answer_in_parts_equals_the_whole_answer_while_the_state_changes() {
        let mut seed = 7;
        let mut most_parts = 0;
        for round in 0..60 {
            let (mut state, count) = cloud(&mut seed);
            let minor = [10, 17, 28, 29, 39][round % 5];
            let version = Microversion::tested(minor);
            let frozen = view::capacity::freeze(&state);
            let query = query(frozen.view(), &mut seed, version);
            let found = search::candidates(frozen.view(), &query, &SearchLimits::default());
            let cache = Arc::new(SummaryCache::default());
            let body =
                || CandidatesBody::new(cache.clone(), &frozen, &query, found.clone(), version);
            let mut whole = JsonBuffer::default();
            assert!(!body().write(&mut whole, usize::MAX));
            serde_json::from_slice::<serde_json::Value>(&whole.0).expect("JSON");
            for bytes_max in [1, 100, 1000] {
                let (mut parts, mut written, mut count_parts) = (body(), Vec::new(), 0);
                let mut is_more = true;
                while is_more {
                    let mut out = JsonBuffer::default();
                    is_more = parts.write(&mut out, bytes_max);
                    written.extend(out.0);
                    assert!(parts.settle() > 0);
                    count_parts += 1;
                    add(&mut state, 1000 + count + count_parts, Some(0), 3);
                }
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                assert_eq!(text(&written), text(&whole.0), "round {round}, 1.{minor}");
                most_parts = most_parts.max(count_parts);
                (state, _) = cloud(&mut seed);
            }
        }
        assert!(most_parts > 50, "not representative: {most_parts}");
    }
}
