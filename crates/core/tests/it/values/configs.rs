//! Every refusal of a configuration: of pools, of request pools, and of the ranges and blocks of block pools.

use allod_core::blocks::command::{
    BlockPool, BlockPoolEdit, BlocksCommand, EditBlocks, PutBlockPool,
};
use allod_core::blocks::{BlockLayout, Child};
use allod_core::command::{Command, Expect, PutPool, Stamp};
use allod_core::limits::Limits;
use allod_core::pool::{PoolRange, PoolSpec};
use allod_core::requests::command::{
    EditRequests, PutRequestPool, RequestPoolEdit, RequestsCommand,
};
use allod_core::requests::{
    AddressSupply, AlarmSettings, ExcludedIds, IdSupply, RequestPool, Subnet, Supply,
};
use allod_core::span::Span;
use allod_core::state::State;
use allod_core::value::Kind;

fn refused(command: &Command) -> String {
    let (mut state, stamp) = (State::new(), Stamp { now_ms: 1, seed: 0 });
    match allod_core::decide(&mut state, &stamp, command, &Limits::default()) {
        Ok(decision) => panic!("{:?}", decision.events),
        Err(refused) => format!("{}: {}", refused.refusal.code(), refused.refusal),
    }
}

fn span((first, last): (u128, u128)) -> Span {
    Span { first, last }
}

fn pool(kind: Kind, ranges: &[(u128, u128)]) -> PoolSpec {
    let ranges = ranges.iter().map(|&ends| PoolRange { span: span(ends), subnet_len: None });
    PoolSpec::new(kind, ranges.collect())
}

#[test]
fn invalid_pool_is_refused_with_the_part_that_is_wrong() {
    let ids = || pool(Kind::Id32, &[(1, 9)]);
    let over = u128::from(u32::MAX) + 1;
    for (spec, expected) in [
        (pool(Kind::Id32, &[]), "the pool has no range; give at least one"),
        (pool(Kind::Id32, &[(9, 1)]), "range 9-1 ends before it starts; swap its ends"),
        (
            PoolSpec { exclude: vec![span((3, 2))], ..ids() },
            "exclusion 3-2 ends before it starts; swap its ends",
        ),
        (
            PoolSpec { manual: vec![span((3, 2))], ..ids() },
            "manual range 3-2 ends before it starts; swap its ends",
        ),
        (
            PoolSpec { draining: vec![span((3, 2))], ..ids() },
            "draining range 3-2 ends before it starts; swap its ends",
        ),
        (
            pool(Kind::Id32, &[(1, over)]),
            "range 1-4294967296 has values that id32 does not have; the last is 4294967295",
        ),
        (
            PoolSpec { exclude: vec![span((over, over))], ..ids() },
            "exclusion 4294967296 has values that id32 does not have; the last is 4294967295",
        ),
        (
            pool(Kind::Address4, &[(1, 5), (5, 9)]),
            "ranges 0.0.0.1-0.0.0.5 and 0.0.0.5-0.0.0.9 overlap; give each value once",
        ),
    ] {
        let put = PutPool { pool: "p".into(), spec, expect: Expect::Any, keep_held: false };
        assert_eq!(refused(&Command::PutPool(put)), format!("invalid: {expected}"));
    }
}

fn put(supply: Supply) -> Command {
    let config = Some(RequestPool::new(supply, AlarmSettings::default()));
    let put =
        RequestPoolEdit::Put(Box::new(PutRequestPool { config, ..PutRequestPool::default() }));
    let pools = vec![("p".into(), put)];
    Command::Requests(RequestsCommand::Edit(EditRequests { seen: 0, seen_all: false, pools }))
}

