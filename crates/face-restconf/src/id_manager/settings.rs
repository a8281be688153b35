//! The settings in the table `[id_manager]`: behaviour in which releases of OpenDaylight differ.
//!
//! Not here: reading them from the file; the binary does that.

use std::sync::Arc;

use allod_core::blocks::SearchOrder;
use allod_core::view::State;
use allod_core::view::blocks as view;

use crate::settings::setting_names;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdManagerSettings {
    /// The number of this node, with which the names of its child pools end. OpenDaylight uses the IPv4 address of its host
    /// as a signed 32-bit integer; the default is that of 127.0.0.1.
    pub node: i64,
    /// How long a released id is delayed before reuse, in pools without enhanced id allocation.
    pub release_delay_s: u32,
    /// Where to look first for the next id, in pools without enhanced id allocation.
    pub search_order: SearchOrder,
    /// The same for pools with enhanced id allocation.
    pub enhanced_search_order: SearchOrder,
    /// Whether `allocateId` fails if the requested id is not available. The call can override it.
    pub strict: bool,
    /// How `releaseId` treats a key without ids.
    pub unknown_key: UnknownKey,
}

impl Default for IdManagerSettings {
    fn default() -> IdManagerSettings {
        IdManagerSettings {
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

impl IdManagerSettings {
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

/// How to treat the release of a key without ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownKey {
    /// An error, as in Magnesium and later.
    #[default]
    Error,
    /// Success, as before Magnesium, unless no id of the pool is allocated.
    Ignore,
}

setting_names! {
    UnknownKey, "value '{}' for an unknown key", "error or ignore",
    "error" => Error,
    "ignore" => Ignore,
}

pub fn search_order(text: &str) -> Result<SearchOrder, String> {
    match text {
        "available-first" => Ok(SearchOrder::AvailableFirst),
        "released-first" => Ok(SearchOrder::ReleasedFirst),
        _ => Err(format!("unknown search order '{text}'; use available-first or released-first")),
    }
}

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
    fn each_value_parses_as_it_is_displayed() {
        for order in [SearchOrder::AvailableFirst, SearchOrder::ReleasedFirst] {
            assert_eq!(search_order(spelled(order)), Ok(order));
        }
        for answer in [UnknownKey::Error, UnknownKey::Ignore] {
            assert_eq!(answer.to_string().parse(), Ok(answer));
        }
        assert!(search_order("oldest").unwrap_err().contains("unknown search order 'oldest'"));
        assert!("no".parse::<UnknownKey>().unwrap_err().contains("use error or ignore"));
    }

    #[test]
    fn the_name_of_a_child_ends_with_the_node_number() {
        let settings = IdManagerSettings { node: -1062717439, ..IdManagerSettings::default() };
        assert_eq!(&*settings.child("test-pool"), "test-pool.-1062717439");
        assert_eq!(&*IdManagerSettings::default().child("p"), "p.2130706433");
    }
}
