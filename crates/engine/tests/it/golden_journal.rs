//! Golden journals: a journal of every released level must replay to its recorded state, for ever.
//!
//! A golden journal is text: one record for each line, then the hash of the final state. An existing one is never
//! rewritten; `ALLOD_GOLDEN_NEW=1` makes the one of the current level if it is missing.

mod authority;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allod_core::blocks::SearchOrder;
use allod_core::blocks::command::{AllocateIds, BlocksCommand, CreateBlockPool, WantIds};
use allod_core::capacity::{Inventory, Reclaim, Uuid};
use allod_core::claim::{Parity, Want};
use allod_core::command::capacity::{
    AllocateOp, CapacityCommand, ChangeInventories, CreateClass, CreateProvider, DeallocateOp,
    ExtendOp, Holding, InventoryChange, LeaseTerms, RenameClass, Reshape, Reshaped, SetAggregates,
    SetTraits,
};
use allod_core::command::{
    ClaimOp, Command, ConfirmOp, DeletePool, Expect, Idempotency, Op, PutPool, ReleaseOp, RenewOp,
    Transact,
};
use allod_core::event::{
    ClaimEvent, ClaimGranted, ClaimReleased, Event, LeaseChanged, QuarantineEnded,
};
use allod_core::limits::Limits;
use allod_core::pool::{Labels, PoolRange, PoolSpec, Strategy};
use allod_core::requests::command::{
    EditRequests, PutRequestPool, RequestPoolEdit, RequestsCommand,
};
use allod_core::requests::{
    AddressSupply, AlarmSettings, IdSupply, Request, RequestPool, Subnet, Supply, Wanted, WantedId,
    WantedPrefix,
};
use allod_core::state::State;
use allod_core::value::Kind;
use allod_engine::{BatchWriter, Clock, Config, SharedState, recover, state_hash};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use allod_journal::{AppendOutcome, Hash, Journal, RecordFrame, Tail};
use allod_record::Item;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").unwrap();
        out
    })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

fn to_line(frame: &RecordFrame) -> String {
    let RecordFrame { seq, epoch, batch, prev, level, position, at_ms, body } = frame;
    format!("{seq} {epoch} {batch:032x} {prev} {level} {position} {at_ms} {}", hex(body))
}

fn from_line(line: &str) -> RecordFrame {
    let part: Vec<&str> = line.split(' ').collect();
    RecordFrame {
        seq: part[0].parse().unwrap(),
        epoch: part[1].parse().unwrap(),
        batch: u128::from_str_radix(part[2], 16).unwrap(),
        prev: Hash(unhex(part[3]).try_into().unwrap()),
        level: part[4].parse().unwrap(),
        position: part[5].parse().unwrap(),
        at_ms: part[6].parse().unwrap(),
        body: unhex(part[7]),
    }
}

fn golden(level: u32) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "golden", &format!("level-{level}.journal")].iter().collect()
}

struct Steps(AtomicU64);

