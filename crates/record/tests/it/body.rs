//! Bodies of journal records: round trips, and the errors of bytes that cannot be read.

use std::sync::Arc;

use proptest::prelude::*;

use allod_core::event::{ClaimEvent, Event, PoolEvent, PoolRemoved};

use crate::arbitrary;
use allod_record::{
    BodyWriter, Cause, DecodeError, Entry, Item, LEVEL, decode, encode, level_needed,
    with_positions,
};

proptest! {
    #[test]
    fn items_come_back_as_they_were(items in arbitrary::items()) {
        prop_assert_eq!(decode(&encode(&items)).unwrap(), items);
    }

    #[test]
    fn a_body_cut_anywhere_gives_whole_items_or_an_error(items in arbitrary::items(), at: prop::sample::Index) {
        let bytes = encode(&items);
        let cut = at.index(bytes.len() + 1);
        match decode(&bytes[..cut]) {
            Ok(some) => prop_assert_eq!(&some[..], &items[..some.len()]),
            Err(DecodeError::Malformed { offset, .. }) => prop_assert!(offset <= cut as u64),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn a_writer_knows_what_it_holds(items in arbitrary::items()) {
        let mut body = BodyWriter::new();
        let mut pushed = Vec::new();
        for item in &items {
            let alone = encode(std::slice::from_ref(item)).len();
            let needed = body.len() + alone;
            prop_assert!(!body.push_within(item, needed - 1));
            prop_assert_eq!(body.len() + alone, needed);
            prop_assert!(body.push_within(item, needed));
            pushed.push(item.clone());
            prop_assert_eq!(body.len(), needed);
            prop_assert_eq!(body.positions(), pushed.iter().filter(|item| item.takes_position()).count() as u64);
            prop_assert_eq!(body.level(), pushed.iter().map(level_needed).max().unwrap_or(0));
        }
        prop_assert_eq!(body.into_bytes(), encode(&items));
    }
}

fn removed() -> Item {
    let event =
        Event::Pool(PoolEvent::Removed(PoolRemoved { pool: "p".into(), claims: 0, requests: 0 }));
    Item::Entry(Entry { at_ms: 5, cause: Cause::DeletePool, events: vec![event] })
}

fn text_of(bytes: &[u8]) -> String {
    decode(bytes).unwrap_err().to_string()
}

#[test]
fn items_except_epochs_take_a_position() {
    let items =
        [Item::Epoch { writer: "a".into() }, removed(), Item::Level { level: 1 }, removed()];
    let positions: Vec<u64> =
        with_positions(&items, 12).unwrap().map(|(position, _)| position).collect();
    assert_eq!(positions, [9, 10, 11, 12]);
    assert!(with_positions(&items, 2).is_none());
}

#[test]
fn unknown_kind_is_an_error_that_names_it() {
    let mut bytes = encode(&[removed()]);
    bytes.extend([99, 1, 2, 0, 0]);
    assert_eq!(
        decode(&bytes),
        Err(DecodeError::Unknown { kind: 99, version: 1, offset: 10, level: LEVEL })
    );
    assert_eq!(
        text_of(&bytes),
        "kind 99 version 1 at byte 10 was written by a newer version of the program; \
         this one knows the kinds of feature level 7: start a newer one"
    );
}

#[test]
fn unknown_version_of_an_event_is_an_error_that_names_it() {
    // An entry with at_ms 5 and cause 1, and in it a pool_removed of version 7.
    let bytes = [3, 1, 7, 5, 1, 17, 7, 2, 1, b'p'];
    assert_eq!(
        text_of(&bytes),
        "pool_removed (kind 17) version 7 at byte 5 was written by a newer version of the program; \
         this one knows it up to version 2 (feature level 7): start a newer one"
    );
}

#[test]
fn unknown_level_is_an_error() {
    let raised = Item::Level { level: LEVEL + 1 };
    assert_eq!(level_needed(&raised), LEVEL + 1);
    assert_eq!(
        text_of(&encode(&[raised])),
        "feature level 8 is needed; this program knows levels up to 7: start a newer one"
    );
}

#[test]
fn malformed_bytes_are_an_error_with_offset_and_reason() {
    for (bytes, expected) in [
        (&[3][..], "malformed at byte 0: kind, version and length are expected here"),
        (&[3, 1, 200, 1], "malformed at byte 0: 200 bytes are announced, 0 are left"),
        (&[2, 1, 2, 1, 0], "malformed at byte 3: level_raised version 1 has bytes left over"),
        (&[1, 1, 1, 9], "malformed at byte 3: epoch_begun version 1 does not read"),
        (&[3, 1, 2, 5, 9], "malformed at byte 3: entry version 1 does not read"),
        (&[17, 1, 1, 0], "malformed at byte 0: pool_removed does not belong here"),
        (&[3, 1, 5, 5, 1, 1, 1, 0], "malformed at byte 5: epoch_begun does not belong here"),
        // A pool name that is not UTF-8.
        (
            &[3, 1, 7, 5, 1, 17, 1, 2, 1, 0xff],
            "malformed at byte 8: pool_removed version 1 does not read",
        ),
    ] {
        assert_eq!(text_of(bytes), expected);
    }
}

#[test]
fn owner_that_equals_the_key_shares_its_memory() {
    let golden = include_str!("../../golden/18-claim_granted-v1.hex");
    let hex: String = golden.lines().skip(1).collect();
    let event: Vec<u8> = (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
        .collect();
    let body = [&[3, 1, event.len() as u8 + 2, 5, 2][..], &event].concat();
    let items = decode(&body).unwrap();
    let Item::Entry(entry) = &items[0] else { panic!("{items:?}") };
    let Event::Claim(ClaimEvent::Granted(grant)) = &entry.events[0] else { panic!("{items:?}") };
    assert!(Arc::ptr_eq(&grant.key, &grant.owner));
}
