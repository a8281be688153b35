//! The real binary, killed, damaged and starved; judged by the checker, which is not the server.

#![expect(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod damage;
mod full;
mod kill;
mod load;
mod server;
mod watch;
