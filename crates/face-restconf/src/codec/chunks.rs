//! Where a writer writes: a buffer that is handed over whenever it is full, so that a document of any length takes the memory of
//! one chunk.

use crate::tree::Stopped;

type HandOver<'a> = Box<dyn FnMut(Vec<u8>) -> Result<(), Stopped> + 'a>;

pub struct Chunks<'a> {
    pub(super) buffer: Vec<u8>,
    size: usize,
    hand_over: Option<HandOver<'a>>,
}

impl<'a> Chunks<'a> {
    /// Everything is kept until the end.
    pub fn whole() -> Chunks<'static> {
        Chunks { buffer: Vec::new(), size: usize::MAX, hand_over: None }
    }

    /// Chunks of about that size are handed over as they become full.
    pub fn handed_over(
        size: usize,
        hand_over: impl FnMut(Vec<u8>) -> Result<(), Stopped> + 'a,
    ) -> Chunks<'a> {
        Chunks { buffer: Vec::with_capacity(size), size, hand_over: Some(Box::new(hand_over)) }
    }

    /// Hands the buffer over if it is full.
    pub(super) fn settle(&mut self) -> Result<(), Stopped> {
        match &mut self.hand_over {
            Some(hand_over) if self.buffer.len() >= self.size => {
                let next = Vec::with_capacity(self.size);
                hand_over(std::mem::replace(&mut self.buffer, next))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn finish(mut self) -> Result<Vec<u8>, Stopped> {
        match &mut self.hand_over {
            None => Ok(self.buffer),
            Some(_) if self.buffer.is_empty() => Ok(Vec::new()),
            Some(hand_over) => hand_over(self.buffer).map(|()| Vec::new()),
        }
    }
}

impl std::fmt::Debug for Chunks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chunks")
            .field("buffered", &self.buffer.len())
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
