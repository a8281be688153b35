//! History queries: whatever happens to the pools, the server and the index, the answers are the same as those of a naive
//! implementation that reads the whole journal.

mod files;
mod naive;
mod story;
mod trouble;
mod world;

use std::sync::Arc;

use allod_core::blocks::SearchOrder;
use allod_core::blocks::command::{AllocateIds, BlocksCommand, CreateBlockPool, WantIds};
use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, DeletePool, Expect, Op, PutPool, Transact};
use allod_core::event::{ClaimEvent, Event, PoolEvent, PoolRemoved};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_core::view::{self, ValueView};
use allod_engine::history::{ChangeQuery, HistoryEntry, HistoryError, HistoryOrder, Moment};
use allod_journal::memory::MemoryStorage;
use allod_journal::{AppendOutcome, Journal, RecordFrame, Tail};
use allod_record::Item;

use story::{Dice, POOLS, Whole};
use world::World;

/// A random query.
fn random_ask(dice: &mut Dice, whole: &Whole) -> ChangeQuery {
    let end = whole.states.len() as u64 + 1;
    let last_ms = whole.entries.last().map_or(0, |(_, entry)| entry.at_ms);
    let moment = |dice: &mut Dice| match dice.below(3) {
        0 => Some(Moment::Position(dice.below(end))),
        1 => Some(Moment::TimeMs(dice.below(last_ms + 2000))),
        _ => None,
    };
    let pool = (!dice.one_in(3)).then(|| Arc::from(*dice.pick(&POOLS)));
    let kinds = [Kind::Id32, Kind::Address4, Kind::Prefix4];
    let values = match pool.is_some() && dice.one_in(2) {
        true => {
            let kind = *dice.pick(&kinds);
            vec![(kind, story::value(dice, kind))]
        }
        false => vec![],
    };
    let since = moment(dice).filter(|_| dice.one_in(2));
    let until = moment(dice).filter(|_| dice.one_in(2));
    if dice.one_in(3) {
        // About capacity; sometimes together with a pool, which no event matches.
        let order = *dice.pick(&[HistoryOrder::NewestFirst, HistoryOrder::OldestFirst]);
        return ChangeQuery {
            pool: pool.filter(|_| dice.one_in(8)),
            provider: dice.one_in(2).then(|| story::provider(dice)),
            consumer: dice.one_in(2).then(|| story::consumer(dice)),
            since,
            until,
            order,
            limit: 1 + dice.below(20) as usize,
            ..everything()
        };
    }
    ChangeQuery {
        pool,
        pool_prefix: (*dice.pick(&["", "", "", "q"])).into(),
        values,
        key: dice.one_in(3).then(|| story::key(dice)),
        owner: dice.one_in(3).then(|| story::owner(dice)),
        provider: None,
        consumer: None,
        since,
        until,
        order: *dice.pick(&[HistoryOrder::NewestFirst, HistoryOrder::OldestFirst]),
        limit: 1 + dice.below(20) as usize,
        after: None,
    }
}

/// All changes from the beginning.
fn everything() -> ChangeQuery {
    ChangeQuery {
        pool: None,
        pool_prefix: "".into(),
        values: vec![],
        key: None,
        owner: None,
        provider: None,
        consumer: None,
        since: None,
        until: None,
        order: HistoryOrder::OldestFirst,
        limit: 1000,
        after: None,
    }
}

/// All pages of a query.
fn all_pages(world: &World, mut ask: ChangeQuery) -> Result<Vec<HistoryEntry>, HistoryError> {
    let mut all = Vec::new();
    loop {
        let page = world.changes(ask.clone())?;
        assert!(page.changes.len() <= ask.limit);
        all.extend(page.changes);
        match page.next {
            Some(next) => assert_ne!(ask.after.replace(next), Some(next), "{ask:?}"),
            None => return Ok(all),
        }
    }
}

