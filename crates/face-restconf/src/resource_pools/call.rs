//! Turns actions into commands, and receipts into outputs.
//!
//! The caller waits for the answer, so a request is stored only if it is granted. Requests that wait for free resources are
//! written as data.

mod nodes;
mod tools;

use std::sync::Arc;

use allod_core::claim::Parity;
use allod_core::command::Command;
use allod_core::receipt::{Outcome, Receipt};
use allod_core::requests::command::{FindValue, RequestsCommand};
use allod_core::requests::{
    Failure, Method, Redeploy, Request, RequestPool, Wanted, WantedId, WantedParity, WantedPrefix,
};
use allod_core::span::Span;
use allod_core::value::IpVersion;
use allod_core::view::State;
use allod_core::view::requests as view;

pub(super) use self::nodes::CallNodes;
use self::nodes::{FindNodes, SyncAllocNodes};
use super::ip_pool::address_of;
use super::{ResourcePools, error_texts, refusals};
use crate::edit::validate_input;
use crate::error::{RestconfError, Result};
use crate::model::{CallPlan, OperationCall, OperationOutput};
use crate::tree::{DataNode, LeafValue, Siblings};
use crate::yang::NodeId;

/// Makes the output: from the value as text, or from the reason of the failure.
type ResultToOutput = Box<dyn FnOnce(Result<String, String>) -> OperationOutput + Send>;

impl ResourcePools {
    pub(super) fn call_plan(&self, state: &State, call: OperationCall<'_>) -> Result<CallPlan> {
        let OperationCall { operation, target, input } = call;
        validate_input(&self.schema, operation, input)?;
        let nodes = &self.calls;
        if operation == nodes.sync_alloc.action {
            self.sync_alloc(state, input)
        } else if operation == nodes.sync_alloc_id.action {
            self.sync_alloc_id(state, input)
        } else if operation == nodes.find_id.action {
            self.find_id(state, &nodes.find_id, input)
        } else if operation == nodes.find_ip.action {
            self.find_ip(state, &nodes.find_ip, input)
        } else if operation == self.alarms.purge {
            let purge = self.alarms.purged(state, target)?;
            Ok(CallPlan::Command(Box::new(purge), Box::new(|_| Vec::new())))
        } else {
            self.tool(state, operation, input).map(CallPlan::Answer)
        }
    }

    /// Allocates a prefix from an address pool; or an id, as in the first versions of this action.
    fn sync_alloc(&self, state: &State, input: &[DataNode]) -> Result<CallPlan> {
        let (nodes, own) = (&self.calls.sync_alloc, &self.calls.prefix);
        let pool = text(input, nodes.pool);
        let config = configured(state, &pool)?;
        let want = match (config.kind().is_id(), input.uint(own.cidrmask)) {
            // A caller that gives a prefix length does not want an id.
            (_, Some(size)) => Wanted::Prefix(WantedPrefix {
                size: u8::try_from(size).unwrap_or(u8::MAX),
                invert: input.bool(own.invert).unwrap_or(false),
                start: start(input.text(own.start))?,
            }),
            (true, None) => Wanted::Id(WantedId {
                parity: parity(input.text(nodes.parity)),
                ..WantedId::default()
            }),
            (false, None) => {
                let message = format!("cidrmask is required for pool {pool}");
                return Err(RestconfError::missing_element(message));
            }
        };
        let allocated = own.allocated;
        let subnet = (!config.kind().is_id()).then_some(own.subnet);
        let show: ResultToOutput = Box::new(move |found| match found {
            Ok(value) => {
                let leaves = [Some(allocated), subnet].into_iter().flatten();
                leaves.map(|leaf| DataNode::leaf(leaf, &*value)).collect()
            }
            Err(why) => vec![DataNode::leaf(allocated, exception(why))],
        });
        self.sync_called(state, nodes, input, pool, want, show)
    }

    fn sync_alloc_id(&self, state: &State, input: &[DataNode]) -> Result<CallPlan> {
        let (nodes, own) = (&self.calls.sync_alloc_id, &self.calls.id);
        let pool = text(input, nodes.pool);
        let id = input.int(own.id).filter(|id| *id >= 0).map(|id| {
            u32::try_from(id).map_err(|_| {
                let message = format!("requestedId {id} is not a 32-bit id");
                RestconfError::wrong_value(message)
            })
        });
        let method = input.text(own.method).map(|method| match method {
            "roundrobin" => Method::RoundRobin,
            _ => Method::FirstFree,
        });
        let want = Wanted::Id(WantedId {
            sync: input.bool(own.sync),
            id: id.transpose()?,
            parity: parity(input.text(nodes.parity)),
            method,
        });
        let allocated = own.allocated;
        let show: ResultToOutput = Box::new(move |found| {
            let text = found.unwrap_or_else(exception);
            vec![DataNode::leaf(allocated, text)]
        });
        self.sync_called(state, nodes, input, pool, want, show)
    }

    /// The common part of the release 4 actions.
    fn sync_called(
        &self,
        state: &State,
        nodes: &SyncAllocNodes,
        input: &[DataNode],
        pool: Arc<str>,
        want: Wanted,
        show: ResultToOutput,
    ) -> Result<CallPlan> {
        let owner = input.text(nodes.owner).filter(|owner| !owner.is_empty());
        let request = Request {
            user: text(input, nodes.user),
            services: owner.map(Arc::from).into_iter().collect(),
            redeploy: input.text(nodes.redeploy).and_then(Redeploy::from_name),
            sync_alloc: true,
            want,
            site: Default::default(),
        };
        let key = text(input, nodes.key);
        let allocate = !input.bool(nodes.dryrun).unwrap_or(false);
        self.found(state, FindValue { pools: vec![pool], key, request }, allocate, show)
    }

