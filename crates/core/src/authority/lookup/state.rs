//! All look-ups, with indexes by the time of the next check and by the last check.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{LookUp, LookUpState};
use crate::state::shared_map::SharedMap;

pub(crate) type LookUpName = (Arc<str>, Arc<str>);

/// The number of look-ups in each state, in the order of [`LookUpState::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LookUpCounts([u64; LookUpState::ALL.len()]);

impl LookUpCounts {
    pub fn of(&self, state: LookUpState) -> u64 {
        self.0[state as usize]
    }

    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// The look-ups of one authority.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LookUpsOf {
    pub counts: LookUpCounts,
    /// By the time of the next check.
    pub due: BTreeSet<(u64, Arc<str>)>,
    /// By the position of the last check.
    pub checked: BTreeSet<(u64, Arc<str>)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LookUps {
    pub all: SharedMap<LookUpName, Arc<LookUp>>,
    /// By authority; without those that have no look-ups.
    pub of: BTreeMap<Arc<str>, LookUpsOf>,
    /// See [`LookUp::bytes`].
    pub bytes: u64,
}

impl LookUps {
    pub fn get(&self, authority: &str, key: &str) -> Option<&Arc<LookUp>> {
        self.all.get(&(Arc::from(authority), Arc::from(key)))
    }

    /// Inserts or replaces a look-up; `None` removes it. Returns the previous one.
    pub fn put(&mut self, name: LookUpName, look_up: Option<Arc<LookUp>>) -> Option<Arc<LookUp>> {
        let before = self.all.remove(&name);
        before.iter().for_each(|look_up| self.index(look_up, false));
        if let Some(look_up) = look_up {
            self.index(&look_up, true);
            self.all.insert(name, look_up);
        }
        before
    }

    fn index(&mut self, look_up: &LookUp, add: bool) {
        let key = &look_up.key;
        let due = look_up.due_ms.map(|at_ms| (at_ms, key.clone()));
        let checked = (look_up.checked, key.clone());
        let of = self.of.entry(look_up.authority.clone()).or_default();
        let count = &mut of.counts.0[look_up.state as usize];
        if add {
            *count += 1;
            of.due.extend(due);
            of.checked.insert(checked);
            self.bytes += look_up.bytes();
            return;
        }
        *count -= 1;
        due.map(|due| of.due.remove(&due));
        of.checked.remove(&checked);
        if of.counts.total() == 0 {
            self.of.remove(&look_up.authority);
        }
        self.bytes -= look_up.bytes();
    }
}
