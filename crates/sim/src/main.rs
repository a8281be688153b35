//! Runs one seed with its trace, or many seeds, from the command line.

use std::process::ExitCode;

const USAGE: &str = "allod-sim --seed N [--steps M] | --seeds FROM..TO [--steps M]";

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1).map(String::as_str)
    };
    let steps = value("--steps").and_then(|steps| steps.parse().ok()).unwrap_or(60);
    if let Some(seed) = value("--seed").and_then(|seed| seed.parse().ok()) {
        let ended = allod_sim::run(seed, steps);
        let (trace, code) = match &ended {
            Ok(report) => (&report.trace, ExitCode::SUCCESS),
            Err(failed) => (&failed.trace, ExitCode::FAILURE),
        };
        trace.iter().for_each(|line| println!("{line}"));
        if let Err(failed) = &ended {
            eprintln!("{}", failed.what);
        }
        return code;
    }
    let range = value("--seeds").and_then(|seeds| seeds.split_once(".."));
    let range = range.and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    let Some((from, to)) = range else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let total = match allod_sim::run_many(from..to, steps) {
        Ok(total) => total,
        Err(failed) => {
            eprintln!("{failed}");
            return ExitCode::FAILURE;
        }
    };
    println!("{total}");
    ExitCode::SUCCESS
}
