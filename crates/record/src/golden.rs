//! Golden bytes: released bytes must stay readable, and the bytes that this release writes must not change.
//!
//! `golden/<number>-<name>-v<version>.hex` has the bytes of one sample; another sample of the same kind adds a word.
//! `ALLOD_GOLDEN_NEW=1` writes missing files. Existing files are never written: users have such bytes on disk, so if a
//! test fails here, the code is wrong.

mod authority;
mod blocks;
mod capacity;
mod outside;
mod requests;
mod samples;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, slice};

use allod_core::event::{ClaimEvent, Event};

use crate::body::{decode, encode};
use crate::checkpoint::{CheckpointPart, CheckpointReader, CheckpointWriter, Header};
use crate::chunk::Chunks;
use crate::kinds::{KindInfo, describe};
use crate::stored::{read_event, write_event};
use samples::Sample;

#[test]
fn samples_match_their_golden_files() {
    for (name, sample) in all_samples() {
        if env::var_os("ALLOD_GOLDEN_NEW").is_some() {
            write_new(&folder().join(format!("{name}.hex")), &to_text(name, &write(&sample)));
        }
        let text = fs::read_to_string(folder().join(format!("{name}.hex")));
        let text = text.unwrap_or_else(|error| panic!("{name}.hex: {error}"));
        assert_eq!(read(&sample, &from_text(&text)), sample, "{name} reads differently");
        // A retired version is written only for an event that was read in that version.
        assert_eq!(to_text(name, &write(&sample)), text, "{name} is written differently");
    }
}

#[test]
fn kinds_and_golden_files_have_samples() {
    let named: BTreeSet<String> = all_samples().iter().map(|(name, _)| name.to_string()).collect();
    let kinds: BTreeSet<String> = describe().iter().map(first_name).collect();
    let missing: Vec<_> = kinds.difference(&named).collect();
    assert!(missing.is_empty(), "kinds without a sample: {missing:?}");

    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name());
    let files = files.map(|file| file.to_str().unwrap().strip_suffix(".hex").unwrap().to_owned());
    let unknown: Vec<_> = files.filter(|file| !named.contains(file)).collect();
    assert!(unknown.is_empty(), "golden files without a sample: {unknown:?}");
}

#[test]
fn plain_grant_has_few_bytes() {
    let mut bytes = Vec::new();
    write_event(&mut bytes, &Event::Claim(ClaimEvent::Granted(samples::plain_grant())));
    assert_eq!(bytes.len(), 35);
}

/// The samples with the names of their files.
fn all_samples() -> Vec<(&'static str, Sample)> {
    samples::all()
        .into_iter()
        .chain(capacity::all())
        .chain(blocks::all())
        .chain(requests::all())
        .chain(outside::all())
        .chain(authority::all())
        .collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

fn first_name(kind: &KindInfo) -> String {
    format!("{}-{}-v{}", kind.number, kind.name, kind.version)
}

fn write(sample: &Sample) -> Vec<u8> {
    match sample {
        Sample::Item(item) => encode(slice::from_ref(item)),
        Sample::Event(event) => {
            let mut bytes = Vec::new();
            write_event(&mut bytes, event);
            bytes
        }
        Sample::Checkpoint(header, parts) => write_checkpoint(header, parts),
    }
}

/// Reads bytes as the same sort of sample as `like`.
fn read(like: &Sample, bytes: &[u8]) -> Sample {
    match like {
        Sample::Item(_) => {
            let [item] = decode(bytes).unwrap().try_into().unwrap();
            Sample::Item(item)
        }
        Sample::Event(_) => {
            let mut chunks = Chunks::new(bytes, 0);
            let event = read_event(&chunks.next_chunk().unwrap().unwrap()).unwrap();
            assert!(chunks.next_chunk().unwrap().is_none());
            Sample::Event(event)
        }
        Sample::Checkpoint(..) => read_checkpoint(bytes),
    }
}

fn write_checkpoint(header: &Header, parts: &[CheckpointPart]) -> Vec<u8> {
    let mut writer = CheckpointWriter::begin(Vec::new(), header).unwrap();
    for part in parts {
        match part {
            CheckpointPart::Pool(image) => writer.pool(image).unwrap(),
            CheckpointPart::Claim(claim) => writer.claim(claim).unwrap(),
            CheckpointPart::Idempotency(stored) => writer.idempotency(stored).unwrap(),
            CheckpointPart::Class(named) => writer.class(named).unwrap(),
            CheckpointPart::Trait(named) => writer.trait_name(named).unwrap(),
            CheckpointPart::Provider(image) => writer.provider(image).unwrap(),
            CheckpointPart::Consumer(image) => writer.consumer(image).unwrap(),
            CheckpointPart::Request(request) => writer.request(&"lan1".into(), request).unwrap(),
            CheckpointPart::Event(event) => writer.event(event).unwrap(),
            CheckpointPart::End => {}
        }
    }
    writer.finish().unwrap()
}

fn read_checkpoint(bytes: &[u8]) -> Sample {
    let mut reader = CheckpointReader::open(bytes).unwrap();
    let mut parts = vec![];
    while parts.last() != Some(&CheckpointPart::End) {
        parts.push(reader.next_part().unwrap());
    }
    Sample::Checkpoint(*reader.header(), parts)
}

/// Writes a file unless it exists.
fn write_new(path: &Path, text: &str) {
    if let Ok(mut file) = fs::File::create_new(path) {
        file.write_all(text.as_bytes()).unwrap();
    }
}

fn to_text(name: &str, bytes: &[u8]) -> String {
    let hex = |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let lines: Vec<String> = bytes.chunks(40).map(hex).collect();
    format!("# {name}\n{}\n", lines.join("\n"))
}

fn from_text(text: &str) -> Vec<u8> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let digits: Vec<u32> = lines.flat_map(str::chars).map(|c| c.to_digit(16).unwrap()).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}
