//! `allod man`: the manual, one page, or a page for each command.

use std::io::Write;
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

pub fn run(arguments: &ManArguments, mut command: Command) -> Result<(), Failed> {
    // Fills in what clap knows only once it begins to read arguments, such as the full name of each command.
    command.build();
    let Some(folder) = &arguments.dir else {
        let page = page(&command, "allod").map_err(|error| Failed::Running(error.into()))?;
        return print(&String::from_utf8_lossy(&page));
    };
    let write = || -> std::io::Result<usize> {
        std::fs::create_dir_all(folder)?;
        write_pages(&command, "allod", folder)
    };
    let pages = write()
        .with_context(|| format!("the pages cannot be written to {}", folder.display()))
        .map_err(Failed::Running)?;
    say(&format!("{pages} pages are in {}", folder.display()));
    Ok(())
}

/// Writes the page of a command and of all commands below it; says how many.
fn write_pages(command: &Command, name: &str, folder: &Path) -> std::io::Result<usize> {
    let mut pages = 1;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        pages += write_pages(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    std::fs::write(folder.join(format!("{name}.1")), page(command, name)?)?;
    Ok(pages)
}

fn page(command: &Command, name: &str) -> std::io::Result<Vec<u8>> {
    let source = format!("allod {}", env!("CARGO_PKG_VERSION"));
    let named = command.clone().name(name.to_owned());
    let man = Man::new(named).title(name.to_uppercase()).manual("allod").source(source);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().next().is_some() {
        man.render_options_section(&mut page)?;
    }
    if command.get_subcommands().next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    // What stands below the help is set line by line, and would be run together in a paragraph.
    for section in
        command.get_after_help().map(ToString::to_string).iter().flat_map(|text| text.split("\n\n"))
    {
        let (title, body) = match section.split_once(":\n") {
            Some((title, body)) if !title.contains('\n') => (title, body),
            _ => ("Notes", section),
        };
        writeln!(page, ".SH \"{}\"\n.nf\n{}\n.fi", title.to_uppercase(), verbatim(body))?;
    }
    Ok(page)
}

/// Text as it is, in the language of man pages.
fn verbatim(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
        if line.starts_with('.') { format!("\\&{line}") } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}
