//! The keys of `allod.toml` that stand in tables: what OpenStack's services have in sections of theirs, under the same
//! names, and the switches of RESTCONF and its models. They are said in the file only.
//!
//! To add one: a field in the settings of its part, and a row here. `[policy.rules]` is not here: its names are the
//! operator's.

use std::fmt::Display;
use std::str::FromStr;

use allod_face_restconf::id_manager::settings::search_order;
use anyhow::{Context, Result, bail};

use super::{File, Settings, as_text};

/// One key of a table.
#[derive(Debug)]
pub struct TableKey {
    /// With the table before it, as in `placement.max_allocation_candidates`.
    pub name: &'static str,
    /// As it would be written; empty when there is none.
    pub default: &'static str,
    pub about: &'static str,
    pub set: fn(&mut Settings, &str) -> Result<(), String>,
}

/// In the order in which they are shown.
pub static TABLE_KEYS: &[TableKey] = &[
    TableKey {
        name: "placement.randomize_allocation_candidates",
        default: "false",
        about: "Give allocation candidates in another order each time",
        set: |settings, text| put(&mut settings.placement.randomize_allocation_candidates, text),
    },
    TableKey {
        name: "placement.max_allocation_candidates",
        default: "-1",
        about: "The most candidates that one request gets; -1: as many as there are",
        set: |settings, text| put(&mut settings.placement.max_allocation_candidates, text),
    },
    TableKey {
        name: "placement.allocation_candidates_generation_strategy",
        default: "depth-first",
        about: "depth-first: all candidates of one tree before the next; breadth-first: one of each tree in turn",
        set: |settings, text| {
            put(&mut settings.placement.allocation_candidates_generation_strategy, text)
        },
    },
    TableKey {
        name: "placement.incomplete_consumer_project_id",
        default: "00000000-0000-0000-0000-000000000000",
        about: "The project of allocations that are written before version 1.8, which say nothing about it",
        set: |settings, text| put(&mut settings.placement.incomplete_consumer_project_id, text),
    },
    TableKey {
        name: "placement.incomplete_consumer_user_id",
        default: "00000000-0000-0000-0000-000000000000",
        about: "The user of such allocations",
        set: |settings, text| put(&mut settings.placement.incomplete_consumer_user_id, text),
    },
    TableKey {
        name: "placement.allocation_conflict_retry_count",
        default: "10",
        about: "Taken, and of no effect: allocations do not conflict with each other here, so nothing is tried again",
        set: |_, text| put(&mut 0_u64, text),
    },
    TableKey {
        name: "policy.enforce_new_defaults",
        default: "true",
        about: "Without it, the role admin may do everything, as in old releases of Placement",
        set: |settings, text| put(&mut settings.placement.policy.enforce_new_defaults, text),
    },
    TableKey {
        name: "policy.enforce_scope",
        default: "true",
        about: "Whether a token for the whole system is refused: all rules are about projects",
        set: |settings, text| put(&mut settings.placement.policy.enforce_scope, text),
    },
    TableKey {
        name: "cors.allowed_origin",
        default: "",
        about: "Origins whose pages may use the server from a browser; `*` is all of them; nothing: none",
        set: |settings, text| list(&mut settings.cors.allowed_origin, text),
    },
    TableKey {
        name: "cors.allow_credentials",
        default: "true",
        about: "Whether such pages may send credentials",
        set: |settings, text| put(&mut settings.cors.allow_credentials, text),
    },
    TableKey {
        name: "cors.expose_headers",
        default: "",
        about: "Response headers that such pages may read",
        set: |settings, text| list(&mut settings.cors.expose_headers, text),
    },
    TableKey {
        name: "cors.max_age",
        default: "3600",
        about: "How long, in seconds, a browser may remember what it was allowed",
        set: |settings, text| put(&mut settings.cors.max_age, text),
    },
    TableKey {
        name: "cors.allow_methods",
        default: "OPTIONS,GET,HEAD,POST,PUT,DELETE,TRACE,PATCH",
        about: "Methods that such pages may use",
        set: |settings, text| list(&mut settings.cors.allow_methods, text),
    },
    TableKey {
        name: "cors.allow_headers",
        default: "",
        about: "Request headers that such pages may send",
        set: |settings, text| list(&mut settings.cors.allow_headers, text),
    },
    TableKey {
        name: "restconf.error_prefix",
        default: "auto",
        about: "What errors in JSON begin with: odl: errors; rfc: ietf-restconf:errors; auto: rfc below /restconf/data, odl elsewhere",
        set: |settings, text| put(&mut settings.restconf.error_prefix, text),
    },
    TableKey {
        name: "restconf.data_missing",
        default: "auto",
        about: "The status of data that is not there: 404 or 409; auto: 404 below /restconf/data, 409 elsewhere",
        set: |settings, text| put(&mut settings.restconf.data_missing, text),
    },
    TableKey {
        name: "id_manager.node_id",
        default: "2130706433",
        about: "The number that the names of child pools end in; OpenDaylight takes the address of its host, as a number",
        set: |settings, text| put(&mut settings.id_manager.node, text),
    },
    TableKey {
        name: "id_manager.release_delay_s",
        default: "30",
        about: "How many seconds a released id rests, in pools that are made without enhanced id allocation",
        set: |settings, text| put(&mut settings.id_manager.release_delay_s, text),
    },
    TableKey {
        name: "id_manager.search_order",
        default: "available-first",
        about: "Where the next id comes from, without enhanced id allocation: available-first, as from Oxygen on, or released-first, as before",
        set: |settings, text| {
            settings.id_manager.search_order = search_order(text)?;
            Ok(())
        },
    },
    TableKey {
        name: "id_manager.enhanced_search_order",
        default: "released-first",
        about: "The same, with enhanced id allocation",
        set: |settings, text| {
            settings.id_manager.enhanced_search_order = search_order(text)?;
            Ok(())
        },
    },
    TableKey {
        name: "id_manager.strict",
        default: "false",
        about: "Whether allocateId fails when the id that it names is not to be had, instead of giving another; a call may say so itself",
        set: |settings, text| put(&mut settings.id_manager.strict, text),
    },
    TableKey {
        name: "id_manager.unknown_key",
        default: "error",
        about: "What releaseId says to a key that holds nothing: error, as from Magnesium on, or ignore, as before",
        set: |settings, text| put(&mut settings.id_manager.unknown_key, text),
    },
];

