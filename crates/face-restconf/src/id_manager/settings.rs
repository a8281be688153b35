//! How the id-manager behaves where the releases of OpenDaylight differ, as the table `[id_manager]` has it.
//!
//! What is not here: how a table is read; that is the binary's.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use allod_core::blocks::SearchOrder;
use allod_core::state::State;
use allod_core::view::blocks as view;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The number of this node, which the name of its child pools ends in. OpenDaylight takes the address of its host, read
    /// as a signed number of 32 bits; the default is 127.0.0.1 read like that.
    pub node: i64,
    /// How long a released id rests, in pools without enhanced id allocation.
    pub release_delay_s: u32,
    /// Where the next id is looked for first, in pools without enhanced id allocation.
    pub search_order: SearchOrder,
    /// The same, in pools with it.
    pub enhanced_search_order: SearchOrder,
    /// Whether `allocateId` fails when the id that was asked for is not to be had, unless the call says otherwise.
    pub strict: bool,
    /// What `releaseId` says to a key that holds nothing.
    pub unknown_key: UnknownKey,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            node: 0x7f00_0001,
            release_delay_s: 30,
            search_order: SearchOrder::AvailableFirst,
            enhanced_search_order: SearchOrder::ReleasedFirst,
            strict: false,
            unknown_key: UnknownKey::Error,
        }
    }
}

/// The pool in the name of a child: `pool.number`.
pub(crate) fn parent_name(child: &str) -> Option<&str> {
    child.rsplit_once('.').filter(|(_, node)| !node.is_empty()).map(|(pool, _)| pool)
}

impl Settings {
    /// The name of this node's child of the pool.
    pub fn child(&self, pool: &str) -> Arc<str> {
        format!("{pool}.{}", self.node).into()
    }

    /// The pool that has a child of this name.
    pub fn parent_of(&self, state: &State, child: &str) -> Option<Arc<str>> {
        let pool = parent_name(child)?;
        let has = view::has_child(state, pool, child, |pool| self.child(pool));
        has.then(|| pool.into())
    }
}

/// What is said when a key is released that holds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownKey {
    /// That it holds nothing, as from Magnesium on.
    #[default]
    Error,
    /// That all is well, as before Magnesium, unless nobody holds anything of the pool.
    Ignore,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnknownKey::Error => "error",
            UnknownKey::Ignore => "ignore",
        })
    }
}

impl FromStr for UnknownKey {
    type Err = String;

    fn from_str(text: &str) -> Result<UnknownKey, String> {
        match text {
            "error" => Ok(UnknownKey::Error),
            "ignore" => Ok(UnknownKey::Ignore),
            _ => Err(format!("'{text}' is no answer to an unknown key; error and ignore are")),
        }
    }
}

/// Reads an order of search.
pub fn search_order(text: &str) -> Result<SearchOrder, String> {
    match text {
        "available-first" => Ok(SearchOrder::AvailableFirst),
        "released-first" => Ok(SearchOrder::ReleasedFirst),
        _ => Err(format!("'{text}' is no order of search; available-first and released-first are")),
    }
}

/// An order of search as [`search_order`] reads it.
pub fn spelled(order: SearchOrder) -> &'static str {
    match order {
        SearchOrder::AvailableFirst => "available-first",
        SearchOrder::ReleasedFirst => "released-first",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_read_as_it_is_shown() {
        for order in [SearchOrder::AvailableFirst, SearchOrder::ReleasedFirst] {
            assert_eq!(search_order(spelled(order)), Ok(order));
        }
        for answer in [UnknownKey::Error, UnknownKey::Ignore] {
            assert_eq!(answer.to_string().parse(), Ok(answer));
        }
        assert!(search_order("oldest").unwrap_err().contains("'oldest' is no order of search"));
        assert!("no".parse::<UnknownKey>().unwrap_err().contains("error and ignore are"));
    }

    #[test]
    fn a_child_is_named_by_its_node() {
        let settings = Settings { node: -1062717439, ..Settings::default() };
        assert_eq!(&*settings.child("test-pool"), "test-pool.-1062717439");
        assert_eq!(&*Settings::default().child("p"), "p.2130706433");
    }
}
