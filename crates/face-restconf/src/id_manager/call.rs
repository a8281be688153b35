//! Turns RPCs into commands, and receipts into outputs.

use std::sync::Arc;

use allod_core::blocks::command::{AllocateIds, BlocksCommand, CreateBlockPool, WantIds};
use allod_core::command::Command;
use allod_core::receipt::{Outcome, Receipt};
use allod_core::refusal::{BlocksRefusal, Refusal, Refused};
use allod_core::view::State;
use allod_core::view::blocks as view;

use super::IdManager;
use super::nodes::IdManagerNodes;
use super::settings::UnknownKey;
use super::show::{expired_s, leaves};
use crate::error::{RestconfError, Result};
use crate::model::{CallPlan, OperationCall, OperationOutput};
use crate::tree::{DataNode, Siblings};
use crate::yang::NodeId;

impl IdManager {
    pub(super) fn rpc_plan(&self, state: &State, call: OperationCall<'_>) -> Result<CallPlan> {
        let (nodes, settings, operation) = (&*self.nodes, &self.settings, call.operation);
        let input = RpcInput { operation, leaves: call.input, model: self };
        let command = if operation == nodes.create.rpc {
            let pool = input.name(nodes.create.pool_name, "pool-name")?;
            BlocksCommand::Create(CreateBlockPool {
                low: input.number(nodes.create.low, "low")?,
                high: input.number(nodes.create.high, "high")?,
                enhanced: input.leaves.bool(nodes.create.enhanced).unwrap_or(false),
                child: settings.child(&pool),
                delay_s: settings.release_delay_s,
                pool,
            })
        } else if operation == nodes.delete.rpc {
            BlocksCommand::Delete { pool: input.name(nodes.delete.pool_name, "pool-name")? }
        } else if operation == nodes.allocate.rpc {
            let allocate = &nodes.allocate;
            let want = WantIds::One {
                value: input.maybe(allocate.id_value),
                expiration_s: input.maybe(allocate.expiration),
                strict: input.leaves.bool(allocate.strict).unwrap_or(settings.strict),
            };
            self.allocate_command(
                input.name(allocate.pool_name, "pool-name")?,
                input.name(allocate.id_key, "id-key")?,
                want,
            )
        } else if operation == nodes.range.rpc {
            let range = &nodes.range;
            self.allocate_command(
                input.name(range.pool_name, "pool-name")?,
                input.name(range.id_key, "id-key")?,
                WantIds::Range { size: input.number(range.size, "size")? },
            )
        } else if operation == nodes.release.rpc {
            BlocksCommand::Release {
                pool: input.name(nodes.release.pool_name, "pool-name")?,
                key: input.name(nodes.release.id_key, "id-key")?,
                unknown_is_fine: settings.unknown_key == UnknownKey::Ignore,
            }
        } else if operation == nodes.existing.rpc {
            return self.existing(state, &input).map(CallPlan::Answer);
        } else {
            let message = "the id-manager has no such operation";
            return Err(RestconfError::not_supported(message));
        };
        let nodes = self.nodes.clone();
        let output = Box::new(move |receipt: &Receipt| output(&nodes, operation, receipt));
        Ok(CallPlan::Command(Box::new(Command::Blocks(command)), output))
    }

    fn allocate_command(&self, pool: Arc<str>, key: Arc<str>, want: WantIds) -> BlocksCommand {
        BlocksCommand::Allocate(AllocateIds {
            child: self.settings.child(&pool),
            order: self.settings.search_order,
            enhanced_order: self.settings.enhanced_search_order,
            pool,
            key,
            want,
        })
    }

    /// Answers `getExistingIdFromPool` from the snapshot.
    fn existing(&self, state: &State, input: &RpcInput<'_>) -> Result<OperationOutput> {
        let existing = &self.nodes.existing;
        let pool = input.name(existing.pool_name, "pool-name")?;
        let key = input.name(existing.id_key, "id-key")?;
        let refused = |refusal| self.refusal_error(Some(existing.rpc), &Refused { op: 0, refusal });
        if !view::is_ids(state, &pool) {
            return Err(refused(Refusal::PoolUnknown { pool }));
        }
        let Some(entry) = view::entry(state, &pool, &key) else {
            let entries = view::entry_count(state, &pool).unwrap_or(0);
            return Err(refused(BlocksRefusal::KeyUnknown { pool, key, entries }.into()));
        };
        let all = leaves(existing.all, &entry.ids);
        let first = all.first().and_then(|node| node.value().cloned());
        let mut output: OperationOutput =
            first.map(|id| DataNode::leaf(existing.first, id)).into_iter().collect();
        output.extend(all);
        output.push(DataNode::leaf(existing.expired_time, expired_s(entry.expires_ms)));
        Ok(output)
    }
}

fn output(nodes: &IdManagerNodes, operation: NodeId, receipt: &Receipt) -> OperationOutput {
    let Some(Outcome::Ids(ids)) = receipt.outcomes.first() else { return Vec::new() };
    if operation == nodes.allocate.rpc {
        let mut given = leaves(nodes.allocate.given, ids);
        // A key with a range holds several ids; return the first.
        given.truncate(1);
        given
    } else if operation == nodes.range.rpc {
        leaves(nodes.range.given, ids)
    } else if operation == nodes.release.rpc {
        leaves(nodes.release.given, ids)
    } else {
        Vec::new()
    }
}

/// The input of an RPC. The module makes no leaf mandatory, but the RPCs need these.
struct RpcInput<'a> {
    operation: NodeId,
    leaves: &'a [DataNode],
    model: &'a IdManager,
}

impl RpcInput<'_> {
    fn name(&self, node: NodeId, leaf: &str) -> Result<Arc<str>> {
        self.leaves.shared_text(node).cloned().ok_or_else(|| self.missing(leaf))
    }

    fn number(&self, node: NodeId, leaf: &str) -> Result<u32> {
        self.maybe(node).ok_or_else(|| self.missing(leaf))
    }

    fn maybe(&self, node: NodeId) -> Option<u32> {
        self.leaves.number(node)
    }

    fn missing(&self, leaf: &str) -> RestconfError {
        let rpc = &self.model.schema.node(self.operation).name;
        let message = format!("{rpc} needs {leaf}");
        RestconfError::missing_element(message).at_path(format!("/id-manager:input/{leaf}"))
    }
}
