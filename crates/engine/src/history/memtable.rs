//! The newest part of the index, in memory. It is lost when the server stops, and quickly rebuilt from the journal.

use std::io;
use std::path::Path;

use allod_core::event::Event;
use allod_journal::Hash;

use super::build::{self, directory_bits};
use super::posting::{Posting, PostingRun, posting, record_of};
use super::segment::{IndexHeader, RecordMark, Segment};
use super::term::{self, BlockSizes, Fingerprint, Term};

/// A segment stores the mark of one in this many records.
const MARKED: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Memtable {
    /// One for each record.
    pub marks: Vec<RecordMark>,
    /// In the order of the records.
    postings: Vec<Posting>,
    pub sizes: BlockSizes,
    last_hash: Hash,
    /// The postings of the record that is being added.
    adding: Vec<Posting>,
}

impl Memtable {
    pub(super) fn first_seq(&self) -> Option<u64> {
        self.marks.first().map(|mark| mark.seq)
    }

    pub(super) fn postings(&self) -> usize {
        self.postings.len()
    }

    /// Adds the record that follows the last one.
    pub(super) fn add<'a>(
        &mut self,
        seed: u64,
        mark: RecordMark,
        hash: Hash,
        events: impl Iterator<Item = &'a Event>,
    ) {
        let record = self.marks.len() as u32;
        self.adding.clear();
        for event in events {
            term::of_event(event, |term| {
                if let Term::Block { bits, .. } = term {
                    self.sizes.add(bits);
                }
                self.adding.push(posting(term.fingerprint(seed), record));
            });
        }
        self.adding.sort_unstable();
        self.adding.dedup();
        self.postings.extend_from_slice(&self.adding);
        self.marks.push(mark);
        self.last_hash = hash;
    }

    /// The records of each of these terms.
    pub(super) fn runs(&self, fingerprints: &[Fingerprint]) -> Vec<PostingRun> {
        let mut found: Vec<Vec<u32>> = vec![Vec::new(); fingerprints.len()];
        for &posting in &self.postings {
            let fingerprint = super::posting::fingerprint_of(posting);
            for (wanted, found) in fingerprints.iter().zip(&mut found) {
                if *wanted == fingerprint {
                    found.push(record_of(posting));
                }
            }
        }
        found.into_iter().map(PostingRun::in_memory).collect()
    }

    /// Writes it to a file. `None` if it is empty.
    pub(super) fn write(&self, folder: &Path, seed: u64) -> io::Result<Option<Segment>> {
        let (Some(first), Some(last)) = (self.marks.first(), self.marks.last()) else {
            return Ok(None);
        };
        let mut sorted = self.postings.clone();
        sorted.sort_unstable();
        let marked = self.marks.iter().skip(MARKED - 1).step_by(MARKED);
        let header = IndexHeader {
            seed,
            first_seq: first.seq,
            last_seq: last.seq,
            last_hash: self.last_hash,
            sizes: self.sizes,
            marks: marked.clone().count() as u64,
            postings: sorted.len() as u64,
            directory_bits: directory_bits(sorted.len() as u64),
        };
        let mut sorted = sorted.into_iter();
        build::write(folder, header, marked.map(|mark| Ok(*mark)), || Ok(sorted.next())).map(Some)
    }
}
