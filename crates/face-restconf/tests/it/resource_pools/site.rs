//! Which modules of a site the server starts with. What their nodes do is in `site_transcripts`.

use allod_face_restconf::resource_pools;
use allod_face_restconf::yang::{Schema, embedded};

/// A module with this body, which begins at line 7.
fn module(body: &str) -> String {
    let imports =
        "import resource-allocator { prefix ralloc; }\nimport id-allocator { prefix idalloc; }";
    format!(
        "module acme {{\nyang-version 1.1;\nnamespace \"urn:acme\";\nprefix acme;\n{imports}\n{body}\n}}\n"
    )
}

/// Why the server does not start with this module; empty if it does.
fn refused(text: &str) -> String {
    let files = embedded::PROTOCOL.iter().chain(resource_pools::MODULES).copied();
    let files: Vec<(&str, &str)> = files.chain([("site/acme.yang", text)]).collect();
    let checked = Schema::compile(&files)
        .and_then(|schema| resource_pools::check_modules(&schema, &["acme"]));
    checked.map_or_else(|error| error.to_string(), |()| String::new())
}

#[test]
fn module_must_add_configuration_to_pools_or_requests() {
    const POOL: &str = "augment \"/ralloc:resource-pools/idalloc:id-pool\"";
    const ONLY: &str = "cannot be added here: a site's module can augment id-pool, ip-address-pool, and their allocation and allocation/request";
    for (body, wanted) in [
        (format!("{POOL} {{\nleaf a {{ type string; }} }}"), String::new()),
        (
            format!("{POOL} {{ choice c {{ leaf a {{ type string; }} container b {{ list l {{ key k; leaf k {{ type string; }} }} }} }} }}"),
            String::new(),
        ),
        ("grouping g { leaf a { type string; } }".into(), String::new()),
        (
            "\n\ncontainer a { leaf b { type string; } }".into(),
            format!("site/acme.yang:9: 'a' {ONLY}"),
        ),
        ("rpc a;".into(), format!("site/acme.yang:7: 'a' {ONLY}")),
        ("notification a;".into(), format!("site/acme.yang:7: 'a' {ONLY}")),
        (
            "augment \"/ralloc:resource-pools\" { leaf a { type string; } }".into(),
            format!("site/acme.yang:7: 'a' {ONLY}"),
        ),
        (
            "augment \"/ralloc:resource-pools/idalloc:id-pool/idalloc:range\" { leaf a { type string; } }".into(),
            format!("site/acme.yang:7: 'a' {ONLY}"),
        ),
        (
            format!("{POOL} {{\nleaf a {{ config false; type string; }} }}"),
            "site/acme.yang:8: 'a' is not configuration, and the server cannot provide it".into(),
        ),
        (
            format!("{POOL} {{ action a; }}"),
            "site/acme.yang:7: 'a' is not configuration, and the server cannot provide it".into(),
        ),
        (
            "deviation \"/ralloc:resource-pools\" { deviate not-supported; }".into(),
            "site/acme.yang:7: deviations are not supported".into(),
        ),
        (
            format!("{POOL} {{\n\nleaf a {{ type no-such-type; }} }}"),
            "site/acme.yang:9: unknown typedef 'no-such-type'".into(),
        ),
        (
            format!("{POOL} {{ leaf a {{ type string {{\npattern \"(a\"; }} }} }}"),
            "site/acme.yang:8: invalid pattern '(a': a group is not closed".into(),
        ),
        (
            "augment \"/ralloc:resource-pools/idalloc:nothing\" { leaf a { type string; } }".into(),
            "site/acme.yang:7: node '/ralloc:resource-pools/idalloc:nothing' does not exist".into(),
        ),
        (format!("{POOL} {{ leaf a {{ type string; }}"), "site/acme.yang:1: 'module' is not closed".into()),
        ("import nothing { prefix n; }".into(), "site/acme.yang:7: module 'nothing' is missing".into()),
    ] {
        assert_eq!(refused(&module(&body)), wanted, "{body}");
    }
    let twice = module("").replace("module acme", "module id-allocator");
    assert_eq!(refused(&twice), "site/acme.yang:1: duplicate module 'id-allocator'");
}
