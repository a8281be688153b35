//! The members of one list or object in a JSON document, found while the document is received.
//!
//! Placement has no paging: the providers of a large cloud are one answer of a hundred megabytes. So each member is passed
//! on as soon as it is complete, and only one member is in memory. Members are not parsed here.

/// Splits the member `wanted` of a JSON object into its elements.
#[derive(Debug, Default)]
pub struct JsonMembers {
    wanted: &'static str,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The last string at the outermost level: a name, if a list or an object follows.
    name: Vec<u8>,
    /// The parser is inside `wanted`.
    inside: bool,
    member: Vec<u8>,
    complete: bool,
}

impl JsonMembers {
    pub fn new(wanted: &'static str) -> JsonMembers {
        JsonMembers { wanted, ..JsonMembers::default() }
    }

    /// Parses the next bytes and passes on complete members: the elements of a list, `"name": value` of an object.
    pub fn feed<E>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
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
            let mut is_end = false;
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
                    self.complete = self.depth == 0;
                    is_end = self.depth == 1 && self.inside;
                }
                b',' => {
                    is_end = self.depth == 2 && self.inside;
                    if self.depth == 1 {
                        self.name.clear();
                    }
                }
                _ => {}
            }
            if is_end {
                if !self.member.trim_ascii().is_empty() {
                    each(&self.member)?;
                }
                self.member.clear();
                self.inside = self.depth > 1;
            } else if self.inside {
                self.member.push(byte);
            }
        }
        Ok(())
    }

    /// Whether the document is complete.
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the document in pieces of every length.
    fn check(document: &str, wanted: &[&str]) {
        for length in 1..=document.len() {
            let mut members = JsonMembers::new("all");
            let mut found = Vec::new();
            for bytes in document.as_bytes().chunks(length) {
                let given = members.feed(bytes, |member| {
                    found.push(String::from_utf8(member.to_vec()).unwrap().trim().to_owned());
                    Ok::<(), ()>(())
                });
                given.unwrap();
            }
            assert_eq!(found, wanted, "{document} in pieces of {length}");
            assert!(members.is_complete());
        }
    }

    #[test]
    fn nested_members_and_quoted_brackets_are_kept_whole() {
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
    fn a_truncated_document_is_not_complete() {
        let mut members = JsonMembers::new("all");
        members.feed(br#"{"all":[{"a":1},{"#, |_| Ok::<(), ()>(())).unwrap();
        assert!(!members.is_complete());
    }
}
