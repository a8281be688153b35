//! The limit of open files of this process, for tests and measurements with many connections.

use anyhow::{Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that a process needs besides its connections.
const BESIDES: u64 = 256;

/// Raises the limit to the hard limit, which must allow this many connections.
pub fn raise(connections: usize) -> Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    let needed = connections as u64 + BESIDES;
    ensure!(
        maximum.is_none_or(|maximum| maximum >= needed),
        "the hard limit of open files is {maximum:?}; {needed} are needed (ulimit -Hn)"
    );
    Ok(())
}
