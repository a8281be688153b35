//! Reads whose cost depends on the number of providers, consumers or names.
//!
//! They use a frozen copy of the state and hold no lock. Each is first tried on the thread that serves the connection,
//! within a small budget; if that is not enough, it runs on a thread for long reads. A reply that is large is not built in
//! memory: it is written in parts, as fast as the client reads.

use std::sync::Arc;

use allod_core::search::SearchLimits;
use allod_core::view::capacity::CapacityView;
use allod_edge::Body;
use allod_engine::{CommitPoint, FrozenRead};

use crate::Placement;
use crate::error::{PlacementError, PlacementResult};
use crate::json::JsonBuffer;
use crate::refusals;
use crate::request::PlacementRequest;
use crate::to_wire::{HandlerResult, PlacementReply};

/// The length of a list that is read on a thread that serves connections.
pub(crate) const SMALL_ENTRIES_MAX: usize = 1000;

/// A reply up to this size is built in memory.
const WHOLE_BYTES_MAX: usize = 256 * 1024;

/// The size of the parts of a larger one.
const PART_BYTES: usize = 64 * 1024;

/// One read on one frozen copy.
pub(crate) struct LongRead<'a> {
    pub face: &'a Arc<Placement>,
    pub request: &'a Arc<PlacementRequest>,
    pub frozen: &'a FrozenRead,
    pub effort: Effort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    Small,
    Whole,
}

/// Why a read has no reply.
#[derive(Debug)]
pub(crate) enum ReadStopped {
    /// It needs more than a small effort.
    TooLong,
    Failed(PlacementError),
}

impl From<PlacementError> for ReadStopped {
    fn from(error: PlacementError) -> ReadStopped {
        ReadStopped::Failed(error)
    }
}

pub(crate) type LongReadResult = Result<PlacementReply, ReadStopped>;

pub(crate) type LongReadHandler = fn(&LongRead<'_>) -> LongReadResult;

impl LongRead<'_> {
    pub(crate) fn capacity(&self) -> CapacityView<'_> {
        self.frozen.capacity.view()
    }

    pub(crate) fn at(&self) -> CommitPoint {
        self.frozen.at
    }

    /// What was found in the frozen copy. An error carries its position.
    pub(crate) fn found<T>(&self, found: PlacementResult<T>) -> PlacementResult<T> {
        found.map_err(|error| error.at(self.frozen.at.position))
    }

    /// Stops the read if a small effort is not enough for a list of this length.
    pub(crate) fn ensure_effort(&self, entries: usize) -> Result<(), ReadStopped> {
        match self.effort {
            Effort::Small if entries > SMALL_ENTRIES_MAX => Err(ReadStopped::TooLong),
            Effort::Small | Effort::Whole => Ok(()),
        }
    }

    /// The limits of a search.
    pub(crate) fn search_limits(&self) -> SearchLimits {
        let limits = self.face.settings.search;
        match self.effort {
            Effort::Small => limits.small(),
            Effort::Whole => limits,
        }
    }

    /// Stops the read if a small effort was not enough for a search that took so many steps.
    pub(crate) fn ensure_steps(&self, steps: u64) -> Result<(), ReadStopped> {
        match self.effort {
            Effort::Small if steps >= SearchLimits::SMALL_STEPS_MAX => Err(ReadStopped::TooLong),
            Effort::Small | Effort::Whole => Ok(()),
        }
    }
}

impl Placement {
    /// Runs a read on a frozen copy, here or on a thread for long reads.
    pub(crate) async fn read_long(
        self: &Arc<Placement>,
        read: LongReadHandler,
        request: &Arc<PlacementRequest>,
    ) -> HandlerResult {
        let frozen = self.handle.freeze().map_err(|why| refusals::failure(&why))?;
        let small = LongRead { face: self, request, frozen: &frozen, effort: Effort::Small };
        let mut answer = read(&small);
        if matches!(answer, Err(ReadStopped::TooLong)) {
            let (face, request) = (self.clone(), request.clone());
            let work = move || {
                let effort = Effort::Whole;
                read(&LongRead { face: &face, request: &request, frozen: &frozen, effort })
            };
            answer = self.handle.read_long(work).await.map_err(|why| refusals::failure(&why))?;
        }
        answer.map_err(|stopped| match stopped {
            ReadStopped::Failed(error) => error,
            ReadStopped::TooLong => refusals::unexpected(),
        })
    }
}