/// Compares random queries with the naive implementation.
fn compare(world: &World, whole: &Whole, dice: &mut Dice, times: usize) -> (usize, usize) {
    let oldest = world.oldest_position(whole);
    let (mut answered, mut trimmed) = (0, 0);
    for _ in 0..times {
        let ask = random_ask(dice, whole);
        match all_pages(world, ask.clone()) {
            Ok(found) => assert_eq!(found, naive::changes(whole, &ask, oldest), "{ask:?}"),
            Err(HistoryError::Trimmed { oldest_position }) => {
                assert_eq!((oldest_position, ask.since.is_some()), (oldest - 1, true), "{ask:?}");
                assert!(oldest > 1, "{ask:?}");
            }
            Err(other) => panic!("{other}: {ask:?}"),
        }
        let end = whole.states.len() as u64 - 1;
        let (moment, position) = match dice.one_in(2) {
            true => {
                let position = dice.below(end + 1);
                (Moment::Position(position), position)
            }
            false => {
                let at_ms = dice.below(world.now_ms() + 1);
                (Moment::TimeMs(at_ms), naive::position_by(whole, at_ms))
            }
        };
        let pool = *dice.pick(&POOLS);
        let state = &whole.states[position as usize];
        let kind = state.pool(pool).map(|pool| pool.spec.kind);
        let span = story::value(dice, kind.unwrap_or(Kind::Id32));
        let text = kind.unwrap_or(Kind::Id32).show(span);
        let expected = view::value(state, pool, span);
        let what = format!("{pool} {text} at {moment:?}, position {position}");
        match world.value(pool, &text, moment) {
            Ok(then) => {
                answered += 1;
                assert_eq!(Some(then.view), expected, "{what}");
                assert_eq!((then.kind, then.value), (kind.unwrap(), span), "{what}");
                // A raised level has a position too, at the time of the entry before it.
                let near = (position..=position + 1).contains(&then.position);
                assert!(near || position < oldest, "{what}");
            }
            Err(HistoryError::PoolUnknown { .. }) => assert_eq!(expected, None, "{what}"),
            Err(HistoryError::Trimmed { .. }) if oldest > 1 => trimmed += 1,
            Err(other) => panic!("{other}: {what}"),
        }
    }
    (answered, trimmed)
}

#[test]
fn answers_match_the_journal_after_damage_to_the_index() {
    let (mut answered, mut trimmed) = (0, 0);
    for seed in 0..24 {
        let mut dice = Dice(seed);
        let mut world = World::new(1 + dice.below(60) as usize);
        for _ in 0..3 {
            world.play(&mut dice, 60);
            if dice.one_in(2) {
                world.restart(|folder| files::meddle(folder, &mut dice));
            }
        }
        let whole = story::read(&*world.journal());
        let (found, none) = compare(&world, &whole, &mut dice, 150);
        assert_eq!(none, 0);
        answered += found;
        let upto = 1 + dice.below(whole.entries.len() as u64);
        world.journal().trim(upto).unwrap();
        let (found, none) = compare(&world, &whole, &mut dice, 150);
        (answered, trimmed) = (answered + found, trimmed + none);
    }
    assert!(answered > 3000, "{answered} answered, {trimmed} trimmed");
}

#[test]
fn state_of_every_value_at_every_position() {
    let mut dice = Dice(77);
    let mut world = World::new(40);
    world.play(&mut dice, 220);
    let whole = story::read(&*world.journal());
    let mut held = 0;
    for (position, state) in whole.states.iter().enumerate() {
        for pool in POOLS {
            let Some(kind) = state.pool(pool).map(|pool| pool.spec.kind) else { continue };
            for n in 0..18 {
                let span = Span::one(story::base(kind) + n);
                let then = world.value(pool, &kind.show(span), Moment::Position(position as u64));
                let expected = view::value(state, pool, span).unwrap();
                held += u32::from(matches!(expected, ValueView::Held(_)));
                assert_eq!(then.unwrap().view, expected, "{pool} {n} at {position}");
            }
        }
    }
    assert!(held > 500, "{held}");
}

#[test]
fn changes_of_every_provider_and_consumer() {
    let mut dice = Dice(41);
    let mut world = World::new(30);
    world.play(&mut dice, 900);
    let whole = story::read(&*world.journal());
    let mut found = [0, 0, 0];
    for provider in story::PROVIDERS.map(Some).into_iter().chain([None]) {
        for consumer in story::CONSUMERS.map(Some).into_iter().chain([None]) {
            let ask = ChangeQuery { provider, consumer, ..everything() };
            let all = all_pages(&world, ask.clone()).unwrap();
            assert_eq!(all, naive::changes(&whole, &ask, 1), "{ask:?}");
            found[usize::from(provider.is_some()) + usize::from(consumer.is_some())] += all.len();
        }
    }
    assert!(found.iter().all(|found| *found > 50), "{found:?}");
    // A query that is limited to some pools sees no capacity.
    let some = ChangeQuery { pool_prefix: "p".into(), ..everything() };
    let all = all_pages(&world, some).unwrap();
    let events = all.iter().flat_map(|change| &change.events);
    assert!(events.clone().count() > 20);
    assert!(events.into_iter().all(|event| naive::pool(event).is_some()));
}

