//! How much memory a process has, as the system counts it.

use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// What it had when it was measured first.
#[derive(Debug)]
pub struct Memory {
    pid: u32,
    resident: u64,
}

impl Memory {
    pub fn of(pid: u32) -> Memory {
        Memory { pid, resident: line(pid, "VmRSS:") }
    }

    /// What is free again may be given back to the system a moment later, which is waited for.
    pub fn has_not_grown(&self, mib_max: u64) {
        let begun = Instant::now();
        let grown = || line(self.pid, "VmRSS:").saturating_sub(self.resident);
        while grown() > mib_max * MIB && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(grown() <= mib_max * MIB, "it has grown by {} MiB", grown() / MIB);
    }

    /// At no time since did it have much more.
    pub fn has_not_peaked(&self, mib_max: u64) {
        let peak = line(self.pid, "VmHWM:").saturating_sub(self.resident);
        assert!(peak <= mib_max * MIB, "it had grown by {} MiB", peak / MIB);
    }
}

fn line(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let rest = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    rest.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
