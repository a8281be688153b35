//! Which role an edit or a call needs, by what it does: whatever its form, one that defines, changes or removes pools needs
//! the role admin, and one that allocates or releases needs the role writer.

use std::sync::Arc;
use std::time::Duration;

use allod_edge::{App, Guard, HttpLimits, Role};
use allod_engine::{Config, Engine};
use allod_face_restconf::id_manager::{self, IdManager};
use allod_face_restconf::resource_pools::{self, ResourcePools};
use allod_face_restconf::yang::{Schema, embedded};
use allod_face_restconf::{Restconf, RestconfSettings};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use http::Request;
use http_body_util::{BodyExt, Full};

const JSON: &str = "application/yang-data+json";
const PATCH: &str = "application/yang-patch+json";

/// A server with both models. It has the id-manager's pool `ids`, in which `held` holds an id, and the resource-manager's
/// pools `vlans` and `ext`, each with the request `asked`; the second one has an external allocator.
struct Fixture {
    app: App,
    _engine: Engine,
}

impl Fixture {
    async fn new() -> Fixture {
        let journal = Arc::new(MemoryStorage::new().open());
        let checkpoints = Arc::new(MemoryCheckpoints::new());
        let engine = Engine::start(journal, checkpoints, Config::default()).unwrap();
        let handle = engine.handle();
        while !handle.status().ready {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let modules = [embedded::PROTOCOL, id_manager::MODULES, resource_pools::MODULES];
        let schema = Arc::new(Schema::compile(&modules.concat()).unwrap());
        let ids = IdManager::new(schema.clone(), Default::default()).unwrap();
        let requests = ResourcePools::new(schema.clone()).unwrap();
        let models = vec![Arc::new(ids) as Arc<_>, Arc::new(requests) as Arc<_>];
        let face = Restconf::new(handle, RestconfSettings::default(), schema, models).unwrap();
        let app = App::new(face.routes(), HttpLimits::default()).unwrap();
        let app = app.with_guard(Guard::NoAuth2).error_format("/restconf", face.error_format());
        let fixture = Fixture { app, _engine: engine };
        for (path, body) in [
            (
                "operations/id-manager:createIdPool",
                r#"{"input":{"pool-name":"ids","low":1,"high":50}}"#,
            ),
            (
                "operations/id-manager:allocateId",
                r#"{"input":{"pool-name":"ids","id-key":"held"}}"#,
            ),
            (
                "data/resource-allocator:resource-pools",
                r#"{"id-allocator:id-pool":[{"name":"vlans","range":{"start":1,"end":9}}]}"#,
            ),
            (
                "data/resource-allocator:resource-pools",
                r#"{"id-allocator:id-pool":[{"name":"ext","range":{"start":1,"end":9},"allocator":"external"}]}"#,
            ),
            (
                "data/resource-allocator:resource-pools/id-pool=ext",
                r#"{"id-allocator:allocation":[{"id":"asked","username":"admin","request":{}}]}"#,
            ),
            (
                "data/resource-allocator:resource-pools/id-pool=vlans",
                r#"{"id-allocator:allocation":[{"id":"asked","username":"admin","request":{}}]}"#,
            ),
        ] {
            let made = fixture.ask(Some(Role::Admin), "POST", path, JSON, body).await;
            assert!(made.0 < 300, "{path}: {made:?}");
        }
        fixture
    }

    async fn ask(
        &self,
        role: Option<Role>,
        method: &str,
        path: &str,
        kind: &str,
        body: &str,
    ) -> (u16, String) {
        let mut request = Request::builder().method(method).uri(format!("/restconf/{path}"));
        if let Some(role) = role {
            let roles = match role {
                Role::Reader => "reader",
                Role::Allocator => "allocator",
                Role::Writer => "service",
                Role::Admin => "admin",
            };
            request = request.header("x-auth-token", "u").header("x-roles", roles);
        }
        if !body.is_empty() {
            request = request.header("content-type", kind);
        }
        let reply = self.app.answer(request.body(Full::from(body.to_owned())).unwrap()).await;
        let status = reply.status().as_u16();
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    /// The data of both models.
    async fn data(&self) -> String {
        let mut all = String::new();
        for path in ["config/id-manager:id-pools", "data/resource-allocator:resource-pools"] {
            all.push_str(&self.ask(Some(Role::Reader), "GET", path, JSON, "").await.1);
        }
        all
    }
}

/// One request, and the least role that may send it.
struct EditCase {
    method: &'static str,
    path: &'static str,
    kind: &'static str,
    body: String,
    needed: Role,
}

fn patch(edits: &[&str]) -> String {
    let edits = edits.iter().enumerate().map(|(n, edit)| format!(r#"{{"edit-id":"e{n}",{edit}}}"#));
    let edits = edits.collect::<Vec<_>>().join(",");
    format!(r#"{{"ietf-yang-patch:yang-patch":{{"patch-id":"p","edit":[{edits}]}}}}"#)
}

fn cases() -> Vec<EditCase> {
    const IDS: &str = "data/id-manager:id-pools";
    const POOLS: &str = "data/resource-allocator:resource-pools";
    const RANGE: &str = r#""available-ids-holder":{"start":60,"end":90,"cursor":59}"#;
    let new_ids = format!(
        r#"{{"pool-name":"new","block-size":5,{RANGE},"released-ids-holder":{{"available-id-count":0,"delayed-time-sec":0}}}}"#
    );
    let new_vlans = r#"{"name":"new","range":{"start":1,"end":9}}"#;
    let one = |name: &str, body: &str| format!(r#"{{"{name}":[{body}]}}"#);
    let of =
        |method, path, body: String, needed| EditCase { method, path, kind: JSON, body, needed };
    let patched = |path, edits: &[&str], needed| EditCase {
        method: "PATCH",
        path,
        kind: PATCH,
        body: patch(edits),
        needed,
    };
    let text = |text: &str| text.to_owned();
    let value = format!(
        r#""operation":"create","target":"/id-pool=new","value":{{"id-manager:id-pool":[{new_ids}]}}"#
    );
    let input = |leaves: &str| format!(r#"{{"input":{{{leaves}}}}}"#);
    use Role::{Admin, Allocator, Writer};
    const RESPONSE: &str =
        "data/resource-allocator:resource-pools/id-pool=ext/allocation=asked/response";
    vec![
        // The id-manager: pools.
        of("DELETE", "config/id-manager:id-pools", text(""), Admin),
        of("DELETE", "data/id-manager:id-pools", text(""), Admin),
        of("DELETE", "data/id-manager:id-pools/id-pool=ids", text(""), Admin),
        of("DELETE", "config/id-manager:id-pools/id-pool/ids", text(""), Admin),
        of("PUT", IDS, text(r#"{"id-manager:id-pools":{}}"#), Admin),
        of("POST", IDS, one("id-manager:id-pool", &new_ids), Admin),
        of(
            "PUT",
            "data/id-manager:id-pools/id-pool=new",
            one("id-manager:id-pool", &new_ids),
            Admin,
        ),
        of("PATCH", IDS, format!(r#"{{"id-manager:id-pools":{{"id-pool":[{new_ids}]}}}}"#), Admin),
        of(
            "PUT",
            "data/id-manager:id-pools/id-pool=ids/block-size",
            text(r#"{"id-manager:block-size":7}"#),
            Admin,
        ),
        of(
            "PATCH",
            "data/id-manager:id-pools/id-pool=ids",
            text(r#"{"id-manager:id-pool":[{"pool-name":"ids","block-size":7}]}"#),
            Admin,
        ),
        patched(IDS, &[&value], Admin),
        patched(IDS, &[r#""operation":"remove","target":"/id-pool=ids""#], Admin),
        patched(
            IDS,
            &[
                r#""operation":"delete","target":"/id-pool=ids/id-entries=held""#,
                r#""operation":"delete","target":"/id-pool=ids""#,
            ],
            Admin,
        ),
        of(
            "POST",
            "operations/id-manager:createIdPool",
            input(r#""pool-name":"new","low":1,"high":9"#),
            Admin,
        ),
        of(
            "POST",
            "operations/id-manager:createIdPool",
            input(r#""pool-name":"ids","low":1,"high":50"#),
            Admin,
        ),
        of("POST", "operations/id-manager:deleteIdPool", input(r#""pool-name":"ids""#), Admin),
        // The id-manager: ids.
        of(
            "POST",
            "operations/id-manager:allocateId",
            input(r#""pool-name":"ids","id-key":"new""#),
            Writer,
        ),
        of(
            "POST",
            "operations/id-manager:allocateIdRange",
            input(r#""pool-name":"ids","id-key":"new","size":2"#),
            Writer,
        ),
        of(
            "POST",
            "operations/id-manager:releaseId",
            input(r#""pool-name":"ids","id-key":"held""#),
            Writer,
        ),
        of("DELETE", "data/id-manager:id-pools/id-pool=ids/id-entries=held", text(""), Writer),
        of(
            "PUT",
            "data/id-manager:id-pools/id-pool=ids/id-entries=new",
            text(r#"{"id-manager:id-entries":[{"id-key":"new","id-value":[40]}]}"#),
            Writer,
        ),
        of(
            "PATCH",
            "data/id-manager:id-pools/id-pool=ids",
            text(
                r#"{"id-manager:id-pool":[{"pool-name":"ids","id-entries":[{"id-key":"new","id-value":[40]}]}]}"#,
            ),
            Writer,
        ),
        patched(IDS, &[r#""operation":"remove","target":"/id-pool=ids/id-entries=held""#], Writer),
        // The resource-manager: pools.
        of("DELETE", POOLS, text(""), Admin),
        of("DELETE", "data/resource-allocator:resource-pools/id-pool=vlans", text(""), Admin),
        of("PUT", POOLS, text(r#"{"resource-allocator:resource-pools":{}}"#), Admin),
        of("POST", POOLS, one("id-allocator:id-pool", new_vlans), Admin),
        of(
            "PUT",
            "data/resource-allocator:resource-pools/id-pool=new",
            one("id-allocator:id-pool", new_vlans),
            Admin,
        ),
        of(
            "PUT",
            "data/resource-allocator:resource-pools/id-pool=vlans/range/end",
            text(r#"{"id-allocator:end":20}"#),
            Admin,
        ),
        of(
            "PATCH",
            "data/resource-allocator:resource-pools/id-pool=vlans",
            text(r#"{"id-allocator:id-pool":[{"name":"vlans","range":{"start":1,"end":20}}]}"#),
            Admin,
        ),
        of(
            "POST",
            "data/resource-allocator:resource-pools/id-pool=vlans",
            text(r#"{"id-allocator:exclude":[{"start":7,"end":8}]}"#),
            Admin,
        ),
        patched(POOLS, &[r#""operation":"remove","target":"/id-allocator:id-pool=vlans""#], Admin),
        // The resource-manager: requests.
        of(
            "POST",
            "data/resource-allocator:resource-pools/id-pool=vlans",
            text(r#"{"id-allocator:allocation":[{"id":"new","username":"admin","request":{}}]}"#),
            Writer,
        ),
        of(
            "DELETE",
            "data/resource-allocator:resource-pools/id-pool=vlans/allocation=asked",
            text(""),
            Writer,
        ),
        of(
            "PATCH",
            "data/resource-allocator:resource-pools/id-pool=vlans",
            text(
                r#"{"id-allocator:id-pool":[{"name":"vlans","allocation":[{"id":"new","username":"admin","request":{}}]}]}"#,
            ),
            Writer,
        ),
        patched(
            POOLS,
            &[r#""operation":"remove","target":"/id-allocator:id-pool=vlans/allocation=asked""#],
            Writer,
        ),
        // The resource-manager: responses of an external allocator.
        of("PUT", RESPONSE, text(r#"{"id-allocator:response":{"id":4}}"#), Allocator),
        of("PATCH", RESPONSE, text(r#"{"id-allocator:response":{"error":"no"}}"#), Allocator),
        of(
            "PUT",
            "data/resource-allocator:resource-pools/id-pool=ext/allocation=asked",
            text(r#"{"id-allocator:allocation":[{"id":"asked","username":"bob"}]}"#),
            Writer,
        ),
        of(
            "POST",
            "data/resource-allocator:rm-action/sync-alloc-id",
            input(r#""pool":"vlans","allocid":"new","user":"admin","owner":"/s""#),
            Writer,
        ),
    ]
}

/// What is wrong with the answer to this role, if anything.
async fn wrong(case: &EditCase, role: Option<Role>) -> Option<String> {
    let EditCase { method, path, kind, body, needed } = case;
    let fixture = Fixture::new().await;
    let before = fixture.data().await;
    let (status, reply) = fixture.ask(role, method, path, kind, body).await;
    let right = if role.is_some_and(|role| role.includes(*needed)) {
        status < 300
    } else {
        let why = match role {
            Some(Role::Writer) => {
                format!("the role {} is required; the token 'u' has the role writer", needed.name())
            }
            _ => "access-denied".to_owned(),
        };
        let refused = status == if role.is_none() { 401 } else { 403 };
        refused && reply.contains(&why) && fixture.data().await == before
    };
    (!right).then(|| format!("{method} {path} {body} as {role:?}: {status} {reply}"))
}

#[tokio::test]
async fn role_is_checked_against_what_an_edit_does() {
    let mut all = Vec::new();
    for case in cases() {
        for role in [None].into_iter().chain(Role::ALL.map(Some)) {
            all.extend(wrong(&case, role).await);
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[tokio::test]
async fn removing_a_pool_releases_everything_in_it() {
    let fixture = Fixture::new().await;
    for path in ["data/id-manager:id-pools", "data/resource-allocator:resource-pools"] {
        let (status, reply) = fixture.ask(Some(Role::Admin), "DELETE", path, JSON, "").await;
        assert!(status < 300, "{path}: {status} {reply}");
        let (status, _) = fixture.ask(Some(Role::Admin), "GET", path, JSON, "").await;
        assert_eq!(status, 404, "{path}");
    }
    // The name can be used again, and nothing of the old pool is left in it.
    let create = r#"{"input":{"pool-name":"ids","low":1,"high":50}}"#;
    let allocate = r#"{"input":{"pool-name":"ids","id-key":"other"}}"#;
    for (rpc, body, wanted) in
        [("createIdPool", create, ""), ("allocateId", allocate, "\"id-value\":1}")]
    {
        let path = format!("operations/id-manager:{rpc}");
        let (status, reply) = fixture.ask(Some(Role::Admin), "POST", &path, JSON, body).await;
        assert!(status < 300 && reply.contains(wanted), "{rpc}: {status} {reply}");
    }
}

#[tokio::test]
async fn body_without_a_content_type_is_refused() {
    let fixture = Fixture::new().await;
    let body = r#"{"input":{"pool-name":"ids","id-key":"held"}}"#;
    let path = "operations/id-manager:releaseId";
    for kind in ["", "text/plain", "application/x-www-form-urlencoded"] {
        let before = fixture.data().await;
        let (status, reply) = fixture.ask(Some(Role::Admin), "POST", path, kind, body).await;
        assert_eq!(status, 415, "{kind}: {reply}");
        assert!(reply.contains("\"error-tag\":\"invalid-value\""), "{kind}: {reply}");
        assert_eq!(fixture.data().await, before, "{kind}");
    }
}
