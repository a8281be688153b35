//! The documentation of the format matches the program.

use std::fs;
use std::path::Path;

#[test]
fn documented_kinds_match_the_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/journal-format.md");
    let text = fs::read_to_string(path).unwrap();
    let (_, kinds) = text.split_once("\n## Kinds\n").unwrap();
    let (kinds, _) = kinds.split_once("\n## ").unwrap();
    let rows = kinds.lines().filter(|line| line.starts_with('|')).skip(2);
    let written: Vec<String> = rows.map(str::to_owned).collect();
    let known: Vec<String> = allod_record::describe()
        .iter()
        .map(|kind| {
            let retired = if kind.retired { "yes" } else { "no" };
            let (number, name, version, level) = (kind.number, kind.name, kind.version, kind.level);
            format!("| {number} | {name} | {version} | {level} | {retired} |")
        })
        .collect();
    assert_eq!(written, known);
}
