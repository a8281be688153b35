//! `allod import placement` from the real Placement and from another allod: what it copies, that it can be interrupted and
//! resumed, how it reports differences, and that it never writes to the source.

mod cloud;
mod real;
mod relay;

use std::process::{Command, Stdio};

use allod_testkit::server::Server;
use cloud::{
    BARE, CONSUMERS, COUNTS, ODD_CONSUMER, PROVIDERS, Placement, SHARING, SHRUNK, consumer_uuid,
    fill, provider_uuid, stock,
};
use real::Real;
use relay::Relay;
use serde_json::{Value, json};

/// An allod with an empty folder.
struct Allod {
    server: Server,
    placement: Placement,
    _folder: tempfile::TempDir,
}

impl Allod {
    fn start() -> Allod {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut command = Command::new(env!("CARGO_BIN_EXE_allod"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
        let server = Server::of({
            command.env_clear().stdin(Stdio::null());
            command
        });
        let placement = Placement::at(server.address, "/placement");
        Allod { server, placement, _folder: folder }
    }
}

fn import(from: &Placement, to: &Placement, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allod"));
    command.args(["import", "placement", "--from", &from.url, "--to", &to.url]);
    command.args(["--token", "admin", "--output", "json"]).args(more);
    command.env_clear().env("ALLOD_FROM_TOKEN", "admin").stdin(Stdio::null());
    command
}

/// Runs an import. Returns its exit code, its report and its stderr.
fn run(from: &Placement, to: &Placement, more: &[&str]) -> (i32, Value, String) {
    let done = import(from, to, more).output().unwrap();
    let report = serde_json::from_slice(&done.stdout).unwrap_or_default();
    (done.status.code().unwrap(), report, String::from_utf8(done.stderr).unwrap())
}

/// Runs an import after which the servers must agree.
fn run_to_agreement(from: &Placement, to: &Placement, more: &[&str]) -> Value {
    let (code, report, said) = run(from, to, more);
    assert_eq!(code, 0, "{said}\n{report:#}");
    assert_eq!(report["agrees"], json!(true));
    report
}

/// The sum of a column of the copy counts.
fn copied(report: &Value, column: &str) -> u64 {
    let kinds = report["copied"]["kinds"].as_object().unwrap();
    kinds.values().map(|of| of[column].as_u64().unwrap()).sum()
}

fn assert_counts(report: &Value) {
    for (kind, count) in COUNTS {
        let wanted = json!({ "source": count, "target": count, "differ": 0 });
        assert_eq!(report["compared"]["kinds"][kind], wanted, "{kind}");
    }
}

/// All differences, as `of member: source, target`.
fn differences(report: &Value) -> Vec<String> {
    let all = report["compared"]["differences"].as_array().unwrap();
    let line = |row: &Value| {
        let of = row["of"].as_str().unwrap();
        format!(
            "{} {} {}: {}, {}",
            row["kind"].as_str().unwrap(),
            of,
            row["member"],
            row["source"],
            row["target"]
        )
    };
    let mut lines: Vec<String> = all.iter().map(line).collect();
    lines.sort();
    lines
}

#[test]
fn the_real_placement_is_copied_and_copied_back() {
    let (real, allod) = (Real::start(), Allod::start());
    fill(&real.placement);
    // Every write to a provider or consumer changes its generation.
    let generations = |placement: &Placement| {
        let shared = format!("/resource_providers/{}/allocations", provider_uuid(SHARING));
        (placement.get("/resource_providers"), placement.get(&shared))
    };
    let before = generations(&real.placement);

    // Interrupted while it copies providers, and while it copies allocations.
    let count = |path: &str, list: &str| allod.placement.get(path)[list].as_array().unwrap().len();
    for (requests, consumers) in [(PROVIDERS / 2 * 3, false), (4 + PROVIDERS * 4 + 6, true)] {
        let relay = Relay::start(real.placement.address, requests);
        let slow = Placement::at(relay.address, "");
        let mut cut = import(&slow, &allod.placement, &["--jobs", "1"]);
        let mut cut = cut.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        relay.wait();
        cut.kill().unwrap();
        cut.wait().unwrap();
        let providers = count("/resource_providers", "resource_providers");
        assert_eq!((providers > 0, providers == PROVIDERS), (true, consumers));
        let usages = allod.placement.get("/usages?project_id=a%20project");
        let held = usages["usages"].as_object().unwrap().values();
        let held: u64 = held.filter_map(|of| of["consumer_count"].as_u64()).sum();
        assert_eq!((held > 0, held < CONSUMERS), (consumers, true), "{held}");
    }
    let (code, report, _) = run(&real.placement, &allod.placement, &["--verify"]);
    assert_eq!((code, &report["agrees"], &report["copied"]), (4, &json!(false), &Value::Null));
    let report = run_to_agreement(&real.placement, &allod.placement, &[]);
    assert!(copied(&report, "written") > 0 && copied(&report, "equal") > 0, "{report:#}");
    assert_eq!(copied(&report, "refused") + copied(&report, "differing"), 0);
    assert_counts(&report);

    // Run again, it writes nothing.
    let there = allod.placement.everything();
    let report = run_to_agreement(&real.placement, &allod.placement, &[]);
    assert_eq!(copied(&report, "written"), 0, "{report:#}");
    assert_eq!(allod.placement.everything(), there);
    assert_eq!(report["lost"], json!([]));
    assert_eq!(generations(&real.placement), before, "the source was written to");

    let consumer = |id: &str| allod.placement.get(&format!("/allocations/{id}"));
    assert_eq!(consumer(&consumer_uuid(1))["consumer_type"], "INSTANCE");
    assert_eq!(consumer(&consumer_uuid(101))["consumer_type"], "MIGRATION");
    assert_eq!(consumer(&consumer_uuid(202))["consumer_type"], "unknown");
    assert_eq!(consumer(ODD_CONSUMER)["user_id"], format!("the user of {ODD_CONSUMER}"));
    let path = format!("/resource_providers/{}", provider_uuid(2010));
    assert_eq!(allod.placement.get(&path)["root_provider_uuid"], json!(provider_uuid(1)));
    let path = format!("/resource_providers/{}/usages", provider_uuid(SHRUNK));
    assert_eq!(allod.placement.get(&path)["usages"], json!({ "VCPU": 60, "DISK_GB": 7 }));

    // A wrong address and a missing token are reported with advice.
    let mut refused = import(&real.placement, &allod.placement, &[]);
    let refused = refused.env_remove("ALLOD_FROM_TOKEN").output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(6) && said.contains("401") && said.contains("--from-token"),
        "{said}"
    );

    // Back into an empty Placement.
    drop(real);
    let real = Real::start();
    let report = run_to_agreement(&allod.placement, &real.placement, &[]);
    assert_counts(&report);
    assert_eq!(copied(&report, "refused"), 0);
}

#[test]
fn differences_are_reported_and_replaced_only_with_replace() {
    let (from, to) = (Allod::start(), Allod::start());
    fill(&from.placement);
    assert_counts(&run_to_agreement(&from.placement, &to.placement, &[]));

    // Moves, releases and new sizes at the source.
    let source = &from.placement;
    source.hold(&consumer_uuid(1), Some("INSTANCE"), &[(2, json!({ "MEMORY_MB": 100 }))]);
    source.write("DELETE", &format!("/allocations/{}", consumer_uuid(3)), &Value::Null);
    source.hold(&consumer_uuid(3), None, &[(3, json!({ "MEMORY_MB": 5 }))]);
    source.write("DELETE", &format!("/allocations/{}", consumer_uuid(200)), &Value::Null);
    source.set(SHRUNK, "inventories", json!({ "VCPU": stock(9) }));
    source.set(2, "traits", json!(["CUSTOM_SLICE"]));
    source.set(2, "aggregates", json!([]));
    let renamed = json!({ "name": "renamed", "parent_provider_uuid": provider_uuid(3) });
    source.write("PUT", &format!("/resource_providers/{}", provider_uuid(BARE)), &renamed);

    for (provider, name) in [(1, "aside"), (2, "provider-1"), (1, "provider-2")] {
        let path = format!("/resource_providers/{}", provider_uuid(provider));
        source.write("PUT", &path, &json!({ "name": name }));
    }

    let there = to.placement.everything();
    let (code, report, said) = run(source, &to.placement, &[]);
    assert_eq!((code, copied(&report, "written")), (4, 0), "{report:#}");
    assert!(said.contains("the servers differ"), "{said}");
    assert_eq!(to.placement.everything(), there, "something was overwritten");
    let reported = differences(&report);
    for wanted in [
        format!("providers {} \"name\": \"renamed\", \"provider-{BARE}\"", provider_uuid(BARE)),
        format!("inventories {} \"VCPU.total\": 9, 8", provider_uuid(SHRUNK)),
        format!("usages {} \"VCPU\": 20, 60", provider_uuid(SHRUNK)),
        format!(
            "provider_traits {} \"\": [\"CUSTOM_SLICE\"], [\"COMPUTE_NODE\",\"CUSTOM_GOLD\"]",
            provider_uuid(2)
        ),
        format!("consumers {} \"consumer_type\": \"unknown\", \"INSTANCE\"", consumer_uuid(3)),
    ] {
        assert!(reported.contains(&wanted), "{wanted} is not in {reported:#?}");
    }

    let report = run_to_agreement(source, &to.placement, &["--replace"]);
    assert_eq!(report["copied"]["kinds"]["consumers"]["removed"], json!(1));
    assert_eq!(copied(&report, "refused"), 0, "{report:#}");
    assert_eq!(copied(&run_to_agreement(source, &to.placement, &["--replace"]), "written"), 0);
}

#[test]
fn providers_that_only_the_target_has_are_refused_kept_or_deleted() {
    let (from, to) = (Allod::start(), Allod::start());
    from.placement.create(1, None);
    to.placement.create(7, None);
    to.placement.create(8, Some(7));
    to.placement.set(8, "inventories", json!({ "VCPU": stock(4) }));
    to.placement.hold(&consumer_uuid(1), Some("INSTANCE"), &[(8, json!({ "VCPU": 1 }))]);
    let there = to.placement.everything();
    let (code, _, said) = run(&from.placement, &to.placement, &[]);
    assert!(code == 4 && said.contains("has 2 providers that the source does not have"), "{said}");
    assert_eq!(to.placement.everything(), there);
    let report = run_to_agreement(&from.placement, &to.placement, &["--others", "keep"]);
    assert_eq!(report["compared"]["others"], json!(2));
    // A reinstalled host has its old name and a new UUID.
    from.placement.create(2, None);
    let path = format!("/resource_providers/{}", provider_uuid(7));
    to.placement.write("PUT", &path, &json!({ "name": "provider-2" }));
    let (code, _, said) = run(&from.placement, &to.placement, &["--others", "delete"]);
    assert!(code == 2 && said.contains("needs --replace"), "{said}");
    let report =
        run_to_agreement(&from.placement, &to.placement, &["--others", "delete", "--replace"]);
    assert_eq!(copied(&report, "removed"), 3);
    assert_eq!(to.placement.everything()["resource_providers"].as_array().unwrap().len(), 2);
}

#[test]
fn an_old_source_has_no_types_and_a_widened_inventory_is_restored() {
    let (from, to) = (Allod::start(), Allod::start());
    fill(&from.placement);
    let report = run_to_agreement(&from.placement, &to.placement, &["--from-version", "1.30"]);
    assert_eq!(report["source"]["version"], "1.30");
    assert_eq!(report["lost"].as_array().unwrap().len(), 1);
    let consumer = to.placement.get(&format!("/allocations/{}", consumer_uuid(1)));
    assert_eq!(consumer["consumer_type"], "unknown");
    run_to_agreement(&from.placement, &to.placement, &["--verify", "--from-version", "1.14"]);
    let (code, _, said) = run(&from.placement, &to.placement, &["--from-version", "1.13"]);
    assert!(code == 2 && said.contains("1.14 is required"), "{said}");
    // With a newer version the types are differences, which need --replace.
    assert_eq!(run(&from.placement, &to.placement, &["--verify"]).0, 4);
    run_to_agreement(&from.placement, &to.placement, &["--replace"]);

    // As an import leaves it that is interrupted while an inventory is widened.
    let wide = json!({
        "total": i32::MAX, "reserved": 0, "min_unit": 1, "max_unit": i32::MAX, "step_size": 1,
        "allocation_ratio": 1.0,
    });
    to.placement.set(SHRUNK, "inventories", json!({ "VCPU": wide, "DISK_GB": wide }));
    let report = run_to_agreement(&from.placement, &to.placement, &[]);
    assert_eq!(report["copied"]["kinds"]["inventories"]["written"], json!(1));
}

#[test]
fn wrong_addresses_are_refused_before_anything_is_written() {
    let allod = Allod::start();
    let none = Placement::at(([127, 0, 0, 1], 1).into(), "");
    let nowhere = Placement::at(allod.server.address, "/v1");
    for (from, to, code, wanted) in [
        (&none, &allod.placement, 1, "at http://127.0.0.1:1: cannot connect"),
        (&allod.placement, &none, 1, "at http://127.0.0.1:1: cannot connect"),
        (&nowhere, &allod.placement, 2, "there is no Placement at"),
        (&allod.placement, &allod.placement, 2, "source and target are the same"),
    ] {
        let (found, _, said) = run(from, to, &[]);
        assert!(found == code && said.contains(wanted), "{found}: {said}");
        assert!(
            said.contains("help: --from ") || said.contains("help: set its URL with --to"),
            "{said}"
        );
    }
}
