//! Servers under test: started as processes of their own, stopped by their own process id.

use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::caller::Caller;

/// How long a server may take to start; reading a large journal counts.
const START_MAX: Duration = Duration::from_secs(120);
const STOP_MAX: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    /// From the start of the process until it was ready.
    pub ready_after: Duration,
}

impl Server {
    /// `allod serve` on this data folder, ready to answer. Its log goes to a file in `scratch`.
    pub fn allod(data: &Path, scratch: &Path, more: &[&str]) -> Result<Server> {
        let program = std::env::var_os("ALLOD_BENCH_SERVER").map_or_else(beside_us, PathBuf::from);
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

    /// The bare server, with answers of this length.
    pub fn bare(reply_bytes: usize) -> Result<Server> {
        let program = std::env::current_exe()?;
        let address = free_address()?;
        let mut command = Command::new(&program);
        command.arg("bare").arg(address.to_string()).arg(reply_bytes.to_string());
        command.stdin(Stdio::null());
        start(command, &program, address, |address| TcpStream::connect(address).is_ok())
    }

    /// Memory of the process that is in use now.
    pub fn resident_bytes(&self) -> Result<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.map(|kib| kib * 1024).context("the system does not say how much memory a process has")
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(mut self) -> Result<()> {
        stop(&mut self.child, "TERM", STOP_MAX)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail when it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(
    mut command: Command,
    program: &Path,
    address: SocketAddr,
    ready: impl Fn(SocketAddr) -> bool,
) -> Result<Server> {
    let begun = Instant::now();
    let child =
        command.spawn().with_context(|| format!("{} cannot be started", program.display()))?;
    let mut server = Server { child, address, ready_after: Duration::ZERO };
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

/// Sends a signal by name to our own child.
pub fn signal(child: &Child, name: &str) -> Result<()> {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    if !sent.context("kill cannot be started")?.success() {
        bail!("process {} cannot be signalled", child.id());
    }
    Ok(())
}

/// The same, and waits for its end.
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

fn beside_us() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.with_file_name("allod")
}

/// An address on loopback that nothing listens on at the moment.
pub fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// A folder for one scenario, gone afterwards. Not in the folder for temporary files, which may be in memory: what is
/// measured is durability. `ALLOD_BENCH_DIR` names another place.
pub fn scratch() -> Result<TempDir> {
    let parent = std::env::var("ALLOD_BENCH_DIR").unwrap_or_else(|_| "/var/tmp".into());
    tempfile::Builder::new()
        .prefix("allod-bench-")
        .tempdir_in(&parent)
        .with_context(|| format!("no folder can be made in {parent}"))
}
