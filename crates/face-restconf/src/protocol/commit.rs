//! From edits to a command, and from its receipt to what is said of it: plan on a snapshot, submit, and plan again when
//! something changed in between.

use std::borrow::Cow;
use std::sync::Arc;

use allod_engine::{CommitPoint, Snapshot};

use super::conditions::Conditions;
use super::{Restconf, errors};
use crate::edit::patch::Patch;
use crate::fault::{Fault, Tag};
use crate::model::{Called, Content, Edit, Model, Output, Step, Target};
use crate::tree::Node;
use crate::yang::{Kind, NodeId};

/// What a request with edits came to.
pub(super) struct Done {
    /// For each edit, whether its target was not there before.
    pub created: Vec<bool>,
    pub at: CommitPoint,
}

/// What a call came to.
pub(super) struct Answered {
    pub output: Output,
    pub at: CommitPoint,
}

/// Edits of one request, and what must hold for them.
pub(super) struct Wanted {
    pub edits: Edits,
    /// What the request names: the conditions are about it.
    pub target: Target,
    pub conditions: Conditions,
    /// Whether it is wrong if the target is not there: a plain PATCH does not make one.
    pub must_exist: bool,
}

pub(super) enum Edits {
    Given(Vec<Edit>),
    /// What some of its edits come to depends on what is there.
    Patch(Patch),
}

impl Restconf {
    /// Carries out all edits, or none.
    pub(super) async fn commit(&self, wanted: &Wanted) -> Result<Done, Fault> {
        let model = self.owner_of_all(&wanted.edits)?;
        for _ in 0..self.settings.plans_max {
            let (planned, at) = self.look(|snapshot| {
                self.hold(snapshot, wanted)?;
                let unchanged = wanted.conditions.any_for_edit().then_some(&wanted.target);
                let edits = match &wanted.edits {
                    Edits::Given(edits) => Cow::Borrowed(edits.as_slice()),
                    Edits::Patch(patch) => Cow::Owned(self.edits_of(snapshot, &**model, patch)?),
                };
                Ok((model.plan(snapshot, &edits, unchanged)?, snapshot.at))
            })?;
            let created = planned.created;
            let Some(command) = planned.command else { return Ok(Done { created, at }) };
            let reply = self.handle.submit(command).await.map_err(|why| errors::failure(&why))?;
            match reply.answer {
                Ok(_) => return Ok(Done { created, at: reply.at }),
                Err(refused) if model.stale(&refused) => {}
                Err(refused) => {
                    return Err(model.fault(None, &refused).at_position(reply.at.position));
                }
            }
        }
        Err(self.overtaken())
    }

    /// Carries out a call of an RPC or an action.
    pub(super) async fn call(
        &self,
        model: &Arc<dyn Model>,
        operation: NodeId,
        target: &Target,
        input: &[Node],
    ) -> Result<Answered, Fault> {
        for _ in 0..self.settings.plans_max {
            let (called, at) = self.look(|snapshot| {
                Ok((model.call(snapshot, operation, target, input)?, snapshot.at))
            })?;
            let (command, then) = match called {
                Called::Answer(output) => return Ok(Answered { output, at }),
                Called::Command(command) => (command, None),
                Called::CommandThen(command, then) => (command, Some(then)),
            };
            let reply = self.handle.submit(command).await.map_err(|why| errors::failure(&why))?;
            match reply.answer {
                Ok(receipt) => {
                    let output = match then {
                        Some(then) => then(&receipt),
                        None => model.output(operation, &receipt),
                    };
                    return Ok(Answered { output, at: reply.at });
                }
                Err(refused) if model.stale(&refused) => {}
                Err(refused) => {
                    let fault = model.fault(Some(operation), &refused);
                    return Err(fault.at_position(reply.at.position));
                }
            }
        }
        Err(self.overtaken())
    }

    /// What the request rests on, on this snapshot.
    fn hold(&self, snapshot: &Snapshot<'_>, wanted: &Wanted) -> Result<(), Fault> {
        let target = &wanted.target;
        if !wanted.must_exist && !wanted.conditions.any_for_edit() {
            return Ok(());
        }
        let is_there = self.source(snapshot, target, Content::All)?.is_some();
        let now = is_there.then(|| self.changed(snapshot, target));
        wanted.conditions.of_edit(now.as_ref())?;
        if wanted.must_exist && !is_there && !self.goes_without_saying(snapshot, target)? {
            return Err(Fault::protocol(Tag::DataMissing, "patch to a nonexistent resource"));
        }
        Ok(())
    }

    /// Whether a container that says nothing by being there is meant, in something that is there.
    fn goes_without_saying(&self, snapshot: &Snapshot<'_>, target: &Target) -> Result<bool, Fault> {
        let groups =
            |step: &Step| self.schema.node(step.node).kind == Kind::Container { presence: false };
        let mut above = target.clone();
        while above.steps.last().is_some_and(groups) {
            above.steps.pop();
        }
        Ok(above.steps.is_empty() || self.source(snapshot, &above, Content::All)?.is_some())
    }

    /// A request is one command, and so it is about the data of one model.
    fn owner_of_all(&self, edits: &Edits) -> Result<&Arc<dyn Model>, Fault> {
        let targets: Vec<&Target> = match edits {
            Edits::Given(edits) => edits.iter().map(|edit| &edit.target).collect(),
            Edits::Patch(patch) => patch.edits.iter().map(|edit| &edit.target).collect(),
        };
        let mut owner: Option<&Arc<dyn Model>> = None;
        for target in targets {
            let Some(first) = target.steps.first() else { return Err(whole()) };
            let model = self.owner(first.node)?;
            match owner {
                Some(known) if !Arc::ptr_eq(known, model) => {
                    return Err(Fault::protocol(
                        Tag::OperationNotSupported,
                        "one request can only change the data of one model; send one for each",
                    ));
                }
                _ => owner = Some(model),
            }
        }
        owner.ok_or_else(|| {
            Fault::protocol(Tag::MissingElement, "there is nothing to change in the body")
        })
    }

    fn overtaken(&self) -> Fault {
        let max = self.settings.plans_max;
        Fault::application(
            Tag::InUse,
            format!("something else changed beneath the request {max} times in a row (plans_max); nothing was changed, send it again"),
        )
        .retry_after(1)
    }
}

fn whole() -> Fault {
    Fault::protocol(Tag::OperationNotSupported, "the datastore as a whole cannot be deleted")
        .with_status(http::StatusCode::METHOD_NOT_ALLOWED)
}
