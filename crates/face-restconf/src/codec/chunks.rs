//! The output buffer of a writer. It is passed on whenever it is full, so that a document of any length needs the memory of
//! one chunk.

use crate::tree::Walk;

type OnChunk<'a> = Box<dyn FnMut(Vec<u8>) -> Walk + 'a>;

pub struct ChunkBuffer<'a> {
    pub(super) buffer: Vec<u8>,
    size: usize,
    on_chunk: Option<OnChunk<'a>>,
}

impl<'a> ChunkBuffer<'a> {
    /// Collects the whole document.
    pub fn whole() -> ChunkBuffer<'static> {
        ChunkBuffer { buffer: Vec::new(), size: usize::MAX, on_chunk: None }
    }

    /// Calls `on_chunk` with chunks of about `size` bytes.
    pub fn with_callback(
        size: usize,
        on_chunk: impl FnMut(Vec<u8>) -> Walk + 'a,
    ) -> ChunkBuffer<'a> {
        ChunkBuffer { buffer: Vec::with_capacity(size), size, on_chunk: Some(Box::new(on_chunk)) }
    }

    pub(super) fn flush_if_full(&mut self) -> Walk {
        match &mut self.on_chunk {
            Some(on_chunk) if self.buffer.len() >= self.size => {
                let next = Vec::with_capacity(self.size);
                on_chunk(std::mem::replace(&mut self.buffer, next))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn finish(mut self) -> Walk<Vec<u8>> {
        match &mut self.on_chunk {
            None => Ok(self.buffer),
            Some(_) if self.buffer.is_empty() => Ok(Vec::new()),
            Some(on_chunk) => on_chunk(self.buffer).map(|()| Vec::new()),
        }
    }
}

impl std::fmt::Debug for ChunkBuffer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chunks")
            .field("buffered", &self.buffer.len())
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
