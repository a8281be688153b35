//! Tokens that try what their role does not allow, in each interface.

use std::time::Duration;

use allod_testkit::largest::{LargeRequest, provider};
use anyhow::{Result, ensure};

use crate::wire;
use crate::{Sent, Target};

const SILENCE: Duration = Duration::from_secs(10);

const JSON: &str = "application/json";
const PATCH: &str = "application/yang-patch+json";

/// What an edit needs: the role of a writer, or of an admin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Writer,
    Admin,
}

type RoleCase = (Needs, &'static str, String, &'static str, String);

fn cases() -> Vec<RoleCase> {
    let pool = r#"{"kind":"id32","ranges":["1-5"]}"#;
    let ids = r#"{"pool-name":"forged","block-size":5,"available-ids-holder":{"start":60,"end":90,"cursor":59},"released-ids-holder":{"available-id-count":0,"delayed-time-sec":0}}"#;
    let vlans = r#"{"name":"forged","range":{"start":1,"end":9}}"#;
    let patch = |edit: &str| {
        format!(
            r#"{{"ietf-yang-patch:yang-patch":{{"patch-id":"p","edit":[{{"edit-id":"e",{edit}}}]}}}}"#
        )
    };
    let host = provider(9, 9);
    let inventories = r#"{"resource_provider_generation":0,"inventories":{"VCPU":{"total":8}}}"#;
    use Needs::{Admin, Writer};
    let of = |needs, method, path: &str, body: &str| {
        (needs, method, path.to_owned(), JSON, body.to_owned())
    };
    let patched = |path: &str, edit: &str| (Admin, "PATCH", path.to_owned(), PATCH, patch(edit));
    vec![
        of(Admin, "PUT", "/v1/pools/victim", pool),
        of(Admin, "PUT", "/v1/pools/forged", pool),
        of(Admin, "DELETE", "/v1/pools/victim", ""),
        of(Admin, "GET", "/v1/backup", ""),
        of(Admin, "POST", "/v1/alarms/purge", "{}"),
        of(Admin, "DELETE", "/v1/outbox/1", ""),
        of(Writer, "PUT", "/v1/pools/victim/claims/forged", "{}"),
        of(Writer, "DELETE", "/v1/pools/victim/claims/held", ""),
        of(
            Writer,
            "POST",
            "/v1/transactions",
            r#"{"ops":[{"claim":{"pool":"victim","key":"forged"}}]}"#,
        ),
        of(Admin, "DELETE", "/restconf/config/id-manager:id-pools", ""),
        of(Admin, "DELETE", "/rests/data/id-manager:id-pools/id-pool=victim", ""),
        of(
            Admin,
            "PUT",
            "/restconf/config/id-manager:id-pools/id-pool/forged",
            &format!("{{\"id-pool\":[{ids}]}}"),
        ),
        of(
            Admin,
            "PATCH",
            "/rests/data/id-manager:id-pools",
            &format!("{{\"id-manager:id-pools\":{{\"id-pool\":[{ids}]}}}}"),
        ),
        of(
            Admin,
            "POST",
            "/rests/data/id-manager:id-pools",
            &format!("{{\"id-manager:id-pool\":[{ids}]}}"),
        ),
        of(
            Admin,
            "POST",
            "/restconf/operations/id-manager:createIdPool",
            r#"{"input":{"pool-name":"forged","low":1,"high":9}}"#,
        ),
        of(
            Admin,
            "POST",
            "/restconf/operations/id-manager:deleteIdPool",
            r#"{"input":{"pool-name":"victim"}}"#,
        ),
        patched(
            "/rests/data/id-manager:id-pools",
            r#""operation":"remove","target":"/id-pool=victim""#,
        ),
        patched(
            "/rests/data/id-manager:id-pools",
            &format!(
                "\"operation\":\"create\",\"target\":\"/id-pool=forged\",\"value\":{{\"id-manager:id-pool\":[{ids}]}}"
            ),
        ),
        of(
            Writer,
            "POST",
            "/restconf/operations/id-manager:allocateId",
            r#"{"input":{"pool-name":"victim","id-key":"forged"}}"#,
        ),
        of(
            Writer,
            "POST",
            "/restconf/operations/id-manager:releaseId",
            r#"{"input":{"pool-name":"victim","id-key":"held"}}"#,
        ),
        of(
            Admin,
            "PUT",
            "/restconf/data/resource-allocator:resource-pools/id-allocator:id-pool=forged",
            &format!("{{\"id-allocator:id-pool\":[{vlans}]}}"),
        ),
        of(
            Admin,
            "DELETE",
            "/restconf/data/resource-allocator:resource-pools/id-allocator:id-pool=vlans",
            "",
        ),
        of(
            Admin,
            "PUT",
            "/restconf/data/resource-allocator:resource-pools/id-allocator:id-pool=vlans/range/end",
            r#"{"id-allocator:end":3}"#,
        ),
        of(
            Writer,
            "PUT",
            "/restconf/data/resource-allocator:resource-pools/id-allocator:id-pool=vlans/allocation=forged",
            r#"{"id-allocator:allocation":[{"id":"forged","username":"u","request":{}}]}"#,
        ),
        // A writer is what Placement calls a service, which registers its hosts.
        of(Writer, "POST", "/resource_providers", r#"{"name":"forged"}"#),
        of(Writer, "DELETE", &format!("/resource_providers/{host}"), ""),
        of(Writer, "PUT", &format!("/resource_providers/{host}/inventories"), inventories),
        of(
            Writer,
            "PUT",
            &format!("/placement/resource_providers/{host}/inventories"),
            inventories,
        ),
        of(Writer, "PUT", "/traits/CUSTOM_FORGED", ""),
        of(Writer, "PUT", "/resource_classes/CUSTOM_FORGED", ""),
        of(Writer, "POST", "/reshaper", r#"{"inventories":{},"allocations":{}}"#),
    ]
}

pub(super) fn cross(target: &Target) -> Result<Sent> {
    let tokens = target.tokens()?;
    let put =
        |path: &str, body: &str| LargeRequest::with_body("PUT", path.to_owned(), body.to_owned());
    for request in [
        put("/v1/pools/victim", r#"{"kind":"id32","ranges":["1-9"]}"#),
        put("/v1/pools/victim/claims/held", "{}"),
        put(
            "/restconf/data/resource-allocator:resource-pools/id-allocator:id-pool=vlans",
            r#"{"id-allocator:id-pool":[{"name":"vlans","range":{"start":1,"end":9}}]}"#,
        ),
    ] {
        target.expect(&request)?;
    }
    let host = allod_testkit::largest::create_provider(&provider(9, 9), "host", None);
    target.expect(&host)?;
    let before = contents(target)?;
    let nonsense = "allod_0000".to_owned();
    let callers: [(&str, Option<&String>, &[Needs]); 5] = [
        ("no token", None, &[]),
        ("an unknown token", Some(&nonsense), &[]),
        ("a reader", Some(&tokens.reader), &[]),
        ("a writer", Some(&tokens.writer), &[Needs::Writer]),
        ("an admin of other pools", Some(&tokens.scoped), &[]),
    ];
    let rounds = target.effort.pick(20, 1);
    let mut count = 0;
    for _ in 0..rounds {
        for (who, token, may) in callers {
            for (needs, method, path, media_type, body) in cases() {
                if may.contains(&needs) {
                    continue;
                }
                let bearer = token.map(|token| format!("Bearer {token}"));
                let mut headers = vec![("openstack-api-version", "placement 1.39")];
                headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
                if !body.is_empty() {
                    headers.push(("content-type", media_type));
                }
                let bytes = wire::request(method, &path, &headers, body.as_bytes());
                let came = target.exchange(&bytes, SILENCE)?;
                let status = came.status();
                ensure!(
                    matches!(status, Some(401 | 403)),
                    "{status:?} for {method} {path} of {who}: {}",
                    came.text
                );
                count += 1;
            }
        }
    }
    let after = contents(target)?;
    ensure!(
        after == before,
        "an edit without the role for it changed something:\n{before}\n{after}"
    );
    Ok(Sent { count, answers: "401 or 403, and nothing was changed".into() })
}

/// Everything that the cases would change.
fn contents(target: &Target) -> Result<String> {
    let mut all = String::new();
    for path in [
        "/v1/pools/victim",
        "/v1/pools/victim/claims",
        "/restconf/config/id-manager:id-pools?depth=3&fields=id-pool(pool-name)",
        "/restconf/data/resource-allocator:resource-pools",
        "/resource_providers",
        "/traits?name=startswith:CUSTOM_",
        "/resource_classes",
    ] {
        let reply = target.ask(&LargeRequest::get(path.to_owned()))?;
        all.push_str(&format!("{path} {} {}\n", reply.status, reply.text()));
    }
    Ok(all)
}
