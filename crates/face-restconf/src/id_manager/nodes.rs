//! The nodes of the modules that the model speaks of, looked up once.

use crate::yang::{NodeId, Schema};

#[derive(Debug, Clone)]
pub(crate) struct Nodes {
    pub id_pools: NodeId,
    pub id_pool: NodeId,
    pub pool_name: NodeId,
    pub block_size: NodeId,
    pub parent_pool_name: NodeId,
    pub child_pools: NodeId,
    pub child_pool_name: NodeId,
    pub last_access_time: NodeId,
    pub id_entries: NodeId,
    pub id_key: NodeId,
    pub id_value: NodeId,
    pub available: NodeId,
    pub start: NodeId,
    pub end: NodeId,
    pub cursor: NodeId,
    pub released: NodeId,
    pub available_count: NodeId,
    pub delayed_time: NodeId,
    pub delayed_entries: NodeId,
    pub delayed_id: NodeId,
    pub ready_time: NodeId,
    pub allocated: NodeId,
    pub allocated_entries: NodeId,
    pub allocated_id: NodeId,
    pub expired_time: NodeId,
    pub allocated_key: NodeId,
    pub create: Create,
    pub delete: Delete,
    pub allocate: Allocate,
    pub range: Range,
    pub release: Release,
    pub existing: Existing,
    pub pool_created: PoolTold,
    pub pool_changed: PoolTold,
    pub pool_deleted: PoolTold,
    pub allocated_told: ClaimTold,
    pub lease_told: ClaimTold,
    pub released_told: ClaimTold,
}

#[derive(Debug, Clone)]
pub(crate) struct Create {
    pub rpc: NodeId,
    pub pool_name: NodeId,
    pub low: NodeId,
    pub high: NodeId,
    pub enhanced: NodeId,
}

#[derive(Debug, Clone)]
pub(crate) struct Delete {
    pub rpc: NodeId,
    pub pool_name: NodeId,
}

#[derive(Debug, Clone)]
pub(crate) struct Allocate {
    pub rpc: NodeId,
    pub pool_name: NodeId,
    pub id_key: NodeId,
    pub id_value: NodeId,
    pub expiration: NodeId,
    pub strict: NodeId,
    pub given: NodeId,
}

#[derive(Debug, Clone)]
pub(crate) struct Range {
    pub rpc: NodeId,
    pub pool_name: NodeId,
    pub id_key: NodeId,
    pub size: NodeId,
    pub given: NodeId,
}

#[derive(Debug, Clone)]
pub(crate) struct Release {
    pub rpc: NodeId,
    pub pool_name: NodeId,
    pub id_key: NodeId,
    pub given: NodeId,
}

#[derive(Debug, Clone)]
pub(crate) struct Existing {
    pub rpc: NodeId,
    pub pool_name: NodeId,
    pub id_key: NodeId,
    pub first: NodeId,
    pub all: NodeId,
    pub expired_time: NodeId,
}

/// A notification about a pool.
#[derive(Debug, Clone)]
pub(crate) struct PoolTold {
    pub node: NodeId,
    pub pool_name: NodeId,
    /// First and last id, where it tells them.
    pub range: Option<(NodeId, NodeId)>,
}

/// A notification about what a key holds, or held.
#[derive(Debug, Clone)]
pub(crate) struct ClaimTold {
    pub node: NodeId,
    pub pool_name: NodeId,
    pub id_key: NodeId,
    pub id_values: NodeId,
    /// Until when, or why no longer.
    pub last: NodeId,
}

