//! Fail-over: loss with an asynchronous standby is detected, and `ha` requires a synchronous one.

use allod_engine::{Halt, recover, write_checkpoint};
use allod_journal::Journal;
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::postgres::{Postgres, PostgresAddress};
use allod_testkit::postgres::Cluster;

use crate::crash::server::Server;
use crate::postgres::{POOL, command, start, until};

const STREAMING: &str = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";

#[test]
fn a_server_stops_when_a_fail_over_lost_acknowledged_records() {
    let mut primary = Cluster::start(&[]).unwrap();
    let standby = primary.standby("second", &[]).unwrap();
    primary.wait_for(STREAMING, "1").unwrap();
    let hosts = format!("{},{}", primary.host(), standby.host());
    let url = primary.url().replace(&primary.host(), &hosts);
    // One that gets more writes and one that does not; both have seen the lost records.
    let (busy, idle) = (start(&url), start(&url));
    assert_eq!(busy.put("/v1/pools/p", POOL).status, 201);
    assert_eq!(busy.put("/v1/pools/p/claims/safe", "{}").status, 201);
    let status = busy.get("/v1/status").text();
    assert!(status.contains("replicated asynchronously"), "{status}");
    let caught_up = "SELECT bool_and(replay_lsn = pg_current_wal_lsn()) FROM pg_stat_replication";
    primary.wait_for(caught_up, "t").unwrap();

    // The standby is disconnected; the primary continues to acknowledge.
    standby.set("primary_conninfo", "").unwrap();
    primary.wait_for("SELECT count(*) FROM pg_stat_replication", "0").unwrap();
    for n in 0..5 {
        assert_eq!(busy.put(&format!("/v1/pools/p/claims/lost{n}"), "{}").status, 201);
    }
    until("both have it", || idle.get("/v1/pools/p/claims/lost4").status == 200);
    // A checkpoint also has the lost records.
    let folder = tempfile::tempdir().unwrap();
    let files = FileCheckpoints::open(folder.path()).unwrap();
    let journal = Postgres::open(&PostgresAddress::parse(&primary.url()).unwrap(), false).unwrap();
    let replayed = recover(&journal, &files).unwrap();
    write_checkpoint(&files, &replayed.state.freeze(), &replayed.tail, replayed.level).unwrap();
    primary.kill().unwrap();
    standby.promote().unwrap();

    until("the busy one refuses", || {
        let asked = busy.client().send("PUT", "/v1/pools/p/claims/more", &[], Some("{}"));
        !asked.is_ok_and(|answer| answer.status < 300)
    });
    for server in [busy, idle] {
        let (code, said) = server.wait();
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("the journal has changed under this server"), "{said}");
    }
    let journal = Postgres::open(&PostgresAddress::parse(&url).unwrap(), false).unwrap();
    let refused = recover(&journal, &files);
    assert!(matches!(refused, Err(Halt::JournalTruncated { .. })), "{refused:?}");
    assert!(journal.tail().unwrap().seq < replayed.tail.seq);

    // A restarted server cannot know what is lost; it can only warn.
    let server = start(&url);
    assert_eq!(server.get("/v1/pools/p/claims/safe").status, 200);
    assert_eq!(server.get("/v1/pools/p/claims/lost0").status, 404);
    let status = server.get("/v1/status").text();
    assert!(status.contains("may be lost"), "{status}");
}

#[test]
fn ha_requires_a_synchronous_standby() {
    let primary = Cluster::start(&["fsync=on"]).unwrap();
    let standby = primary.standby("second", &[]).unwrap();
    primary.wait_for(STREAMING, "1").unwrap();
    let (code, said) = crate::postgres::refused(&primary.url(), &["--ha"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("asynchronously"), "{said}");

    primary.set("synchronous_standby_names", "second").unwrap();
    let server = Server::of(command(&primary.url(), &["--ha"]));
    assert_eq!(server.put("/v1/pools/p", POOL).status, 201);
    let status = server.get("/v1/status").text();
    assert!(status.contains(r#""durable":true,"replicated":true"#), "{status}");

    primary.set("synchronous_standby_names", "").unwrap();
    let answer = server.put("/v1/pools/p/claims/a", "{}");
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert!(answer.text().contains("ha is on"), "{}", answer.text());
    assert_eq!(server.get("/v1/pools/p").status, 200);
    until("status says so", || server.get("/v1/status").text().contains(r#""replicated":false"#));
    primary.set("synchronous_standby_names", "second").unwrap();
    until("it writes again", || server.put("/v1/pools/p/claims/a", "{}").status < 300);
    assert_eq!(server.stop().0, Some(0));
    drop(standby);
}
