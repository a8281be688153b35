//! A PostgreSQL server of our own, for the length of a test or of a measurement: a new cluster in a folder, on a socket in
//! that folder. It can be stopped, killed and started again, and may have a standby.
//!
//! It listens on no port and touches no cluster that is there already. Not here: what is done with it.

mod installed;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::installed::Installed;

const PORT_USUAL: u16 = 5432;

/// The owner of everything in it.
const USER: &str = "allod";

/// Small and quick. What a test needs otherwise it says itself: the last word on a setting counts.
const SETTINGS: [&str; 7] = [
    "listen_addresses=",
    "max_connections=60",
    "shared_buffers=32MB",
    "jit=off",
    "autovacuum=off",
    "max_parallel_workers_per_gather=0",
    "wal_receiver_status_interval=1s",
];

/// Stops the server and removes its folder when the test is over, whatever way it ended: it reads until its input is
/// closed, which the kernel does for a process that was killed.
const KEEPER: &str = r#"cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ] && grep -qF "$1" "/proc/$pid/cmdline" 2>/dev/null; then
    kill -s QUIT "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
fi
rm -rf "$1""#;

#[derive(Debug)]
pub struct Cluster {
    installed: Installed,
    /// Holds the data, the socket and the log.
    home: PathBuf,
    /// Names the socket, and the port where a setting makes it listen on one.
    port: u16,
    settings: Vec<String>,
    server: Option<Child>,
    keeper: Child,
}

impl Cluster {
    /// A new cluster in the folder for temporary files, running, with these settings besides the usual ones. It does
    /// not sync: a test kills processes, never the machine.
    pub fn start(settings: &[&str]) -> Result<Cluster> {
        let home = tempfile::Builder::new().prefix("allod-pg-").tempdir()?.keep();
        let mut all = vec!["fsync=off"];
        all.extend(settings);
        Cluster::start_in(&home, &all)
    }

    /// A new cluster in this empty folder, running, with these settings besides the usual ones.
    pub fn start_in(home: &Path, settings: &[&str]) -> Result<Cluster> {
        let mut cluster = Cluster::new(home, settings)?;
        let mut init = cluster.command("initdb")?;
        init.args(["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--username"]);
        cluster.run(init.arg(USER).arg("-D").arg(cluster.data()))?;
        cluster.resume()?;
        Ok(cluster)
    }

