//! The nodes of the calls, looked up once.

use crate::resource_pools::at;
use crate::yang::{NodeId, Schema};

#[derive(Debug)]
pub(crate) struct CallNodes {
    pub sync_alloc: SyncAlloc,
    pub prefix: PrefixLeaves,
    pub sync_alloc_id: SyncAlloc,
    pub id: IdLeaves,
    pub find_id: Find,
    pub find_ip: Find,
    pub id_tool: Tool,
    pub ip_tool: Tool,
}

/// What both calls of release 4 have.
#[derive(Debug)]
pub(crate) struct SyncAlloc {
    pub action: NodeId,
    pub pool: NodeId,
    pub key: NodeId,
    pub user: NodeId,
    pub owner: NodeId,
    pub redeploy: NodeId,
    pub dryrun: NodeId,
    pub parity: NodeId,
    pub given: NodeId,
}

/// What only the one for prefixes has.
#[derive(Debug)]
pub(crate) struct PrefixLeaves {
    pub cidrmask: NodeId,
    pub invert: NodeId,
    pub start: NodeId,
    pub subnet: NodeId,
}

/// What only the one for ids has.
#[derive(Debug)]
pub(crate) struct IdLeaves {
    pub id: NodeId,
    pub method: NodeId,
    pub sync: NodeId,
}

/// A call of release 5.
#[derive(Debug)]
pub(crate) struct Find {
    pub action: NodeId,
    pub pool: NodeId,
    pub key: NodeId,
    pub resource: NodeId,
    /// The parity, or the length.
    pub narrow: NodeId,
    pub allocate: NodeId,
    pub user: NodeId,
    pub service: NodeId,
    pub success: NodeId,
    pub found: NodeId,
    pub message: NodeId,
}

#[derive(Debug)]
pub(crate) struct Tool {
    /// The kind of pool that it is for.
    pub label: &'static str,
    pub action: NodeId,
    pub pool: NodeId,
    pub operation: NodeId,
    pub result: NodeId,
}

impl CallNodes {
    pub fn of(schema: &Schema) -> Result<CallNodes, String> {
        let sync = |name: &str, given: &str| {
            let action = format!("/resource-allocator:rm-action/{name}");
            let input = |leaf: &str| at(schema, &format!("{action}/input/{leaf}"));
            Ok::<SyncAlloc, String>(SyncAlloc {
                action: at(schema, &action)?,
                pool: input("pool")?,
                key: input("allocid")?,
                user: input("user")?,
                owner: input("owner")?,
                redeploy: input("redeploy-type")?,
                dryrun: input("dryrun")?,
                parity: input("oddeven-alloc")?,
                given: at(schema, &format!("{action}/output/{given}"))?,
            })
        };
        let own = |rest: &str| at(schema, &format!("/resource-allocator:rm-action/{rest}"));
        let find = |name: &str, narrow: &str| {
            let action = format!("/resource-allocator:resource-pools/allod-resource-pools:{name}");
            let below = |rest: &str| at(schema, &format!("{action}/{rest}"));
            Ok::<Find, String>(Find {
                action: at(schema, &action)?,
                pool: below("input/pool")?,
                key: below("input/allocation-name")?,
                resource: below("input/resource")?,
                narrow: below(&format!("input/{narrow}"))?,
                allocate: below("input/allocate")?,
                user: below("input/username")?,
                service: below("input/allocating-service")?,
                success: below("output/success")?,
                found: below("output/resource")?,
                message: below("output/message")?,
            })
        };
        let tool = |name: &str, label: &'static str| {
            let action = format!("/resource-allocator:rm-action/{name}");
            let below = |rest: &str| at(schema, &format!("{action}/{rest}"));
            Ok::<Tool, String>(Tool {
                label,
                action: at(schema, &action)?,
                pool: below("input/pool")?,
                operation: below("input/operation")?,
                result: below("output/result")?,
            })
        };
        Ok(CallNodes {
            sync_alloc: sync("sync-alloc", "allocated")?,
            prefix: PrefixLeaves {
                cidrmask: own("sync-alloc/input/cidrmask")?,
                invert: own("sync-alloc/input/invertcidr")?,
                start: own("sync-alloc/input/subnetstartip")?,
                subnet: own("sync-alloc/output/subnet")?,
            },
            sync_alloc_id: sync("sync-alloc-id", "allocatedId")?,
            id: IdLeaves {
                id: own("sync-alloc-id/input/requestedId")?,
                method: own("sync-alloc-id/input/method")?,
                sync: own("sync-alloc-id/input/sync")?,
            },
            find_id: find("find-id", "parity")?,
            find_ip: find("find-ip", "prefix-length")?,
            id_tool: tool("id-allocator:id-allocator-tool", "id-pool")?,
            ip_tool: tool("ipaddress-allocator:ip-allocator-tool", "ip-address-pool")?,
        })
    }
}
