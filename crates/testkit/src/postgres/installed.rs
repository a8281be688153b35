//! Finds the PostgreSQL installation and an account to run it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

#[derive(Debug, Clone)]
pub struct Installed {
    /// The directory of the programs.
    pub programs: PathBuf,
    /// The user and group to run it as, if not our own.
    pub account: Option<(u32, u32)>,
}

impl Installed {
    pub fn find() -> Result<Installed> {
        Ok(Installed { programs: programs()?, account: account()? })
    }
}

/// The directory of the newest installed server. Debian does not put it on the path.
fn programs() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    debian.sort();
    let folders = debian.into_iter().rev().map(|(_, folder)| folder);
    folders
        .chain(std::env::split_paths(&path))
        .find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
        .context("no PostgreSQL server is installed; cargo xtask test installs one")
}

/// The account to run PostgreSQL as, because it refuses to run as root; `None`: our own.
fn account() -> Result<Option<(u32, u32)>> {
    let own = Command::new("id").arg("-u").output().context("cannot run id")?;
    if own.stdout.trim_ascii() != b"0" {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd")?;
    let ids = ["postgres", "nobody"].iter().find_map(|name| {
        let mut fields = users
            .lines()
            .map(|line| line.split(':'))
            .find(|fields| fields.clone().next() == Some(name))?;
        Some((fields.nth(2)?.parse().ok()?, fields.next()?.parse().ok()?))
    });
    ids.map(Some).context("no account 'postgres' or 'nobody' exists to run PostgreSQL")
}
