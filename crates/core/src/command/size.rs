//! How large a command is, to refuse one that cannot be written before it is decided.

use super::{Command, Op, PutPool};
use crate::blocks::command::{BlockPoolEdit, BlocksCommand, EditBlocks};
use crate::pool::Labels;
use crate::requests::command::{EditRequests, RequestPoolEdit, RequestsCommand};
use crate::requests::{Request, SiteNode, SiteNodes};

impl Command {
    /// The fewest bytes that the command takes in the journal if all that it lists is new: its texts, and two bytes for each
    /// range of values.
    pub fn bytes_min(&self) -> usize {
        match self {
            Command::PutPool(PutPool { pool, spec, .. }) => {
                let lists = [&spec.exclude, &spec.manual, &spec.draining];
                let ranges = spec.ranges.len() + lists.iter().map(|list| list.len()).sum::<usize>();
                pool.len() + 2 * ranges + labels(&spec.labels)
            }
            Command::Transact(transact) => transact.ops.iter().map(operation).sum(),
            Command::Blocks(BlocksCommand::Edit(edit)) => blocks(edit),
            Command::Requests(RequestsCommand::Edit(edit)) => requests(edit),
            Command::DeletePool(_)
            | Command::Capacity(_)
            | Command::Blocks(_)
            | Command::Requests(_)
            | Command::Outbox(_)
            | Command::Alarm(_)
            | Command::Authority(_)
            | Command::Tick => 0,
        }
    }
}

fn labels(labels: &Labels) -> usize {
    labels.iter().map(|(name, text)| name.len() + text.len()).sum()
}

fn operation(op: &Op) -> usize {
    match op {
        Op::Claim(claim) => {
            let each = claim.key.len() + labels(&claim.labels);
            claim.pools.iter().map(|pool| pool.len() + each).sum()
        }
        Op::Release(release) => release.key.len(),
        Op::Renew(renew) => renew.key.len(),
        Op::Confirm(confirm) => confirm.key.len(),
        Op::Allocate(_) | Op::Deallocate(_) | Op::Extend(_) | Op::Check(_) => 0,
    }
}

fn blocks(edit: &EditBlocks) -> usize {
    let pools = edit.pools.iter().map(|(_, edit)| match edit {
        BlockPoolEdit::Remove => 0,
        BlockPoolEdit::Put(put) => {
            let entries = put.put.iter().map(|entry| entry.key.len() + 2 * entry.ids.len());
            entries.sum::<usize>() + put.remove.iter().map(|key| key.len()).sum::<usize>()
        }
    });
    pools.sum()
}

fn requests(edit: &EditRequests) -> usize {
    let pools = edit.pools.iter().map(|(_, edit)| match edit {
        RequestPoolEdit::Remove => 0,
        RequestPoolEdit::Put(put) | RequestPoolEdit::PutOver(_, put) => {
            let config = put.config.as_ref().map_or(0, |config| site(&config.site));
            let written = put.put.iter().map(|(key, one)| key.len() + request(one));
            config
                + written.sum::<usize>()
                + put.withdraw.iter().map(|key| key.len()).sum::<usize>()
        }
        RequestPoolEdit::Requests(edits) => {
            edits.iter().map(|one| one.key.len() + one.after.as_ref().map_or(0, request)).sum()
        }
    });
    pools.sum()
}

fn request(request: &Request) -> usize {
    let services = request.services.iter().map(|service| service.len()).sum::<usize>();
    request.user.len() + services + site(&request.site)
}

fn site(nodes: &SiteNodes) -> usize {
    nodes.iter().map(SiteNode::bytes).sum()
}
