//! Backups, restores, retention and archives.

mod backups;
mod restores;
mod retention;
mod world;
