//! A temporary PostgreSQL server for a test or a benchmark: a new cluster in a directory, with a socket in it. It can
//! be stopped, killed and restarted, and may have a standby.
//!
//! It listens on no port by default and does not touch existing clusters.

mod installed;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::installed::Installed;

const DEFAULT_PORT: u16 = 5432;

/// The database user.
pub const USER: &str = "allod";

/// Small and fast. Tests may add settings: the last value of a setting counts.
const SETTINGS: [&str; 7] = [
    "listen_addresses=",
    "max_connections=60",
    "shared_buffers=32MB",
    "jit=off",
    "autovacuum=off",
    "max_parallel_workers_per_gather=0",
    "wal_receiver_status_interval=1s",
];

/// Stops the server and removes its directory when the test ends, in whatever way: it reads until its standard input is
/// closed, which the kernel does even if the test is killed.
const CLEANUP_SCRIPT: &str = r#"cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ] && grep -qF "$1" "/proc/$pid/cmdline" 2>/dev/null; then
    kill -s QUIT "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
fi
rm -rf "$1""#;

#[derive(Debug)]
pub struct Cluster {
    installed: Installed,
    /// Contains the data, the socket and the log.
    home: PathBuf,
    /// The port, which is part of the name of the socket.
    port: u16,
    settings: Vec<String>,
    server: Option<Child>,
    cleanup: Child,
}

impl Cluster {
    /// Starts a new cluster in a temporary directory, with these settings besides the default ones. It does not sync:
    /// tests kill processes, never the machine.
    pub fn start(settings: &[&str]) -> Result<Cluster> {
        let home = tempfile::Builder::new().prefix("allod-pg-").tempdir()?.keep();
        let mut all = vec!["fsync=off"];
        all.extend(settings);
        Cluster::start_in(&home, &all)
    }

    /// Starts a new cluster in this empty directory, with these settings besides the default ones.
    pub fn start_in(home: &Path, settings: &[&str]) -> Result<Cluster> {
        let mut cluster = Cluster::new(home, settings)?;
        let mut init = cluster.command("initdb")?;
        init.args(["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--username"]);
        cluster.run(init.arg(USER).arg("-D").arg(cluster.data()))?;
        cluster.resume()?;
        Ok(cluster)
    }

    /// Starts a standby of this cluster with this application name.
    pub fn standby(&self, name: &str, settings: &[&str]) -> Result<Cluster> {
        let home = tempfile::Builder::new().prefix("allod-pg-").tempdir()?.keep();
        let mut all = vec!["fsync=off"];
        all.extend(settings);
        let mut standby = Cluster::new(&home, &all)?;
        let from = format!(
            "host={} port={} user={USER} application_name={name}",
            self.home.display(),
            self.port
        );
        let mut copy = standby.command("pg_basebackup")?;
        copy.args(["--checkpoint=fast", "--no-sync", "--write-recovery-conf", "-d", &from, "-D"]);
        standby.run(copy.arg(standby.data()))?;
        standby.resume()?;
        Ok(standby)
    }

    fn new(home: &Path, settings: &[&str]) -> Result<Cluster> {
        let installed = Installed::find()?;
        if let Some((uid, gid)) = installed.account {
            chown(home, Some(uid), Some(gid))?;
        }
        // Clients need access to the socket, and the server's account to its data.
        fs::set_permissions(home, Permissions::from_mode(0o755))?;
        let mut cleanup = Command::new("sh");
        cleanup.args(["-c", CLEANUP_SCRIPT, "cleanup"]).arg(home).process_group(0);
        let cleanup = cleanup.stdin(Stdio::piped()).spawn().context("cannot run sh")?;
        let port = settings.iter().find_map(|setting| setting.strip_prefix("port=")?.parse().ok());
        let port = port.unwrap_or(DEFAULT_PORT);
        let settings = SETTINGS.iter().chain(settings).map(|&setting| setting.to_owned()).collect();
        Ok(Cluster { installed, home: home.to_owned(), port, settings, server: None, cleanup })
    }

    fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    /// A PostgreSQL program, run as the right account.
    fn command(&self, program: &str) -> Result<Command> {
        let log = File::options().create(true).append(true).open(self.home.join("log"))?;
        let mut command = Command::new(self.installed.programs.join(program));
        command.current_dir(&self.home).stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        if let Some((uid, gid)) = self.installed.account {
            command.uid(uid).gid(gid);
        }
        Ok(command)
    }

    fn run(&self, command: &mut Command) -> Result<()> {
        let done = command.status().with_context(|| format!("cannot run {command:?}"))?;
        if !done.success() {
            bail!("{command:?} failed: {}", self.log());
        }
        Ok(())
    }

    /// The last lines of the server's log.
    pub fn log(&self) -> String {
        let text = fs::read_to_string(self.home.join("log")).unwrap_or_default();
        let mut lines: Vec<&str> = text.lines().rev().take(8).collect();
        lines.reverse();
        format!("the last lines of its log: {}", lines.join(" / "))
    }

    /// Adds a file to the data directory that only the server may read.
    pub fn put_file(&self, name: &str, text: &str) -> Result<()> {
        let path = self.data().join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        if let Some((uid, gid)) = self.installed.account {
            chown(&path, Some(uid), Some(gid))?;
        }
        Ok(())
    }

    /// Adds settings for the next start.
    pub fn add_settings(&mut self, settings: &[&str]) {
        self.settings.extend(settings.iter().map(|&setting| setting.to_owned()));
    }

