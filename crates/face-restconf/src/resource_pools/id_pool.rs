//! The pool kind of ids.

use std::sync::Arc;

use allod_core::claim::Parity;
use allod_core::config::{ConfigError, ConfigList, ConfigRefusal};
use allod_core::requests::{
    ExcludedIds, IdSupply, Method, RequestPool, Supply, Wanted, WantedId, WantedParity,
};
use allod_core::span::Span;
use allod_core::view::requests::FrozenRequestPool;

use super::kind::{
    AlarmSettingNodes, BACKWARDS, OperNodes, PoolKind, PoolLocation, PoolNodes, ResourceHolder,
};
use super::site::SiteSchema;
use crate::error::{RestconfError, Result};
use crate::model::PathStep;
use crate::tree::{DataNode, LeafValue, NodeSink, NodeSource, Siblings, Walk, write_inner};
use crate::yang::{NodeId, Schema, node_set};

pub(super) const LIST: &str = "/resource-allocator:resource-pools/id-allocator:id-pool";
const OPER: &str = "/id-allocator-oper:id-allocator";

#[derive(Debug)]
pub(super) struct IdPool {
    list: IdListNodes,
    oper: IdOperNodes,
    site: SiteSchema,
}

node_set! {
    struct IdListNodes {
        stop_allocation: "/exclude/stop-allocation",
        low_odd: "/alarms/low-threshold-odd-alarm",
        low_even: "/alarms/low-threshold-even-alarm",
        sync: "/allocation/request/sync",
        id: "/allocation/request/id",
        parity: "/allocation/request/oddeven-alloc",
        method: "/allocation/request/method",
        granted: "/allocation/response/id",
        @pool: PoolNodes = "",
        @range: IdRangeNodes = "/range",
        @exclude: IdRangeNodes = "/exclude",
        @alarms: AlarmSettingNodes = "/alarms",
        @methods: MethodNodes = "/allocation/request/method",
        // The same leaves without the container.
        @short_methods: MethodNodes = "/allocation/request",
    }
}

