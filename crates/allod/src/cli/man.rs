//! `allod man`: the manual, one page, or a page for each command.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Command};
use clap_mangen::Man;

use super::{print, say};
use crate::failed::Failed;

#[derive(Debug, Args)]
pub struct ManArguments {
    /// Write a page for each command into this folder, instead of the main one to stdout
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

pub fn run(arguments: &ManArguments, command: Command) -> Result<(), Failed> {
    let command = command.disable_help_subcommand(true);
    match &arguments.dir {
        None => print(&page(command)?),
        Some(folder) => {
            let write = || -> anyhow::Result<usize> {
                std::fs::create_dir_all(folder)?;
                write_pages(&command, "allod", folder)
            };
            let pages = write()
                .with_context(|| format!("the pages cannot be written to {}", folder.display()))
                .map_err(Failed::Running)?;
            say(&format!("{pages} pages are in {}", folder.display()));
            Ok(())
        }
    }
}

fn page(command: Command) -> Result<String, Failed> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(|error| Failed::Running(error.into()))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Writes the page of a command and of all commands below it; says how many.
fn write_pages(command: &Command, name: &str, folder: &Path) -> anyhow::Result<usize> {
    let mut pages = 1;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        pages += write_pages(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    let title = name.to_uppercase();
    let named = command.clone().name(name.to_owned()).bin_name(name.replace('-', " "));
    let mut page = Vec::new();
    Man::new(named).title(title).render(&mut page)?;
    std::fs::write(folder.join(format!("{name}.1")), page)?;
    Ok(pages)
}