    /// Restarts the server after a stop or a kill, and waits until it accepts connections.
    pub fn resume(&mut self) -> Result<()> {
        let status = self.data().join("postmaster.pid");
        // A killed server leaves this file behind.
        let _ = fs::remove_file(&status);
        let mut server = self.command("postgres")?;
        server.arg("-D").arg(self.data()).arg("-k").arg(&self.home);
        server.args(self.settings.iter().flat_map(|setting| ["-c", setting]));
        // In a process group of its own, so that Ctrl-C does not stop it before its clients.
        let child = server.process_group(0).spawn().context("cannot run postgres")?;
        let child = self.server.insert(child);
        let begun = Instant::now();
        // The server writes its status to this file.
        let ready = || {
            let text = fs::read_to_string(&status).unwrap_or_default();
            ["ready", "standby"].contains(&text.trim_end().rsplit('\n').next().unwrap_or("").trim())
        };
        while !ready() {
            if let Some(status) = child.try_wait()? {
                bail!("postgres ended with {status}: {}", self.log());
            }
            if begun.elapsed() > Duration::from_secs(60) {
                bail!("postgres is not ready after a minute: {}", self.log());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // A standby reports its status before it accepts connections.
        while self.sql("SELECT 1").is_err() {
            if begun.elapsed() > Duration::from_secs(60) {
                bail!("postgres accepts no connections after a minute: {}", self.log());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// A fast shutdown: connections are closed and committed data is written.
    pub fn stop(&mut self) -> Result<()> {
        let Some(mut server) = self.server.take() else { return Ok(()) };
        signal(server.id(), "INT")?;
        server.wait()?;
        Ok(())
    }

    /// Kills all processes of the server. Backends first, because they would finish their work otherwise. All must be
    /// gone before another server uses the same data.
    pub fn kill(&mut self) -> Result<()> {
        let Some(mut server) = self.server.take() else { return Ok(()) };
        for pid in self.processes().into_iter().filter(|&pid| pid != server.id()) {
            let _ = signal(pid, "KILL");
        }
        server.kill()?;
        server.wait()?;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return Ok(());
            }
            for pid in left {
                // It may have ended in between.
                let _ = signal(pid, "KILL");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops all processes of the server without ending them: connections are accepted, and nothing answers. Killing it
    /// works as usual.
    pub fn freeze(&self) -> Result<()> {
        // The server may start a process while they are being stopped, so until there is no further one.
        let mut frozen = Vec::new();
        loop {
            let mut new = self.processes();
            new.retain(|pid| !frozen.contains(pid));
            if new.is_empty() {
                return Ok(());
            }
            for pid in new {
                // It may have ended in between.
                let _ = signal(pid, "STOP");
                frozen.push(pid);
            }
        }
    }

    /// Lets a frozen server continue.
    pub fn thaw(&self) -> Result<()> {
        self.processes().into_iter().try_for_each(|pid| signal(pid, "CONT"))
    }

    /// The processes whose working directory is the data directory, which are the server's.
    fn processes(&self) -> Vec<u32> {
        let (data, all) = (self.data(), fs::read_dir("/proc").into_iter().flatten().flatten());
        all.filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            (fs::read_link(entry.path().join("cwd")).ok()? == data).then_some(pid)
        })
        .collect()
    }

    /// Promotes a standby to primary.
    pub fn promote(&self) -> Result<()> {
        let mut command = self.command("pg_ctl")?;
        self.run(command.args(["promote", "--wait", "-D"]).arg(self.data()))
    }

    /// Runs a statement and returns a line for each row, with `|` between columns.
    pub fn sql(&self, text: &str) -> Result<String> {
        let mut psql = Command::new(self.installed.programs.join("psql"));
        psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-U", USER]);
        psql.args(["-p", &self.port.to_string()]);
        let done = psql.arg("-h").arg(&self.home).arg("-c").arg(text).output();
        let done = done.context("cannot run psql")?;
        if !done.status.success() {
            bail!("{text}: {}", String::from_utf8_lossy(&done.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }

    /// Changes a setting permanently and reloads the configuration.
    pub fn set(&self, name: &str, value: &str) -> Result<()> {
        self.sql(&format!("ALTER SYSTEM SET {name} = '{value}'"))?;
        self.sql("SELECT pg_reload_conf()")?;
        self.wait_for(&format!("SELECT current_setting('{name}')"), value)
    }

    /// Repeats a query until it returns this answer.
    pub fn wait_for(&self, question: &str, answer: &str) -> Result<()> {
        let begun = Instant::now();
        loop {
            let said = self.sql(question)?;
            if said == answer {
                return Ok(());
            }
            if begun.elapsed() > Duration::from_secs(30) {
                bail!("{question} returns '{said}' instead of '{answer}': {}", self.log());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The directory of the socket, which accepts every user.
    pub fn socket(&self) -> &Path {
        &self.home
    }

    /// The host part of the URL.
    pub fn host(&self) -> String {
        self.home.display().to_string().replace('/', "%2F")
    }

    /// The connection URL.
    pub fn url(&self) -> String {
        format!("postgres://{USER}@{}/postgres", self.host())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.kill());
        drop(self.cleanup.stdin.take());
        drop(self.cleanup.wait());
    }
}

/// Sends a signal by name to a process that we started.
pub fn signal(pid: u32, name: &str) -> Result<()> {
    let mut kill = Command::new("kill");
    let sent = kill.args(["-s", name, &pid.to_string()]).stderr(Stdio::null()).status();
    if !sent.context("cannot run kill")?.success() {
        bail!("cannot send a signal to process {pid}");
    }
    Ok(())
}
