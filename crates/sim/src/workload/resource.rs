//! Requests of the resource-manager that compete for a few small pools.

use std::sync::Arc;

use allod_core::claim::Parity;
use allod_core::command::Command;
use allod_core::requests::command::{
    EditRequests, PutRequestPool, RequestPoolEdit, RequestsCommand,
};
use allod_core::requests::{
    AddressSupply, AlarmSettings, ExcludedIds, IdSupply, Method, Redeploy, Request, RequestPool,
    Subnet, Supply, Wanted, WantedId, WantedParity, WantedPrefix,
};
use allod_core::value::IpVersion;

use super::{KEYS, pool};
use crate::random::SimRandom;

const LANS: [&str; 2] = ["lan1", "lan2"];

pub(super) fn command(random: &mut SimRandom) -> Command {
    let count = *random.one_of(&[1, 1, 2, 3]);
    let pools = (0..count).map(|_| edit(random)).collect();
    let seen = if random.percent(90) { u64::MAX } else { 3 };
    let edit = EditRequests { seen, seen_all: random.percent(10), pools };
    Command::Requests(RequestsCommand::Edit(edit))
}

fn edit(random: &mut SimRandom) -> (Arc<str>, RequestPoolEdit) {
    let ids = random.percent(60);
    let name = match random.below(20) {
        0 => pool(random),
        _ if ids => *random.one_of(&LANS),
        _ => "subnets",
    };
    if random.percent(3) {
        return (name.into(), RequestPoolEdit::Remove);
    }
    let config = random.percent(35).then(|| if ids { lan(random) } else { subnets(random) });
    let key = |random: &mut SimRandom| -> Arc<str> { (*random.one_of(&KEYS)).into() };
    let puts = random.below(3);
    let put = (0..puts).map(|_| (key(random), request(random, ids))).collect();
    let withdraw = if random.percent(40) { vec![key(random)] } else { vec![] };
    let replace = random.percent(5);
    (name.into(), RequestPoolEdit::Put(Box::new(PutRequestPool { config, replace, put, withdraw })))
}

fn alarms(random: &mut SimRandom) -> AlarmSettings {
    let low = random.percent(50).then_some(50);
    AlarmSettings { enabled: random.percent(70), low, low_odd: low, low_even: None }
}

fn lan(random: &mut SimRandom) -> RequestPool {
    let start = random.below(4) as u32;
    let end = start + random.below(6) as u32;
    let exclude = (0..random.below(2)).map(|_| {
        let start = random.below(6) as u32;
        ExcludedIds { start, end: start + random.below(2) as u32, flag: None }
    });
    let exclude = exclude.collect();
    let supply = Supply::Ids(IdSupply { start, end, exclude, alarm_base: end - start });
    RequestPool::new(supply, alarms(random))
}

fn subnets(random: &mut SimRandom) -> RequestPool {
    let all = [(0x0a00_0000, 30), (0x0a00_0004, 30), (0x0a00_0010, 29), (0x0a00_0020, 32)];
    let subnets = all.iter().filter(|_| random.percent(60));
    let subnets = subnets.map(|&(address, len)| Subnet { address, len }).collect();
    let sequential = random.percent(20).then_some(true);
    let supply = AddressSupply { subnets, sequential, ..AddressSupply::default() };
    RequestPool::new(Supply::Addresses(supply), alarms(random))
}

fn request(random: &mut SimRandom, ids: bool) -> Request {
    let want = if ids {
        let parity = *random.one_of(&[Parity::Even, Parity::Odd]);
        Wanted::Id(WantedId {
            sync: random.percent(40).then_some(true),
            id: random.percent(20).then(|| random.below(8) as u32),
            parity: random.percent(20).then_some(WantedParity::Only(parity)),
            method: random.percent(20).then_some(Method::RoundRobin),
        })
    } else {
        let start =
            random.percent(20).then(|| (IpVersion::V4, 0x0a00_0000 + u128::from(random.below(40))));
        let size = *random.one_of(&[28, 29, 30, 31, 32, 32, 32]);
        Wanted::Prefix(WantedPrefix { size, invert: false, start })
    };
    let services = (0..random.below(3)).map(|n| Arc::from(format!("/services/s{n}"))).collect();
    let redeploy = random.percent(20).then_some(Redeploy::Never);
    Request {
        user: "admin".into(),
        services,
        redeploy,
        sync_alloc: false,
        want,
        site: Default::default(),
    }
}
