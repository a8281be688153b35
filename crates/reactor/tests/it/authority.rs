//! Connectors to external authorities: the HTTP contract, another allod server, and PostgreSQL.

mod allod;
mod http;
mod server;
pub mod sql;

use allod_reactor::authority::{Ask, AuthorityAnswer, Known, Wish};
use serde_json::Map;

const REFERENCE: &str = "6f1c2d3e-0000-5000-8000-000000000001";

fn ask(wish: Wish) -> Ask {
    Ask {
        reference: REFERENCE.into(),
        pool: "vlans".into(),
        key: "blue".into(),
        owner: "tenant-7".into(),
        wish,
        params: Map::new(),
    }
}

fn known() -> Known {
    Known {
        reference: REFERENCE.into(),
        pool: "vlans".into(),
        key: "blue".into(),
        value: None,
        handle: None,
    }
}

/// The answer on one line: its kind and the details that matter.
fn shown<T: std::fmt::Debug>(answer: &AuthorityAnswer<T>) -> String {
    match answer {
        AuthorityAnswer::Yes(yes) => format!("yes {yes:?}"),
        AuthorityAnswer::No { code, .. } => format!("no {code:?}"),
        AuthorityAnswer::NotNow { after, .. } => format!("not now {after:?}"),
        AuthorityAnswer::Working { after, .. } => format!("working {after:?}"),
        AuthorityAnswer::Unknown { .. } => "unknown".into(),
        AuthorityAnswer::Unsupported => "unsupported".into(),
    }
}
