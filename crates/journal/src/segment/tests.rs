//! Segments: round trips, detection of changes and truncation, and hostile input.

use std::io::Read;

use proptest::prelude::*;

use super::section::{self, CHECKPOINT, CHECKPOINT_RUN, FRAMES, HEADER, TRAILER};
use super::*;
use crate::checkpoint::CheckpointMeta;
use crate::frame::{Hash, RecordFrame, Tail};
use crate::suite::next_frame;

/// Records with these bodies that follow record `after`.
fn chain(after: &Tail, bodies: &[Vec<u8>]) -> (Vec<RecordFrame>, Tail) {
    let mut tail = *after;
    let mut frames = Vec::new();
    for body in bodies {
        let frame = next_frame(&tail, 7, body);
        tail = frame.tail(frame.hash());
        frames.push(frame);
    }
    (frames, tail)
}

fn header(after: &Tail, end: Tail) -> SegmentHeader {
    SegmentHeader {
        kind: SegmentKind::Backup,
        created_ms: 1_700_000_000_123,
        after: after.into(),
        end,
    }
}

fn meta(tail: &Tail) -> CheckpointMeta {
    let Tail { seq, hash, position, epoch } = *tail;
    CheckpointMeta { seq, hash, position, epoch, level: 3, at_ms: 44 }
}

fn write(
    header: &SegmentHeader,
    checkpoint: Option<(CheckpointMeta, &[u8])>,
    frames: &[RecordFrame],
) -> Vec<u8> {
    let mut writer = SegmentWriter::begin(Vec::new(), header).expect("begin");
    if let Some((meta, mut contents)) = checkpoint {
        writer.checkpoint(&meta, &mut contents).expect("checkpoint");
    }
    for frame in frames {
        writer.frame(frame).expect("frame");
    }
    let (bytes, trailer) = writer.finish().expect("finish");
    assert_eq!(trailer.records, frames.len() as u64);
    bytes
}

#[derive(Debug, PartialEq)]
struct ReadSegment {
    header: SegmentHeader,
    checkpoint: Option<(CheckpointMeta, Vec<u8>)>,
    frames: Vec<RecordFrame>,
}

fn read(bytes: &[u8]) -> Result<ReadSegment, SegmentError> {
    let mut reader = SegmentReader::open(bytes)?;
    let mut whole = ReadSegment { header: *reader.header(), checkpoint: None, frames: Vec::new() };
    loop {
        match reader.next_part()? {
            SegmentPart::Checkpoint(meta) => {
                let mut contents = Vec::new();
                reader.contents().read_to_end(&mut contents)?;
                whole.checkpoint = Some((meta, contents));
            }
            SegmentPart::Frames(frames) => whole.frames.extend(frames),
            SegmentPart::End(trailer) => {
                assert_eq!(trailer.records, whole.frames.len() as u64);
                return Ok(whole);
            }
        }
    }
}

/// The segment of the golden file.
fn sample() -> ReadSegment {
    let after = Tail { seq: 41, hash: Hash([5; 32]), position: 90, epoch: 2 };
    let (frames, end) = chain(&after, &[b"one".to_vec(), Vec::new(), vec![0xab; 40]]);
    let middle = frames[0].tail(frames[0].hash());
    let checkpoint = Some((meta(&middle), b"a state, of which the journal knows nothing".to_vec()));
    ReadSegment { header: header(&after, end), checkpoint, frames }
}

fn bytes_of(whole: &ReadSegment) -> Vec<u8> {
    let checkpoint = whole.checkpoint.as_ref().map(|(meta, bytes)| (*meta, &bytes[..]));
    write(&whole.header, checkpoint, &whole.frames)
}

