//! Rows by slot, in shared chunks.
//!
//! A checkpoint or a second copy of the state shares the chunks and pays only for those that change while it lives.

use std::sync::Arc;

use super::Slot;

const CHUNK: usize = 256;

/// Slots are given back last in, first out, so that undoing restores exactly what was there.
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

    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(slot as usize / CHUNK)?;
        Arc::make_mut(chunk).get_mut(slot as usize % CHUNK)?.as_mut()
    }

    pub fn insert(&mut self, row: T) -> Slot {
        self.len += 1;
        if let Some(slot) = self.vacant.pop() {
            self.place(slot, Some(row));
            return slot;
        }
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => Arc::make_mut(chunk).push(Some(row)),
            _ => self.chunks.push(Arc::new(vec![Some(row)])),
        }
        (self.len - 1) as Slot
    }

    pub fn remove(&mut self, slot: Slot) -> Option<T> {
        let row = self.place(slot, None)?;
        self.len -= 1;
        self.vacant.push(slot);
        Some(row)
    }

    fn place(&mut self, slot: Slot, row: Option<T>) -> Option<T> {
        let chunk = self.chunks.get_mut(slot as usize / CHUNK)?;
        let place = Arc::make_mut(chunk).get_mut(slot as usize % CHUNK)?;
        std::mem::replace(place, row)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Slot, &T)> {
        let rows = self.chunks.iter().flat_map(|chunk| chunk.iter());
        (0..).zip(rows).filter_map(|(slot, row)| Some((slot, row.as_ref()?)))
    }

    /// The chunks as they are now, unchanged by what happens to the rows afterwards.
    pub fn freeze(&self) -> FrozenSlots<T> {
        FrozenSlots(self.chunks.clone())
    }
}

/// The rows of one moment.
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
    fn slots_come_back_last_in_first_out_and_a_frozen_copy_stays() {
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
