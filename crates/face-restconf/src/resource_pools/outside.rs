//! Pools whose requests are answered from outside: the leaves that say so, and the answers that an allocator writes.

use std::sync::Arc;

use allod_core::command::Command;
use allod_core::requests::command::RequestsCommand;
use allod_core::requests::{
    Allocator, Answer, AnswerRequest, AnsweredRequest, Request, RequestPool, Response,
};
use allod_core::view::requests as view;
use allod_engine::Snapshot;

use super::ResourcePools;
use super::kind::{PoolKind, PoolLocation};
use super::refusals::unknown;
use crate::edit::validate;
use crate::error::{ErrorTag, RestconfError, Result};
use crate::model::{Edit, EditPlan, InstancePath, RequestedEdits};
use crate::path;
use crate::tree::{DataNode, LeafValue, Siblings};
use crate::yang::{NodeId, Schema, spelled};

/// Writes what answers the requests of a pool.
pub(super) fn allocator_node(kind: &dyn PoolKind, config: &RequestPool) -> Option<DataNode> {
    let nodes = kind.nodes();
    Some(match config.allocator.as_ref()? {
        Allocator::Internal => DataNode::leaf(nodes.allocator, "internal"),
        Allocator::External => DataNode::leaf(nodes.allocator, "external"),
        Allocator::Authority(name) => DataNode::leaf(nodes.authority, name),
    })
}

/// Reads what answers the requests of a validated pool.
pub(super) fn allocator(kind: &dyn PoolKind, pool: &DataNode) -> Option<Allocator> {
    let nodes = kind.nodes();
    let authority = pool.shared_text(nodes.authority).cloned().map(Allocator::Authority);
    let named = || match pool.text(nodes.allocator)? {
        "external" => Some(Allocator::External),
        _ => Some(Allocator::Internal),
    };
    authority.or_else(named)
}

/// Writes the version of a request that is answered from outside.
pub(super) fn version_node(kind: &dyn PoolKind, asked: &AnsweredRequest) -> Option<DataNode> {
    (asked.version > 0).then(|| DataNode::leaf(kind.nodes().version, asked.version))
}

/// A path to a response, or to a leaf of one.
pub(super) struct ResponsePath<'a> {
    pub kind: &'a Arc<dyn PoolKind>,
    pub pool: &'a Arc<str>,
    pub key: &'a Arc<str>,
}

