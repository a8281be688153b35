//! Authorisation of every route for every kind of caller, as the route's entry in the table says.
//!
//! New routes are included automatically. The table of routes and roles in `docs/guides/security.md` is checked against the
//! same entries (`ALLOD_UPDATE_GOLDEN=1 cargo test` rewrites it).

use std::path::Path;
use std::sync::Arc;

use allod_core::limits::Limits as CoreLimits;
use allod_core::view;
use allod_edge::auth::{Secret, TokenEntry};
use allod_edge::{Access, App, Exporter, Guard, HttpLimits, Ready, Role, Route, Tokens};
use allod_engine::{Config, Engine, Handle};
use allod_face_native::{Native, RouteRule, ScopeRule, WaitLimits, rules};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};

use crate::{reported, stock, stream, wanted};

/// The pool scope of a caller's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pools {
    All,
    /// Includes the pool of the request.
    Own,
    /// Does not include the pool of the request.
    Others,
}

impl Pools {
    fn prefix(self) -> Option<&'static str> {
        match self {
            Pools::All => None,
            Pools::Own => Some("tenant-a/"),
            Pools::Others => Some("tenant-b/"),
        }
    }
}

/// A token of each role and scope, and no token.
fn callers() -> Vec<Option<(Role, Pools)>> {
    let sets = [Pools::All, Pools::Own, Pools::Others];
    let known = Role::ALL.into_iter().flat_map(|role| sets.map(|pools| Some((role, pools))));
    [None].into_iter().chain(known).collect()
}

/// A server with a pool and a claim for each of two tenants, and a provider.
struct Fixture {
    app: App,
    tokens: Vec<(Role, Pools, Secret)>,
    /// The number of the one notice in the outbox.
    notice: String,
    handle: Handle,
    _engine: Engine,
    _folder: tempfile::TempDir,
}

struct Always;

impl Ready for Always {
    fn ready(&self) -> Result<Option<String>, String> {
        Ok(None)
    }
}

/// The routes of the edge.
fn edge_routes() -> Vec<Route> {
    allod_edge::health_routes(Arc::new(Always), Exporter::install())
}

impl Fixture {
    async fn new() -> Fixture {
        Fixture::waiting(WaitLimits::default()).await
    }

