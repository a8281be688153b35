//! The resource-manager: few small pools, and requests that want the same.

use std::sync::Arc;

use allod_core::claim::Parity;
use allod_core::command::Command;
use allod_core::command::resource::{EditResources, PutResource, ResourceCommand, ResourceEdit};
use allod_core::resource::{
    AlarmSettings, ExcludedIds, Given, GivenAddresses, GivenIds, Method, Redeploy, Request,
    ResourcePool, Subnet, Wanted, WantedId, WantedParity, WantedPrefix,
};

use super::{KEYS, pool};
use crate::dice::Dice;

const LANS: [&str; 2] = ["lan1", "lan2"];

pub(super) fn command(dice: &mut Dice) -> Command {
    let count = *dice.one_of(&[1, 1, 2, 3]);
    let pools = (0..count).map(|_| edit(dice)).collect();
    let seen = if dice.percent(90) { u64::MAX } else { 3 };
    let edit = EditResources { seen, seen_all: dice.percent(10), pools };
    Command::Resource(ResourceCommand::Edit(edit))
}

fn edit(dice: &mut Dice) -> (Arc<str>, ResourceEdit) {
    let ids = dice.percent(60);
    let name = match dice.below(20) {
        0 => pool(dice),
        _ if ids => *dice.one_of(&LANS),
        _ => "subnets",
    };
    if dice.percent(3) {
        return (name.into(), ResourceEdit::Remove);
    }
    let config = dice.percent(35).then(|| if ids { lan(dice) } else { subnets(dice) });
    let key = |dice: &mut Dice| -> Arc<str> { (*dice.one_of(&KEYS)).into() };
    let puts = dice.below(3);
    let put = (0..puts).map(|_| (key(dice), request(dice, ids))).collect();
    let withdraw = if dice.percent(40) { vec![key(dice)] } else { vec![] };
    let replace = dice.percent(5);
    (name.into(), ResourceEdit::Put(Box::new(PutResource { config, replace, put, withdraw })))
}

fn alarms(dice: &mut Dice) -> AlarmSettings {
    let low = dice.percent(50).then_some(50);
    AlarmSettings { enabled: dice.percent(70), low, low_odd: low, low_even: None }
}

fn lan(dice: &mut Dice) -> ResourcePool {
    let start = dice.below(4) as u32;
    let end = start + dice.below(6) as u32;
    let exclude = (0..dice.below(2)).map(|_| {
        let start = dice.below(6) as u32;
        ExcludedIds { start, end: start + dice.below(2) as u32, stop_allocation: None }
    });
    let exclude = exclude.collect();
    ResourcePool { given: Given::Ids(GivenIds { start, end, exclude }), alarms: alarms(dice) }
}

fn subnets(dice: &mut Dice) -> ResourcePool {
    let all = [(0x0a00_0000, 30), (0x0a00_0004, 30), (0x0a00_0010, 29), (0x0a00_0020, 32)];
    let subnets = all.iter().filter(|_| dice.percent(60));
    let subnets = subnets.map(|&(address, len)| Subnet { address, len }).collect();
    let sequential = dice.percent(20).then_some(true);
    let given = GivenAddresses { subnets, sequential, ..GivenAddresses::default() };
    ResourcePool { given: Given::Addresses(given), alarms: alarms(dice) }
}

fn request(dice: &mut Dice, ids: bool) -> Request {
    let want = if ids {
        let parity = *dice.one_of(&[Parity::Even, Parity::Odd]);
        Wanted::Id(WantedId {
            sync: dice.percent(40).then_some(true),
            id: dice.percent(20).then(|| dice.below(8) as u32),
            parity: dice.percent(20).then_some(WantedParity::Only(parity)),
            method: dice.percent(20).then_some(Method::RoundRobin),
        })
    } else {
        let start = dice.percent(20).then(|| (false, 0x0a00_0000 + u128::from(dice.below(40))));
        let size = *dice.one_of(&[28, 29, 30, 31, 32, 32, 32]);
        Wanted::Prefix(WantedPrefix { size, invert: false, start })
    };
    let services = (0..dice.below(3)).map(|n| Arc::from(format!("/services/s{n}"))).collect();
    let redeploy = dice.percent(20).then_some(Redeploy::Never);
    Request { user: "admin".into(), services, redeploy, sync_alloc: false, want }
}
