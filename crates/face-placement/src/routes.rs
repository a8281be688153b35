//! The table of routes, and what happens around every handler: the version, the types, who may, and the headers.
//!
//! Every route is there twice, at the root and under `/placement`.

use std::pin::Pin;
use std::sync::Arc;

use allod_edge::{Access, Call, Consistency, Reply, Route};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};

use crate::accept::{Accept, JSON};
use crate::ask::Ask;
use crate::error_format::{lacks_type, named, request_id, untyped};
use crate::fault::{Fault, Listener};
use crate::to_wire::Shown;
use crate::versions::{Feature, Version};
use crate::{
    Placement, aggregates, allocations, candidates, classes, inventories, providers, refusals,
    reshaper, root, traits, usages,
};

/// Where the same routes are once more.
const MOUNT: &str = "/placement";

type Writing<'a> = Pin<Box<dyn Future<Output = Result<Shown, Fault>> + Send + 'a>>;

/// What answers.
pub(crate) enum Run {
    /// By looking at what is committed.
    Read(fn(&Placement, &Ask) -> Result<Shown, Fault>),
    /// By a command.
    Write(for<'a> fn(&'a Placement, &'a Ask) -> Writing<'a>),
}

/// What a route reads and shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// No body; and shows none, or whatever the client takes.
    Nothing,
    /// A JSON body.
    Json,
    /// A JSON body in the versions before this feature, and none after.
    JsonBefore(Feature),
    /// No body; shows JSON, which the client must take.
    AcceptJson,
}

