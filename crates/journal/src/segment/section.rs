//! A section: what it is, how long it is, its hash, and its compressed contents.

use std::io::{self, Read, Write};

/// The last byte is the format's version.
pub const MAGIC: &[u8; 8] = b"allodsg1";

/// What a section may have when it is not compressed: one record as large as any back end takes, with room to spare.
pub const SECTION_BYTES_MAX: usize = 64 << 20;

/// Every section by its number.
pub const SECTIONS: &[(u8, &str)] = &[
    (HEADER, "header"),
    (CHECKPOINT, "checkpoint"),
    (CHECKPOINT_RUN, "checkpoint_run"),
    (FRAMES, "frames"),
    (TRAILER, "trailer"),
];

pub(super) const HEADER: u8 = 1;
pub(super) const CHECKPOINT: u8 = 2;
pub(super) const CHECKPOINT_RUN: u8 = 3;
pub(super) const FRAMES: u8 = 4;
pub(super) const TRAILER: u8 = 5;

/// Number, length, stored length, hash.
const HEAD_BYTES: usize = 1 + 4 + 4 + 32;

/// Fast, and within a few per cent of what the slow levels make of records.
const ZSTD_LEVEL: i32 = 3;

/// A section as it was found.
pub(super) struct Section {
    pub number: u8,
    pub contents: Vec<u8>,
}

/// What is wrong with a section.
pub(super) enum Fault {
    Io(io::Error),
    EndsEarly,
    Altered(&'static str),
}

fn hash(number: u8, bytes: u32, stored: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[number]);
    hasher.update(&bytes.to_le_bytes());
    hasher.update(stored);
    *hasher.finalize().as_bytes()
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a section is too long")
}

/// Writes a section, and adds to `whole` what stands for all of it.
pub(super) fn write(
    out: &mut impl Write,
    whole: &mut blake3::Hasher,
    number: u8,
    contents: &[u8],
) -> io::Result<()> {
    if contents.len() > SECTION_BYTES_MAX {
        return Err(too_long());
    }
    let bytes = u32::try_from(contents.len()).map_err(|_| too_long())?;
    let stored = zstd::bulk::compress(contents, ZSTD_LEVEL)?;
    let stored_bytes = u32::try_from(stored.len()).map_err(|_| too_long())?;
    let mut head = Vec::with_capacity(HEAD_BYTES);
    head.push(number);
    head.extend_from_slice(&bytes.to_le_bytes());
    head.extend_from_slice(&stored_bytes.to_le_bytes());
    head.extend_from_slice(&hash(number, bytes, &stored));
    whole.update(&head);
    out.write_all(&head)?;
    out.write_all(&stored)
}

/// Reads `count` bytes, without taking room for more than there are.
fn read_exactly(input: &mut impl Read, count: usize) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    input.by_ref().take(count as u64).read_to_end(&mut bytes).map_err(Fault::Io)?;
    if bytes.len() == count { Ok(bytes) } else { Err(Fault::EndsEarly) }
}

/// Reads a section whole, verifies it and unpacks it.
pub(super) fn read(input: &mut impl Read, whole: &mut blake3::Hasher) -> Result<Section, Fault> {
    let head = read_exactly(input, HEAD_BYTES)?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (number, bytes, stored_bytes) = (head[0], word(1), word(5));
    let contents_bytes = bytes as usize;
    // Before anything of that length is read: what a section may be at most is known.
    if contents_bytes > SECTION_BYTES_MAX
        || stored_bytes as usize > zstd::zstd_safe::compress_bound(contents_bytes)
    {
        return Err(Fault::Altered("a section says that it is longer than any can be"));
    }
    let stored = read_exactly(input, stored_bytes as usize)?;
    if hash(number, bytes, &stored) != head[9..] {
        return Err(Fault::Altered("a section does not have the hash that it names"));
    }
    // No more room is given than the section asks for, however much is packed into it.
    let contents = zstd::bulk::decompress(&stored, contents_bytes)
        .map_err(|_| Fault::Altered("a section cannot be unpacked"))?;
    if contents.len() != contents_bytes {
        return Err(Fault::Altered("a section is shorter than it says"));
    }
    whole.update(&head);
    Ok(Section { number, contents })
}
