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
    let suffixed = plan.slots.iter().filter(|slot| slot.suffixed).count();
    if plan.isolate && suffixed > 1 {
        return;
    }
    let filter = filter(plan);
    let asks = Asks::new(plan);
    let mut trees = plan.slots.iter().filter_map(|slot| slot.tree);
    let mut named = trees.next();
    let is_elsewhere = trees.any(|tree| Some(tree) != named);
    let mut walk = Walk::new(if named.is_some() { 0 } else { filter.words() }, query.seed);
    let mut words = 0;
    while let Some(ix) = named
        .take()
        .filter(|ix| !is_elsewhere && filter.contains(*ix))
        .or_else(|| walk.next(&filter, &mut words))
    {
        budget.spend(words + 1);
        words = 0;
        if budget.is_spent() {
            found.cut = Some(Cut::Steps);
            return;
        }
        if !asks.fit(ix) {
            continue;
        }
        if found.len() == max {
            found.cut = Some(Cut::Candidates);
            return;
        }
        let amounts = asks.totals.iter().map(|(ask, _)| (ix, ask.class, ask.amount));
        let unsuffixed = plan.loose.is_some().then_some(ix);
        let written = found.push(ix, amounts, unsuffixed, std::iter::repeat_n(ix, suffixed));
        budget.spend(written);
        if query.limit == Some(found.len()) {
            return;
        }
    }
    budget.spend(words);
}

fn filter<'a>(plan: &Plan<'a>) -> Filter<'a> {
    let mut filter = plan.slots.iter().fold(Filter::default(), |all, slot| all.and(&slot.filter));
    if let Some(loose) = &plan.loose {
        filter = loose.required.iter().chain(&loose.member_of).fold(filter, Filter::and);
    }
    filter.and(&plan.roots)
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
            if ask.contested {
                parts.push(ask);
            }
        }
        totals.sort_unstable_by_key(|(total, _)| total.class);
        Asks { totals, parts }
    }

    fn fit(&self, ix: ProviderIx) -> bool {
        let whole = self.totals.iter().all(|(total, is_sum)| {
            let room = total.room(ix);
            if !is_sum {
                return room.fits(total.amount);
            }
            i64::try_from(total.amount).is_ok_and(|amount| amount <= room.room)
                && total.amount <= u64::from(room.max_unit)
        });
        whole && self.parts.iter().all(|part| part.room(ix).fits(part.amount))
    }
}
