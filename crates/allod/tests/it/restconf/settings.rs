//! The settings of `[restconf]` and `[id_manager]`.

use serde_json::json;

use crate::restconf::start;
use crate::restconf::wire::{allocate, ask, call};

const POOLS: &str = "/restconf/config/id-manager:id-pools";

fn get(address: std::net::SocketAddr, path: &str) -> crate::restconf::wire::Reply {
    ask(address, "GET", path, "application/json", b"")
}

#[test]
fn the_defaults_are_those_of_the_latest_opendaylight() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "");
    let missing = get(server.address, POOLS);
    assert_eq!(missing.status, 409, "{}", missing.text);
    assert_eq!(missing.json()["errors"]["error"][0]["error-tag"], "data-missing");
    let missing = get(server.address, "/restconf/data/id-manager:id-pools");
    assert_eq!(missing.status, 404, "{}", missing.text);
    let missing = get(server.address, "/rests/data/id-manager:id-pools");
    assert_eq!(missing.status, 409, "{}", missing.text);
    let input = json!({ "pool-name": "p", "low": 0, "high": 100 });
    assert_eq!(call(server.address, "createIdPool", input).status, 204);
    allocate(server.address, "p", "a");
    let unknown = call(server.address, "releaseId", json!({ "pool-name": "p", "id-key": "zz" }));
    assert_eq!(unknown.status, 500, "{}", unknown.text);
    assert!(unknown.text.contains("Specified Id key zz does not exist in id pool p"));
}

#[test]
fn every_setting_has_its_effect() {
    let folder = tempfile::tempdir().unwrap();
    let settings = r#"
        [restconf]
        error_prefix = "rfc"
        data_missing = 404
        [id_manager]
        node_id = -1062717439
        release_delay_s = 0
        unknown_key = "ignore"
        search_order = "released-first"
        strict = true
    "#;
    let server = start(folder.path(), settings);
    let address = server.address;
    let missing = get(address, POOLS);
    assert_eq!(missing.status, 404, "{}", missing.text);
    assert_eq!(missing.json()["ietf-restconf:errors"]["error"][0]["error-tag"], "data-missing");
    let input = json!({ "pool-name": "p", "low": 0, "high": 100 });
    assert_eq!(call(address, "createIdPool", input).status, 204);
    assert!(get(address, &format!("{POOLS}/id-pool/p.-1062717439")).text.contains("\"p\""));
    assert_eq!((allocate(address, "p", "a"), allocate(address, "p", "b")), (0, 1));
    let released = call(address, "releaseId", json!({ "pool-name": "p", "id-key": "a" }));
    assert_eq!(released.status, 200, "{}", released.text);
    // Without a delay, and released IDs first.
    assert_eq!(allocate(address, "p", "c"), 0);
    let ignored = call(address, "releaseId", json!({ "pool-name": "p", "id-key": "zz" }));
    assert!([200, 204].contains(&ignored.status), "{}", ignored.text);
    let input = json!({ "pool-name": "e", "low": 0, "high": 9, "enhanced-id-allocation": true });
    assert_eq!(call(address, "createIdPool", input).status, 204);
    let fixed = |key| json!({ "pool-name": "e", "id-key": key, "id-value": 5 });
    assert_eq!(call(address, "allocateId", fixed("k")).status, 200);
    let strict = call(address, "allocateId", fixed("l"));
    assert_eq!(strict.status, 500, "{}", strict.text);
    assert!(strict.text.contains("Requested id 5 is not available in pool e"), "{}", strict.text);
}
