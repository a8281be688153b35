//! Requests to the native face: paths, queries, headers and JSON bodies, through the engine to the reply.

#![no_main]

use std::cell::RefCell;

use allod_edge::{App, HttpLimits};
use allod_engine::Handle;
use allod_face_native::{Native, WatchLimits};
use allod_fuzz::server::FuzzServer;
use libfuzzer_sys::fuzz_target;

/// Pools of each kind with some claims, as the transcripts use them.
const SETUP: &str = r#"PUT /v1/pools/p
{"kind":"id32","ranges":["1-30"],"quarantine":60}

PUT /v1/pools/q
{"kind":"id32","ranges":["2-400"],"strategy":"next","lease":3600}

PUT /v1/pools/n
{"kind":"ipv4_address","ranges":["10.0.0.0/24"]}

PUT /v1/pools/f
{"kind":"ipv6_prefix","ranges":["2001:db8::/32"]}

PUT /v1/pools/p/claims/a
{}

PUT /v1/pools/q/claims/a
{"count":3,"owner":"o","labels":{"x":"y"}}

PUT /v1/pools/f/claims/a
{"prefix_len":56}

DELETE /v1/pools/p/claims/a

PUT /v1/pools/p/claims/b
{"value":7,"ttl":60}"#;

fn face(handle: Handle) -> App {
    let native = Native::new(handle, vec![], WatchLimits::default(), Default::default(), Default::default());
    App::new(native.routes(), HttpLimits::default()).expect("the routes fit")
}

thread_local! {
    static SERVER: RefCell<FuzzServer> = RefCell::new(FuzzServer::new(face, &[], SETUP));
}

fuzz_target!(|bytes: &[u8]| SERVER.with_borrow_mut(|server| server.run(bytes)));
