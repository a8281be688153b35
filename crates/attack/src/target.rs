//! The server under attack: a process on loopback with a data folder of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use allod_testkit::largest::{LargeRequest, ReportedLimits};
use allod_testkit::server::Server;
use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::wire::{self, Exchange};

/// How much an attack sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    Full,
    /// Fewer requests, and smaller limits of the server.
    Quick,
}

impl Effort {
    pub fn pick<T>(self, full: T, quick: T) -> T {
        match self {
            Effort::Full => full,
            Effort::Quick => quick,
        }
    }
}

/// The authentication of the server under attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetAuth {
    None,
    Tokens,
}

/// One token of each kind.
#[derive(Debug, Clone)]
pub struct Tokens {
    pub reader: String,
    pub writer: String,
    /// A second writer.
    pub greedy: String,
    /// An admin of the pools that begin with `own/`.
    pub scoped: String,
    pub admin: String,
}

/// What an attack knows of its server.
#[derive(Debug)]
pub struct Target {
    pub address: SocketAddr,
    pub limits: ReportedLimits,
    pub tokens: Option<Tokens>,
    pub effort: Effort,
}

impl Target {
    /// The token of the admin, if there are tokens.
    pub fn admin(&self) -> Option<&str> {
        self.tokens.as_ref().map(|tokens| tokens.admin.as_str())
    }

    pub fn tokens(&self) -> Result<&Tokens> {
        self.tokens.as_ref().context("the attack needs a server with tokens")
    }

    /// Sends one request on a connection of its own and returns the whole answer.
    pub fn ask(&self, request: &LargeRequest) -> Result<allod_testkit::http::Response> {
        request.send(self.address, self.admin())
    }

    /// The same for a request that must succeed.
    pub fn expect(&self, request: &LargeRequest) -> Result<allod_testkit::http::Response> {
        request.expect(self.address, self.admin())
    }

    /// Sends bytes and reads until the connection ends or nothing arrives for `silence`.
    pub fn exchange(&self, bytes: &[u8], silence: Duration) -> Result<Exchange> {
        wire::exchange(self.address, bytes, silence)
    }
}

/// The server process with its folder.
pub(crate) struct RunningTarget {
    pub target: Target,
    server: Server,
    folder: TempDir,
}

fn allod(binary: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(arguments).env_clear().stdin(Stdio::null()).stdout(Stdio::null());
    command
}

impl RunningTarget {
    pub(crate) fn start(
        binary: &Path,
        auth: TargetAuth,
        flags: &[&str],
        effort: Effort,
    ) -> Result<RunningTarget> {
        // The system's temporary folder may be in memory, where writes cost nothing.
        let folder = tempfile::Builder::new().prefix("allod-attack-").tempdir_in("/var/tmp")?;
        let data = data_of(&folder);
        let data = data.to_str().context("the folder is not UTF-8")?;
        let mut command =
            allod(binary, &["serve", "--listen", "127.0.0.1:0", "--data", data, "--log", "error"]);
        let tokens_file = folder.path().join("tokens.toml");
        let tokens = match auth {
            TargetAuth::None => None,
            TargetAuth::Tokens => {
                command.args(["--auth", "tokens", "--tokens"]).arg(&tokens_file);
                Some(Tokens {
                    reader: new_token(binary, &tokens_file, "reader", "reader", &[])?,
                    writer: new_token(binary, &tokens_file, "writer", "writer", &[])?,
                    greedy: new_token(binary, &tokens_file, "greedy", "writer", &[])?,
                    scoped: new_token(
                        binary,
                        &tokens_file,
                        "scoped",
                        "admin",
                        &["--pools", "own/"],
                    )?,
                    admin: new_token(binary, &tokens_file, "admin", "admin", &[])?,
                })
            }
        };
        command.args(flags);
        let server = Server::of(command);
        let admin = tokens.as_ref().map(|tokens| tokens.admin.as_str());
        let limits = ReportedLimits::of(server.address, admin)?;
        let target = Target { address: server.address, limits, tokens, effort };
        Ok(RunningTarget { target, server, folder })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.server.pid()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Requests with bodies of some hundred kilobytes, which change nothing.
    pub(crate) fn send_usual_requests(&self) -> Result<()> {
        let path = "/v1/pools/usual".to_owned();
        let request = LargeRequest::with_body("PUT", path, " ".repeat(200_000));
        for _ in 0..20 {
            let reply = self.target.ask(&request)?;
            ensure!(reply.status == 400, "a body without contents got {}", reply.status);
        }
        Ok(())
    }

    /// Whether the server is ready, reads and writes.
    pub(crate) fn answers(&self) -> Result<()> {
        for path in ["/healthz", "/readyz", "/v1/status"] {
            self.target.expect(&LargeRequest::get(path.to_owned()))?;
        }
        let pool = r#"{"kind":"id32","ranges":["7"]}"#.to_owned();
        let put = |path: &str, body| LargeRequest::with_body("PUT", path.to_owned(), body);
        self.target.expect(&put("/v1/pools/afterwards", pool))?;
        let claim = self.target.expect(&put("/v1/pools/afterwards/claims/a", "{}".to_owned()))?;
        ensure!(claim.text().contains("\"value\":7,"), "a claim got {}", claim.text());
        Ok(())
    }

    /// Stops the server, which must exit in order, and checks its journal.
    pub(crate) fn stop_and_verify(self, binary: &Path) -> Result<()> {
        let RunningTarget { server, folder, .. } = self;
        let (code, said) = server.stop();
        ensure!(code == Some(0), "the server stopped with {code:?}: {said}");
        ensure!(!said.contains("panicked"), "a thread of the server panicked: {said}");
        let data = data_of(&folder);
        let data = data.to_str().context("the folder is not UTF-8")?;
        let verify = allod(binary, &["journal", "verify", "--data", data]).output()?;
        let said = String::from_utf8_lossy(&verify.stderr).into_owned();
        ensure!(verify.status.success(), "the journal does not verify: {said}");
        Ok(())
    }
}

fn data_of(folder: &TempDir) -> PathBuf {
    folder.path().join("data")
}

fn new_token(binary: &Path, file: &Path, name: &str, role: &str, more: &[&str]) -> Result<String> {
    let mut command = allod(binary, &["token", "new", "--name", name, "--role", role]);
    let made = command.args(more).arg("--file").arg(file).stdout(Stdio::piped()).output()?;
    ensure!(made.status.success(), "no token: {}", String::from_utf8_lossy(&made.stderr));
    Ok(String::from_utf8(made.stdout)?.trim().to_owned())
}
