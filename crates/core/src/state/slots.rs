//! Rows by slot, in chunks that copies of the state share.
//!
//! A checkpoint or a second copy of the state costs only the chunks that change while it exists.

use std::sync::Arc;

use super::Slot;

const CHUNK: usize = 256;

/// Vacant slots are used last in, first out, so that undoing an operation restores the same slots.
#[derive(Debug, Clone)]
pub(crate) struct Slots<T> {
    chunks: Vec<Arc<Vec<Option<T>>>>,
    vacant: Vec<Slot>,
    len: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { chunks: Vec::new(), vacant: Vec::new(), len: 0 }
    }
}

impl<T: Clone> Slots<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn get(&self, slot: Slot) -> Option<&T> {
        self.chunks.get(slot as usize / CHUNK)?.get(slot as usize % CHUNK)?.as_ref()
    }

    /// The slot after the last one in use.
    pub fn end(&self) -> Slot {
        (self.len + self.vacant.len()) as Slot
    }

    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(slot as usize / CHUNK)?;
        Arc::make_mut(chunk).get_mut(slot as usize % CHUNK)?.as_mut()
    }

    pub fn insert(&mut self, row: T) -> Slot {
        self.len += 1;
        if let Some(slot) = self.vacant.pop() {
            self.set(slot, Some(row));
            return slot;
        }
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => Arc::make_mut(chunk).push(Some(row)),
            _ => self.chunks.push(Arc::new(vec![Some(row)])),
        }
        (self.len - 1) as Slot
    }

    pub fn remove(&mut self, slot: Slot) -> Option<T> {
        let row = self.set(slot, None)?;
        self.len -= 1;
        self.vacant.push(slot);
        Some(row)
    }

    fn set(&mut self, slot: Slot, row: Option<T>) -> Option<T> {
        let chunk = self.chunks.get_mut(slot as usize / CHUNK)?;
        let entry = Arc::make_mut(chunk).get_mut(slot as usize % CHUNK)?;
        std::mem::replace(entry, row)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Slot, &T)> {
        let rows = self.chunks.iter().flat_map(|chunk| chunk.iter());
        (0..).zip(rows).filter_map(|(slot, row)| Some((slot, row.as_ref()?)))
    }

    /// An immutable copy, which shares the chunks.
    pub fn freeze(&self) -> FrozenSlots<T> {
        FrozenSlots(self.chunks.clone())
    }
}

/// An immutable copy of the rows.
#[derive(Debug, Clone)]
pub(crate) struct FrozenSlots<T>(Vec<Arc<Vec<Option<T>>>>);

impl<T> FrozenSlots<T> {
    pub fn get(&self, slot: Slot) -> Option<&T> {
        self.0.get(slot as usize / CHUNK)?.get(slot as usize % CHUNK)?.as_ref()
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flat_map(|chunk| chunk.iter().flatten())
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
        assert_eq!((rows.get(5), frozen.get(5), frozen.iter().count()), (Some(&2), Some(&5), 1000));
        assert_eq!(rows.get_mut(7).map(|row| std::mem::replace(row, 0)), Some(7));
        assert_eq!((rows.get(7), frozen.get(7)), (Some(&0), Some(&7)));
    }
}