#[test]
fn positions_beyond_the_end_are_refused() {
    let mut world = World::new(40);
    world.play(&mut Dice(3), 60);
    let moments = [Moment::Position(u64::MAX), Moment::TimeMs(u64::MAX)];
    for trimmed in [0, 20] {
        world.journal().trim(trimmed).unwrap();
        for order in [HistoryOrder::OldestFirst, HistoryOrder::NewestFirst] {
            for since in moments {
                let ask = ChangeQuery { since: Some(since), order, ..everything() };
                assert_eq!(world.changes(ask).unwrap().changes, []);
                let ask = ChangeQuery { until: Some(since), order, ..everything() };
                assert!(!world.changes(ask).unwrap().changes.is_empty());
            }
            let page = world
                .changes(ChangeQuery { after: Some(u64::MAX), order, ..everything() })
                .unwrap();
            assert_eq!(page.changes.is_empty(), order == HistoryOrder::OldestFirst);
        }
    }
}

/// The same journal as written by a server of feature level 1.
fn as_level_1(journal: &dyn Journal) -> MemoryStorage {
    let storage = MemoryStorage::new();
    let (copy, mut tail) = (storage.open(), Tail::default());
    for frame in journal.read(1, usize::MAX).unwrap() {
        let mut items = allod_record::decode(&frame.body).unwrap();
        for item in &mut items {
            match item {
                Item::Level { level } => *level = 1,
                Item::Entry(entry) => entry.events.iter_mut().for_each(forget_whose),
                Item::Epoch { .. } => {}
            }
        }
        let body = allod_record::encode(&items);
        let frame = RecordFrame { prev: tail.hash, level: 1, body, ..frame };
        tail = match copy.append(&tail, &frame) {
            AppendOutcome::Committed(tail) => tail,
            other => panic!("{other:?}"),
        };
    }
    storage
}

fn forget_whose(event: &mut Event) {
    match event {
        Event::Claim(ClaimEvent::Granted(event)) => event.kind = None,
        Event::Claim(ClaimEvent::LeaseChanged(event)) => event.was = None,
        Event::Claim(ClaimEvent::Released(event)) => event.was = None,
        Event::Claim(ClaimEvent::QuarantineEnded(event)) => (event.key, event.was) = (None, None),
        _ => {}
    }
}

#[test]
fn journal_of_level_1_gives_the_same_answers() {
    for seed in 100..106 {
        let mut dice = Dice(seed);
        let mut world = World::new(1000);
        // Level 1 had no capacity.
        world.capacity = false;
        world.play(&mut dice, 150);
        let whole = story::read(&*world.journal());
        let old = as_level_1(&*world.journal());
        assert!(old.open().read(1, usize::MAX).unwrap().iter().all(|frame| frame.level == 1));
        let mut world = World::on(old, world.now_ms(), 1 + dice.below(60) as usize);
        compare(&world, &whole, &mut dice, 150);
        // The level is raised, and new events are complete.
        world.play(&mut dice, 40);
        assert!(story::read(&*world.journal()).states.len() > whole.states.len());
    }
}

#[test]
fn files_are_merged_and_foreign_files_are_replaced() {
    let mut dice = Dice(5);
    let mut world = World::new(8);
    world.play(&mut dice, 400);
    let everything = ChangeQuery { key: Some("k1".into()), ..everything() };
    let before = all_pages(&world, everything.clone()).unwrap();
    // Files are merged in the background, when records are added.
    let began = std::time::Instant::now();
    while files::segments(&world.index()).len() >= 20 {
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "files are not merged");
        world.play(&mut dice, 1);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let mut count = 0;
    world.restart(|folder| {
        let files = files::segments(folder);
        count = files.len();
        let mut newer = std::fs::read(&files[0]).unwrap();
        newer[8] += 1;
        std::fs::write(&files[0], newer).unwrap();
        // A valid file of another journal.
        let (name, bytes) = World::new(8).foreign_segment();
        std::fs::write(folder.join(name), bytes).unwrap();
    });
    assert!((1..24).contains(&count), "{count} files");
    let after = all_pages(&world, everything).unwrap();
    assert_eq!(after[..before.len()], before);
}

