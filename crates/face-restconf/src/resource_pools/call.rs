//! The calls: what each asks of the core, and what its receipt becomes.
//!
//! Whoever calls waits for the answer, so that a request is only written if it gets something. Requests that wait until there
//! is room are written as data.

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
use allod_core::state::State;
use allod_core::view::requests as view;

pub(super) use self::nodes::CallNodes;
use self::nodes::{Find, SyncAlloc};
use super::ip_pool::address_of;
use super::{ResourcePools, faults, words};
use crate::edit::validate_input;
use crate::fault::{Fault, Tag};
use crate::model::{Called, Output, Target};
use crate::tree::{Node, Siblings, Value};
use crate::yang::NodeId;

/// How the answer to a call is shown: the value as text, or why there is none.
type Show = Box<dyn FnOnce(Result<String, String>) -> Output + Send>;

impl ResourcePools {
    pub(super) fn called(
        &self,
        state: &State,
        operation: NodeId,
        target: &Target,
        input: &[Node],
    ) -> Result<Called, Fault> {
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
            self.alarms.purged(state, target).map(Called::Command)
        } else {
            self.tool(state, operation, input).map(Called::Answer)
        }
    }

    /// For a prefix of a pool of addresses; or, as the original had it at first, for an id.
    fn sync_alloc(&self, state: &State, input: &[Node]) -> Result<Called, Fault> {
        let (nodes, own) = (&self.calls.sync_alloc, &self.calls.prefix);
        let pool = text(input, nodes.pool);
        let config = configured(state, &pool)?;
        let want = match (config.kind().is_id(), input.uint(own.cidrmask)) {
            // Whoever names a length does not want an id.
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
                let message = format!("cidrmask is needed for pool {pool}");
                return Err(Fault::application(Tag::MissingElement, message));
            }
        };
        let allocated = nodes.given;
        let subnet = (!config.kind().is_id()).then_some(own.subnet);
        let show: Show = Box::new(move |found| match found {
            Ok(value) => {
                let leaves = [Some(allocated), subnet].into_iter().flatten();
                leaves.map(|leaf| Node::leaf(leaf, Value::text(&*value))).collect()
            }
            Err(why) => vec![Node::leaf(allocated, Value::text(exception(why)))],
        });
        self.sync_called(state, nodes, input, pool, want, show)
    }

    fn sync_alloc_id(&self, state: &State, input: &[Node]) -> Result<Called, Fault> {
        let (nodes, own) = (&self.calls.sync_alloc_id, &self.calls.id);
        let pool = text(input, nodes.pool);
        let id = input.int(own.id).filter(|id| *id >= 0).map(|id| {
            u32::try_from(id).map_err(|_| {
                let message = format!("requestedId {id} is not an id of 32 bits");
                Fault::application(Tag::InvalidValue, message)
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
        let given = nodes.given;
        let show: Show = Box::new(move |found| {
            let text = found.unwrap_or_else(exception);
            vec![Node::leaf(given, Value::text(text))]
        });
        self.sync_called(state, nodes, input, pool, want, show)
    }

    /// What the calls of release 4 have in common.
    fn sync_called(
        &self,
        state: &State,
        nodes: &SyncAlloc,
        input: &[Node],
        pool: Arc<str>,
        want: Wanted,
        show: Show,
    ) -> Result<Called, Fault> {
        let owner = input.text(nodes.owner).filter(|owner| !owner.is_empty());
        let request = Request {
            user: text(input, nodes.user),
            services: owner.map(Arc::from).into_iter().collect(),
            redeploy: input.text(nodes.redeploy).and_then(Redeploy::from_name),
            sync_alloc: true,
            want,
        };
        let key = text(input, nodes.key);
        let allocate = !input.bool(nodes.dryrun).unwrap_or(false);
        self.found(state, FindValue { pools: vec![pool], key, request }, allocate, show)
    }

    fn find_id(&self, state: &State, nodes: &Find, input: &[Node]) -> Result<Called, Fault> {
        let mut pools: Vec<Arc<str>> = Vec::new();
        for node in input.entries(nodes.pool) {
            match node.value() {
                Some(Value::Text(name)) if !pools.contains(name) => pools.push(name.clone()),
                _ => {}
            }
        }
        let want = Wanted::Id(WantedId {
            sync: (pools.len() > 1).then_some(true),
            id: input.uint(nodes.resource).and_then(|id| u32::try_from(id).ok()),
            parity: parity(input.text(nodes.narrow)),
            method: None,
        });
        self.find(state, nodes, input, pools, want)
    }

    fn find_ip(&self, state: &State, nodes: &Find, input: &[Node]) -> Result<Called, Fault> {
        let pool = text(input, nodes.pool);
        let named = input.text(nodes.resource);
        let (address, len) = match named.and_then(|named| named.split_once('/')) {
            Some((address, len)) => (Some(address), len.parse::<u8>().ok()),
            None => (named, None),
        };
        let asked = input.uint(nodes.narrow).and_then(|len| u8::try_from(len).ok());
        if let (Some(len), Some(asked)) = (len, asked)
            && len != asked
        {
            let message = format!("the resource is of length {len}, and prefix-length is {asked}");
            return Err(Fault::application(Tag::InvalidValue, message));
        }
        let start = start(address)?;
        // An address alone is all of itself.
        let whole = start.map(|(six, _)| if six { 128 } else { 32 });
        let Some(size) = len.or(asked).or(whole) else {
            let message = "prefix-length or resource is needed";
            return Err(Fault::application(Tag::MissingElement, message));
        };
        let want = Wanted::Prefix(WantedPrefix { size, invert: false, start });
        self.find(state, nodes, input, vec![pool], want)
    }

    /// What the calls of release 5 have in common.
    fn find(
        &self,
        state: &State,
        nodes: &Find,
        input: &[Node],
        pools: Vec<Arc<str>>,
        want: Wanted,
    ) -> Result<Called, Fault> {
        let services = input.entries(nodes.service).filter_map(|node| match node.value() {
            Some(Value::Text(service)) => Some(service.clone()),
            _ => None,
        });
        let request = Request {
            user: input.text(nodes.user).unwrap_or("admin").into(),
            services: services.collect(),
            redeploy: None,
            sync_alloc: true,
            want,
        };
        let (success, resource, message) = (nodes.success, nodes.found, nodes.message);
        let show: Show = Box::new(move |found| {
            let is_found = Node::leaf(success, Value::Bool(found.is_ok()));
            let text = match &found {
                Ok(_) => Value::text("Resource found"),
                Err(why) => Value::text(&**why),
            };
            let found = found.ok().map(|value| Node::leaf(resource, Value::text(value)));
            let told = [is_found].into_iter().chain(found);
            told.chain([Node::leaf(message, text)]).collect()
        });
        let key = text(input, nodes.key);
        let allocate = input.child(nodes.allocate).is_some();
        self.found(state, FindValue { pools, key, request }, allocate, show)
    }

    /// The command, and how its receipt is shown.
    fn found(
        &self,
        state: &State,
        find: FindValue,
        allocate: bool,
        show: Show,
    ) -> Result<Called, Fault> {
        let ids = matches!(find.request.want, Wanted::Id(_));
        let mut spelling = None;
        for pool in &find.pools {
            let config = configured(state, pool)?;
            if config.kind().is_id() != ids {
                let what = if ids { "ids" } else { "addresses" };
                let message = format!("Pool {pool} is not a pool of {what}");
                return Err(Fault::application(Tag::InvalidValue, message));
            }
            let kind = self.kinds.iter().find(|kind| kind.is(config));
            spelling = kind.map(|kind| (kind.clone(), config.clone()));
        }
        let request = find.request.clone();
        let spelled = move |value: Span| match &spelling {
            Some((kind, config)) => kind.spelled(config, value),
            None => String::new(),
        };
        let why =
            move |(pool, failure): &(Arc<str>, Failure)| words::error(pool, &request, failure);
        let then = Box::new(move |receipt: &Receipt| match receipt.outcomes.first() {
            Some(Outcome::Found(found)) => {
                show(found.as_ref().map(|value| spelled(*value)).map_err(why))
            }
            _ => Vec::new(),
        });
        let command = match allocate {
            true => RequestsCommand::Allocate(find),
            false => RequestsCommand::Find(find),
        };
        Ok(Called::CommandThen(Command::Requests(command), then))
    }
}

/// Callers of release 4 know a failure by this word, and take whatever is without it for what was allocated.
fn exception(why: String) -> String {
    if why.contains("Exception") {
        why
    } else {
        format!("com.tailf.pkg.idpool.exceptions.AllocationException: {why}")
    }
}

/// What is configured of a pool that has to be there.
fn configured<'s>(state: &'s State, pool: &Arc<str>) -> Result<&'s Arc<RequestPool>, Fault> {
    view::config(state, pool).ok_or_else(|| faults::unknown(pool))
}

/// A leaf that has to be there: the schema has been asked.
fn text(input: &[Node], leaf: NodeId) -> Arc<str> {
    match input.value_of(leaf) {
        Some(Value::Text(text)) => text.clone(),
        _ => "".into(),
    }
}

fn parity(text: Option<&str>) -> Option<WantedParity> {
    match text? {
        "odd" => Some(WantedParity::Only(Parity::Odd)),
        "even" => Some(WantedParity::Only(Parity::Even)),
        _ => None,
    }
}

/// The address that a prefix is to begin with. An empty text is none.
fn start(text: Option<&str>) -> Result<Option<(bool, u128)>, Fault> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    match address_of(text) {
        Some(address) => Ok(Some(address)),
        None => {
            let message = format!("'{text}' is not an address");
            Err(Fault::application(Tag::InvalidValue, message))
        }
    }
}
