//! Opening: errors, and waiting for an unreachable server.

use std::time::{Duration, Instant};

use allod_journal::postgres::Postgres;
use allod_journal::suite::{append_many, read_whole};
use allod_journal::{AppendOutcome, Journal, JournalError, Tail};
use allod_testkit::postgres::Cluster;

use crate::postgres::{cluster, fresh, open, parse};

#[track_caller]
fn refused(url: &str) -> JournalError {
    match Postgres::open(&parse(url), false) {
        Ok(opened) => panic!("opened: {opened:?}"),
        Err(error) => error,
    }
}

#[test]
fn permanent_errors_are_returned_at_once() {
    let cluster = Cluster::start(&[]).expect("a cluster");
    cluster.sql("CREATE ROLE guest LOGIN PASSWORD 'right'").expect("sql");
    cluster.sql("CREATE ROLE poor LOGIN").expect("sql");
    let hba = "local all guest scram-sha-256\nlocal all all trust\n";
    let file = cluster.sql("SHOW hba_file").expect("sql");
    std::fs::write(file, hba).expect("write");
    cluster.sql("SELECT pg_reload_conf()").expect("sql");
    cluster.sql("CREATE SCHEMA allod AUTHORIZATION guest").expect("sql");
    let host = cluster.host();

    let error = refused(&format!("postgres://guest:wr0ng@{host}/postgres"));
    assert!(matches!(error, JournalError::Unusable { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("password authentication failed for user \"guest\""), "{text}");
    assert!(!text.contains("wr0ng"), "{text}");

    let error = refused(&format!("postgres://allod@{host}/nowhere"));
    assert!(error.to_string().contains("database \"nowhere\" does not exist"), "{error}");

    let error = refused(&format!("postgres://poor@{host}/postgres?schema=mine"));
    assert!(error.to_string().contains("tables cannot be created in schema mine"), "{error}");

    // Rights in its own schema are sufficient.
    let url = format!("postgres://guest:right@{host}/postgres");
    append_many(&open(&parse(&url)), 3);
    assert_eq!(read_whole(&open(&parse(&url)), 1000).len(), 3);
}

#[test]
fn tls_requires_a_verified_certificate() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a key");
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let port = port.expect("a free port").port();
    let settings = ["listen_addresses=127.0.0.1".to_owned(), format!("port={port}")];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let mut cluster = Cluster::start(&settings).expect("a cluster");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, made.cert.pem()).expect("write");
    let url = |rest: &str| format!("postgres://allod@localhost:{port}/postgres?{rest}");
    let trusting = url(&format!("sslmode=verify-full&sslrootcert={}", file.display()));

    // With sslmode=require, a server without TLS is refused.
    let journal = open(&parse(&trusting));
    let error = journal.tail().expect_err("it speaks no TLS").to_string();
    assert!(error.contains("TLS"), "{error}");

    cluster.put_file("server.crt", &made.cert.pem()).expect("put_file");
    cluster.put_file("server.key", &made.signing_key.serialize_pem()).expect("put_file");
    cluster.stop().expect("stop");
    cluster.add_settings(&["ssl=on"]);
    cluster.resume().expect("resume");
    append_many(&open(&parse(&trusting)), 3);
    let encrypted = "SELECT bool_or(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'allod'";
    let journal = open(&parse(&trusting));
    assert_eq!(cluster.sql(encrypted).expect("sql"), "t");
    drop(journal);
    // A server with an unknown certificate is refused.
    let error =
        open(&parse(&url("sslmode=require"))).tail().expect_err("the certificate is unknown");
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[test]
fn newer_format_and_unrelated_table_are_refused() {
    let address = fresh(cluster());
    let schema = address.to_string().rsplit('=').next().expect("a schema").to_owned();
    append_many(&open(&address), 2);
    cluster().sql(&format!("UPDATE {schema}.about SET format = 7")).expect("sql");
    let error = Postgres::open(&address, false).expect_err("it is too new");
    assert!(matches!(error, JournalError::TooNew { found: 7, known: 1 }), "{error:?}");

    let address = fresh(cluster());
    let schema = address.to_string().rsplit('=').next().expect("a schema").to_owned();
    cluster().sql(&format!("CREATE SCHEMA {schema}")).expect("sql");
    cluster().sql(&format!("CREATE TABLE {schema}.journal (x int)")).expect("sql");
    let error = Postgres::open(&address, false).expect_err("it is not ours");
    assert!(error.to_string().contains("not from allod"), "{error}");
}

#[test]
fn two_servers_can_create_the_tables_at_the_same_time() {
    let address = fresh(cluster());
    std::thread::scope(|scope| {
        let open = || open(&address).tail().expect("tail");
        let others: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
        for other in others {
            assert_eq!(other.join().expect("a thread"), Tail::default());
        }
    });
}

#[test]
fn unreachable_server_is_retried() {
    let mut cluster = Cluster::start(&[]).expect("a cluster");
    let address = fresh(&cluster);
    append_many(&open(&address), 2);
    cluster.stop().expect("stop");
    let journal = open(&address);
    assert!(!journal.guarantees().durable);
    assert!(matches!(journal.tail(), Err(JournalError::Unavailable { .. })));
    let outcome = journal
        .append(&Tail::default(), &allod_journal::suite::next_frame(&Tail::default(), 1, b""));
    assert!(matches!(outcome, AppendOutcome::Unknown(JournalError::Untried { .. })), "{outcome:?}");
    // Calls during the back-off fail at once.
    let started = Instant::now();
    for _ in 0..50 {
        assert!(journal.tail().is_err());
    }
    assert!(started.elapsed() < Duration::from_secs(5));
    cluster.resume().expect("resume");
    let started = Instant::now();
    while journal.tail().is_err() {
        assert!(started.elapsed() < Duration::from_secs(10), "it does not recover");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(read_whole_patiently(&journal), 2);
    // A restart between two calls causes no error.
    cluster.kill().expect("kill");
    cluster.resume().expect("resume");
    assert_eq!(journal.tail().expect("tail").seq, 2);
    assert_eq!(journal.read(1, 10_000).expect("read").len(), 2);
}

fn read_whole_patiently(journal: &dyn Journal) -> usize {
    let started = Instant::now();
    loop {
        match journal.read(1, 10_000) {
            Ok(frames) => return frames.len(),
            Err(error) => assert!(started.elapsed() < Duration::from_secs(10), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn changed_rows_are_damage() {
    let address = fresh(cluster());
    let schema = address.to_string().rsplit('=').next().expect("a schema").to_owned();
    let journal = open(&address);
    append_many(&journal, 5);
    for (change, words) in [
        ("UPDATE journal SET body = 'x' WHERE seq = 3", "record 3 does not match its stored hash"),
        ("UPDATE journal SET hash = 'x' WHERE seq = 3", "damaged at record 3"),
        ("DELETE FROM journal WHERE seq = 3", "record 3 is missing"),
    ] {
        cluster().sql(&format!("SET search_path = {schema}; {change}")).expect("sql");
        let error = journal.read(1, 10_000).expect_err("it is damaged").to_string();
        assert!(error.contains(words), "{error}");
    }
}