#[test]
fn invalid_request_pool_is_refused_with_the_part_that_is_wrong() {
    let ids = |start, end, exclude: &[(u32, u32)]| {
        let exclude = exclude.iter().map(|&(start, end)| ExcludedIds { start, end, flag: None });
        Supply::Ids(IdSupply { start, end, exclude: exclude.collect(), alarm_base: 0 })
    };
    let addresses = |subnets: &[(u128, u8)], ranges: &[(u128, u128)], exclude: &[(u128, u8)]| {
        let list = |list: &[(u128, u8)]| {
            list.iter().map(|&(address, len)| Subnet { address, len }).collect()
        };
        let (subnets, exclude) = (list(subnets), list(exclude));
        let ranges = ranges.to_vec();
        Supply::Addresses(AddressSupply { subnets, exclude, ranges, ..AddressSupply::default() })
    };
    for (supply, expected) in [
        (ids(9, 1, &[]), "range 9-1 ends before it starts; swap its ends"),
        (ids(1, 9, &[(3, 2)]), "exclusion 3-2 ends before it starts; swap its ends"),
        (
            addresses(&[(0, 33)], &[], &[]),
            "subnet 0.0.0.0/33 is too long; give a length of at most 32",
        ),
        (
            addresses(&[(0, 24)], &[], &[(0, 33)]),
            "exclusion 0.0.0.0/33 is too long; give a length of at most 32",
        ),
        (
            addresses(&[], &[(9, 1)], &[]),
            "range 0.0.0.9-0.0.0.1 ends before it starts; swap its ends",
        ),
        (
            addresses(&[(1 << 32, 24)], &[], &[]),
            "subnet 4294967296-4294967551 has values that ipv4_prefix does not have; the last is 4294967295",
        ),
        (
            addresses(&[], &[(1, 1 << 32)], &[]),
            "range 1-4294967296 has values that ipv4_prefix does not have; the last is 4294967295",
        ),
        (
            addresses(&[(0, 24), (128, 25)], &[], &[]),
            "subnets 0.0.0.0-0.0.0.255 and 0.0.0.128-0.0.0.255 overlap; give each value once",
        ),
        (
            addresses(&[(0, 24)], &[(255, 300)], &[]),
            "subnet 0.0.0.0-0.0.0.255 and range 0.0.0.255-0.0.1.44 overlap; give each value once",
        ),
        (
            addresses(&[(0, 24)], &[(256, 300)], &[(256, 32)]),
            "no subnet contains exclusion 0.0.1.0; leave it out, or add the subnet",
        ),
        (
            addresses(&[(0, 24)], &[], &[(0, 23)]),
            "no subnet contains exclusion 0.0.0.0-0.0.1.255; leave it out, or add the subnet",
        ),
        (
            addresses(&[(0, 24)], &[], &[(0, 25), (64, 26)]),
            "exclusions 0.0.0.0-0.0.0.127 and 0.0.0.64-0.0.0.127 overlap; give each value once",
        ),
    ] {
        assert_eq!(refused(&put(supply)), format!("invalid: {expected}"));
    }
}

#[test]
fn invalid_block_pool_is_refused_with_the_range_that_is_wrong() {
    let edit = |ids: (u32, u32, i64), block: (u32, u32, i64)| {
        let (name, (start, end, cursor)) = ("p.1".into(), block);
        let child = Child { name, start, end, cursor, released: vec![], access_s: 0 };
        let (low, high, cursor) = ids;
        let (released, children) = (vec![], vec![child]);
        let layout = BlockLayout { block_size: 5, enhanced: false, cursor, released, children };
        let definition = Some(BlockPool { low, high, delay_s: 0, layout });
        let (saw, put, remove) = (None, vec![], vec![]);
        let put = PutBlockPool { saw, definition, replace_entries: true, put, remove };
        let pools = vec![("p".into(), BlockPoolEdit::Put(Box::new(put)))];
        Command::Blocks(BlocksCommand::Edit(EditBlocks { seen: 0, seen_all: false, pools }))
    };
    for (ids, block, expected) in [
        ((9, 8, 8), Child::NO_BLOCK, "it ends at 8, before its start 9"),
        ((10, 19, 8), Child::NO_BLOCK, "the cursor 8 is less than 9, its initial value"),
        ((10, 19, 14), (10, 9, 9), "its child 'p.1': the end 9 is before the start 10"),
        ((10, 19, 14), (2, 1, 1), "its child 'p.1': the end 1 is before the start 2"),
        (
            (10, 19, 14),
            (10, 14, -2),
            "its child 'p.1': the cursor -2 is less than 9, its initial value",
        ),
    ] {
        let contradicts = "the definition of pool 'p' contradicts itself";
        let expected = format!("account_contradicts: {contradicts}: {expected}");
        assert_eq!(refused(&edit(ids, block)), expected);
    }
    for block in [Child::NO_BLOCK, (10, 14, 9), (0, 4, -1)] {
        let (mut state, stamp) = (State::new(), Stamp { now_ms: 1, seed: 0 });
        let decided =
            allod_core::decide(&mut state, &stamp, &edit((0, 19, 14), block), &Limits::default());
        assert!(decided.is_ok(), "{block:?}: {:?}", decided.err());
    }
}
