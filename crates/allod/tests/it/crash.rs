//! The real binary, killed, damaged and starved; judged by the checker, which is not the server.

mod damage;
mod full;
mod kill;
pub mod load;
pub mod server;
mod watch;
