//! Names that are written once and then meant by a small number: resource classes and traits.
//!
//! The standard ones come first and are always there; custom ones take the number that became free last, so that
//! undoing restores exactly what was there.

use std::collections::HashMap;
use std::sync::Arc;

/// A resource class or trait by number.
pub type NameIx = u32;

#[derive(Debug, Clone)]
pub struct Names {
    rows: Vec<Option<Named>>,
    by_name: HashMap<Arc<str>, NameIx>,
    vacant: Vec<NameIx>,
    standard: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub name: Arc<str>,
    /// When it was created or got this name; 0 for the standard ones.
    pub changed_ms: u64,
}

impl Names {
    pub fn new(standard: &[&str]) -> Names {
        let mut names = Names {
            rows: Vec::new(),
            by_name: HashMap::new(),
            vacant: Vec::new(),
            standard: standard.len(),
        };
        for name in standard {
            names.add(Named { name: (*name).into(), changed_ms: 0 });
        }
        names
    }

    pub fn find(&self, name: &str) -> Option<NameIx> {
        self.by_name.get(name).copied()
    }

    pub fn get(&self, ix: NameIx) -> Option<&Named> {
        self.rows.get(ix as usize)?.as_ref()
    }

    /// The name of a number that was found before; nothing for one that is not there.
    pub fn name(&self, ix: NameIx) -> Arc<str> {
        self.get(ix).map_or_else(|| "".into(), |named| named.name.clone())
    }

    pub fn is_standard(&self, ix: NameIx) -> bool {
        (ix as usize) < self.standard
    }

    /// Where a name stands in lists that are told: the standard ones in their own order, then the others by name. The order
    /// of rows would do, but for the others it is another one on another copy.
    pub fn place(&self, ix: NameIx) -> (NameIx, Option<Arc<str>>) {
        if self.is_standard(ix) { (ix, None) } else { (NameIx::MAX, Some(self.name(ix))) }
    }

    pub fn iter(&self) -> impl Iterator<Item = (NameIx, &Named)> {
        let rows = self.rows.iter().enumerate();
        rows.filter_map(|(ix, named)| Some((ix as NameIx, named.as_ref()?)))
    }

    pub fn custom(&self) -> impl Iterator<Item = (NameIx, &Named)> {
        self.iter().filter(|(ix, _)| !self.is_standard(*ix))
    }

    pub(crate) fn add(&mut self, named: Named) -> NameIx {
        let ix = self.vacant.pop().unwrap_or_else(|| {
            self.rows.push(None);
            (self.rows.len() - 1) as NameIx
        });
        self.by_name.insert(named.name.clone(), ix);
        self.rows[ix as usize] = Some(named);
        ix
    }

    pub(crate) fn remove(&mut self, ix: NameIx) -> Option<Named> {
        let named = self.rows.get_mut(ix as usize)?.take()?;
        self.by_name.remove(&named.name);
        self.vacant.push(ix);
        Some(named)
    }

    pub(crate) fn rename(&mut self, ix: NameIx, named: Named) -> Option<Named> {
        let row = self.rows.get_mut(ix as usize)?.as_mut()?;
        self.by_name.remove(&row.name);
        self.by_name.insert(named.name.clone(), ix);
        Some(std::mem::replace(row, named))
    }
}
