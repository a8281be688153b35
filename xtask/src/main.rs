//! The project's one door: `cargo xtask` with one of the commands in [`COMMANDS`].
//!
//! Nothing here is shipped. What a command does is in the file of its name.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is what a command line tool does"
)]

mod bench;
mod cargo;
mod ci;
mod conformance;
mod differential;
mod fuzz;
mod fuzz_api;
mod python;
mod soak;
mod test;
mod tidy;
mod tools;
mod yang;

use std::process::ExitCode;

/// Every command, with what it is for. The documents are checked against this table.
pub const COMMANDS: [(&str, &str); 9] = [
    ("test", "install what the tests need, run them all, end with one line: N passed, N failed"),
    ("ci", "what must pass before anything lands: fmt, clippy, tidy, test"),
    ("tidy", "check the rules of this code base that no other tool knows"),
    (
        "fuzz",
        "random bytes to what reads paths, JSON and XML: cargo xtask fuzz [TARGET…] [--seconds N]",
    ),
    (
        "fuzz-api",
        "send a server what its OpenAPI document allows and what it does not: cargo xtask fuzz-api [--examples N] [--seed N]",
    ),
    (
        "conformance",
        "upstream's own tests of an interface: cargo xtask conformance placement [--only FILE…] [--profile P] [--server real]",
    ),
    (
        "differential",
        "random requests to ours and to the real one: cargo xtask differential placement [--seed S] [--seeds A..B] [--steps N] [--replay FILE]",
    ),
    (
        "soak",
        "the random tests with new seeds, for long: cargo xtask soak [--minutes N] [--seed N]",
    ),
    (
        "bench",
        "measure, as ratios within one run: cargo xtask bench [SCENARIO…] [--quick] [--write]",
    ),
];

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let done = match command.as_str() {
        "test" => test::run(&rest),
        "ci" => ci::run(),
        "tidy" => tidy::run(),
        "fuzz" => fuzz::run(&rest),
        "fuzz-api" => fuzz_api::run(&rest),
        "conformance" => conformance::run(&rest),
        "differential" => differential::run(&rest),
        "soak" => soak::run(&rest),
        "bench" => bench::run(&rest),
        _ => {
            eprintln!("cargo xtask COMMAND, where COMMAND is one of");
            for (name, what) in COMMANDS {
                eprintln!("  {name:<14}{what}");
            }
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("cargo xtask {command}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
