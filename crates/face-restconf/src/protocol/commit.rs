//! Carries out edits and operations: plan a command on a snapshot, submit it, and plan again if the data has changed
//! meanwhile.

use std::borrow::Cow;
use std::sync::Arc;

use allod_core::command::Command;
use allod_edge::{Denied, Identity, Role};
use allod_engine::{CommitPoint, Snapshot};

use super::conditions::Preconditions;
use super::{Restconf, errors};
use crate::edit::patch::YangPatch;
use crate::error::{ErrorTag, RestconfError, Result};
use crate::model::{
    CallPlan, Edit, EditOp, InstancePath, OperationCall, OperationOutput, PathStep, RequestedEdits,
    YangModel,
};
use crate::yang::NodeKind;

/// The result of a request with edits.
pub(super) struct EditResult {
    /// For each edit, whether it created its target.
    pub created: Vec<bool>,
    pub at: CommitPoint,
}

pub(super) struct CallResult {
    pub output: OperationOutput,
    pub at: CommitPoint,
}

/// The edits of one request, with their preconditions.
pub(super) struct EditRequest {
    pub edits: RequestEdits,
    /// The target of the request; the preconditions apply to it.
    pub target: InstancePath,
    pub conditions: Preconditions,
    /// Whether the target must exist: a plain PATCH does not create it.
    pub must_exist: bool,
}

pub(super) enum RequestEdits {
    Plain(Vec<Edit>),
    /// Some of its edits depend on the existing data.
    YangPatch(YangPatch),
}

impl Restconf {
    /// Carries out all edits, or none.
    pub(super) async fn commit(
        &self,
        identity: &Identity,
        request: &EditRequest,
    ) -> Result<EditResult> {
        let model = self.common_owner(&request.edits)?;
        for _ in 0..self.settings.plans_max {
            let (planned, at) = self.read_snapshot(|snapshot| {
                self.check_preconditions(snapshot, request)?;
                let unchanged = request.conditions.apply_to_edits().then_some(&request.target);
                let edits = match &request.edits {
                    RequestEdits::Plain(edits) => Cow::Borrowed(edits.as_slice()),
                    RequestEdits::YangPatch(patch) => {
                        Cow::Owned(self.edits_of(snapshot, &**model, patch)?)
                    }
                };
                for edit in edits.iter().filter(|edit| edit.op != EditOp::Merge) {
                    self.ensure_small_tree(&**model, snapshot, &edit.target)?;
                }
                let edits = RequestedEdits { edits: &edits, unchanged };
                Ok((model.plan(snapshot, edits)?, snapshot.at))
            })?;
            let created = planned.created;
            let Some(command) = planned.command else { return Ok(EditResult { created, at }) };
            ensure_allowed(identity, &command)?;
            let reply = self.handle.submit(command).await.map_err(|why| errors::failure(&why))?;
            match reply.answer {
                Ok(_) => return Ok(EditResult { created, at: reply.at }),
                Err(refused) if model.is_stale(&refused) => {}
                Err(refused) => {
                    return Err(model.error(None, &refused).at_position(reply.at.position));
                }
            }
        }
        Err(self.overtaken())
    }

    /// Carries out a call of an RPC or an action.
    pub(super) async fn call(
        &self,
        identity: &Identity,
        model: &Arc<dyn YangModel>,
        call: OperationCall<'_>,
    ) -> Result<CallResult> {
        for _ in 0..self.settings.plans_max {
            let (called, at) =
                self.read_snapshot(|snapshot| Ok((model.call(snapshot, call)?, snapshot.at)))?;
            let (command, output) = match called {
                CallPlan::Answer(output) => return Ok(CallResult { output, at }),
                CallPlan::Command(command, output) => (*command, output),
            };
            ensure_allowed(identity, &command)?;
            let reply = self.handle.submit(command).await.map_err(|why| errors::failure(&why))?;
            match reply.answer {
                Ok(receipt) => return Ok(CallResult { output: output(&receipt), at: reply.at }),
                Err(refused) if model.is_stale(&refused) => {}
                Err(refused) => {
                    let error = model.error(Some(call.operation), &refused);
                    return Err(error.at_position(reply.at.position));
                }
            }
        }
        Err(self.overtaken())
    }

