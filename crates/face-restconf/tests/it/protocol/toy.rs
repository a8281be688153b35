//! A small model with one node of every kind: a shop whose shelves are stored as a document in the label of a pool, from
//! which numbers are drawn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, Expect, Op as CoreOp, PutPool, Transact};
use allod_core::event::{ClaimEvent, Event};
use allod_core::pool::{PoolRange, PoolSpec};
use allod_core::receipt::{Outcome, Receipt};
use allod_core::refusal::{Refusal, Refused};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_engine::{Handle, Snapshot};
use allod_face_restconf::codec::{self, ChunkBuffer, DataWriter, Dialect, Encoding};
use allod_face_restconf::edit;
use allod_face_restconf::error::{ErrorTag, RestconfError};
use allod_face_restconf::model::{
    CallPlan, Content, EditPlan, InstancePath, LastChange, OperationCall, PathStep, RequestedEdits,
    YangModel,
};
use allod_face_restconf::tree::{DataNode, LeafValue, NodeSink, NodeSource, Siblings, WalkStopped};
use allod_face_restconf::yang::{NodeId, Schema};

const POOL: &str = "toy";

pub(crate) struct Toy {
    schema: Arc<Schema>,
    handle: Handle,
    shop: NodeId,
    shelf: NodeId,
    crowd: NodeId,
    /// The number of generated list entries.
    pub people: AtomicU32,
    /// How many of the next plans use an old state.
    pub stale: AtomicU32,
    /// How many times the motto changes when a plan is stale.
    pub meddle: AtomicU32,
}

impl Toy {
    pub fn new(schema: Arc<Schema>, handle: Handle) -> Toy {
        let id = |path: &str| schema.find(path).unwrap();
        let (shop, shelf, crowd) = (id("/toy:shop"), id("/toy:shop/shelf"), id("/toy:crowd"));
        let [people, stale, meddle] = [0; 3].map(AtomicU32::new);
        Toy { schema, handle, shop, shelf, crowd, people, stale, meddle }
    }

    fn id(&self, path: &str) -> NodeId {
        self.schema.find(path).unwrap()
    }

    /// The document, and its generation.
    fn load(&self, snapshot: &Snapshot<'_>) -> (Option<DataNode>, Option<u64>) {
        let Some(pool) = snapshot.state.pool(POOL) else { return (None, None) };
        let text = &pool.spec.labels[0].1;
        let nodes = codec::read(&self.schema, None, Encoding::Json, text.as_bytes()).unwrap();
        (nodes.into_iter().next(), Some(pool.generation))
    }

    fn store(&self, shop: Option<&DataNode>, generation: Option<u64>) -> Command {
        let mut writer =
            DataWriter::new(&self.schema, Encoding::Json, Dialect::Rfc8040, ChunkBuffer::whole());
        if let Some(shop) = shop {
            shop.walk(&mut writer).unwrap();
        }
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let span = Span::new(1, 3).unwrap();
        let mut spec = PoolSpec::new(Kind::Id32, vec![PoolRange { span, subnet_len: None }]);
        spec.labels = [("shop".into(), text.into())].into();
        let expect = generation.map_or(Expect::Absent, Expect::Is);
        Command::PutPool(PutPool { pool: POOL.into(), spec, expect, keep_held: false })
    }

    fn drawn(&self, snapshot: &Snapshot<'_>) -> u64 {
        snapshot.state.pool(POOL).map_or(0, |pool| pool.claims_by_value().count() as u64)
    }

    /// The shop with its state nodes.
    fn shop_with_state(&self, snapshot: &Snapshot<'_>) -> Option<DataNode> {
        let mut shop = self.load(snapshot).0?;
        let drawn = self.id("/toy:shop/shelf/drawn");
        let count = self.drawn(snapshot);
        if let allod_face_restconf::tree::NodeBody::Inner(children) = &mut shop.body {
            for shelf in children.iter_mut().filter(|child| child.schema == self.shelf) {
                if let allod_face_restconf::tree::NodeBody::Inner(leaves) = &mut shelf.body {
                    leaves.push(DataNode::leaf(drawn, LeafValue::Uint(count)));
                }
            }
        }
        Some(shop)
    }
}

