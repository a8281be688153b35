//! Lists that are stored in chunks. A list that grows never moves what it has, so its memory is what it contains, and not
//! also an older copy of it.

/// The size of a chunk. The first ones are smaller.
const CHUNK_BYTES: usize = 64 * 1024;

/// The first chunk of slices.
const FIRST_CHUNK_BYTES: usize = 1024;

/// The memory that lists with so many bytes of contents need at most, with what is unused: less than an eighth of each chunk
/// that is full, and some of the others.
pub(super) fn bytes_max(used: u64) -> u64 {
    used.saturating_add(used / 7).saturating_add(8 * CHUNK_BYTES as u64)
}

/// A list of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChunkedList<T> {
    /// All but the last are full.
    chunks: Vec<Vec<T>>,
}

impl<T> Default for ChunkedList<T> {
    fn default() -> ChunkedList<T> {
        ChunkedList { chunks: Vec::new() }
    }
}

impl<T> ChunkedList<T> {
    const CHUNK_LEN: usize = CHUNK_BYTES / size_of::<T>();

    pub fn len(&self) -> usize {
        let full = self.chunks.len().saturating_sub(1) * Self::CHUNK_LEN;
        full + self.chunks.last().map_or(0, Vec::len)
    }

    pub fn push(&mut self, entry: T) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < Self::CHUNK_LEN => last.push(entry),
            last => {
                // Most lists are short. The first chunk grows.
                let capacity = if last.is_some() { Self::CHUNK_LEN } else { 1 };
                let mut chunk = Vec::with_capacity(capacity);
                chunk.push(entry);
                self.chunks.push(chunk);
            }
        }
    }

    pub fn at(&self, at: usize) -> &T {
        &self.chunks[at / Self::CHUNK_LEN][at % Self::CHUNK_LEN]
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    /// The size in memory.
    pub fn bytes(&self) -> usize {
        bytes_of(&self.chunks)
    }
}

/// A list of slices. Each is in one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChunkedSlices<T> {
    chunks: Vec<Vec<T>>,
    /// The chunk that short slices are added to.
    open: usize,
}

/// Where a slice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SliceAt {
    chunk: u32,
    start: u32,
    len: u32,
}

impl<T> Default for ChunkedSlices<T> {
    fn default() -> ChunkedSlices<T> {
        ChunkedSlices { chunks: Vec::new(), open: 0 }
    }
}

impl<T: Copy> ChunkedSlices<T> {
    const CHUNK_LEN: usize = CHUNK_BYTES / size_of::<T>();

    /// A longer slice has a chunk of its own, so that less than an eighth of a chunk is unused.
    const SHORT_LEN_MAX: usize = Self::CHUNK_LEN / 8;

    pub fn add(&mut self, slice: &[T]) -> SliceAt {
        let chunk = match slice.len() {
            len if len > Self::SHORT_LEN_MAX => self.new_chunk(len),
            len => self.chunk_with_room(len),
        };
        let entries = &mut self.chunks[chunk];
        let start = entries.len();
        entries.extend_from_slice(slice);
        SliceAt { chunk: chunk as u32, start: start as u32, len: slice.len() as u32 }
    }

    pub fn slice(&self, at: SliceAt) -> &[T] {
        let SliceAt { chunk, start, len } = at;
        &self.chunks[chunk as usize][start as usize..][..len as usize]
    }

