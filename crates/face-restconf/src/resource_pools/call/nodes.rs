//! The schema nodes of the actions, looked up once.

use crate::yang::node_set;

node_set! {
    pub(crate) struct CallNodes {
        find_id_parity: "resource-pools/allod-resource-pools:find-id/input/parity",
        find_ip_length: "resource-pools/allod-resource-pools:find-ip/input/prefix-length",
        @sync_alloc: SyncAllocNodes = "rm-action/sync-alloc",
        @prefix: PrefixNodes = "rm-action/sync-alloc",
        @sync_alloc_id: SyncAllocNodes = "rm-action/sync-alloc-id",
        @id: IdNodes = "rm-action/sync-alloc-id",
        @find_id: FindNodes = "resource-pools/allod-resource-pools:find-id",
        @find_ip: FindNodes = "resource-pools/allod-resource-pools:find-ip",
        @id_tool: ToolNodes = "rm-action/id-allocator:id-allocator-tool",
        @ip_tool: ToolNodes = "rm-action/ipaddress-allocator:ip-allocator-tool",
    }
}

node_set! {
    /// The common nodes of the release 4 actions.
    pub(crate) struct SyncAllocNodes {
        action: "",
        pool: "/input/pool",
        key: "/input/allocid",
        user: "/input/user",
        owner: "/input/owner",
        redeploy: "/input/redeploy-type",
        dryrun: "/input/dryrun",
        parity: "/input/oddeven-alloc",
    }
}

node_set! {
    /// The additional nodes of the action for prefixes.
    pub(crate) struct PrefixNodes {
        cidrmask: "/input/cidrmask",
        invert: "/input/invertcidr",
        start: "/input/subnetstartip",
        allocated: "/output/allocated",
        subnet: "/output/subnet",
    }
}

node_set! {
    /// The additional nodes of the action for ids.
    pub(crate) struct IdNodes {
        id: "/input/requestedId",
        method: "/input/method",
        sync: "/input/sync",
        allocated: "/output/allocatedId",
    }
}

node_set! {
    /// The common nodes of the release 5 actions.
    pub(crate) struct FindNodes {
        action: "",
        pool: "/input/pool",
        key: "/input/allocation-name",
        resource: "/input/resource",
        allocate: "/input/allocate",
        user: "/input/username",
        service: "/input/allocating-service",
        success: "/output/success",
        found: "/output/resource",
        message: "/output/message",
    }
}

node_set! {
    pub(crate) struct ToolNodes {
        action: "",
        pool: "/input/pool",
        operation: "/input/operation",
        result: "/output/result",
    }
}
