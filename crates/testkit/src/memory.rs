//! Memory of a process, from /proc.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

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

    /// The same, with a peak that counts from now on.
    pub fn with_new_peak(pid: u32) -> Memory {
        std::fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
        Memory::of(pid)
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