pub(crate) struct Entry {
    pub method: Method,
    /// At the root, and under the other mount.
    pub paths: [&'static str; 2],
    pub since: Feature,
    pub takes: Takes,
    /// The rule that says who may; `None`: anybody, known or not.
    pub rule: Option<&'static str>,
    pub run: Run,
}

macro_rules! entry {
    ($method:ident $path:literal, $since:ident, $takes:ident, read $run:path) => {
        entry!(@ $method $path, $since, $takes, None, Run::Read($run))
    };
    ($method:ident $path:literal, $since:ident, $takes:ident, $rule:literal, read $run:path) => {
        entry!(@ $method $path, $since, $takes, Some(concat!("placement:", $rule)), Run::Read($run))
    };
    ($method:ident $path:literal, $since:ident, $takes:ident, $rule:literal, write $run:path) => {
        entry!(
            @ $method $path, $since, $takes, Some(concat!("placement:", $rule)),
            Run::Write(|face, ask| Box::pin($run(face, ask)))
        )
    };
    (@ $method:ident $path:literal, $since:ident, $takes:expr, $rule:expr, $run:expr) => {
        Entry {
            method: Method::$method,
            paths: [$path, concat!("/placement", $path)],
            since: Feature::$since,
            takes: $takes,
            rule: $rule,
            run: $run,
        }
    };
}

const NOTHING: Takes = Takes::Nothing;
const BODY: Takes = Takes::Json;
const BODY_BEFORE: Takes = Takes::JsonBefore(Feature::PutClass);
const SHOWS: Takes = Takes::AcceptJson;

/// In the order in which Allow headers list the methods of a path.
pub(crate) static TABLE: &[Entry] = &[
    entry!(GET "/", Always, NOTHING, read root::get),
    entry!(GET "/resource_classes", Classes, SHOWS, "resource_classes:list", read classes::list),
    entry!(POST "/resource_classes", Classes, BODY, "resource_classes:create", write classes::post),
    entry!(GET "/resource_classes/{name}", Classes, SHOWS, "resource_classes:show", read classes::get),
    entry!(PUT "/resource_classes/{name}", Classes, BODY_BEFORE, "resource_classes:update", write classes::put),
    entry!(DELETE "/resource_classes/{name}", Classes, NOTHING, "resource_classes:delete", write classes::delete),
    entry!(GET "/resource_providers", Always, SHOWS, "resource_providers:list", read providers::list),
    entry!(POST "/resource_providers", Always, BODY, "resource_providers:create", write providers::post),
    entry!(GET "/resource_providers/{uuid}", Always, SHOWS, "resource_providers:show", read providers::get),
    entry!(DELETE "/resource_providers/{uuid}", Always, NOTHING, "resource_providers:delete", write providers::delete),
    entry!(PUT "/resource_providers/{uuid}", Always, BODY, "resource_providers:update", write providers::put),
    entry!(GET "/resource_providers/{uuid}/inventories", Always, SHOWS, "resource_providers:inventories:list", read inventories::list),
    entry!(POST "/resource_providers/{uuid}/inventories", Always, BODY, "resource_providers:inventories:create", write inventories::post),
    entry!(PUT "/resource_providers/{uuid}/inventories", Always, BODY, "resource_providers:inventories:update", write inventories::put_all),
    entry!(DELETE "/resource_providers/{uuid}/inventories", DeleteInventories, NOTHING, "resource_providers:inventories:delete", write inventories::delete_all),
    entry!(GET "/resource_providers/{uuid}/inventories/{class}", Always, SHOWS, "resource_providers:inventories:show", read inventories::get),
    entry!(PUT "/resource_providers/{uuid}/inventories/{class}", Always, BODY, "resource_providers:inventories:update", write inventories::put),
    entry!(DELETE "/resource_providers/{uuid}/inventories/{class}", Always, NOTHING, "resource_providers:inventories:delete", write inventories::delete),
    entry!(GET "/resource_providers/{uuid}/usages", Always, SHOWS, "resource_providers:usages", read usages::of_provider),
    entry!(GET "/resource_providers/{uuid}/aggregates", Aggregates, SHOWS, "resource_providers:aggregates:list", read aggregates::get),
    entry!(PUT "/resource_providers/{uuid}/aggregates", Aggregates, BODY, "resource_providers:aggregates:update", write aggregates::put),
    entry!(GET "/resource_providers/{uuid}/allocations", Always, SHOWS, "resource_providers:allocations:list", read allocations::of_provider),
    entry!(POST "/allocations", PostAllocations, BODY, "allocations:manage", write allocations::post),
    entry!(GET "/allocations/{consumer}", Always, SHOWS, "allocations:list", read allocations::get),
    entry!(PUT "/allocations/{consumer}", Always, BODY, "allocations:update", write allocations::put),
    entry!(DELETE "/allocations/{consumer}", Always, NOTHING, "allocations:delete", write allocations::delete),
    entry!(GET "/allocation_candidates", Candidates, SHOWS, "allocation_candidates:list", read candidates::list),
    entry!(GET "/traits", Traits, SHOWS, "traits:list", read traits::list),
    entry!(GET "/traits/{name}", Traits, NOTHING, "traits:show", read traits::get),
    entry!(PUT "/traits/{name}", Traits, NOTHING, "traits:update", write traits::put),
    entry!(DELETE "/traits/{name}", Traits, NOTHING, "traits:delete", write traits::delete),
    entry!(GET "/resource_providers/{uuid}/traits", Traits, SHOWS, "resource_providers:traits:list", read traits::of_provider),
    entry!(PUT "/resource_providers/{uuid}/traits", Traits, BODY, "resource_providers:traits:update", write traits::set),
    entry!(DELETE "/resource_providers/{uuid}/traits", Traits, NOTHING, "resource_providers:traits:delete", write traits::clear),
    entry!(GET "/usages", Usages, SHOWS, "usages", read usages::total),
    entry!(POST "/reshaper", Reshaper, BODY, "reshaper:reshape", write reshaper::post),
];

/// The one rule that is about a project.
const TOTAL_USAGES: &str = "placement:usages";

/// The routes of a face, ready to be served.
pub(crate) fn all(face: &Arc<Placement>) -> Vec<Route> {
    let route = |entry: &'static Entry, path: &'static str| {
        let face = face.clone();
        let access = if entry.rule.is_none() { Access::Open } else { Access::Authenticated };
        Route::boxed(entry.method.clone(), path, access, move |call| {
            let face = face.clone();
            Box::pin(async move { face.serve(entry, call).await })
        })
    };
    let mut routes = Vec::with_capacity(2 * TABLE.len() + 1);
    for entry in TABLE {
        routes.extend(entry.paths.map(|path| route(entry, path)));
        if entry.paths[0] == "/" {
            routes.push(route(entry, MOUNT));
        }
    }
    routes
}

impl Placement {
    async fn serve(&self, entry: &'static Entry, call: Call) -> Reply {
        let request_id = request_id(call.request_id());
        let version = match Version::of(&call.head.headers) {
            Ok(version) => version,
            Err(fault) => {
                let (method, headers) = (&call.head.method, &call.head.headers);
                let listener = Listener { method, headers, request_id: &request_id, version: None };
                return named(fault.reply(&listener), &request_id);
            }
        };
        let below = call.head.uri.path().strip_prefix(MOUNT);
        let is_below = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let prefix = if is_below { MOUNT } else { "" };
        let ask = Ask { call, version, prefix };
        let answer = match self.admit(entry, &ask) {
            Ok(()) => self.run(entry, &ask).await,
            Err(fault) => Err(fault),
        };
        let reply = match answer {
            Ok(shown) => shown.reply(&ask),
            Err(fault) => fault.reply(&ask.listener(&request_id)),
        };
        named(reply, &request_id)
    }

