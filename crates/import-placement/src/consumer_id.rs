//! The UUID of a consumer, small enough to hold millions of them in memory.
//!
//! Placement stores the UUID of a consumer as text, as it was first written; allod stores the number. So two spellings
//! are the same consumer here, and each server is asked with its own spelling.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use allod_core::capacity::Uuid;

#[derive(Debug, Clone)]
pub struct ConsumerId {
    uuid: Uuid,
    /// The spelling, if it is not the canonical one.
    spelling: Option<Box<str>>,
}

impl FromStr for ConsumerId {
    type Err = String;

    fn from_str(text: &str) -> Result<ConsumerId, String> {
        let bare = text.replace("urn:", "").replace("uuid:", "");
        let bare: String = bare.chars().filter(char::is_ascii_hexdigit).collect();
        let uuid: Uuid =
            bare.parse().map_err(|_| format!("the consumer '{text}' is not a UUID"))?;
        let canonical = uuid.text() == text.as_bytes();
        Ok(ConsumerId { uuid, spelling: (!canonical).then(|| text.into()) })
    }
}

impl fmt::Display for ConsumerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.spelling {
            Some(spelling) => f.write_str(spelling),
            None => self.uuid.fmt(f),
        }
    }
}

impl PartialEq for ConsumerId {
    fn eq(&self, other: &ConsumerId) -> bool {
        self.uuid == other.uuid
    }
}

impl Eq for ConsumerId {}

impl Hash for ConsumerId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.uuid.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_are_the_same_consumer() {
        let canonical = "4e8e5957-649f-477b-9e5b-f1f75b21c03c";
        let other = canonical.to_uppercase().replace('-', "");
        let ids: Vec<ConsumerId> = [canonical, &other].map(|text| text.parse().unwrap()).into();
        assert_eq!(ids[0], ids[1]);
        assert_eq!((ids[0].to_string(), ids[1].to_string()), (canonical.to_owned(), other));
        assert!("4e8e".parse::<ConsumerId>().is_err());
    }
}
