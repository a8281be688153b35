//! Raises the limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

/// Files besides the connections: the journal, checkpoints, the log, and those of libraries.
const OTHERS: u64 = 64;

/// Raises the soft limit to the hard limit, and warns if that is not enough for `connections_max`.
pub fn raise_limit(connections_max: u64) {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        warn!(%error, "cannot raise the limit of open files");
    }
    let needed = connections_max.saturating_add(OTHERS);
    let Rlimit { current, .. } = getrlimit(Resource::Nofile);
    if let Some(allowed) = current.filter(|allowed| *allowed < needed) {
        warn!(
            allowed,
            connections_max,
            "the limit of open files is too low for connections_max; raise the hard limit (ulimit -Hn, LimitNOFILE)"
        );
    }
}