#[test]
fn every_flipped_bit_and_every_truncation_is_detected() {
    let bytes = bytes_of(&sample());
    assert_eq!(read(&bytes).expect("it is sound"), sample());
    for at in 0..bytes.len() {
        for bit in [0x01, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= bit;
            assert!(read(&changed).is_err(), "the change of byte {at} was not detected");
        }
    }
    for length in 0..bytes.len() {
        let error = read(&bytes[..length]).expect_err("it was cut off");
        let early = matches!(error, SegmentError::EndsEarly { .. } | SegmentError::Foreign);
        assert!(early && (length < 8) == matches!(error, SegmentError::Foreign), "{error}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    let error = read(&longer).expect_err("something follows").to_string();
    assert!(error.contains("something follows its end"), "{error}");
}

#[test]
fn truncation_error_names_the_last_complete_record() {
    let (frames, end) = chain(&Tail::default(), &vec![vec![9; 600_000]; 5]);
    let bytes = write(&header(&Tail::default(), end), None, &frames);
    let error = read(&bytes[..bytes.len() - 200]).expect_err("it was cut off").to_string();
    assert_eq!(error, "the backup ends early after record 4");
    assert_eq!(
        read(&bytes[..8]).expect_err("no header").to_string(),
        "the file ends early after record 0"
    );
    assert!(matches!(read(b"allodsg2 from later"), Err(SegmentError::TooNew { found: 2 })));
    assert!(matches!(read(b"SQLite format 3\0"), Err(SegmentError::Foreign)));
    assert!(matches!(read(b""), Err(SegmentError::Foreign)));
}

#[test]
fn writer_refuses_gaps_forks_and_a_wrong_end() {
    let (frames, end) = chain(&Tail::default(), &[b"a".to_vec(), b"b".to_vec(), b"c".to_vec()]);
    let begin = || SegmentWriter::begin(Vec::new(), &header(&Tail::default(), end)).expect("begin");
    let mut writer = begin();
    assert!(matches!(writer.frame(&frames[1]), Err(SegmentError::Chain { .. })));
    writer.frame(&frames[0]).expect("it follows");
    let forked = RecordFrame { prev: Hash([1; 32]), ..frames[1].clone() };
    assert!(matches!(writer.frame(&forked), Err(SegmentError::Chain { .. })));
    assert!(matches!(writer.finish(), Err(SegmentError::EndsEarly { record: 1, .. })));
    // A segment without records is valid: an empty journal can be backed up.
    let empty = header(&Tail::default(), Tail::default());
    let none = read(&write(&empty, None, &[])).expect("it is sound");
    assert_eq!(none, ReadSegment { header: empty, checkpoint: None, frames: Vec::new() });
}

/// Sections with valid hashes in an arbitrary order.
fn forge(sections: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    let mut whole = blake3::Hasher::new();
    whole.update(MAGIC);
    for (number, contents) in sections {
        section::write(&mut out, &mut whole, *number, contents).expect("write");
    }
    out
}

#[test]
fn invalid_contents_with_valid_hashes_are_refused() {
    let whole = sample();
    let mut head = Vec::new();
    fields::put_header(&mut head, &whole.header);
    let mut run = Vec::new();
    whole
        .frames
        .iter()
        .for_each(|frame| fields::put_frame(&mut run, frame, frame.body.len() as u32));
    let trailer =
        Trailer { records: 3, checkpoint_bytes: 0, end: whole.header.end, hash: Hash::default() };
    let mut ended = Vec::new();
    fields::put_trailer(&mut ended, &trailer);
    let mut cut = run.clone();
    cut.truncate(run.len() - 1);
    let mut long = run.clone();
    let at = run.len() - 44;
    long[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut last = Vec::new();
    let highest = Tail { seq: u64::MAX, ..Tail::default() };
    fields::put_header(
        &mut last,
        &SegmentHeader { after: (&highest).into(), end: highest, ..whole.header },
    );
    let mut backwards = Vec::new();
    fields::put_header(&mut backwards, &SegmentHeader { end: Tail::default(), ..whole.header });
    for sections in [
        vec![(FRAMES, run.clone())],
        vec![(HEADER, Vec::new())],
        vec![(HEADER, last), (FRAMES, run.clone())],
        vec![(HEADER, backwards)],
        vec![(HEADER, head.clone()), (HEADER, head.clone())],
        vec![(HEADER, head.clone()), (77, Vec::new())],
        vec![(HEADER, head.clone()), (CHECKPOINT_RUN, Vec::new())],
        vec![(HEADER, head.clone()), (CHECKPOINT, vec![1; 12])],
        vec![(HEADER, head.clone()), (FRAMES, cut)],
        vec![(HEADER, head.clone()), (FRAMES, long)],
        vec![(HEADER, head.clone()), (FRAMES, run.clone()), (FRAMES, run.clone())],
        vec![(HEADER, head.clone()), (FRAMES, run.clone()), (TRAILER, ended.clone())],
        vec![(HEADER, head.clone()), (TRAILER, ended)],
        vec![(HEADER, head), (FRAMES, run), (TRAILER, vec![1])],
    ] {
        assert!(read(&forge(&sections)).is_err(), "{sections:?}");
    }
}

#[test]
fn decompression_bomb_is_refused() {
    let bomb = zstd::bulk::compress(&vec![0; 32 << 20], 3).expect("compress");
    assert!(bomb.len() < 10_000);
    for bytes in [10_u32, 100_000, (SECTION_BYTES_MAX + 1) as u32, u32::MAX] {
        let mut out = MAGIC.to_vec();
        out.push(HEADER);
        out.extend_from_slice(&bytes.to_le_bytes());
        out.extend_from_slice(&(bomb.len() as u32).to_le_bytes());
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[HEADER]).update(&bytes.to_le_bytes()).update(&bomb);
        out.extend_from_slice(hasher.finalize().as_bytes());
        out.extend_from_slice(&bomb);
        assert!(matches!(read(&out), Err(SegmentError::Altered { .. })));
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let text = String::from_utf8(digits).expect("digits");
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(byte).collect()
}

/// Only read, never compared byte by byte: another version of zstd may compress differently.
#[test]
fn golden_segment_of_format_1_is_read() {
    let golden = include_str!("../../golden/segment-1.hex");
    assert_eq!(read(&hex(golden)).expect("it is sound"), sample());
}

#[test]
fn document_lists_every_section() {
    let document = include_str!("../../../../docs/reference/segment-format.md");
    let (_, table) = document.split_once("\n## Sections\n").expect("there are sections");
    let table = table.split("\n## ").next().unwrap_or(table);
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")).skip(1);
    let documented: Vec<String> = rows
        .filter(|row| row.starts_with(|c: char| c.is_ascii_digit()))
        .map(|row| row.split(" | ").take(2).collect::<Vec<_>>().join(" "))
        .collect();
    let known: Vec<String> =
        SECTIONS.iter().map(|(number, name)| format!("{number} {name}")).collect();
    assert_eq!(documented, known);
    assert!(document.contains("`allodsg1`") && document.contains(&SECTION_BYTES_MAX.to_string()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn written_segment_is_read_back(
        after_seq in 0_u64..1 << 50,
        bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..40),
        contents in prop::option::of(prop::collection::vec(any::<u8>(), 0..2000)),
        flip in any::<(usize, u8)>(),
        cut in any::<usize>(),
    ) {
        let after = Tail { seq: after_seq, hash: Hash([3; 32]), position: after_seq, epoch: 1 };
        let (frames, end) = chain(&after, &bodies);
        let checkpoint = contents.map(|contents| (meta(&after), contents));
        let whole = ReadSegment { header: header(&after, end), checkpoint, frames };
        let bytes = bytes_of(&whole);
        prop_assert_eq!(read(&bytes).expect("it is sound"), whole);
        let mut changed = bytes.clone();
        changed[flip.0 % bytes.len()] ^= flip.1.max(1);
        prop_assert!(read(&changed).is_err());
        prop_assert!(read(&bytes[..cut % bytes.len()]).is_err());
    }

    #[test]
    fn arbitrary_bytes_are_refused_without_a_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400), magic in any::<bool>()) {
        if magic {
            bytes.splice(0..0, *MAGIC);
        }
        prop_assert!(read(&bytes).is_err());
    }
}
