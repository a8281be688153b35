//! All commands of the command line, with their one-line help. Each command is a file of its own in this folder.
//!
//! Commands write data to stdout and messages to stderr. `--output json` prints the server's JSON unchanged, errors
//! included; tables are for people and may change.

pub mod alarms;
pub mod authority;
pub mod backup;
pub mod candidates;
pub mod claim;
pub mod completions;
pub mod config;
pub mod consumer;
pub mod history;
pub mod import;
pub mod journal;
pub mod lookup;
pub mod man;
pub mod outbox;
pub mod pool;
pub mod provider;
pub mod release;
pub mod renew;
pub mod restore;
pub mod serve;
pub mod status;
pub mod token;
pub mod tx;
pub mod watch;
pub mod who;

use clap::{CommandFactory, Parser, Subcommand};

use crate::config::ServeArguments;
use crate::error::{EXIT_CODES, Result};

const QUICK_START: &str = "\
Quick start:
  allod serve &            listens on 127.0.0.1:8778, stores data in ./allod-data
  allod pool set vlans --kind id32 --range 2-4094 && allod claim vlans blue

`allod COMMAND --help` has examples. Precedence: flag, ALLOD_… environment
variable, allod.toml.

";

/// Allocate scarce resources of a cloud or a network: IDs, addresses, prefixes, capacity
#[derive(Debug, Parser)]
#[command(version, max_term_width = 120, after_help = format!("{QUICK_START}{EXIT_CODES}"))]
#[command(disable_help_subcommand = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<CliCommand>,
}

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Run the server
    Serve(ServeArguments),
    /// List, show, create, change or delete pools
    #[command(subcommand)]
    Pool(pool::PoolCommand),
    /// Claim a value under a key; repeating the command returns the same claim
    #[command(after_help = claim::EXAMPLES)]
    Claim(Box<claim::ClaimArguments>),
    /// Release claims
    Release(release::ReleaseArguments),
    /// Renew the lease of a claim, or make the claim permanent
    Renew(renew::RenewArguments),
    /// Find the holder of a value, or list claims by key, pool or owner
    #[command(after_help = who::EXAMPLES)]
    Who(Box<who::WhoArguments>),
    /// Manage external inventories that grant the values of pools
    #[command(subcommand)]
    Authority(authority::AuthorityCommand),
    /// Look up names in external inventories, and keep their values
    #[command(subcommand)]
    Lookup(lookup::LookupCommand),
    /// List or show resource providers
    #[command(subcommand)]
    Provider(provider::ProviderCommand),
    /// List or show consumers and their allocations
    #[command(subcommand)]
    Consumer(consumer::ConsumerCommand),
    /// Find providers that satisfy a request for capacity, and explain why others do not
    #[command(after_help = candidates::EXAMPLES)]
    Candidates(Box<candidates::CandidatesArguments>),
    /// List or purge alarms of pools and services
    Alarms(Box<alarms::AlarmsArguments>),
    /// List, retry or discard notifications that are not delivered yet
    #[command(subcommand)]
    Outbox(outbox::OutboxCommand),
    /// Follow changes as they happen
    #[command(after_help = watch::EXAMPLES)]
    Watch(watch::WatchArguments),
    /// Search past changes
    #[command(after_help = history::EXAMPLES)]
    History(Box<history::HistoryArguments>),
    /// Run a transaction: several operations from a file, all or nothing
    #[command(after_help = tx::EXAMPLES)]
    Tx(tx::TxArguments),
    /// Show the status of the server, once or continuously
    Status(status::StatusArguments),
    /// Verify or show a journal, a backup or an archive segment, without a server
    #[command(subcommand)]
    Journal(journal::JournalCommand),
    /// Back up all data into one file; the server may be running
    #[command(after_help = backup::EXAMPLES)]
    Backup(backup::BackupArguments),
    /// Create a journal from a backup
    #[command(after_help = restore::EXAMPLES)]
    Restore(restore::RestoreArguments),
    /// Import data from another server
    #[command(subcommand)]
    Import(import::ImportCommand),
    /// Create or list the access tokens of a server
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Show, check or document the configuration of a server
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Generate a shell completion script
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::CompletionsArguments),
    /// Generate the manual pages
    Man(man::ManArguments),
}

impl CliCommand {
    pub fn run(self) -> Result<()> {
        match self {
            CliCommand::Serve(arguments) => serve::run(arguments),
            CliCommand::Pool(command) => pool::run(command),
            CliCommand::Claim(arguments) => claim::run(*arguments),
            CliCommand::Release(arguments) => release::run(arguments),
            CliCommand::Renew(arguments) => renew::run(arguments),
            CliCommand::Who(arguments) => who::run(*arguments),
            CliCommand::Authority(command) => authority::run(command),
            CliCommand::Lookup(command) => lookup::run(command),
            CliCommand::Provider(command) => provider::run(command),
            CliCommand::Consumer(command) => consumer::run(command),
            CliCommand::Candidates(arguments) => candidates::run(*arguments),
            CliCommand::Alarms(arguments) => alarms::run(*arguments),
            CliCommand::Outbox(command) => outbox::run(command),
            CliCommand::Watch(arguments) => watch::run(arguments),
            CliCommand::History(arguments) => history::run(*arguments),
            CliCommand::Tx(arguments) => tx::run(arguments),
            CliCommand::Status(arguments) => status::run(arguments),
            CliCommand::Journal(command) => journal::run(command),
            CliCommand::Backup(arguments) => backup::run(arguments),
            CliCommand::Restore(arguments) => restore::run(arguments),
            CliCommand::Import(command) => import::run(command),
            CliCommand::Token(command) => token::run(command),
            CliCommand::Config(command) => config::run(command),
            CliCommand::Completions(arguments) => {
                completions::run(&arguments, Arguments::command())
            }
            CliCommand::Man(arguments) => man::run(&arguments, Arguments::command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_accepts_the_definition() {
        Arguments::command().debug_assert();
    }
}
