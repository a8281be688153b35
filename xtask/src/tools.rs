//! What must be on the machine besides Rust, and how it gets there.
//!
//! A tool that is present is never touched, so everything works offline once it has worked. Only Debian and its
//! relatives are installed to; elsewhere the message says what is missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

#[derive(Debug, Clone, Copy)]
pub struct Tool {
    what: &'static str,
    why: &'static str,
    /// The Debian package that has it.
    package: &'static str,
    /// Programs of which any one will do.
    programs: &'static [&'static str],
    /// Folders to look in besides the path; a `*` stands for one folder of any name.
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
    why: "the peer that the bench compares with, and that the tests check, runs on a real one",
    package: "postgresql",
    programs: &["initdb"],
    folders: &["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/bin"],
};

const CURL: Tool = Tool {
    what: "curl",
    why: "the commands of the README are run as they stand there",
    package: "curl",
    programs: &["curl"],
    folders: &[],
};

const NGINX: Tool = Tool {
    what: "nginx",
    why: "the real Placement is measured behind it, as its operators run it",
    package: "nginx-light",
    programs: &["nginx"],
    folders: &["/usr/sbin"],
};

const YANGLINT: Tool = Tool {
    what: "yanglint",
    why: "it checks the YANG modules, and the replies of the tests against them",
    package: "libyang2-tools",
    programs: &["yanglint"],
    folders: &[],
};

pub const FOR_YANG: [Tool; 1] = [YANGLINT];
pub const FOR_TESTS: [Tool; 3] = [C_COMPILER, POSTGRESQL, CURL];
pub const FOR_BENCH: [Tool; 2] = [C_COMPILER, POSTGRESQL];
pub const FOR_PLACEMENT_BENCH: [Tool; 1] = [NGINX];

/// Checks each tool and installs what is missing.
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

/// The folders that a pattern with at most one `*` stands for.
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
        bail!("install it yourself; on Debian it would be: {by_hand}");
    }
    let root = is_root();
    if !root && !Path::new("/usr/bin/sudo").is_file() {
        bail!("neither root nor sudo; as root run: {by_hand}");
    }
    let quiet_server = packages.contains(&POSTGRESQL.package);
    if quiet_server {
        // The package would otherwise create and start a server of its own, which nobody here asked for.
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
            "export DEBIAN_FRONTEND=noninteractive; apt-get -q update && apt-get -q -y install --no-install-recommends {}",
            packages.join(" ")
        ),
    );
    if quiet_server {
        shell(root, &format!("rm -f {CLUSTER_FILE}"))?;
    }
    installed.with_context(|| format!("installing failed; by hand it is: {by_hand}"))
}

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
    fn a_tool_is_found_on_the_path_and_in_its_folders_and_nowhere_else() {
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
    fn a_pattern_without_a_match_is_no_folder() {
        assert!(expand("/no-such-folder/*/bin").is_empty());
        assert_eq!(expand("/plain/bin"), [PathBuf::from("/plain/bin")]);
    }
}
