//! The id-manager at work on the same pools as everybody else.

use allod_core::command::Command;
use allod_core::command::ids::{
    AllocateIds, CreateIds, EditIds, IdEntry, IdsCommand, PoolEdit, PutIds, WantIds,
};
use allod_core::ids::SearchOrder;
use allod_core::span::Span;

use super::{KEYS, pool};
use crate::dice::Dice;

pub(super) fn command(dice: &mut Dice) -> Command {
    let name = if dice.percent(70) { "ids" } else { pool(dice) };
    let (pool, key) = (name.into(), (*dice.one_of(&KEYS)).into());
    let child = format!("{name}.{}", if dice.percent(90) { 1 } else { 2 }).into();
    let orders = [SearchOrder::AvailableFirst, SearchOrder::ReleasedFirst];
    let id = dice.below(16) as u32;
    Command::Ids(match dice.below(20) {
        0 => IdsCommand::Delete { pool },
        1..4 => {
            let (enhanced, delay_s) = (dice.percent(50), dice.below(3) as u32);
            IdsCommand::Create(CreateIds { pool, low: 0, high: id, enhanced, child, delay_s })
        }
        4..13 => {
            let want = if dice.percent(25) {
                WantIds::Range { size: dice.below(5) as u32 }
            } else {
                let value = dice.percent(30).then_some(id);
                let expiration_s = dice.percent(50).then(|| dice.below(4) as u32);
                WantIds::One { value, expiration_s, strict: dice.percent(10) }
            };
            let (order, enhanced_order) = (*dice.one_of(&orders), *dice.one_of(&orders));
            IdsCommand::Allocate(AllocateIds { pool, key, want, child, order, enhanced_order })
        }
        13..18 => IdsCommand::Release { pool, key, unknown_is_fine: false },
        _ => {
            let entry = IdEntry { key, ids: vec![Span::one(id.into())], expires_ms: None };
            let put = PutIds {
                saw: None,
                frame: None,
                replace_entries: dice.percent(10),
                put: vec![entry],
                remove: vec![(*dice.one_of(&KEYS)).into()],
            };
            let seen = if dice.percent(80) { u64::MAX } else { 3 };
            IdsCommand::Edit(EditIds {
                seen,
                seen_all: false,
                pools: vec![(pool, PoolEdit::Put(Box::new(put)))],
            })
        }
    })
}
