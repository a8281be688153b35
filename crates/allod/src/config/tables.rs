//! The keys in tables of `allod.toml`: options of OpenStack's Placement under their original names, and options of RESTCONF
//! and its models. They can be set in the file only.
//!
//! To add one, add a field to the settings of its crate, and a row here. `[policy.rules]` has names chosen by the operator.

use allod_face_restconf::id_manager::settings::search_order;
use anyhow::{Context, Result, bail};

use super::keys::put;
use super::{ConfigFile, ServerSettings, as_text};

#[derive(Debug)]
pub struct TableKey {
    /// As `table.key`, such as `placement.max_allocation_candidates`.
    pub name: &'static str,
    /// Empty if there is no default.
    pub default: &'static str,
    pub about: &'static str,
    pub set: fn(&mut ServerSettings, &str) -> Result<(), String>,
}

pub static TABLE_KEYS: &[TableKey] = &[
    TableKey {
        name: "placement.randomize_allocation_candidates",
        default: "false",
        about: "Return allocation candidates in random order",
        set: |settings, text| put(&mut settings.placement.randomize_allocation_candidates, text),
    },
    TableKey {
        name: "placement.max_allocation_candidates",
        default: "-1",
        about: "Maximum number of allocation candidates in an answer; -1: no limit",
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
        about: "Project of allocations written with a version before 1.8, which have none",
        set: |settings, text| put(&mut settings.placement.incomplete_consumer_project_id, text),
    },
    TableKey {
        name: "placement.incomplete_consumer_user_id",
        default: "00000000-0000-0000-0000-000000000000",
        about: "User of such allocations",
        set: |settings, text| put(&mut settings.placement.incomplete_consumer_user_id, text),
    },
    TableKey {
        name: "placement.allocation_conflict_retry_count",
        default: "10",
        about: "Accepted without effect: allocations do not conflict here, so they need no retry",
        set: |_, text| put(&mut 0_u64, text),
    },
    TableKey {
        name: "policy.enforce_new_defaults",
        default: "true",
        about: "false: the role admin may do everything, as in old releases of Placement",
        set: |settings, text| put(&mut settings.placement.policy.enforce_new_defaults, text),
    },
    TableKey {
        name: "policy.enforce_scope",
        default: "true",
        about: "true: system-scoped tokens are refused, because all rules are project-scoped",
        set: |settings, text| put(&mut settings.placement.policy.enforce_scope, text),
    },
    TableKey {
        name: "cors.allowed_origin",
        default: "",
        about: "Origins whose web pages may access the server; `*` allows all; empty: none",
        set: |settings, text| list(&mut settings.cors.allowed_origin, text),
    },
    TableKey {
        name: "cors.allow_credentials",
        default: "true",
        about: "Whether these pages may send credentials",
        set: |settings, text| put(&mut settings.cors.allow_credentials, text),
    },
    TableKey {
        name: "cors.expose_headers",
        default: "",
        about: "Response headers that these pages may read",
        set: |settings, text| list(&mut settings.cors.expose_headers, text),
    },
    TableKey {
        name: "cors.max_age",
        default: "3600",
        about: "How long a browser may cache the answer to a preflight request, in seconds",
        set: |settings, text| put(&mut settings.cors.max_age, text),
    },
    TableKey {
        name: "cors.allow_methods",
        default: "OPTIONS,GET,HEAD,POST,PUT,DELETE,TRACE,PATCH",
        about: "Methods that these pages may use",
        set: |settings, text| list(&mut settings.cors.allow_methods, text),
    },
    TableKey {
        name: "cors.allow_headers",
        default: "",
        about: "Request headers that these pages may send",
        set: |settings, text| list(&mut settings.cors.allow_headers, text),
    },
    TableKey {
        name: "restconf.error_prefix",
        default: "auto",
        about: "Top-level member of JSON errors: odl: errors; rfc: ietf-restconf:errors; auto: rfc below /restconf/data, odl elsewhere",
        set: |settings, text| put(&mut settings.restconf.error_prefix, text),
    },
    TableKey {
        name: "restconf.data_missing",
        default: "auto",
        about: "Status for missing data: 404 or 409; auto: 404 below /restconf/data, 409 elsewhere",
        set: |settings, text| put(&mut settings.restconf.data_missing, text),
    },
    TableKey {
        name: "id_manager.node_id",
        default: "2130706433",
        about: "Number at the end of the names of child pools; OpenDaylight uses the address of its host as a number",
        set: |settings, text| put(&mut settings.id_manager.node, text),
    },
    TableKey {
        name: "id_manager.release_delay_s",
        default: "30",
        about: "Seconds before a released ID becomes available again, in pools without enhanced ID allocation",
        set: |settings, text| put(&mut settings.id_manager.release_delay_s, text),
    },
    TableKey {
        name: "id_manager.search_order",
        default: "available-first",
        about: "Order of allocation without enhanced ID allocation: available-first, as since Oxygen, or released-first, as before",
        set: |settings, text| {
            settings.id_manager.search_order = search_order(text)?;
            Ok(())
        },
    },
    TableKey {
        name: "id_manager.enhanced_search_order",
        default: "released-first",
        about: "Order of allocation with enhanced ID allocation",
        set: |settings, text| {
            settings.id_manager.enhanced_search_order = search_order(text)?;
            Ok(())
        },
    },
    TableKey {
        name: "id_manager.strict",
        default: "false",
        about: "true: allocateId fails if the requested ID is not available, instead of returning another; a call can override this",
        set: |settings, text| put(&mut settings.id_manager.strict, text),
    },
    TableKey {
        name: "id_manager.unknown_key",
        default: "error",
        about: "Answer of releaseId for an unknown key: error, as since Magnesium, or ignore, as before",
        set: |settings, text| put(&mut settings.id_manager.unknown_key, text),
    },
];

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
        file.tables.insert(name, text);
    }
    Ok(())
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