impl Clock for Steps {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn put(name: &str, kind: Kind, ranges: &[&str], change: impl FnOnce(&mut PoolSpec)) -> Command {
    let ranges = ranges.iter().map(|text| kind.parse_range(text).unwrap());
    let ranges = ranges.map(|(span, subnet_len)| PoolRange { span, subnet_len }).collect();
    let mut spec = PoolSpec::new(kind, ranges);
    change(&mut spec);
    Command::PutPool(PutPool { pool: name.into(), spec, expect: Expect::Any, keep_held: false })
}

fn claim(pools: &[&str], key: &str, change: impl FnOnce(&mut ClaimOp)) -> Op {
    let mut op = ClaimOp {
        pools: pools.iter().map(|&pool| pool.into()).collect(),
        key: key.into(),
        owner: None,
        want: Want::any(),
        ttl_ms: None,
        labels: Labels::default(),
        expect: Expect::Any,
    };
    change(&mut op);
    Op::Claim(op)
}

fn release(pool: &str, key: &str) -> Op {
    Op::Release(ReleaseOp { pool: pool.into(), key: key.into(), expect: Expect::Any })
}

/// Commands that produce every event of levels 1 and 2, with their times.
fn script() -> Vec<(u64, Command)> {
    let ids = |name: &str, change: fn(&mut PoolSpec)| put(name, Kind::Id32, &["1-4094"], change);
    let one = |op| Command::Transact(Transact::one(op));
    let labels: Labels = Arc::from([(Arc::from("site"), Arc::from("north"))]);
    vec![
        (1000, ids("vlan", |spec| spec.quarantine_ms = 5000)),
        (
            1000,
            ids("ring", |spec| {
                (spec.strategy, spec.lease_ms, spec.reap) = (Strategy::Next, Some(3000), true)
            }),
        ),
        (1000, ids("worn", |spec| spec.strategy = Strategy::LeastRecentlyUsed)),
        (1000, put("wide", Kind::Id64, &["18446744073709551600-18446744073709551615"], |_| {})),
        (
            1000,
            put("net", Kind::Prefix6, &["2001:db8::/32"], |spec| {
                spec.exclude = vec![Kind::Prefix6.parse("2001:db8::/48").unwrap()];
            }),
        ),
        (
            1000,
            put("host", Kind::Address4, &["10.0.0.0/24", "10.1.0.1-10.1.0.9"], |spec| {
                spec.manual = vec![Kind::Address4.parse_range("10.0.0.1-10.0.0.9").unwrap().0];
                spec.draining = vec![Kind::Address4.parse_range("10.1.0.0/28").unwrap().0];
            }),
        ),
        (
            1001,
            one(claim(&["vlan"], "a", |op| {
                (op.owner, op.labels) = (Some("tenant".into()), labels)
            })),
        ),
        (1002, one(claim(&["vlan", "worn"], "same", |op| op.want.parity = Some(Parity::Odd)))),
        (1003, one(claim(&["wide"], "high", |op| op.want.strategy = Some(Strategy::Highest)))),
        (1004, one(claim(&["net"], "link", |op| op.want.prefix_len = Some(127)))),
        (1005, one(claim(&["host"], "named", |op| op.want.value = Some("10.0.0.5".into())))),
        (
            1006,
            one(claim(&["ring"], "block", |op| (op.want.count, op.want.contiguous) = (8, true))),
        ),
        (
            1007,
            one(claim(&["worn"], "few", |op| {
                (op.want.count, op.want.strategy) = (3, Some(Strategy::Random))
            })),
        ),
        (
            1008,
            one(Op::Renew(RenewOp {
                pool: "ring".into(),
                key: "block".into(),
                expect: Expect::Any,
                ttl_ms: Some(9000),
            })),
        ),
        (1009, one(claim(&["ring"], "short", |op| op.ttl_ms = Some(10)))),
        (1010, one(release("vlan", "a"))),
        (1011, one(release("worn", "few"))),
        (
            1012,
            Command::Transact(Transact {
                ops: vec![release("worn", "same"), claim(&["worn"], "next", |_| {})],
                idempotency: Some(Idempotency { key: "once".into(), fingerprint: [7; 32] }),
                ..Transact::default()
            }),
        ),
        (1013, ids("gone", |_| {})),
        (1014, Command::DeletePool(DeletePool { pool: "gone".into(), expect: Expect::Any })),
        (
            2000,
            one(Op::Confirm(ConfirmOp {
                pool: "ring".into(),
                key: "block".into(),
                expect: Expect::Any,
            })),
        ),
        (9000, one(claim(&["vlan"], "later", |_| {}))),
    ]
}

/// Commands that produce the events that level 3 adds.
fn capacity_script() -> Vec<(u64, Command)> {
    let capacity = |command| (9100, Command::Capacity(command));
    let provider = |n: u128, name: &str, parent: Option<u128>| {
        let (uuid, name, parent) = (Uuid(n), name.into(), parent.map(Uuid));
        capacity(CapacityCommand::CreateProvider(CreateProvider { uuid, name, parent }))
    };
    let stock = |n: u128, classes: &[(&str, u32)]| {
        let one = |&(class, total): &(&str, u32)| (class.into(), Inventory::of(total));
        let change = InventoryChange::Replace(classes.iter().map(one).collect());
        let (provider, expect) = (Uuid(n), None);
        let change = ChangeInventories { provider, expect, change };
        capacity(CapacityCommand::ChangeInventories(change))
    };
    let hold = |n: u128, of: &[(u128, &str, u64)], ttl_ms: Option<u64>| Holding {
        consumer: Uuid(n),
        expect: Expect::Any,
        project: "project".into(),
        user: "user".into(),
        consumer_type: Some("INSTANCE".into()),
        allocations: of
            .iter()
            .map(|&(provider, class, amount)| (Uuid(provider), vec![(class.into(), amount)]))
            .collect(),
        lease: ttl_ms.map(|ttl_ms| LeaseTerms { ttl_ms, reclaim: Reclaim::Reap }),
    };
    let transact = |op| (9200, Command::Transact(Transact::one(op)));
    let class = |name: &str| CreateClass { name: name.into(), ensure: false };
    vec![
        capacity(CapacityCommand::CreateClass(class("CUSTOM_GPU"))),
        capacity(CapacityCommand::CreateClass(class("CUSTOM_GONE"))),
        capacity(CapacityCommand::DeleteClass("CUSTOM_GONE".into())),
        capacity(CapacityCommand::RenameClass(RenameClass {
            from: "CUSTOM_GPU".into(),
            to: "CUSTOM_TPU".into(),
        })),
        capacity(CapacityCommand::CreateTrait("CUSTOM_FAST".into())),
        capacity(CapacityCommand::CreateTrait("CUSTOM_GONE".into())),
        capacity(CapacityCommand::DeleteTrait("CUSTOM_GONE".into())),
        provider(1, "host", None),
        provider(2, "numa", Some(1)),
        provider(3, "gone", None),
        capacity(CapacityCommand::DeleteProvider(Uuid(3))),
        stock(1, &[("VCPU", 8), ("CUSTOM_TPU", 4)]),
        capacity(CapacityCommand::SetTraits(SetTraits {
            provider: Uuid(1),
            expect: Some(1),
            traits: vec!["CUSTOM_FAST".into(), "HW_CPU_X86_AVX2".into()],
        })),
        capacity(CapacityCommand::SetAggregates(SetAggregates {
            provider: Uuid(1),
            expect: None,
            aggregates: vec![Uuid(77)],
            counts: true,
        })),
        transact(Op::Allocate(AllocateOp {
            consumers: vec![
                hold(10, &[(1, "VCPU", 2)], None),
                hold(11, &[(1, "VCPU", 1)], Some(50)),
            ],
        })),
        transact(Op::Allocate(AllocateOp { consumers: vec![hold(12, &[(1, "VCPU", 1)], None)] })),
        transact(Op::Extend(ExtendOp { consumer: Uuid(10), expect: Expect::Is(1), lease: None })),
        transact(Op::Deallocate(DeallocateOp { consumer: Uuid(12), expect: Expect::Any })),
        (
            9300,
            Command::Capacity(CapacityCommand::Reshape(Reshape {
                inventories: vec![
                    Reshaped { provider: Uuid(1), expect: 5, inventories: vec![] },
                    Reshaped {
                        provider: Uuid(2),
                        expect: 0,
                        inventories: vec![("VCPU".into(), Inventory::of(8))],
                    },
                ],
                allocations: AllocateOp {
                    consumers: vec![hold(10, &[(2, "VCPU", 3)], None), hold(11, &[], None)],
                },
            })),
        ),
    ]
}

/// Commands that produce the events that level 4 adds.
fn ids_script() -> Vec<(u64, Command)> {
    let pool = || "parcels".into();
    let child = || "parcels.1".into();
    let create = CreateBlockPool {
        pool: pool(),
        low: 0,
        high: 40,
        enhanced: false,
        child: child(),
        delay_s: 30,
    };
    let allocate = |key: &str, want| {
        BlocksCommand::Allocate(AllocateIds {
            pool: pool(),
            key: key.into(),
            want,
            child: child(),
            order: SearchOrder::AvailableFirst,
            enhanced_order: SearchOrder::ReleasedFirst,
        })
    };
    let one = WantIds::One { value: None, expiration_s: None, strict: false };
    let release = |key: &str| BlocksCommand::Release {
        pool: pool(),
        key: key.into(),
        unknown_is_fine: false,
    };
    let at = |at_ms, command| (at_ms, Command::Blocks(command));
    vec![
        at(10_000, BlocksCommand::Create(create)),
        at(10_000, allocate("a", one)),
        at(10_000, allocate("range", WantIds::Range { size: 12 })),
        at(11_000, release("range")),
        (42_000, Command::Tick),
        at(43_000, allocate("b", one)),
        at(43_000, allocate("rest", WantIds::Range { size: 30 })),
        at(44_000, release("b")),
    ]
}

/// Commands that produce the events that level 5 adds.
fn resource_script() -> Vec<(u64, Command)> {
    let alarms = AlarmSettings { enabled: true, ..AlarmSettings::default() };
    let lan = |start, end| {
        let supply = Supply::Ids(IdSupply { start, end, exclude: vec![], alarm_base: end - start });
        RequestPool::new(supply, alarms)
    };
    let nets = Supply::Addresses(AddressSupply {
        subnets: vec![Subnet { address: 0x0a00_0000, len: 29 }],
        ..AddressSupply::default()
    });
    let nets = RequestPool::new(nets, alarms);
    let put = |config: Option<RequestPool>, put: Vec<(Arc<str>, Request)>, withdraw: &[&str]| {
        let withdraw = withdraw.iter().map(|key| Arc::from(*key)).collect();
        RequestPoolEdit::Put(Box::new(PutRequestPool { config, replace: false, put, withdraw }))
    };
    let ask = |key: &str, want: Wanted| {
        let (user, services) = ("admin".into(), vec!["/services/vpn{a}".into()]);
        (
            key.into(),
            Request {
                user,
                services,
                redeploy: None,
                sync_alloc: false,
                want,
                site: Default::default(),
            },
        )
    };
    let id = |sync| Wanted::Id(WantedId { sync: Some(sync), ..WantedId::default() });
    let net = |size| Wanted::Prefix(WantedPrefix { size, invert: false, start: None });
    let edit = |pools: Vec<(&str, RequestPoolEdit)>| {
        let pools = pools.into_iter().map(|(name, edit)| (name.into(), edit)).collect();
        let edit = EditRequests { seen: u64::MAX, seen_all: false, pools };
        (50_000, Command::Requests(RequestsCommand::Edit(edit)))
    };
    vec![
        edit(vec![
            ("lan1", put(Some(lan(20, 22)), vec![ask("a", id(true))], &[])),
            ("lan2", put(Some(lan(21, 25)), vec![ask("a", id(true))], &[])),
            ("nets", put(Some(nets), vec![ask("h", net(32)), ask("big", net(28))], &[])),
        ]),
        edit(vec![("lan1", put(None, vec![ask("b", id(false)), ask("c", id(false))], &[]))]),
        edit(vec![("lan1", put(None, vec![ask("d", id(false))], &[]))]),
        edit(vec![("lan1", put(None, vec![], &["b"]))]),
        edit(vec![("lan1", put(Some(lan(30, 40)), vec![], &[]))]),
        edit(vec![("lan2", RequestPoolEdit::Remove)]),
    ]
}

/// Commands that produce the events that level 6 adds: requests that wait, a range that is larger, the removal of pools
/// with claims and requests. The limit of this journal is one waiting request at a time.
fn parts_script() -> Vec<(u64, Command)> {
    let lan = |end| {
        let supply = Supply::Ids(IdSupply { start: 1, end, exclude: vec![], alarm_base: 9 });
        RequestPool::new(supply, AlarmSettings::default())
    };
    let ask = |key: &str| {
        let want = Wanted::Id(WantedId::default());
        let request = Request {
            user: "admin".into(),
            services: vec![],
            redeploy: None,
            sync_alloc: false,
            want,
            site: Default::default(),
        };
        (key.into(), request)
    };
    let edit = |at_ms, edit: RequestPoolEdit| {
        let pools = vec![("parts".into(), edit)];
        let edit = EditRequests { seen: u64::MAX, seen_all: false, pools };
        (at_ms, Command::Requests(RequestsCommand::Edit(edit)))
    };
    let put = |config, put| {
        let put = PutRequestPool { config: Some(config), put, ..PutRequestPool::default() };
        RequestPoolEdit::Put(Box::new(put))
    };
    let keys = ["a", "b", "c", "d"].map(ask).to_vec();
    vec![
        edit(60_000, put(lan(1), keys)),
        edit(60_000, put(lan(9), vec![])),
        (60_000, Command::Tick),
        edit(60_000, RequestPoolEdit::Remove),
        edit(60_000, put(lan(1), vec![ask("x"), ask("y"), ask("z")])),
        edit(60_000, put(lan(9), vec![])),
    ]
}

fn write_golden(level: u32) {
    let clock = Arc::new(Steps(AtomicU64::new(0)));
    let storage = MemoryStorage::new();
    let journal: Arc<dyn Journal> = Arc::new(storage.open());
    let shared = Arc::new(SharedState::new(clock.clone()));
    let replayed = recover(&*journal, &MemoryCheckpoints::default()).unwrap();
    let waiting_requests_per_entry_max = 1;
    let limits = Limits { outbox_max: 100, waiting_requests_per_entry_max, ..Limits::default() };
    let config = Config { writer: "golden".into(), limits, ..Config::default() };
    let mut writer =
        BatchWriter::lead(journal.clone(), shared, replayed, &config, Some(1), Box::new(|_| false))
            .unwrap();
    let scripts = [script(), capacity_script(), ids_script(), resource_script(), parts_script()];
    let fixed = scripts.into_iter().flatten().map(|(at_ms, command)| (at_ms, Some(command), None));
    let stepwise = authority::script().into_iter().map(|(at_ms, step)| (at_ms, None, Some(step)));
    for (at_ms, command, step) in fixed.chain(stepwise) {
        clock.0.store(at_ms, Ordering::Relaxed);
        let made = || step.map(|step| step(writer.state()));
        let command = command.or_else(made).unwrap();
        for answer in writer.write_batch(&[&command]).unwrap() {
            answer.unwrap().answer.unwrap();
        }
    }
    let mut text = String::new();
    for frame in journal.read(1, usize::MAX).unwrap() {
        writeln!(text, "{}", to_line(&frame)).unwrap();
    }
    writeln!(text, "state {}", state_hash(writer.state(), writer.level())).unwrap();
    std::fs::write(golden(level), text).unwrap();
}

/// The journal of a level, and the hash of its final state.
fn open_golden(level: u32) -> (impl Journal + 'static, String) {
    let text = std::fs::read_to_string(golden(level)).unwrap();
    let (records, state) = text.trim_end().rsplit_once("\nstate ").unwrap();
    let journal = MemoryStorage::new().open();
    let mut tail = Tail::default();
    for line in records.lines() {
        tail = match journal.append(&tail, &from_line(line)) {
            AppendOutcome::Committed(tail) => tail,
            other => panic!("{other:?}"),
        };
    }
    (journal, state.to_owned())
}

#[test]
fn every_released_level_replays_to_its_recorded_state() {
    for level in 1..=allod_record::LEVEL {
        if !golden(level).exists() && std::env::var_os("ALLOD_GOLDEN_NEW").is_some() {
            write_golden(level);
        }
        let (journal, state) = open_golden(level);
        let replayed = recover(&journal, &MemoryCheckpoints::default()).unwrap();
        assert_eq!(allod_core::invariant::check(&replayed.state), Vec::<String>::new());
        assert_eq!(state_hash(&replayed.state, replayed.level).to_string(), state, "level {level}");
        assert_eq!(
            replayed.state.pool_count(),
            match level {
                1..=3 => 6,
                4 => 7,
                5 => 9,
                6 => 10,
                _ => 11,
            }
        );
    }
}

/// The event as level 1 stores it.
fn without_whose(event: &Event) -> Event {
    match event.clone() {
        Event::Claim(ClaimEvent::Granted(event)) => {
            Event::Claim(ClaimEvent::Granted(ClaimGranted { kind: None, ..event }))
        }
        Event::Claim(ClaimEvent::LeaseChanged(event)) => {
            Event::Claim(ClaimEvent::LeaseChanged(LeaseChanged { was: None, ..event }))
        }
        Event::Claim(ClaimEvent::Released(event)) => {
            Event::Claim(ClaimEvent::Released(ClaimReleased { was: None, ..event }))
        }
        Event::Claim(ClaimEvent::QuarantineEnded(event)) => {
            Event::Claim(ClaimEvent::QuarantineEnded(QuarantineEnded {
                key: None,
                was: None,
                ..event
            }))
        }
        other => other,
    }
}

#[test]
fn state_does_not_depend_on_the_fields_added_in_level_2() {
    let (journal, _) = open_golden(2);
    let (mut with, mut without, mut differ) = (State::new(), State::new(), 0);
    for frame in journal.read(1, usize::MAX).unwrap() {
        for item in allod_record::decode(&frame.body).unwrap() {
            let Item::Entry(entry) = item else { continue };
            let bare: Vec<Event> = entry.events.iter().map(without_whose).collect();
            differ += usize::from(bare != entry.events);
            with.apply_entry(entry.at_ms, &entry.events);
            without.apply_entry(entry.at_ms, &bare);
        }
    }
    assert!(differ > 10);
    assert_eq!(state_hash(&with, 2), state_hash(&without, 2));
}

#[test]
fn level_is_raised_before_anything_else_is_written() {
    let journal: Arc<dyn Journal> = Arc::new(open_golden(1).0);
    let end = journal.tail().unwrap();
    let clock = Arc::new(Steps(AtomicU64::new(9000)));
    let replayed = recover(&*journal, &MemoryCheckpoints::default()).unwrap();
    assert_eq!(replayed.level, 1);
    let shared = Arc::new(SharedState::new(clock));
    let config = Config { writer: "newer".into(), ..Config::default() };
    let mut writer =
        BatchWriter::lead(journal.clone(), shared, replayed, &config, Some(2), Box::new(|_| false))
            .unwrap();
    writer.write_batch(&[&Command::Transact(Transact::one(release("vlan", "later")))]).unwrap();

    let frames = journal.read(end.seq + 1, usize::MAX).unwrap();
    let items = |n: usize| allod_record::decode(&frames[n].body).unwrap();
    let level = allod_record::LEVEL;
    assert_eq!(items(0), [Item::Epoch { writer: "newer".into() }, Item::Level { level }]);
    assert_eq!(frames[0].level, level);
    let [Item::Entry(entry)] = &items(1)[..] else { panic!("{:?}", items(1)) };
    let [Event::Claim(ClaimEvent::Released(released))] = &entry.events[..] else {
        panic!("{entry:?}")
    };
    let was = released.was.as_ref().unwrap();
    assert_eq!((&*was.owner, was.kind), ("later", Kind::Id32));
    assert_eq!(frames[1].level, 2);
    assert_eq!(recover(&*journal, &MemoryCheckpoints::default()).unwrap().level, level);
}
