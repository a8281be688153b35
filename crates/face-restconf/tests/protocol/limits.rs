//! What is too much, who may not, and answers that are too large to stand in memory.

use std::sync::atomic::Ordering;

use allod_edge::Guard;
use allod_face_restconf::Settings;
use http_body_util::BodyExt;

use crate::{Server, parse};

#[tokio::test]
async fn strangers_are_asked_for_a_password_and_readers_may_not_write() {
    let server = Server::start(Settings::default(), Guard::NoAuth2).await;
    // The user `admin` with any password, as OpenDaylight's clients send it.
    const ADMIN: &str = "authorization: Basic YWRtaW46YWRtaW4=";
    const READER: &str = "x-auth-token: somebody\nx-roles: reader";
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
        (&format!("GET /restconf/nothing\n{ADMIN}"), "404", "there is nothing at"),
    ] {
        let (head, body) = server.ask(request).await;
        assert!(head.starts_with(status), "{request}: {head}");
        assert!(body.contains(words), "{request}: {body}");
        let challenged = head.contains("www-authenticate: Basic realm=\"allod\"");
        assert_eq!(challenged, status == "401", "{request}: {head}");
    }
}

#[tokio::test]
async fn a_hundred_thousand_entries_are_streamed_whole_and_a_client_that_goes_frees_its_place() {
    let settings = Settings { restconf_large_reads_max: 1, ..Settings::default() };
    let server = Server::start(settings, Guard::Everybody).await;
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
    // The thread notices that nobody is there when it has the next piece.
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
async fn of_a_large_source_only_what_is_asked_for_is_shown() {
    let server = Server::start(Settings::default(), Guard::Everybody).await;
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
async fn a_body_beyond_the_limit_is_refused_with_its_name() {
    let settings = Settings { restconf_body_bytes_max: 100, ..Settings::default() };
    let server = Server::start(settings, Guard::Everybody).await;
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
async fn a_stream_too_many_waits_its_turn() {
    let settings = Settings { restconf_streams_max: 1, ..Settings::default() };
    let server = Server::start(settings, Guard::Everybody).await;
    let open = server.app.answer(parse("GET /restconf/streams/toy/json")).await;
    assert_eq!(open.status(), 200);
    let (head, body) = server.ask("GET /restconf/streams/toy/json").await;
    assert!(head.starts_with("503") && head.contains("retry-after: 5"), "{head}");
    assert!(body.contains("restconf_streams_max is 1"), "{body}");
    drop(open);
    assert_eq!(server.app.answer(parse("GET /restconf/streams/toy/json")).await.status(), 200);
}

#[tokio::test]
async fn events_are_sent_as_they_happen_and_none_is_left_out() {
    let server = Server::start(Settings::default(), Guard::Everybody).await;
    server.ask("PUT /restconf/data/toy:shop\n{\"toy:shop\":{\"motto\":\"m\"}}").await;
    let reply = server.app.answer(parse("GET /restconf/streams/allod/json")).await;
    let mut body = reply.into_body();
    let mut next = async || {
        let frame = body.frame().await.unwrap().unwrap();
        String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
    };
    assert_eq!(next().await, ": nothing new\n\n");
    for (number, customer) in [(1, "ann"), (2, "bob"), (3, "cem")] {
        let call = format!(
            "POST /restconf/operations/toy:draw\n{{\"input\":{{\"customer\":\"{customer}\"}}}}"
        );
        assert_eq!(server.ask(&call).await.1, format!("{{\"output\":{{\"number\":{number}}}}}"));
        let event = next().await;
        assert!(
            event.contains(&format!("\"customer\":\"{customer}\",\"number\":{number}")),
            "{event}"
        );
    }
}