impl YangModel for Toy {
    fn modules(&self) -> &'static [&'static str] {
        &["toy"]
    }

    fn stream(&self) -> Option<&'static str> {
        Some("Numbers that are drawn")
    }

    fn read(
        &self,
        snapshot: &Snapshot<'_>,
        target: &InstancePath,
        content: Content,
    ) -> Result<Option<Box<dyn NodeSource>>, RestconfError> {
        let people = self.people.load(Ordering::Relaxed);
        let crowd = (people > 0 && content != Content::Config).then(|| Crowd {
            node: self.crowd,
            one: self.id("/toy:crowd/one"),
            number: self.id("/toy:crowd/one/number"),
            text: self.id("/toy:crowd/one/text"),
            people,
        });
        let Some(first) = target.steps.first() else {
            let mut all: Vec<Box<dyn NodeSource>> = Vec::new();
            all.extend(
                self.shop_with_state(snapshot).map(|shop| Box::new(shop) as Box<dyn NodeSource>),
            );
            all.extend(crowd.map(|crowd| Box::new(crowd) as Box<dyn NodeSource>));
            return Ok(Some(Box::new(Both(all))));
        };
        if first.node == self.crowd {
            return Ok(crowd.map(|crowd| Box::new(crowd) as Box<dyn NodeSource>));
        }
        let Some(shop) = self.shop_with_state(snapshot) else { return Ok(None) };
        let mut found = vec![&shop];
        for PathStep { node, keys } in &target.steps[1..] {
            let fits = |child: &&DataNode| {
                child.schema == *node && (keys.is_empty() || child.keys(&self.schema) == *keys)
            };
            found = found.into_iter().flat_map(DataNode::children).filter(fits).collect();
        }
        let found: Vec<DataNode> = found.into_iter().cloned().collect();
        Ok((!found.is_empty()).then(|| Box::new(found) as Box<dyn NodeSource>))
    }

    /// Known for the drawn numbers, unknown for the document.
    fn changed(&self, snapshot: &Snapshot<'_>, target: &InstancePath) -> Option<LastChange> {
        let drawn = self.id("/toy:shop/shelf/drawn");
        target.steps.last().filter(|last| last.node == drawn)?;
        let pool = snapshot.state.pool(POOL)?;
        let position = pool.claims_by_value().map(|claim| claim.version).max()?;
        Some(LastChange { position, at_ms: None })
    }

    fn plan(
        &self,
        snapshot: &Snapshot<'_>,
        edits: RequestedEdits<'_>,
    ) -> Result<EditPlan, RestconfError> {
        let (before, generation) = self.load(snapshot);
        let mut shop = before.clone();
        let mut created = Vec::new();
        for (n, edit) in edits.edits.iter().enumerate() {
            let found =
                shop.as_ref().and_then(|shop| edit::find(&self.schema, shop, 0, &edit.target));
            created.push(found.is_none());
            shop = edit::apply(&self.schema, shop, 0, edit).map_err(|error| error.of_edit(n))?;
        }
        if let Some(shop) = &shop {
            edit::validate(&self.schema, shop)?;
        }
        let old =
            self.stale.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        let seen = generation.map(|now| now - u64::from(old.is_ok()));
        let command = (shop != before).then(|| self.store(shop.as_ref(), seen));
        Ok(EditPlan { command, created })
    }

    fn is_stale(&self, refused: &Refused) -> bool {
        let is_stale = matches!(refused.refusal, Refusal::PoolGenerationDiffers { .. });
        let meddles =
            self.meddle.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        if is_stale && meddles.is_ok() {
            let command = self.handle.read(|snapshot| {
                let (shop, generation) = self.load(snapshot);
                let mut shop = shop.unwrap();
                let motto = self.id("/toy:shop/motto");
                let mut children = shop.children().to_vec();
                children.retain(|child| child.schema != motto);
                children.push(DataNode::leaf(motto, LeafValue::text("open all day")));
                shop = DataNode::inner(self.shop, children);
                self.store(Some(&shop), generation)
            });
            let (handle, command) = (self.handle.clone(), command.unwrap());
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let submit = move || runtime.block_on(handle.submit(command)).unwrap().answer.unwrap();
            std::thread::spawn(submit).join().unwrap();
        }
        is_stale
    }

    fn call(
        &self,
        snapshot: &Snapshot<'_>,
        call: OperationCall<'_>,
    ) -> Result<CallPlan, RestconfError> {
        let OperationCall { operation, target, input } = call;
        edit::validate_input(&self.schema, operation, input)?;
        if operation == self.id("/toy:knock") {
            return Ok(CallPlan::Answer(Vec::new()));
        }
        if operation == self.id("/toy:draw") {
            let customer = input.text(self.id("/toy:draw/input/customer")).unwrap();
            let claim = ClaimOp {
                pools: vec![POOL.into()],
                key: customer.into(),
                owner: None,
                want: Want::any(),
                ttl_ms: None,
                labels: [].into(),
                expect: Expect::Any,
            };
            let command = Command::Transact(Transact::one(CoreOp::Claim(claim)));
            let leaf = self.id("/toy:draw/output/number");
            let output = move |receipt: &Receipt| {
                let Some(Outcome::Claimed { claims, .. }) = receipt.outcomes.first() else {
                    return Vec::new();
                };
                vec![DataNode::leaf(leaf, claims[0].claim.values.first().first as u64)]
            };
            return Ok(CallPlan::Command(Box::new(command), Box::new(output)));
        }
        let shop = self.load(snapshot).0;
        let shelf = shop.as_ref().and_then(|shop| edit::find(&self.schema, shop, 0, target));
        let Some(shelf) = shelf else {
            return Err(RestconfError::application(
                ErrorTag::DataMissing,
                "there is no such shelf",
            ));
        };
        let width = shelf.uint(self.id("/toy:shop/shelf/width")).unwrap();
        let unit = input.text(self.id("/toy:shop/shelf/measure/input/unit")).unwrap_or("cm");
        let length = self.id("/toy:shop/shelf/measure/output/length");
        Ok(CallPlan::Answer(vec![DataNode::leaf(
            length,
            LeafValue::text(format!("{width} {unit}")),
        )]))
    }

    fn error(&self, _: Option<NodeId>, refused: &Refused) -> RestconfError {
        RestconfError::application(ErrorTag::OperationFailed, refused.refusal.to_string())
    }

    fn notifications(&self, events: &[Event]) -> Vec<DataNode> {
        let drawn = |event: &Event| {
            let Event::Claim(ClaimEvent::Granted(granted)) = event else { return None };
            let leaves = vec![
                DataNode::leaf(self.id("/toy:drawn/customer"), &granted.key),
                DataNode::leaf(self.id("/toy:drawn/number"), granted.values.first().first as u64),
            ];
            Some(DataNode::inner(self.id("/toy:drawn"), leaves))
        };
        events.iter().filter_map(drawn).collect()
    }
}

struct Both(Vec<Box<dyn NodeSource>>);

impl NodeSource for Both {
    fn walk(&self, sink: &mut dyn NodeSink) -> Result<(), WalkStopped> {
        self.0.iter().try_for_each(|source| source.walk(sink))
    }
}

/// List entries that are generated during the walk.
struct Crowd {
    node: NodeId,
    one: NodeId,
    number: NodeId,
    text: NodeId,
    people: u32,
}

impl NodeSource for Crowd {
    fn walk(&self, sink: &mut dyn NodeSink) -> Result<(), WalkStopped> {
        if !sink.open(self.node)? {
            return Ok(());
        }
        for number in 0..self.people {
            if sink.open(self.one)? {
                sink.leaf(self.number, &LeafValue::Uint(number.into()))?;
                sink.leaf(
                    self.text,
                    &LeafValue::text(format!("the person with the number {number}")),
                )?;
                sink.close()?;
            }
        }
        sink.close()
    }
}
