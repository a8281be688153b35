//! The real binary, killed, with damaged files and with a full disk. An independent checker verifies the answers.

mod damage;
mod full;
mod kill;
pub mod load;
mod loss;
mod private;
pub mod server;
mod watch;
