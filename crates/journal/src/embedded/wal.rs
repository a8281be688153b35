//! Scans SQLite's write-ahead log before SQLite opens it, to distinguish an interrupted write from damage.
//!
//! SQLite reads the log up to the first frame with a wrong checksum and silently ignores the rest. That is right for a
//! write that a crash interrupted, because it was never acknowledged. It is wrong if later transactions follow the bad
//! frame: with synchronous=FULL a transaction is written only after the one before it was synced, so the transactions
//! before them were acknowledged. The format is described at <https://sqlite.org/fileformat2.html#walformat>.
//!
//! The scan never changes the file; SQLite truncates it.

use std::io::{self, Read};
use std::ops::RangeInclusive;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// An incomplete transaction at the end of the log, which was never acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TornTail {
    pub frames: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WalCondition {
    Clean,
    Torn(TornTail),
    /// A frame (counted from 1; 0 is the header) is bad, and acknowledged transactions follow it.
    Damaged {
        frame: u64,
        offset: u64,
    },
}

/// The running checksum: each frame continues that of its predecessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WalChecksum(u32, u32);

fn word(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
}

fn stored_sum(bytes: &[u8], at: usize) -> WalChecksum {
    WalChecksum(word(bytes, at, true), word(bytes, at + 4, true))
}

impl WalChecksum {
    fn over(self, bytes: &[u8], big_endian: bool) -> Self {
        let Self(mut first, mut second) = self;
        for pair in bytes.chunks_exact(8) {
            first = first.wrapping_add(word(pair, 0, big_endian)).wrapping_add(second);
            second = second.wrapping_add(word(pair, 4, big_endian)).wrapping_add(first);
        }
        Self(first, second)
    }

    /// The inverse of `over`: the sum before `bytes` were added.
    fn before(self, bytes: &[u8], big_endian: bool) -> Self {
        let Self(mut first, mut second) = self;
        for pair in bytes.chunks_exact(8).rev() {
            second = second.wrapping_sub(word(pair, 4, big_endian)).wrapping_sub(first);
            first = first.wrapping_sub(word(pair, 0, big_endian)).wrapping_sub(second);
        }
        Self(first, second)
    }
}

#[derive(Debug)]
struct WalHeader {
    /// The byte order of the words that are summed.
    big_endian: bool,
    page_bytes: usize,
    /// How often the log was restarted since it was created.
    restarts: u32,
    salt: [u8; 8],
    sum: WalChecksum,
}

impl WalHeader {
    /// `None` if SQLite would reject the header.
    fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let big_endian = match word(bytes, 0, true) {
            0x377f_0682 => false,
            0x377f_0683 => true,
            _ => return None,
        };
        let page_bytes = word(bytes, 8, true) as usize;
        let sum = stored_sum(bytes, 24);
        let sound = (512..=65_536).contains(&page_bytes)
            && page_bytes.is_power_of_two()
            && WalChecksum(0, 0).over(&bytes[..24], big_endian) == sum;
        let mut salt = [0; 8];
        salt.copy_from_slice(&bytes[16..24]);
        sound.then(|| Self { big_endian, page_bytes, restarts: word(bytes, 12, true), salt, sum })
    }

    /// Whether a frame is left over from before the log was restarted. Each restart increments the first half of the salt.
    /// The contents of such frames are already in the database. A salt of zeros means a sector that was never written.
    fn is_stale(&self, salt: &[u8]) -> bool {
        let age = word(&self.salt, 0, true).wrapping_sub(word(salt, 0, true));
        (1..=self.restarts).contains(&age) && salt.iter().any(|byte| *byte != 0)
    }
}

struct WalFrame {
    bytes: Vec<u8>,
}

impl WalFrame {
    fn salt(&self) -> &[u8] {
        &self.bytes[8..16]
    }

    fn sum(&self) -> WalChecksum {
        stored_sum(&self.bytes, 16)
    }

    fn ends_transaction(&self) -> bool {
        self.words().1 != 0
    }

    fn sum_after(&self, before: WalChecksum, big_endian: bool) -> WalChecksum {
        let sum = before.over(&self.bytes[..8], big_endian);
        sum.over(&self.bytes[FRAME_HEADER_BYTES..], big_endian)
    }

