//! The common case: no provider stands below another, and none serves another's tree. Then one provider serves all of a
//! request, and the search is one walk over the bitmaps.

use super::filter::{Filter, Walk};
use super::plan::{Ask, Plan};
use super::{Budget, Cut, Found, Query};
use crate::state::capacity::provider::ProviderIx;

pub(super) fn run(
    plan: &Plan<'_>,
    query: &Query,
    max: usize,
    budget: &mut Budget,
    found: &mut Found,
) {
    let solo = Solo::new(plan);
    let named = plan.slots.iter().find_map(|slot| slot.tree);
    let words = if named.is_some() || solo.is_impossible { 0 } else { solo.filter.words() };
    let mut walk = Walk::new(words, query.seed);
    let mut named = named.filter(|ix| solo.filter.contains(*ix));
    let mut words = 0;
    while let Some(ix) = named.take().or_else(|| walk.next(&solo.filter, &mut words)) {
        budget.spend(words + 1);
        words = 0;
        if budget.is_spent() {
            found.cut = Some(Cut::Steps);
            return;
        }
        if !solo.fits(ix) {
            continue;
        }
        if found.len() == max {
            found.cut = Some(Cut::Candidates);
            return;
        }
        budget.spend(solo.push(ix, found));
        if query.limit == Some(found.len()) {
            return;
        }
    }
    budget.spend(words);
}

/// What a provider needs to serve all of a request by itself.
pub(super) struct Solo<'p, 'a> {
    plan: &'p Plan<'a>,
    filter: Filter<'a>,
    asks: Asks<'p, 'a>,
    suffixed: usize,
    /// Two groups must be apart, or are to be in different trees.
    is_impossible: bool,
}

impl<'p, 'a> Solo<'p, 'a> {
    pub fn new(plan: &'p Plan<'a>) -> Solo<'p, 'a> {
        let suffixed = plan.slots.iter().filter(|slot| slot.suffixed).count();
        let filters = plan.slots.iter().map(|slot| &slot.filter);
        let mut filter = filters.fold(Filter::default(), Filter::and);
        if let Some(loose) = &plan.loose {
            filter = loose.required.iter().chain(&loose.member_of).fold(filter, Filter::and);
        }
        let mut trees = plan.slots.iter().filter_map(|slot| slot.tree);
        let first = trees.next();
        Solo {
            filter: filter.and(&plan.roots),
            asks: Asks::new(plan),
            suffixed,
            is_impossible: plan.isolate && suffixed > 1 || trees.any(|tree| Some(tree) != first),
            plan,
        }
    }

    pub fn serves(&self, ix: ProviderIx) -> bool {
        self.filter.contains(ix) && self.fits(ix)
    }

    /// Of one who passes the filter.
    fn fits(&self, ix: ProviderIx) -> bool {
        let mut trees = self.plan.slots.iter().filter_map(|slot| slot.tree);
        !self.is_impossible && trees.all(|tree| tree == ix) && self.asks.fit(ix)
    }

    /// Gives back how much was written.
    pub fn push(&self, ix: ProviderIx, found: &mut Found) -> usize {
        let amounts = self.asks.totals.iter().map(|(ask, _)| (ix, ask.class, ask.amount));
        let unsuffixed = self.plan.loose.is_some().then_some(ix);
        found.push(ix, amounts, unsuffixed, std::iter::repeat_n(ix, self.suffixed))
    }
}

/// What all slots ask for, by class.
struct Asks<'p, 'a> {
    /// The sum for a class, and whether it is of several slots.
    totals: Vec<(Ask<'a>, bool)>,
    parts: Vec<&'p Ask<'a>>,
}

impl<'p, 'a> Asks<'p, 'a> {
    fn new(plan: &'p Plan<'a>) -> Asks<'p, 'a> {
        let mut totals: Vec<(Ask<'a>, bool)> = Vec::new();
        let mut parts = Vec::new();
        for ask in plan.slots.iter().flat_map(|slot| &slot.asks) {
            match totals.iter_mut().find(|(total, _)| total.class == ask.class) {
                Some((total, is_sum)) => {
                    total.amount = total.amount.saturating_add(ask.amount);
                    *is_sum = true;
                }
                None => totals.push((*ask, false)),
            }
            if ask.contested.is_some() {
                parts.push(ask);
            }
        }
        totals.sort_unstable_by_key(|(total, _)| total.class);
        Asks { totals, parts }
    }

    fn fit(&self, ix: ProviderIx) -> bool {
        let whole = self.totals.iter().all(|(total, is_sum)| {
            let room = total.room(ix);
            if *is_sum { room.holds(total.amount) } else { room.fits(total.amount) }
        });
        whole && self.parts.iter().all(|part| part.room(ix).fits(part.amount))
    }
}
