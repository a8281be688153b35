//! The tools of the original. They look at pools; what they repaired there cannot break here.

use allod_core::state::State;
use allod_core::view::requests as view;

use super::nodes::Tool;
use crate::fault::{Fault, Tag};
use crate::model::Output;
use crate::resource_pools::read::{Frozen, all_of};
use crate::resource_pools::{ResourcePools, faults};
use crate::tree::{Node, Siblings, Value};
use crate::yang::NodeId;

/// How many values one answer names.
const SHOWN_MAX: usize = 10_000;

impl ResourcePools {
    pub(super) fn tool(
        &self,
        state: &State,
        operation: NodeId,
        input: &[Node],
    ) -> Result<Output, Fault> {
        let tools = [&self.calls.id_tool, &self.calls.ip_tool];
        let Some(tool) = tools.into_iter().find(|tool| tool.action == operation) else {
            let message = "the resource-manager has no such operation";
            return Err(Fault::protocol(Tag::OperationNotSupported, message));
        };
        let pools = self.looked_at(state, tool, input)?;
        let result = match input.text(tool.operation) {
            Some("printIdPool" | "printIpPool") => {
                pools.iter().map(printed).collect::<Vec<_>>().join("\n")
            }
            _ => format!(
                "nothing to repair: what {} of {} have is one state with what is free",
                count(
                    pools.iter().map(|frozen| frozen.pool.requests.iter().count()).sum(),
                    "request"
                ),
                count(pools.len(), "pool"),
            ),
        };
        Ok(vec![Node::leaf(tool.result, Value::text(result))])
    }

    /// The pool that is named, or all.
    fn looked_at(&self, state: &State, tool: &Tool, input: &[Node]) -> Result<Vec<Frozen>, Fault> {
        let kinds = || self.kinds.iter().filter(|kind| kind.nodes().label == tool.label);
        let Some(Value::Text(name)) = input.value_of(tool.pool) else {
            return Ok(kinds().flat_map(|kind| all_of(kind, state)).collect());
        };
        let config = view::config(state, name);
        let kind = config.and_then(|config| kinds().find(|kind| kind.is(config)));
        match kind.and_then(|kind| Some((kind, view::frozen(state, name)?))) {
            Some((kind, pool)) => Ok(vec![Frozen { kind: kind.clone(), pool }]),
            None => Err(faults::unknown(name)),
        }
    }
}

fn count(many: usize, noun: &str) -> String {
    if many == 1 { format!("1 {noun}") } else { format!("{many} {noun}s") }
}

/// What is free in a pool, and who has what.
fn printed(frozen: &Frozen) -> String {
    let (kind, pool) = (&frozen.kind, &frozen.pool);
    let spelling = pool.config.kind();
    let free = pool.free.iter().take(SHOWN_MAX).map(|free| spelling.show_range(*free));
    let free: Vec<String> = free.collect();
    let free = if free.is_empty() { "nothing".to_owned() } else { free.join(", ") };
    let mut lines = vec![format!("pool {}", pool.name), format!("  free: {free}")];
    for (value, holder) in frozen.held().into_iter().take(SHOWN_MAX) {
        let value = kind.spelled(&pool.config, value);
        let owner = match &*holder.owner {
            "" => String::new(),
            owner => format!(" for {owner}"),
        };
        lines.push(format!("  {value}: {}{owner}", holder.key));
    }
    lines.join("\n")
}
