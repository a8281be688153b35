//! Conversations with a server, as text: requests, and under each the reply that it must get.
//!
//! A transcript is blocks with an empty line between them. `# …` is a remark, `wait N` moves the clock by seconds, `=> …` is
//! what came back, and everything else is for the one who plays it: a request, or something that is done to the server.
//! `ALLOD_UPDATE_GOLDEN=1 cargo test` writes what was answered into the files instead of comparing.
//!
//! Not here: how a request is read and a reply shown, which differs from face to face.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allod_engine::Clock;

use crate::golden;

/// A clock that stands still until a transcript moves it.
#[derive(Debug)]
pub struct Standing(AtomicU64);

impl Standing {
    /// The morning of 1 January 2026, a Thursday.
    pub fn morning() -> Arc<Standing> {
        Arc::new(Standing(AtomicU64::new(1_767_254_400_000)))
    }

    pub fn wait(&self, seconds: u64) {
        self.0.fetch_add(seconds * 1000, Ordering::Relaxed);
    }
}

impl Clock for Standing {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Plays a transcript and writes it anew with the replies that came. `answer` has the reply to a block, or `None` if there
/// is none to show.
pub async fn play(
    transcript: &str,
    clock: &Standing,
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

/// Plays every transcript of a folder and holds what came against what is there.
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

/// Whether a path is one that the template of a route describes.
pub fn fits(template: &str, path: &str) -> bool {
    let (want, got): (Vec<&str>, Vec<&str>) =
        (template.split('/').collect(), path.split('/').collect());
    let open = template.contains("{*");
    (want.len() == got.len() || (open && got.len() > want.len()))
        && want.iter().zip(&got).all(|(want, got)| want.starts_with('{') || want == got)
}
