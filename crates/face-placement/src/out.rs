//! JSON as it is written: straight into the bytes of a reply, without a tree in between.
//!
//! Large answers are mostly uuids and numbers, and their speed is the speed of this file.

use allod_core::capacity::Uuid;

/// The body of a reply while it is written.
#[derive(Debug, Default)]
pub(crate) struct Out(pub Vec<u8>);

impl Out {
    pub(crate) fn with_room(bytes: usize) -> Out {
        Out(Vec::with_capacity(bytes))
    }

    /// Something that is JSON already.
    pub(crate) fn raw(&mut self, json: &str) -> &mut Out {
        self.0.extend_from_slice(json.as_bytes());
        self
    }

    /// A text, with what must not stand in one escaped.
    pub(crate) fn text(&mut self, text: &str) -> &mut Out {
        let plain = text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
        if plain {
            self.0.push(b'"');
            self.0.extend_from_slice(text.as_bytes());
            self.0.push(b'"');
        } else if serde_json::to_writer(&mut self.0, text).is_err() {
            // Writing a text into memory does not fail.
            self.raw("\"\"");
        }
        self
    }

    pub(crate) fn uuid(&mut self, uuid: Uuid) -> &mut Out {
        self.0.extend_from_slice(&quoted(uuid));
        self
    }

    pub(crate) fn uuid_or_null(&mut self, uuid: Option<Uuid>) -> &mut Out {
        match uuid {
            Some(uuid) => self.uuid(uuid),
            None => self.raw("null"),
        }
    }

    pub(crate) fn number(&mut self, number: u64) -> &mut Out {
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

    pub(crate) fn signed(&mut self, number: i64) -> &mut Out {
        if number < 0 {
            self.0.push(b'-');
        }
        self.number(number.unsigned_abs())
    }

    /// A float, always with a point or an exponent in it.
    pub(crate) fn float(&mut self, number: f64) -> &mut Out {
        self.raw(&format!("{number:?}"))
    }

    /// What stands between two members.
    pub(crate) fn comma(&mut self, is_first: bool) -> &mut Out {
        if !is_first {
            self.0.push(b',');
        }
        self
    }

    /// Each of some things between brackets, with commas.
    pub(crate) fn list<T>(
        &mut self,
        brackets: [&str; 2],
        things: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Out, T),
    ) -> &mut Out {
        self.raw(brackets[0]);
        for (n, thing) in things.into_iter().enumerate() {
            self.comma(n == 0);
            write(self, thing);
        }
        self.raw(brackets[1])
    }
}

/// The two digits of each byte.
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

/// A uuid between quotes. A byte at a time and without a branch: large answers are full of them.
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
    fn what_is_written_is_json() {
        let mut out = Out::default();
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
