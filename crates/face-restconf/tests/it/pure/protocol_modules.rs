//! The modules that the protocol serves.

use allod_face_restconf::yang::{Schema, embedded};

#[test]
fn protocol_modules_compile_and_have_the_nodes_that_clients_read() {
    let schema = Schema::compile(embedded::PROTOCOL).unwrap();
    for path in [
        "/ietf-yang-library:yang-library/module-set/module/submodule/name",
        "/ietf-yang-library:yang-library/module-set/import-only-module/revision",
        "/ietf-yang-library:yang-library/datastore/schema",
        "/ietf-yang-library:yang-library/content-id",
        "/ietf-yang-library:modules-state/module/conformance-type",
        "/ietf-yang-library:yang-library-update/content-id",
        "/ietf-restconf-monitoring:restconf-state/capabilities/capability",
        "/ietf-restconf-monitoring:restconf-state/streams/stream/access/location",
    ] {
        let node = schema.find(path).unwrap_or_else(|| panic!("{path}"));
        assert!(!schema.node(node).config, "{path}");
    }
    let revisions = [
        ("ietf-restconf", "2017-01-26", false),
        ("ietf-restconf-monitoring", "2017-01-26", true),
        ("ietf-yang-library", "2019-01-04", true),
        ("ietf-yang-patch", "2017-02-22", false),
        ("ietf-datastores", "2018-02-14", false),
        ("ietf-inet-types", "2013-07-15", false),
        ("ietf-yang-types", "2013-07-15", false),
    ];
    for (name, revision, implemented) in revisions {
        let module = schema.module(schema.module_named(name).unwrap());
        assert_eq!(
            (module.revision.as_str(), module.implemented),
            (revision, implemented),
            "{name}"
        );
        assert_eq!(module.namespace, format!("urn:ietf:params:xml:ns:yang:{name}"));
    }
}
