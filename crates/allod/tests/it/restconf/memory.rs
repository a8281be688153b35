//! Memory of a process, from /proc.

const MIB: u64 = 1 << 20;

/// The first measurement.
#[derive(Debug)]
pub struct Memory {
    pid: u32,
    resident: u64,
}

impl Memory {
    pub fn of(pid: u32) -> Memory {
        Memory { pid, resident: line(pid, "VmRSS:") }
    }

    /// The growth since the first measurement.
    pub fn grown_mib(&self) -> u64 {
        line(self.pid, "VmRSS:").saturating_sub(self.resident) / MIB
    }

    /// The peak growth.
    pub fn peak_mib(&self) -> u64 {
        line(self.pid, "VmHWM:").saturating_sub(self.resident) / MIB
    }
}

fn line(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let rest = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    rest.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
