//! Replies as files, for a validator that is not ours.
//!
//! With `ALLOD_REPLIES` naming a folder, every reply to an RPC that was called by RFC 8040 and, after each transcript, the
//! whole tree of pools is written there, in the form that yanglint reads: `*.reply.json`, `*.reply.xml`, `*.config.json`,
//! `*.config.xml`.

use std::path::PathBuf;

use crate::server::{Answer, Server};

fn folder() -> Option<PathBuf> {
    std::env::var_os("ALLOD_REPLIES").map(PathBuf::from)
}

/// Writes the reply to an RPC.
pub fn keep(name: &str, request: &str, answer: &Answer) {
    let Some(folder) = folder() else { return };
    let first = request.lines().next().unwrap_or_default();
    let Some((_, rpc)) = first.split_once("/operations/id-manager:") else { return };
    if answer.status != 200 {
        return;
    }
    let body = &answer.body;
    if let Some(output) = body.strip_prefix(r#"{"id-manager:output":"#) {
        let text = format!(r#"{{"id-manager:{rpc}":{output}"#);
        std::fs::write(folder.join(format!("{name}.reply.json")), text).unwrap();
    } else if body.starts_with("<output ") {
        let text = body.replacen("<output", &format!("<{rpc}"), 1);
        let text = text.replace("</output>", &format!("</{rpc}>"));
        std::fs::write(folder.join(format!("{name}.reply.xml")), text).unwrap();
    }
}

/// Writes the whole tree.
pub async fn keep_tree(name: &str, server: &Server) {
    let Some(folder) = folder() else { return };
    for kind in ["json", "xml"] {
        let request = http::Request::builder()
            .uri("/rests/data/id-manager:id-pools")
            .header("accept", format!("application/yang-data+{kind}"));
        let answer = server.answer(request.body(Default::default()).unwrap()).await;
        if answer.status == 200 {
            std::fs::write(folder.join(format!("{name}.config.{kind}")), &answer.body).unwrap();
        }
    }
}
