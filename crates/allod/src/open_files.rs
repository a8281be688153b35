//! How many files and connections the process may have open: as many as it is allowed to.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

/// Besides the connections: the journal, checkpoints, the log and what the libraries need.
const OTHERS: u64 = 64;

/// Raises the limit that a shell sets low for the sake of old programs to the one that the operator has set, and says so
/// when that is not enough for `connections_max`.
pub fn raise_limit(connections_max: u64) {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        warn!(%error, "the limit of open files could not be raised");
    }
    let needed = connections_max.saturating_add(OTHERS);
    let Rlimit { current, .. } = getrlimit(Resource::Nofile);
    if let Some(allowed) = current.filter(|allowed| *allowed < needed) {
        warn!(
            allowed,
            connections_max,
            "fewer files may be open than connections_max allows for; raise the hard limit of the process (ulimit -Hn, LimitNOFILE)"
        );
    }
}