/// A body that can be written in parts.
pub(crate) trait BodyParts: Send {
    /// Writes at least one entry, and more until `out` has this size. Returns whether there is more to write.
    fn write(&mut self, out: &mut JsonBuffer, bytes_max: usize) -> bool;

    /// Called before a part is sent to the client, which then determines how long the rest lives: releases what the rest
    /// does not need, and returns the approximate size of what it needs.
    fn settle(&mut self) -> u64;
}

/// The body of a reply.
pub(crate) enum ReplyBody {
    Whole(Vec<u8>),
    /// The first part, the others, and the memory that they need.
    Parts(Vec<u8>, Box<dyn BodyParts>, u64),
}

impl std::fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ReplyBody::Whole(_) => "Whole",
            ReplyBody::Parts(..) => "Parts",
        })
    }
}

impl ReplyBody {
    pub(crate) fn of(mut parts: impl BodyParts + 'static) -> ReplyBody {
        let mut out = JsonBuffer::default();
        if !parts.write(&mut out, WHOLE_BYTES_MAX) {
            return ReplyBody::Whole(out.0);
        }
        let held_bytes = parts.settle() + out.0.len() as u64;
        ReplyBody::Parts(out.0, Box::new(parts), held_bytes)
    }

    pub(crate) fn into_body(self) -> Body {
        match self {
            ReplyBody::Whole(bytes) => Body::from(bytes),
            ReplyBody::Parts(first, mut parts, held_bytes) => Body::stream(|sink| async move {
                sink.send(first).await;
                let mut is_more = true;
                while is_more {
                    let mut out = JsonBuffer::with_capacity(PART_BYTES + PART_BYTES / 8);
                    is_more = parts.write(&mut out, PART_BYTES);
                    sink.send(out.0).await;
                }
                Ok(())
            })
            .holding(held_bytes),
        }
    }
}

/// A list, with what comes before and after it.
pub(crate) struct ListParts<T, W> {
    before: &'static str,
    entries: std::vec::IntoIter<T>,
    write: W,
    after: String,
    has_begun: bool,
}

impl<T, W> ListParts<T, W>
where
    T: Send + 'static,
    W: FnMut(&mut JsonBuffer, T) + Send + 'static,
{
    /// `before` includes the opening bracket, `after` the closing one.
    pub(crate) fn body(
        before: &'static str,
        entries: Vec<T>,
        after: String,
        write: W,
    ) -> ReplyBody {
        let entries = entries.into_iter();
        ReplyBody::of(ListParts { before, entries, write, after, has_begun: false })
    }
}

impl<T: Send, W: FnMut(&mut JsonBuffer, T) + Send> BodyParts for ListParts<T, W> {
    fn write(&mut self, out: &mut JsonBuffer, bytes_max: usize) -> bool {
        if !self.has_begun {
            out.raw(self.before);
        }
        for entry in self.entries.by_ref() {
            out.comma(!self.has_begun);
            self.has_begun = true;
            (self.write)(out, entry);
            if out.0.len() >= bytes_max {
                return true;
            }
        }
        out.raw(&self.after);
        false
    }

    fn settle(&mut self) -> u64 {
        // Twice, for what the entries point to.
        2 * size_of_val(self.entries.as_slice()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that a body writes, in parts of this size.
    fn written(mut parts: impl BodyParts, bytes_max: usize) -> (String, usize) {
        let (mut all, mut count) = (Vec::new(), 0);
        loop {
            let mut out = JsonBuffer::default();
            let is_more = parts.write(&mut out, bytes_max);
            all.extend(out.0);
            count += 1;
            if !is_more {
                return (String::from_utf8(all).unwrap(), count);
            }
            parts.settle();
        }
    }

    fn list(count: u64) -> impl BodyParts {
        let write = |out: &mut JsonBuffer, n| {
            out.number(n);
        };
        let entries = (0..count).collect::<Vec<u64>>().into_iter();
        ListParts { before: "[", entries, write, after: "]".into(), has_begun: false }
    }

    #[test]
    fn list_in_parts_equals_the_whole_list() {
        for count in [0, 1, 2, 10, 1000] {
            let whole = written(list(count), usize::MAX);
            assert_eq!(whole.1, 1);
            for bytes_max in [1, 2, 7, 64, 4096] {
                let parts = written(list(count), bytes_max);
                assert_eq!(parts.0, whole.0, "{count} {bytes_max}");
                assert!(parts.1 >= whole.0.len() / (bytes_max + 4), "{count} {bytes_max}");
            }
        }
        assert_eq!(written(list(3), 1).0, "[0,1,2]");
    }
}
