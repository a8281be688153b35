//! What is kept and what is carried elsewhere: backups, restores, retention, archives.

#![expect(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod backups;
mod restores;
mod retention;
mod world;
