//! The route table, and the steps around every handler: version, media types, authorisation and headers.
//!
//! Every route exists twice, at the root and under `/placement`.

use std::pin::Pin;
use std::sync::Arc;

use allod_edge::{Access, Call, Consistency, Reply, Route};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, StatusCode};

use crate::accept::{Accept, JSON};
use crate::error::{PlacementError, PlacementResult, ReplyContext};
use crate::error_format::{lacks_type, named, request_id, untyped};
use crate::long_read::LongReadHandler;
use crate::query::QueryString;
use crate::request::PlacementRequest;
use crate::to_wire::HandlerResult;
use crate::versions::{Feature, Microversion};
use crate::{
    Placement, aggregates, allocations, candidates, classes, inventories, providers, refusals,
    reshaper, root, traits, usages,
};

/// The second prefix of all routes.
const MOUNT: &str = "/placement";

type Writing<'a> = Pin<Box<dyn Future<Output = HandlerResult> + Send + 'a>>;

/// The handler of a route.
pub(crate) enum Handler {
    /// Reads the committed state.
    Read(fn(&Placement, &PlacementRequest) -> HandlerResult),
    /// Reads a frozen copy, and may take long.
    ReadLong(LongReadHandler),
    /// Submits a command.
    Write(for<'a> fn(&'a Placement, &'a PlacementRequest) -> Writing<'a>),
}

/// The request body and the reply of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteContent {
    /// No request body; the `Accept` header is not checked.
    Nothing,
    /// A JSON request body.
    Json,
    /// A JSON request body in versions before this feature, none after.
    JsonBefore(Feature),
    /// No request body; the client must accept JSON.
    AcceptJson,
}

