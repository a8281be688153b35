//! Rules about Rust code across crates: which crates use the core's state, and how often a type name is defined.

use std::collections::BTreeMap;

use super::{File, Finding, Tree, finding};

/// The crates that may use the core's `state`: those that hold, store or check it.
const SEES_STATE: [&str; 6] = [
    "crates/core/",
    "crates/engine/",
    "crates/record/",
    "crates/testkit/",
    "crates/sim/",
    "crates/bench/",
];

/// How often a type name may be defined in shipped code: once, or once in each of two layers.
const DEFINITIONS_MAX: usize = 2;

/// Whether the file is part of the product; tests and tools are not.
fn is_shipped(file: &File) -> bool {
    let path = &file.path;
    let elsewhere =
        ["crates/testkit/", "crates/sim/", "crates/bench/", "crates/attack/", "fuzz/", "xtask/"];
    path.contains("/src/") && !elsewhere.iter().any(|folder| path.starts_with(folder))
}

pub fn state_is_private(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let outside = tree.rust().filter(|file| file.path.contains("/src/"));
    for file in outside.filter(|file| !SEES_STATE.iter().any(|seer| file.path.starts_with(seer))) {
        for (number, line) in file.text.lines().enumerate() {
            if line.contains(concat!("allod_core::", "state")) {
                let what = format!("line {}: uses the state; faces use `view`", number + 1);
                found.push(finding(&file.path, what));
            }
        }
    }
    found
}

pub fn type_names(tree: &Tree) -> Vec<Finding> {
    let mut defined: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in tree.rust().filter(|file| is_shipped(file)) {
        for name in file.text.lines().filter_map(type_name) {
            defined.entry(name).or_default().push(&file.path);
        }
    }
    defined.retain(|_, paths| paths.len() > DEFINITIONS_MAX);
    let found = defined.into_iter().map(|(name, paths)| {
        finding(paths[0], format!("{name} is defined {} times: {}", paths.len(), paths.join(", ")))
    });
    found.collect()
}

/// The name of the type that a line defines. Associated types and local types are indented and do not count.
fn type_name(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let rest =
        ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| line.strip_prefix(kind))?;
    Some(rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    #[test]
    fn a_face_that_uses_the_state_is_found() {
        let text = concat!("use allod_core::", "state::State;\n");
        let tree = tree(&[
            ("crates/face-native/src/pools.rs", text),
            ("crates/engine/src/replay.rs", text),
            ("crates/face-native/tests/it/pools.rs", text),
        ]);
        assert_eq!(state_is_private(&tree).len(), 1);
    }

    #[test]
    fn a_type_name_with_three_definitions_is_found() {
        let files = [
            ("crates/core/src/a.rs", "pub(crate) struct Thing<'a> {\n"),
            ("crates/edge/src/a.rs", "enum Thing {\n    type Err = ();\n"),
            ("crates/sim/src/a.rs", "struct Thing;\n"),
        ];
        assert_eq!(type_names(&tree(&files)), []);
        let third = ("crates/engine/src/a.rs", "pub type Thing = u8;\n");
        let found = type_names(&tree(&[files[0], files[1], files[2], third]));
        assert_eq!(found.len(), 1);
        assert!(found[0].what.starts_with("Thing is defined 3 times"));
    }
}
