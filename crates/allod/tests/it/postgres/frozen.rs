//! A primary that accepts connections and never answers, and the change of the writer between two busy servers.

use std::time::Instant;

use allod_testkit::postgres::Cluster;

use crate::crash::server::Server;
use crate::postgres::{POOL, command, start, until};

const STREAMING: &str = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
const CAUGHT_UP: &str =
    "SELECT bool_and(replay_lsn = pg_current_wal_lsn()) FROM pg_stat_replication";

/// The status of the answer to a claim, if there is one.
fn put(server: &Server, key: &str) -> Option<u16> {
    let path = format!("/v1/pools/p/claims/{key}");
    Some(server.client().send("PUT", &path, &[], Some("{}")).ok()?.status)
}

/// Freezes the primary under a running server, promotes the standby, and starts another server. `swapped`: the standby is the
/// first host of the URL.
fn fail_over(swapped: bool) {
    let primary = Cluster::start(&[]).unwrap();
    let standby = primary.standby("second", &[]).unwrap();
    primary.wait_for(STREAMING, "1").unwrap();
    let (one, other) = (primary.host(), standby.host());
    let hosts = if swapped { format!("{other},{one}") } else { format!("{one},{other}") };
    let url = primary.url().replace(&one, &hosts);
    let server = start(&url);
    assert_eq!(server.put("/v1/pools/p", POOL).status, 201);
    assert_eq!(server.put("/v1/pools/p/claims/before", "{}").status, 201);
    primary.wait_for(CAUGHT_UP, "t").unwrap();
    primary.freeze().unwrap();

    // There is no primary now. Reads are answered, and so are writes, with 503, except one whose outcome is not known yet.
    let mut unknown = server.client();
    let unknown = std::thread::spawn(move || {
        drop(unknown.send("PUT", "/v1/pools/p/claims/unknown", &[], Some("{}")));
    });
    until("it is not ready", || server.get("/readyz").status == 503);
    for n in 0..10 {
        let status = put(&server, &format!("during-{n}"));
        if status != Some(503) {
            panic!("the answer is {status:?}: {}", server.kill());
        }
    }
    assert_eq!(server.get("/v1/pools/p/claims/before").status, 200);
    standby.promote().unwrap();
    until("it writes again", || put(&server, "after").is_some_and(|status| status < 300));
    unknown.join().unwrap();
    assert_eq!(server.get("/readyz").status, 200);

    // A server that starts while the first host is frozen.
    let second = start(&url);
    assert_eq!(second.get("/v1/pools/p/claims/after").status, 200);
    assert_eq!(second.put("/v1/pools/p/claims/second", "{}").status, 201);
    for server in [server, second] {
        let (code, said) = server.stop();
        assert_eq!(code, Some(0), "{said}");
    }
}

#[test]
fn a_frozen_primary_that_is_named_first_does_not_prevent_the_fail_over() {
    fail_over(false);
}

#[test]
fn a_frozen_primary_that_is_named_last_does_not_prevent_the_fail_over() {
    fail_over(true);
}

#[test]
fn two_busy_servers_log_the_change_of_the_writer_at_most_once_a_second() {
    const LINE: &str = "this server is now the writer";
    let cluster = Cluster::start(&[]).unwrap();
    let began = Instant::now();
    let servers = [(); 2].map(|()| Server::of(command(&cluster.url(), &[])));
    assert_eq!(servers[0].put("/v1/pools/p", POOL).status, 201);
    for n in 0..100 {
        for (at, server) in servers.iter().enumerate() {
            assert_eq!(server.put(&format!("/v1/pools/p/claims/{at}-{n}"), "{}").status, 201);
        }
    }
    let epochs = cluster.sql("SELECT count(DISTINCT epoch) FROM allod.journal").unwrap();
    assert!(epochs.parse::<u32>().unwrap() > 100, "they did not take turns: {epochs}");
    for server in servers {
        let (code, said) = server.stop();
        assert_eq!(code, Some(0), "{said}");
        // Each line is at least a second after the one before it.
        let lines_max = began.elapsed().as_secs() + 2;
        let lines = said.matches(LINE).count() as u64;
        assert!((1..=lines_max).contains(&lines), "{lines} lines: {said}");
    }
}
