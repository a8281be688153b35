//! `cargo xtask fuzz-api`: sends requests that are generated from the OpenAPI document.
//!
//! This is `clients/python/tests/test_contract.py` of `cargo xtask test`, with more examples and a new seed each time. A failure prints the seed and the request.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};

use crate::test;

const EXAMPLES_DEFAULT: &str = "300";

pub fn run(args: &[String]) -> Result<ExitCode> {
    let (mut examples, mut seed) = (EXAMPLES_DEFAULT.to_owned(), None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let number = args.next().filter(|text| text.parse::<u64>().is_ok());
        match (arg.as_str(), number) {
            ("--examples", Some(number)) => examples.clone_from(number),
            ("--seed", Some(number)) => seed = Some(number.clone()),
            _ => bail!("cargo xtask fuzz-api [--examples N] [--seed N]"),
        }
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let status = test::pytest(test::CLIENT)?
        .args(["-s", "-k", "test_contract"])
        .env("ALLOD_FUZZ_EXAMPLES", examples)
        .env("ALLOD_FUZZ_SEED", seed.unwrap_or_else(|| now.as_secs().to_string()))
        .status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
