//! The largest request of every kind that the limits allow, and those just above, again and again.

use allod_testkit::largest::{self, LargeRequest, provider};
use anyhow::{Result, ensure};

use crate::{Sent, Target};

/// A provider that consumers of a run allocate from.
fn prepare_provider(target: &Target, run: u64) -> Result<String> {
    let host = provider(1, run);
    target.expect(&largest::create_provider(&host, &format!("host-{run}"), None))?;
    target.expect(&largest::put_inventory(&host, 0, "VCPU"))?;
    Ok(host)
}

/// Each kind of write at its limit.
pub(super) fn write(target: &Target) -> Result<Sent> {
    let limits = &target.limits;
    let pool = r#"{"kind":"id32","ranges":["0-4294967295"]}"#;
    target.expect(&LargeRequest::with_body("PUT", "/v1/pools/large".into(), pool.into()))?;
    let rounds = target.effort.pick(5, 1);
    // A quick run has a tenth of what the limits allow: the memory of the test machine is shared.
    let part = |most: u64| target.effort.pick(most, most / 10);
    let mut refused = Vec::new();
    let mut count = 0;
    for run in 0..rounds {
        let host = prepare_provider(target, run)?;
        let ids = format!("ids-{run}");
        let requests = format!("requests-{run}");
        target.expect(&largest::resource_pool(&requests, 4_000_000_000))?;
        let writes = [
            largest::pool_of_ranges(limits, "ranges", run, part(u64::MAX))?,
            largest::transaction_of_values(limits, "large", &format!("run-{run}"))?,
            largest::allocations(limits, &host, 2 * run)?,
            largest::reshape(limits, &host, 2, 2 * run + 1)?,
            largest::id_pool(&ids, part(largest::id_entries_max(limits)?)),
            largest::pool_requests(&requests, 0, part(largest::pool_requests_max(limits)?)),
            LargeRequest::delete(format!("{}/{ids}", largest::ID_POOLS)),
            LargeRequest::delete(format!("{}={requests}", largest::RESOURCE_POOLS)),
        ];
        for request in &writes {
            let reply = target.ask(request)?;
            let (method, path) = (request.method, &request.path);
            // A limit of the whole entry may be lower than the limit of its parts.
            ensure!(
                reply.status < 300 || matches!(reply.status, 413 | 422),
                "{method} {path} got {}: {}",
                reply.status,
                reply.text()
            );
            if reply.status >= 300 {
                refused.push(format!("{method} {path} {}", reply.status));
            }
            count += 1;
        }
    }
    let answers = match refused.is_empty() {
        true => "all were carried out".to_owned(),
        false => format!("refused by a limit: {}", refused.join(", ")),
    };
    Ok(Sent { count, answers })
}

/// Edits that are refused because they are too large, from several clients at a time.
pub(super) fn refuse(target: &Target) -> Result<Sent> {
    let limits = &target.limits;
    target.expect(&largest::resource_pool("requests", 4_000_000_000))?;
    target.expect(&LargeRequest::with_body(
        "PUT",
        "/v1/pools/even".into(),
        largest::pool_of_ranges(limits, "even", 0, 20_000)?.body.unwrap_or_default(),
    ))?;
    target.expect(&largest::pool_of_ranges(limits, "odd", 1, 20_000)?)?;
    let above = |name: &str| Ok::<u64, anyhow::Error>(limits.get(name)? + 1);
    let edits = [
        largest::id_pool("above", above("ids_per_edit_max")?),
        largest::pool_requests("requests", 0, above("requests_per_edit_max")?),
        largest::transaction_of_same_values(limits, &["even", "odd"], "same")?,
        largest::claims("even", "many", 0, above("ops_per_transaction_max")?),
    ];
    let (clients, rounds) = target.effort.pick((4, 10), (2, 1));
    super::parallel(clients, |_| {
        for _ in 0..rounds {
            for edit in &edits {
                let reply = target.ask(edit)?;
                ensure!(
                    matches!(reply.status, 409 | 413 | 422 | 429 | 503),
                    "{} {} got {}: {}",
                    edit.method,
                    edit.path,
                    reply.status,
                    reply.text()
                );
            }
        }
        Ok(())
    })?;
    Ok(Sent { count: (clients * rounds * edits.len()) as u64, answers: "all refused".into() })
}

/// Reads that cost the most, from several clients at a time.
pub(super) fn read(target: &Target) -> Result<Sent> {
    for request in largest::device_tree() {
        target.expect(&request)?;
    }
    let entries = target.effort.pick(100_000, 10_000).min(largest::id_entries_max(&target.limits)?);
    target.expect(&largest::id_pool("large", entries))?;
    let reads = [
        largest::explained_candidates("none", 1000),
        largest::explained_candidates("isolate", 1000),
        largest::impossible_candidates(),
        largest::placement_candidates(Some(1000)),
        LargeRequest::get("/v1/claims?owner_prefix=nothing&limit=1000".into()),
        LargeRequest::get("/v1/pools/large/claims?limit=1000".into()),
        LargeRequest::get("/v1/history?limit=1000".into()),
        LargeRequest::get("/v1/history?pool=large&owner=nothing&limit=1000".into()),
        LargeRequest::get(format!("{}/large", largest::ID_POOLS)),
        LargeRequest::get(
            "/restconf/config/id-manager:id-pools?fields=id-pool/id-entries/id-key".into(),
        ),
        LargeRequest::get("/v1/openapi.json".into()),
        LargeRequest::get("/metrics".into()),
    ];
    let (clients, rounds) = target.effort.pick((8, 8), (4, 1));
    super::parallel(clients, |_| {
        for _ in 0..rounds {
            for request in &reads {
                let reply = target.ask(request)?;
                ensure!(
                    matches!(reply.status, 200 | 429 | 503),
                    "{} {} got {}: {}",
                    request.method,
                    request.path,
                    reply.status,
                    reply.text()
                );
            }
        }
        Ok(())
    })?;
    Ok(Sent {
        count: (clients * rounds * reads.len()) as u64,
        answers: "200, or 503 while busy".into(),
    })
}
