//! The keys in tables of `allod.toml`: options of OpenStack's Placement under their original names, and options of RESTCONF
//! and its models. They can be set in the file only.
//!
//! To add one, add a field to the settings of its crate, and a row here. `[policy.rules]` has names chosen by the operator.

use std::path::PathBuf;

use allod_core::blocks::SearchOrder;
use allod_face_restconf::id_manager::settings::search_order;
use anyhow::{Context, Result, bail};

use super::keys::{config_keys, put};
use super::{ConfigFile, ConfigKey, ServerSettings, as_text};

pub static TABLE_KEYS: &[ConfigKey] = config_keys! {
    "placement.randomize_allocation_candidates" = "false", put(placement.randomize_allocation_candidates),
        "Return allocation candidates in random order";
    "placement.max_allocation_candidates" = "-1", put(placement.max_allocation_candidates),
        "Maximum number of allocation candidates in an answer; -1: no limit";
    "placement.allocation_candidates_generation_strategy" = "depth-first", put(placement.allocation_candidates_generation_strategy),
        "depth-first: all candidates of one tree before the next; breadth-first: one of each tree in turn";
    "placement.incomplete_consumer_project_id" = "00000000-0000-0000-0000-000000000000", put(placement.incomplete_consumer_project_id),
        "Project of allocations written with a version before 1.8, which have none";
    "placement.incomplete_consumer_user_id" = "00000000-0000-0000-0000-000000000000", put(placement.incomplete_consumer_user_id),
        "User of such allocations";
    "placement.allocation_conflict_retry_count" = "10", check_number(),
        "Accepted without effect: allocations do not conflict here, so they need no retry";
    "policy.enforce_new_defaults" = "true", put(placement.policy.enforce_new_defaults),
        "false: the role admin may do everything, as in old releases of Placement";
    "policy.enforce_scope" = "true", put(placement.policy.enforce_scope),
        "true: system-scoped tokens are refused, because all rules are project-scoped";
    "cors.allowed_origin" = "", list(cors.allowed_origin),
        "Origins whose web pages may access the server; `*` allows all; empty: none";
    "cors.allow_credentials" = "true", put(cors.allow_credentials),
        "Whether these pages may send credentials";
    "cors.expose_headers" = "", list(cors.expose_headers),
        "Response headers that these pages may read";
    "cors.max_age" = "3600", put(cors.max_age),
        "How long a browser may cache the answer to a preflight request, in seconds";
    "cors.allow_methods" = "OPTIONS,GET,HEAD,POST,PUT,DELETE,TRACE,PATCH", list(cors.allow_methods),
        "Methods that these pages may use";
    "cors.allow_headers" = "", list(cors.allow_headers),
        "Request headers that these pages may send";
    "restconf.error_prefix" = "auto", put(restconf.error_prefix),
        "Top-level member of JSON errors: odl: errors; rfc: ietf-restconf:errors; auto: rfc below /restconf/data, odl elsewhere";
    "restconf.data_missing" = "auto", put(restconf.data_missing),
        "Status for missing data: 404 or 409; auto: 404 below /restconf/data, 409 elsewhere";
    "restconf.modules" = "", put_folder(restconf.modules),
        "Folder with the site's own YANG modules (*.yang), which add nodes to resource-manager pools and requests; read at start";
    "id_manager.node_id" = "2130706433", put(id_manager.node),
        "Number at the end of the names of child pools; OpenDaylight uses the address of its host as a number";
    "id_manager.release_delay_s" = "30", put(id_manager.release_delay_s),
        "Seconds before a released ID becomes available again, in pools without enhanced ID allocation";
    "id_manager.search_order" = "available-first", put_order(id_manager.search_order),
        "Order of allocation without enhanced ID allocation: available-first, as since Oxygen, or released-first, as before";
    "id_manager.enhanced_search_order" = "released-first", put_order(id_manager.enhanced_search_order),
        "Order of allocation with enhanced ID allocation";
    "id_manager.strict" = "false", put(id_manager.strict),
        "true: allocateId fails if the requested ID is not available, instead of returning another; a call can override this";
    "id_manager.unknown_key" = "error", put(id_manager.unknown_key),
        "Answer of releaseId for an unknown key: error, as since Magnesium, or ignore, as before";
};

pub(super) const TABLES: [&str; 5] = ["placement", "policy", "cors", "restconf", "id_manager"];

const RULES: &str = "rules";

/// Reads one of the tables.
pub(super) fn read(file: &mut ConfigFile, table: &str, value: toml::Value) -> Result<()> {
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
            bail!("unknown key {key} in [{table}]; the keys are {}", known.join(", "));
        }
        let text = as_text(&value).with_context(|| format!("{name} must be a single value"))?;
        file.keys.insert(name, text);
    }
    Ok(())
}

fn put_order(setting: &mut SearchOrder, text: &str) -> Result<(), String> {
    *setting = search_order(text)?;
    Ok(())
}

fn put_folder(setting: &mut Option<PathBuf>, text: &str) -> Result<(), String> {
    *setting = (!text.is_empty()).then(|| text.into());
    Ok(())
}

/// Checks a number that has no effect.
fn check_number(_: &mut ServerSettings, text: &str) -> Result<(), String> {
    put(&mut 0_u64, text)
}

fn list(setting: &mut Vec<String>, text: &str) -> Result<(), String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    *setting = parts.map(str::to_owned).collect();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_defaults_match_the_settings() {
        let mut settings = ServerSettings::default();
        let wanted = format!("{settings:?}");
        for key in TABLE_KEYS {
            (key.set)(&mut settings, key.default).unwrap();
            assert_eq!(format!("{settings:?}"), wanted, "{}", key.name);
        }
    }
}
