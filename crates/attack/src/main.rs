//! `allod-attack`: runs the attacks by name, or all, and prints a table of the worst cases. See `cargo xtask attack`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing a table is what this program does"
)]

use std::path::PathBuf;
use std::process::ExitCode;

use allod_attack::{ATTACKS, Attack, Effort, table};
use anyhow::{Context, Result, bail};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("allod-attack: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether no attack did harm beyond its bounds.
fn run(args: &[String]) -> Result<bool> {
    let mut effort = Effort::Full;
    let mut chosen: Vec<&'static Attack> = Vec::new();
    for arg in args {
        match arg.as_str() {
            "--quick" => effort = Effort::Quick,
            name => match ATTACKS.iter().find(|attack| attack.name == name) {
                Some(attack) => chosen.push(attack),
                None => {
                    bail!("unknown attack '{name}'; expected --quick or names of:\n{}", known())
                }
            },
        }
    }
    if chosen.is_empty() {
        chosen.extend(&ATTACKS);
    }
    let mut outcomes = Vec::new();
    for attack in chosen {
        println!("{}: {}", attack.name, attack.what);
        let outcome = allod_attack::run(attack, &binary()?, effort)
            .with_context(|| format!("attack {}", attack.name))?;
        println!("  {} sent; {}", outcome.sent.count, outcome.sent.answers);
        for harm in outcome.harms().iter().chain(&outcome.long_pauses()) {
            println!("  HARM: {harm}");
        }
        outcomes.push(outcome);
    }
    println!("\n{}", table(&outcomes));
    let harmful = outcomes.iter().filter(|outcome| !outcome.is_harmless()).count();
    println!("\n{} attacks, {harmful} with harm beyond their bounds", outcomes.len());
    Ok(harmful == 0)
}

fn known() -> String {
    let line = |attack: &Attack| format!("  {:<20}{}", attack.name, attack.what);
    ATTACKS.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The server: `ALLOD_ATTACK_SERVER`, or the binary beside this one.
fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("ALLOD_ATTACK_SERVER") {
        return Ok(path.into());
    }
    Ok(std::env::current_exe()?.with_file_name("allod"))
}
