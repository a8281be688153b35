//! `allod completions`: scripts that let a shell complete commands and flags.

use clap::Args;
use clap_complete::Shell;

use super::print;
use crate::failed::Failed;

pub const EXAMPLES: &str = "\
Examples:
  source <(allod completions bash)                                    for this shell
  allod completions bash > ~/.local/share/bash-completion/completions/allod
  allod completions zsh > \"${fpath[1]}/_allod\"
  allod completions fish > ~/.config/fish/completions/allod.fish";

#[derive(Debug, Args)]
pub struct CompletionsArguments {
    #[arg(value_parser = clap::builder::EnumValueParser::<Known>::new())]
    shell: Known,
}

/// The shells that are tested.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

pub fn run(arguments: &CompletionsArguments, mut command: clap::Command) -> Result<(), Failed> {
    let shell = match arguments.shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "allod", &mut script);
    print(&String::from_utf8_lossy(&script))
}
