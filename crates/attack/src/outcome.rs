//! The outcome of an attack, and the table of all outcomes.

use std::time::Duration;

use crate::{HarmMax, Sent};

/// What others noticed of an attack.
#[derive(Debug)]
pub struct Outcome {
    pub name: &'static str,
    max: HarmMax,
    pub sent: Sent,
    read: Duration,
    write: Duration,
    /// The longest sync of the disk meanwhile.
    sync: Duration,
    peak_mib: u64,
    kept_mib: u64,
    /// Harm that does not depend on the speed of the machine.
    harm: Vec<String>,
}

impl Outcome {
    pub(crate) fn new(name: &'static str, max: HarmMax) -> Outcome {
        Outcome {
            name,
            max,
            sent: Sent::default(),
            read: Duration::ZERO,
            write: Duration::ZERO,
            sync: Duration::ZERO,
            peak_mib: 0,
            kept_mib: 0,
            harm: Vec::new(),
        }
    }

    pub(crate) fn harm(&mut self, what: String) {
        self.harm.push(what);
    }

    pub(crate) fn pauses(&mut self, read: Duration, write: Duration, sync: Duration) {
        (self.read, self.write, self.sync) = (read, write, sync);
    }

    /// How long writes waited for more than the disk.
    fn write_beyond_disk(&self) -> Duration {
        self.write.saturating_sub(self.sync)
    }

    pub(crate) fn peak_mib(&mut self, mib: u64) {
        self.peak_mib = mib;
        if mib > self.max.peak_mib {
            let max = self.max.peak_mib;
            self.harm(format!("memory grew by {mib} MiB during the attack; at most {max}"));
        }
    }

    pub(crate) fn kept_mib(&mut self, mib: u64) {
        self.kept_mib = mib;
        if mib > self.max.kept_mib {
            let max = self.max.kept_mib;
            self.harm(format!("{mib} MiB of memory are left after the attack; at most {max}"));
        }
    }

    /// Errors, memory, liveness and correctness: what a test can check on a busy machine.
    pub fn harms(&self) -> &[String] {
        &self.harm
    }

    /// The pauses that are longer than the attack may cause.
    pub fn long_pauses(&self) -> Vec<String> {
        let max = Duration::from_millis(self.max.pause_ms);
        let of = |what: &str, pause: Duration| {
            let text =
                format!("{what} paused for {} ms; at most {}", pause.as_millis(), max.as_millis());
            (pause > max).then_some(text)
        };
        let writes = of("writes, beyond a sync of the disk,", self.write_beyond_disk());
        of("reads", self.read).into_iter().chain(writes).collect()
    }

    pub fn is_harmless(&self) -> bool {
        self.harm.is_empty() && self.long_pauses().is_empty()
    }
}

/// The outcomes, the longest pause first, with what each attack may cost.
pub fn table(outcomes: &[Outcome]) -> String {
    let mut sorted: Vec<&Outcome> = outcomes.iter().collect();
    sorted.sort_by_key(|outcome| std::cmp::Reverse(outcome.read.max(outcome.write_beyond_disk())));
    let header = [
        "ATTACK", "SENT", "READ MS", "WRITE MS", "SYNC MS", "MAX", "PEAK MIB", "MAX", "KEPT MIB",
        "MAX", "",
    ];
    let mut rows = vec![header.map(str::to_owned)];
    for outcome in sorted {
        let HarmMax { pause_ms, peak_mib, kept_mib } = outcome.max;
        rows.push([
            outcome.name.to_owned(),
            outcome.sent.count.to_string(),
            format!("{:.1}", outcome.read.as_secs_f64() * 1e3),
            format!("{:.1}", outcome.write.as_secs_f64() * 1e3),
            format!("{:.1}", outcome.sync.as_secs_f64() * 1e3),
            pause_ms.to_string(),
            outcome.peak_mib.to_string(),
            peak_mib.to_string(),
            outcome.kept_mib.to_string(),
            kept_mib.to_string(),
            if outcome.is_harmless() { "ok" } else { "HARM" }.to_owned(),
        ]);
    }
    aligned(&rows)
}

/// The first column to the left, numbers to the right.
fn aligned(rows: &[[String; 11]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..11).map(width).collect();
    let line = |row: &[String; 11]| {
        let cells =
            row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &'static str, read_ms: u64, peak_mib: u64) -> Outcome {
        let mut outcome = Outcome::new(name, HarmMax { pause_ms: 100, peak_mib: 10, kept_mib: 5 });
        outcome.pauses(
            Duration::from_millis(read_ms),
            Duration::from_millis(105),
            Duration::from_millis(5),
        );
        outcome.peak_mib(peak_mib);
        outcome
    }

    #[test]
    fn harm_beyond_a_bound_is_found() {
        assert!(outcome("a", 100, 10).is_harmless());
        let slow = outcome("a", 101, 10);
        assert!(slow.harms().is_empty() && !slow.is_harmless());
        assert_eq!(slow.long_pauses(), ["reads paused for 101 ms; at most 100"]);
        let large = outcome("a", 1, 11);
        assert_eq!(large.harms(), ["memory grew by 11 MiB during the attack; at most 10"]);
    }

    #[test]
    fn the_worst_is_the_first_row() {
        let text = table(&[outcome("mild", 2, 1), outcome("bad", 200, 1)]);
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows[1].starts_with("bad ") && rows[1].ends_with("HARM"), "{text}");
        assert!(rows[2].starts_with("mild") && rows[2].ends_with("ok"), "{text}");
    }
}
