//! `allod man`: generates the manual pages.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Command};
use clap_mangen::Man;

use crate::error::{CommandError, Result};
use crate::output::{message, print};

#[derive(Debug, Args)]
pub struct ManArguments {
    /// Write one page for each command into this folder, instead of the main page to stdout
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

pub fn run(arguments: &ManArguments, mut command: Command) -> Result<()> {
    // clap fills in the full names of commands only when it builds them.
    command.build();
    let Some(folder) = &arguments.dir else {
        let page = page(&command, "allod").map_err(CommandError::failed)?;
        return print(&String::from_utf8_lossy(&page));
    };
    let write = || -> std::io::Result<usize> {
        std::fs::create_dir_all(folder)?;
        write_pages(&command, "allod", folder)
    };
    let pages = write()
        .with_context(|| format!("cannot write the manual pages to {}", folder.display()))
        .map_err(CommandError::Failed)?;
    message(&format!("wrote {pages} pages to {}", folder.display()));
    Ok(())
}

/// Writes the pages of a command and its subcommands. Returns their number.
fn write_pages(command: &Command, name: &str, folder: &Path) -> std::io::Result<usize> {
    let mut pages = 1;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        pages += write_pages(sub, &format!("{name}-{}", sub.get_name()), folder)?;
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
    // clap_mangen would join the lines of the text after the help into a paragraph.
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

/// Escapes text for roff.
fn verbatim(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
        if line.starts_with('.') { format!("\\&{line}") } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}
