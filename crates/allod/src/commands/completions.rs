//! `allod completions`: generates shell completion scripts.

use clap::Args;
use clap_complete::Shell;

use crate::error::Result;
use crate::output::print;

pub const EXAMPLES: &str = "\
Examples:
  source <(allod completions bash)                                    for the current shell
  allod completions bash > ~/.local/share/bash-completion/completions/allod
  allod completions zsh > \"${fpath[1]}/_allod\"
  allod completions fish > ~/.config/fish/completions/allod.fish";

#[derive(Debug, Args)]
pub struct CompletionsArguments {
    #[arg(value_parser = clap::builder::EnumValueParser::<SupportedShell>::new())]
    shell: SupportedShell,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum SupportedShell {
    Bash,
    Zsh,
    Fish,
}

pub fn run(arguments: &CompletionsArguments, mut command: clap::Command) -> Result<()> {
    let shell = match arguments.shell {
        SupportedShell::Bash => Shell::Bash,
        SupportedShell::Zsh => Shell::Zsh,
        SupportedShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "allod", &mut script);
    print(&String::from_utf8_lossy(&script))
}