    /// A standby of this cluster, running, which calls itself `name`.
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
        // Whoever runs the test gets through to the socket, and the server's account to its data.
        fs::set_permissions(home, Permissions::from_mode(0o755))?;
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper"]).arg(home).process_group(0);
        let keeper = keeper.stdin(Stdio::piped()).spawn().context("sh cannot be started")?;
        let port = settings.iter().find_map(|setting| setting.strip_prefix("port=")?.parse().ok());
        let port = port.unwrap_or(PORT_USUAL);
        let settings = SETTINGS.iter().chain(settings).map(|&setting| setting.to_owned()).collect();
        Ok(Cluster { installed, home: home.to_owned(), port, settings, server: None, keeper })
    }

    fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    /// A program of PostgreSQL's, under the account that it is to run under.
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
        let done = command.status().with_context(|| format!("{command:?} cannot be started"))?;
        if !done.success() {
            bail!("{command:?} failed: {}", self.log());
        }
        Ok(())
    }

    /// The last lines that the server has logged.
    pub fn log(&self) -> String {
        let text = fs::read_to_string(self.home.join("log")).unwrap_or_default();
        let mut lines: Vec<&str> = text.lines().rev().take(8).collect();
        lines.reverse();
        format!("the last lines of its log: {}", lines.join(" / "))
    }

    /// Puts a file among its data that only the server may read.
    pub fn put_file(&self, name: &str, text: &str) -> Result<()> {
        let path = self.data().join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        if let Some((uid, gid)) = self.installed.account {
            chown(&path, Some(uid), Some(gid))?;
        }
        Ok(())
    }

    /// For its next start.
    pub fn add_settings(&mut self, settings: &[&str]) {
        self.settings.extend(settings.iter().map(|&setting| setting.to_owned()));
    }

    /// Starts it again after it was stopped or killed, and waits until it answers.
    pub fn resume(&mut self) -> Result<()> {
        let status = self.data().join("postmaster.pid");
        // One that was killed leaves its own behind.
        let _ = fs::remove_file(&status);
        let mut server = self.command("postgres")?;
        server.arg("-D").arg(self.data()).arg("-k").arg(&self.home);
        server.args(self.settings.iter().flat_map(|setting| ["-c", setting]));
        // A group of its own: a key that stops the tests does not reach it before its clients.
        let child = server.process_group(0).spawn().context("postgres cannot be started")?;
        let child = self.server.insert(child);
        let begun = Instant::now();
        // The server itself writes into this file how far it has come.
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
        // A standby says that it is one before it lets anybody in.
        while self.sql("SELECT 1").is_err() {
            if begun.elapsed() > Duration::from_secs(60) {
                bail!("postgres lets nobody in after a minute: {}", self.log());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Stops it as its own tools do for a quick stop: connections are cut, what is committed is written.
    pub fn stop(&mut self) -> Result<()> {
        let Some(mut server) = self.server.take() else { return Ok(()) };
        signal(server.id(), "INT")?;
        server.wait()?;
        Ok(())
    }

    /// Kills it, with no time to do anything. Its processes outlive the first of them for a moment and must be gone, too,
    /// before another one starts on the same data.
    pub fn kill(&mut self) -> Result<()> {
        let Some(mut server) = self.server.take() else { return Ok(()) };
        server.kill()?;
        server.wait()?;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return Ok(());
            }
            for pid in left {
                // It may have ended by itself.
                let _ = signal(pid, "KILL");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The processes that work in the folder of its data, which are the server's own.
    fn processes(&self) -> Vec<u32> {
        let (data, all) = (self.data(), fs::read_dir("/proc").into_iter().flatten().flatten());
        all.filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            (fs::read_link(entry.path().join("cwd")).ok()? == data).then_some(pid)
        })
        .collect()
    }

    /// Makes a standby the primary, from where it is.
    pub fn promote(&self) -> Result<()> {
        let mut command = self.command("pg_ctl")?;
        self.run(command.args(["promote", "--wait", "-D"]).arg(self.data()))
    }

    /// Runs a statement and returns what it gives: a line for each row, `|` between columns.
    pub fn sql(&self, text: &str) -> Result<String> {
        let mut psql = Command::new(self.installed.programs.join("psql"));
        psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-U", USER]);
        psql.args(["-p", &self.port.to_string()]);
        let done = psql.arg("-h").arg(&self.home).arg("-c").arg(text).output();
        let done = done.context("psql cannot be started")?;
        if !done.status.success() {
            bail!("{text}: {}", String::from_utf8_lossy(&done.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }

    /// Sets something for good, and has the server read it.
    pub fn set(&self, name: &str, value: &str) -> Result<()> {
        self.sql(&format!("ALTER SYSTEM SET {name} = '{value}'"))?;
        self.sql("SELECT pg_reload_conf()")?;
        self.wait_for(&format!("SELECT current_setting('{name}')"), value)
    }

    /// Asks again until the answer is this one.
    pub fn wait_for(&self, question: &str, answer: &str) -> Result<()> {
        let begun = Instant::now();
        loop {
            let said = self.sql(question)?;
            if said == answer {
                return Ok(());
            }
            if begun.elapsed() > Duration::from_secs(30) {
                bail!("{question} says '{said}' and not '{answer}': {}", self.log());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The folder of its socket, in which it lets everybody in.
    pub fn socket(&self) -> &Path {
        &self.home
    }

    /// The host as it stands in an address.
    pub fn host(&self) -> String {
        self.home.display().to_string().replace('/', "%2F")
    }

    /// How to reach it.
    pub fn url(&self) -> String {
        format!("postgres://{USER}@{}/postgres", self.host())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.kill());
        drop(self.keeper.stdin.take());
        drop(self.keeper.wait());
    }
}

/// Sends a signal by its name to a process that we started.
pub fn signal(pid: u32, name: &str) -> Result<()> {
    let mut kill = Command::new("kill");
    let sent = kill.args(["-s", name, &pid.to_string()]).stderr(Stdio::null()).status();
    if !sent.context("kill cannot be started")?.success() {
        bail!("process {pid} cannot be signalled");
    }
    Ok(())
}