/// The tables that there are.
pub(super) const TABLES: [&str; 5] = ["placement", "policy", "cors", "restconf", "id_manager"];

/// The table inside `[policy]` that has rules by name.
const RULES: &str = "rules";

/// Takes over what one of the tables says.
pub(super) fn read(file: &mut File, table: &str, value: toml::Value) -> Result<()> {
    let toml::Value::Table(rows) = value else { bail!("{table} is not a table; write [{table}]") };
    for (key, value) in rows {
        if (table, key.as_str()) == ("policy", RULES) {
            file.rules = value.try_into().context("in [policy.rules]")?;
            continue;
        }
        let name = format!("{table}.{key}");
        if !TABLE_KEYS.iter().any(|known| known.name == name) {
            let prefix = format!("{table}.");
            let known = TABLE_KEYS.iter().filter_map(|key| key.name.strip_prefix(&*prefix));
            let known: Vec<&str> = known.collect();
            bail!("unknown key {key} in [{table}]; known are {}", known.join(", "));
        }
        let text = as_text(&value).with_context(|| format!("{name} must be one value"))?;
        file.tables.insert(name, text);
    }
    Ok(())
}

fn put<T: FromStr<Err: Display>>(place: &mut T, text: &str) -> Result<(), String> {
    *place = text.parse().map_err(|error: T::Err| error.to_string())?;
    Ok(())
}

fn list(place: &mut Vec<String>, text: &str) -> Result<(), String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    *place = parts.map(str::to_owned).collect();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_are_shown_are_those_that_count() {
        let mut settings = Settings::default();
        let wanted = format!("{settings:?}");
        for key in TABLE_KEYS {
            (key.set)(&mut settings, key.default).unwrap();
            assert_eq!(format!("{settings:?}"), wanted, "{}", key.name);
        }
    }
}