pub(crate) struct RouteEntry {
    pub method: Method,
    /// At the root and under [`MOUNT`].
    pub paths: [&'static str; 2],
    pub since: Feature,
    pub takes: RouteContent,
    /// The policy rule; `None`: open to all, even without a token.
    pub rule: Option<&'static str>,
    pub run: Handler,
}

macro_rules! entry {
    ($method:ident $path:literal, $since:ident, $takes:ident, read $run:path) => {
        entry!(@ $method $path, $since, $takes, None, Handler::Read($run))
    };
    ($method:ident $path:literal, $since:ident, $takes:ident, $rule:literal, read $run:path) => {
        entry!(@ $method $path, $since, $takes, Some(concat!("placement:", $rule)), Handler::Read($run))
    };
    ($method:ident $path:literal, $since:ident, $takes:ident, $rule:literal, read_long $run:path) => {
        entry!(@ $method $path, $since, $takes, Some(concat!("placement:", $rule)), Handler::ReadLong($run))
    };
    ($method:ident $path:literal, $since:ident, $takes:ident, $rule:literal, write $run:path) => {
        entry!(
            @ $method $path, $since, $takes, Some(concat!("placement:", $rule)),
            Handler::Write(|face, request| Box::pin($run(face, request)))
        )
    };
    (@ $method:ident $path:literal, $since:ident, $takes:expr, $rule:expr, $run:expr) => {
        RouteEntry {
            method: Method::$method,
            paths: [$path, concat!("/placement", $path)],
            since: Feature::$since,
            takes: $takes,
            rule: $rule,
            run: $run,
        }
    };
}

const NOTHING: RouteContent = RouteContent::Nothing;
const BODY: RouteContent = RouteContent::Json;
const BODY_BEFORE: RouteContent = RouteContent::JsonBefore(Feature::PutClass);
const SHOWS: RouteContent = RouteContent::AcceptJson;

/// In the order of methods in `Allow` headers.
pub(crate) static TABLE: &[RouteEntry] = &[
    entry!(GET "/", Always, NOTHING, read root::get),
    entry!(GET "/resource_classes", Classes, SHOWS, "resource_classes:list", read_long classes::list),
    entry!(POST "/resource_classes", Classes, BODY, "resource_classes:create", write classes::post),
    entry!(GET "/resource_classes/{name}", Classes, SHOWS, "resource_classes:show", read classes::get),
    entry!(PUT "/resource_classes/{name}", Classes, BODY_BEFORE, "resource_classes:update", write classes::put),
    entry!(DELETE "/resource_classes/{name}", Classes, NOTHING, "resource_classes:delete", write classes::delete),
    entry!(GET "/resource_providers", Always, SHOWS, "resource_providers:list", read_long providers::list),
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
    entry!(GET "/resource_providers/{uuid}/allocations", Always, SHOWS, "resource_providers:allocations:list", read_long allocations::of_provider),
    entry!(POST "/allocations", PostAllocations, BODY, "allocations:manage", write allocations::post),
    entry!(GET "/allocations/{consumer}", Always, SHOWS, "allocations:list", read allocations::get),
    entry!(PUT "/allocations/{consumer}", Always, BODY, "allocations:update", write allocations::put),
    entry!(DELETE "/allocations/{consumer}", Always, NOTHING, "allocations:delete", write allocations::delete),
    entry!(GET "/allocation_candidates", Candidates, SHOWS, "allocation_candidates:list", read_long candidates::list),
    entry!(GET "/traits", Traits, SHOWS, "traits:list", read_long traits::list),
    entry!(GET "/traits/{name}", Traits, NOTHING, "traits:show", read traits::get),
    entry!(PUT "/traits/{name}", Traits, NOTHING, "traits:update", write traits::put),
    entry!(DELETE "/traits/{name}", Traits, NOTHING, "traits:delete", write traits::delete),
    entry!(GET "/resource_providers/{uuid}/traits", Traits, SHOWS, "resource_providers:traits:list", read traits::of_provider),
    entry!(PUT "/resource_providers/{uuid}/traits", Traits, BODY, "resource_providers:traits:update", write traits::set),
    entry!(DELETE "/resource_providers/{uuid}/traits", Traits, NOTHING, "resource_providers:traits:delete", write traits::clear),
    entry!(GET "/usages", Usages, SHOWS, "usages", read_long usages::total),
    entry!(POST "/reshaper", Reshaper, BODY, "reshaper:reshape", write reshaper::post),
];

/// The only rule that refers to a project.
const TOTAL_USAGES: &str = "placement:usages";

/// All routes of the face.
pub(crate) fn all(face: &Arc<Placement>) -> Vec<Route> {
    let route = |entry: &'static RouteEntry, path: &'static str| {
        let (face, checker) = (face.clone(), face.clone());
        let access = if entry.rule.is_none() { Access::Open } else { Access::Authenticated };
        let route = Route::boxed(entry.method.clone(), path, access, move |call| {
            let face = face.clone();
            Box::pin(async move { face.serve(entry, call).await })
        });
        route.with_head_check(move |call| checker.check_head(entry, call))
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
    async fn serve(self: &Arc<Placement>, entry: &'static RouteEntry, call: Call) -> Reply {
        let request_id = request_id(call.request_id());
        let version = match self.admit(entry, &call) {
            Ok(version) => version,
            Err(refused) => return refused.reply(&call),
        };
        let below = call.head.uri.path().strip_prefix(MOUNT);
        let is_below = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let prefix = if is_below { MOUNT } else { "" };
        let request = Arc::new(PlacementRequest { call, version, prefix });
        let reply = match self.run(entry, &request).await {
            Ok(shown) => shown.reply(&request),
            Err(error) => error.reply(&request.context(&request_id)),
        };
        named(reply, &request_id)
    }

    fn check_head(&self, entry: &RouteEntry, call: &Call) -> Result<(), Reply> {
        self.admit(entry, call).map(drop).map_err(|refused| refused.reply(call))
    }

    /// The checks before a handler runs, which need no body. Returns the version.
    fn admit(&self, entry: &RouteEntry, call: &Call) -> Result<Microversion, NotAdmitted> {
        let version = Microversion::of(&call.head.headers)
            .map_err(|error| NotAdmitted { version: None, error })?;
        self.check(entry, call, version)
            .map(|()| version)
            .map_err(|error| NotAdmitted { version: Some(version), error })
    }

    fn check(&self, entry: &RouteEntry, call: &Call, version: Microversion) -> PlacementResult<()> {
        let headers = &call.head.headers;
        if lacks_type(headers) {
            return Err(untyped());
        }
        if !version.has(entry.since) {
            // Only for this feature does the path exist with another method.
            let status = match entry.since {
                Feature::DeleteInventories => StatusCode::METHOD_NOT_ALLOWED,
                _ => StatusCode::NOT_FOUND,
            };
            return Err(PlacementError::new(status, ""));
        }
        let reads_json = match entry.takes {
            RouteContent::Json => true,
            RouteContent::JsonBefore(feature) => !version.has(feature),
            RouteContent::Nothing | RouteContent::AcceptJson => false,
        };
        if reads_json {
            check_type(headers)?;
        }
        if entry.takes == RouteContent::AcceptJson && !Accept::of(headers).takes_json() {
            let message = "Only application/json is provided";
            return Err(PlacementError::new(StatusCode::NOT_ACCEPTABLE, message));
        }
        let Some(rule) = entry.rule else { return Ok(()) };
        let text = call.head.uri.query().unwrap_or_default();
        let query = (rule == TOTAL_USAGES).then(|| QueryString::read(text));
        let project = query.as_ref().and_then(|query| query.last("project_id"));
        let writes = matches!(entry.run, Handler::Write(_));
        self.policy.check(call.identity(), rule, writes, project)
    }

    async fn run(
        self: &Arc<Placement>,
        entry: &RouteEntry,
        request: &Arc<PlacementRequest>,
    ) -> HandlerResult {
        match entry.run {
            Handler::ReadLong(read) => {
                self.wait_for_position(request).await?;
                self.read_long(read, request).await
            }
            Handler::Read(read) => {
                self.wait_for_position(request).await?;
                read(self, request)
            }
            Handler::Write(write) => write(self, request).await,
        }
    }

    /// Waits until reads have the consistency that the request's headers ask for.
    async fn wait_for_position(&self, request: &PlacementRequest) -> PlacementResult<()> {
        let Consistency { linearizable, min_position } = Consistency::of(&request.call)
            .map_err(|problem| PlacementError::bad_request(problem.detail))?;
        let waited = self.handle.wait_for_read(linearizable, min_position).await;
        waited.map_err(|why| refusals::failure(&why))
    }
}

/// Why a request does not reach its handler.
struct NotAdmitted {
    /// `None` if the request has no valid version.
    version: Option<Microversion>,
    error: PlacementError,
}

impl NotAdmitted {
    fn reply(&self, call: &Call) -> Reply {
        let request_id = request_id(call.request_id());
        let (method, headers, version) = (&call.head.method, &call.head.headers, self.version);
        let context = ReplyContext { method, headers, request_id: &request_id, version };
        named(self.error.reply(&context), &request_id)
    }
}

fn check_type(headers: &HeaderMap) -> PlacementResult<()> {
    let given = headers.get(CONTENT_TYPE).and_then(|given| given.to_str().ok());
    let essence = given.and_then(|given| given.split(';').next()).unwrap_or_default().trim();
    if essence == JSON {
        return Ok(());
    }
    let shown = if essence.is_empty() { "None" } else { essence };
    Err(PlacementError::new(
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
