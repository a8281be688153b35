//! Pools of ids: all that is theirs alone.

use allod_core::claim::Parity;
use allod_core::requests::{
    AlarmSettings, ExcludedIds, IdSupply, Method, RequestPool, Supply, Wanted, WantedId,
    WantedParity,
};
use allod_core::span::Span;
use allod_core::view::requests::FrozenRequestPool;

use super::at;
use super::kind::{Holder, OperNodes, Place, PoolKind, PoolNodes};
use crate::fault::{Fault, Tag};
use crate::model::Step;
use crate::tree::{Node, Siblings, Sink, Stopped, Value};
use crate::yang::{NodeId, Schema};

const LIST: &str = "/resource-allocator:resource-pools/id-allocator:id-pool";
const OPER: &str = "/id-allocator-oper:id-allocator";
const BACKWARDS: &str = "range end must be greater or equal to range start";

#[derive(Debug)]
pub(super) struct IdPool {
    nodes: PoolNodes,
    oper: OperNodes,
    range: Ids,
    exclude: Ids,
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
    methods: Methods,
    /// The same without the container.
    short_methods: Methods,
    granted: NodeId,
    oper_range: Ids,
    oper_exclude: Ids,
    oper_available: Ids,
    held_id: NodeId,
    held_key: NodeId,
    held_owner: NodeId,
}

/// A container or a list of first and last ids.
#[derive(Debug)]
struct Ids {
    node: NodeId,
    start: NodeId,
    end: NodeId,
}

impl Ids {
    fn of(schema: &Schema, path: &str) -> Result<Ids, String> {
        Ok(Ids {
            node: at(schema, path)?,
            start: at(schema, &format!("{path}/start"))?,
            end: at(schema, &format!("{path}/end"))?,
        })
    }

    fn leaves(&self, start: u64, end: u64) -> Vec<Node> {
        vec![Node::leaf(self.start, Value::Uint(start)), Node::leaf(self.end, Value::Uint(end))]
    }

    fn read(&self, node: &Node) -> (u32, u32) {
        let number = |leaf| node.uint(leaf).and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
        (number(self.start), number(self.end))
    }

    fn show(&self, start: u64, end: u64, sink: &mut dyn Sink) -> Result<(), Stopped> {
        if !sink.open(self.node)? {
            return Ok(());
        }
        sink.leaf(self.start, &Value::Uint(start))?;
        sink.leaf(self.end, &Value::Uint(end))?;
        sink.close()
    }
}

/// The leaves of which one says which id is given.
#[derive(Debug)]
struct Methods {
    firstfree: NodeId,
    roundrobin: NodeId,
}

impl Methods {
    fn of(schema: &Schema, path: &str) -> Result<Methods, String> {
        Ok(Methods {
            firstfree: at(schema, &format!("{path}/firstfree"))?,
            roundrobin: at(schema, &format!("{path}/roundrobin"))?,
        })
    }

    fn leaf(&self, method: Method) -> Node {
        let node = match method {
            Method::FirstFree => self.firstfree,
            Method::RoundRobin => self.roundrobin,
        };
        Node::leaf(node, Value::Empty)
    }

