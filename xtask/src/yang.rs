//! Our YANG modules, and the replies of the tests, held against pyang and yanglint, which are not ours.
//!
//! The tests of RESTCONF are run once more and leave every reply in a folder. What looks at them is in
//! `conformance/restconf`.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{cargo, python, tools};

const CHECKER: &str = "conformance/restconf";

const MODULES: &str = "crates/face-restconf/yang";

/// Tells the tests where to leave what was answered.
const REPLIES: &str = "ALLOD_REPLIES";

/// The checker, ready to be started.
pub fn checker() -> Result<Command> {
    tools::ensure(&tools::FOR_YANG)?;
    let python = python::ensure(python::YANG)?;
    let replies = cargo::target_dir()?.join("restconf-replies");
    if replies.exists() {
        std::fs::remove_dir_all(&replies).context("the replies of the last time stay")?;
    }
    std::fs::create_dir_all(&replies).context("there is no place for the replies")?;
    // For the whole workspace, because that is how everything was built before.
    let tests = ["--test", "id_manager*", "--test", "resource_pools*", "--test", "protocol*"];
    let status = cargo::cargo()
        .args(["test", "--workspace", "--locked", "--quiet"])
        .args(tests)
        .env(REPLIES, &replies)
        .stdout(Stdio::null())
        .status()
        .context("cargo cannot be started")?;
    if !status.success() {
        bail!("the tests of RESTCONF, whose replies are wanted, do not pass");
    }
    let root = cargo::root();
    let mut checker = Command::new(python);
    checker
        .args(["-m", "validate"])
        .args([root.join(MODULES), replies, root.join(CHECKER).join("wrong")])
        .current_dir(root.join(CHECKER))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(checker)
}
