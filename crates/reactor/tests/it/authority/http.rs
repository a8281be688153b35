//! The HTTP contract, line by line.

use std::time::Duration;

use allod_reactor::authority::{
    Abilities, AuthorityAnswer, AuthorityKind, Connector, Finds, Known, Secret, Settings, Wish,
};

use crate::authority::server::{FakeServer, Reply, reply};
use crate::authority::{REFERENCE, ask, known, shown};

const GRANT: &str = r#"{"value":42,"handle":"h","version":null}"#;

fn connector(server: &FakeServer) -> Connector {
    let mut settings = Settings::new(AuthorityKind::Http, server.url.clone());
    settings.secret = Some(Secret("s3cret".into()));
    settings.timeout = Duration::from_millis(400);
    settings.answer_bytes_max = 16 * 1024;
    Connector::new(settings).unwrap()
}

#[tokio::test]
async fn each_status_has_its_answer() {
    let server = FakeServer::start().await;
    let connector = connector(&server);
    let granted = r#"Grant { value: "42", handle: Some("h"), version: None }"#;
    let yes = format!("yes {granted}");
    let found = format!("yes Some({granted})");
    // Status, headers, body, and the answers to grant, find and release.
    let table: &[(u16, &str, &str, [&str; 3])] = &[
        (200, "", GRANT, [&yes, &found, "unknown"]),
        (201, "", GRANT, [&yes, "unknown", "unknown"]),
        (202, "", GRANT, ["unknown"; 3]),
        (204, "", "", ["unknown", "unknown", "yes ()"]),
        (404, "", "", ["unknown", "yes None", "yes ()"]),
        (409, "", r#"{"code":"taken","message":"m"}"#, ["no Taken", "unknown", "unknown"]),
        (409, "", r#"{"code":"exhausted"}"#, ["no Exhausted", "unknown", "unknown"]),
        (409, "", r#"{"code":"differs"}"#, ["no Differs", "unknown", "unknown"]),
        (409, "", r#"{"code":"other"}"#, ["unknown"; 3]),
        (409, "", "conflict", ["unknown"; 3]),
        (429, "Retry-After: 7\r\n", "", ["not now Some(7s)"; 3]),
        (503, "Retry-After: 99999\r\n", "", ["not now Some(3600s)"; 3]),
        (503, "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", "", ["not now None"; 3]),
        (301, "Location: /elsewhere\r\n", "", ["unknown"; 3]),
        (307, "Location: /elsewhere\r\n", "", ["unknown"; 3]),
        (400, "", "", ["unknown"; 3]),
        (401, "", "", ["unknown"; 3]),
        (500, "", "", ["unknown"; 3]),
        (501, "", "", ["unknown"; 3]),
        // A malformed success is never a yes.
        (200, "", "", ["unknown"; 3]),
        (200, "", "{}", ["unknown"; 3]),
        (200, "", r#"{"value":null}"#, ["unknown"; 3]),
        (200, "", r#"{"value":-1}"#, ["unknown"; 3]),
        (200, "", r#"{"value":1.5}"#, ["unknown"; 3]),
        (200, "", r#"{"value":""}"#, ["unknown"; 3]),
        (200, "", r#"{"value":42,"handle":7}"#, ["unknown"; 3]),
        (200, "", r#"{"value":42"#, ["unknown"; 3]),
    ];
    for (status, headers, body, [grant, find, release]) in table {
        server.now(reply(*status, headers, body));
        let before = server.count();
        assert_eq!(shown(&connector.grant(&ask(Wish::Any)).await), *grant, "{status} {body}");
        assert_eq!(shown(&connector.find(&known()).await), *find, "{status} {body}");
        assert_eq!(shown(&connector.release(&known()).await), *release, "{status} {body}");
        // No redirect is followed, and nothing is repeated.
        assert_eq!(server.count(), before + 3);
    }
}

#[tokio::test]
async fn requests_are_as_the_contract_says() {
    let server = FakeServer::start().await;
    let connector = connector(&server);
    let put = format!("PUT /grants/{REFERENCE}");
    for (wish, want) in [
        (Wish::Any, "{}"),
        (Wish::Value("7".into()), r#"{"value":7}"#),
        (Wish::Value("10.0.0.1".into()), r#"{"value":"10.0.0.1"}"#),
        (Wish::Length(24), r#"{"length":24}"#),
    ] {
        connector.grant(&ask(wish)).await;
        let body = format!(r#"{{"key":"blue","owner":"tenant-7","pool":"vlans","want":{want}}}"#);
        assert_eq!(server.last(), (put.clone(), body));
        assert!(server.last_has("authorization: bearer s3cret"));
    }
    let mut with_params = ask(Wish::Any);
    with_params.params.insert("site".into(), "a".into());
    connector.grant(&with_params).await;
    assert!(server.last().1.contains(r#""params":{"site":"a"}"#));
    let known = Known { value: Some("10.0.0.0/24".into()), handle: Some("a&b".into()), ..known() };
    let query = format!("/grants/{REFERENCE}?value=10.0.0.0%2F24&handle=a%26b");
    connector.find(&known).await;
    assert_eq!(server.last().0, format!("GET {query}"));
    connector.release(&known).await;
    assert_eq!(server.last().0, format!("DELETE {query}"));
    connector.list(Some("a/b")).await;
    assert_eq!(server.last().0, "GET /grants?after=a%2Fb");
    connector.look_up("router 1").await;
    assert_eq!(server.last().0, "GET /lookup/router%201");
}

#[tokio::test]
async fn abilities_lists_and_lookups_are_read() {
    let server = FakeServer::start().await;
    let connector = connector(&server);
    let body = r#"{"find":"value","list":true,"lookup":false,"idempotent":true,"parallel":4}"#;
    server.now(reply(200, "", body));
    let wanted = Abilities {
        finds: Finds::ByValue,
        list: true,
        lookup: false,
        repeats: true,
        parallel: Some(4),
    };
    assert_eq!(connector.abilities().await, AuthorityAnswer::Yes(wanted));
    server.now(reply(200, "", r#"{"find":"everything"}"#));
    assert_eq!(shown(&connector.abilities().await), "unknown");

    let body =
        r#"{"grants":[{"ref":"r","value":"10.0.0.1","handle":null,"version":"2"}],"next":"r"}"#;
    server.now(reply(200, "", body));
    let AuthorityAnswer::Yes(page) = connector.list(None).await else { panic!() };
    assert_eq!((page.grants.len(), page.next.as_deref()), (1, Some("r")));
    assert_eq!(page.grants[0].value, "10.0.0.1");

    server.now(reply(200, "", r#"{"value":{"ip":"10.0.0.1"},"version":"v1"}"#));
    let AuthorityAnswer::Yes(Some(fact)) = connector.look_up("a").await else { panic!() };
    assert_eq!(
        (fact.value["ip"].as_str(), fact.version.as_deref()),
        (Some("10.0.0.1"), Some("v1"))
    );
    for (status, list, lookup) in [
        (404, "unknown", "yes None"),
        (501, "unsupported", "unsupported"),
        (503, "not now None", "not now None"),
        (500, "unknown", "unknown"),
    ] {
        server.now(reply(status, "", ""));
        assert_eq!(shown(&connector.list(None).await), list, "{status}");
        assert_eq!(shown(&connector.look_up("a").await), lookup, "{status}");
    }
}

#[tokio::test]
async fn incomplete_answers_are_unknown_and_messages_are_safe() {
    let server = FakeServer::start().await;
    let connector = connector(&server);
    let raw = |bytes: &str| Reply { bytes: bytes.into(), wait: Duration::ZERO };
    let slow = Reply { wait: Duration::from_secs(5), ..reply(200, "", GRANT) };
    for broken in [
        slow,
        raw(""),
        raw("HTTP/1.1 200 OK\r\n"),
        raw("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"value\":42}"),
        reply(200, "", &format!(r#"{{"value":42,"handle":null,"x":"{}"}}"#, "x".repeat(20_000))),
        raw("no HTTP at all\r\n\r\n"),
    ] {
        server.now(broken.clone());
        let answer = connector.grant(&ask(Wish::Any)).await;
        assert_eq!(shown(&answer), "unknown", "{broken:?}");
    }
    server.now(reply(500, "", &format!("s3cret\u{7}{}", "é".repeat(500))));
    let AuthorityAnswer::Unknown { message } = connector.grant(&ask(Wish::Any)).await else {
        panic!()
    };
    assert_eq!(message.chars().count(), 300);
    assert!(!message.contains("s3cret") && !message.contains('\u{7}'), "{message}");
    let long = reply(200, "", &format!(r#"{{"value":42,"handle":"{}"}}"#, "h".repeat(1025)));
    server.now(long);
    assert_eq!(shown(&connector.grant(&ask(Wish::Any)).await), "unknown");
}

#[tokio::test]
async fn nothing_was_sent_to_a_server_that_cannot_be_reached() {
    let settings = Settings::new(AuthorityKind::Http, "http://127.0.0.1:1");
    let connector = Connector::new(settings).unwrap();
    let answer = connector.grant(&ask(Wish::Any)).await;
    assert_eq!(shown(&answer), "not now None", "{answer:?}");
}

#[test]
fn invalid_settings_are_refused() {
    for url in ["ftp://host", "http://me:pw@host", "http://host?q", ""] {
        assert!(Connector::new(Settings::new(AuthorityKind::Http, url)).is_err(), "{url}");
    }
    let mut settings = Settings::new(AuthorityKind::Http, "http://host");
    settings.secret = Some(Secret("s3\ncret".into()));
    assert!(!format!("{settings:?}").contains("cret\""));
    let error = Connector::new(settings).unwrap_err();
    assert!(error.contains("the secret has characters"), "{error}");
}
