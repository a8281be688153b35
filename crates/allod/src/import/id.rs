//! Consumers by their uuid, small enough to keep a million of them.
//!
//! Placement keeps the uuid of a consumer as it was first written, which need not be the usual spelling; allod keeps the
//! number. So two spellings are one consumer here, and each is asked for in its own.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use allod_core::capacity::Uuid;

#[derive(Debug, Clone)]
pub struct Id {
    number: Uuid,
    /// The spelling, where it is not the usual one.
    spelled: Option<Box<str>>,
}

impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Id, String> {
        let bare = text.replace("urn:", "").replace("uuid:", "");
        let bare: String = bare.chars().filter(char::is_ascii_hexdigit).collect();
        let number: Uuid = bare.parse().map_err(|_| format!("the consumer '{text}' is no uuid"))?;
        let usual = number.text() == text.as_bytes();
        Ok(Id { number, spelled: (!usual).then(|| text.into()) })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.spelled {
            Some(spelled) => f.write_str(spelled),
            None => self.number.fmt(f),
        }
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Id) -> bool {
        self.number == other.number
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_are_one_consumer() {
        let usual = "4e8e5957-649f-477b-9e5b-f1f75b21c03c";
        let odd = usual.to_uppercase().replace('-', "");
        let ids: Vec<Id> = [usual, &odd].map(|text| text.parse().unwrap()).into();
        assert_eq!(ids[0], ids[1]);
        assert_eq!((ids[0].to_string(), ids[1].to_string()), (usual.to_owned(), odd));
        assert!("4e8e".parse::<Id>().is_err());
    }
}
