//! Rules about files: header, length, name.

use super::{Finding, Tree, finding};

const LINES_MAX: usize = 600;
const LINES_LOOK_TWICE: usize = 500;

/// Names that do not describe the contents. A longer name that contains one (`id_manager`, OpenDaylight's name) is allowed.
const EMPTY_NAMES: [&str; 8] =
    ["util", "utils", "common", "misc", "helper", "helpers", "manager", "managers"];

pub fn headers(tree: &Tree) -> Vec<Finding> {
    let without = tree.rust().filter(|file| !file.text.starts_with("//! "));
    without.map(|file| finding(&file.path, "does not start with a `//!` header")).collect()
}

pub fn lengths(tree: &Tree) -> Vec<Finding> {
    longer_than(tree, LINES_MAX)
}

/// Allowed, but worth a second look.
pub fn getting_long(tree: &Tree) -> Vec<Finding> {
    longer_than(tree, LINES_LOOK_TWICE)
}

fn longer_than(tree: &Tree, max: usize) -> Vec<Finding> {
    let counted = tree.rust().map(|file| (file, file.text.lines().count()));
    let long = counted.filter(|&(_, lines)| lines > max);
    long.map(|(file, lines)| finding(&file.path, format!("{lines} lines, above {max}"))).collect()
}

pub fn names(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        let parts = file.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
        if let Some(empty) = parts.into_iter().find(|part| EMPTY_NAMES.contains(part)) {
            found.push(finding(&file.path, format!("'{empty}' does not describe the contents")));
        }
    }
    found
}

/// One module style: `foo.rs` beside the folder `foo/`.
pub fn module_style(tree: &Tree) -> Vec<Finding> {
    let old = tree.rust().filter(|file| file.path.ends_with("/mod.rs"));
    old.map(|file| finding(&file.path, "a module is `foo.rs` + `foo/`, not `foo/mod.rs`")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    #[test]
    fn a_file_without_a_header_is_found() {
        let tree =
            tree(&[("a.rs", "//! What it is.\n"), ("b.rs", "use std::fmt;\n"), ("c.md", "#\n")]);
        assert_eq!(headers(&tree), [finding("b.rs", "does not start with a `//!` header")]);
    }

    #[test]
    fn a_long_file_is_found_and_a_fairly_long_one_is_reported() {
        let (long, fairly) = ("x\n".repeat(601), "x\n".repeat(501));
        let tree = tree(&[("long.rs", &long), ("fairly.rs", &fairly), ("data.json", &long)]);
        assert_eq!(lengths(&tree), [finding("long.rs", "601 lines, above 600")]);
        assert_eq!(getting_long(&tree).len(), 2);
    }

    #[test]
    fn an_empty_name_is_found_in_files_and_folders() {
        let tree = tree(&[
            ("crates/core/src/util.rs", ""),
            ("crates/core/tests/common/mod.rs", ""),
            ("crates/face-restconf/src/id_manager/mod.rs", ""),
            ("crates/core/src/pool.rs", ""),
        ]);
        let paths: Vec<String> = names(&tree).into_iter().map(|found| found.path).collect();
        assert_eq!(paths, ["crates/core/src/util.rs", "crates/core/tests/common/mod.rs"]);
    }

    #[test]
    fn a_mod_rs_is_found() {
        let tree = tree(&[("crates/core/src/pool/mod.rs", ""), ("crates/core/src/pool.rs", "")]);
        assert_eq!(module_style(&tree).len(), 1);
    }
}