    /// The page number of the frame; and, if the frame ends a transaction, the number of pages of the database, else 0.
    fn words(&self) -> (u32, u32) {
        (word(&self.bytes, 0, true), word(&self.bytes, 4, true))
    }

    /// The original `words`, computed from the stored sum. Correct if nothing else in the frame is damaged.
    fn words_by_sum(&self, before: WalChecksum, big_endian: bool) -> (u32, u32) {
        let WalChecksum(first, second) = before;
        let page = &self.bytes[FRAME_HEADER_BYTES..];
        let WalChecksum(first_after, second_after) = self.sum().before(page, big_endian);
        let page = first_after.wrapping_sub(first).wrapping_sub(second);
        let size = second_after.wrapping_sub(second).wrapping_sub(first_after);
        if big_endian { (page, size) } else { (page.swap_bytes(), size.swap_bytes()) }
    }

    /// Whether a damaged frame ended a transaction. Its stored sum is intact, because the next frame continues it. `pages`
    /// is the possible number of pages of the database.
    fn ended_transaction(
        &self,
        before: WalChecksum,
        big_endian: bool,
        pages: RangeInclusive<u32>,
    ) -> bool {
        let is_page = |page: u32| (1..=*pages.end()).contains(&page);
        let (page, size) = self.words();
        let (page_by_sum, size_by_sum) = self.words_by_sum(before, big_endian);
        if is_page(page) && pages.contains(&size) {
            true
        } else if is_page(page_by_sum) && (size_by_sum == 0 || pages.contains(&size_by_sum)) {
            size_by_sum != 0
        } else {
            size != 0
        }
    }
}

/// Reads the frames of a log in order.
struct WalFrames<'a, R> {
    log: &'a mut R,
    frame_bytes: usize,
}

enum NextFrame {
    Whole(WalFrame),
    /// The end: less than a frame, possibly nothing.
    Rest(Vec<u8>),
}

impl<R: Read> WalFrames<'_, R> {
    fn next(&mut self) -> io::Result<NextFrame> {
        let mut bytes = Vec::with_capacity(self.frame_bytes);
        self.log.by_ref().take(self.frame_bytes as u64).read_to_end(&mut bytes)?;
        Ok(if bytes.len() == self.frame_bytes {
            NextFrame::Whole(WalFrame { bytes })
        } else {
            NextFrame::Rest(bytes)
        })
    }
}

/// Scans a log from its beginning. `page_bytes` is the page size of the database, for a log without a valid header;
/// `pages` is the size of the database without the log.
pub fn scan(log: &mut impl Read, page_bytes: usize, pages: u32) -> io::Result<WalCondition> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    log.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut bytes)?;
    let Ok(header_bytes) = <[u8; HEADER_BYTES]>::try_from(bytes.as_slice()) else {
        let torn = TornTail { frames: 0, bytes: bytes.len() as u64 };
        return Ok(if bytes.is_empty() { WalCondition::Clean } else { WalCondition::Torn(torn) });
    };
    match WalHeader::parse(&header_bytes) {
        Some(header) => scan_frames(log, &header, pages),
        None => scan_without_header(log, &header_bytes, page_bytes),
    }
}

