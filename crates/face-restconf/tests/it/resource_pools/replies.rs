//! Writes replies to files, for validation by other tools.
//!
//! If `ALLOD_REPLIES` names a folder, every reply with a body is written there as `*.reply`: the request line, the status
//! with the content type, an empty line, and the body. After each transcript, all data is written too.

use http_body_util::Full;

use crate::resource_pools::server::{Answer, POOLS, Server};

/// Requests after each transcript, in JSON and in XML.
const AFTERWARDS: [&str; 5] = [
    POOLS,
    "/restconf/data/id-allocator-oper:id-allocator",
    "/restconf/data/ipaddress-allocator-oper:ip-allocator",
    "/restconf/data/allod-resource-pools:alarms",
    "/restconf/data/ietf-yang-library:yang-library",
];

/// Writes the reply to a request.
pub fn keep(name: &str, request: &str, answer: &Answer) {
    let Some(folder) = std::env::var_os("ALLOD_REPLIES").filter(|_| !answer.body.is_empty()) else {
        return;
    };
    let kind = answer.headers.get("content-type").map_or("", |value| value.to_str().unwrap());
    let text = format!("{request}\n{} {kind}\n\n{}", answer.status, answer.body);
    let file = std::path::Path::new(&folder).join(format!("resource-pools-{name}.reply"));
    std::fs::write(file, text).unwrap();
}

/// Writes the data at the end of a transcript.
pub async fn keep_all(name: &str, server: &Server) {
    if std::env::var_os("ALLOD_REPLIES").is_none() {
        return;
    }
    for (number, path) in AFTERWARDS.into_iter().enumerate() {
        for kind in ["json", "xml"] {
            let accept = format!("application/yang-data+{kind}");
            let request = http::Request::builder().uri(path).header("accept", accept);
            let answer = server.answer(request.body(Full::default()).unwrap()).await;
            keep(&format!("{name}-all-{number}-{kind}"), &format!("GET {path}"), &answer);
        }
    }
}
