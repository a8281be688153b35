//! A section: its kind, length, hash and compressed contents.

use std::io::{self, Read, Write};

/// The last byte is the format's version.
pub const MAGIC: &[u8; 8] = b"allodsg1";

/// The largest uncompressed section. Larger than the largest record of any back end.
pub const SECTION_BYTES_MAX: usize = 64 << 20;

/// Every kind of section by its number.
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

/// Number, uncompressed length, compressed length, hash.
const HEAD_BYTES: usize = 1 + 4 + 4 + 32;

/// Fast, and within a few per cent of the size that slower levels reach.
const ZSTD_LEVEL: i32 = 3;

/// A verified and decompressed section.
pub(super) struct Section {
    pub number: u8,
    pub contents: Vec<u8>,
}

/// Why a section cannot be read.
pub(super) enum SectionError {
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

/// Writes a section, and adds its head, which contains its hash, to `whole`.
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

/// Reads `count` bytes without allocating more than the input has.
fn read_exactly(input: &mut impl Read, count: usize) -> Result<Vec<u8>, SectionError> {
    let mut bytes = Vec::new();
    input.by_ref().take(count as u64).read_to_end(&mut bytes).map_err(SectionError::Io)?;
    if bytes.len() == count { Ok(bytes) } else { Err(SectionError::EndsEarly) }
}

/// Reads, verifies and decompresses a section.
pub(super) fn read(
    input: &mut impl Read,
    whole: &mut blake3::Hasher,
) -> Result<Section, SectionError> {
    let head = read_exactly(input, HEAD_BYTES)?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (number, bytes, stored_bytes) = (head[0], word(1), word(5));
    let contents_bytes = bytes as usize;
    // Checked before anything of that length is read.
    if contents_bytes > SECTION_BYTES_MAX
        || stored_bytes as usize > zstd::zstd_safe::compress_bound(contents_bytes)
    {
        return Err(SectionError::Altered("a section exceeds the length limit"));
    }
    let stored = read_exactly(input, stored_bytes as usize)?;
    if hash(number, bytes, &stored) != head[9..] {
        return Err(SectionError::Altered("a section does not match its hash"));
    }
    // The buffer is limited to the stated length, so that a decompression bomb fails.
    let contents = zstd::bulk::decompress(&stored, contents_bytes)
        .map_err(|_| SectionError::Altered("a section cannot be decompressed"))?;
    if contents.len() != contents_bytes {
        return Err(SectionError::Altered("a section is shorter than stated"));
    }
    whole.update(&head);
    Ok(Section { number, contents })
}
