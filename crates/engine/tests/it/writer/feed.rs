//! The feed has the same records as the journal.

use std::sync::Arc;
use std::time::Duration;

use allod_engine::{Config, Feed, FeedRecord, Lagged};
use allod_journal::memory::{InjectedFault, MemoryStorage};
use allod_record::{Entry, Item, with_positions};

use crate::writer::world::{claim, frames, lead, pool};

/// Every entry of the journal with its position, read independently of the feed.
fn in_journal(storage: &MemoryStorage) -> Vec<(u64, Entry)> {
    let mut all = Vec::new();
    for frame in frames(storage) {
        let items = allod_record::decode(&frame.body).expect("it can be read");
        for (position, item) in with_positions(&items, frame.position).expect("they fit") {
            if let Item::Entry(entry) = item {
                all.push((position, entry.clone()));
            }
        }
    }
    all
}

fn in_records(records: &[Arc<FeedRecord>]) -> Vec<(u64, Entry)> {
    let changes = records.iter().flat_map(|record| record.changes());
    changes.filter(|(_, entry)| !entry.events.is_empty()).map(|(at, e)| (at, e.clone())).collect()
}

#[test]
fn listener_gets_every_record_of_all_writers_once_and_in_order() {
    let storage = MemoryStorage::new();
    let mut a = lead(&storage, &Config::default());
    let mut b = lead(&storage, &Config::default());
    // Both start to listen after the epoch records and the level.
    let feeds = [Feed::new(a.shared.clone()), Feed::new(b.shared.clone())];
    let mut seen = [feeds[0].tail().seq, feeds[1].tail().seq];
    let mut got: [Vec<Arc<FeedRecord>>; 2] = Default::default();
    b.write_batch(&[pool("p", 1000)]);
    let faults = [
        InjectedFault::None,
        InjectedFault::LoseAck,
        InjectedFault::DropAppend,
        InjectedFault::Full,
        InjectedFault::None,
    ];
    for round in 0_u32..60 {
        let server = if round % 7 < 4 { &mut a } else { &mut b };
        let fault = faults[(round % 11) as usize % faults.len()].clone();
        server.fail([fault]);
        let commands: Vec<_> =
            (0..round % 5).map(|n| claim("p", &format!("{round}-{n}"))).collect();
        // A writer that has followed decides on the records of the other.
        let _ = server.writer.confirm_tail().unwrap();
        server.write_batch(&commands);
        for (n, feed) in feeds.iter().enumerate() {
            // Not after every batch, so that several are fetched at once.
            if round.is_multiple_of(n as u32 + 2) {
                let news = feed.after(seen[n]).expect("all of it is kept");
                seen[n] = news.last().map_or(seen[n], |record| record.tail.seq);
                got[n].extend(news);
            }
        }
    }
    for (n, server) in [&mut a, &mut b].into_iter().enumerate() {
        server.writer.confirm_tail().unwrap().unwrap();
        got[n].extend(feeds[n].after(seen[n]).expect("all of it is kept"));
    }
    let wanted = in_journal(&storage);
    assert!(wanted.len() > 60, "{}", wanted.len());
    for got in got {
        let seqs: Vec<u64> = got.iter().map(|record| record.tail.seq).collect();
        assert!(seqs.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{seqs:?}");
        for record in &got {
            let last = record.first_position + record.entries.len() as u64;
            assert_eq!(last, record.tail.position + 1);
        }
        assert_eq!(in_records(&got), wanted);
    }
}

#[test]
fn feed_is_bounded_and_reports_lagging_listeners() {
    let storage = MemoryStorage::new();
    let config = Config { feed_bytes_max: 20_000, ..Config::default() };
    let mut a = lead(&storage, &config);
    a.write_batch(&[pool("p", 1000)]);
    let feed = Feed::new(a.shared.clone());
    let start = feed.tail().seq;
    for n in 0..500 {
        a.write_batch(&[claim("p", &n.to_string())]);
    }
    let Err(Lagged { oldest }) = feed.after(start) else { panic!("500 records do not fit") };
    let kept = feed.after(oldest - 1).unwrap();
    assert_eq!(kept.last().unwrap().tail, *a.writer.tail());
    assert!((20..100).contains(&kept.len()), "{}", kept.len());
    assert_eq!(feed.after(a.writer.tail().seq), Ok(Vec::new()));
    // A record larger than the bound is still delivered.
    let many: Vec<_> = (0..400).map(|n| claim("p", &format!("many-{n}"))).collect();
    let last = feed.tail().seq;
    a.write_batch(&many);
    assert_eq!(feed.after(last).unwrap()[0].entries.len(), 400);
}

#[test]
fn feed_without_listeners_stores_nothing() {
    let storage = MemoryStorage::new();
    let mut a = lead(&storage, &Config::default());
    let before = Feed::new(a.shared.clone());
    a.write_batch(&[pool("p", 9)]);
    let again = before.clone();
    drop(before);
    assert_eq!(again.after(again.tail().seq - 1).unwrap().len(), 1);
    drop(again);
    a.write_batch(&[claim("p", "a")]);
    let late = Feed::new(a.shared.clone());
    let end = late.tail();
    assert_eq!(end, *a.writer.tail());
    assert_eq!(late.after(end.seq - 1), Err(Lagged { oldest: end.seq + 1 }));
    assert_eq!(late.wait_blocking(end.seq, Duration::from_millis(1)), Ok(false));
    a.write_batch(&[claim("p", "b")]);
    assert_eq!(late.wait_blocking(end.seq, Duration::from_secs(9)), Ok(true));
    assert_eq!(late.after(end.seq).unwrap().len(), 1);
}
