//! The nodes of the modules of pools of addresses, looked up once.

use crate::resource_pools::at;
use crate::resource_pools::kind::{OperNodes, PoolNodes};
use crate::tree::{Node, Sink, Stopped, Value};
use crate::yang::{NodeId, Schema};

const LIST: &str = "/resource-allocator:resource-pools/ipaddress-allocator:ip-address-pool";
const OPER: &str = "/ipaddress-allocator-oper:ip-allocator";

#[derive(Debug)]
pub(super) struct Nodes {
    pub pool: PoolNodes,
    pub oper: OperNodes,
    pub auto_redeploy: NodeId,
    pub method: NodeId,
    pub subnet: Networks,
    pub exclude: Networks,
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
    pub oper_subnet: Networks,
    pub oper_exclude: Networks,
    pub oper_available: Networks,
    pub held: Networks,
    pub held_owner: NodeId,
    pub held_user: NodeId,
    pub held_key: NodeId,
}

/// A list of networks.
#[derive(Debug)]
pub(super) struct Networks {
    pub node: NodeId,
    pub address: NodeId,
    pub cidrmask: NodeId,
}

impl Networks {
    fn of(schema: &Schema, path: &str) -> Result<Networks, String> {
        Ok(Networks {
            node: at(schema, path)?,
            address: at(schema, &format!("{path}/address"))?,
            cidrmask: at(schema, &format!("{path}/cidrmask"))?,
        })
    }

    pub fn entry(&self, address: Value, len: u8) -> Node {
        let len = Node::leaf(self.cidrmask, Value::Uint(len.into()));
        Node::inner(self.node, vec![Node::leaf(self.address, address), len])
    }

    pub fn show(&self, address: Value, len: u8, sink: &mut dyn Sink) -> Result<(), Stopped> {
        if !sink.open(self.node)? {
            return Ok(());
        }
        sink.leaf(self.address, &address)?;
        sink.leaf(self.cidrmask, &Value::Uint(len.into()))?;
        sink.close()
    }
}

impl Nodes {
    pub fn of(schema: &Schema) -> Result<Nodes, String> {
        let pool = |rest: &str| at(schema, &format!("{LIST}/{rest}"));
        let oper = |rest: &str| Networks::of(schema, &format!("{OPER}/pool/{rest}"));
        let held = |rest: &str| at(schema, &format!("{OPER}/pool/allocation/{rest}"));
        Ok(Nodes {
            pool: PoolNodes::of(schema, "ip-address-pool", LIST)?,
            oper: OperNodes::of(schema, OPER)?,
            auto_redeploy: pool("auto-redeploy")?,
            method: pool("allocation-method")?,
            subnet: Networks::of(schema, &format!("{LIST}/subnet"))?,
            exclude: Networks::of(schema, &format!("{LIST}/exclude"))?,
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
