//! `allod`, the one binary: the server and the tools around it. Only wiring is here; what each part does is in its crate.
//!
//! Exit codes: 0 done, 1 failed, 2 the command line or the configuration is wrong, 3 the journal is not sound.

mod config;
mod journal;
mod limits;
mod security;
mod serve;
mod token;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Hands out what a cloud or a network runs short of, exactly once.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server.
    Serve(config::ServeArguments),
    /// Look after a journal that no server has open.
    #[command(subcommand)]
    Journal(journal::JournalCommand),
    /// Make and show the tokens of a server that wants them.
    #[command(subcommand)]
    Token(token::TokenCommand),
}

/// How a command went wrong, which is its exit code.
#[derive(Debug)]
enum Failed {
    /// What it tried did not work.
    Running(anyhow::Error),
    /// It was asked for something that cannot be meant.
    Asked(anyhow::Error),
    /// The journal is not sound.
    Unsound(anyhow::Error),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Journal(command) => journal::run(command),
        Command::Token(command) => token::run(command),
    };
    let (code, error) = match done {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failed::Running(error)) => (1, error),
        Err(Failed::Asked(error)) => (2, error),
        Err(Failed::Unsound(error)) => (3, error),
    };
    eprintln!("error: {error:#}");
    ExitCode::from(code)
}
