//! The inputs with which a fuzz target starts: its folder in `fuzz/seeds`, and what the tests already have: the requests of
//! the transcripts, and the golden bytes of records, checkpoints and segments.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{Context, Result};

/// The number of requests in one input that is made from a transcript.
const REQUESTS_PER_SEED: usize = 12;

/// The kind of the chunk that ends a checkpoint, and of the chunk of an entry.
const CHECKPOINT_ENDED: u8 = 67;
const ENTRY: u8 = 3;

/// The seeds of a target.
pub fn of(root: &Path, target: &str) -> Result<Vec<Vec<u8>>> {
    let mut seeds = match target {
        "native_requests" => requests(&root.join("crates/face-native/tests/it/transcripts"))?,
        "placement_requests" => requests(&root.join("crates/face-placement/tests/it/transcripts"))?,
        "journal_record" => records(root)?,
        "checkpoint" => checkpoints(root)?,
        "segment" => segments(root)?,
        _ => Vec::new(),
    };
    let own = root.join("fuzz/seeds").join(target);
    if own.is_dir() {
        for (_, bytes) in files(&own)? {
            seeds.push(bytes);
        }
    }
    Ok(seeds)
}

/// Writes the seeds of a target into an empty folder.
pub fn write(root: &Path, target: &str, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).context("the old seeds cannot be removed")?;
    }
    fs::create_dir_all(folder).context("the folder of seeds cannot be created")?;
    for (number, seed) in of(root, target)?.iter().enumerate() {
        fs::write(folder.join(number.to_string()), seed).context("a seed cannot be written")?;
    }
    Ok(())
}

/// The files of a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.push((name, fs::read(&path)?));
    }
    found.sort();
    Ok(found)
}

/// The requests of transcripts: each alone, and those of a file in groups.
fn requests(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for (_, bytes) in files(folder)? {
        let text = String::from_utf8(bytes).context("a transcript is text")?;
        let is_request = |block: &&str| {
            let method = block.split(' ').next().unwrap_or_default();
            ["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"].contains(&method)
        };
        let all: Vec<&str> = text.split("\n\n").map(str::trim).filter(is_request).collect();
        seeds.extend(all.iter().map(|request| request.as_bytes().to_vec()));
        seeds.extend(all.chunks(REQUESTS_PER_SEED).map(|some| some.join("\n\n").into_bytes()));
    }
    seeds.sort();
    seeds.dedup();
    Ok(seeds)
}

/// The bodies of the records of each golden journal.
fn journals(root: &Path) -> Result<Vec<Vec<Vec<u8>>>> {
    let mut journals = Vec::new();
    for (_, bytes) in files(&root.join("crates/engine/golden"))? {
        let text = String::from_utf8(bytes).context("a golden journal is text")?;
        let bodies = text.lines().filter(|line| line.split(' ').count() == 8);
        journals.push(bodies.filter_map(|line| unhex(line.rsplit(' ').next()?)).collect());
    }
    Ok(journals)
}

/// The kinds of the chunks that only checkpoints have.
const CHECKPOINT_PARTS: RangeInclusive<u8> = 64..=69;
/// Kinds of events that a checkpoint contains too.
const CHECKPOINT_EVENTS: [u8; 11] = [22, 38, 40, 48, 50, 52, 53, 61, 56, 58, 62];

/// The golden bytes of the stored forms, with their kinds.
fn golden_chunks(root: &Path) -> Result<Vec<(u8, Vec<u8>)>> {
    let mut found = Vec::new();
    for (name, bytes) in files(&root.join("crates/record/golden"))? {
        let kind = name.split('-').next().and_then(|kind| kind.parse().ok());
        let text = String::from_utf8(bytes).context("a golden file is text")?;
        let hex: String = text.lines().filter(|line| !line.starts_with('#')).collect();
        found.extend(kind.zip(unhex(&hex)));
    }
    Ok(found)
}

