//! What must hold of the layout of a block pool.

use crate::span::{self, Span};
use crate::state::pool::Pool;

/// A released id is in one list only, is not held, and is one that automatic claims can get.
pub(crate) fn check(pool: &Pool) -> Vec<String> {
    let Some(blocks) = pool.blocks() else { return Vec::new() };
    let mut wrong = Vec::new();
    let mut all: Vec<Span> = Vec::new();
    for (owner, list) in blocks.lists() {
        wrong.extend(list.check().map(|what| format!("{owner:?}: {what}")));
        all.extend(list.iter().map(|run| run.ids));
    }
    all.sort_unstable();
    if let Some(pair) = all.windows(2).find(|pair| pair[0].last >= pair[1].first) {
        wrong.push(format!("released ids {:?} and {:?} overlap", pair[0], pair[1]));
    }
    let held = pool.rows.iter().filter(|(_, row)| row.held());
    let held = held.flat_map(|(_, row)| row.values().spans().collect::<Vec<_>>()).collect();
    let both = span::intersect(&span::normalise(all.clone()), &span::normalise(held));
    if let Some(both) = both.first() {
        wrong.push(format!("{both:?} is both held and released"));
    }
    let outside = span::subtract(&span::normalise(all), &pool.zones.automatic);
    if let Some(outside) = outside.first() {
        wrong.push(format!("{outside:?} is released but not available to automatic claims"));
    }
    wrong
}
