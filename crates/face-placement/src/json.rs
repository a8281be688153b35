//! Writes JSON directly into the bytes of a reply.
//!
//! Large answers consist mostly of UUIDs and numbers, so this code determines their speed.

use allod_core::capacity::Uuid;

/// The body of a reply under construction.
#[derive(Debug, Default)]
pub(crate) struct JsonBuffer(pub Vec<u8>);

impl JsonBuffer {
    pub(crate) fn with_capacity(bytes: usize) -> JsonBuffer {
        JsonBuffer(Vec::with_capacity(bytes))
    }

    /// Text that is already JSON.
    pub(crate) fn raw(&mut self, json: &str) -> &mut JsonBuffer {
        self.0.extend_from_slice(json.as_bytes());
        self
    }

    /// A string, escaped.
    pub(crate) fn text(&mut self, text: &str) -> &mut JsonBuffer {
        let plain = text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
        if plain {
            self.0.push(b'"');
            self.0.extend_from_slice(text.as_bytes());
            self.0.push(b'"');
        } else if serde_json::to_writer(&mut self.0, text).is_err() {
            // Serialising a string into memory does not fail.
            self.raw("\"\"");
        }
        self
    }

    pub(crate) fn uuid(&mut self, uuid: Uuid) -> &mut JsonBuffer {
        self.0.extend_from_slice(&quoted(uuid));
        self
    }

    pub(crate) fn uuid_or_null(&mut self, uuid: Option<Uuid>) -> &mut JsonBuffer {
        match uuid {
            Some(uuid) => self.uuid(uuid),
            None => self.raw("null"),
        }
    }

    pub(crate) fn number(&mut self, number: u64) -> &mut JsonBuffer {
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut rest = number;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.0.extend_from_slice(&digits[at..]);
        self
    }

    pub(crate) fn signed(&mut self, number: i64) -> &mut JsonBuffer {
        if number < 0 {
            self.0.push(b'-');
        }
        self.number(number.unsigned_abs())
    }

    /// A float, always with a decimal point or an exponent.
    pub(crate) fn float(&mut self, number: f64) -> &mut JsonBuffer {
        self.raw(&format!("{number:?}"))
    }

    /// A comma, except before the first member.
    pub(crate) fn comma(&mut self, is_first: bool) -> &mut JsonBuffer {
        if !is_first {
            self.0.push(b',');
        }
        self
    }

    /// A list or an object, with commas.
    pub(crate) fn list<T>(
        &mut self,
        brackets: [&str; 2],
        things: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut JsonBuffer, T),
    ) -> &mut JsonBuffer {
        self.raw(brackets[0]);
        for (n, thing) in things.into_iter().enumerate() {
            self.comma(n == 0);
            write(self, thing);
        }
        self.raw(brackets[1])
    }
}

/// The two hexadecimal digits of each byte.
const DIGITS: [[u8; 2]; 256] = {
    let mut digits = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        let hex = b"0123456789abcdef";
        digits[byte] = [hex[byte >> 4], hex[byte & 15]];
        byte += 1;
    }
    digits
};

/// A quoted UUID, written bytewise and without branches because large answers are full of them.
fn quoted(uuid: Uuid) -> [u8; 38] {
    const PLACES: [usize; 16] = [1, 3, 5, 7, 10, 12, 15, 17, 20, 22, 25, 27, 29, 31, 33, 35];
    let mut text = [b'-'; 38];
    (text[0], text[37]) = (b'"', b'"');
    for (byte, at) in uuid.0.to_be_bytes().into_iter().zip(PLACES) {
        [text[at], text[at + 1]] = DIGITS[usize::from(byte)];
    }
    text
}

pub(crate) const OBJECT: [&str; 2] = ["{", "}"];
pub(crate) const ARRAY: [&str; 2] = ["[", "]"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_written_as_the_core_writes_them() {
        for number in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210] {
            let uuid = Uuid(number);
            assert_eq!(&quoted(uuid)[..], format!("\"{uuid}\"").as_bytes());
        }
    }

    #[test]
    fn the_output_is_json() {
        let mut out = JsonBuffer::default();
        out.raw("[").text("a\"b\\\n ä").raw(",").number(0).raw(",").number(u64::MAX).raw(",");
        out.signed(-7).raw(",").float(1.0).raw(",").float(3.4e38).raw(",").uuid(Uuid(11)).raw(",");
        out.uuid_or_null(None).raw(",");
        out.list(OBJECT, ["x", "y"], |out, name| {
            out.text(name).raw(":1");
        });
        out.raw("]");
        let read: serde_json::Value = serde_json::from_slice(&out.0).unwrap();
        let wanted = serde_json::json!([
            "a\"b\\\n ä", 0, u64::MAX, -7, 1.0, 3.4e38, "00000000-0000-0000-0000-00000000000b",
            null, {"x": 1, "y": 1},
        ]);
        assert_eq!(read, wanted);
    }
}
