//! kill -9 of a server before, during and after a request to its authority.

use allod_testkit::server::Server;

use super::proxy::Moment;
use super::{Upstream, define, delete, held, start, state, text, until};
use crate::crash::server;

#[test]
fn a_kill_at_any_moment_of_a_request_leaves_the_same_on_both_sides() {
    let upstream = Upstream::start();
    let data = tempfile::tempdir().unwrap();
    let mut server = start(data.path());
    define(&server, &upstream.proxy);
    let mut keys = Vec::new();
    for moment in Moment::ALL {
        for method in ["PUT", "DELETE"] {
            let key = format!("{method}-{moment:?}");
            let path = format!("/v1/pools/p/claims/{key}");
            if method == "DELETE" {
                assert!(server.put(&path, "{}").status < 300);
                until("held", || state(&server, &key) == "held");
            }
            let catch = upstream.proxy.catch(method, moment);
            if method == "PUT" {
                assert_eq!(server.put(&path, "{}").status, 202);
            } else {
                assert_eq!(delete(&server, &key), 202);
            }
            catch.wait();
            server.kill();
            catch.release();
            server = start(data.path());
            let wanted = if method == "PUT" { "held" } else { "" };
            until(&key, || state(&server, &key) == wanted);
            keys.push(key);
            let both = (held(&server, &keys), upstream.list());
            assert_eq!(both.0, both.1, "after {method} {moment:?}");
        }
    }
}

#[test]
fn an_authority_of_the_configuration_file_is_defined_at_the_start() {
    let upstream = Upstream::start();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("allod.toml");
    std::fs::write(folder.path().join("token"), "s3cret\n").unwrap();
    let (token, url) = (folder.path().join("token"), upstream.proxy.address);
    let text = format!(
        "authority_targets = [\"127.0.0.1\"]\n[secrets]\nt = {{ file = {token:?} }}\n\
         [authorities.other]\nkind = \"allod\"\nurl = \"http://{url}\"\npool = \"up\"\nsecret = \"t\"\n"
    );
    std::fs::write(&config, text).unwrap();
    let data = folder.path().join("data");
    let mut arguments = server::arguments(&data);
    arguments.extend(["--config".to_owned(), config.to_str().unwrap().to_owned()]);
    for _ in 0..2 {
        let server = Server::of(server::allod(&arguments));
        until("it is defined", || server.get("/v1/authorities/other").status == 200);
        let shown = server.get("/v1/authorities/other").text();
        assert!(shown.contains("\"generation\":1") && !shown.contains("s3cret"), "{shown}");
        assert!(server.put("/v1/pools/p", r#"{"kind":"id32","authority":"other"}"#).status < 300);
        assert!(server.put("/v1/pools/p/claims/k", "{}").status < 300);
        until("held", || state(&server, "k") == "held");
        assert!(!server.stop().1.contains("s3cret"));
    }
}

#[test]
fn a_kill_after_the_record_loses_nothing() {
    let upstream = Upstream::start();
    let data = tempfile::tempdir().unwrap();
    let mut server = start(data.path());
    define(&server, &upstream.proxy);
    let mut keys = Vec::new();
    for n in 0..5 {
        let key = format!("k{n}");
        let path = format!("/v1/pools/p/claims/{key}");
        let answer = server.client().send("PUT", &path, &[("prefer", "wait=10")], Some("{}"));
        let answer = answer.unwrap();
        assert_eq!(answer.status, 201, "{}", answer.text());
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        server.kill();
        server = start(data.path());
        keys.push(key);
        let held = held(&server, &keys);
        assert_eq!(held[&text(&body["reference"])], body["value"].as_u64().unwrap());
        assert_eq!(held, upstream.list());
    }
    for key in &keys {
        assert_eq!(delete(&server, key), 202);
        server.kill();
        server = start(data.path());
    }
    until("all are gone", || keys.iter().all(|key| state(&server, key).is_empty()));
    assert!(upstream.list().is_empty());
}

#[test]
fn cut_connections_are_survived() {
    let upstream = Upstream::start();
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path());
    define(&server, &upstream.proxy);
    let keys: Vec<String> = (0..6).map(|n| format!("k{n}")).collect();
    for moment in [Moment::Lost, Moment::Done] {
        for key in &keys {
            upstream.proxy.catch("PUT", moment).release();
            upstream.proxy.catch("GET", moment).release();
            assert!(server.put(&format!("/v1/pools/p/claims/{key}"), "{}").status < 300);
        }
        until("all are held", || keys.iter().all(|key| state(&server, key) == "held"));
        assert_eq!(held(&server, &keys), upstream.list());
        for key in &keys {
            upstream.proxy.catch("DELETE", moment).release();
            assert_eq!(delete(&server, key), 202);
        }
        until("all are gone", || keys.iter().all(|key| state(&server, key).is_empty()));
        assert!(upstream.list().is_empty());
    }
}
