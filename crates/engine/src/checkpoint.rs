//! Checkpoints: the committed state written aside in the background, so that a start need not replay everything.

use std::io;

use allod_core::requests::AnsweredRequest;
use allod_core::state::State;
use allod_core::state::capacity::image::{ConsumerImage, FrozenCapacity, ProviderImage};
use allod_core::state::restore::{Frozen, Restorer};
use allod_journal::checkpoint::{
    CheckpointList, CheckpointMeta, CheckpointStore, UnreadableCheckpoint,
};
use allod_journal::{CheckpointStoreError, Hash, Journal, JournalError, Tail};

use allod_record::{CheckpointError, CheckpointReader, CheckpointWriter, Header, Part};
use tracing::{info, warn};

use crate::replay::{Halt, Replayed};

/// The newest checkpoint that is whole and that the journal goes on from.
pub fn load(journal: &dyn Journal, store: &dyn CheckpointStore) -> Result<Option<Replayed>, Halt> {
    let CheckpointList { metas, skipped } = store.survey()?;
    // After that: where several servers share a journal, another one may just have written a record and a checkpoint of it.
    let end = journal.tail()?;
    for UnreadableCheckpoint { name, what } in skipped {
        warn!(name, what, "a checkpoint cannot be read; it is not used");
    }
    for meta in metas {
        // Before its contents are looked at: even one that cannot be read tells which record there was.
        if meta.level > allod_record::LEVEL {
            let (found, known) = (meta.level, allod_record::LEVEL);
            return Err(Halt::TooNew { seq: meta.seq, found, known });
        }
        if !in_chain(journal, &meta, &end)? {
            continue;
        }
        let input = match store.open(&meta) {
            Ok(input) => input,
            Err(error @ CheckpointStoreError::Unavailable { .. }) => return Err(error.into()),
            Err(error) => {
                warn!(record = meta.seq, %error, "a checkpoint cannot be read; it is not used");
                continue;
            }
        };
        match read(input) {
            Ok((state, level)) if state.position == meta.position => {
                info!(record = meta.seq, position = meta.position, "starting from a checkpoint");
                let tail = Tail {
                    seq: meta.seq,
                    hash: meta.hash,
                    position: meta.position,
                    epoch: meta.epoch,
                };
                return Ok(Some(Replayed { state, tail, level, bytes: 0 }));
            }
            Ok(_) => {
                warn!(record = meta.seq, "a checkpoint does not end where it says; it is not used")
            }
            Err(error) => {
                warn!(record = meta.seq, %error, "a checkpoint cannot be read; it is not used")
            }
        }
    }
    Ok(None)
}

