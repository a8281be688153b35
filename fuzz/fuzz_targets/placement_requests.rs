//! Requests to the Placement face: paths, queries, microversions and JSON bodies, through the engine to the reply.

#![no_main]

use std::cell::RefCell;

use allod_edge::{App, Guard, HttpLimits};
use allod_engine::Handle;
use allod_face_placement::{Placement, PlacementSettings};
use allod_fuzz::server::FuzzServer;
use libfuzzer_sys::fuzz_target;

const USUAL: [(&str, &str); 2] = [("x-auth-token", "admin"), ("x-roles", "admin,service")];

/// Two providers with inventories, a consumer, and a name of each sort, as the transcripts use them.
const SETUP: &str = r#"POST /resource_providers @1.20
{"name":"one","uuid":"11111111-1111-4111-8111-111111111111"}

POST /resource_providers @1.20
{"name":"two","uuid":"22222222-2222-4222-8222-222222222222","parent_provider_uuid":"11111111-1111-4111-8111-111111111111"}

PUT /traits/CUSTOM_FAST @1.6

PUT /resource_classes/CUSTOM_GOLD @1.7

PUT /resource_providers/11111111-1111-4111-8111-111111111111/inventories @1.26
{"resource_provider_generation":0,"inventories":{"VCPU":{"total":8,"max_unit":6},"DISK_GB":{"total":100,"step_size":10}}}

PUT /resource_providers/22222222-2222-4222-8222-222222222222/inventories @1.26
{"resource_provider_generation":0,"inventories":{"CUSTOM_GOLD":{"total":3}}}

PUT /resource_providers/22222222-2222-4222-8222-222222222222/traits @1.6
{"resource_provider_generation":1,"traits":["CUSTOM_FAST"]}

PUT /allocations/cccccccc-0000-4000-8000-000000000001 @1.38
{"allocations":{"11111111-1111-4111-8111-111111111111":{"resources":{"VCPU":1,"DISK_GB":10}}},"project_id":"p","user_id":"u","consumer_generation":null,"consumer_type":"INSTANCE"}"#;

fn face(handle: Handle) -> App {
    let placement =
        Placement::new(handle, PlacementSettings::default()).expect("the settings are valid");
    let app = App::new(placement.routes(), HttpLimits::default()).expect("the routes fit");
    app.with_guard(Guard::NoAuth2).error_format("/", Placement::error_format())
}

thread_local! {
    static SERVER: RefCell<FuzzServer> = RefCell::new(FuzzServer::new(face, &USUAL, SETUP));
}

fuzz_target!(|bytes: &[u8]| SERVER.with_borrow_mut(|server| server.run(bytes)));
