//! Authorisation on Placement's routes, for each kind of authentication.

use std::collections::BTreeMap;
use std::sync::Arc;

use allod_edge::auth::{Secret, TokenEntry};
use allod_edge::{App, Guard, HttpLimits, Role, Tokens};
use allod_engine::{Config, Engine};
use allod_face_placement::{Placement, PlacementSettings, PolicySettings};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use http::Request;
use http_body_util::{BodyExt, Full};

struct World {
    app: App,
    _engine: Engine,
}

impl World {
    async fn new(guard: Guard, rules: &[(&str, &str)]) -> World {
        let journal = Arc::new(MemoryStorage::new().open());
        let engine =
            Engine::start(journal, Arc::new(MemoryCheckpoints::new()), Config::default()).unwrap();
        let handle = engine.handle();
        while !handle.status().ready {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        let rules = rules.iter().map(|(name, rule)| ((*name).to_owned(), (*rule).to_owned()));
        let rules: BTreeMap<String, String> = rules.collect();
        let policy = PolicySettings { rules, ..PolicySettings::default() };
        let settings = PlacementSettings { policy, ..PlacementSettings::default() };
        let placement = Placement::new(handle, settings).unwrap();
        let app = App::new(placement.routes(), HttpLimits::default()).unwrap();
        World {
            app: app.with_guard(guard).error_format("/", Placement::error_format()),
            _engine: engine,
        }
    }

    async fn request(
        &self,
        token: Option<&str>,
        method: &str,
        path: &str,
        body: &str,
    ) -> (u16, String) {
        let mut request = Request::builder().method(method).uri(path);
        request = request.header("openstack-api-version", "placement latest");
        if let Some(token) = token {
            request = request.header("x-auth-token", token);
        }
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        let reply = self.app.answer(request.body(Full::from(body.to_owned())).unwrap()).await;
        let status = reply.status().as_u16();
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }
}

/// A token file with one token for each role and one that is limited to some pools; returns it with the tokens.
fn tokens(folder: &std::path::Path) -> (Guard, Vec<Secret>) {
    let (mut secrets, mut file) = (Vec::new(), String::new());
    let roles = Role::ALL.into_iter().map(|role| (role, None));
    for (role, scope) in roles.chain([(Role::Admin, Some("tenant/".to_owned()))]) {
        let secret = Secret::generate().unwrap();
        let (name, digest) = (format!("{}-{scope:?}", role.name()), secret.digest());
        file.push_str(&TokenEntry { name, role, scope, expires_ms: None, digest }.table("pools"));
        secrets.push(secret);
    }
    let path = folder.join("tokens.toml");
    std::fs::write(&path, file).unwrap();
    (Guard::Tokens(Tokens::open(&path, "pools").unwrap()), secrets)
}

const PROVIDER: &str = r#"{"name":"x"}"#;
const RESHAPE: &str = r#"{"inventories":{},"allocations":{}}"#;

#[tokio::test]
async fn the_role_of_a_token_decides_what_it_may_do() {
    let folder = tempfile::tempdir().unwrap();
    let (guard, secrets) = tokens(folder.path());
    let world = World::new(guard, &[]).await;
    let (list, create, reshape) = (
        ("GET", "/resource_providers", ""),
        ("POST", "/resource_providers", PROVIDER),
        ("POST", "/placement/reshaper", RESHAPE),
    );
    // An authorised but invalid request gets 400, not 403.
    for (secret, statuses) in secrets.iter().zip([
        [200, 403, 403],
        [200, 403, 403],
        [200, 200, 400],
        [200, 409, 400],
        [403, 403, 403],
    ]) {
        for ((method, path, body), wanted) in [list, create, reshape].into_iter().zip(statuses) {
            let (status, reply) = world.request(Some(secret.reveal()), method, path, body).await;
            assert_eq!(status, wanted, "{method} {path}: {reply}");
        }
    }
    let (status, reply) = world.request(Some("allod_nonsense"), "GET", "/usages", "").await;
    assert!(status == 401 && reply.contains("\"code\":\"401 Unauthorized\""), "{reply}");
    assert_eq!(world.request(None, "GET", "/nothing", "").await.0, 401);
    assert_eq!(world.request(None, "GET", "/", "").await.0, 200);
}

#[tokio::test]
async fn a_configured_rule_applies_to_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let (guard, secrets) = tokens(folder.path());
    let rules = [
        ("placement:resource_providers:list", "role:admin"),
        ("placement:resource_providers:create", "role:reader"),
    ];
    let world = World::new(guard, &rules).await;
    for (secret, list, create) in
        [(&secrets[0], 403, 200), (&secrets[2], 403, 409), (&secrets[3], 200, 409)]
    {
        let token = Some(secret.reveal());
        assert_eq!(world.request(token, "GET", "/resource_providers", "").await.0, list);
        let (status, reply) = world.request(token, "POST", "/resource_providers", PROVIDER).await;
        assert_eq!(status, create, "{reply}");
    }
}

#[tokio::test]
async fn without_authentication_everything_is_allowed() {
    let world = World::new(Guard::Disabled, &[("placement:usages", "!")]).await;
    assert_eq!(world.request(None, "POST", "/resource_providers", PROVIDER).await.0, 200);
    assert_eq!(world.request(None, "POST", "/reshaper", RESHAPE).await.0, 400);
    assert_eq!(world.request(None, "GET", "/usages?project_id=x", "").await.0, 200);
}

#[tokio::test]
async fn large_body_of_a_client_without_access_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let (guard, secrets) = tokens(folder.path());
    let world = World::new(guard, &[]).await;
    let request = Request::post("/resource_providers").header("x-auth-token", secrets[0].reveal());
    let request =
        request.header("content-type", "application/json").header("expect", "100-continue");
    let unread = Full::<bytes::Bytes>::from(vec![b' '; 100_000]).map_frame(|frame| {
        assert!(!frame.is_data(), "the body was read");
        frame
    });
    let reply = world.app.answer(request.body(unread).unwrap()).await;
    assert_eq!(reply.status(), 403);
}

#[tokio::test]
async fn body_without_a_content_type_is_refused_as_in_placement() {
    let world = World::new(Guard::Disabled, &[]).await;
    // With and without a length.
    for length in [Some("12"), None] {
        let mut request = Request::post("/resource_providers");
        if let Some(length) = length {
            request = request.header("content-length", length);
        }
        let reply = world.app.answer(request.body(Full::from(PROVIDER)).unwrap()).await;
        assert_eq!(reply.status(), 400);
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8_lossy(&body);
        assert!(body.contains("content-type header required when content-length > 0"), "{body}");
    }
}
