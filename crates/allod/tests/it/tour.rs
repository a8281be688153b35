//! Runs the tours of the README and of the guides: their commands run in a shell in an empty folder against a real server,
//! and each must print what the document shows beneath it.
//!
//! A `sh` block of a tour is a list of commands, each followed by its output in lines that start with `# `. In the output `…`
//! stands for anything: members of an object, items of a list, any text. A command without output must print nothing. A
//! watch would never end, so the test stops it after two seconds.

mod answer;
mod block;

use std::path::Path;
use std::process::{Command, Stdio};

use allod_testkit::postgres::{Cluster, USER};
use allod_testkit::server::Server;

/// The address of the server in the documents.
const DOCUMENTED: [&str; 2] = ["localhost:8778", "127.0.0.1:8778"];

/// The database in the documents.
const DOCUMENTED_DATABASE: &str = "postgres://inventory@localhost:5432/inventory";

/// Printed between the outputs of two steps.
const MARK: &str = "----8<----";

/// `curl` prints a progress meter if its output is not a terminal, so it gets `-sS` here. stderr comes with stdout.
const FUNCTIONS: &str = r#"
exec 2>&1
real_curl=$(command -v curl)
curl() {
  case "$*" in
    */v1/watch*) timeout -s INT 2 "$real_curl" -sS "$@" ;;
    *) "$real_curl" -sS "$@" ;;
  esac
}
allod() {
  case "$1" in
    watch) timeout -s INT 2 "$real_allod" "$@" ;;
    *) "$real_allod" "$@" ;;
  esac
}
"#;

/// Starts the server as the README does, but with another port and data folder.
fn start(folder: &Path) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allod"));
    command.arg("serve").current_dir(folder).stdin(Stdio::null());
    command.env_clear().env("ALLOD_LISTEN", "127.0.0.1:0");
    Server::of(command)
}

#[test]
fn readme_tour_prints_what_it_shows() {
    let readme = include_str!("../../../../README.md");
    assert!(readme.contains("-- serve "), "the README says how to start the server");
    check(block::section(readme, "A two-minute tour"));
}

#[test]
fn getting_started_prints_what_it_shows() {
    check(include_str!("../../../../docs/getting-started.md"));
}

#[test]
fn command_line_tour_prints_what_it_shows() {
    check(block::section(include_str!("../../../../docs/guides/cli.md"), "A tour"));
}

#[test]
fn capacity_tour_prints_what_it_shows() {
    check(block::section(include_str!("../../../../docs/guides/capacity.md"), "A tour"));
}

#[test]
fn resource_manager_tour_prints_what_it_shows() {
    let guide = include_str!("../../../../docs/guides/resource-manager.md");
    let sections = ["A tour", "An allocator of your own"].map(|name| block::section(guide, name));
    check(&sections.join("\n"));
}

#[test]
fn restconf_tour_prints_what_it_shows() {
    check(block::section(include_str!("../../../../docs/guides/restconf.md"), "A tour"));
}

#[test]
fn id_manager_tour_prints_what_it_shows() {
    check(block::section(include_str!("../../../../docs/guides/id-manager.md"), "A tour"));
}

#[test]
fn external_inventories_tour_prints_what_it_shows() {
    let database = Cluster::start(&[]).unwrap();
    let guide = include_str!("../../../../docs/guides/external-inventories.md");
    let tour = block::section(guide, "A PostgreSQL table in ten minutes");
    let tour = tour.replace(DOCUMENTED_DATABASE, &database.url());
    let host = database.socket().display().to_string();
    check_in(&tour, &[("PGHOST", &host), ("PGUSER", USER), ("PGDATABASE", "postgres")]);
}

/// Runs every step of a text on a new server and compares the outputs.
fn check(text: &str) {
    check_in(text, &[]);
}

/// The same with these variables in the environment of the commands.
fn check_in(text: &str, variables: &[(&str, &str)]) {
    let steps = block::steps(text);
    assert!(steps.len() > 5, "there are only {} steps in this tour", steps.len());
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let address = server.address.to_string();
    let actual = |text: &str| {
        DOCUMENTED.iter().fold(text.to_owned(), |text, usual| text.replace(usual, &address))
    };
    let mut script = FUNCTIONS.to_owned();
    for step in &steps {
        script.push_str(&format!("{}\nprintf '%s\\n' '{MARK}'\n", actual(&step.commands)));
    }
    let output = Command::new("timeout")
        .args(["60", "sh", "-c", &script])
        .current_dir(folder.path())
        .env("real_allod", env!("CARGO_BIN_EXE_allod"))
        .env("ALLOD_SERVER", format!("http://{address}"))
        .env("NO_COLOR", "1")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let outputs: Vec<&str> = output.split(&format!("{MARK}\n")).collect();
    assert_eq!(outputs.len(), steps.len() + 1, "the script ended early:\n{output}");
    let mut wrong = String::new();
    for (step, got) in steps.iter().zip(outputs) {
        let (expected, got) = (actual(&step.output), got.trim_end());
        if !answer::fits(&expected, got) {
            let commands = &step.commands;
            wrong.push_str(&format!("\n{commands}\n  expected:\n{expected}\n  got:\n{got}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
