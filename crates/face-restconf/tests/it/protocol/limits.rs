//! Limits, access control, and streamed replies.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use allod_edge::auth::{Secret, TokenEntry};
use allod_edge::{Guard, Role, Tokens};
use allod_face_restconf::model::YangModel;
use allod_face_restconf::yang::Schema;
use allod_face_restconf::{Restconf, RestconfSettings};
use http_body_util::BodyExt;

use crate::protocol::{Server, parse, schema};

#[tokio::test]
async fn requests_without_credentials_are_401_and_readers_may_not_write() {
    let server = Server::start(RestconfSettings::default(), Guard::NoAuth2).await;
    // The user `admin` with any password, as OpenDaylight's clients send it.
    const ADMIN: &str = "authorization: Basic YWRtaW46YWRtaW4=";
    const READER: &str = "x-auth-token: reader\nx-roles: reader";
    for (request, status, words) in [
        ("GET /restconf/data", "401", "ietf-restconf:errors"),
        ("GET /rests/data", "401", "{\"errors\":"),
        ("POST /restconf/operations/toy:knock", "401", "access-denied"),
        ("GET /restconf/nothing", "401", "access-denied"),
        ("GET /.well-known/host-meta", "200", "<Link rel='restconf' href='/restconf'/>"),
        (&format!("GET /restconf/data\n{ADMIN}"), "200", "ietf-restconf:data"),
        (&format!("GET /restconf/data\n{READER}"), "200", "ietf-restconf:data"),
        (&format!("POST /restconf/operations/toy:knock\n{ADMIN}"), "204", ""),
        (&format!("POST /restconf/operations/toy:knock\n{READER}"), "403", "access-denied"),
        (&format!("GET /restconf/nothing\n{ADMIN}"), "404", "no resource at"),
    ] {
        let (head, body) = server.ask(request).await;
        assert!(head.starts_with(status), "{request}: {head}");
        assert!(body.contains(words), "{request}: {body}");
        let challenged = head.contains("www-authenticate: Basic realm=\"allod\"");
        assert_eq!(challenged, status == "401", "{request}: {head}");
    }
}

#[tokio::test]
async fn a_token_limited_to_some_pools_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.toml");
    let secrets = [None, Some("tenant-a/".to_owned())].map(|scope| {
        let secret = Secret::generate().unwrap();
        let name = if scope.is_some() { "scoped" } else { "whole" }.to_owned();
        let digest = secret.digest();
        let entry = TokenEntry { name, role: Role::Admin, scope, expires_ms: None, digest };
        (secret, entry.table("pools"))
    });
    std::fs::write(&path, [&*secrets[0].1, &*secrets[1].1].concat()).unwrap();
    let guard = Guard::Tokens(Tokens::open(&path, "pools").unwrap());
    let server = Server::start(RestconfSettings::default(), guard).await;
    for (n, status) in [(0, "200"), (1, "403")] {
        let token = secrets[n].0.reveal();
        let request = format!("GET /restconf/data?depth=1\nauthorization: Bearer {token}");
        let (head, body) = server.ask(&request).await;
        assert!(head.starts_with(status), "{head} {body}");
        assert_eq!(body.contains("access-denied") && body.contains("'tenant-a/'"), n == 1);
    }
}

#[tokio::test]
async fn a_large_reply_is_streamed_and_a_lost_client_frees_its_permit() {
    let settings = RestconfSettings { restconf_large_reads_max: 1, ..RestconfSettings::default() };
    let server = Server::start(settings, Guard::Disabled).await;
    server.toy.people.store(100_000, Ordering::Relaxed);
    let ask = || server.app.answer(parse("GET /restconf/data/toy:crowd"));
    let mut first = ask().await;
    assert_eq!(first.status(), 200);
    let piece = first.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(piece.len() < 200 << 10, "{}", piece.len());
    let (head, body) = server.ask("GET /restconf/data/toy:crowd").await;
    assert!(head.starts_with("503") && head.contains("retry-after: 1"), "{head}");
    assert!(body.contains("restconf_large_reads_max"), "{body}");
    drop(first);
    // The writer thread notices the lost client when it sends the next part.
    let mut second = ask().await;
    for _ in 0..500 {
        if second.status() == 200 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        second = ask().await;
    }
    let all = second.into_body().collect().await.unwrap().to_bytes();
    let json: serde_json::Value = serde_json::from_slice(&all).unwrap();
    let people = json["toy:crowd"]["one"].as_array().unwrap();
    assert_eq!(people.len(), 100_000);
    assert_eq!(people[99_999]["number"], 99_999);
}

