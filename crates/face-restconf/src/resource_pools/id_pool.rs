//! The pool kind of ids.

use allod_core::claim::Parity;
use allod_core::requests::{
    AlarmSettings, ExcludedIds, IdSupply, Method, RequestPool, Supply, Wanted, WantedId,
    WantedParity,
};
use allod_core::span::Span;
use allod_core::view::requests::FrozenRequestPool;

use super::at;
use super::kind::{OperNodes, PoolKind, PoolLocation, PoolNodes, ResourceHolder};
use crate::error::{ErrorTag, RestconfError, Result};
use crate::model::PathStep;
use crate::tree::{DataNode, LeafValue, NodeSink, Siblings, WalkStopped, write_inner};
use crate::yang::{NodeId, Schema, node_set};

const LIST: &str = "/resource-allocator:resource-pools/id-allocator:id-pool";
const OPER: &str = "/id-allocator-oper:id-allocator";
const BACKWARDS: &str = "range end must be greater or equal to range start";

#[derive(Debug)]
pub(super) struct IdPool {
    nodes: PoolNodes,
    oper: OperNodes,
    range: IdRangeNodes,
    exclude: IdRangeNodes,
    stop_allocation: NodeId,
    alarms: NodeId,
    alarms_enabled: NodeId,
    low: NodeId,
    low_odd: NodeId,
    low_even: NodeId,
    sync: NodeId,
    id: NodeId,
    parity: NodeId,
    method: NodeId,
    methods: MethodNodes,
    /// The same leaves without the container.
    short_methods: MethodNodes,
    granted: NodeId,
    oper_range: IdRangeNodes,
    oper_exclude: IdRangeNodes,
    oper_available: IdRangeNodes,
    held_id: NodeId,
    held_key: NodeId,
    held_owner: NodeId,
}

node_set! {
    /// A container or list with a first and a last id.
    struct IdRangeNodes {
        node: "",
        start: "/start",
        end: "/end",
    }
}

impl IdRangeNodes {
    fn leaves(&self, start: u64, end: u64) -> Vec<DataNode> {
        vec![
            DataNode::leaf(self.start, LeafValue::Uint(start)),
            DataNode::leaf(self.end, LeafValue::Uint(end)),
        ]
    }

    fn read(&self, node: &DataNode) -> (u32, u32) {
        let number = |leaf| node.uint(leaf).and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
        (number(self.start), number(self.end))
    }

    fn show(&self, start: u64, end: u64, sink: &mut dyn NodeSink) -> Result<(), WalkStopped> {
        write_inner(sink, self.node, |sink| {
            sink.leaf(self.start, &LeafValue::Uint(start))?;
            sink.leaf(self.end, &LeafValue::Uint(end))
        })
    }
}

node_set! {
    /// The leaves that select the allocation method.
    struct MethodNodes {
        firstfree: "/firstfree",
        roundrobin: "/roundrobin",
    }
}

impl MethodNodes {
    fn leaf(&self, method: Method) -> DataNode {
        let node = match method {
            Method::FirstFree => self.firstfree,
            Method::RoundRobin => self.roundrobin,
        };
        DataNode::leaf(node, LeafValue::Empty)
    }

    fn read(&self, nodes: &[DataNode]) -> Option<Method> {
        if nodes.child(self.roundrobin).is_some() {
            Some(Method::RoundRobin)
        } else {
            nodes.child(self.firstfree).map(|_| Method::FirstFree)
        }
    }
}