    /// With other limits of the time that requests wait for an authority.
    async fn waiting(wait: WaitLimits) -> Fixture {
        let journal = Arc::new(MemoryStorage::new().open());
        let checkpoints = Arc::new(MemoryCheckpoints::new());
        let folder = tempfile::tempdir().unwrap();
        let limits = CoreLimits { outbox_max: 10, ..CoreLimits::default() };
        let index = Some(folder.path().join("index"));
        let config = Config { index, limits, ..Config::default() };
        let engine = Engine::start(journal, checkpoints, config).unwrap();
        let handle = engine.handle();
        while !handle.status().ready {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        stock::provide(&handle, &format!("{PROVIDER} host-1 VCPU=8")).await;
        for line in ["pool full 1-1", "ask full a /service", "drop full"] {
            wanted::tell(&handle, line).await;
        }
        let notice =
            handle.read(|snapshot| view::outbox(snapshot.state).from(0).next().unwrap().name());
        let notice = notice.unwrap();
        let native = Native::new(
            handle.clone(),
            vec![("key_bytes_max", 1024)],
            Default::default(),
            wait,
            Default::default(),
        );
        let (mut tokens, mut file) = (Vec::new(), String::new());
        for (role, pools) in callers().into_iter().flatten() {
            let secret = Secret::generate().unwrap();
            let name = format!("{}-{pools:?}", role.name());
            let scope = pools.prefix().map(str::to_owned);
            let digest = secret.digest();
            let entry = TokenEntry { name, role, scope, expires_ms: None, digest };
            file.push_str(&entry.table("pools"));
            tokens.push((role, pools, secret));
        }
        let path = folder.path().join("tokens.toml");
        std::fs::write(&path, file).unwrap();
        let guard = Guard::Tokens(Tokens::open(&path, "pools").unwrap());
        let mut routes = edge_routes();
        routes.extend(native.routes());
        let app = App::new(routes, HttpLimits::default()).unwrap().with_guard(guard);
        let world = Fixture { app, tokens, notice, handle, _engine: engine, _folder: folder };
        let admin = Some((Role::Admin, Pools::All));
        let (status, reply) =
            world.ask(admin, &Method::PUT, "/v1/authorities/inventory", AUTHORITY).await;
        assert_eq!(status, 201, "{reply}");
        // A look-up that has drifted, so that it can be accepted.
        let look_up = tokio::spawn(put_look_up(world.handle.clone()));
        let (status, reply) = world.ask(admin, &Method::PUT, LOOK_UP, r#"{"policy":"ask"}"#).await;
        assert!((200..300).contains(&status), "{reply}");
        look_up.await.unwrap();
        // Findings, so that they can be settled. A later reconciliation is not waited for.
        let found = tokio::spawn(find_orphan(world.handle.clone()));
        let path = "/v1/authorities/inventory/reconcile";
        let (status, reply) = world.ask(admin, &Method::POST, path, "").await;
        assert!((200..300).contains(&status), "{reply}");
        found.await.unwrap();
        for tenant in ["a", "b"] {
            let pool = format!("/v1/pools/tenant-{tenant}%2Fvlans-outside");
            let body = r#"{"kind":"id32","authority":"inventory"}"#;
            let (status, reply) = world.ask(admin, &Method::PUT, &pool, body).await;
            assert_eq!(status, 201, "{reply}");
            let claim =
                (format!("{pool}/claims/wanted"), format!(r#"{{"owner":"owner-{tenant}"}}"#));
            let (status, reply) = world.ask(admin, &Method::PUT, &claim.0, &claim.1).await;
            assert_eq!(status, 202, "{reply}");
            let pool = format!("/v1/pools/tenant-{tenant}%2Fvlans");
            let claim = format!(r#"{{"owner":"owner-{tenant}","ttl":3600}}"#);
            for (path, body) in [(pool.clone(), POOL), (format!("{pool}/claims/held"), &claim)] {
                let admin = Some((Role::Admin, Pools::All));
                let (status, reply) = world.ask(admin, &Method::PUT, &path, body).await;
                assert_eq!(status, 201, "{reply}");
            }
        }
        let allocate = format!(
            r#"{{"ops":[{{"allocate":{{"consumer":"{CONSUMER}","project":"p","user":"u","allocations":{{"{PROVIDER}":{{"VCPU":1}}}}}}}}]}}"#
        );
        let admin = Some((Role::Admin, Pools::All));
        let (status, reply) = world.ask(admin, &Method::POST, "/v1/transactions", &allocate).await;
        assert_eq!(status, 200, "{reply}");
        world
    }

    async fn ask(
        &self,
        caller: Option<(Role, Pools)>,
        method: &Method,
        path: &str,
        body: &str,
    ) -> (u16, String) {
        let mut request = Request::builder().method(method).uri(path);
        request = request.header("content-type", "application/json");
        if let Some(caller) = caller {
            let token = self.tokens.iter().find(|(role, pools, _)| (*role, *pools) == caller);
            let token = token.unwrap().2.reveal();
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Full::from(body.to_owned())).unwrap();
        let reply = self.app.answer(request).await;
        let status = reply.status().as_u16();
        (status, stream::text(reply).await)
    }
}

const PROVIDER: &str = "00000000-0000-4000-8000-000000000001";
const CONSUMER: &str = "00000000-0000-4000-8000-0000000000c1";
/// Placeholder for the number of the notification, which differs in each fixture.
const NOTICE: &str = "NOTICE";
/// Placeholder for the reference of the claim in `tenant-a/vlans-outside`.
const REFERENCE: &str = "REFERENCE";
const AUTHORITY: &str = r#"{"kind":"http","url":"http://127.0.0.1:9"}"#;
const LOOK_UP: &str = "/v1/lookups/inventory/site";
const POOL: &str = r#"{"kind":"id32","ranges":["1-9"]}"#;

/// The answers of the authority to the look-up.
async fn put_look_up(handle: Handle) {
    for report in ["seen 1", "seen 2"] {
        reported::report(&handle, &format!("lookup inventory site {report}")).await;
    }
}

async fn find_orphan(handle: Handle) {
    reported::report(&handle, "reconciled inventory orphan 9").await;
}

/// A valid request to the route, for the pool `tenant-a/vlans`.
fn sample(rule: &RouteRule) -> (String, &'static str) {
    let path = rule.path.replace("{pool}", "tenant-a%2Fvlans");
    let path = path.replace("{key}", "held").replace("{*value}", "1");
    let path = path.replace("{provider}", PROVIDER).replace("{consumer}", CONSUMER);
    let path = path.replace("{number}", NOTICE);
    let path = path.replace("{authority}", "inventory").replace("{reference}", REFERENCE);
    assert!(!path.contains('{'), "{path}: say here what stands for its parameter");
    let body = match rule.name {
        "putPool" => POOL,
        "putClaim" => r#"{"owner":"owner-a","ttl":3600}"#,
        "renewClaim" => r#"{"ttl":60}"#,
        "deleteClaim" | "confirmClaim" => "",
        // `tenant-a/vlans` has a claim, so another pool is deleted.
        "deletePool" => return (path.replace("vlans", "empty"), ""),
        "putAuthority" => AUTHORITY,
        "deleteAuthority" => return (path.replace("inventory", "unused"), ""),
        "resolveClaim" => r#"{"gone":true}"#,
        "reconcileAuthority" => "",
        "settleFindings" => {
            r#"{"reference":"5d3c1f0a-7be2-8a41-9c6d-000000000009","action":"release"}"#
        }
        _ if path.starts_with("/v1/lookups/") => return (path.replace("held", "site"), ""),
        "postHints" => r#"{"keys":["site"]}"#,
        "postTransaction" => {
            r#"{"ops":[{"check":{"pool":{"pool":"tenant-a/vlans"}}},{"claim":{"pool":"tenant-a/vlans","key":"new"}}]}"#
        }
        "purgeAlarm" => r#"{"object":"full","kind":"exhausted"}"#,
        "retryNotice" | "dropNotice" => "",
        "findCandidates" => r#"{"groups":[{"resources":{"VCPU":1}}]}"#,
        "watch" => return (format!("{path}?from=0"), ""),
        _ if rule.method == Method::GET => "",
        name => panic!("{name}: say here what its body is"),
    };
    (path, body)
}

/// The expected problem code, or `None` for success.
fn expected(
    access: Access,
    scope: ScopeRule,
    caller: Option<(Role, Pools)>,
) -> Result<(), &'static str> {
    let Some(needed) = Role::needed(access) else { return Ok(()) };
    let Some((role, pools)) = caller else { return Err("unauthenticated") };
    if !role.includes(needed) {
        return Err("not_allowed");
    }
    match (scope, pools) {
        (_, Pools::All) | (ScopeRule::NoPools | ScopeRule::Filtered, _) => Ok(()),
        (ScopeRule::PoolInPath | ScopeRule::PoolsInBody, Pools::Own) => Ok(()),
        (ScopeRule::PoolInPath | ScopeRule::PoolsInBody, Pools::Others) => Err("pool_not_allowed"),
        (ScopeRule::AllPools, Pools::Own | Pools::Others) => Err("pool_not_allowed"),
        (ScopeRule::Capacity, Pools::Own | Pools::Others) => Err("capacity_not_allowed"),
    }
}

/// A list contains the caller's tenant and not the other one.
fn check_filtered(what: &str, pools: Pools, reply: &str) {
    for (tenant, shown) in
        [("tenant-a/vlans", pools != Pools::Others), ("tenant-b/vlans", pools != Pools::Own)]
    {
        assert_eq!(reply.contains(tenant), shown, "{what}: {tenant} in {reply}");
    }
    // A token with a scope sees no capacity.
    assert!(pools == Pools::All || !reply.contains(PROVIDER), "{what}: {reply}");
    if pools == Pools::Own {
        assert!(!reply.contains("tenant-b") && !reply.contains("owner-b"), "{what}: {reply}");
    }
}

#[tokio::test]
async fn every_route_enforces_its_access_and_scope() {
    let mut asked = 0;
    for rule in rules() {
        let (path, body) = sample(&rule);
        for caller in callers() {
            // Each in its own fixture, because callers delete things.
            let wait = WaitLimits { wait_ms_max: 50, ..WaitLimits::default() };
            let world = Fixture::waiting(wait).await;
            let what = format!("{} {path} by {caller:?}", rule.method);
            let reference =
                reported::reference(&world.handle, "tenant-a/vlans-outside", "wanted").await;
            let path =
                path.replace(NOTICE, &world.notice).replace(REFERENCE, &reference.to_string());
            let (status, reply) = world.ask(caller, rule.method, &path, body).await;
            match expected(rule.access, rule.scope, caller) {
                Ok(()) => {
                    assert!((200..300).contains(&status), "{what}: {status} {reply}");
                    if let (ScopeRule::Filtered, Some((_, pools))) = (rule.scope, caller) {
                        check_filtered(&what, pools, &reply);
                    }
                }
                Err(code) => {
                    let wanted = if code == "unauthenticated" { 401 } else { 403 };
                    let code = format!("\"code\":\"{code}\"");
                    assert!(status == wanted && reply.contains(&code), "{what}: {status} {reply}");
                }
            }
            asked += 1;
        }
    }
    assert_eq!(asked, rules().len() * callers().len());
    let world = Fixture::new().await;
    for route in edge_routes() {
        for caller in callers() {
            let (status, reply) = world.ask(caller, &route.method, route.path, "").await;
            let good = expected(route.access, ScopeRule::NoPools, caller).is_ok();
            assert_eq!(status == 200, good, "{route:?} by {caller:?}: {status} {reply}");
            assert!(!reply.contains("tenant-"), "{route:?}: {reply}");
        }
    }
}

#[test]
fn pool_in_the_path_is_the_first_parameter_and_is_checked() {
    for rule in rules() {
        let first = rule.path.split('/').find(|part| part.starts_with('{'));
        let in_path = rule.path.contains("{pool}");
        assert_eq!(rule.scope == ScopeRule::PoolInPath, in_path, "{}", rule.path);
        assert!(!in_path || first == Some("{pool}"), "{}", rule.path);
        // A read whose body is too long for a query.
        let asks = rule.method == Method::GET || rule.name == "findCandidates";
        let changes = !asks;
        assert!(
            !changes || rule.access >= Access::Write,
            "{} {} changes things",
            rule.method,
            rule.path
        );
    }
}

#[tokio::test]
async fn scoped_token_cannot_use_other_pools() {
    let world = Fixture::new().await;
    let own = Some((Role::Admin, Pools::Own));
    let ask =
        async |method: Method, path: &str, body: &str| world.ask(own, &method, path, body).await;
    // Every operation of a transaction, alone and with an allowed one, and the second of two pools.
    for (op, body) in [
        (0, r#"{"claim":{"pool":"tenant-b/vlans","key":"k"}}"#),
        (0, r#"{"claim":{"pools":["tenant-a/vlans","tenant-b/vlans"],"key":"k"}}"#),
        (0, r#"{"claim":{"pool":"tenant-b/vlans","key":"k","value":7}}"#),
        (0, r#"{"release":{"pool":"tenant-b/vlans","key":"held"}}"#),
        (0, r#"{"renew":{"pool":"tenant-b/vlans","key":"held","ttl":9}}"#),
        (0, r#"{"confirm":{"pool":"tenant-b/vlans","key":"held"}}"#),
        (0, r#"{"check":{"claim":{"pool":"tenant-b/vlans","key":"held"}}}"#),
        (0, r#"{"check":{"free":{"pool":"tenant-b/vlans","value":7}}}"#),
        (0, r#"{"check":{"pool":{"pool":"tenant-b/vlans"}}}"#),
        (
            1,
            r#"{"claim":{"pool":"tenant-a/vlans","key":"k"}},{"release":{"pool":"nowhere","key":"k"}}"#,
        ),
    ] {
        let body = format!("{{\"dry_run\":true,\"ops\":[{body}]}}");
        let (status, reply) = ask(Method::POST, "/v1/transactions", &body).await;
        assert_eq!(status, 403, "{body}: {reply}");
        assert!(reply.contains(&format!("\"op\":{op}")), "{body}: {reply}");
    }
    // Every operation on capacity, alone and with an allowed one.
    for (op, body) in [
        (
            0,
            format!(
                r#"{{"allocate":{{"consumer":"{CONSUMER}","project":"p","user":"u","allocations":{{}}}}}}"#
            ),
        ),
        (
            0,
            format!(
                r#"{{"allocate":{{"consumers":[{{"consumer":"{CONSUMER}","project":"p","user":"u","allocations":{{}}}}]}}}}"#
            ),
        ),
        (0, format!(r#"{{"deallocate":{{"consumer":"{CONSUMER}"}}}}"#)),
        (0, format!(r#"{{"extend":{{"consumer":"{CONSUMER}"}}}}"#)),
        (0, format!(r#"{{"check":{{"provider":{{"provider":"{PROVIDER}"}}}}}}"#)),
        (
            1,
            format!(
                r#"{{"claim":{{"pool":"tenant-a/vlans","key":"k"}}}},{{"check":{{"consumer":{{"consumer":"{CONSUMER}"}}}}}}"#
            ),
        ),
    ] {
        let body = format!("{{\"dry_run\":true,\"ops\":[{body}]}}");
        let (status, reply) = ask(Method::POST, "/v1/transactions", &body).await;
        assert!(status == 403 && reply.contains("capacity_not_allowed"), "{body}: {reply}");
        assert!(reply.contains(&format!("\"op\":{op}")), "{body}: {reply}");
    }
    // Names that resemble the tenant's, and encodings of other names.
    for path in [
        "/v1/pools/tenant-a",
        "/v1/pools/Tenant-A%2Fvlans",
        "/v1/pools/%2e%2e%2Ftenant-b%2Fvlans",
        "/v1/pools/%74enant-b%2fvlans",
        "/v1/pools/tenant-b%2Fvlans/values/1",
        "/v1/pools/tenant-b%2Fvlans/values/1?at=3",
        "/v1/history?pool=tenant-b%2Fvlans",
        "/v1/pools/no-such-pool",
    ] {
        let (status, reply) = ask(Method::GET, path, "").await;
        assert!(status == 403 && reply.contains("pool_not_allowed"), "{path}: {status} {reply}");
    }
    let (status, reply) = ask(Method::GET, "/v1/watch?pool=tenant-b/vlans", "").await;
    assert!(status == 403 && reply.contains("pool_not_allowed"), "{status} {reply}");
    for path in ["history", "watch"] {
        for party in [format!("provider={PROVIDER}"), format!("consumer={CONSUMER}")] {
            let (status, reply) = ask(Method::GET, &format!("/v1/{path}?{party}"), "").await;
            assert!(status == 403 && reply.contains("capacity_not_allowed"), "{status} {reply}");
        }
    }
    // Lists of another tenant.
    for (path, wanted) in [
        ("/v1/pools?prefix=tenant-b", r#"{"pools":[],"next":null}"#),
        ("/v1/claims?owner_prefix=owner-b", r#"{"claims":[],"next":null}"#),
        ("/v1/history?owner=owner-b", r#"{"changes":[],"next":null,"oldest_position":0}"#),
    ] {
        assert_eq!(ask(Method::GET, path, "").await, (200, wanted.to_owned()));
    }
    for prefix in ["", "ten", "tenant-a/", "tenant-a/vl"] {
        let (_, reply) = ask(Method::GET, &format!("/v1/pools?prefix={prefix}"), "").await;
        check_filtered(prefix, Pools::Own, &reply);
    }
    // Its own pools are allowed.
    let (status, _) = ask(Method::PUT, "/v1/pools/tenant-a%2Fmore", POOL).await;
    assert_eq!(status, 201);
}

#[tokio::test]
async fn errors_of_an_authority_are_shortened_for_clients_that_are_not_admins() {
    let world = Fixture::new().await;
    let pool = "tenant-a/vlans-outside";
    let put = async |key: &str| {
        let path = format!("/v1/pools/tenant-a%2Fvlans-outside/claims/{key}");
        world.ask(Some((Role::Admin, Pools::All)), &Method::PUT, &path, "{}").await;
    };
    for (key, report) in [
        ("wanted", "failed 10.9.8.7 said SECRET"),
        ("refused", "refused taken SECRET has it"),
        ("stuck", "stuck SECRET"),
        ("conflict", "granted SECRET"),
    ] {
        put(key).await;
        reported::report(&world.handle, &format!("{pool} {key} {report}")).await;
    }
    let claim = "/v1/pools/tenant-a%2Fvlans-outside/claims";
    let paths = [
        format!("{claim}/wanted"),
        format!("{claim}/refused"),
        format!("{claim}/stuck"),
        format!("{claim}/conflict"),
        claim.to_owned(),
        "/v1/claims".to_owned(),
        "/v1/authorities".to_owned(),
        "/v1/authorities/inventory".to_owned(),
        "/v1/authorities/inventory/claims".to_owned(),
        "/v1/history".to_owned(),
        "/v1/watch?from=0".to_owned(),
    ];
    for path in paths {
        for caller in callers().into_iter().flatten() {
            let (status, reply) = world.ask(Some(caller), &Method::GET, &path, "").await;
            if status == 403 {
                continue;
            }
            assert_eq!(status, 200, "{path} by {caller:?}: {reply}");
            let full = caller == (Role::Admin, Pools::All);
            assert_eq!(reply.contains("SECRET"), full, "{path} by {caller:?}: {reply}");
        }
    }
    // A refusal, which a client gets that waits.
    for (caller, full) in [((Role::Writer, Pools::All), false), ((Role::Admin, Pools::All), true)] {
        let key = format!("late-{full}");
        let token = world.tokens.iter().find(|(role, pools, _)| (*role, *pools) == caller);
        let request = Request::put(format!("{claim}/{key}"))
            .header("authorization", format!("Bearer {}", token.unwrap().2.reveal()))
            .header("prefer", "wait=20");
        let refused = format!("{pool} {key} refused exhausted SECRET");
        let (reply, ()) = tokio::join!(
            world.app.answer(request.body(Full::<bytes::Bytes>::default()).unwrap()),
            reported::report(&world.handle, &refused)
        );
        assert_eq!(reply.status(), 409);
        let reply = stream::text(reply).await;
        assert_eq!(reply.contains("SECRET"), full, "{reply}");
    }
}

/// The table of the security guide: a row for each route.
fn table() -> String {
    let mut table = String::from("| route | least role | with a prefix |\n|---|---|---|\n");
    let edge = edge_routes();
    let edge =
        edge.iter().map(|route| (&route.method, route.path, route.access, ScopeRule::NoPools));
    let face = rules();
    let face = face.iter().map(|rule| (rule.method, rule.path, rule.access, rule.scope));
    for (method, path, access, scope) in edge.chain(face) {
        let role = Role::needed(access).map_or("none", Role::name);
        let path = path.replace("{*", "{");
        table.push_str(&format!("| `{method} {path}` | {role} | {} |\n", scope.about()));
    }
    table
}

#[test]
fn security_guide_lists_every_route() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/security.md");
    let guide = std::fs::read_to_string(&path).unwrap();
    let begin = guide.find("| route | least role |").expect("a table of routes");
    let len = guide[begin..].find("\n\n").expect("something after the table") + 1;
    let table = table();
    if std::env::var_os("ALLOD_UPDATE_GOLDEN").is_some() {
        let mut new = guide.clone();
        new.replace_range(begin..begin + len, &table);
        std::fs::write(&path, new).unwrap();
    } else {
        assert_eq!(&guide[begin..begin + len], table, "update it with ALLOD_UPDATE_GOLDEN=1");
    }
}

#[tokio::test]
async fn large_body_of_a_token_for_other_pools_is_not_read() {
    let world = Fixture::new().await;
    let caller = (Role::Writer, Pools::Others);
    let token = world.tokens.iter().find(|(role, pools, _)| (*role, *pools) == caller);
    let token = format!("Bearer {}", token.unwrap().2.reveal());
    let request =
        Request::put("/v1/pools/tenant-a%2Fvlans/claims/k").header("authorization", token);
    let request =
        request.header("content-type", "application/json").header("expect", "100-continue");
    let unread = Full::<bytes::Bytes>::from(vec![b' '; 100_000]).map_frame(|frame| {
        assert!(!frame.is_data(), "the body was read");
        frame
    });
    let reply = world.app.answer(request.body(unread).unwrap()).await;
    assert_eq!(reply.status(), 403);
    assert!(stream::text(reply).await.contains("pool_not_allowed"));
}