impl Nodes {
    pub fn of(schema: &Schema) -> Result<Nodes, String> {
        let at = |path: &str| {
            schema.find(path).ok_or_else(|| format!("the modules of the id-manager lack {path}"))
        };
        let pool = |rest: &str| at(&format!("/id-manager:id-pools/id-pool{rest}"));
        let rpc = |rest: &str| at(&format!("/id-manager:{rest}"));
        let told = |rest: &str| at(&format!("/allod-id-manager:{rest}"));
        let claim_told = |name: &str, last: &str| {
            Ok::<ClaimTold, String>(ClaimTold {
                node: told(name)?,
                pool_name: told(&format!("{name}/pool-name"))?,
                id_key: told(&format!("{name}/id-key"))?,
                id_values: told(&format!("{name}/id-values"))?,
                last: told(&format!("{name}/{last}"))?,
            })
        };
        let pool_told = |name: &str| {
            Ok::<PoolTold, String>(PoolTold {
                node: told(name)?,
                pool_name: told(&format!("{name}/pool-name"))?,
                range: Some((told(&format!("{name}/low"))?, told(&format!("{name}/high"))?)),
            })
        };
        Ok(Nodes {
            id_pools: at("/id-manager:id-pools")?,
            id_pool: pool("")?,
            pool_name: pool("/pool-name")?,
            block_size: pool("/block-size")?,
            parent_pool_name: pool("/parent-pool-name")?,
            child_pools: pool("/child-pools")?,
            child_pool_name: pool("/child-pools/child-pool-name")?,
            last_access_time: pool("/child-pools/last-access-time")?,
            id_entries: pool("/id-entries")?,
            id_key: pool("/id-entries/id-key")?,
            id_value: pool("/id-entries/id-value")?,
            available: pool("/available-ids-holder")?,
            start: pool("/available-ids-holder/start")?,
            end: pool("/available-ids-holder/end")?,
            cursor: pool("/available-ids-holder/cursor")?,
            released: pool("/released-ids-holder")?,
            available_count: pool("/released-ids-holder/available-id-count")?,
            delayed_time: pool("/released-ids-holder/delayed-time-sec")?,
            delayed_entries: pool("/released-ids-holder/delayed-id-entries")?,
            delayed_id: pool("/released-ids-holder/delayed-id-entries/id")?,
            ready_time: pool("/released-ids-holder/delayed-id-entries/ready-time-sec")?,
            allocated: pool("/allocated-ids-holder")?,
            allocated_entries: pool("/allocated-ids-holder/allocated-id-entries")?,
            allocated_id: pool("/allocated-ids-holder/allocated-id-entries/id")?,
            expired_time: pool("/allocated-ids-holder/allocated-id-entries/expired-time-sec")?,
            allocated_key: pool("/allocated-ids-holder/allocated-id-entries/id-key")?,
            create: Create {
                rpc: rpc("createIdPool")?,
                pool_name: rpc("createIdPool/input/pool-name")?,
                low: rpc("createIdPool/input/low")?,
                high: rpc("createIdPool/input/high")?,
                enhanced: rpc("createIdPool/input/enhanced-id-allocation")?,
            },
            delete: Delete {
                rpc: rpc("deleteIdPool")?,
                pool_name: rpc("deleteIdPool/input/pool-name")?,
            },
            allocate: Allocate {
                rpc: rpc("allocateId")?,
                pool_name: rpc("allocateId/input/pool-name")?,
                id_key: rpc("allocateId/input/id-key")?,
                id_value: rpc("allocateId/input/id-value")?,
                expiration: rpc("allocateId/input/expiration-time-sec")?,
                strict: rpc("allocateId/input/strict")?,
                given: rpc("allocateId/output/id-value")?,
            },
            range: Range {
                rpc: rpc("allocateIdRange")?,
                pool_name: rpc("allocateIdRange/input/pool-name")?,
                id_key: rpc("allocateIdRange/input/id-key")?,
                size: rpc("allocateIdRange/input/size")?,
                given: rpc("allocateIdRange/output/id-values")?,
            },
            release: Release {
                rpc: rpc("releaseId")?,
                pool_name: rpc("releaseId/input/pool-name")?,
                id_key: rpc("releaseId/input/id-key")?,
                given: rpc("releaseId/output/id-values")?,
            },
            existing: Existing {
                rpc: rpc("getExistingIdFromPool")?,
                pool_name: rpc("getExistingIdFromPool/input/pool-name")?,
                id_key: rpc("getExistingIdFromPool/input/id-key")?,
                first: rpc("getExistingIdFromPool/output/id-value")?,
                all: rpc("getExistingIdFromPool/output/id-values")?,
                expired_time: rpc("getExistingIdFromPool/output/expired-time-sec")?,
            },
            pool_created: pool_told("id-pool-created")?,
            pool_changed: pool_told("id-pool-changed")?,
            pool_deleted: PoolTold {
                node: told("id-pool-deleted")?,
                pool_name: told("id-pool-deleted/pool-name")?,
                range: None,
            },
            allocated_told: claim_told("id-allocated", "expired-time-sec")?,
            lease_told: claim_told("id-lease-changed", "expired-time-sec")?,
            released_told: claim_told("id-released", "cause")?,
        })
    }
}
