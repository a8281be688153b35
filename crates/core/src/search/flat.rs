//! The common case: no provider has a parent or shares its inventory. One provider serves the whole request, and the
//! search is a single walk over the bitmaps.

use super::filter::{BitFilter, BitWalk};
use super::plan::{Demand, SearchPlan};
use super::{Budget, CandidateQuery, Candidates, LimitHit};
use crate::state::capacity::provider::ProviderIx;

pub(super) fn run(
    plan: &SearchPlan<'_>,
    query: &CandidateQuery,
    max: usize,
    budget: &mut Budget,
    found: &mut Candidates,
) {
    let solo = SoloMatch::new(plan);
    let named = plan.slots.iter().find_map(|slot| slot.tree);
    let words = if named.is_some() || solo.is_impossible { 0 } else { solo.filter.words() };
    let mut walk = BitWalk::new(words, query.seed);
    let mut named = named.filter(|ix| solo.filter.contains(*ix));
    let (mut words, weight) = (0, solo.filter.weight());
    while let Some(ix) = named.take().or_else(|| walk.next(&solo.filter, &mut words)) {
        budget.spend(words * weight + solo.demands.weight());
        words = 0;
        if budget.is_spent() {
            found.limit_hit = Some(LimitHit::Steps);
            return;
        }
        if !solo.fits(ix) {
            continue;
        }
        if found.len() == max {
            found.limit_hit = Some(LimitHit::Candidates);
            return;
        }
        budget.spend(solo.push(ix, found));
        if query.limit == Some(found.len()) {
            return;
        }
    }
    budget.spend(words * weight);
    if budget.is_spent() {
        found.limit_hit = Some(LimitHit::Steps);
    }
}

/// What one provider needs in order to serve the whole request.
pub(super) struct SoloMatch<'p, 'a> {
    plan: &'p SearchPlan<'a>,
    filter: BitFilter<'a>,
    demands: TotalDemands<'p, 'a>,
    suffixed: usize,
    /// Two groups must be isolated, or require different trees.
    is_impossible: bool,
}

impl<'p, 'a> SoloMatch<'p, 'a> {
    pub fn new(plan: &'p SearchPlan<'a>) -> SoloMatch<'p, 'a> {
        let suffixed = plan.slots.iter().filter(|slot| slot.suffixed).count();
        let filters = plan.slots.iter().map(|slot| &slot.filter);
        let mut filter = filters.fold(BitFilter::default(), BitFilter::and);
        if let Some(unsuffixed) = &plan.unsuffixed {
            filter = unsuffixed
                .required
                .iter()
                .chain(&unsuffixed.member_of)
                .fold(filter, BitFilter::and);
        }
        let mut trees = plan.slots.iter().filter_map(|slot| slot.tree);
        let first = trees.next();
        SoloMatch {
            filter: filter.and(&plan.roots),
            demands: TotalDemands::new(plan),
            suffixed,
            is_impossible: plan.isolate && suffixed > 1 || trees.any(|tree| Some(tree) != first),
            plan,
        }
    }

    pub fn serves(&self, ix: ProviderIx) -> bool {
        self.filter.contains(ix) && self.fits(ix)
    }

    /// In steps: what it costs to look at one provider.
    pub fn weight(&self) -> usize {
        self.filter.weight() + self.demands.weight()
    }

    /// For a provider that passes the filter.
    fn fits(&self, ix: ProviderIx) -> bool {
        let mut trees = self.plan.slots.iter().filter_map(|slot| slot.tree);
        !self.is_impossible && trees.all(|tree| tree == ix) && self.demands.fit(ix)
    }

    /// Returns the number of entries written.
    pub fn push(&self, ix: ProviderIx, found: &mut Candidates) -> usize {
        let amounts =
            self.demands.totals.iter().map(|(demand, _)| (ix, demand.class, demand.amount));
        let unsuffixed = self.plan.unsuffixed.is_some().then_some(ix);
        found.push(ix, amounts, unsuffixed, std::iter::repeat_n(ix, self.suffixed))
    }
}

/// The demands of all slots, by class.
struct TotalDemands<'p, 'a> {
    /// The sum for each class, and whether several slots contribute to it.
    totals: Vec<(Demand<'a>, bool)>,
    /// The distinct demands that make up these sums.
    parts: Vec<&'p Demand<'a>>,
}

impl<'p, 'a> TotalDemands<'p, 'a> {
    fn new(plan: &'p SearchPlan<'a>) -> TotalDemands<'p, 'a> {
        let mut totals: Vec<(Demand<'a>, bool)> = Vec::new();
        let mut parts: Vec<&'p Demand<'a>> = Vec::new();
        for demand in plan.slots.iter().flat_map(|slot| &slot.demands) {
            match totals.iter_mut().find(|(total, _)| total.class == demand.class) {
                Some((total, is_sum)) => {
                    total.amount = total.amount.saturating_add(demand.amount);
                    *is_sum = true;
                }
                None => totals.push((*demand, false)),
            }
            let is_same =
                |part: &&Demand<'_>| (part.class, part.amount) == (demand.class, demand.amount);
            if demand.contested.is_some() && !parts.iter().any(is_same) {
                parts.push(demand);
            }
        }
        totals.sort_unstable_by_key(|(total, _)| total.class);
        TotalDemands { totals, parts }
    }

    /// In steps: what it costs to look at one provider.
    fn weight(&self) -> usize {
        1 + (self.totals.len() + self.parts.len()) / 8
    }

    fn fit(&self, ix: ProviderIx) -> bool {
        let whole = self.totals.iter().all(|(total, is_sum)| {
            let available = total.availability(ix);
            if *is_sum { available.fits_sum(total.amount) } else { available.fits(total.amount) }
        });
        whole && self.parts.iter().all(|part| part.availability(ix).fits(part.amount))
    }
}