    fn find_id(&self, state: &State, nodes: &FindNodes, input: &[DataNode]) -> Result<CallPlan> {
        let mut pools: Vec<Arc<str>> = Vec::new();
        for name in input.texts(nodes.pool) {
            if !pools.contains(name) {
                pools.push(name.clone());
            }
        }
        let want = Wanted::Id(WantedId {
            sync: (pools.len() > 1).then_some(true),
            id: input.number::<u32>(nodes.resource),
            parity: parity(input.text(self.calls.find_id_parity)),
            method: None,
        });
        self.find(state, nodes, input, pools, want)
    }

    fn find_ip(&self, state: &State, nodes: &FindNodes, input: &[DataNode]) -> Result<CallPlan> {
        let pool = text(input, nodes.pool);
        let named = input.text(nodes.resource);
        let (address, len) = match named.and_then(|named| named.split_once('/')) {
            Some((address, len)) => (Some(address), len.parse::<u8>().ok()),
            None => (named, None),
        };
        let requested_len = input.number::<u8>(self.calls.find_ip_length);
        if let (Some(len), Some(requested_len)) = (len, requested_len)
            && len != requested_len
        {
            let message = format!(
                "the resource has the prefix length {len}, but prefix-length is {requested_len}"
            );
            return Err(RestconfError::wrong_value(message));
        }
        let start = start(address)?;
        // An address without a length is a single address.
        let whole = start.and_then(|(version, _)| u8::try_from(version.width()).ok());
        let Some(size) = len.or(requested_len).or(whole) else {
            let message = "prefix-length or resource is required";
            return Err(RestconfError::missing_element(message));
        };
        let want = Wanted::Prefix(WantedPrefix { size, invert: false, start });
        self.find(state, nodes, input, vec![pool], want)
    }

    /// The common part of the release 5 actions.
    fn find(
        &self,
        state: &State,
        nodes: &FindNodes,
        input: &[DataNode],
        pools: Vec<Arc<str>>,
        want: Wanted,
    ) -> Result<CallPlan> {
        let request = Request {
            user: input.text(nodes.user).unwrap_or("admin").into(),
            services: input.texts(nodes.service).cloned().collect(),
            redeploy: None,
            sync_alloc: true,
            want,
            site: Default::default(),
        };
        let (success, resource, message) = (nodes.success, nodes.found, nodes.message);
        let show: ResultToOutput = Box::new(move |found| {
            let is_found = DataNode::leaf(success, LeafValue::Bool(found.is_ok()));
            let text = match &found {
                Ok(_) => LeafValue::text("Resource found"),
                Err(why) => LeafValue::text(&**why),
            };
            let found = found.ok().map(|value| DataNode::leaf(resource, value));
            let leaves = [is_found].into_iter().chain(found);
            leaves.chain([DataNode::leaf(message, text)]).collect()
        });
        let key = text(input, nodes.key);
        let allocate = input.child(nodes.allocate).is_some();
        self.found(state, FindValue { pools, key, request }, allocate, show)
    }

    /// The command, and how to turn its receipt into an output.
    fn found(
        &self,
        state: &State,
        find: FindValue,
        allocate: bool,
        show: ResultToOutput,
    ) -> Result<CallPlan> {
        let ids = matches!(find.request.want, Wanted::Id(_));
        let mut kind_and_config = None;
        for pool in &find.pools {
            let config = configured(state, pool)?;
            if config.kind().is_id() != ids {
                let what = if ids { "ids" } else { "addresses" };
                let message = format!("Pool {pool} is not a pool of {what}");
                return Err(RestconfError::wrong_value(message));
            }
            let kind = self.kinds.iter().find(|kind| kind.is(config));
            kind_and_config = kind.map(|kind| (kind.clone(), config.clone()));
        }
        let request = find.request.clone();
        let value_text = move |value: Span| match &kind_and_config {
            Some((kind, config)) => kind.value_text(config, value),
            None => String::new(),
        };
        let why = move |(pool, failure): &(Arc<str>, Failure)| {
            error_texts::error(pool, &request, failure)
        };
        let then = Box::new(move |receipt: &Receipt| match receipt.outcomes.first() {
            Some(Outcome::Found(found)) => {
                show(found.as_ref().map(|value| value_text(*value)).map_err(why))
            }
            _ => Vec::new(),
        });
        let command = match allocate {
            true => RequestsCommand::Allocate(find),
            false => RequestsCommand::Find(find),
        };
        Ok(CallPlan::Command(Box::new(Command::Requests(command)), then))
    }
}

/// Callers of release 4 recognise a failure by the word `Exception`; they take any other text as the allocated value.
fn exception(why: String) -> String {
    if why.contains("Exception") {
        why
    } else {
        format!("com.tailf.pkg.idpool.exceptions.AllocationException: {why}")
    }
}

/// The configuration of a pool that must exist.
fn configured<'s>(state: &'s State, pool: &Arc<str>) -> Result<&'s Arc<RequestPool>> {
    view::config(state, pool).ok_or_else(|| refusals::unknown(pool))
}

/// The text of a mandatory leaf. The input is already validated.
fn text(input: &[DataNode], leaf: NodeId) -> Arc<str> {
    input.shared_text(leaf).cloned().unwrap_or_default()
}

fn parity(text: Option<&str>) -> Option<WantedParity> {
    match text? {
        "odd" => Some(WantedParity::Only(Parity::Odd)),
        "even" => Some(WantedParity::Only(Parity::Even)),
        _ => None,
    }
}

/// The requested start address. Empty text: none.
fn start(text: Option<&str>) -> Result<Option<(IpVersion, u128)>> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let wrong = || RestconfError::wrong_value(format!("'{text}' is not an address"));
    address_of(text).map(Some).ok_or_else(wrong)
}
