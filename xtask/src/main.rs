//! `cargo xtask COMMAND`: every development task of the project. Each command has a file of its name.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool prints")]

mod attack;
mod bench;
mod cargo;
mod ci;
mod conformance;
mod deny;
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

/// Every command with its help. `tidy` checks the documents against this table.
pub const COMMANDS: [(&str, &str); 11] = [
    ("test", "install what the tests need, run all tests, end with the line: N passed, N failed"),
    ("ci", "run .ci/run: formatting, clippy, tidy, deny, tests"),
    ("tidy", "check the rules of this code base that no other tool checks"),
    (
        "deny",
        "check licences, bans, duplicates and sources of the dependencies by deny.toml: cargo xtask deny [--advisories]",
    ),
    (
        "fuzz",
        "send random requests to the interfaces, and random bytes to everything that reads stored data: cargo xtask fuzz [TARGET…] [--seconds N]",
    ),
    (
        "fuzz-api",
        "send valid and invalid requests made from the OpenAPI document: cargo xtask fuzz-api [--examples N] [--seed N]",
    ),
    (
        "conformance",
        "run upstream's own tests against a server: cargo xtask conformance placement [--only FILE…] [--profile P] [--server real]; or test the adapters against a real Nautobot and a real Neutron: cargo xtask conformance authorities [--inventory=NAME…]",
    ),
    (
        "differential",
        "compare answers to random requests with the real Placement: cargo xtask differential placement [--seed S] [--seeds A..B] [--steps N] [--replay FILE]",
    ),
    (
        "soak",
        "run the property tests and the simulation with new seeds: cargo xtask soak [--minutes N] [--seed N]",
    ),
    (
        "attack",
        "attack a server beside honest clients and print what they notice: cargo xtask attack [NAME…] [--quick]",
    ),
    (
        "bench",
        "measure performance as ratios within one run: cargo xtask bench [SCENARIO…] [--quick] [--write]",
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
        "deny" => deny::run(&rest),
        "fuzz" => fuzz::run(&rest),
        "fuzz-api" => fuzz_api::run(&rest),
        "conformance" => conformance::run(&rest),
        "differential" => differential::run(&rest),
        "soak" => soak::run(&rest),
        "attack" => attack::run(&rest),
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
