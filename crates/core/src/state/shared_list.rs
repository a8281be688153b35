//! A list whose copies share memory.
//!
//! A copy costs the same for any length. While it exists, a change copies the part of the list that it changes: one leaf
//! and the pointers above it.

use std::sync::Arc;

/// Leaves in a branch.
const BRANCH: usize = 256;

type Branch<T> = Arc<[Arc<Vec<T>>]>;

/// Entries that were never written take no memory of their own. `LEAF` is the number of entries that a change copies.
#[derive(Debug)]
pub(crate) struct SharedList<T, const LEAF: usize = 64> {
    branches: Arc<[Branch<T>]>,
    len: usize,
}

impl<T, const LEAF: usize> Clone for SharedList<T, LEAF> {
    fn clone(&self) -> SharedList<T, LEAF> {
        SharedList { branches: self.branches.clone(), len: self.len }
    }
}

impl<T, const LEAF: usize> Default for SharedList<T, LEAF> {
    fn default() -> SharedList<T, LEAF> {
        SharedList { branches: Arc::default(), len: 0 }
    }
}

impl<T, const LEAF: usize> SharedList<T, LEAF> {
    /// One more than the highest index that was written.
    pub fn len(&self) -> usize {
        self.len
    }

    /// `None` if the entry was never written.
    pub fn get(&self, at: usize) -> Option<&T> {
        self.branches.get(at / (LEAF * BRANCH))?.get(at / LEAF % BRANCH)?.get(at % LEAF)
    }

    /// The entries with their indexes. An entry that was never written may be missing.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let branches = self.branches.iter().enumerate();
        let leaves = branches.flat_map(|(branch, leaves)| {
            let leaves = leaves.iter().enumerate();
            leaves.map(move |(leaf, entries)| ((branch * BRANCH + leaf) * LEAF, entries))
        });
        leaves.flat_map(|(first, entries)| (first..).zip(entries.iter()))
    }
}

impl<T: Clone + Default, const LEAF: usize> SharedList<T, LEAF> {
    /// An existing entry.
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.get(at)?;
        Some(self.entry(at))
    }

    /// The entry at this index. The list grows to contain it.
    pub fn entry(&mut self, at: usize) -> &mut T {
        self.len = self.len.max(at + 1);
        let (branch, leaf) = (at / (LEAF * BRANCH), at / LEAF % BRANCH);
        if self.branches.get(branch).is_none_or(|leaves| leaves.len() <= leaf) {
            self.grow(branch, leaf);
        }
        let leaves = Arc::make_mut(&mut Arc::make_mut(&mut self.branches)[branch]);
        let entries = Arc::make_mut(&mut leaves[leaf]);
        if entries.len() <= at % LEAF {
            entries.resize_with(at % LEAF + 1, T::default);
        }
        &mut entries[at % LEAF]
    }

    pub fn push(&mut self, item: T) {
        *self.entry(self.len) = item;
    }

    pub fn pop(&mut self) -> Option<T> {
        let last = self.len.checked_sub(1)?;
        let item = std::mem::take(self.entry(last));
        self.len = last;
        Some(item)
    }

    /// Adds branches and leaves up to this one.
    fn grow(&mut self, branch: usize, leaf: usize) {
        if self.branches.len() <= branch {
            let new = std::iter::repeat_n(Branch::default(), branch + 1 - self.branches.len());
            self.branches = self.branches.iter().cloned().chain(new).collect();
        }
        let leaves = &mut Arc::make_mut(&mut self.branches)[branch];
        let new = std::iter::repeat_n(Arc::default(), leaf + 1 - leaves.len());
        *leaves = leaves.iter().cloned().chain(new).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_keeps_its_entries_while_the_list_changes() {
        let mut list: SharedList<u32, 4> = SharedList::default();
        (0..3000).for_each(|n| list.push(n));
        let copy = list.clone();
        for at in (0..3000).step_by(7) {
            *list.entry(at) = 0;
        }
        *list.entry(50_000) = 1;
        assert_eq!(copy.iter().map(|(_, n)| *n).collect::<Vec<_>>(), Vec::from_iter(0..3000));
        assert_eq!((copy.len(), list.len()), (3000, 50_001));
        assert_eq!((copy.get(7), list.get(7), list.get(8)), (Some(&7), Some(&0), Some(&8)));
        assert_eq!((copy.get(3000), list.get(3001), list.get(50_000)), (None, None, Some(&1)));
        assert_eq!(list.iter().last(), Some((50_000, &1)));
    }

    #[test]
    fn only_what_changes_is_copied() {
        let mut list: SharedList<u32, 4> = SharedList::default();
        (0..3000).for_each(|n| list.push(n));
        let copy = list.clone();
        *list.entry(1000) = 0;
        let leaves = |list: &SharedList<u32, 4>| -> Vec<Arc<Vec<u32>>> {
            list.branches.iter().flat_map(|leaves| leaves.iter().cloned()).collect()
        };
        let (before, after) = (leaves(&copy), leaves(&list));
        let differ = before.iter().zip(&after).filter(|(one, other)| !Arc::ptr_eq(one, other));
        assert_eq!((before.len(), differ.count()), (750, 1));
        assert!(Arc::ptr_eq(&copy.branches[2], &list.branches[2]));
    }

    #[test]
    fn last_entry_leaves_first() {
        let mut list: SharedList<u32, 4> = SharedList::default();
        (0..10).for_each(|n| list.push(n));
        assert_eq!((list.pop(), list.pop(), list.len()), (Some(9), Some(8), 8));
        list.push(77);
        assert_eq!((list.get(8).copied(), list.pop(), list.pop()), (Some(77), Some(77), Some(7)));
        while list.len() > 0 {
            list.pop();
        }
        assert_eq!((list.pop(), list.len()), (None, 0));
    }
}
