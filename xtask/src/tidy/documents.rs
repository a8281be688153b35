//! Rules about the documents: links, paths in backquotes and `cargo xtask` commands must exist.

use super::{File, Finding, Tree, finding};

/// A word in backquotes that begins with one of these is a path.
const ROOTS: [&str; 8] =
    ["crates/", "docs/", "xtask/", ".ci/", ".cargo/", "clients/", "conformance/", "adapters/"];

fn documents(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| file.path.ends_with(".md"))
}

pub fn names_exist(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in documents(tree) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in links(&file.text) {
            if !tree.has(&resolve(folder, link)) {
                found.push(finding(&file.path, format!("links to {link}, which does not exist")));
            }
        }
        for path in quoted_paths(&file.text) {
            if !tree.has(path) {
                found.push(finding(&file.path, format!("names {path}, which does not exist")));
            }
        }
        for command in commands(&file.text) {
            if !crate::COMMANDS.iter().any(|(name, _)| *name == command) {
                found.push(finding(
                    &file.path,
                    format!("names cargo xtask {command}, which is not a command"),
                ));
            }
        }
    }
    found
}

/// Targets of Markdown links within the project, without the part after `#`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.contains("://") && !target.starts_with('#'))
        .map(|target| target.split('#').next().unwrap_or(target))
}

/// A link as a path from the root.
fn resolve(folder: &str, link: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Words in single backquotes that are paths from the root, without patterns and placeholders.
fn quoted_paths(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.starts_with("```"));
    let quoted = lines.flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.filter(|word| {
        let plain = !word.contains(|c: char| c.is_whitespace() || "*{}<>…$".contains(c));
        let top_level = !word.contains('/') && word.ends_with(".md") || *word == "Cargo.toml";
        plain && (top_level || ROOTS.iter().any(|root| word.starts_with(root)))
    })
}

fn commands(text: &str) -> impl Iterator<Item = &str> {
    text.split("cargo xtask ").skip(1).filter_map(|rest| {
        let word = rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next()?;
        (!word.is_empty()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    fn check(text: &str) -> Vec<String> {
        let files = [("docs/guides/a.md", text), ("docs/b.md", ""), ("crates/core/src/lib.rs", "")];
        names_exist(&tree(&files)).into_iter().map(|found| found.what).collect()
    }

    #[test]
    fn a_broken_link_is_found() {
        assert_eq!(
            check("[b](../b.md), [part](../b.md#part), [web](https://a.example/x.md)"),
            [""; 0]
        );
        assert_eq!(check("[c](c.md)"), ["links to c.md, which does not exist"]);
    }

    #[test]
    fn a_missing_path_is_found() {
        assert_eq!(
            check("`crates/core` and `crates/core/src/lib.rs` and `crates/<name>/`"),
            [""; 0]
        );
        assert_eq!(check("see `crates/cores`"), ["names crates/cores, which does not exist"]);
        assert_eq!(check("see `NOTES.md`"), ["names NOTES.md, which does not exist"]);
    }

    #[test]
    fn an_unknown_command_is_found() {
        assert_eq!(
            check("`cargo xtask test`, `cargo xtask bench --quick`, `cargo xtask …`"),
            [""; 0]
        );
        assert_eq!(
            check("`cargo xtask deploy`"),
            ["names cargo xtask deploy, which is not a command"]
        );
    }
}
