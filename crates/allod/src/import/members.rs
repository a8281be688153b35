//! The members of one list or object in a JSON document that comes bit by bit.
//!
//! Placement has no pages: the list of all providers of a large cloud is one answer of a hundred megabytes. So each member
//! is given out as soon as it is whole, and nothing else is kept. Not here: reading what is in a member.

/// Looks for the member `wanted` of the document, which must be an object, and takes that apart.
#[derive(Debug)]
pub struct Members {
    wanted: &'static str,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The last text at the outermost level, which is a name if a list or an object follows.
    name: Vec<u8>,
    /// We are within what is wanted.
    inside: bool,
    member: Vec<u8>,
    ended: bool,
}

impl Members {
    pub fn new(wanted: &'static str) -> Members {
        Members {
            wanted,
            depth: 0,
            in_string: false,
            escaped: false,
            name: Vec::new(),
            inside: false,
            member: Vec::new(),
            ended: false,
        }
    }

    /// Takes in the next bytes, and gives out what became whole: of a list its elements, of an object `"name": value`.
    pub fn take_in<E>(
        &mut self,
        bytes: &[u8],
        mut give: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for &byte in bytes {
            if self.in_string {
                self.in_string = self.escaped || byte != b'"';
                self.escaped = byte == b'\\' && !self.escaped;
                if self.inside {
                    self.member.push(byte);
                } else if self.depth == 1 && self.in_string {
                    self.name.push(byte);
                }
                continue;
            }
            let mut whole = false;
            match byte {
                b'"' => {
                    self.in_string = true;
                    if !self.inside {
                        self.name.clear();
                    }
                }
                b'{' | b'[' => {
                    self.depth += 1;
                    if self.depth == 2 && self.name == self.wanted.as_bytes() {
                        self.inside = true;
                        continue;
                    }
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.ended = self.depth == 0;
                    whole = self.depth == 1 && self.inside;
                }
                b',' => {
                    whole = self.depth == 2 && self.inside;
                    if self.depth == 1 {
                        self.name.clear();
                    }
                }
                _ => {}
            }
            if whole {
                if !self.member.trim_ascii().is_empty() {
                    give(&self.member)?;
                }
                self.member.clear();
                self.inside = self.depth > 1;
            } else if self.inside {
                self.member.push(byte);
            }
        }
        Ok(())
    }

    /// Whether the document has come to its end.
    pub fn ended(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In bits of every length.
    fn check(document: &str, wanted: &[&str]) {
        for length in 1..=document.len() {
            let mut members = Members::new("all");
            let mut found = Vec::new();
            for bytes in document.as_bytes().chunks(length) {
                let given = members.take_in(bytes, |member| {
                    found.push(String::from_utf8(member.to_vec()).unwrap().trim().to_owned());
                    Ok::<(), ()>(())
                });
                given.unwrap();
            }
            assert_eq!(found, wanted, "{document} in bits of {length}");
            assert!(members.ended());
        }
    }

    #[test]
    fn members_are_found_whatever_is_in_them() {
        check(r#"{"all":[]}"#, &[]);
        check(r#"{"all": [1, 2 ,"3"]}"#, &["1", "2", "\"3\""]);
        check(
            r#"{"n":"all","m":[{"all":[9]}],"all":[{"a":[1,2]},{"b":"],\"}\\"}],"k":[7]}"#,
            &[r#"{"a":[1,2]}"#, r#"{"b":"],\"}\\"}"#],
        );
        check(r#"{"all":{"x":{"y":1},"z":{}},"generation":3}"#, &[r#""x":{"y":1}"#, r#""z":{}"#]);
        check(r#"{"none":[1]}"#, &[]);
    }

    #[test]
    fn a_document_that_is_cut_off_has_not_ended() {
        let mut members = Members::new("all");
        members.take_in(br#"{"all":[{"a":1},{"#, |_| Ok::<(), ()>(())).unwrap();
        assert!(!members.ended());
    }
}