    /// Checks the preconditions on this snapshot.
    fn check_preconditions(&self, snapshot: &Snapshot<'_>, request: &EditRequest) -> Result<()> {
        let target = &request.target;
        if !request.must_exist && !request.conditions.apply_to_edits() {
            return Ok(());
        }
        let is_there = self.exists(snapshot, target)?;
        let now = is_there.then(|| self.changed(snapshot, target));
        request.conditions.check_edit(now.as_ref())?;
        if request.must_exist && !is_there && !self.is_implicit_container(snapshot, target)? {
            return Err(RestconfError::protocol(
                ErrorTag::DataMissing,
                "patch to a nonexistent resource",
            ));
        }
        Ok(())
    }

    /// Whether the target is a non-presence container whose parent exists.
    fn is_implicit_container(
        &self,
        snapshot: &Snapshot<'_>,
        target: &InstancePath,
    ) -> Result<bool> {
        let groups = |step: &PathStep| {
            self.schema.node(step.node).kind == NodeKind::Container { presence: false }
        };
        let mut above = target.clone();
        while above.steps.last().is_some_and(groups) {
            above.steps.pop();
        }
        Ok(above.steps.is_empty() || self.exists(snapshot, &above)?)
    }

    fn exists(&self, snapshot: &Snapshot<'_>, target: &InstancePath) -> Result<bool> {
        match target.steps.first() {
            Some(first) => self.owner(first.node)?.exists(snapshot, target),
            None => Ok(true),
        }
    }

    /// The model of all edits. A request is one command, so its edits must belong to one model.
    fn common_owner(&self, edits: &RequestEdits) -> Result<&Arc<dyn YangModel>> {
        let targets: Vec<&InstancePath> = match edits {
            RequestEdits::Plain(edits) => edits.iter().map(|edit| &edit.target).collect(),
            RequestEdits::YangPatch(patch) => patch.edits.iter().map(|edit| &edit.target).collect(),
        };
        let mut owner: Option<&Arc<dyn YangModel>> = None;
        for target in targets {
            let Some(first) = target.steps.first() else { return Err(datastore_delete()) };
            let model = self.owner(first.node)?;
            match owner {
                Some(known) if !Arc::ptr_eq(known, model) => {
                    return Err(RestconfError::not_supported(
                        "a request can change the data of one model only; send one request for each model",
                    ));
                }
                _ => owner = Some(model),
            }
        }
        owner.ok_or_else(|| {
            RestconfError::protocol(ErrorTag::MissingElement, "the body contains nothing to change")
        })
    }

    fn overtaken(&self) -> RestconfError {
        let max = self.settings.plans_max;
        RestconfError::application(
            ErrorTag::InUse,
            format!("other requests changed the same data {max} times in a row (plans_max); nothing was changed, retry"),
        )
        .retry_after(1)
    }
}

/// Checks the role of the client against what the request would do. Its route requires the role writer; a request of any
/// form that changes the definition of pools requires the role admin.
fn ensure_allowed(identity: &Identity, command: &Command) -> Result<()> {
    if command.is_administrative() { ensure_role(identity, Role::Admin) } else { Ok(()) }
}

pub(super) fn ensure_role(identity: &Identity, needed: Role) -> Result<()> {
    if identity.has(needed) {
        return Ok(());
    }
    let problem = Denied::Role { needed, identity: identity.clone() }.problem();
    Err(RestconfError::protocol(ErrorTag::AccessDenied, problem.detail).with_status(problem.status))
}

fn datastore_delete() -> RestconfError {
    RestconfError::not_supported("the datastore as a whole cannot be deleted")
        .with_status(http::StatusCode::METHOD_NOT_ALLOWED)
}
