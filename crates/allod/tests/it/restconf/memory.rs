//! How much memory a process has, as the system counts it.

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

    /// How much more it has now.
    pub fn grown_mib(&self) -> u64 {
        line(self.pid, "VmRSS:").saturating_sub(self.resident) / MIB
    }

    /// How much more it has had at any time.
    pub fn peak_mib(&self) -> u64 {
        line(self.pid, "VmHWM:").saturating_sub(self.resident) / MIB
    }
}

fn line(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let rest = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    rest.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
