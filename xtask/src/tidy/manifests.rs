//! Rules about `Cargo.toml`: which crate may depend on which, and that versions are in the workspace manifest.

use toml::{Table, Value};

use super::{File, Finding, Tree, finding};

/// The crates of ours that each shipped crate may use: the table of ARCHITECTURE.md. A crate that is not here is a finding.
const MAY_USE: [(&str, &[&str]); 12] = [
    ("core", &[]),
    ("record", &["core"]),
    ("outbound", &[]),
    ("journal", &["outbound"]),
    ("engine", &["core", "record", "journal"]),
    ("edge", &[]),
    ("reactor", &["core", "engine", "outbound"]),
    ("face-native", FACE),
    ("face-placement", FACE),
    ("face-restconf", FACE),
    ("import-placement", &["core", "outbound"]),
    ("allod", &["*"]),
];

const FACE: &[&str] = &["core", "edge", "engine"];

/// Crates that are never shipped. They may use all others; no shipped crate may use them.
const NOT_SHIPPED: [&str; 5] = ["testkit", "sim", "bench", "attack", "xtask"];

/// Dependencies that only the named crates may have, with the reason.
const RESTRICTED: [(&str, &[&str], &str); 4] = [
    ("rusqlite", &["journal"], "only the journal uses SQL"),
    (
        "tokio-postgres",
        &["journal", "outbound", "reactor"],
        "only the journal and the connectors use SQL",
    ),
    ("postcard", &["record"], "only the record crate knows the stored form"),
    ("rustls-native-certs", &["outbound"], "outgoing TLS is set up in one place"),
];

/// All that the core may use besides the standard library.
const CORE_MAY_USE: [&str; 1] = ["hashbrown"];

/// One dependency of a crate.
#[derive(Debug, PartialEq, Eq)]
struct Edge {
    on: String,
    /// For tests only.
    dev: bool,
}

/// The manifests of the workspace's members. The fuzz targets are a separate workspace and state their own versions.
fn manifests(tree: &Tree) -> impl Iterator<Item = (&File, Table)> {
    let files = tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    files
        .map(|file| (file, file.text.parse::<Table>().unwrap_or_default()))
        .filter(|(_, manifest)| !manifest.contains_key("workspace"))
}

/// The sections with dependencies, also those for one platform.
fn sections(manifest: &Table) -> Vec<(&str, &Table)> {
    let mut found = Vec::new();
    let platforms =
        manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    for table in platforms.filter_map(Value::as_table).chain([manifest]) {
        for name in ["dependencies", "dev-dependencies", "build-dependencies"] {
            found.extend(table.get(name).and_then(Value::as_table).map(|section| (name, section)));
        }
    }
    found
}

fn edges(manifest: &Table) -> Vec<Edge> {
    let of_section = |(name, section): (&str, &Table)| {
        let dev = name == "dev-dependencies";
        section.keys().map(|on| Edge { on: on.clone(), dev }).collect::<Vec<_>>()
    };
    sections(manifest).into_iter().flat_map(of_section).collect()
}

pub fn layers(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, manifest) in manifests(tree) {
        let folder = file.path.trim_end_matches("/Cargo.toml").trim_start_matches("crates/");
        for edge in edges(&manifest) {
            if let Some(why) = forbidden(folder, &edge) {
                found.push(finding(&file.path, format!("depends on {}: {why}", edge.on)));
            }
        }
    }
    found
}

/// Why the crate in `folder` may not have this dependency.
fn forbidden(folder: &str, edge: &Edge) -> Option<String> {
    let ours = edge.on.strip_prefix("allod-");
    if folder.starts_with("face-") && ours.is_some_and(|on| on.starts_with("face-")) {
        return Some("faces do not use each other, not even in tests".into());
    }
    if edge.dev || NOT_SHIPPED.contains(&folder) {
        return None;
    }
    let Some((_, may_use)) = MAY_USE.iter().find(|(name, _)| *name == folder) else {
        return Some(format!("the table of crates has no row for {folder}"));
    };
    if let Some(on) = ours {
        if NOT_SHIPPED.contains(&on) {
            return Some("a shipped crate does not use one that is not shipped".into());
        }
        let is_allowed = may_use.contains(&on) || *may_use == ["*"];
        return (!is_allowed).then(|| format!("{folder} may use {may_use:?} of our crates"));
    }
    if folder == "core" && !CORE_MAY_USE.contains(&edge.on.as_str()) {
        return Some("the core uses plain data structures only".into());
    }
    let restricted = RESTRICTED.iter().find(|(name, _, _)| *name == edge.on);
    restricted
        .filter(|(_, folders, _)| !folders.contains(&folder))
        .map(|(_, _, why)| (*why).to_owned())
}

