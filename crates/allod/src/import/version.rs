//! Microversions of Placement, as far as a copy depends on them.

use std::fmt;
use std::str::FromStr;

/// The newest that is understood here.
pub const NEWEST: Version = Version(39);
/// The oldest that tells parents, which nothing can be copied without.
pub const OLDEST: Version = Version(14);
/// Since then consumers have types.
pub const TYPES: Version = Version(38);
/// Since then a write says which generation of the consumer it is about, and a provider can be created with an answer.
pub const OLDEST_WRITTEN: Version = Version(28);

/// `1.n`; there never was another first number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Version, String> {
        let minor = text.strip_prefix("1.").and_then(|minor| minor.parse().ok());
        minor.map(Version).ok_or_else(|| format!("'{text}' is no version; one is {NEWEST}"))
    }
}

/// The version to speak with a server that speaks up to `theirs`.
pub fn agree(theirs: Version, oldest: Version) -> Result<Version, String> {
    if theirs < oldest {
        return Err(format!("it speaks versions up to {theirs}, and {oldest} is needed"));
    }
    Ok(theirs.min(NEWEST))
}

/// What a source of this version does not tell, in words.
pub fn lost(source: Version) -> Vec<&'static str> {
    if source < TYPES {
        return vec![
            "types of consumers: the source speaks no version that tells them, so they stay unset",
        ];
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_that_both_know_is_spoken() {
        for (theirs, agreed, lost_count) in [
            ("1.39", Some("1.39"), 0),
            ("1.45", Some("1.39"), 0),
            ("1.38", Some("1.38"), 0),
            ("1.37", Some("1.37"), 1),
            ("1.30", Some("1.30"), 1),
            ("1.14", Some("1.14"), 1),
            ("1.13", None, 1),
        ] {
            let theirs: Version = theirs.parse().unwrap();
            let found = agree(theirs, OLDEST);
            assert_eq!(found.clone().ok().map(|found| found.to_string()).as_deref(), agreed);
            assert_eq!(lost(found.unwrap_or(theirs)).len(), lost_count, "{theirs}");
        }
        for text in ["", "1", "2.0", "1.x", "1.-1", "latest"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }
}
