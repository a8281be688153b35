//! `cargo xtask tidy`: the rules of this code base that no other tool checks.
//!
//! A rule is a function from the tree to findings, with a test that shows it failing. Rules read text; they do not build or run
//! anything.

mod code;
mod documents;
mod files;
mod manifests;
mod words;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::cargo;

/// One file: its path from the root, with `/`, and its text.
#[derive(Debug)]
pub struct File {
    pub path: String,
    pub text: String,
}

/// Every text file of the project.
#[derive(Debug, Default)]
pub struct Tree {
    pub files: Vec<File>,
}

impl Tree {
    pub fn read(root: &Path) -> Result<Tree> {
        let mut tree = Tree::default();
        tree.read_folder(root, "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    fn read_folder(&mut self, root: &Path, folder: &str) -> Result<()> {
        let at = root.join(folder);
        let entries =
            std::fs::read_dir(&at).with_context(|| format!("reading {}", at.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type()?;
            if skipped(&path, &name) {
                continue;
            }
            if kind.is_dir() {
                self.read_folder(root, &path)?;
            } else if kind.is_file()
                && !name.ends_with(".log")
                && let Ok(text) = std::fs::read_to_string(entry.path())
            {
                self.files.push(File { path, text });
            }
        }
        Ok(())
    }

    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    pub fn under<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.path.starts_with(folder))
    }

    /// Whether this file exists, or a file in this folder.
    pub fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files.iter().any(|file| {
            file.path
                .strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// Folders that git, cargo and a running server create.
fn skipped(path: &str, name: &str) -> bool {
    [".git", ".venv"].contains(&name) || ["target", "allod-data"].contains(&path)
}

/// One violation of a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    pub what: String,
}

pub fn finding(path: &str, what: impl Into<String>) -> Finding {
    Finding { path: path.to_string(), what: what.into() }
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: [(&str, Rule); 14] = [
    ("every Rust file has a module header", files::headers),
    ("no file is longer than 600 lines", files::lengths),
    ("a file name describes the contents", files::names),
    ("one module style", files::module_style),
    ("each crate uses only what its row in ARCHITECTURE.md allows", manifests::layers),
    ("versions are in the workspace manifest only", manifests::versions),
    ("the core is pure", words::pure_core),
    ("no unfinished marks", words::leftovers),
    ("only the public registry is named", words::registries),
    ("no path of one machine", words::machine_paths),
    ("plain technical English", words::plain_english),
    ("only the engine sees the state", code::state_is_private),
    ("one type name, one idea", code::type_names),
    ("documents name only what exists", documents::names_exist),
];

pub fn run() -> Result<ExitCode> {
    let tree = Tree::read(&cargo::root())?;
    for note in files::getting_long(&tree) {
        println!("look twice: {}: {}", note.path, note.what);
    }
    let mut wrong = 0;
    for (name, rule) in RULES {
        for finding in rule(&tree) {
            println!("{}: {} (rule: {name})", finding.path, finding.what);
            wrong += 1;
        }
    }
    println!("tidy: {} files, {} rules, {wrong} findings", tree.files.len(), RULES.len());
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A tree of these files, for tests.
#[cfg(test)]
pub fn tree(files: &[(&str, &str)]) -> Tree {
    let file = |&(path, text): &(&str, &str)| File { path: path.into(), text: text.into() };
    Tree { files: files.iter().map(file).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_exists_if_it_has_a_file() {
        let tree = tree(&[("docs/guides/operating.md", "")]);
        assert!(tree.has("docs/guides/operating.md") && tree.has("docs/guides/"));
        assert!(!tree.has("docs/guides/op") && !tree.has("guides"));
    }

    #[test]
    fn the_tree_is_read_without_build_output() {
        let tree = Tree::read(&cargo::root()).unwrap();
        assert!(tree.has("xtask/src/tidy.rs") && tree.has(".ci/run"));
        assert!(!tree.has("target") && !tree.has(".git"));
    }
}