    fn read(&self, nodes: &[Node]) -> Option<Method> {
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
        let ids = |path: String| Ids::of(schema, &path);
        Ok(IdPool {
            nodes: PoolNodes::of(schema, "id-pool", LIST)?,
            oper: OperNodes::of(schema, OPER)?,
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
            methods: Methods::of(schema, &format!("{LIST}/allocation/request/method"))?,
            short_methods: Methods::of(schema, &format!("{LIST}/allocation/request"))?,
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

fn given(config: &RequestPool) -> Option<&IdSupply> {
    match &config.supply {
        Supply::Ids(given) => Some(given),
        Supply::Addresses(_) => None,
    }
}

/// An id of 32 bits as any number is written.
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
        given(config).is_some()
    }

    fn config_nodes(&self, config: &RequestPool) -> Vec<Node> {
        let Some(given) = given(config) else { return Vec::new() };
        let range = self.range.leaves(given.start.into(), given.end.into());
        let mut nodes = vec![Node::inner(self.range.node, range)];
        for ids in &given.exclude {
            let mut leaves = self.exclude.leaves(ids.start.into(), ids.end.into());
            let stop = ids.flag;
            leaves.extend(stop.map(|stop| Node::leaf(self.stop_allocation, Value::Bool(stop))));
            nodes.push(Node::inner(self.exclude.node, leaves));
        }
        let settings = &config.alarms;
        let enabled = settings.enabled.then(|| Node::leaf(self.alarms_enabled, Value::Empty));
        let mut alarms: Vec<Node> = enabled.into_iter().collect();
        for (leaf, percent) in [
            (self.low, settings.low),
            (self.low_odd, settings.low_odd),
            (self.low_even, settings.low_even),
        ] {
            alarms.extend(percent.map(|percent| Node::leaf(leaf, Value::Uint(percent.into()))));
        }
        if !alarms.is_empty() {
            nodes.push(Node::inner(self.alarms, alarms));
        }
        nodes
    }

    fn config(
        &self,
        place: &Place<'_>,
        pool: &Node,
        _before: Option<&RequestPool>,
    ) -> Result<RequestPool, Fault> {
        let (start, end) = pool.child(self.range.node).map_or((0, 0), |node| self.range.read(node));
        if end < start {
            let steps = [self.range.node, self.range.end].map(|node| Step { node, keys: vec![] });
            let fault = Fault::application(Tag::InvalidValue, BACKWARDS);
            return Err(fault.at_path(place.below(steps)));
        }
        let mut exclude = Vec::new();
        for entry in pool.entries(self.exclude.node) {
            let (start, end) = self.exclude.read(entry);
            if end < start {
                return Err(place.wrong_entry(entry, BACKWARDS));
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
            // NSO counts one id less than there are, and its users have set their thresholds by that.
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

    fn request_nodes(&self, want: &Wanted) -> Vec<Node> {
        let Wanted::Id(want) = want else { return Vec::new() };
        let mut nodes = Vec::new();
        nodes.extend(want.sync.map(|sync| Node::leaf(self.sync, Value::Bool(sync))));
        nodes.extend(want.id.map(|id| Node::leaf(self.id, Value::Uint(id.into()))));
        let parity = want.parity.map(|parity| match parity {
            WantedParity::Any => "default",
            WantedParity::Only(parity) => parity.name(),
        });
        nodes.extend(parity.map(|parity| Node::leaf(self.parity, Value::text(parity))));
        nodes.extend(
            want.method.map(|method| Node::inner(self.method, vec![self.methods.leaf(method)])),
        );
        nodes
    }

    fn wanted(&self, request: &[Node]) -> Result<Wanted, Fault> {
        let parity = request.text(self.parity).map(|parity| match parity {
            "odd" => WantedParity::Only(Parity::Odd),
            "even" => WantedParity::Only(Parity::Even),
            _ => WantedParity::Any,
        });
        // What is there in short has just been written; what is there in full may be from before.
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

    fn granted_nodes(&self, _config: &RequestPool, value: Span) -> Vec<Node> {
        vec![Node::leaf(self.granted, Value::Uint(number(value.first)))]
    }

    fn spelled(&self, _config: &RequestPool, value: Span) -> String {
        value.first.to_string()
    }

    fn show_free(
        &self,
        pool: &FrozenRequestPool,
        part: Option<NodeId>,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped> {
        let Some(given) = given(&pool.config) else { return Ok(()) };
        let wanted = |ids: &Ids| part.is_none_or(|part| part == ids.node);
        if wanted(&self.oper_range) {
            self.oper_range.show(given.start.into(), given.end.into(), sink)?;
        }
        if wanted(&self.oper_exclude) {
            for ids in &given.exclude {
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

    fn value_of(&self, _config: &RequestPool, keys: &[Value]) -> Option<Span> {
        match keys {
            [Value::Uint(id)] => Some(Span::one((*id).into())),
            _ => None,
        }
    }

    fn show_held(
        &self,
        _config: &RequestPool,
        value: Span,
        holder: &Holder,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped> {
        if !sink.open(self.oper.allocation)? {
            return Ok(());
        }
        sink.leaf(self.held_id, &Value::Uint(number(value.first)))?;
        sink.leaf(self.held_key, &Value::Text(holder.key.clone()))?;
        sink.leaf(self.held_owner, &Value::text(&*holder.owner))?;
        sink.close()
    }
}
