//! A PostgreSQL server for a scenario, tuned for one hot table.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use allod_testkit::postgres::Cluster;
use anyhow::Result;

/// Tuned for throughput on a small machine. Durability settings keep their defaults (on).
const SETTINGS: [&str; 10] = [
    "max_connections=100",
    "shared_buffers=512MB",
    "wal_buffers=16MB",
    "max_wal_size=4GB",
    "checkpoint_timeout=30min",
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "track_activities=off",
    "autovacuum=on",
];

/// Creates a cluster below `folder` and starts it.
pub fn start(folder: &Path) -> Result<Cluster> {
    let home = folder.join("pg");
    std::fs::create_dir(&home)?;
    // The user of the server needs access to its folder.
    std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    Cluster::start_in(&home, &SETTINGS)
}
