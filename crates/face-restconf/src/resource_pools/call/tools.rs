//! NSO's allocator tools. They print pools. There is nothing to repair here, because free and allocated values are one
//! state.

use allod_core::view::State;
use allod_core::view::requests as view;

use super::nodes::ToolNodes;
use crate::error::{RestconfError, Result};
use crate::model::OperationOutput;
use crate::resource_pools::read::{SnapshotPool, all_of};
use crate::resource_pools::{ResourcePools, refusals};
use crate::tree::{DataNode, LeafValue, Siblings};
use crate::yang::NodeId;

/// The maximum number of values in one output.
const SHOWN_MAX: usize = 10_000;

impl ResourcePools {
    pub(super) fn tool(
        &self,
        state: &State,
        operation: NodeId,
        input: &[DataNode],
    ) -> Result<OperationOutput> {
        let tools = [(&self.calls.id_tool, "id-pool"), (&self.calls.ip_tool, "ip-address-pool")];
        let Some((tool, label)) = tools.into_iter().find(|(tool, _)| tool.action == operation)
        else {
            let message = "the resource-manager has no such operation";
            return Err(RestconfError::not_supported(message));
        };
        let pools = self.selected_pools(state, tool, label, input)?;
        let result = match input.text(tool.operation) {
            Some("printIdPool" | "printIpPool") => {
                pools.iter().map(describe).collect::<Vec<_>>().join("\n")
            }
            _ => format!(
                "nothing to repair: {} of {} are consistent with the free values",
                count(
                    pools.iter().map(|frozen| frozen.pool.requests.iter().count()).sum(),
                    "request"
                ),
                count(pools.len(), "pool"),
            ),
        };
        Ok(vec![DataNode::leaf(tool.result, result)])
    }

    /// The named pool, or all pools of the kind.
    fn selected_pools(
        &self,
        state: &State,
        tool: &ToolNodes,
        label: &str,
        input: &[DataNode],
    ) -> Result<Vec<SnapshotPool>> {
        let kinds = || self.kinds.iter().filter(|kind| kind.label() == label);
        let Some(LeafValue::Text(name)) = input.value_of(tool.pool) else {
            return Ok(kinds().flat_map(|kind| all_of(kind, state)).collect());
        };
        let config = view::config(state, name);
        let kind = config.and_then(|config| kinds().find(|kind| kind.is(config)));
        let pool = kind.and_then(|kind| SnapshotPool::of(kind, state, name));
        pool.map(|pool| vec![pool]).ok_or_else(|| refusals::unknown(name))
    }
}

fn count(many: usize, noun: &str) -> String {
    if many == 1 { format!("1 {noun}") } else { format!("{many} {noun}s") }
}

/// The free and the allocated values of a pool, as text.
fn describe(frozen: &SnapshotPool) -> String {
    let (kind, pool) = (&frozen.kind, &frozen.pool);
    let value_kind = pool.config.kind();
    let free = pool.free().into_iter().take(SHOWN_MAX).map(|free| value_kind.show_range(free));
    let free: Vec<String> = free.collect();
    let free = if free.is_empty() { "nothing".to_owned() } else { free.join(", ") };
    let mut lines = vec![format!("pool {}", pool.name), format!("  free: {free}")];
    for (value, holder) in frozen.held().into_iter().take(SHOWN_MAX) {
        let value = kind.value_text(&pool.config, value);
        let owner = match &*holder.owner {
            "" => String::new(),
            owner => format!(" for {owner}"),
        };
        lines.push(format!("  {value}: {}{owner}", holder.key));
    }
    lines.join("\n")
}