#[test]
fn claims_that_end_with_their_pool_are_held_until_then() {
    let world = World::new(100);
    let pool: Arc<str> = "p".into();
    let one = WantIds::One { value: None, expiration_s: None, strict: false };
    let allocate = |key: &str| {
        Command::Blocks(BlocksCommand::Allocate(AllocateIds {
            pool: pool.clone(),
            key: key.into(),
            want: one,
            child: "c".into(),
            order: SearchOrder::AvailableFirst,
            enhanced_order: SearchOrder::ReleasedFirst,
        }))
    };
    let create = || {
        Command::Blocks(BlocksCommand::Create(CreateBlockPool {
            pool: pool.clone(),
            low: 1,
            high: 100,
            enhanced: false,
            child: "c".into(),
            delay_s: 0,
        }))
    };
    let delete = Command::Blocks(BlocksCommand::Delete { pool: pool.clone() });
    let commands = [create(), allocate("a"), allocate("b"), delete, create(), allocate("b")];
    let positions = commands.map(|command| world.submit(command).at.position);
    assert_eq!(positions, [2, 3, 4, 5, 6, 7]);
    let held = |text: &str, at| match world.value("p", text, Moment::Position(at)).unwrap().view {
        ValueView::Held(claim) => Some(claim.claim.key),
        ValueView::Free => None,
        other => panic!("{other:?}"),
    };
    assert_eq!((held("1", 4).as_deref(), held("2", 4).as_deref()), (Some("a"), Some("b")));
    let unknown = world.value("p", "1", Moment::Position(5));
    assert!(matches!(unknown, Err(HistoryError::PoolUnknown { .. })));
    assert_eq!((held("1", 7).as_deref(), held("2", 7)), (Some("b"), None));

    // The removal is the end of each claim of the pool.
    let ends = |ask: ChangeQuery| {
        let found = all_pages(&world, ask).unwrap();
        found.into_iter().map(|entry| entry.position).collect::<Vec<u64>>()
    };
    let of = ChangeQuery { pool: Some(pool.clone()), ..everything() };
    assert_eq!(ends(ChangeQuery { key: Some("a".into()), ..of.clone() }), [3, 5]);
    assert_eq!(ends(ChangeQuery { owner: Some("b".into()), ..of.clone() }), [4, 5, 7]);
    let values = vec![(Kind::Id32, Span::one(2))];
    assert_eq!(ends(ChangeQuery { values, ..of.clone() }), [4, 5]);
    assert_eq!(ends(ChangeQuery { key: Some("a".into()), ..everything() }), [3]);
    let removed = all_pages(&world, of).unwrap().remove(3).events;
    let removed_all = PoolRemoved { pool: pool.clone(), claims: 2, requests: 0 };
    assert_eq!(removed, [Event::Pool(PoolEvent::Removed(removed_all))]);
}

#[test]
fn history_of_a_removed_pool_is_not_that_of_its_successor() {
    let world = World::new(100);
    let put = |kind: Kind, exclude: &[&str]| {
        let (span, subnet_len) = kind.parse_range("10.0.0.0/28").unwrap();
        let exclude = exclude.iter().map(|value| kind.parse(value).unwrap()).collect();
        let ranges = vec![PoolRange { span, subnet_len }];
        let spec = PoolSpec { exclude, ..PoolSpec::new(kind, ranges) };
        let (pool, expect) = ("p".into(), Expect::Any);
        Command::PutPool(PutPool { pool, spec, expect, keep_held: false })
    };
    let claim = Op::Claim(ClaimOp {
        pools: vec!["p".into()],
        key: "k".into(),
        owner: None,
        want: Want { value: Some("10.0.0.8".into()), ..Want::any() },
        ttl_ms: None,
        labels: Labels::default(),
        expect: Expect::Any,
    });
    let delete = Command::DeletePool(DeletePool { pool: "p".into(), expect: Expect::Any });
    let (prefixes, addresses) = (Kind::Prefix4, Kind::Address4);
    let commands = [
        put(prefixes, &[]),
        put(prefixes, &["10.0.0.0/30"]),
        delete,
        put(addresses, &[]),
        Command::Transact(Transact::one(claim)),
    ];
    let positions = commands.map(|command| world.submit(command).at.position);
    assert_eq!(positions, [2, 3, 4, 5, 6]);
    let view = |text: &str, at| world.value("p", text, Moment::Position(at)).map(|then| then.view);
    // The first definition has been trimmed, so the state at the beginning is unknown.
    world.journal().trim(2).unwrap();
    assert_eq!(view("10.0.0.8/29", 3).unwrap(), ValueView::Free);
    assert_eq!(view("10.0.0.0/29", 3).unwrap(), ValueView::Excluded);
    assert!(matches!(view("10.0.0.8/29", 4), Err(HistoryError::PoolUnknown { .. })));
    assert_eq!(view("10.0.0.8", 5).unwrap(), ValueView::Free);
    assert!(matches!(view("10.0.0.8", 6), Ok(ValueView::Held(_))));
}
