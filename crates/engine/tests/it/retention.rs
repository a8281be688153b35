//! Backups, restores, retention and archives.

mod backups;
mod restores;
mod trimming;
mod world;
