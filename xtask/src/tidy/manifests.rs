//! Rules about `Cargo.toml`: which crate may depend on which, and where versions stand.

use toml::{Table, Value};

use super::{File, Finding, Tree, finding};

/// Plain data structures: all that the core may use besides the standard library.
const CORE_MAY_USE: [&str; 1] = ["hashbrown"];

const SQL_DRIVERS: [&str; 1] = ["rusqlite"];

/// One dependency of a crate.
#[derive(Debug, PartialEq, Eq)]
struct Edge {
    on: String,
    /// For tests only, which never reach the binary.
    dev: bool,
}

/// Of the members of our workspace. One that is a workspace of its own, as the fuzz targets are, is built by nobody else, and
/// has to say all by itself.
fn manifests(tree: &Tree) -> impl Iterator<Item = (&File, Table)> {
    let files = tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    files
        .map(|file| (file, file.text.parse::<Table>().unwrap_or_default()))
        .filter(|(_, manifest)| !manifest.contains_key("workspace"))
}

/// The sections with dependencies: the plain ones and those for one platform.
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
fn forbidden(folder: &str, edge: &Edge) -> Option<&'static str> {
    let on = edge.on.as_str();
    let never_shipped = ["testkit", "sim", "bench"].contains(&folder);
    let shipped = !never_shipped && folder != "xtask" && !edge.dev;
    match folder {
        "core" if !edge.dev && !CORE_MAY_USE.contains(&on) => {
            Some("the core uses plain data structures and nothing else")
        }
        "edge" if on.starts_with("allod-") && !edge.dev => Some("the edge knows no domain"),
        face if face.starts_with("face-") && !edge.dev && on == "allod-journal" => {
            Some("a face never sees the journal")
        }
        face if face.starts_with("face-") && on.starts_with("allod-face-") => {
            Some("faces do not see each other")
        }
        _ if SQL_DRIVERS.contains(&on) && folder != "journal" && shipped => {
            Some("only the journal speaks SQL")
        }
        _ if shipped && ["allod-testkit", "allod-sim", "allod-bench"].contains(&on) => {
            Some("what is never shipped may not be needed by what is")
        }
        _ => None,
    }
}

pub fn versions(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, manifest) in manifests(tree) {
        for (_, section) in sections(&manifest) {
            for (name, value) in section {
                let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
                // A crate that names itself, for its own tests, has a path and needs no version.
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
    fn faces_see_neither_the_journal_nor_each_other() {
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
    fn only_the_journal_names_the_sql_driver_and_the_edge_no_crate_of_ours() {
        let driver = "[dependencies]\nrusqlite.workspace = true\n";
        assert_eq!((layer_findings("engine", driver), layer_findings("journal", driver)), (1, 0));
        assert_eq!(layer_findings("edge", "[dependencies]\nallod-core.workspace = true\n"), 1);
        let for_one_platform = "[target.'cfg(unix)'.dependencies]\nrusqlite.workspace = true\n";
        assert_eq!(layer_findings("allod", for_one_platform), 1);
    }

    #[test]
    fn what_is_never_shipped_is_not_needed_by_what_is() {
        assert_eq!(layer_findings("engine", "[dependencies]\nallod-testkit.workspace = true\n"), 1);
        assert_eq!(
            layer_findings("engine", "[dev-dependencies]\nallod-testkit.workspace = true\n"),
            0
        );
        assert_eq!(layer_findings("sim", "[dependencies]\nallod-testkit.workspace = true\n"), 0);
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
        assert_eq!(versions(&tree(&[("crates/edge/fuzz/Cargo.toml", &apart)])), []);
    }
}
