//! One server, or two that do not quarrel: what an operator sees.

use allod_journal::Journal;
use allod_journal::postgres::{Address, Postgres};
use allod_testkit::postgres::Cluster;

use crate::server::{self, Server};
use crate::{POOL, command, refused, start, until};

#[test]
fn a_server_that_writes_nothing_follows_one_that_does() {
    let cluster = Cluster::start(&[]).unwrap();
    let (one, other) = (start(&cluster.url()), start(&cluster.url()));
    assert_eq!(one.put("/v1/pools/p", POOL).status, 201);
    let before = epochs(&cluster);
    for n in 0..20 {
        let key = format!("/v1/pools/p/claims/k{n}");
        assert_eq!(one.put(&key, "{}").status, 201);
        until("the other one shows it", || other.get(&key).status == 200);
    }
    // It did not have to lead for that.
    assert_eq!(epochs(&cluster), before);
    // And it does when it is asked to.
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

/// How many writers there were.
fn epochs(cluster: &Cluster) -> String {
    cluster.sql("SELECT count(DISTINCT epoch) FROM allod.journal").unwrap()
}

#[test]
fn a_server_starts_before_its_database_and_outlives_it() {
    let mut cluster = Cluster::start(&[]).unwrap();
    let url = cluster.url().replace("allod@", "allod:s3cret@");
    cluster.stop().unwrap();
    let command = command(&url, &["--log", "trace"]);
    let starting = std::thread::spawn(move || Server::of(command));
    std::thread::sleep(std::time::Duration::from_millis(700));
    cluster.resume().unwrap();
    let server = starting.join().unwrap();
    assert_eq!(server.put("/v1/pools/p", POOL).status, 201);

    cluster.kill().unwrap();
    let answer = server.put("/v1/pools/p/claims/a", "{}");
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(server.get("/v1/pools/p").status, 200);
    cluster.resume().unwrap();
    until("it writes again", || server.put("/v1/pools/p/claims/a", "{}").status < 300);
    let (code, said) = server.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("cannot be reached yet"), "{said}");
    assert!(!said.contains("s3cret"), "the password is in the log: {said}");
}

#[test]
fn what_cannot_be_meant_is_refused_in_plain_words() {
    let cluster = Cluster::start(&[]).unwrap();
    let nowhere = format!("postgres://allod@{}/nowhere", cluster.host());
    for (url, more, code, words) in [
        (nowhere.as_str(), &[][..], 1, "database \"nowhere\" does not exist"),
        ("mysql://host/db", &[][..], 2, "postgres://user@host/database is expected"),
        ("postgres://u:s3cret@h/db?schema=A", &[][..], 2, "schema 'A'"),
        (&cluster.url(), &["--ha", "true"][..], 1, "ha is on, but the journal is not replicated"),
    ] {
        let (exit, said) = refused(url, more);
        assert_eq!(exit, Some(code), "{said}");
        assert!(said.contains(words) && !said.contains("s3cret"), "{said}");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = server::arguments(folder.path());
    arguments.extend(["--ha".to_owned(), "true".to_owned()]);
    let output = server::allod(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("does not survive the loss of its machine"), "{said}");
    let journal = Postgres::open(&Address::parse(&cluster.url()).unwrap(), false).unwrap();
    assert_eq!(journal.tail().unwrap().seq, 0);
}
