//! A PostgreSQL server of our own, for the length of a scenario: a new cluster in a folder, on a socket in that folder.
//!
//! It listens on no port and touches no cluster that is there already.

use std::fs::{File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process;

/// Set for throughput on a small machine, as one who knows PostgreSQL would for such a table. Everything about
/// durability stays as it is by default, which is on.
const SETTINGS: [&str; 12] = [
    "listen_addresses=",
    "max_connections=100",
    "shared_buffers=512MB",
    "wal_buffers=16MB",
    "max_wal_size=4GB",
    "checkpoint_timeout=30min",
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "jit=off",
    "track_activities=off",
    "max_parallel_workers_per_gather=0",
];

#[derive(Debug)]
pub struct Postgres {
    child: Child,
    /// The folder of its socket.
    pub socket: PathBuf,
}

impl Postgres {
    /// Creates a cluster below `folder` and starts it.
    pub fn start(folder: &Path) -> Result<Postgres> {
        let programs = programs()?;
        let account = account()?;
        let data = folder.join("pg");
        std::fs::create_dir(&data)?;
        if let Some((uid, gid)) = account {
            chown(&data, Some(uid), Some(gid))?;
            // The other account has to get through to its own folder.
            std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        }
        let log = File::create(folder.join("postgres.log"))?;
        let run_as = |program: &str| -> Result<Command> {
            let mut command = Command::new(programs.join(program));
            command.current_dir(&data).stdin(Stdio::null());
            command.stdout(log.try_clone()?).stderr(log.try_clone()?);
            if let Some((uid, gid)) = account {
                command.uid(uid).gid(gid);
            }
            Ok(command)
        };
        let cluster = data.join("cluster");
        let mut init = run_as("initdb")?;
        init.args([
            "--username=bench",
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
            "-D",
        ]);
        let made = init.arg(&cluster).status().context("initdb cannot be started")?;
        if !made.success() {
            bail!("initdb failed: {}", read_log(folder));
        }
        let mut server = run_as("postgres")?;
        server.arg("-D").arg(&cluster).arg("-k").arg(&data);
        server.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        let child = server.spawn().context("postgres cannot be started")?;
        let mut started = Postgres { child, socket: data };
        started.wait_until_ready().with_context(|| read_log(folder))?;
        Ok(started)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let begun = Instant::now();
        // The server itself writes into this file how far it has come.
        let status = self.socket.join("cluster/postmaster.pid");
        let ready = || {
            std::fs::read_to_string(&status).is_ok_and(|text| text.trim_end().ends_with("ready"))
        };
        while !ready() {
            if let Some(status) = self.child.try_wait()? {
                bail!("postgres ended with {status}");
            }
            if begun.elapsed() > Duration::from_secs(60) {
                bail!("postgres is not ready after a minute");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// How to reach it.
    pub fn config(&self) -> tokio_postgres::Config {
        let mut config = tokio_postgres::Config::new();
        config.host_path(&self.socket).user("bench").dbname("postgres");
        config
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGINT is its quick way to stop. If that fails there is only the hard way left.
        if process::stop(&mut self.child, "INT", Duration::from_secs(30)).is_err() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn read_log(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join("postgres.log")).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    format!(
        "the last lines of its log: {}",
        lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
    )
}

/// The folder of the newest installed server. Debian keeps it off the path.
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
        .context("there is no PostgreSQL server; cargo xtask test installs one")
}

/// PostgreSQL refuses to run as root: the account to run it under then, by user and group. `None`: our own.
fn account() -> Result<Option<(u32, u32)>> {
    let own = Command::new("id").arg("-u").output().context("id cannot be started")?;
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
    ids.map(Some).context("there is no account 'postgres' or 'nobody' to run PostgreSQL under")
}
