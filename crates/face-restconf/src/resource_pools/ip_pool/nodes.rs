//! The schema nodes of IP pools, looked up once.

use allod_core::requests::Subnet;
use allod_core::value::{IpVersion, Kind};

use super::address_of;
use crate::resource_pools::kind::{AlarmSettingNodes, OperNodes, PoolNodes};
use crate::tree::{DataNode, Siblings};
use crate::yang::node_set;

node_set! {
    pub(super) struct IpListNodes {
        auto_redeploy: "/auto-redeploy",
        method: "/allocation-method",
        range: "/range",
        from: "/range/from",
        to: "/range/to",
        size: "/allocation/request/subnet-size",
        start: "/allocation/request/subnet-start-ip",
        invert: "/allocation/request/invert-subnet-size",
        granted: "/allocation/response/subnet",
        granted_from: "/allocation/response/from",
        @pool: PoolNodes = "",
        @subnet: NetworkNodes = "/subnet",
        @exclude: NetworkNodes = "/exclude",
        @alarms: AlarmSettingNodes = "/alarms",
    }
}

node_set! {
    pub(super) struct IpOperNodes {
        held_owner: "/pool/allocation/owner",
        held_user: "/pool/allocation/username",
        held_key: "/pool/allocation/request-id",
        @common: OperNodes = "",
        @subnet: NetworkNodes = "/pool/subnet",
        @exclude: NetworkNodes = "/pool/exclude",
        @available: NetworkNodes = "/pool/available",
        @held: NetworkNodes = "/pool/allocation",
    }
}

node_set! {
    /// A list of networks.
    pub(super) struct NetworkNodes {
        node: "",
        address: "/address",
        cidrmask: "/cidrmask",
    }
}

impl NetworkNodes {
    /// Reads an entry of the list.
    pub fn read(&self, entry: &DataNode) -> Option<(IpVersion, Subnet)> {
        let (version, address) = address_of(entry.text(self.address)?)?;
        Some((version, Subnet { address, len: entry.number(self.cidrmask)? }))
    }

    /// Writes an entry of the list.
    pub fn entry(&self, kind: Kind, subnet: Subnet) -> DataNode {
        let address = DataNode::leaf(self.address, kind.point(subnet.address));
        DataNode::inner(self.node, vec![address, DataNode::leaf(self.cidrmask, subnet.len)])
    }
}
