//! The `allod` binary: the server and its command line. `commands` lists all commands.

mod client;
mod commands;
mod config;
mod connection;
mod error;
mod index_folder;
mod journal_location;
mod limits;
mod memory;
mod open_files;
mod output;
mod security;
mod yang_modules;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use commands::Arguments;
use error::CommandError;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Some(command) => command.run(),
        None => Arguments::command().print_help().map_err(CommandError::output),
    };
    result.map_or_else(CommandError::report, |()| ExitCode::SUCCESS)
}
