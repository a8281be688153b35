//! `allod`, the one binary: the server and the tools around it. Only wiring is here; what each part does is in its crate,
//! and each command in its file.

mod backup;
mod cli;
mod client;
mod config;
mod failed;
mod import;
mod index;
mod journal;
mod limits;
mod open_files;
mod place;
mod restore;
mod security;
mod serve;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use failed::{EXIT_CODES, Failed};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const QUICK_START: &str = "\
Quick start:
  allod serve &            serves on 127.0.0.1:8778, with its data in ./allod-data
  allod pool set vlans --kind id32 --range 2-4094 && allod claim vlans blue

`allod COMMAND --help` has examples. A flag counts more than ALLOD_… in the
environment, and that more than allod.toml.

";

/// Hands out what a cloud or a network runs short of, exactly once.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 120, after_help = format!("{QUICK_START}{EXIT_CODES}"))]
#[command(disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server
    Serve(config::ServeArguments),
    /// Pools: list, show, set, delete
    #[command(subcommand)]
    Pool(cli::pool::PoolCommand),
    /// Claim a value under a key; the same again gives the same claim
    #[command(after_help = cli::claim::EXAMPLES)]
    Claim(Box<cli::claim::ClaimArguments>),
    /// Release what is held under a key
    Release(cli::release::ReleaseArguments),
    /// Make a lease last longer, or for ever
    Renew(cli::renew::RenewArguments),
    /// Who holds what: a value, a key, a pool, or an owner
    #[command(after_help = cli::who::EXAMPLES)]
    Who(Box<cli::who::WhoArguments>),
    /// Providers of capacity: list, show
    #[command(subcommand)]
    Provider(cli::provider::ProviderCommand),
    /// Consumers of capacity and what they hold: list, show
    #[command(subcommand)]
    Consumer(cli::consumer::ConsumerCommand),
    /// Who could serve a request for capacity, and why others could not
    #[command(after_help = cli::candidates::EXAMPLES)]
    Candidates(Box<cli::candidates::CandidatesArguments>),
    /// What is wrong with pools and services: list, purge
    Alarms(Box<cli::alarms::AlarmsArguments>),
    /// What services are still to be told, and could not be told: list, retry, drop
    #[command(subcommand)]
    Outbox(cli::outbox::OutboxCommand),
    /// What happens, as it happens
    #[command(after_help = cli::watch::EXAMPLES)]
    Watch(cli::watch::WatchArguments),
    /// What happened, and when
    #[command(after_help = cli::history::EXAMPLES)]
    History(Box<cli::history::HistoryArguments>),
    /// Several operations from a file, all or nothing
    #[command(after_help = cli::tx::EXAMPLES)]
    Tx(cli::tx::TxArguments),
    /// How the server is doing, once or as it runs
    Status(cli::status::StatusArguments),
    /// Look after a journal that no server has open
    #[command(subcommand)]
    Journal(journal::JournalCommand),
    /// Copy everything that a server holds into one file, while it runs
    #[command(after_help = backup::EXAMPLES)]
    Backup(backup::BackupArguments),
    /// Make a journal from a backup
    #[command(after_help = restore::EXAMPLES)]
    Restore(restore::RestoreArguments),
    /// Copy what another server has into this one
    #[command(subcommand)]
    Import(import::ImportCommand),
    /// The tokens that a server asks for: new, list
    #[command(subcommand)]
    Token(cli::token::TokenCommand),
    /// The settings of a server: show, check, reference
    #[command(subcommand)]
    Config(cli::config::ConfigCommand),
    /// Let your shell complete commands and flags
    #[command(after_help = cli::completions::EXAMPLES)]
    Completions(cli::completions::CompletionsArguments),
    /// The manual page
    Man(cli::man::ManArguments),
}

fn main() -> ExitCode {
    let Some(command) = Arguments::parse().command else {
        return match Arguments::command().print_help() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => Failed::writing(error).tell(),
        };
    };
    let done = match command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Pool(command) => cli::pool::run(command),
        Command::Claim(arguments) => cli::claim::run(*arguments),
        Command::Release(arguments) => cli::release::run(arguments),
        Command::Renew(arguments) => cli::renew::run(arguments),
        Command::Who(arguments) => cli::who::run(*arguments),
        Command::Provider(command) => cli::provider::run(command),
        Command::Consumer(command) => cli::consumer::run(command),
        Command::Candidates(arguments) => cli::candidates::run(*arguments),
        Command::Alarms(arguments) => cli::alarms::run(*arguments),
        Command::Outbox(command) => cli::outbox::run(command),
        Command::Watch(arguments) => cli::watch::run(arguments),
        Command::History(arguments) => cli::history::run(*arguments),
        Command::Tx(arguments) => cli::tx::run(arguments),
        Command::Status(arguments) => cli::status::run(arguments),
        Command::Journal(command) => journal::run(command),
        Command::Backup(arguments) => backup::run(arguments),
        Command::Restore(arguments) => restore::run(arguments),
        Command::Import(command) => import::run(command),
        Command::Token(command) => cli::token::run(command),
        Command::Config(command) => cli::config::run(command),
        Command::Completions(arguments) => cli::completions::run(&arguments, Arguments::command()),
        Command::Man(arguments) => cli::man::run(&arguments, Arguments::command()),
    };
    done.map_or_else(Failed::tell, |()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_well_formed() {
        Arguments::command().debug_assert();
    }
}