#[tokio::test]
async fn filters_apply_to_a_large_source() {
    let server = Server::start(RestconfSettings::default(), Guard::Disabled).await;
    server.toy.people.store(20_000, Ordering::Relaxed);
    let (head, body) = server.ask("GET /restconf/data/toy:crowd?content=config").await;
    assert!(head.starts_with("404"), "{head} {body}");
    let (_, body) = server.ask("GET /restconf/data/toy:crowd?fields=one/number").await;
    let json: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(json["toy:crowd"]["one"][19_999], serde_json::json!({ "number": 19_999 }));
    let (_, body) = server.ask("HEAD /restconf/data/toy:crowd").await;
    assert_eq!(body, "");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_with_the_name_of_the_limit() {
    let settings = RestconfSettings { restconf_body_bytes_max: 100, ..RestconfSettings::default() };
    let server = Server::start(settings, Guard::Disabled).await;
    let long = "x".repeat(200);
    for (path, top) in [("/restconf/data/toy:shop", "ietf-restconf:errors"), {
        ("/restconf/config/toy:shop", "\"errors\"")
    }] {
        let request = format!("PUT {path}\n{{\"toy:shop\":{{\"motto\":\"{long}\"}}}}");
        let (head, body) = server.ask(&request).await;
        assert!(head.starts_with("413"), "{head}");
        assert!(body.contains("restconf_body_bytes_max is 100"), "{body}");
        assert!(body.contains(top) && body.contains("too-big"), "{body}");
    }
}

#[tokio::test]
async fn a_long_body_is_parsed() {
    let server = Server::start(RestconfSettings::default(), Guard::Disabled).await;
    let shelf = |n| format!("{{\"name\":\"the shelf with the number {n}\",\"width\":{n}}}");
    let shelves: Vec<String> = (0..5000).map(shelf).collect();
    let body = format!("{{\"toy:shop\":{{\"shelf\":[{}]}}}}", shelves.join(","));
    assert!(body.len() > 200_000);
    let (head, _) = server.ask(&format!("PUT /restconf/data/toy:shop\n{body}")).await;
    assert!(head.starts_with("201"), "{head}");
    let (_, shown) = server.ask("GET /restconf/data/toy:shop?content=config").await;
    assert_eq!(shown, body);
    let (head, error) = server.ask(&format!("PUT /restconf/data/toy:shop\n{body}x")).await;
    assert!(head.starts_with("400") && error.contains("malformed-message"), "{head} {error}");
}

#[tokio::test]
async fn a_patch_with_too_many_edits_is_refused_with_the_name_of_the_limit() {
    let settings = RestconfSettings { edits_per_request_max: 2, ..RestconfSettings::default() };
    let (few, many) = (settings, RestconfSettings::default());
    for (settings, max) in [(few, 2), (many, 10_000)] {
        let server = Server::start(settings, Guard::Disabled).await;
        check_edits_max(&server, max).await;
    }
}

async fn check_edits_max(server: &Server, max: usize) {
    let edit = |n| {
        format!(
            "{{\"edit-id\":\"{n}\",\"operation\":\"remove\",\"target\":\"/toy:shop/shelf={n}\"}}"
        )
    };
    for (edits, status) in [(max, "200"), (max + 1, "413"), (10 * max, "413")] {
        let edits: Vec<String> = (0..edits).map(edit).collect();
        let request = format!(
            "PATCH /restconf/data\ncontent-type: application/yang-patch+json\n{{\"ietf-yang-patch:yang-patch\":{{\"patch-id\":\"p\",\"edit\":[{}]}}}}",
            edits.join(",")
        );
        let (head, body) = server.ask(&request).await;
        assert!(head.starts_with(status), "{head} {body}");
        assert_eq!(
            body.contains(&format!("more than {max} edits; edits_per_request_max is {max}")),
            status == "413"
        );
    }
}

#[tokio::test]
async fn invalid_settings_and_models_are_refused_at_start() {
    let server = Server::start(RestconfSettings::default(), Guard::Disabled).await;
    let new = |settings, models| Restconf::new(server.engine.handle(), settings, schema(), models);
    let none = RestconfSettings { plans_max: 0, ..RestconfSettings::default() };
    assert_eq!(new(none, vec![]).unwrap_err(), "plans_max is 0; at least 1 is needed");
    let toy: Arc<dyn YangModel> = server.toy.clone();
    let twice = new(RestconfSettings::default(), vec![toy.clone(), toy]).unwrap_err();
    assert_eq!(twice, "two models implement the module toy");
    let bare = Arc::new(Schema::compile(&[]).unwrap());
    let lacking = Restconf::new(server.engine.handle(), RestconfSettings::default(), bare, vec![]);
    assert!(lacking.unwrap_err().contains("ietf-yang-library"));
}
