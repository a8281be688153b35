//! What must hold of the account of a pool of ids.

use crate::span::{self, Span};
use crate::state::pool::Pool;

/// Nobody holds an id that is on a shelf, no id is on two, and each is one that the pool gives.
pub(super) fn check(pool: &Pool) -> Vec<String> {
    let Some(account) = &pool.account else { return Vec::new() };
    let mut wrong = Vec::new();
    let mut all: Vec<Span> = Vec::new();
    for (place, shelf) in account.shelves() {
        wrong.extend(shelf.check().map(|what| format!("{place:?}: {what}")));
        all.extend(shelf.iter().map(|run| run.ids));
    }
    all.sort_unstable();
    if let Some(pair) = all.windows(2).find(|pair| pair[0].last >= pair[1].first) {
        wrong.push(format!("{:?} and {:?} are both released", pair[0], pair[1]));
    }
    let held = pool.rows.iter().filter(|(_, row)| row.held());
    let held = held.flat_map(|(_, row)| row.values().spans().collect::<Vec<_>>()).collect();
    let both = span::intersect(&span::normalise(all.clone()), &span::normalise(held));
    if let Some(both) = both.first() {
        wrong.push(format!("{both:?} is both held and released"));
    }
    let outside = span::subtract(&span::normalise(all), &pool.zones.automatic);
    if let Some(outside) = outside.first() {
        wrong.push(format!("{outside:?} is released but never given"));
    }
    wrong
}
