//! Provider summaries in answers about candidates, with a cache.
//!
//! An answer has hundreds of summaries, and most of them also were in the previous answer. The cache keeps the text of
//! each summary until the revision of the provider changes. Renaming a class changes no provider, so that revision is
//! checked as well.

use allod_core::capacity::Inventory;
use allod_core::view::capacity::{CapacityView, NameIx, ProviderIx, ProviderView};
use parking_lot::RwLock;

use crate::json::{ARRAY, JsonBuffer, OBJECT};
use crate::versions::{Feature, Microversion};

/// Providers with higher indexes are not cached. This limits the cache to about 128 MiB.
const CACHED_MAX: usize = 256 * 1024;

/// Longer texts are not cached.
const TEXT_BYTES_MAX: usize = 2048;

/// Texts by provider index, in the form of 1.29 and later.
#[derive(Debug, Default)]
pub(crate) struct SummaryCache(RwLock<Vec<CachedSummary>>);

#[derive(Debug, Clone, Default)]
struct CachedSummary {
    revision: u64,
    class_names: u64,
    /// `"<uuid>":{…}`; empty: not cached.
    text: Box<[u8]>,
}

impl SummaryCache {
    /// Writes the summaries of these providers, separated by commas. `is_first`: no other summary comes before them.
    pub(crate) fn write(
        &self,
        out: &mut JsonBuffer,
        capacity: CapacityView<'_>,
        providers: &[ProviderIx],
        mut is_first: bool,
    ) {
        let mut new: Vec<(ProviderIx, CachedSummary)> = Vec::new();
        let class_names = capacity.class_names_revision();
        {
            let cached = self.0.read();
            for ix in providers {
                let Some(provider) = capacity.provider_at(*ix) else { continue };
                out.comma(is_first);
                is_first = false;
                match cached.get(*ix as usize) {
                    Some(cached)
                        if cached.revision == provider.revision()
                            && cached.class_names == class_names
                            && !cached.text.is_empty() =>
                    {
                        out.0.extend_from_slice(&cached.text);
                    }
                    _ => {
                        let begin = out.0.len();
                        summary(out, provider, Microversion::MAX, |_| true);
                        let text = &out.0[begin..];
                        if (*ix as usize) < CACHED_MAX && text.len() <= TEXT_BYTES_MAX {
                            let revision = provider.revision();
                            new.push((
                                *ix,
                                CachedSummary { revision, class_names, text: text.into() },
                            ));
                        }
                    }
                }
            }
        }
        self.store(new);
    }

    fn store(&self, texts: Vec<(ProviderIx, CachedSummary)>) {
        let Some(last) = texts.iter().map(|(ix, _)| *ix as usize).max() else { return };
        let mut cached = self.0.write();
        if cached.len() <= last {
            cached.resize_with(last + 1, CachedSummary::default);
        }
        for (ix, text) in texts {
            let entry = &mut cached[ix as usize];
            // Another request may have stored a newer text.
            if entry.revision <= text.revision {
                *entry = text;
            }
        }
    }
}

/// Writes one summary, with the wanted classes and the members of this version.
pub(crate) fn summary(
    out: &mut JsonBuffer,
    provider: ProviderView<'_>,
    version: Microversion,
    is_wanted: impl Fn(NameIx) -> bool,
) {
    out.uuid(provider.uuid()).raw(":{\"resources\":");
    let inventories = provider.inventories().filter(|one| is_wanted(one.class));
    out.list(OBJECT, inventories, |out, one| {
        out.text(one.class_name).raw(":{\"capacity\":");
        out.signed(shown_capacity(one.inventory)).raw(",\"used\":").number(one.used).raw("}");
    });
    if version.has(Feature::CandidatesByTraits) {
        out.raw(",\"traits\":");
        out.list(ARRAY, provider.traits(), |out, row| {
            out.text(&row.name);
        });
    }
    if version.has(Feature::NestedCandidates) {
        out.raw(",\"parent_provider_uuid\":").uuid_or_null(provider.parent());
        out.raw(",\"root_provider_uuid\":").uuid(provider.root());
    }
    out.raw("}");
}

/// Rounded towards zero, as Placement does.
fn shown_capacity(inventory: &Inventory) -> i64 {
    let free = f64::from(inventory.total) - f64::from(inventory.reserved);
    (free * inventory.allocation_ratio.0).trunc() as i64
}