impl ResourcePools {
    /// `None`: the path leads elsewhere.
    pub(super) fn response_path<'a>(
        &'a self,
        target: &'a InstancePath,
    ) -> Option<ResponsePath<'a>> {
        let [top, list, allocation, response, rest @ ..] = &target.steps[..] else { return None };
        let kind = self.kinds.iter().find(|kind| kind.nodes().list == list.node)?;
        let is_response = top.node == self.top
            && allocation.node == kind.nodes().allocation
            && response.node == kind.nodes().response
            && rest.len() <= 1;
        let (pool, key) = (target.name_at(1)?, target.name_at(2)?);
        is_response.then_some(ResponsePath { kind, pool, key })
    }

    /// Whether the path leads to a response that an external allocator writes.
    pub(super) fn is_external(&self, snapshot: &Snapshot<'_>, target: &InstancePath) -> bool {
        let config =
            self.response_path(target).and_then(|at| view::config(snapshot.state, at.pool));
        config.is_some_and(|config| config.is_external())
    }

    /// The command for a response that an allocator writes. `None`: the edits are others.
    pub(super) fn answer_plan(
        &self,
        snapshot: &Snapshot<'_>,
        edits: &RequestedEdits<'_>,
    ) -> Result<Option<EditPlan>> {
        let [Edit { target, data: Some(data), .. }] = edits.edits else { return Ok(None) };
        let Some(ResponsePath { kind, pool, key }) = self.response_path(target) else {
            return Ok(None);
        };
        let config = view::config(snapshot.state, pool).filter(|config| kind.is(config));
        let config = config.ok_or_else(|| unknown(pool))?;
        if !config.is_external() {
            return Err(read_only(&self.schema, kind.nodes().response));
        }
        let Some((asked, held)) = view::request(snapshot.state, pool, key) else {
            return Err(unknown_request(pool, key));
        };
        let nodes = kind.nodes();
        let response = match data.schema == nodes.response {
            true => data.clone(),
            false => DataNode::inner(nodes.response, vec![data.clone()]),
        };
        let (schema, top) = (&*self.schema, self.top);
        let location = PoolLocation { schema, top, nodes, pool };
        let at_response = |error: RestconfError| {
            let path = path::instance(schema, &InstancePath { steps: target.steps[..4].to_vec() });
            error.at_path(path)
        };
        validate(schema, &response).map_err(at_response)?;
        let given = response.number::<u64>(nodes.answered_version);
        if let Some(given) = given.filter(|given| *given != asked.version) {
            let message = format!(
                "the response is for version {given} of request '{key}', which is at version {}",
                asked.version
            );
            let stale = RestconfError::application(ErrorTag::OperationFailed, message);
            return Err(at_response(stale.with_status(http::StatusCode::PRECONDITION_FAILED)));
        }
        let error = response.shared_text(nodes.error).cloned().map(Response::Failed);
        let granted = kind.granted_value(config, response.children());
        let granted = granted.map_err(|why| at_response(RestconfError::wrong_value(why)))?;
        let Some(response) = error.or(granted.map(Response::Granted)) else {
            let message = "the response has neither a resource nor an error";
            return Err(at_response(RestconfError::protocol(ErrorTag::MissingElement, message)));
        };
        let created = vec![!has_response(asked, held.is_some())];
        let (pool, key, version) = (location.pool.clone(), key.clone(), asked.version);
        let seen = edits.unchanged.map(|_| snapshot.at.position);
        let answer = AnswerRequest { pool, key, version, seen, response };
        let command = Some(Command::Requests(RequestsCommand::Answer(answer)));
        Ok(Some(EditPlan { command, created }))
    }
}

/// Whether a request has a response.
fn has_response(asked: &AnsweredRequest, holds: bool) -> bool {
    match asked.answer {
        Answer::Granted => holds,
        Answer::Failed(_) => true,
        Answer::Wanted => false,
    }
}

/// The error for state that cannot be written.
fn read_only(schema: &Schema, node: NodeId) -> RestconfError {
    let name = &schema.node(node).name;
    RestconfError::not_supported(format!("'{name}' is state and read only"))
        .with_status(http::StatusCode::METHOD_NOT_ALLOWED)
}

/// The error for a missing request.
pub(super) fn unknown_request(pool: &Arc<str>, key: &Arc<str>) -> RestconfError {
    let message = format!("Pool {pool} has no request {key}");
    RestconfError::application(ErrorTag::DataMissing, message)
}

/// Compares an optional leaf of a response with the value that follows from the other ones.
pub(super) fn ensure_follows(
    given: Option<&LeafValue>,
    wanted: Option<&LeafValue>,
    name: &str,
) -> Result<(), String> {
    match given {
        Some(given) if Some(given) != wanted => {
            Err(format!("'{name}' does not follow from the resource; leave it out"))
        }
        _ => Ok(()),
    }
}

/// The parameters of a request by their paths below the request.
pub(super) fn parameters(
    schema: &Schema,
    kind: &dyn PoolKind,
    request: &Request,
) -> Vec<(String, Arc<str>)> {
    let nodes = kind.request_nodes(&request.want);
    let mut all = Vec::new();
    collect(schema, "request", &nodes, &mut all);
    all.extend(request.site.iter().map(|node| (node.path.to_string(), node.text().clone())));
    all
}

fn collect(schema: &Schema, above: &str, nodes: &[DataNode], all: &mut Vec<(String, Arc<str>)>) {
    for node in nodes {
        let path = format!("{above}/{}", schema.node(node.schema).name);
        match node.value() {
            Some(value) => all.push((path, spelled(value))),
            None => collect(schema, &path, node.children(), all),
        }
    }
}
