//! What a provider looks like in an answer about candidates, kept from one answer to the next.
//!
//! An answer has hundreds of summaries and most of them were in the answer before. So the text of each is kept until
//! the provider changes, which its count of touches tells; a class may get another name without any provider being
//! touched, so that is looked at, too.

use allod_core::state::capacity::Capacity;
use allod_core::state::capacity::names::NameIx;
use allod_core::state::capacity::provider::{Provider, ProviderIx, Stock};
use parking_lot::RwLock;

use crate::out::{ARRAY, OBJECT, Out};
use crate::versions::{Feature, Version};

/// Providers with higher numbers are written anew each time: about 128 MiB is kept at most.
const KEPT_MAX: usize = 256 * 1024;

/// Longer texts are not kept.
const TEXT_BYTES_MAX: usize = 2048;

/// Texts by the provider's number, in the form that versions since 1.29 have.
#[derive(Debug, Default)]
pub(crate) struct Summaries(RwLock<Vec<Kept>>);

#[derive(Debug, Clone, Default)]
struct Kept {
    touched: u64,
    renamed: u64,
    /// `"<uuid>":{…}`; empty: not kept.
    text: Box<[u8]>,
}

impl Summaries {
    /// Writes the summaries of some providers, with commas between them.
    pub(crate) fn write(&self, out: &mut Out, capacity: &Capacity, providers: &[ProviderIx]) {
        let mut missed: Vec<(ProviderIx, Kept)> = Vec::new();
        let renamed = capacity.renamed();
        {
            let kept = self.0.read();
            let mut is_first = true;
            for ix in providers {
                let Some(provider) = capacity.at(*ix) else { continue };
                out.comma(is_first);
                is_first = false;
                match kept.get(*ix as usize) {
                    Some(kept)
                        if kept.touched == provider.touched
                            && kept.renamed == renamed
                            && !kept.text.is_empty() =>
                    {
                        out.0.extend_from_slice(&kept.text);
                    }
                    _ => {
                        let begin = out.0.len();
                        summary(out, capacity, provider, Version::MAX, |_| true);
                        let text = &out.0[begin..];
                        if (*ix as usize) < KEPT_MAX && text.len() <= TEXT_BYTES_MAX {
                            let touched = provider.touched;
                            missed.push((*ix, Kept { touched, renamed, text: text.into() }));
                        }
                    }
                }
            }
        }
        self.keep(missed);
    }

    fn keep(&self, texts: Vec<(ProviderIx, Kept)>) {
        let Some(last) = texts.iter().map(|(ix, _)| *ix as usize).max() else { return };
        let mut kept = self.0.write();
        if kept.len() <= last {
            kept.resize_with(last + 1, Kept::default);
        }
        for (ix, text) in texts {
            let place = &mut kept[ix as usize];
            // Whoever looked later knows better.
            if place.touched <= text.touched {
                *place = text;
            }
        }
    }
}

/// Writes one summary: the classes that are wanted, and what the version has besides.
pub(crate) fn summary(
    out: &mut Out,
    capacity: &Capacity,
    provider: &Provider,
    version: Version,
    is_wanted: impl Fn(NameIx) -> bool,
) {
    out.uuid(provider.uuid).raw(":{\"resources\":");
    let stocks = provider.stocks.iter().filter(|stock| is_wanted(stock.class));
    out.list(OBJECT, stocks, |out, stock| {
        let class = capacity.classes().get(stock.class);
        out.text(class.map_or("", |class| &class.name)).raw(":{\"capacity\":");
        out.signed(shown_capacity(stock)).raw(",\"used\":").number(stock.used).raw("}");
    });
    if version.has(Feature::CandidatesByTraits) {
        out.raw(",\"traits\":");
        out.list(ARRAY, capacity.trait_names(provider), |out, name| {
            out.text(name);
        });
    }
    if version.has(Feature::NestedCandidates) {
        out.raw(",\"parent_provider_uuid\":").uuid_or_null(capacity.parent(provider));
        out.raw(",\"root_provider_uuid\":").uuid(capacity.root(provider));
    }
    out.raw("}");
}

/// Whole units, rounded towards zero.
fn shown_capacity(stock: &Stock) -> i64 {
    let inventory = &stock.inventory;
    let free = f64::from(inventory.total) - f64::from(inventory.reserved);
    (free * inventory.allocation_ratio.0).trunc() as i64
}
