//! Rows by slot, in memory that copies of the state share.
//!
//! A checkpoint or a second copy of the state costs only the parts that change while it exists.

use super::Slot;
use super::shared_list::SharedList;

/// Vacant slots are used last in, first out, so that undoing an operation restores the same slots.
#[derive(Debug, Clone)]
pub(crate) struct Slots<T> {
    rows: SharedList<Option<T>>,
    vacant: SharedList<Slot>,
    len: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { rows: SharedList::default(), vacant: SharedList::default(), len: 0 }
    }
}

impl<T: Clone> Slots<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn get(&self, slot: Slot) -> Option<&T> {
        self.rows.get(slot as usize)?.as_ref()
    }

    /// The slot after the last one in use.
    pub fn end(&self) -> Slot {
        (self.len + self.vacant.len()) as Slot
    }

    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        self.rows.get_mut(slot as usize)?.as_mut()
    }

    pub fn insert(&mut self, row: T) -> Slot {
        self.len += 1;
        let slot = self.vacant.pop().unwrap_or(self.rows.len() as Slot);
        *self.rows.entry(slot as usize) = Some(row);
        slot
    }

    /// Puts a row into a slot that is not in use, without regard to other vacant slots.
    pub fn insert_at(&mut self, slot: Slot, row: T) {
        self.len += 1;
        *self.rows.entry(slot as usize) = Some(row);
    }

    pub fn remove(&mut self, slot: Slot) -> Option<T> {
        let row = self.rows.get_mut(slot as usize)?.take()?;
        self.len -= 1;
        self.vacant.push(slot);
        Some(row)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Slot, &T)> {
        self.rows.iter().filter_map(|(slot, row)| Some((slot as Slot, row.as_ref()?)))
    }

    /// An immutable copy, which shares the rows.
    pub fn freeze(&self) -> FrozenSlots<T> {
        FrozenSlots { rows: self.rows.clone(), len: self.len }
    }
}

/// An immutable copy of the rows.
#[derive(Debug, Clone)]
pub(crate) struct FrozenSlots<T> {
    rows: SharedList<Option<T>>,
    len: usize,
}

impl<T> FrozenSlots<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.rows.iter().filter_map(|(_, row)| row.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vacant_slots_are_used_last_in_first_out_and_a_frozen_copy_does_not_change() {
        let mut rows: Slots<u32> = Slots::default();
        for n in 0..1000 {
            assert_eq!(rows.insert(n), n);
        }
        let frozen = rows.freeze();
        rows.remove(5);
        rows.remove(700);
        assert_eq!(rows.remove(700), None);
        assert_eq!((rows.insert(1), rows.insert(2), rows.len()), (700, 5, 1000));
        assert_eq!(
            (rows.get(5), frozen.iter().nth(5), frozen.iter().count()),
            (Some(&2), Some(&5), 1000)
        );
        assert_eq!(rows.get_mut(7).map(|row| std::mem::replace(row, 0)), Some(7));
        assert_eq!((rows.get(7), frozen.iter().nth(7)), (Some(&0), Some(&7)));
    }
}
