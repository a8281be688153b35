//! The grammar of all stored bytes: kind, version, length, payload.
//!
//! Which kinds are expected where is decided in `body` and `checkpoint`.

use postcard::ser_flavors::Flavor;
use serde::de::Deserialize;
use serde::ser::Serialize;

use crate::error::DecodeError;
use crate::kinds;

/// A chunk in a byte slice. `offset`: where it starts; `inside`: where its payload starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk<'a> {
    pub kind: u32,
    pub version: u32,
    pub offset: u64,
    pub inside: u64,
    pub payload: &'a [u8],
}

/// The three numbers before a payload.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(crate) struct Head {
    pub kind: u32,
    pub version: u32,
    pub len: u64,
}

/// Writes a chunk whose payload is `payload`.
pub(crate) fn write(out: &mut Vec<u8>, kind: u32, version: u32, payload: &impl Serialize) {
    wrap(out, kind, version, |out| put(out, payload));
}

/// Writes a chunk with the payload that `payload` appends.
pub(crate) fn wrap(out: &mut Vec<u8>, kind: u32, version: u32, payload: impl FnOnce(&mut Vec<u8>)) {
    put(out, &(kind, version));
    let inside = out.len();
    payload(out);
    // The length is known only now: it is appended, and then rotated to the front of the payload.
    let end = out.len();
    put(out, &((end - inside) as u64));
    let width = out.len() - end;
    out[inside..].rotate_right(width);
}

/// Appends the postcard form of a value.
pub(crate) fn put(out: &mut Vec<u8>, value: &impl Serialize) {
    postcard::serialize_with_flavor(value, Append(out))
        .expect("a stored struct has only lists of known length, and a Vec accepts all bytes");
}

/// Lets postcard append to a borrowed buffer.
struct Append<'a>(&'a mut Vec<u8>);

impl Flavor for Append<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// The sequence of chunks in `bytes`. `offset`: where `bytes` starts in the whole, for error messages.
#[derive(Debug, Clone)]
pub(crate) struct Chunks<'a> {
    rest: &'a [u8],
    offset: u64,
}

impl<'a> Chunks<'a> {
    pub(crate) fn new(bytes: &'a [u8], offset: u64) -> Chunks<'a> {
        Chunks { rest: bytes, offset }
    }

    /// The number of chunks that follow, up to the first malformed one. Cheap: it does not read payloads.
    pub(crate) fn count(&self) -> usize {
        let mut chunks = self.clone();
        std::iter::from_fn(|| chunks.next_chunk().ok().flatten()).count()
    }

    pub(crate) fn next_chunk(&mut self) -> Result<Option<Chunk<'a>>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let offset = self.offset;
        let (head, rest): (Head, _) = postcard::take_from_bytes(self.rest).map_err(|_| {
            DecodeError::malformed(offset, "kind, version and length are expected here")
        })?;
        let inside = offset + (self.rest.len() - rest.len()) as u64;
        let len = usize::try_from(head.len).ok().filter(|&len| len <= rest.len());
        let Some((payload, rest)) = len.and_then(|len| rest.split_at_checked(len)) else {
            let what = format!("{} bytes are announced, {} are left", head.len, rest.len());
            return Err(DecodeError::malformed(offset, what));
        };
        self.rest = rest;
        self.offset = inside + head.len;
        Ok(Some(Chunk { kind: head.kind, version: head.version, offset, inside, payload }))
    }
}

impl<'a> Chunk<'a> {
    /// The payload as one stored struct, with nothing after it.
    pub(crate) fn read<T: Deserialize<'a>>(&self) -> Result<T, DecodeError> {
        let (value, rest) = self.read_first()?;
        if rest.is_empty() { Ok(value) } else { Err(self.malformed("has bytes left over")) }
    }

    /// The stored struct at the start of the payload, and the bytes after it.
    pub(crate) fn read_first<T: Deserialize<'a>>(&self) -> Result<(T, &'a [u8]), DecodeError> {
        postcard::take_from_bytes(self.payload).map_err(|_| self.malformed("does not read"))
    }

    pub(crate) fn unexpected(&self) -> DecodeError {
        DecodeError::unexpected(self.kind, self.version, self.offset)
    }

    fn malformed(&self, what: &str) -> DecodeError {
        let name = kinds::newest(self.kind).map_or("", |info| info.name);
        DecodeError::malformed(self.inside, format!("{name} version {} {what}", self.version))
    }
}
