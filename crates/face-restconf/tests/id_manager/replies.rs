//! Replies as files, for a judge that is not ours.
//!
//! With `ALLOD_REPLIES` naming a folder, every reply that has a body is written there as `*.reply`: the request line, the
//! status with the content type, an empty line, the body; and after each transcript the whole tree of pools. `cargo xtask test
//! --only yang` reads them.

use std::path::PathBuf;

use crate::server::{Answer, Server};

fn folder() -> Option<PathBuf> {
    std::env::var_os("ALLOD_REPLIES").map(PathBuf::from)
}

/// Writes the reply to a request, of which the first line counts.
pub fn keep(name: &str, request: &str, answer: &Answer) {
    let Some(folder) = folder().filter(|_| !answer.body.is_empty()) else { return };
    let first = request.lines().next().unwrap_or_default();
    let kind = answer.headers.get("content-type").map_or("", |value| value.to_str().unwrap());
    let text = format!("{first}\n{} {kind}\n\n{}", answer.status, answer.body);
    std::fs::write(folder.join(format!("{name}.reply")), text).unwrap();
}

/// Writes the whole tree, in all its forms.
pub async fn keep_tree(name: &str, server: &Server) {
    for (root, form) in [
        ("rests/data", "yang-data+json"),
        ("rests/data", "yang-data+xml"),
        ("restconf/config", "json"),
        ("restconf/config", "xml"),
    ] {
        let path = format!("/{root}/id-manager:id-pools");
        let request =
            http::Request::builder().uri(&path).header("accept", format!("application/{form}"));
        let answer = server.answer(request.body(Default::default()).unwrap()).await;
        let name = format!("{name}-{}-{form}", root.replace('/', "-"));
        keep(&name, &format!("GET {path}"), &answer);
    }
}
