//! What is kept and what is carried elsewhere: backups, restores, retention, archives.

mod backups;
mod restores;
mod retention;
mod world;
