//! The schema nodes of the modules, looked up once.

use crate::yang::node_set;

node_set! {
    pub(crate) struct IdManagerNodes {
        id_pools: "/id-manager:id-pools",
        id_pool: "/id-manager:id-pools/id-pool",
        pool_name: "/id-manager:id-pools/id-pool/pool-name",
        block_size: "/id-manager:id-pools/id-pool/block-size",
        parent_pool_name: "/id-manager:id-pools/id-pool/parent-pool-name",
        child_pools: "/id-manager:id-pools/id-pool/child-pools",
        child_pool_name: "/id-manager:id-pools/id-pool/child-pools/child-pool-name",
        last_access_time: "/id-manager:id-pools/id-pool/child-pools/last-access-time",
        id_entries: "/id-manager:id-pools/id-pool/id-entries",
        id_key: "/id-manager:id-pools/id-pool/id-entries/id-key",
        id_value: "/id-manager:id-pools/id-pool/id-entries/id-value",
        available: "/id-manager:id-pools/id-pool/available-ids-holder",
        start: "/id-manager:id-pools/id-pool/available-ids-holder/start",
        end: "/id-manager:id-pools/id-pool/available-ids-holder/end",
        cursor: "/id-manager:id-pools/id-pool/available-ids-holder/cursor",
        released: "/id-manager:id-pools/id-pool/released-ids-holder",
        available_count: "/id-manager:id-pools/id-pool/released-ids-holder/available-id-count",
        delayed_time: "/id-manager:id-pools/id-pool/released-ids-holder/delayed-time-sec",
        delayed_entries: "/id-manager:id-pools/id-pool/released-ids-holder/delayed-id-entries",
        delayed_id: "/id-manager:id-pools/id-pool/released-ids-holder/delayed-id-entries/id",
        ready_time: "/id-manager:id-pools/id-pool/released-ids-holder/delayed-id-entries/ready-time-sec",
        allocated: "/id-manager:id-pools/id-pool/allocated-ids-holder",
        allocated_entries: "/id-manager:id-pools/id-pool/allocated-ids-holder/allocated-id-entries",
        allocated_id: "/id-manager:id-pools/id-pool/allocated-ids-holder/allocated-id-entries/id",
        expired_time: "/id-manager:id-pools/id-pool/allocated-ids-holder/allocated-id-entries/expired-time-sec",
        allocated_key: "/id-manager:id-pools/id-pool/allocated-ids-holder/allocated-id-entries/id-key",
        pool_deleted: "/allod-id-manager:id-pool-deleted",
        deleted_pool_name: "/allod-id-manager:id-pool-deleted/pool-name",
        allocated_expiry: "/allod-id-manager:id-allocated/expired-time-sec",
        changed_expiry: "/allod-id-manager:id-lease-changed/expired-time-sec",
        release_cause: "/allod-id-manager:id-released/cause",
        @create: CreatePoolNodes = "/id-manager:createIdPool",
        @delete: DeletePoolNodes = "/id-manager:deleteIdPool",
        @allocate: AllocateNodes = "/id-manager:allocateId",
        @range: AllocateRangeNodes = "/id-manager:allocateIdRange",
        @release: ReleaseNodes = "/id-manager:releaseId",
        @existing: ExistingIdNodes = "/id-manager:getExistingIdFromPool",
        @pool_created: PoolNotificationNodes = "/allod-id-manager:id-pool-created",
        @pool_changed: PoolNotificationNodes = "/allod-id-manager:id-pool-changed",
        @id_allocated: ClaimNotificationNodes = "/allod-id-manager:id-allocated",
        @id_lease_changed: ClaimNotificationNodes = "/allod-id-manager:id-lease-changed",
        @id_released: ClaimNotificationNodes = "/allod-id-manager:id-released",
    }
}

node_set! {
    pub(crate) struct CreatePoolNodes {
        rpc: "",
        pool_name: "/input/pool-name",
        low: "/input/low",
        high: "/input/high",
        enhanced: "/input/enhanced-id-allocation",
    }
}

node_set! {
    pub(crate) struct DeletePoolNodes {
        rpc: "",
        pool_name: "/input/pool-name",
    }
}

node_set! {
    pub(crate) struct AllocateNodes {
        rpc: "",
        pool_name: "/input/pool-name",
        id_key: "/input/id-key",
        id_value: "/input/id-value",
        expiration: "/input/expiration-time-sec",
        strict: "/input/strict",
        given: "/output/id-value",
    }
}

node_set! {
    pub(crate) struct AllocateRangeNodes {
        rpc: "",
        pool_name: "/input/pool-name",
        id_key: "/input/id-key",
        size: "/input/size",
        given: "/output/id-values",
    }
}

node_set! {
    pub(crate) struct ReleaseNodes {
        rpc: "",
        pool_name: "/input/pool-name",
        id_key: "/input/id-key",
        given: "/output/id-values",
    }
}

node_set! {
    pub(crate) struct ExistingIdNodes {
        rpc: "",
        pool_name: "/input/pool-name",
        id_key: "/input/id-key",
        first: "/output/id-value",
        all: "/output/id-values",
        expired_time: "/output/expired-time-sec",
    }
}

node_set! {
    pub(crate) struct PoolNotificationNodes {
        node: "",
        pool_name: "/pool-name",
        low: "/low",
        high: "/high",
    }
}

node_set! {
    /// A notification about the ids of a key.
    pub(crate) struct ClaimNotificationNodes {
        node: "",
        pool_name: "/pool-name",
        id_key: "/id-key",
        id_values: "/id-values",
    }
}