impl IdPool {
    pub fn new(schema: &Schema) -> Result<IdPool, String> {
        let pool = |rest: &str| at(schema, &format!("{LIST}/{rest}"));
        let held = |rest: &str| at(schema, &format!("{OPER}/pool/allocation/{rest}"));
        let ids = |path: String| IdRangeNodes::find(schema, &path);
        Ok(IdPool {
            nodes: PoolNodes::of(schema, "id-pool", LIST)?,
            oper: OperNodes::find(schema, OPER)?,
            range: ids(format!("{LIST}/range"))?,
            exclude: ids(format!("{LIST}/exclude"))?,
            stop_allocation: pool("exclude/stop-allocation")?,
            alarms: pool("alarms")?,
            alarms_enabled: pool("alarms/enabled")?,
            low: pool("alarms/low-threshold-alarm")?,
            low_odd: pool("alarms/low-threshold-odd-alarm")?,
            low_even: pool("alarms/low-threshold-even-alarm")?,
            sync: pool("allocation/request/sync")?,
            id: pool("allocation/request/id")?,
            parity: pool("allocation/request/oddeven-alloc")?,
            method: pool("allocation/request/method")?,
            methods: MethodNodes::find(schema, &format!("{LIST}/allocation/request/method"))?,
            short_methods: MethodNodes::find(schema, &format!("{LIST}/allocation/request"))?,
            granted: pool("allocation/response/id")?,
            oper_range: ids(format!("{OPER}/pool/range"))?,
            oper_exclude: ids(format!("{OPER}/pool/exclude"))?,
            oper_available: ids(format!("{OPER}/pool/available"))?,
            held_id: held("id")?,
            held_key: held("allocationId")?,
            held_owner: held("owner")?,
        })
    }
}

fn supply(config: &RequestPool) -> Option<&IdSupply> {
    match &config.supply {
        Supply::Ids(supply) => Some(supply),
        Supply::Addresses(_) => None,
    }
}

fn number(id: u128) -> u64 {
    u64::try_from(id).unwrap_or(u64::MAX)
}

impl PoolKind for IdPool {
    fn nodes(&self) -> &PoolNodes {
        &self.nodes
    }

    fn oper(&self) -> &OperNodes {
        &self.oper
    }

    fn is(&self, config: &RequestPool) -> bool {
        supply(config).is_some()
    }

    fn config_nodes(&self, config: &RequestPool) -> Vec<DataNode> {
        let Some(supply) = supply(config) else { return Vec::new() };
        let range = self.range.leaves(supply.start.into(), supply.end.into());
        let mut nodes = vec![DataNode::inner(self.range.node, range)];
        for ids in &supply.exclude {
            let mut leaves = self.exclude.leaves(ids.start.into(), ids.end.into());
            let stop = ids.flag;
            leaves.extend(
                stop.map(|stop| DataNode::leaf(self.stop_allocation, LeafValue::Bool(stop))),
            );
            nodes.push(DataNode::inner(self.exclude.node, leaves));
        }
        let settings = &config.alarms;
        let enabled =
            settings.enabled.then(|| DataNode::leaf(self.alarms_enabled, LeafValue::Empty));
        let mut alarms: Vec<DataNode> = enabled.into_iter().collect();
        for (leaf, percent) in [
            (self.low, settings.low),
            (self.low_odd, settings.low_odd),
            (self.low_even, settings.low_even),
        ] {
            alarms.extend(
                percent.map(|percent| DataNode::leaf(leaf, LeafValue::Uint(percent.into()))),
            );
        }
        if !alarms.is_empty() {
            nodes.push(DataNode::inner(self.alarms, alarms));
        }
        nodes
    }

    fn config(
        &self,
        location: &PoolLocation<'_>,
        pool: &DataNode,
        _before: Option<&RequestPool>,
    ) -> Result<RequestPool> {
        let (start, end) = pool.child(self.range.node).map_or((0, 0), |node| self.range.read(node));
        if end < start {
            let steps =
                [self.range.node, self.range.end].map(|node| PathStep { node, keys: vec![] });
            let error = RestconfError::application(ErrorTag::InvalidValue, BACKWARDS);
            return Err(error.at_path(location.below(steps)));
        }
        let mut exclude = Vec::new();
        for entry in pool.entries(self.exclude.node) {
            let (start, end) = self.exclude.read(entry);
            if end < start {
                return Err(location.wrong_entry(entry, BACKWARDS));
            }
            let flag = entry.bool(self.stop_allocation);
            exclude.push(ExcludedIds { start, end, flag });
        }
        exclude.sort_unstable_by_key(|ids| (ids.start, ids.end));
        let alarms = pool.child(self.alarms);
        let percent = |leaf| {
            let percent = alarms.and_then(|alarms| alarms.uint(leaf));
            percent.and_then(|percent| u8::try_from(percent).ok())
        };
        Ok(RequestPool {
            // NSO counts one id less than there are, and thresholds are configured accordingly.
            supply: Supply::Ids(IdSupply {
                start,
                end,
                exclude,
                alarm_base: end.saturating_sub(start),
            }),
            alarms: AlarmSettings {
                enabled: alarms.is_some_and(|alarms| alarms.child(self.alarms_enabled).is_some()),
                low: percent(self.low),
                low_odd: percent(self.low_odd),
                low_even: percent(self.low_even),
            },
        })
    }

