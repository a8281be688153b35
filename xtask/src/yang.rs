//! Checks our YANG modules, and the replies of the RESTCONF tests against them, with pyang and yanglint.
//!
//! The RESTCONF tests write every reply to the folder that [`REPLIES`] names. The checker is in `conformance/restconf`.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{cargo, python, tools};

const CHECKER: &str = "conformance/restconf";

const MODULES: &str = "crates/face-restconf/yang";

/// The variable that names the folder for the replies.
pub const REPLIES: &str = "ALLOD_REPLIES";

/// The checker, ready to start. Runs the RESTCONF tests first unless their replies exist already.
pub fn checker(replies_exist: bool) -> Result<Command> {
    tools::ensure(&tools::FOR_YANG)?;
    let python = python::ensure(python::YANG)?;
    if !replies_exist {
        write_replies()?;
    }
    let root = cargo::root();
    let mut checker = Command::new(python);
    checker
        .args(["-m", "validate"])
        .args([root.join(MODULES), replies()?, root.join(CHECKER).join("wrong")])
        .current_dir(root.join(CHECKER))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(checker)
}

fn replies() -> Result<PathBuf> {
    Ok(cargo::target_dir()?.join("restconf-replies"))
}

/// The folder for the replies, without those of an earlier run.
pub fn empty_replies() -> Result<PathBuf> {
    let replies = replies()?;
    if replies.exists() {
        std::fs::remove_dir_all(&replies).context("old replies cannot be removed")?;
    }
    std::fs::create_dir_all(&replies).context("the folder for replies cannot be created")?;
    Ok(replies)
}

fn write_replies() -> Result<()> {
    // The whole workspace, so that nothing is built again with other features.
    let status = cargo::cargo()
        .args(["test", "--workspace", "--locked", "--quiet", "--test", "it", "--"])
        .args(["id_manager::", "resource_pools::", "protocol::"])
        .env(REPLIES, empty_replies()?)
        .stdout(Stdio::null())
        .status()
        .context("cargo cannot be started")?;
    if !status.success() {
        bail!("the RESTCONF tests fail, so their replies cannot be checked");
    }
    Ok(())
}
