//! Tables that give each resource class or trait a small number.
//!
//! Standard names come first and always exist. A custom name takes the most recently freed number, so that undoing a
//! change restores the same numbers.

use std::sync::Arc;

use crate::state::shared_list::SharedList;
use crate::state::shared_map::SharedMap;

/// The number of a resource class or trait.
pub type NameIx = u32;

/// Copies share memory.
#[derive(Debug, Clone)]
pub struct NameTable {
    rows: SharedList<Option<NameEntry>>,
    by_name: SharedMap<Arc<str>, NameIx>,
    vacant: SharedList<NameIx>,
    standard: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameEntry {
    pub name: Arc<str>,
    /// When it was created or renamed; 0 for standard names.
    pub changed_ms: u64,
}

impl NameTable {
    pub fn new(standard: &[&str]) -> NameTable {
        let mut names = NameTable {
            rows: SharedList::default(),
            by_name: SharedMap::default(),
            vacant: SharedList::default(),
            standard: standard.len(),
        };
        for name in standard {
            names.add(NameEntry { name: (*name).into(), changed_ms: 0 });
        }
        names
    }

    pub fn find(&self, name: &str) -> Option<NameIx> {
        self.by_name.get(name).copied()
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, ix: NameIx) -> Option<&NameEntry> {
        self.rows.get(ix as usize)?.as_ref()
    }

    /// The name with this number, or an empty one.
    pub fn name(&self, ix: NameIx) -> Arc<str> {
        self.get(ix).map_or_else(|| "".into(), |named| named.name.clone())
    }

    pub fn is_standard(&self, ix: NameIx) -> bool {
        (ix as usize) < self.standard
    }

    /// The position of a name in lists for clients: standard names in their own order, then custom names
    /// alphabetically. The numbers of custom names differ between servers.
    pub fn sort_key(&self, ix: NameIx) -> (NameIx, Option<Arc<str>>) {
        if self.is_standard(ix) { (ix, None) } else { (NameIx::MAX, Some(self.name(ix))) }
    }

    pub fn iter(&self) -> impl Iterator<Item = (NameIx, &NameEntry)> {
        self.rows.iter().filter_map(|(ix, named)| Some((ix as NameIx, named.as_ref()?)))
    }

    pub fn custom(&self) -> impl Iterator<Item = (NameIx, &NameEntry)> {
        self.iter().filter(|(ix, _)| !self.is_standard(*ix))
    }

    pub(crate) fn add(&mut self, named: NameEntry) -> NameIx {
        let ix = self.vacant.pop().unwrap_or(self.rows.len() as NameIx);
        self.by_name.insert(named.name.clone(), ix);
        *self.rows.entry(ix as usize) = Some(named);
        ix
    }

    pub(crate) fn remove(&mut self, ix: NameIx) -> Option<NameEntry> {
        let named = self.rows.get_mut(ix as usize)?.take()?;
        self.by_name.remove(&named.name);
        self.vacant.push(ix);
        Some(named)
    }

    pub(crate) fn rename(&mut self, ix: NameIx, named: NameEntry) -> Option<NameEntry> {
        let row = self.rows.get_mut(ix as usize)?.as_mut()?;
        self.by_name.remove(&row.name);
        self.by_name.insert(named.name.clone(), ix);
        Some(std::mem::replace(row, named))
    }
}
