//! Bodies of journal records. What is read must be written the same again, and applying it must not panic, whatever the
//! events say: a damaged or forged journal is refused by its hashes, but those do not protect from an older bug.

#![no_main]

use allod_core::invariant;
use allod_core::state::State;
use allod_engine::{apply_item, state_hash};
use allod_record::{LEVEL, decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(items) = decode(bytes) else { return };
    assert_eq!(decode(&encode(&items)).as_ref(), Ok(&items));
    let mut state = State::new();
    items.iter().for_each(|item| apply_item(&mut state, item));
    let _ = invariant::check(&state);
    let _ = state_hash(&state, LEVEL);
});
