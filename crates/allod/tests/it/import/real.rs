//! The real Placement of OpenStack, started as in the conformance tests.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::import::cloud::Placement;

/// Set by `cargo xtask test`: a Python interpreter with the real Placement.
const PYTHON: &str = "ALLOD_TEST_PLACEMENT_PYTHON";

/// Starts it, prints its address, and stops it when stdin is closed.
const RUN: &str = "\
import sys
from servers.real import Real
real = Real()
print(real.port, flush=True)
sys.stdin.read()
real.stop()
";

#[derive(Debug)]
pub struct Real {
    child: Child,
    pub placement: Placement,
}

impl Real {
    pub fn start() -> Real {
        let python = std::env::var_os(PYTHON).unwrap_or_else(|| {
            panic!("{PYTHON} is not set; `cargo xtask test` sets it, or name a Python that has the requirements of conformance/placement")
        });
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/placement");
        let mut child = Command::new(python)
            .args(["-c", RUN])
            .current_dir(tools)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port: u16 = line.trim().parse().expect("the real Placement did not start");
        let placement = Placement::at(([127, 0, 0, 1], port).into(), "");
        Real { child, placement }
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        drop(self.child.wait());
    }
}
