//! The schema nodes of IP pools, looked up once.

use crate::resource_pools::at;
use crate::resource_pools::kind::{OperNodes, PoolNodes};
use crate::tree::{DataNode, LeafValue, NodeSink, WalkStopped, write_inner};
use crate::yang::{NodeId, Schema, node_set};

const LIST: &str = "/resource-allocator:resource-pools/ipaddress-allocator:ip-address-pool";
const OPER: &str = "/ipaddress-allocator-oper:ip-allocator";

#[derive(Debug)]
pub(super) struct IpPoolNodes {
    pub pool: PoolNodes,
    pub oper: OperNodes,
    pub auto_redeploy: NodeId,
    pub method: NodeId,
    pub subnet: NetworkNodes,
    pub exclude: NetworkNodes,
    pub range: NodeId,
    pub from: NodeId,
    pub to: NodeId,
    pub alarms: NodeId,
    pub alarms_enabled: NodeId,
    pub low: NodeId,
    pub size: NodeId,
    pub start: NodeId,
    pub invert: NodeId,
    pub granted: NodeId,
    pub granted_from: NodeId,
    pub oper_subnet: NetworkNodes,
    pub oper_exclude: NetworkNodes,
    pub oper_available: NetworkNodes,
    pub held: NetworkNodes,
    pub held_owner: NodeId,
    pub held_user: NodeId,
    pub held_key: NodeId,
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
    pub fn entry(&self, address: LeafValue, len: u8) -> DataNode {
        let len = DataNode::leaf(self.cidrmask, LeafValue::Uint(len.into()));
        DataNode::inner(self.node, vec![DataNode::leaf(self.address, address), len])
    }

    pub fn show(
        &self,
        address: LeafValue,
        len: u8,
        sink: &mut dyn NodeSink,
    ) -> Result<(), WalkStopped> {
        write_inner(sink, self.node, |sink| {
            sink.leaf(self.address, &address)?;
            sink.leaf(self.cidrmask, &LeafValue::Uint(len.into()))
        })
    }
}

impl IpPoolNodes {
    pub fn of(schema: &Schema) -> Result<IpPoolNodes, String> {
        let pool = |rest: &str| at(schema, &format!("{LIST}/{rest}"));
        let oper = |rest: &str| NetworkNodes::find(schema, &format!("{OPER}/pool/{rest}"));
        let held = |rest: &str| at(schema, &format!("{OPER}/pool/allocation/{rest}"));
        Ok(IpPoolNodes {
            pool: PoolNodes::of(schema, "ip-address-pool", LIST)?,
            oper: OperNodes::find(schema, OPER)?,
            auto_redeploy: pool("auto-redeploy")?,
            method: pool("allocation-method")?,
            subnet: NetworkNodes::find(schema, &format!("{LIST}/subnet"))?,
            exclude: NetworkNodes::find(schema, &format!("{LIST}/exclude"))?,
            range: pool("range")?,
            from: pool("range/from")?,
            to: pool("range/to")?,
            alarms: pool("alarms")?,
            alarms_enabled: pool("alarms/enabled")?,
            low: pool("alarms/low-threshold-alarm")?,
            size: pool("allocation/request/subnet-size")?,
            start: pool("allocation/request/subnet-start-ip")?,
            invert: pool("allocation/request/invert-subnet-size")?,
            granted: pool("allocation/response/subnet")?,
            granted_from: pool("allocation/response/from")?,
            oper_subnet: oper("subnet")?,
            oper_exclude: oper("exclude")?,
            oper_available: oper("available")?,
            held: oper("allocation")?,
            held_owner: held("owner")?,
            held_user: held("username")?,
            held_key: held("request-id")?,
        })
    }
}
