//! Block allocation of the id-manager, on the same pools.

use allod_core::blocks::SearchOrder;
use allod_core::blocks::command::{
    AllocateIds, BlockPoolEdit, BlocksCommand, CreateBlockPool, EditBlocks, IdEntry, PutBlockPool,
    WantIds,
};
use allod_core::command::Command;
use allod_core::span::Span;

use super::{KEYS, pool};
use crate::random::SimRandom;

pub(super) fn command(random: &mut SimRandom) -> Command {
    let name = if random.percent(70) { "ids" } else { pool(random) };
    let (pool, key) = (name.into(), (*random.one_of(&KEYS)).into());
    let child = format!("{name}.{}", if random.percent(90) { 1 } else { 2 }).into();
    let orders = [SearchOrder::AvailableFirst, SearchOrder::ReleasedFirst];
    let id = random.below(16) as u32;
    Command::Blocks(match random.below(20) {
        0 => BlocksCommand::Delete { pool },
        1..4 => {
            let (enhanced, delay_s) = (random.percent(50), random.below(3) as u32);
            BlocksCommand::Create(CreateBlockPool {
                pool,
                low: 0,
                high: id,
                enhanced,
                child,
                delay_s,
            })
        }
        4..13 => {
            let want = if random.percent(25) {
                WantIds::Range { size: random.below(5) as u32 }
            } else {
                let value = random.percent(30).then_some(id);
                let expiration_s = random.percent(50).then(|| random.below(4) as u32);
                WantIds::One { value, expiration_s, strict: random.percent(10) }
            };
            let (order, enhanced_order) = (*random.one_of(&orders), *random.one_of(&orders));
            BlocksCommand::Allocate(AllocateIds { pool, key, want, child, order, enhanced_order })
        }
        13..18 => BlocksCommand::Release { pool, key, unknown_is_fine: false },
        _ => {
            let entry = IdEntry { key, ids: vec![Span::one(id.into())], expires_ms: None };
            let put = PutBlockPool {
                saw: None,
                definition: None,
                replace_entries: random.percent(10),
                put: vec![entry],
                remove: vec![(*random.one_of(&KEYS)).into()],
            };
            let seen = if random.percent(80) { u64::MAX } else { 3 };
            BlocksCommand::Edit(EditBlocks {
                seen,
                seen_all: false,
                pools: vec![(pool, BlockPoolEdit::Put(Box::new(put)))],
            })
        }
    })
}
