//! Rules about words that a file may not contain.
//!
//! The words are composed of parts, so that this file passes its own rules.

use super::{Finding, Tree, finding};

/// Words that the core may not contain, with the reason.
const IMPURE: [(&str, &str); 10] = [
    (concat!("System", "Time"), "time arrives in the stamp"),
    (concat!("Inst", "ant"), "time arrives in the stamp"),
    (concat!("std::", "fs"), "the core has no IO"),
    (concat!("Tcp", "Stream"), "the core has no IO"),
    (concat!("Tcp", "Listener"), "the core has no IO"),
    (concat!("print", "ln!"), "the core does not log"),
    (concat!("eprint", "ln!"), "the core does not log"),
    (concat!("std::", "thread"), "threads belong to the engine"),
    (concat!("std::", "env"), "settings arrive as arguments"),
    (concat!("tracing", "::"), "the core does not log"),
];

const UNFINISHED: [&str; 6] = [
    concat!("#[ign", "ore"),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("db", "g!("),
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
];

/// The only source that a lock file may name.
const PUBLIC_REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

const REGISTRY_WORDS: [&str; 7] = [
    concat!("replace-", "with"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("sparse", "+http"),
    concat!("pypi", ".org"),
    concat!("npmjs", ".org"),
    concat!("deb.", "debian.org"),
];

const MACHINE_PATHS: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];

/// Words that give away unclear text, matched as whole words in any case. STYLE of this project: plain technical English.
const DIALECT: [&str; 9] = [
    concat!("who", "ever"),
    concat!("no", "body"),
    concat!("some", "body"),
    concat!("any", "body"),
    concat!("every", "body"),
    concat!("an", "ew"),
    concat!("to", "ld"),
    concat!("to be ", "had"),
    concat!("without a ", "word"),
];

/// Files with texts that peers' clients rely on, byte for byte, and other people's texts.
const PEER_TEXTS: [&str; 3] = ["LICENSE", "Cargo.lock", UNIX_USER];

/// Names a Unix account.
const UNIX_USER: &str = "crates/testkit/src/postgres/installed.rs";

/// The lines of a Rust file without comment lines.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Whether `line` contains `word`, not as the end of a longer name.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

pub fn pure_core(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.under("crates/core/src/") {
        for (number, line) in code_lines(&file.text) {
            for (word, instead) in IMPURE {
                if has_word(line, word) {
                    let what = format!("line {}: {word}: {instead}", number + 1);
                    found.push(finding(&file.path, what));
                }
            }
        }
    }
    found
}

pub fn plain_english(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let ours =
        tree.files.iter().filter(|file| !PEER_TEXTS.iter().any(|peer| file.path.starts_with(peer)));
    for file in ours {
        for (number, line) in file.text.lines().enumerate() {
            let line = line.to_lowercase();
            for word in DIALECT.iter().filter(|word| has_whole_word(&line, word)) {
                found.push(finding(&file.path, format!("line {}: '{word}'", number + 1)));
            }
        }
    }
    found
}

/// Whether `line` contains `word` with no letter before or after it. An underscore ends a word, so that test names count.
fn has_whole_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
}

pub fn leftovers(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.rust() {
        for (number, line) in file.text.lines().enumerate() {
            for word in UNFINISHED.iter().filter(|word| line.contains(**word)) {
                found.push(finding(&file.path, format!("line {}: {word}", number + 1)));
            }
        }
    }
    found
}

pub fn registries(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        let lock = file.path.ends_with("Cargo.lock");
        for (number, line) in file.text.lines().enumerate() {
            let foreign = lock && line.starts_with("source = ") && !line.contains(PUBLIC_REGISTRY);
            if foreign || REGISTRY_WORDS.iter().any(|word| line.contains(word)) {
                found.push(finding(&file.path, format!("line {}: {}", number + 1, line.trim())));
            }
        }
    }
    found
}

pub fn machine_paths(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| file.path != "LICENSE") {
        for (number, line) in file.text.lines().enumerate() {
            for path in MACHINE_PATHS.iter().filter(|path| has_word(line, path)) {
                found.push(finding(&file.path, format!("line {}: {path}", number + 1)));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    #[test]
    fn a_clock_in_the_core_is_found_but_not_in_a_comment() {
        let clock = format!("let now = std::time::{}::now();\n", IMPURE[1].0);
        let comment = format!("// {} is not used here\n", IMPURE[1].0);
        let tree = tree(&[
            ("crates/core/src/decide/claim.rs", &clock),
            ("crates/core/src/pool.rs", &comment),
            ("crates/engine/src/stamp.rs", &clock),
        ]);
        let found = pure_core(&tree);
        assert_eq!(found.len(), 1);
        assert!(found[0].path.ends_with("claim.rs") && found[0].what.contains("the stamp"));
    }

    #[test]
    fn each_impure_word_is_found() {
        for (word, _) in IMPURE {
            assert!(!pure_core(&tree(&[("crates/core/src/a.rs", word)])).is_empty(), "{word}");
        }
    }

    #[test]
    fn each_unfinished_mark_is_found() {
        for word in UNFINISHED {
            assert_eq!(leftovers(&tree(&[("crates/edge/src/a.rs", word)])).len(), 1, "{word}");
        }
        assert_eq!(leftovers(&tree(&[("a.rs", "//! What it is.\n")])), []);
    }

    #[test]
    fn a_foreign_registry_is_found_in_settings_and_in_the_lock_file() {
        let settings = format!("[source.crates-io]\n{} = \"mirror\"\n", REGISTRY_WORDS[0]);
        assert_eq!(registries(&tree(&[(".cargo/config.toml", &settings)])).len(), 1);
        let lock =
            format!("source = \"{PUBLIC_REGISTRY}\"\nsource = \"registry+https://mirror/index\"\n");
        assert_eq!(registries(&tree(&[("Cargo.lock", &lock)])).len(), 1);
    }

    #[test]
    fn a_path_of_one_machine_is_found_but_not_a_web_address() {
        let text = format!(
            "see {}me/notes\nhttps://example.net/home{}\n",
            MACHINE_PATHS[0], MACHINE_PATHS[0]
        );
        assert_eq!(machine_paths(&tree(&[("docs/a.md", &text)])).len(), 1);
    }

    #[test]
    fn each_unclear_word_is_found_as_a_whole_word() {
        for word in DIALECT {
            let texts = [format!("It is {word}."), format!("fn {word}_x()"), word.to_uppercase()];
            for text in texts {
                assert_eq!(plain_english(&tree(&[("docs/a.md", &text)])).len(), 1, "{text}");
            }
            let longer = format!("x{word}x");
            assert_eq!(plain_english(&tree(&[("docs/a.md", &longer)])), []);
        }
    }
}