fn records(root: &Path) -> Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for bodies in journals(root)? {
        // A body is a sequence of chunks, so the bodies of a whole journal are one too.
        seeds.push(bodies.concat());
        seeds.extend(bodies);
    }
    for (kind, bytes) in golden_chunks(root)? {
        match kind {
            // Events, which are inside of an entry: its time and its cause come first.
            kind if kind >= 16 && !CHECKPOINT_PARTS.contains(&kind) => {
                let mut seed = vec![ENTRY, 1];
                put_varint(&mut seed, bytes.len() + 2);
                seed.extend([1, 0]);
                seed.extend(bytes);
                seeds.push(seed);
            }
            0..16 => seeds.push(bytes),
            _ => {}
        }
    }
    Ok(seeds)
}

/// Checkpoints without their ends, which the target adds.
fn checkpoints(root: &Path) -> Result<Vec<Vec<u8>>> {
    let golden = golden_chunks(root)?;
    let whole = golden.iter().filter(|(kind, _)| CHECKPOINT_PARTS.contains(kind));
    let mut seeds: Vec<Vec<u8>> = whole.map(|(_, bytes)| without_end(bytes).to_vec()).collect();
    // Events that a checkpoint contains.
    let events = golden.iter().filter(|(kind, _)| CHECKPOINT_EVENTS.contains(kind));
    let events: Vec<&[u8]> = events.map(|(_, bytes)| bytes.as_slice()).collect();
    if let Some(longest) = seeds.iter().max_by_key(|seed| seed.len()) {
        seeds.push([longest.as_slice(), &events.concat()].concat());
    }
    Ok(seeds)
}

fn without_end(checkpoint: &[u8]) -> &[u8] {
    let is_end = |at: &usize| match checkpoint[*at..] {
        [CHECKPOINT_ENDED, 1..=3, length, ref rest @ ..] => rest.len() == usize::from(length),
        _ => false,
    };
    let end = (0..checkpoint.len()).find(is_end);
    &checkpoint[..end.unwrap_or(checkpoint.len())]
}

/// The golden segment, and the golden journals as parts with their lengths, from which the target makes a backup.
fn segments(root: &Path) -> Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for (_, bytes) in files(&root.join("crates/journal/golden"))? {
        let text = String::from_utf8(bytes).context("a golden file is text")?;
        seeds.extend(unhex(&text.split_whitespace().collect::<String>()));
    }
    let part = |bytes: &[u8]| {
        let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        [length.to_le_bytes().as_slice(), bytes].concat()
    };
    let journals = journals(root)?;
    let parts = |bodies: &Vec<Vec<u8>>| bodies.iter().map(|body| part(body)).collect::<Vec<_>>();
    seeds.extend(journals.iter().map(|bodies| [part(&[]), parts(bodies).concat()].concat()));
    let bodies = journals.last().map(|bodies| parts(bodies).concat()).unwrap_or_default();
    for checkpoint in checkpoints(root)? {
        seeds.push([part(&checkpoint), bodies.clone()].concat());
    }
    Ok(seeds)
}

fn put_varint(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = |at: usize| text.get(at..at + 2);
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(digits(at)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo;

    #[test]
    fn golden_bytes_and_transcripts_become_seeds() {
        let root = cargo::root();
        let requests = of(&root, "native_requests").unwrap();
        assert!(
            requests.len() > 200 && requests.iter().all(|one| one.is_ascii() || !one.is_empty())
        );
        assert!(requests.iter().all(|seed| !seed.windows(3).any(|three| three == b"\n=>")));
        let records = of(&root, "journal_record").unwrap();
        assert!(records.len() > 200);
        // An entry around an event: kind, version, length.
        assert!(records.iter().all(|record| record.len() > 2 && [1, 2, 3].contains(&record[0])));
        let checkpoints = of(&root, "checkpoint").unwrap();
        assert!(checkpoints.iter().all(|one| one.starts_with(b"allod checkpoint\n")));
        assert!(of(&root, "segment").unwrap()[0].starts_with(b"allodsg1"));
        assert!(of(&root, "restconf_path").unwrap().len() >= 4);
    }

    #[test]
    fn the_end_of_a_checkpoint_is_removed() {
        assert_eq!(without_end(&[1, 2, 67, 1, 2, 9, 9]), [1, 2]);
        assert_eq!(without_end(&[1, 67, 1, 3, 9, 9]), [1, 67, 1, 3, 9, 9]);
    }
}
