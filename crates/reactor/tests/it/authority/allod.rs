//! The answers of another allod server.

use std::time::Duration;

use allod_reactor::authority::{AuthorityAnswer, AuthorityKind, Connector, Settings, Wish};

use crate::authority::server::{FakeServer, reply};
use crate::authority::{REFERENCE, ask, known, shown};

fn connector(server: &FakeServer) -> Connector {
    let kind = AuthorityKind::Allod { pool: "up/vlans".into() };
    let mut settings = Settings::new(kind, server.url.clone());
    settings.timeout = Duration::from_secs(5);
    Connector::new(settings).unwrap()
}

fn claim(state: &str, value: &str) -> String {
    format!(
        r#"{{"pool":"up/vlans","key":"{REFERENCE}","value":{value},"version":9,"state":"{state}"}}"#
    )
}

fn problem(code: &str) -> String {
    format!(r#"{{"code":"{code}","title":"t","detail":"d"}}"#)
}

#[tokio::test]
async fn each_status_and_code_has_its_answer() {
    let server = FakeServer::start().await;
    let connector = connector(&server);
    let granted = r#"Grant { value: "42", handle: None, version: Some("9") }"#;
    let (yes, found) = (format!("yes {granted}"), format!("yes Some({granted})"));
    let (soon, later) = ("working 1s", "not now None");
    // The answers to grant, find and release.
    let table: &[(u16, String, [&str; 3])] = &[
        (200, claim("held", "42"), [&yes, &found, "yes ()"]),
        (201, claim("held", "42"), [&yes, "unknown", "unknown"]),
        (202, claim("wanted", "null"), [soon; 3]),
        (200, claim("wanted", "null"), [soon, soon, "yes ()"]),
        (200, claim("held", "null"), ["unknown", "unknown", "yes ()"]),
        (200, claim("quarantined", "42"), ["unknown", "unknown", "yes ()"]),
        (200, claim("held", "42").replace(REFERENCE, "x"), ["unknown", "unknown", "yes ()"]),
        (204, String::new(), ["unknown", "unknown", "yes ()"]),
        (404, problem("claim_unknown"), ["unknown", "yes None", "yes ()"]),
        (404, problem("pool_unknown"), [later, later, "yes ()"]),
        (404, String::new(), ["unknown"; 3]),
        (409, problem("taken"), ["no Taken", later, later]),
        (409, problem("value_quarantined"), ["no Taken", later, later]),
        (409, problem("exhausted"), ["no Exhausted", later, later]),
        (409, problem("params_differ"), ["no Differs", later, later]),
        (409, problem("value_outside"), ["no Differs", later, later]),
        (409, String::new(), ["unknown"; 3]),
        (400, problem("invalid"), ["no Differs", "unknown", "unknown"]),
        (400, String::new(), ["unknown"; 3]),
        (401, String::new(), [later; 3]),
        (403, String::new(), [later; 3]),
        (422, problem("limit_exceeded"), [later; 3]),
        (429, String::new(), [later; 3]),
        (503, problem("queue_full"), [later; 3]),
        (500, problem("internal"), ["unknown"; 3]),
    ];
    for (status, body, [grant, find, release]) in table {
        server.now(reply(*status, "", body));
        assert_eq!(shown(&connector.grant(&ask(Wish::Any)).await), *grant, "{status} {body}");
        assert_eq!(shown(&connector.find(&known()).await), *find, "{status} {body}");
        assert_eq!(shown(&connector.release(&known()).await), *release, "{status} {body}");
    }
}

#[tokio::test]
async fn a_grant_is_a_claim_and_a_list_has_only_our_claims() {
    let server = FakeServer::start().await;
    let connector = connector(&server);
    let labels = r#""labels":{"allod-key":"blue","allod-pool":"vlans"},"owner":"tenant-7""#;
    for (wish, body) in [
        (Wish::Any, format!("{{{labels}}}")),
        (Wish::Value("7".into()), format!(r#"{{{labels},"value":7}}"#)),
        (Wish::Length(24), format!(r#"{{{labels},"prefix_len":24}}"#)),
    ] {
        connector.grant(&ask(wish)).await;
        assert_eq!(server.last(), (format!("PUT /v1/pools/up%2Fvlans/claims/{REFERENCE}"), body));
    }
    let mut long = ask(Wish::Any);
    long.key = "é".repeat(500);
    connector.grant(&long).await;
    assert!(server.last().1.contains(&format!("\"{}\"", "é".repeat(128))));

    let body = r#"{"claims":[
        {"key":"r1","value":"10.0.0.1","version":3,"state":"held","labels":{"allod-pool":"p","allod-key":"k"}},
        {"key":"other","value":"10.0.0.2","version":4,"state":"held","labels":{}}],"next":"c"}"#;
    server.now(reply(200, "", body));
    let AuthorityAnswer::Yes(page) = connector.list(Some("b/1")).await else { panic!() };
    assert_eq!(server.last().0, "GET /v1/pools/up%2Fvlans/claims?limit=500&after=b%2F1");
    assert_eq!((page.grants.len(), page.next.as_deref()), (1, Some("c")));
    assert_eq!(
        (page.grants[0].reference.as_str(), page.grants[0].value.as_str()),
        ("r1", "10.0.0.1")
    );
    assert_eq!(shown(&connector.look_up("x").await), "unsupported");
}