pub fn versions(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, manifest) in manifests(tree) {
        for (_, section) in sections(&manifest) {
            for (name, value) in section {
                let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
                // A crate that depends on itself, for its tests, has a path and no version.
                let by_path = value.get("path").is_some() && value.get("version").is_none();
                if !inherited && !by_path {
                    found.push(finding(
                        &file.path,
                        format!("{name} does not take its version from the workspace"),
                    ));
                }
            }
        }
        let version = manifest.get("package").and_then(|package| package.get("version"));
        if version.is_some_and(Value::is_str) {
            found.push(finding(&file.path, "has a version of its own"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    fn layer_findings(folder: &str, manifest: &str) -> usize {
        layers(&tree(&[(&format!("crates/{folder}/Cargo.toml"), manifest)])).len()
    }

    #[test]
    fn the_core_may_use_data_structures_only() {
        let bad = "[dependencies]\nhashbrown.workspace = true\nserde.workspace = true\ntokio = { workspace = true }\n";
        assert_eq!(layer_findings("core", bad), 2);
        assert_eq!(layer_findings("core", "[dev-dependencies]\nproptest.workspace = true\n"), 0);
    }

    #[test]
    fn faces_use_neither_the_journal_nor_each_other() {
        assert_eq!(
            layer_findings("face-native", "[dependencies]\nallod-journal.workspace = true\n"),
            1
        );
        assert_eq!(
            layer_findings("face-native", "[dev-dependencies]\nallod-journal.workspace = true\n"),
            0
        );
        assert_eq!(
            layer_findings(
                "face-native",
                "[dev-dependencies]\nallod-face-console.workspace = true\n"
            ),
            1
        );
    }

    #[test]
    fn few_crates_use_sql_drivers_and_the_edge_uses_no_crate_of_ours() {
        let postgres = "[dependencies]\ntokio-postgres.workspace = true\n";
        assert_eq!((layer_findings("engine", postgres), layer_findings("bench", postgres)), (1, 0));
        let driver = "[dependencies]\nrusqlite.workspace = true\n";
        assert_eq!((layer_findings("engine", driver), layer_findings("journal", driver)), (1, 0));
        assert_eq!(layer_findings("edge", "[dependencies]\nallod-core.workspace = true\n"), 1);
        let for_one_platform = "[target.'cfg(unix)'.dependencies]\nrusqlite.workspace = true\n";
        assert_eq!(layer_findings("allod", for_one_platform), 1);
    }

    #[test]
    fn shipped_crates_do_not_use_those_that_are_not() {
        assert_eq!(layer_findings("engine", "[dependencies]\nallod-testkit.workspace = true\n"), 1);
        assert_eq!(
            layer_findings("engine", "[dev-dependencies]\nallod-testkit.workspace = true\n"),
            0
        );
        assert_eq!(layer_findings("sim", "[dependencies]\nallod-testkit.workspace = true\n"), 0);
    }

    #[test]
    fn a_crate_without_a_row_in_the_table_is_found() {
        assert_eq!(layer_findings("new", "[dependencies]\nserde.workspace = true\n"), 1);
        assert_eq!(layer_findings("record", "[dependencies]\nallod-engine.workspace = true\n"), 1);
    }

    #[test]
    fn a_version_outside_the_workspace_manifest_is_found() {
        let bad = "[package]\nversion = \"1.0.0\"\n[dependencies]\nhttp = \"1\"\nlibc = { version = \"0.2\" }\n";
        let good = "[package]\nversion.workspace = true\n[dependencies]\nhttp.workspace = true\n";
        assert_eq!(versions(&tree(&[("crates/edge/Cargo.toml", bad)])).len(), 3);
        assert_eq!(versions(&tree(&[("crates/edge/Cargo.toml", good)])), []);
        let itself = "[dev-dependencies]\nallod-edge = { path = \".\", features = [\"suite\"] }\n";
        assert_eq!(versions(&tree(&[("crates/edge/Cargo.toml", itself)])), []);
        let apart = format!("[workspace]\n{bad}");
        assert_eq!(versions(&tree(&[("fuzz/Cargo.toml", &apart)])), []);
    }
}
