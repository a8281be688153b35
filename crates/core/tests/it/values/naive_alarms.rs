//! The alarms of the naive model: counts the free values.

use allod_core::alarm::AlarmKind;
use allod_core::requests::{AlarmSettings, Supply};

use crate::values::naive_blocks::{Block, free_blocks};
use crate::values::naive_pool::Pool;

pub fn raised(pool: &Pool, settings: &AlarmSettings) -> Vec<AlarmKind> {
    if !settings.enabled {
        return vec![];
    }
    let (left, low) = (pool.free(), settings.low.unwrap_or(10));
    let whole = [AlarmKind::Exhausted, AlarmKind::Low];
    let of_parity = |odd: bool| left.iter().filter(|id| (*id % 2 == 1) == odd).count() as u128;
    let mut raised = Vec::new();
    match &pool.supply {
        Supply::Ids(supply) => {
            let total = u128::from(supply.alarm_base);
            raised.extend(one(left.len() as u128, total, low, whole));
            if settings.low_odd.is_some() || settings.low_even.is_some() {
                let (low, kinds) = (settings.low_odd, [AlarmKind::OddExhausted, AlarmKind::OddLow]);
                raised.extend(one(of_parity(true), total / 2, low.unwrap_or(50), kinds));
                let kinds = [AlarmKind::EvenExhausted, AlarmKind::EvenLow];
                let low = settings.low_even.unwrap_or(50);
                raised.extend(one(of_parity(false), total / 2, low, kinds));
            }
        }
        Supply::Addresses(_) => {
            let hosts = |blocks: &[Block]| blocks.iter().map(usable).sum::<u128>();
            let total = hosts(&pool.stock().0);
            raised.extend(one(hosts(&free_blocks(&left)), total, low, whole));
        }
    }
    raised.sort();
    raised
}

fn one(left: u128, total: u128, percent: u8, [none, few]: [AlarmKind; 2]) -> Option<AlarmKind> {
    let low = total * u128::from(percent) / 100;
    if left == 0 { Some(none) } else { (left <= low).then_some(few) }
}

fn usable(block: &Block) -> u128 {
    let all = 1 << block.bits;
    if all > 2 { all - 2 } else { all }
}
