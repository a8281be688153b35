//! Debian packages that the tests and benchmarks need, installed if missing.
//!
//! A tool that is present is not touched, so later runs work offline. On other systems the error names what to install.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

#[derive(Debug, Clone, Copy)]
pub struct Tool {
    what: &'static str,
    why: &'static str,
    /// The Debian package that contains it.
    package: &'static str,
    /// Any one of these programs is enough.
    programs: &'static [&'static str],
    /// Folders to search besides PATH; a `*` matches one folder name.
    folders: &'static [&'static str],
}

const C_COMPILER: Tool = Tool {
    what: "a C compiler",
    why: "SQLite and the allocator are built from source",
    package: "build-essential",
    programs: &["cc", "gcc", "clang"],
    folders: &[],
};

const POSTGRESQL: Tool = Tool {
    what: "a PostgreSQL server",
    why: "the PostgreSQL journal and the real Placement run on it",
    package: "postgresql",
    programs: &["initdb"],
    folders: &["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/bin"],
};

const CURL: Tool = Tool {
    what: "curl",
    why: "the tests run the commands of the README",
    package: "curl",
    programs: &["curl"],
    folders: &[],
};

const CHROMIUM: Tool = Tool {
    what: "Chromium",
    why: "the tests open hostile web pages in a real browser",
    package: "chromium",
    programs: &["chromium"],
    folders: &[],
};

const NGINX: Tool = Tool {
    what: "nginx",
    why: "the benchmark runs the real Placement behind it, as in production",
    package: "nginx-light",
    programs: &["nginx"],
    folders: &["/usr/sbin"],
};

const YANGLINT: Tool = Tool {
    what: "yanglint",
    why: "it validates the YANG modules and the replies of the tests",
    package: "libyang2-tools",
    programs: &["yanglint"],
    folders: &[],
};

const ETCD: Tool = Tool {
    what: "etcd",
    why: "the tests of its adapter run against it",
    package: "etcd-server",
    programs: &["etcd"],
    folders: &[],
};

const KEA: Tool = Tool {
    what: "Kea DHCPv4",
    why: "the tests of its adapter run against it",
    package: "kea-dhcp4-server",
    programs: &["kea-dhcp4"],
    folders: &["/usr/sbin"],
};

const KEA_AGENT: Tool = Tool {
    what: "the control agent of Kea",
    why: "the tests of Kea's adapter reach Kea through it",
    package: "kea-ctrl-agent",
    programs: &["kea-ctrl-agent"],
    folders: &["/usr/sbin"],
};

const REDIS: Tool = Tool {
    what: "Redis",
    why: "the real Nautobot needs it",
    package: "redis-server",
    programs: &["redis-server"],
    folders: &[],
};

pub const FOR_YANG: [Tool; 1] = [YANGLINT];
pub const FOR_ADAPTERS: [Tool; 3] = [ETCD, KEA, KEA_AGENT];
pub const FOR_AUTHORITIES: [Tool; 2] = [POSTGRESQL, REDIS];
pub const FOR_TESTS: [Tool; 4] = [C_COMPILER, POSTGRESQL, CURL, CHROMIUM];
pub const FOR_BENCH: [Tool; 2] = [C_COMPILER, POSTGRESQL];
pub const FOR_PLACEMENT_BENCH: [Tool; 1] = [NGINX];

/// Installs the tools that are missing.
pub fn ensure(tools: &[Tool]) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing: Vec<Tool> = tools
        .iter()
        .copied()
        .filter(|tool| find(tool, std::env::split_paths(&path)).is_none())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    for tool in &missing {
        eprintln!("missing: {} ({})", tool.what, tool.why);
    }
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    install(&packages)?;
    match missing.iter().find(|tool| find(tool, std::env::split_paths(&path)).is_none()) {
        Some(tool) => bail!("{} is still missing after installing {}", tool.what, tool.package),
        None => Ok(()),
    }
}

fn find(tool: &Tool, path: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let folders: Vec<PathBuf> =
        path.chain(tool.folders.iter().flat_map(|pattern| expand(pattern))).collect();
    let candidates =
        folders.iter().flat_map(|folder| tool.programs.iter().map(|name| folder.join(name)));
    candidates.into_iter().find(|file| file.is_file())
}

/// The folders that match a pattern with at most one `*`.
fn expand(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else { return vec![pattern.into()] };
    let (parent, start) = before.rsplit_once('/').unwrap_or(("", before));
    let entries = std::fs::read_dir(format!("{parent}/")).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path().join(after.trim_start_matches('/')))
        .collect()
}

pub fn install(packages: &[&str]) -> Result<()> {
    let by_hand = format!("apt-get install --no-install-recommends {}", packages.join(" "));
    if !Path::new("/usr/bin/apt-get").is_file() {
        bail!("apt-get is not available; install the missing tools, on Debian with: {by_hand}");
    }
    let root = is_root();
    if !root && !Path::new("/usr/bin/sudo").is_file() {
        bail!("installing needs root or sudo; as root, run: {by_hand}");
    }
    let quiet_server = packages.contains(&POSTGRESQL.package);
    if quiet_server {
        // Without this setting the package creates and starts a server of its own.
        shell(
            root,
            &format!(
                "mkdir -p {CLUSTER_DIR} && echo 'create_main_cluster = false' > {CLUSTER_FILE}"
            ),
        )?;
    }
    let installed = shell(
        root,
        &format!(
            "{NO_SERVICES}; export DEBIAN_FRONTEND=noninteractive; apt-get -q update && apt-get -q -y install --no-install-recommends {}",
            packages.join(" ")
        ),
    );
    if quiet_server {
        shell(root, &format!("rm -f {CLUSTER_FILE}"))?;
    }
    installed.with_context(|| format!("installation failed; to install by hand, run: {by_hand}"))
}

/// While this script runs, packages start no services. The tests start their own servers.
const NO_SERVICES: &str = "p=/usr/sbin/policy-rc.d; if [ ! -e $p ]; then trap 'rm -f $p' EXIT; printf '#!/bin/sh\\nexit 101\\n' > $p; chmod 755 $p; fi";

const CLUSTER_DIR: &str = "/etc/postgresql-common/createcluster.d";
const CLUSTER_FILE: &str = "/etc/postgresql-common/createcluster.d/allod.conf";

fn shell(root: bool, script: &str) -> Result<()> {
    eprintln!("{}{script}", if root { "" } else { "sudo: " });
    let mut command = if root { Command::new("sh") } else { Command::new("sudo") };
    if !root {
        command.arg("sh");
    }
    let status = command.args(["-c", script]).status().context("the shell cannot be started")?;
    if !status.success() {
        bail!("'{script}' failed");
    }
    Ok(())
}

fn is_root() -> bool {
    let out = Command::new("id").arg("-u").output();
    out.is_ok_and(|out| out.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_found_in_the_path_and_in_its_folders_only() {
        let shell = Tool {
            what: "a shell",
            why: "for this test",
            package: "dash",
            programs: &["no-such-program", "sh"],
            folders: &[],
        };
        assert!(find(&shell, [PathBuf::from("/bin")].into_iter()).is_some());
        assert!(find(&shell, std::iter::empty()).is_none());
        let by_pattern = Tool { folders: &["/b*"], ..shell };
        assert!(find(&by_pattern, std::iter::empty()).is_some());
    }

    #[test]
    fn a_pattern_without_a_match_expands_to_nothing() {
        assert!(expand("/no-such-folder/*/bin").is_empty());
        assert_eq!(expand("/plain/bin"), [PathBuf::from("/plain/bin")]);
    }
}
