//! Writes and loads checkpoints of the state, so that a start replays only the records after one.

use std::io;

use allod_core::requests::AnsweredRequest;
use allod_core::state::State;
use allod_core::state::capacity::image::{ConsumerImage, ProviderImage};
use allod_core::state::restore::{Frozen, Restorer};
use allod_journal::checkpoint::{
    CheckpointList, CheckpointMeta, CheckpointStore, UnreadableCheckpoint,
};
use allod_journal::{CheckpointStoreError, Hash, Journal, JournalError, Tail};

use allod_record::{CheckpointError, CheckpointPart, CheckpointReader, CheckpointWriter, Header};
use tracing::{info, warn};

use crate::replay::{Halt, Replica};
use crate::witness::checkpoint_witness;

/// Loads the newest valid checkpoint whose record is in the journal.
pub fn load(journal: &dyn Journal, store: &dyn CheckpointStore) -> Result<Option<Replica>, Halt> {
    let CheckpointList { metas, skipped } = store.survey()?;
    // Read after the checkpoints: another server may just have appended a record and written a checkpoint of it.
    let end = journal.tail()?;
    for UnreadableCheckpoint { name, what } in skipped {
        warn!(name, what, "skipping a checkpoint that cannot be read");
    }
    for meta in metas {
        // Checked before the contents: even if those cannot be read, the header proves that the record existed.
        ensure_known_level(&meta)?;
        if !in_chain(journal, &meta, &end)? {
            continue;
        }
        let input = match store.open(&meta) {
            Ok(input) => input,
            Err(error @ CheckpointStoreError::Unavailable { .. }) => return Err(error.into()),
            Err(error) => {
                warn!(record = meta.seq, %error, "skipping a checkpoint that cannot be read");
                continue;
            }
        };
        match read_at(input, &meta) {
            Ok(replica) => {
                info!(record = meta.seq, position = meta.position, "checkpoint loaded");
                return Ok(Some(replica));
            }
            Err(error) => {
                warn!(record = meta.seq, %error, "skipping a checkpoint that cannot be read")
            }
        }
    }
    Ok(None)
}

