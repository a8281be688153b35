//! The resource-manager with a client like go-restconf, which terraform-provider-nso uses: it discovers the root and the
//! capabilities, writes with PATCH or PUT, reads configuration, and treats 404 as deleted.

use std::io::Write;
use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::restconf::shared::run;
use crate::restconf::start;
use crate::restconf::wire::{Reply, connect, read};

struct Client {
    address: SocketAddr,
    /// The discovered RESTCONF root.
    endpoint: String,
}

const DATA: &str = "application/yang-data+json";

fn send(address: SocketAddr, method: &str, path: &str, media_type: &str, body: &str) -> Reply {
    let mut stream = connect(address);
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Basic YWRtaW46YWRtaW4=\r\n\
         content-type: {media_type}\r\naccept: {DATA}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    read(stream)
}

impl Client {
    fn discover(address: SocketAddr) -> Client {
        let found = send(address, "GET", "/.well-known/host-meta", DATA, "");
        assert_eq!(found.status, 200, "{}", found.text);
        let line = found.text.lines().find_map(|line| {
            line.trim().strip_prefix("<Link rel='restconf' href='")?.split_once('\'')
        });
        let (endpoint, _) = line.expect("a link in single quotes, on a line of its own");
        let client = Client { address, endpoint: endpoint.to_owned() };
        let path = "ietf-restconf-monitoring:restconf-state/capabilities";
        let reported = client.ask("GET", path, &Value::Null).json();
        let all =
            reported["ietf-restconf-monitoring:capabilities"]["capability"].as_array().unwrap();
        assert!(all.contains(&json!("urn:ietf:params:restconf:capability:yang-patch:1.0")));
        client
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        send(self.address, method, &format!("{}/data/{path}", self.endpoint), DATA, &body)
    }

    /// Creates or changes a resource as Terraform does; all `attributes` are strings.
    fn apply(&self, path: &str, attributes: Value) -> u16 {
        let (short, _) = path.rsplit_once('=').unwrap_or((path, ""));
        let name = short.rsplit('/').next().unwrap();
        let module = short.split('/').rev().find_map(|step| step.split_once(':')).unwrap().0;
        let name = name.split_once(':').map_or(name, |(_, name)| name);
        let body = json!({ format!("{module}:{name}"): attributes });
        let reply = self.ask("PATCH", short, &body);
        if reply.status < 300 {
            return reply.status;
        }
        let error = &reply.json()["ietf-restconf:errors"]["error"][0];
        match error["error-message"].as_str() {
            Some("patch to a nonexistent resource") => self.ask("PUT", path, &body).status,
            _ => reply.status,
        }
    }

    fn config(&self, path: &str) -> Option<Value> {
        let reply = self.ask("GET", &format!("{path}?content=config"), &Value::Null);
        match reply.status {
            404 => None,
            200 => Some(reply.json()),
            _ => panic!("{}", reply.text),
        }
    }
}

const POOLS: &str = "resource-allocator:resource-pools";

#[test]
fn resources_created_by_terraform_are_visible_in_all_interfaces() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "");
    let client = Client::discover(server.address);

    let pool = format!("{POOLS}/id-allocator:id-pool=lan1");
    assert_eq!(client.config(&pool), None);
    let range = json!({ "name": "lan1", "range": { "start": "20", "end": "200" } });
    assert_eq!(client.apply(&pool, range.clone()), 204);
    assert_eq!(client.apply(&pool, range), 204, "repeated");
    let shown = client.config(&pool).unwrap();
    assert_eq!(shown["id-allocator:id-pool"][0]["range"], json!({ "start": 20, "end": 200 }));

    let request = format!("{pool}/allocation=a");
    let asked = json!({ "id": "a", "username": "admin", "request": { "sync": "true" } });
    assert_eq!(client.apply(&request, asked), 204);
    let shown = client.config(&request).unwrap();
    assert_eq!(
        shown["id-allocator:allocation"][0],
        json!({ "id": "a", "username": "admin", "request": { "sync": true } })
    );
    let response = client.ask("GET", &format!("{request}/response"), &Value::Null).json();
    assert_eq!(response["id-allocator:response"], json!({ "id": 20 }));

    // Visible in the native interface and on the command line.
    let claim: Value = serde_json::from_slice(&server.get("/v1/pools/lan1/claims/a").body).unwrap();
    assert_eq!((&claim["value"], &claim["state"]), (&json!(20), &json!("held")));
    assert!(run(&server, &["pool", "list"]).contains("lan1"));
    assert!(run(&server, &["who", "lan1", "20"]).contains('a'));

    // Several edits in one YANG Patch of the datastore.
    let patch = json!({ "ietf-yang-patch:yang-patch": { "patch-id": "1", "comment": "two at once", "edit": [
        { "edit-id": "0", "operation": "merge", "target": format!("/{POOLS}/id-allocator:id-pool=lan2"),
          "value": { "id-allocator:id-pool": [{ "name": "lan2", "range": { "start": 10, "end": 40 } }] } },
        { "edit-id": "1", "operation": "merge",
          "target": format!("/{POOLS}/id-allocator:id-pool=lan2/allocation=a"),
          "value": { "id-allocator:allocation": [{ "id": "a", "username": "admin", "request": { "sync": true } }] } },
    ] } });
    let (path, media_type) = (format!("{}/data/", client.endpoint), "application/yang-patch+json");
    let reply = send(server.address, "PATCH", &path, media_type, &patch.to_string());
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.json()["ietf-yang-patch:yang-patch-status"]["ok"], json!([null]));
    let request = format!("{POOLS}/id-allocator:id-pool=lan2/allocation=a/response");
    let response = client.ask("GET", &request, &Value::Null).json();
    assert_eq!(response["id-allocator:response"], json!({ "id": 20 }));

    // Deleted resources are 404 in all interfaces.
    assert_eq!(client.ask("DELETE", &pool, &Value::Null).status, 204);
    assert_eq!(client.ask("DELETE", &pool, &Value::Null).status, 404);
    assert_eq!(client.config(&pool), None);
    assert_eq!(server.get("/v1/pools/lan1").status, 404);
    assert_eq!(
        client.apply(&format!("{pool}/allocation=a"), json!({ "id": "a", "username": "admin" })),
        404
    );
}
