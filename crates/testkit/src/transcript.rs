//! Transcripts: requests to a server and the expected replies, as text.
//!
//! A transcript consists of blocks separated by empty lines. `# …` is a comment, `wait N` advances the clock by
//! seconds, and `=> …` is a reply. The test interprets everything else: as a request or an action on the server.
//! `ALLOD_UPDATE_GOLDEN=1 cargo test` writes the actual replies into the files instead of comparing.
//!
//! How requests are parsed and replies are printed differs between faces and is not here.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allod_engine::Clock;

use crate::golden;

/// A clock that only a transcript advances.
#[derive(Debug)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// 1 January 2026, 08:00 UTC, a Thursday.
    pub fn morning() -> Arc<ManualClock> {
        Arc::new(ManualClock(AtomicU64::new(1_767_254_400_000)))
    }

    pub fn wait(&self, seconds: u64) {
        self.0.fetch_add(seconds * 1000, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs a transcript and returns it with the actual replies. `answer` returns the reply to a block, or `None` if there
/// is nothing to print.
pub async fn play(
    transcript: &str,
    clock: &ManualClock,
    mut answer: impl AsyncFnMut(&str) -> Option<String>,
) -> String {
    let mut played = String::new();
    for block in transcript.split("\n\n").map(str::trim_end).filter(|block| !block.is_empty()) {
        if block.starts_with("=> ") {
            continue;
        }
        if !played.is_empty() {
            played.push('\n');
        }
        played.push_str(block);
        played.push('\n');
        if block.starts_with('#') {
            continue;
        }
        if let Some(seconds) = block.strip_prefix("wait ") {
            clock.wait(seconds.parse().expect("seconds"));
        } else if let Some(reply) = answer(block).await {
            writeln!(played, "\n=> {}", reply.trim_end()).expect("a string takes all");
        }
    }
    played
}

/// Runs every transcript of a directory and compares the replies.
pub async fn check(folder: &Path, mut play: impl AsyncFnMut(&str) -> String) {
    let files = std::fs::read_dir(folder).expect("a folder of transcripts");
    let mut files: Vec<_> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let mut wrong = Vec::new();
    for file in files {
        let wanted = std::fs::read_to_string(&file).expect("a transcript");
        let played = play(&wanted).await;
        wrong.extend(golden::compare(&file, &wanted, &played).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Whether a path matches the template of a route.
pub fn fits(template: &str, path: &str) -> bool {
    let (want, got): (Vec<&str>, Vec<&str>) =
        (template.split('/').collect(), path.split('/').collect());
    let open = template.contains("{*");
    (want.len() == got.len() || (open && got.len() > want.len()))
        && want.iter().zip(&got).all(|(want, got)| want.starts_with('{') || want == got)
}