fn scan_frames(log: &mut impl Read, header: &WalHeader, pages: u32) -> io::Result<WalCondition> {
    let big_endian = header.big_endian;
    let frame_bytes = FRAME_HEADER_BYTES + header.page_bytes;
    let mut frames = WalFrames { log, frame_bytes };

    // The frames that SQLite accepts.
    let (mut good, mut committed, mut sum) = (0_u64, 0_u64, header.sum);
    let mut size = 1;
    let bad = loop {
        match frames.next()? {
            NextFrame::Rest(rest) => {
                return Ok(torn(
                    good - committed,
                    frame_bytes,
                    &rest,
                    !is_stale_rest(header, &rest),
                ));
            }
            NextFrame::Whole(frame) => {
                let sum_now = frame.sum_after(sum, big_endian);
                if frame.salt() != header.salt || frame.sum() != sum_now {
                    break frame;
                }
                good += 1;
                sum = sum_now;
                if frame.ends_transaction() {
                    committed = good;
                    size = frame.words().1;
                }
            }
        }
    };

    // After the first bad frame: a frame is genuine if it continues its predecessor, which may itself be damaged in its
    // page (then its stored sum is right) or in its stored sum (then the computed sum is right).
    let mut torn_frames = good - committed + u64::from(!header.is_stale(bad.salt()));
    let mut last_is_stale = header.is_stale(bad.salt());
    let mut before = bad.sum();
    let mut before_computed = bad.sum_after(sum, big_endian);
    let mut ended = bad.salt() == header.salt && bad.ends_transaction();
    let mut first = true;
    // A database does not shrink, and grows by no more than the pages that were written.
    let size_max = size.max(pages).saturating_add(u32::try_from(good + 1).unwrap_or(u32::MAX));
    loop {
        let frame = match frames.next()? {
            NextFrame::Rest(rest) => {
                let counts =
                    if rest.len() < 12 { !last_is_stale } else { !is_stale_rest(header, &rest) };
                return Ok(torn(torn_frames, frame_bytes, &rest, counts));
            }
            NextFrame::Whole(frame) => frame,
        };
        let ours = frame.salt() == header.salt;
        let continues_stored = frame.sum_after(before, big_endian) == frame.sum();
        let continues_computed = frame.sum_after(before_computed, big_endian) == frame.sum();
        let genuine = ours && (continues_stored || continues_computed);
        if genuine && std::mem::take(&mut first) {
            ended = match (continues_stored, continues_computed) {
                (true, false) => bad.ended_transaction(sum, big_endian, size..=size_max),
                _ => bad.ends_transaction(),
            };
        }
        first = false;
        if genuine && ended {
            let offset = HEADER_BYTES as u64 + good * frame_bytes as u64;
            return Ok(WalCondition::Damaged { frame: good + 1, offset });
        }
        ended |= ours && frame.ends_transaction();
        last_is_stale = header.is_stale(frame.salt());
        torn_frames += u64::from(!last_is_stale);
        before_computed = frame.sum_after(before, big_endian);
        before = frame.sum();
    }
}

fn is_stale_rest(header: &WalHeader, rest: &[u8]) -> bool {
    rest.len() >= 12 && header.is_stale(&rest[8..])
}

fn torn(frames: u64, frame_bytes: usize, rest: &[u8], rest_counts: bool) -> WalCondition {
    let rest_bytes = if rest_counts { rest.len() as u64 } else { 0 };
    let bytes = frames * frame_bytes as u64 + rest_bytes;
    if bytes == 0 {
        return WalCondition::Clean;
    }
    WalCondition::Torn(TornTail { frames: frames + u64::from(rest_bytes > 0), bytes })
}

/// Scans a log with an invalid header. The header is synced before the first frame is written, so an interrupted write is
/// possible only if no frame continues it.
fn scan_without_header(
    log: &mut impl Read,
    header: &[u8; HEADER_BYTES],
    page_bytes: usize,
) -> io::Result<WalCondition> {
    let mut frames = WalFrames { log, frame_bytes: FRAME_HEADER_BYTES + page_bytes };
    let seeds =
        |big_endian| [stored_sum(header, 24), WalChecksum(0, 0).over(&header[..24], big_endian)];
    let mut before = [false, true].map(seeds);
    let (mut genuine, mut bytes) = (0_u64, HEADER_BYTES as u64);
    loop {
        let frame = match frames.next()? {
            NextFrame::Rest(rest) => {
                bytes += rest.len() as u64;
                return Ok(WalCondition::Torn(TornTail { frames: 0, bytes }));
            }
            NextFrame::Whole(frame) => frame,
        };
        bytes += frame.bytes.len() as u64;
        let continues = [false, true].into_iter().zip(&before).any(|(big_endian, sums)| {
            sums.iter().any(|sum| frame.sum_after(*sum, big_endian) == frame.sum())
        });
        genuine += u64::from(continues);
        if genuine > 0 && frame.ends_transaction() {
            return Ok(WalCondition::Damaged { frame: 0, offset: 0 });
        }
        before = [[frame.sum(); 2]; 2];
    }
}
