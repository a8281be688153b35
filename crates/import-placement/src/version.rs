//! The microversions of Placement that matter for a copy.

use std::fmt;
use std::str::FromStr;

/// The newest version that the importer knows.
const NEWEST: PlacementVersion = PlacementVersion(39);
/// The oldest version to read from: it has the parents of providers.
pub const OLDEST_READ: PlacementVersion = PlacementVersion(14);
/// The oldest version to write to: writes check the generation of the consumer.
pub const OLDEST_WRITTEN: PlacementVersion = PlacementVersion(28);
/// The first version with consumer types.
pub const TYPES: PlacementVersion = PlacementVersion(38);

/// A version `1.n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacementVersion(pub u32);

impl fmt::Display for PlacementVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

impl FromStr for PlacementVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<PlacementVersion, String> {
        let minor = text.strip_prefix("1.").and_then(|minor| minor.parse().ok());
        minor
            .map(PlacementVersion)
            .ok_or_else(|| format!("'{text}' is not a version such as {NEWEST}"))
    }
}

/// The version to use with a server whose newest version is `theirs`.
pub fn negotiate(
    theirs: PlacementVersion,
    oldest: PlacementVersion,
) -> Result<PlacementVersion, String> {
    if theirs < oldest {
        return Err(format!("supports versions up to {theirs}, but {oldest} is required"));
    }
    Ok(theirs.min(NEWEST))
}

/// What cannot be copied at this version.
pub fn not_copied(version: PlacementVersion) -> Vec<&'static str> {
    if version < TYPES {
        return vec!["consumer types: the source or the target does not support them"];
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_that_both_sides_know_is_used() {
        for (theirs, negotiated, not_copied_count) in [
            ("1.39", Some("1.39"), 0),
            ("1.45", Some("1.39"), 0),
            ("1.38", Some("1.38"), 0),
            ("1.37", Some("1.37"), 1),
            ("1.30", Some("1.30"), 1),
            ("1.14", Some("1.14"), 1),
            ("1.13", None, 1),
        ] {
            let theirs: PlacementVersion = theirs.parse().unwrap();
            let found = negotiate(theirs, OLDEST_READ);
            assert_eq!(found.clone().ok().map(|found| found.to_string()).as_deref(), negotiated);
            assert_eq!(not_copied(found.unwrap_or(theirs)).len(), not_copied_count, "{theirs}");
        }
        for text in ["", "1", "2.0", "1.x", "1.-1", "latest"] {
            assert!(text.parse::<PlacementVersion>().is_err(), "{text}");
        }
    }
}
