//! The account of a pool of ids.

use allod_core::event::ids::{BlocksMoved, LedgerDefined};
use allod_core::ids::{Child, Ledger, ReleasedIds};
use allod_core::state::account::AccountImage;
use serde::{Deserialize, Serialize};

use super::span::{SpanV1, load_spans, store_spans};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReleasedIdsV1 {
    ids: SpanV1,
    ready_s: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChildV1<'a> {
    #[serde(borrow)]
    name: &'a str,
    start: u32,
    end: u32,
    cursor: i64,
    released: Vec<ReleasedIdsV1>,
    access_s: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LedgerV1<'a> {
    block_size: u16,
    enhanced: bool,
    cursor: i64,
    released: Vec<ReleasedIdsV1>,
    #[serde(borrow)]
    children: Vec<ChildV1<'a>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LedgerDefinedV1<'a> {
    pool: &'a str,
    #[serde(borrow)]
    ledger: LedgerV1<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BlocksMovedV1<'a> {
    pool: &'a str,
    cursor: i64,
    start: u32,
    end: u32,
    child_cursor: i64,
    fetched: Vec<SpanV1>,
    returned: Vec<SpanV1>,
    at_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AccountV1<'a> {
    #[serde(borrow)]
    ledger: LedgerV1<'a>,
    clean_ms: Option<u64>,
    changed: u64,
}

fn store(ids: &[ReleasedIds]) -> Vec<ReleasedIdsV1> {
    ids.iter().map(|one| ReleasedIdsV1 { ids: SpanV1(one.ids), ready_s: one.ready_s }).collect()
}

fn load(ids: Vec<ReleasedIdsV1>) -> Vec<ReleasedIds> {
    ids.into_iter().map(|one| ReleasedIds { ids: one.ids.0, ready_s: one.ready_s }).collect()
}

impl<'a> From<&'a Ledger> for LedgerV1<'a> {
    fn from(ledger: &'a Ledger) -> LedgerV1<'a> {
        let child = |child: &'a Child| ChildV1 {
            name: &child.name,
            start: child.start,
            end: child.end,
            cursor: child.cursor,
            released: store(&child.released),
            access_s: child.access_s,
        };
        LedgerV1 {
            block_size: ledger.block_size,
            enhanced: ledger.enhanced,
            cursor: ledger.cursor,
            released: store(&ledger.released),
            children: ledger.children.iter().map(child).collect(),
        }
    }
}

impl From<LedgerV1<'_>> for Ledger {
    fn from(stored: LedgerV1<'_>) -> Ledger {
        let child = |child: ChildV1<'_>| Child {
            name: child.name.into(),
            start: child.start,
            end: child.end,
            cursor: child.cursor,
            released: load(child.released),
            access_s: child.access_s,
        };
        Ledger {
            block_size: stored.block_size,
            enhanced: stored.enhanced,
            cursor: stored.cursor,
            released: load(stored.released),
            children: stored.children.into_iter().map(child).collect(),
        }
    }
}

impl<'a> From<&'a LedgerDefined> for LedgerDefinedV1<'a> {
    fn from(event: &'a LedgerDefined) -> LedgerDefinedV1<'a> {
        LedgerDefinedV1 { pool: &event.pool, ledger: LedgerV1::from(&event.ledger) }
    }
}

impl From<LedgerDefinedV1<'_>> for LedgerDefined {
    fn from(stored: LedgerDefinedV1<'_>) -> LedgerDefined {
        LedgerDefined { pool: stored.pool.into(), ledger: stored.ledger.into() }
    }
}

impl<'a> From<&'a BlocksMoved> for BlocksMovedV1<'a> {
    fn from(event: &'a BlocksMoved) -> BlocksMovedV1<'a> {
        BlocksMovedV1 {
            pool: &event.pool,
            cursor: event.cursor,
            start: event.start,
            end: event.end,
            child_cursor: event.child_cursor,
            fetched: store_spans(&event.fetched),
            returned: store_spans(&event.returned),
            at_ms: event.at_ms,
        }
    }
}

impl From<BlocksMovedV1<'_>> for BlocksMoved {
    fn from(stored: BlocksMovedV1<'_>) -> BlocksMoved {
        BlocksMoved {
            pool: stored.pool.into(),
            cursor: stored.cursor,
            start: stored.start,
            end: stored.end,
            child_cursor: stored.child_cursor,
            fetched: load_spans(stored.fetched),
            returned: load_spans(stored.returned),
            at_ms: stored.at_ms,
        }
    }
}

impl<'a> From<&'a AccountImage> for AccountV1<'a> {
    fn from(image: &'a AccountImage) -> AccountV1<'a> {
        let (clean_ms, changed) = (image.clean_ms, image.changed);
        AccountV1 { ledger: LedgerV1::from(&image.ledger), clean_ms, changed }
    }
}

impl From<AccountV1<'_>> for AccountImage {
    fn from(stored: AccountV1<'_>) -> AccountImage {
        let (clean_ms, changed) = (stored.clean_ms, stored.changed);
        AccountImage { ledger: stored.ledger.into(), clean_ms, changed }
    }
}