    /// The entries of all slices.
    pub fn entries(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    /// The size in memory, with what is not used of the chunks.
    pub fn bytes(&self) -> usize {
        bytes_of(&self.chunks)
    }

    fn chunk_with_room(&mut self, len: usize) -> usize {
        let (used, capacity) =
            self.chunks.get(self.open).map_or((0, 0), |open| (open.len(), open.capacity()));
        if capacity == 0 || capacity - used < len {
            let first = FIRST_CHUNK_BYTES / size_of::<T>();
            let capacity = (capacity * 2).clamp(first, Self::CHUNK_LEN);
            self.open = self.new_chunk(capacity.max(len));
        }
        self.open
    }

    fn new_chunk(&mut self, capacity: usize) -> usize {
        self.chunks.push(Vec::with_capacity(capacity));
        self.chunks.len() - 1
    }
}

fn bytes_of<T>(chunks: &Vec<Vec<T>>) -> usize {
    let entries: usize = chunks.iter().map(Vec::capacity).sum();
    entries * size_of::<T>() + chunks.capacity() * size_of::<Vec<T>>()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRIES_MAX: usize = 200_000;

    /// Slices of pseudo-random lengths up to `len_max`, each with different entries.
    fn slices(len_max: u64) -> Vec<Vec<u64>> {
        let mut seed = len_max;
        let mut next = 0;
        let slice = |_| {
            let len = crate::random::next(&mut seed) % (len_max + 1);
            let from = next;
            next += len;
            (from..next).collect()
        };
        (0..2 * ENTRIES_MAX as u64 / (len_max + 1)).map(slice).collect()
    }

    #[test]
    fn slices_are_read_as_they_were_added() {
        let short = ChunkedSlices::<u64>::SHORT_LEN_MAX as u64;
        for len_max in [1, 2, 7, 8, 100, short, 3 * short, 20_000] {
            let slices = slices(len_max);
            let mut stored = ChunkedSlices::default();
            let places: Vec<SliceAt> = slices.iter().map(|slice| stored.add(slice)).collect();
            for (slice, at) in slices.iter().zip(&places) {
                assert_eq!(stored.slice(*at), slice, "up to {len_max}");
            }
            let mut entries: Vec<u64> = stored.entries().copied().collect();
            entries.sort_unstable();
            assert_eq!(entries, slices.concat(), "up to {len_max}");
        }
    }

    #[test]
    fn slices_that_are_added_move_no_others() {
        for len_max in [1, 8, 1000, 20_000] {
            let mut stored = ChunkedSlices::default();
            let mut places = Vec::new();
            for slice in slices(len_max) {
                let at = stored.add(&slice);
                places.push((at, stored.slice(at).as_ptr()));
            }
            for (at, address) in places {
                assert_eq!(stored.slice(at).as_ptr(), address, "up to {len_max}");
            }
        }
    }

    #[test]
    fn little_memory_is_unused() {
        for len_max in [1, 8, 100, 511, 512, 513, 1024, 1025, 1026, 2000, 5000, 20_000] {
            let mut stored = ChunkedSlices::default();
            for slice in slices(len_max) {
                stored.add(&slice);
            }
            let used = stored.entries().count() * size_of::<u64>();
            let max = bytes_max(used as u64) as usize;
            let bytes = stored.bytes();
            assert!((used..=max).contains(&bytes), "{bytes} for {used}, up to {len_max}");
        }
    }

    #[test]
    fn few_slices_need_little_memory() {
        let mut stored = ChunkedSlices::default();
        assert_eq!(stored.bytes(), 0);
        let empty = stored.add(&[]);
        let at = stored.add(&[1_u64, 2]);
        assert_eq!((stored.slice(empty), stored.slice(at)), (&[][..], &[1, 2][..]));
        assert!(stored.bytes() < 2 * FIRST_CHUNK_BYTES, "{}", stored.bytes());
    }

    #[test]
    fn list_has_its_entries_in_order() {
        let chunk = ChunkedList::<u64>::CHUNK_LEN;
        for len in [0, 1, 2, chunk - 1, chunk, chunk + 1, 3 * chunk, 3 * chunk + 5] {
            let mut list = ChunkedList::default();
            (0..len).for_each(|entry| list.push(entry as u64));
            assert_eq!(list.len(), len);
            assert!(list.iter().copied().eq(0..len as u64), "{len}");
            assert!((0..len).all(|at| *list.at(at) == at as u64), "{len}");
            let used = len * size_of::<u64>();
            assert!((used..=used + CHUNK_BYTES + 1024).contains(&list.bytes()), "{len}");
        }
    }

    #[test]
    fn entries_beyond_the_first_chunk_never_move() {
        let mut list = ChunkedList::default();
        let chunk = ChunkedList::<u64>::CHUNK_LEN;
        (0..=chunk as u64).for_each(|entry| list.push(entry));
        let addresses = [0, chunk].map(|at| std::ptr::from_ref(list.at(at)));
        (0..10 * chunk as u64).for_each(|entry| list.push(entry));
        assert_eq!([0, chunk].map(|at| std::ptr::from_ref(list.at(at))), addresses);
    }
}