/// Whether the journal goes on from this checkpoint: it has the very record that it was taken at, or the one after it.
/// Both are written after the record is durable, so a checkpoint that the journal does not know means that the journal
/// has lost what was acknowledged, or is another one.
fn in_chain(journal: &dyn Journal, meta: &CheckpointMeta, end: &Tail) -> Result<bool, Halt> {
    if meta.seq > end.seq {
        return Err(Halt::JournalTruncated { checkpoint: meta.seq, end: end.seq });
    }
    let same = match journal.read(meta.seq, 0) {
        Ok(frames) => {
            frames.first().is_some_and(|frame| frame.seq == meta.seq && frame.hash() == meta.hash)
        }
        // The record itself may be gone; the next one then names its hash.
        Err(JournalError::Trimmed { oldest, .. }) if oldest == meta.seq + 1 => {
            journal.read(oldest, 0)?.first().is_some_and(|frame| frame.prev == meta.hash)
        }
        Err(JournalError::Trimmed { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    if same { Ok(true) } else { Err(Halt::CheckpointMismatch { seq: meta.seq }) }
}

/// Reads a checkpoint that must be of the record that `meta` names.
pub(crate) fn read_at(input: impl io::Read, meta: &CheckpointMeta) -> Result<Replayed, Halt> {
    let unsound = |what: String| CheckpointStoreError::Unsound {
        name: format!("of record {}", meta.seq),
        what,
    };
    if meta.level > allod_record::LEVEL {
        let (found, known) = (meta.level, allod_record::LEVEL);
        return Err(Halt::TooNew { seq: meta.seq, found, known });
    }
    let (state, level) = read(input).map_err(|error| unsound(error.to_string()))?;
    if state.position != meta.position {
        return Err(unsound("it does not end where it says".to_owned()).into());
    }
    let CheckpointMeta { seq, hash, position, epoch, .. } = *meta;
    Ok(Replayed { state, tail: Tail { seq, hash, position, epoch }, level, bytes: 0 })
}

fn read(input: impl io::Read) -> Result<(State, u32), CheckpointError> {
    let mut reader = CheckpointReader::open(input)?;
    let header = *reader.header();
    let mut restorer = Restorer::new(header.position, header.now_ms);
    loop {
        match reader.next_part()? {
            Part::Pool(image) => restorer.pool(*image),
            Part::Claim(claim) => restorer.claim(claim),
            Part::Idempotency(request) => restorer.idempotency(request),
            Part::Class(named) => restorer.class(named),
            Part::Trait(named) => restorer.trait_name(named),
            Part::Provider(image) => restorer.provider(image),
            Part::Consumer(image) => restorer.consumer(image),
            Part::Request(asked) => restorer.request(asked),
            Part::Event(event) => restorer.event(&event),
            Part::End => return Ok((restorer.finish(), header.level)),
        }
    }
}

/// Writes a checkpoint of a state that was frozen at `tail`.
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
            writer.pool(&pool.image)?;
            for claim in pool.rows.claims() {
                writer.claim(&claim)?;
            }
            for asked in pool.requests.iter().flat_map(|requests| requests.iter()) {
                writer.request(&pool.image.name, asked)?;
            }
        }
        frozen.events().try_for_each(|event| writer.event(&event))?;
        for request in &frozen.idempotency {
            writer.idempotency(request)?;
        }
        let capacity = &frozen.capacity;
        put_capacity(&mut writer, capacity, capacity.providers(), capacity.consumers())?;
        writer.finish().map(|_| ())
    })
}

fn put_capacity<W: io::Write>(
    writer: &mut CheckpointWriter<W>,
    capacity: &FrozenCapacity,
    mut providers: impl Iterator<Item = ProviderImage>,
    mut consumers: impl Iterator<Item = ConsumerImage>,
) -> io::Result<()> {
    capacity.classes().try_for_each(|named| writer.class(named))?;
    capacity.traits().try_for_each(|named| writer.trait_name(named))?;
    providers.try_for_each(|image| writer.provider(&image))?;
    consumers.try_for_each(|image| writer.consumer(&image))
}

/// A hash of everything that the state says, the same on every copy whatever way it came about.
pub fn state_hash(state: &State, level: u32) -> Hash {
    let hashed = || -> io::Result<blake3::Hasher> {
        let header = Header { level, position: state.position, now_ms: state.now_ms };
        let mut writer = CheckpointWriter::begin(blake3::Hasher::new(), &header)?;
        let frozen = state.freeze();
        for (frozen, pool) in frozen.pools.iter().zip(state.pools()) {
            writer.pool(&frozen.image)?;
            for claim in pool.claims_by_value() {
                writer.claim(&claim)?;
            }
            let asked = frozen.requests.iter().flat_map(|requests| requests.iter());
            let mut asked: Vec<&AnsweredRequest> = asked.collect();
            asked.sort_unstable_by(|one, other| one.key.cmp(&other.key));
            asked.iter().try_for_each(|asked| writer.request(&frozen.image.name, asked))?;
        }
        frozen.events().try_for_each(|event| writer.event(&event))?;
        for request in &frozen.idempotency {
            writer.idempotency(request)?;
        }
        // In the order of their names, which is the same on every copy.
        let capacity = &frozen.capacity;
        let mut providers: Vec<ProviderImage> = capacity.providers().collect();
        providers.sort_unstable_by_key(|image| image.uuid);
        let mut consumers: Vec<ConsumerImage> = capacity.consumers().collect();
        consumers.sort_unstable_by_key(|image| image.uuid);
        put_capacity(&mut writer, capacity, providers.into_iter(), consumers.into_iter())?;
        writer.finish()
    };
    // Writing into a hasher cannot fail.
    hashed().map(|hasher| Hash(*hasher.finalize().as_bytes())).unwrap_or_default()
}
