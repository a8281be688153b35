//! `cargo xtask differential placement`: sends the same random requests to the real Placement and to our server and reports
//! every difference. The generator and the comparison are in `conformance/placement/differential`.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::conformance;

pub fn run(args: &[String]) -> Result<ExitCode> {
    let Some(("placement", rest)) = args.split_first().map(|(what, rest)| (what.as_str(), rest))
    else {
        bail!(
            "cargo xtask differential placement [--seed S] [--seeds A..B] [--steps N] [--replay FILE]"
        );
    };
    conformance::finish(conformance::tool("differential")?, rest)
}
