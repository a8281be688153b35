//! The nodes of the calls, looked up once.

use crate::resource_pools::at;
use crate::yang::{NodeId, Schema};

#[derive(Debug)]
pub(crate) struct CallNodes {
    pub sync_alloc: SyncAlloc,
    pub sync_alloc_id: SyncAlloc,
    pub find_id: Find,
    pub find_ip: Find,
    pub id_tool: Tool,
    pub ip_tool: Tool,
}

/// A call of release 4. A leaf that only the other one has is the pool's name once more: nobody asks for it.
#[derive(Debug)]
pub(crate) struct SyncAlloc {
    pub action: NodeId,
    pub pool: NodeId,
    pub key: NodeId,
    pub user: NodeId,
    pub owner: NodeId,
    pub dryrun: NodeId,
    pub parity: NodeId,
    pub cidrmask: NodeId,
    pub invert: NodeId,
    pub start: NodeId,
    pub id: NodeId,
    pub method: NodeId,
    pub sync: NodeId,
    pub given: NodeId,
    pub subnet: NodeId,
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
    pub action: NodeId,
    pub pool: NodeId,
    pub operation: NodeId,
    pub result: NodeId,
}

impl CallNodes {
    pub fn of(schema: &Schema) -> Result<CallNodes, String> {
        let sync = |name: &str, given: &str| {
            let action = format!("/resource-allocator:rm-action/{name}");
            let pool = at(schema, &format!("{action}/input/pool"))?;
            let input = |leaf: &str| at(schema, &format!("{action}/input/{leaf}"));
            let maybe = |leaf: &str| schema.find(&format!("{action}/{leaf}")).unwrap_or(pool);
            Ok::<SyncAlloc, String>(SyncAlloc {
                action: at(schema, &action)?,
                pool,
                key: input("allocid")?,
                user: input("user")?,
                owner: input("owner")?,
                dryrun: input("dryrun")?,
                parity: input("oddeven-alloc")?,
                cidrmask: maybe("input/cidrmask"),
                invert: maybe("input/invertcidr"),
                start: maybe("input/subnetstartip"),
                id: maybe("input/requestedId"),
                method: maybe("input/method"),
                sync: maybe("input/sync"),
                given: at(schema, &format!("{action}/output/{given}"))?,
                subnet: maybe("output/subnet"),
            })
        };
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
        let tool = |name: &str| {
            let action = format!("/resource-allocator:rm-action/{name}");
            let below = |rest: &str| at(schema, &format!("{action}/{rest}"));
            Ok::<Tool, String>(Tool {
                action: at(schema, &action)?,
                pool: below("input/pool")?,
                operation: below("input/operation")?,
                result: below("output/result")?,
            })
        };
        Ok(CallNodes {
            sync_alloc: sync("sync-alloc", "allocated")?,
            sync_alloc_id: sync("sync-alloc-id", "allocatedId")?,
            find_id: find("find-id", "parity")?,
            find_ip: find("find-ip", "prefix-length")?,
            id_tool: tool("id-allocator-tool")?,
            ip_tool: tool("ip-allocator-tool")?,
        })
    }
}