/// Whether the journal has the checkpoint's record, or at least its successor. A checkpoint is written only after its
/// record is durable. So if the journal ends before it, or has a different record, the journal has lost acknowledged
/// records or is another one: an error.
pub(crate) fn in_chain(
    journal: &dyn Journal,
    meta: &CheckpointMeta,
    end: &Tail,
) -> Result<bool, Halt> {
    if meta.seq > end.seq {
        return Err(Halt::JournalTruncated(checkpoint_witness(meta, end)));
    }
    let same = match journal.read(meta.seq, 0) {
        Ok(frames) => {
            frames.first().is_some_and(|frame| frame.seq == meta.seq && frame.hash() == meta.hash)
        }
        // The record itself may have been trimmed; its successor contains its hash.
        Err(JournalError::Trimmed { oldest, .. }) if oldest == meta.seq + 1 => {
            journal.read(oldest, 0)?.first().is_some_and(|frame| frame.prev == meta.hash)
        }
        Err(JournalError::Trimmed { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    if same { Ok(true) } else { Err(Halt::CheckpointMismatch { seq: meta.seq }) }
}

fn ensure_known_level(meta: &CheckpointMeta) -> Result<(), Halt> {
    let (seq, found, known) = (meta.seq, meta.level, allod_record::LEVEL);
    if found > known { Err(Halt::TooNew { seq, found, known }) } else { Ok(()) }
}

/// Reads a checkpoint and checks it against `meta`.
pub(crate) fn read_at(input: impl io::Read, meta: &CheckpointMeta) -> Result<Replica, Halt> {
    let unsound = |what: String| CheckpointStoreError::Unsound {
        name: format!("of record {}", meta.seq),
        what,
    };
    ensure_known_level(meta)?;
    let (state, level) = read(input).map_err(|error| unsound(error.to_string()))?;
    if state.position != meta.position {
        return Err(unsound("its position is wrong".to_owned()).into());
    }
    let CheckpointMeta { seq, hash, position, epoch, .. } = *meta;
    Ok(Replica { state, tail: Tail { seq, hash, position, epoch }, level, bytes: 0 })
}

fn read(input: impl io::Read) -> Result<(State, u32), CheckpointError> {
    let mut reader = CheckpointReader::open(input)?;
    let header = *reader.header();
    let mut restorer = Restorer::new(header.position, header.now_ms);
    loop {
        match reader.next_part()? {
            CheckpointPart::Pool(image) => restorer.pool(*image),
            CheckpointPart::Claim(claim) => restorer.claim(claim),
            CheckpointPart::Idempotency(request) => restorer.idempotency(request),
            CheckpointPart::Class(named) => restorer.class(named),
            CheckpointPart::Trait(named) => restorer.trait_name(named),
            CheckpointPart::Provider(image) => restorer.provider(image),
            CheckpointPart::Consumer(image) => restorer.consumer(image),
            CheckpointPart::Request(asked) => restorer.request(asked),
            CheckpointPart::Event(event) => restorer.event(&event),
            CheckpointPart::End => return Ok((restorer.finish(), header.level)),
        }
    }
}

/// Writes a checkpoint of a frozen state whose journal ended at `tail`.
pub fn write(
    store: &dyn CheckpointStore,
    frozen: &Frozen,
    tail: &Tail,
    level: u32,
) -> Result<(), CheckpointStoreError> {
    let meta = CheckpointMeta {
        seq: tail.seq,
        hash: tail.hash,
        position: tail.position,
        epoch: tail.epoch,
        level,
        at_ms: frozen.now_ms,
    };
    store.put(&meta, &mut |out| {
        let header = Header { level, position: frozen.position, now_ms: frozen.now_ms };
        let mut writer = CheckpointWriter::begin(out, &header)?;
        for pool in &frozen.pools {
            writer.pool(&pool.image())?;
            for claim in pool.rows.claims() {
                writer.claim(&claim)?;
            }
            for asked in pool.requests.iter().flat_map(|requests| requests.iter()) {
                writer.request(&pool.name, asked)?;
            }
        }
        let capacity = &frozen.capacity;
        put_rest(&mut writer, frozen, capacity.providers(), capacity.consumers())?;
        writer.finish().map(|_| ())
    })
}

/// Writes everything but the pools.
fn put_rest<W: io::Write>(
    writer: &mut CheckpointWriter<W>,
    frozen: &Frozen,
    mut providers: impl Iterator<Item = ProviderImage>,
    mut consumers: impl Iterator<Item = ConsumerImage>,
) -> io::Result<()> {
    frozen.events().try_for_each(|event| writer.event(&event))?;
    frozen.idempotency.iter().try_for_each(|stored| writer.idempotency(stored))?;
    let capacity = &frozen.capacity;
    capacity.classes().try_for_each(|named| writer.class(named))?;
    capacity.traits().try_for_each(|named| writer.trait_name(named))?;
    providers.try_for_each(|image| writer.provider(&image))?;
    consumers.try_for_each(|image| writer.consumer(&image))
}

/// A hash of the whole state. Equal states have equal hashes, however they were computed.
pub fn state_hash(state: &State, level: u32) -> Hash {
    let hashed = || -> io::Result<blake3::Hasher> {
        let header = Header { level, position: state.position, now_ms: state.now_ms };
        let mut writer = CheckpointWriter::begin(blake3::Hasher::new(), &header)?;
        let frozen = state.freeze();
        for (frozen, pool) in frozen.pools.iter().zip(state.pools()) {
            writer.pool(&frozen.image())?;
            for claim in pool.claims_by_value() {
                writer.claim(&claim)?;
            }
            let asked = frozen.requests.iter().flat_map(|requests| requests.iter());
            let mut asked: Vec<&AnsweredRequest> = asked.collect();
            asked.sort_unstable_by(|one, other| one.key.cmp(&other.key));
            asked.iter().try_for_each(|asked| writer.request(&frozen.name, asked))?;
        }
        // Sorted, because copies may have them in different orders.
        let capacity = &frozen.capacity;
        let mut providers: Vec<ProviderImage> = capacity.providers().collect();
        providers.sort_unstable_by_key(|image| image.uuid);
        let mut consumers: Vec<ConsumerImage> = capacity.consumers().collect();
        consumers.sort_unstable_by_key(|image| image.uuid);
        put_rest(&mut writer, &frozen, providers.into_iter(), consumers.into_iter())?;
        writer.finish()
    };
    // Writing into a hasher cannot fail.
    hashed().map(|hasher| Hash(*hasher.finalize().as_bytes())).unwrap_or_default()
}