    fn request_nodes(&self, want: &Wanted) -> Vec<DataNode> {
        let Wanted::Id(want) = want else { return Vec::new() };
        let mut nodes = Vec::new();
        nodes.extend(want.sync.map(|sync| DataNode::leaf(self.sync, LeafValue::Bool(sync))));
        nodes.extend(want.id.map(|id| DataNode::leaf(self.id, LeafValue::Uint(id.into()))));
        let parity = want.parity.map(|parity| match parity {
            WantedParity::Any => "default",
            WantedParity::Only(parity) => parity.name(),
        });
        nodes.extend(parity.map(|parity| DataNode::leaf(self.parity, parity)));
        nodes.extend(
            want.method.map(|method| DataNode::inner(self.method, vec![self.methods.leaf(method)])),
        );
        nodes
    }

    fn wanted(&self, request: &[DataNode]) -> Result<Wanted> {
        let parity = request.text(self.parity).map(|parity| match parity {
            "odd" => WantedParity::Only(Parity::Odd),
            "even" => WantedParity::Only(Parity::Even),
            _ => WantedParity::Any,
        });
        // The short form was just written; the long form may be older.
        let method = self.short_methods.read(request).or_else(|| {
            request.child(self.method).and_then(|method| self.methods.read(method.children()))
        });
        Ok(Wanted::Id(WantedId {
            sync: request.bool(self.sync),
            id: request.uint(self.id).and_then(|id| u32::try_from(id).ok()),
            parity,
            method,
        }))
    }

    fn granted_nodes(&self, _config: &RequestPool, value: Span) -> Vec<DataNode> {
        vec![DataNode::leaf(self.granted, LeafValue::Uint(number(value.first)))]
    }

    fn value_text(&self, _config: &RequestPool, value: Span) -> String {
        value.first.to_string()
    }

    fn show_free(
        &self,
        pool: &FrozenRequestPool,
        part: Option<NodeId>,
        sink: &mut dyn NodeSink,
    ) -> Result<(), WalkStopped> {
        let Some(supply) = supply(&pool.config) else { return Ok(()) };
        let wanted = |ids: &IdRangeNodes| part.is_none_or(|part| part == ids.node);
        if wanted(&self.oper_range) {
            self.oper_range.show(supply.start.into(), supply.end.into(), sink)?;
        }
        if wanted(&self.oper_exclude) {
            for ids in &supply.exclude {
                self.oper_exclude.show(ids.start.into(), ids.end.into(), sink)?;
            }
        }
        if wanted(&self.oper_available) {
            for free in &pool.free {
                self.oper_available.show(number(free.first), number(free.last), sink)?;
            }
        }
        Ok(())
    }

    fn value_of(&self, _config: &RequestPool, keys: &[LeafValue]) -> Option<Span> {
        match keys {
            [LeafValue::Uint(id)] => Some(Span::one((*id).into())),
            _ => None,
        }
    }

    fn show_held(
        &self,
        _config: &RequestPool,
        value: Span,
        holder: &ResourceHolder,
        sink: &mut dyn NodeSink,
    ) -> Result<(), WalkStopped> {
        write_inner(sink, self.oper.allocation, |sink| {
            sink.leaf(self.held_id, &LeafValue::Uint(number(value.first)))?;
            sink.leaf(self.held_key, &LeafValue::Text(holder.key.clone()))?;
            sink.leaf(self.held_owner, &LeafValue::text(&*holder.owner))
        })
    }
}