node_set! {
    struct IdOperNodes {
        held_id: "/pool/allocation/id",
        held_key: "/pool/allocation/allocationId",
        held_owner: "/pool/allocation/owner",
        @common: OperNodes = "",
        @range: IdRangeNodes = "/pool/range",
        @exclude: IdRangeNodes = "/pool/exclude",
        @available: IdRangeNodes = "/pool/available",
    }
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
    fn entry(&self, start: impl Into<LeafValue>, end: impl Into<LeafValue>) -> DataNode {
        let leaves = vec![DataNode::leaf(self.start, start), DataNode::leaf(self.end, end)];
        DataNode::inner(self.node, leaves)
    }

    fn read(&self, node: &DataNode) -> (u32, u32) {
        let number = |leaf| node.number(leaf).unwrap_or(0);
        (number(self.start), number(self.end))
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
    pub fn new(schema: &Arc<Schema>) -> Result<IdPool, String> {
        let list = IdListNodes::find(schema, LIST)?;
        let oper = IdOperNodes::find(schema, OPER)?;
        let site = SiteSchema::find(schema, &list.pool);
        Ok(IdPool { list, oper, site })
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
    fn label(&self) -> &'static str {
        "id-pool"
    }

    fn nodes(&self) -> &PoolNodes {
        &self.list.pool
    }

    fn site(&self) -> &SiteSchema {
        &self.site
    }

    fn oper(&self) -> &OperNodes {
        &self.oper.common
    }

    fn is(&self, config: &RequestPool) -> bool {
        supply(config).is_some()
    }

    fn config_nodes(&self, config: &RequestPool) -> Vec<DataNode> {
        let Some(supply) = supply(config) else { return Vec::new() };
        let list = &self.list;
        let mut nodes = vec![list.range.entry(supply.start, supply.end)];
        nodes.extend(supply.exclude.iter().map(|ids| {
            let stop = ids.flag.map(|stop| DataNode::leaf(list.stop_allocation, stop));
            list.exclude.entry(ids.start, ids.end).with(stop)
        }));
        let thresholds =
            [(list.low_odd, config.alarms.low_odd), (list.low_even, config.alarms.low_even)];
        nodes.extend(list.alarms.write(&config.alarms, &thresholds));
        nodes
    }

    fn config(
        &self,
        _location: &PoolLocation<'_>,
        pool: &DataNode,
        _before: Option<&RequestPool>,
    ) -> Result<RequestPool> {
        let list = &self.list;
        let (start, end) = pool.child(list.range.node).map_or((0, 0), |node| list.range.read(node));
        let excluded = |entry: &DataNode| {
            let (start, end) = list.exclude.read(entry);
            ExcludedIds { start, end, flag: entry.bool(list.stop_allocation) }
        };
        let mut exclude: Vec<ExcludedIds> = pool.entries(list.exclude.node).map(excluded).collect();
        exclude.sort_unstable_by_key(|ids| (ids.start, ids.end));
        // NSO counts one id less than there are, and thresholds are configured accordingly.
        let alarm_base = end.saturating_sub(start);
        let supply = Supply::Ids(IdSupply { start, end, exclude, alarm_base });
        let alarms = list.alarms.read(pool, Some(list.low_odd), Some(list.low_even));
        Ok(RequestPool::new(supply, alarms))
    }

    fn config_error(
        &self,
        location: &PoolLocation<'_>,
        pool: &DataNode,
        refusal: &ConfigRefusal,
    ) -> RestconfError {
        let ConfigError::Backwards { list, first, last } = refusal.error else {
            return location.wrong([], refusal.to_string());
        };
        let list_nodes = &self.list;
        let is_wrong = |entry: &&DataNode| {
            let (start, end) = list_nodes.exclude.read(entry);
            (u128::from(start), u128::from(end)) == (first, last)
        };
        let mut excluded = pool.entries(list_nodes.exclude.node);
        match excluded.find(is_wrong).filter(|_| list == ConfigList::Exclude) {
            Some(entry) => location.wrong_entry(entry, BACKWARDS),
            None => {
                let end = [list_nodes.range.node, list_nodes.range.end];
                location.wrong(end.map(|node| PathStep { node, keys: vec![] }), BACKWARDS)
            }
        }
    }

    fn wants(&self, want: &Wanted) -> bool {
        matches!(want, Wanted::Id(_))
    }

    fn request_nodes(&self, want: &Wanted) -> Vec<DataNode> {
        let (Wanted::Id(want), list) = (want, &self.list) else { return Vec::new() };
        let parity = want.parity.map(|parity| match parity {
            WantedParity::Any => "default",
            WantedParity::Only(parity) => parity.name(),
        });
        let method = want.method.map(|method| list.methods.leaf(method));
        let nodes = [
            want.sync.map(|sync| DataNode::leaf(list.sync, sync)),
            want.id.map(|id| DataNode::leaf(list.id, id)),
            parity.map(|parity| DataNode::leaf(list.parity, parity)),
            method.map(|method| DataNode::inner(list.method, vec![method])),
        ];
        nodes.into_iter().flatten().collect()
    }

    fn wanted(&self, request: &[DataNode]) -> Wanted {
        let list = &self.list;
        let parity = request.text(list.parity).map(|parity| match parity {
            "odd" => WantedParity::Only(Parity::Odd),
            "even" => WantedParity::Only(Parity::Even),
            _ => WantedParity::Any,
        });
        // The short form was just written; the long form may be older.
        let method = list.short_methods.read(request).or_else(|| {
            request.child(list.method).and_then(|method| list.methods.read(method.children()))
        });
        let (sync, id) = (request.bool(list.sync), request.number(list.id));
        Wanted::Id(WantedId { sync, id, parity, method })
    }

    fn granted_nodes(&self, _config: &RequestPool, value: Span) -> Vec<DataNode> {
        vec![DataNode::leaf(self.list.granted, number(value.first))]
    }

    fn granted_value(
        &self,
        _config: &RequestPool,
        response: &[DataNode],
    ) -> Result<Option<Span>, String> {
        let id = response.number::<u32>(self.list.granted);
        Ok(id.map(|id| Span::one(id.into())))
    }

    fn value_text(&self, _config: &RequestPool, value: Span) -> String {
        value.first.to_string()
    }

    fn show_free(
        &self,
        pool: &FrozenRequestPool,
        part: Option<NodeId>,
        sink: &mut dyn NodeSink,
    ) -> Walk {
        let (Some(supply), oper) = (supply(&pool.config), &self.oper) else { return Ok(()) };
        let wanted = |ids: &IdRangeNodes| part.is_none_or(|part| part == ids.node);
        if wanted(&oper.range) {
            oper.range.entry(supply.start, supply.end).walk(sink)?;
        }
        if wanted(&oper.exclude) {
            for ids in &supply.exclude {
                oper.exclude.entry(ids.start, ids.end).walk(sink)?;
            }
        }
        if wanted(&oper.available) {
            for free in pool.free() {
                oper.available.entry(number(free.first), number(free.last)).walk(sink)?;
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
    ) -> Walk {
        let oper = &self.oper;
        write_inner(sink, oper.common.allocation, |sink| {
            sink.value(oper.held_id, number(value.first))?;
            sink.value(oper.held_key, &holder.key)?;
            sink.value(oper.held_owner, &*holder.owner)
        })
    }
}
