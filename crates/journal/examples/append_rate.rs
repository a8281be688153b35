//! Measures the embedded journal's appends against the bare writing and syncing of the same bytes, in turns on the same
//! disk: `cargo run --release -p allod-journal --example append_rate [FOLDER]`.
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use allod_journal::embedded::Embedded;
use allod_journal::suite::{committed, next_frame};
use allod_journal::{Journal, Tail};

const APPENDS: usize = 2000;
const ROUNDS: usize = 3;

fn main() {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    for body_bytes in [200, 4096, 65_536] {
        for _ in 0..ROUNDS {
            let scratch = tempfile::tempdir_in(&folder).expect("a folder");
            let bare = bare(scratch.path(), body_bytes);
            let journal = journal(scratch.path(), body_bytes);
            println!(
                "{body_bytes:>6} bytes  bare {bare}  journal {journal}  ratio {:.2}",
                journal.rate / bare.rate
            );
        }
    }
}

struct Measured {
    rate: f64,
    sorted: Vec<Duration>,
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = |share: f64| self.sorted[(self.sorted.len() as f64 * share) as usize].as_micros();
        write!(
            f,
            "{:>6.0}/s p50 {:>4} p99 {:>5} max {:>6} us",
            self.rate,
            at(0.5),
            at(0.99),
            at(0.9999)
        )
    }
}

fn measure(mut once: impl FnMut()) -> Measured {
    let started = Instant::now();
    let mut sorted = Vec::with_capacity(APPENDS);
    for _ in 0..APPENDS {
        let began = Instant::now();
        once();
        sorted.push(began.elapsed());
    }
    let rate = APPENDS as f64 / started.elapsed().as_secs_f64();
    sorted.sort_unstable();
    Measured { rate, sorted }
}

fn bare(folder: &Path, body_bytes: usize) -> Measured {
    let mut file = File::create(folder.join("bare")).expect("a file");
    let bytes = noise(body_bytes);
    measure(|| {
        file.write_all(&bytes).expect("write");
        file.sync_data().expect("sync");
    })
}

fn journal(folder: &Path, body_bytes: usize) -> Measured {
    let journal = Embedded::open(folder).expect("open").journal;
    let body = noise(body_bytes);
    let mut tail = Tail::default();
    measure(|| tail = committed(journal.append(&tail, &next_frame(&tail, 1, &body))))
}

fn noise(count: usize) -> Vec<u8> {
    let mut hash = blake3::Hasher::new().finalize_xof();
    let mut bytes = vec![0; count];
    hash.fill(&mut bytes);
    bytes
}