    /// Whether the handler gets to see the request.
    fn admit(&self, entry: &Entry, ask: &Ask) -> Result<(), Fault> {
        let headers = &ask.call.head.headers;
        if lacks_type(headers) {
            return Err(untyped());
        }
        if !ask.has(entry.since) {
            // A path that exists in the version, only not with this method, is another case than one that does not.
            let status = match entry.since {
                Feature::DeleteInventories => StatusCode::METHOD_NOT_ALLOWED,
                _ => StatusCode::NOT_FOUND,
            };
            return Err(Fault::new(status, ""));
        }
        let reads_json = match entry.takes {
            Takes::Json => true,
            Takes::JsonBefore(feature) => !ask.has(feature),
            Takes::Nothing | Takes::AcceptJson => false,
        };
        if reads_json {
            check_type(ask)?;
        }
        if entry.takes == Takes::AcceptJson && !Accept::of(headers).takes_json() {
            let message = "Only application/json is provided";
            return Err(Fault::new(StatusCode::NOT_ACCEPTABLE, message));
        }
        let Some(rule) = entry.rule else { return Ok(()) };
        let query = (rule == TOTAL_USAGES).then(|| ask.query());
        let project = query.as_ref().and_then(|query| query.last("project_id"));
        let writes = matches!(entry.run, Run::Write(_));
        self.policy.check(ask.call.identity(), rule, writes, project)
    }

    async fn run(&self, entry: &Entry, ask: &Ask) -> Result<Shown, Fault> {
        match entry.run {
            Run::Read(read) => {
                self.wait_for_position(ask).await?;
                read(self, ask)
            }
            Run::Write(write) => write(self, ask).await,
        }
    }

    /// Waits until reads have the consistency that the request's headers ask for.
    async fn wait_for_position(&self, ask: &Ask) -> Result<(), Fault> {
        let Consistency { linearizable, min_position } =
            Consistency::of(&ask.call).map_err(|problem| Fault::bad_request(problem.detail))?;
        let waited = self.handle.wait_for_read(linearizable, min_position).await;
        waited.map_err(|why| refusals::failure(&why))
    }
}

fn check_type(ask: &Ask) -> Result<(), Fault> {
    let given = ask.call.head.headers.get(CONTENT_TYPE).and_then(|given| given.to_str().ok());
    let essence = given.and_then(|given| given.split(';').next()).unwrap_or_default().trim();
    if essence == JSON {
        return Ok(());
    }
    let shown = if essence.is_empty() { "None" } else { essence };
    Err(Fault::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        format!("The media type {shown} is not supported, use application/json"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::rules;

    #[test]
    fn every_rule_has_a_route_and_every_route_a_rule() {
        let used: Vec<&str> = TABLE.iter().filter_map(|entry| entry.rule).collect();
        for rule in &used {
            assert!(rules::ALL.iter().any(|known| known.name == *rule), "{rule}");
        }
        for known in rules::ALL.iter().filter(|known| known.name.starts_with("placement:")) {
            assert!(used.contains(&known.name), "{}", known.name);
        }
        let open: Vec<&str> =
            TABLE.iter().filter(|entry| entry.rule.is_none()).map(|entry| entry.paths[0]).collect();
        assert_eq!(open, ["/"]);
    }
}
