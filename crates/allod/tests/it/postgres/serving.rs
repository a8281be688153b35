//! One server, or two without conflicting writes, on PostgreSQL.

use allod_journal::Journal;
use allod_journal::postgres::{Postgres, PostgresAddress};
use allod_testkit::postgres::Cluster;

use crate::crash::server::{self, Server};
use crate::postgres::{POOL, command, refused, start, until};

#[test]
fn a_server_without_writes_follows_the_writer() {
    let cluster = Cluster::start(&[]).unwrap();
    let (one, other) = (start(&cluster.url()), start(&cluster.url()));
    // Each was the writer once, then the first one again.
    assert_eq!(other.put("/v1/pools/q", POOL).status, 201);
    assert_eq!(one.put("/v1/pools/p", POOL).status, 201);
    let before = epochs(&cluster);
    for n in 0..20 {
        let key = format!("/v1/pools/p/claims/k{n}");
        assert_eq!(one.put(&key, "{}").status, 201);
        until("the other one shows it", || other.get(&key).status == 200);
    }
    // It did not become the writer for that.
    assert_eq!(epochs(&cluster), before);
    // It does on a write.
    assert_eq!(other.put("/v1/pools/p/claims/mine", "{}").status, 201);
    assert_ne!(epochs(&cluster), before);
    let status = one.get("/v1/status").text();
    assert!(status.contains(r#""journal":{"name":"postgresql""#), "{status}");
    assert!(status.contains(r#""shared":true,"note":"not replicated"#), "{status}");
    assert_eq!((one.stop().0, other.stop().0), (Some(0), Some(0)));

    let verify = ["journal", "verify", "--output", "json", "--journal", &cluster.url()];
    let verified = server::allod(&verify.map(str::to_owned)).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    assert!(String::from_utf8_lossy(&verified.stdout).contains(r#""violations":[]"#));
    cluster.sql("UPDATE allod.journal SET body = '\\x01' WHERE seq = 5").unwrap();
    let verified = server::allod(&verify.map(str::to_owned)).output().unwrap();
    assert_eq!(verified.status.code(), Some(3));
}

#[test]
fn lagging_server_answers_a_named_value_of_a_new_pool_from_the_shared_journal() {
    let cluster = Cluster::start(&[]).unwrap();
    let (one, other) = (start(&cluster.url()), start(&cluster.url()));
    for n in 0..20 {
        // The other server has had no time to read that the pool exists.
        let pool = format!("p{n}");
        assert_eq!(one.put(&format!("/v1/pools/{pool}"), POOL).status, 201);
        let claim = |body: &str| other.put(&format!("/v1/pools/{pool}/claims/k"), body);
        let transact = |op: &str| {
            let body = format!(r#"{{"ops":[{}]}}"#, op.replace("POOL", &pool));
            other.client().send("POST", "/v1/transactions", &[], Some(&body)).unwrap()
        };
        let (answer, status, detail) = match n % 4 {
            0 => (claim(r#"{"value":"7"}"#), 201, ""),
            1 => (claim(r#"{"value":"10.0.0.7"}"#), 400, r#""detail":"value: '10.0.0.7' is not"#),
            2 => (transact(r#"{"check":{"free":{"pool":"POOL","value":7}}}"#), 200, ""),
            _ => {
                let op = r#"{"claim":{"pool":"POOL","key":"k","value":"x"}}"#;
                (transact(op), 400, r#""detail":"ops[0]: value: 'x' is not"#)
            }
        };
        let text = answer.text();
        assert_eq!(answer.status, status, "{text}");
        assert!(text.contains(detail), "{text}");
        assert!(answer.header("allod-position").is_some(), "{text}");
    }
    assert_eq!((one.stop().0, other.stop().0), (Some(0), Some(0)));
}

/// The number of epochs.
fn epochs(cluster: &Cluster) -> String {
    cluster.sql("SELECT count(DISTINCT epoch) FROM allod.journal").unwrap()
}

#[test]
fn a_server_starts_before_its_database_and_survives_its_restart() {
    let mut cluster = Cluster::start(&[]).unwrap();
    let url = cluster.url().replace("allod@", "allod:s3cret@");
    cluster.stop().unwrap();
    let server = Server::listening(command(&url, &["--log", "trace"]));
    until("it is not ready", || server.get("/readyz").status == 503);
    cluster.resume().unwrap();
    until("it is ready", || server.get("/readyz").status == 200);
    assert_eq!(server.put("/v1/pools/p", POOL).status, 201);

    cluster.stop().unwrap();
    until("writes fail", || server.put("/v1/pools/p/claims/a", "{}").status == 503);
    assert_eq!(server.get("/v1/pools/p").status, 200);
    cluster.resume().unwrap();
    until("it writes again", || server.put("/v1/pools/p/claims/a", "{}").status < 300);
    let (code, said) = server.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("cannot be reached yet"), "{said}");
    assert!(!said.contains("s3cret"), "the password is in the log: {said}");
    assert!(!said.contains("executing statement"), "records are in the log: {said}");
}

#[test]
fn invalid_addresses_are_refused() {
    let cluster = Cluster::start(&[]).unwrap();
    let nowhere = format!("postgres://allod@{}/nowhere", cluster.host());
    for (url, more, code, words) in [
        (nowhere.as_str(), &[][..], 1, "database \"nowhere\" does not exist"),
        (
            "mysql://host/db",
            &[][..],
            2,
            "expected an address such as postgres://user@host/database",
        ),
        ("postgres://u:s3cret@h/db?schema=A", &[][..], 2, "schema 'A'"),
        (&cluster.url(), &["--ha"][..], 1, "ha is on, but the journal is not replicated"),
    ] {
        let (exit, said) = refused(url, more);
        assert_eq!(exit, Some(code), "{said}");
        assert!(said.contains(words) && !said.contains("s3cret"), "{said}");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = server::arguments(folder.path());
    arguments.push("--ha".to_owned());
    let output = server::allod(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("--ha needs a replicated journal"), "{said}");
    let journal = Postgres::open(&PostgresAddress::parse(&cluster.url()).unwrap(), false).unwrap();
    assert_eq!(journal.tail().unwrap().seq, 0);
    let wrong = ["journal", "verify", "--journal", "postgres://u:s3cret@h/db?schema=A"];
    let output = server::allod(&wrong.map(str::to_owned)).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("schema 'A'") && !said.contains("s3cret"), "{said}");
}

#[test]
fn a_backup_of_a_folder_restores_into_postgresql_and_back() {
    let (cluster, data) = (Cluster::start(&[]).unwrap(), tempfile::tempdir().unwrap());
    let allod = |arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
        let output = server::allod(&arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), said)
    };
    let path = |name: &str| data.path().join(name).to_str().unwrap().to_owned();
    let (one, two, folder) = (path("one"), path("two"), path("folder"));
    let server = server::start(&data.path().join("first"));
    assert_eq!(server.put("/v1/pools/p", POOL).status, 201);
    for n in 0..50 {
        assert_eq!(server.put(&format!("/v1/pools/p/claims/k{n}"), "{}").status, 201);
    }
    assert_eq!(server.stop().0, Some(0));
    let made = allod(&["backup", "--to", &one, "--data", &path("first")]);
    assert_eq!(made.0, Some(0), "{made:?}");
    let restored = allod(&["restore", &one, "--journal", &cluster.url(), "--output", "json"]);
    assert_eq!(restored.0, Some(0), "{restored:?}");
    // Not into a database that has a journal.
    let again = allod(&["restore", &one, "--journal", &cluster.url()]);
    assert!(again.0 != Some(0) && again.2.contains("the target is not empty"), "{again:?}");

    let server = start(&cluster.url());
    assert_eq!(server.get("/v1/pools/p/claims/k49").status, 200);
    assert_eq!(server.put("/v1/pools/p/claims/more", "{}").status, 201);
    // From the database, while a server is running.
    let made = allod(&["backup", "--to", &two, "--journal", &cluster.url()]);
    assert_eq!(made.0, Some(0), "{made:?}");
    assert_eq!(server.stop().0, Some(0));
    let restored = allod(&["restore", &two, "--data", &folder]);
    assert_eq!(restored.0, Some(0), "{restored:?}");
    let server = server::start(std::path::Path::new(&folder));
    assert_eq!(server.get("/v1/pools/p/claims/more").status, 200);
}
