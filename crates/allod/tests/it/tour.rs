//! The tours of the README and of guides, copied and pasted: their commands run in a shell in an empty folder against a real
//! server, and each must answer what stands beneath it.
//!
//! A block of the tour is a list of commands, each followed by its answer in lines that start with `# `. In an answer `…`
//! stands for anything: members of an object, items of a list, any text. `curl` shows the status before the body, which the
//! README does too; a watch, which would never end, is ended after a moment.

mod answer;
mod block;

use std::path::Path;
use std::process::{Command, Stdio};

use allod_testkit::server::Server;

/// Where the documents say that the server listens.
const USUAL: [&str; 2] = ["localhost:8778", "127.0.0.1:8778"];

/// Stands between the answers of two commands.
const MARK: &str = "----8<----";

const FUNCTIONS: &str = r#"
real_curl=$(command -v curl)
newline='
'
curl() {
  case "$*" in
    */v1/watch*) timeout -s INT 2 "$real_curl" -sSN "$@" ;;
    *)
      out=$("$real_curl" -sS -w '\n%{http_code}' "$@")
      printf '%s %s\n' "${out##*"$newline"}" "${out%"$newline"*}" ;;
  esac
}
allod() {
  case "$1" in
    watch) timeout -s INT 2 "$real_allod" "$@" ;;
    *) "$real_allod" "$@" ;;
  esac
}
"#;

/// As the README says, but for the port and the folder.
fn start(folder: &Path) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allod"));
    command.arg("serve").current_dir(folder).stdin(Stdio::null());
    command.env_clear().env("ALLOD_LISTEN", "127.0.0.1:0");
    Server::of(command)
}

#[test]
fn the_tour_of_the_readme_goes_as_it_says() {
    let readme = include_str!("../../../../README.md");
    assert!(readme.contains("-- serve "), "the README says how to start the server");
    goes_as_it_says(readme, "Five minutes");
}

#[test]
fn the_tour_of_capacity_goes_as_it_says() {
    goes_as_it_says(include_str!("../../../../docs/guides/capacity.md"), "A tour");
}

#[test]
fn the_tour_of_the_resource_manager_goes_as_it_says() {
    goes_as_it_says(include_str!("../../../../docs/guides/resource-manager.md"), "A tour");
}

#[test]
fn the_tour_of_restconf_goes_as_it_says() {
    goes_as_it_says(include_str!("../../../../docs/guides/restconf.md"), "A tour");
}

#[test]
fn the_tour_of_the_id_manager_goes_as_it_says() {
    goes_as_it_says(include_str!("../../../../docs/guides/id-manager.md"), "A tour");
}

/// Runs a section of a document.
fn goes_as_it_says(document: &str, section: &str) {
    let steps = block::steps(document, section);
    assert!(steps.len() > 5, "there are only {} steps in '{section}'", steps.len());
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let address = server.address.to_string();
    let here = |text: &str| {
        USUAL.iter().fold(text.to_owned(), |text, usual| text.replace(usual, &address))
    };
    let mut script = FUNCTIONS.to_owned();
    for step in &steps {
        script.push_str(&format!("{}\nprintf '%s\\n' '{MARK}'\n", here(&step.commands)));
    }
    let output = Command::new("timeout")
        .args(["60", "sh", "-c", &format!("exec 2>&1\n{script}")])
        .current_dir(folder.path())
        .env("real_allod", env!("CARGO_BIN_EXE_allod"))
        .env("ALLOD_SERVER", format!("http://{address}"))
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = output.split(&format!("{MARK}\n")).collect();
    assert_eq!(answers.len(), steps.len() + 1, "the shell did not get to the end:\n{output}");
    let mut wrong = String::new();
    for (step, got) in steps.iter().zip(answers) {
        let got = got.trim_end();
        if !answer::fits(&here(&step.answer), got) {
            wrong.push_str(&format!(
                "\n{}\nshould answer\n{}\nand answers\n{got}\n",
                step.commands, step.answer
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
