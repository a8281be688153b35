//! Starts and stops the servers under test as child processes.

use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::caller::Caller;

/// How long a server may take to start, including the replay of a large journal.
const START_MAX: Duration = Duration::from_secs(120);
const STOP_MAX: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct BenchServer {
    child: Child,
    pub address: SocketAddr,
    /// From the start of the process until it was ready.
    pub ready_after: Duration,
}

impl BenchServer {
    /// Starts `allod serve` and waits until it is ready. Its log goes to a file in `scratch`.
    pub fn allod(data: &Path, scratch: &Path, more: &[&str]) -> Result<BenchServer> {
        let program = server_binary();
        let address = free_address()?;
        let log = scratch.join("allod.log");
        let mut command = Command::new(&program);
        command.args(["serve", "--listen", &address.to_string(), "--data"]).arg(data).args(more);
        command.stdin(Stdio::null()).stdout(File::create(&log)?).stderr(File::create(&log)?);
        let started = start(command, &program, address, |address| {
            let ready =
                Caller::connect(address).and_then(|mut caller| caller.call("GET", "/readyz", None));
            ready.is_ok_and(|(status, _)| status == 200)
        });
        started.with_context(|| {
            format!("its log: {}", std::fs::read_to_string(&log).unwrap_or_default().trim())
        })
    }

    /// Starts the bare server, with answers of this length.
    pub fn bare(reply_bytes: usize) -> Result<BenchServer> {
        BenchServer::start_bare(reply_bytes, None)
    }

    /// The same, with claims that are synced to a file.
    pub fn bare_with_syncs(reply_bytes: usize, file: &Path) -> Result<BenchServer> {
        BenchServer::start_bare(reply_bytes, Some(file))
    }

    fn start_bare(reply_bytes: usize, file: Option<&Path>) -> Result<BenchServer> {
        let program = std::env::current_exe()?;
        let address = free_address()?;
        let mut command = Command::new(&program);
        command.arg("bare").arg(address.to_string()).arg(reply_bytes.to_string()).args(file);
        command.stdin(Stdio::null());
        start(command, &program, address, |address| TcpStream::connect(address).is_ok())
    }

    /// Memory of the process that is in use now.
    pub fn resident_bytes(&self) -> Result<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.map(|kib| kib * 1024).context("cannot read the memory of a process from /proc")
    }

    /// Sends a signal to the process.
    pub fn signal(&self, name: &str) -> Result<()> {
        signal(&self.child, name)
    }

    /// Stops the server and waits for its end.
    pub fn stop(mut self) -> Result<()> {
        stop(&mut self.child, "TERM", STOP_MAX)
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        // Errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(
    mut command: Command,
    program: &Path,
    address: SocketAddr,
    ready: impl Fn(SocketAddr) -> bool,
) -> Result<BenchServer> {
    let begun = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
    let mut server = BenchServer { child, address, ready_after: Duration::ZERO };
    while !ready(address) {
        if let Some(status) = server.child.try_wait()? {
            bail!("{} ended at once with {status}", program.display());
        }
        if begun.elapsed() > START_MAX {
            bail!("{} is not ready after {} s", program.display(), START_MAX.as_secs());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    server.ready_after = begun.elapsed();
    Ok(server)
}

/// Sends a signal to a child process.
pub fn signal(child: &Child, name: &str) -> Result<()> {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    if !sent.context("cannot start kill")?.success() {
        bail!("cannot signal process {}", child.id());
    }
    Ok(())
}

/// Sends a signal to a child process and waits for its end.
pub fn stop(child: &mut Child, name: &str, wait_max: Duration) -> Result<()> {
    signal(child, name)?;
    let begun = Instant::now();
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!("it stopped with {status}"),
            None if begun.elapsed() > wait_max => bail!("it does not stop"),
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// `ALLOD_BENCH_SERVER`, or the binary beside this one.
pub fn server_binary() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    std::env::var_os("ALLOD_BENCH_SERVER")
        .map_or_else(|| own.with_file_name("allod"), PathBuf::from)
}

/// An unused loopback address.
pub fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// A temporary folder, in `ALLOD_BENCH_DIR` or the working directory. The system's temporary folder may be in memory, which
/// would not measure durability.
pub fn scratch() -> Result<TempDir> {
    let parent = std::env::var("ALLOD_BENCH_DIR").unwrap_or_else(|_| "/var/tmp".into());
    tempfile::Builder::new()
        .prefix("allod-bench-")
        .tempdir_in(&parent)
        .with_context(|| format!("cannot create a folder in {parent}"))
}
