//! Two servers on one journal: when the leader is killed during a request to an authority, the other one finishes it.

use std::process::Command;

use allod_testkit::postgres::Cluster;
use allod_testkit::server::Server;

use super::proxy::Moment;
use super::{Upstream, define, delete, held, state, until};
use crate::crash::server;

fn start(url: &str) -> Server {
    let limits = "authority_takeover_ms=500,checkpoint_bytes=20000";
    let arguments =
        ["serve", "--listen", "127.0.0.1:0", "--journal", url, "--limit", limits, "--log", "warn"];
    let command: Command = server::allod(&arguments.map(str::to_owned));
    Server::of(command)
}

#[test]
fn another_server_finishes_what_a_killed_leader_has_begun() {
    let cluster = Cluster::start(&[]).unwrap();
    let upstream = Upstream::start();
    let (mut leader, mut other) = (start(&cluster.url()), start(&cluster.url()));
    define(&leader, &upstream.proxy);
    let mut keys = Vec::new();
    for moment in Moment::ALL {
        for method in ["PUT", "DELETE"] {
            let key = format!("{method}-{moment:?}");
            let path = format!("/v1/pools/p/claims/{key}");
            if method == "DELETE" {
                assert!(leader.put(&path, "{}").status < 300);
                until("held", || state(&leader, &key) == "held" && state(&other, &key) == "held");
            }
            let catch = upstream.proxy.catch(method, moment);
            if method == "PUT" {
                assert_eq!(leader.put(&path, "{}").status, 202);
            } else {
                assert_eq!(delete(&leader, &key), 202);
            }
            catch.wait();
            leader.kill();
            catch.release();
            let wanted = if method == "PUT" { "held" } else { "" };
            until(&key, || state(&other, &key) == wanted);
            keys.push(key);
            assert_eq!(held(&other, &keys), upstream.list(), "after {method} {moment:?}");
            (leader, other) = (other, start(&cluster.url()));
        }
    }
}

#[test]
fn two_servers_that_write_at_the_same_time_get_different_values() {
    let cluster = Cluster::start(&[]).unwrap();
    let upstream = Upstream::start();
    let servers = [start(&cluster.url()), start(&cluster.url())];
    define(&servers[0], &upstream.proxy);
    until("both know the pool", || servers[1].get("/v1/pools/p").status == 200);
    let clients = servers.iter().enumerate().map(|(n, server)| {
        let mut client = server.client();
        std::thread::spawn(move || {
            for claim in 0..40 {
                let path = format!("/v1/pools/p/claims/k{n}-{claim}");
                let answer = client.send("PUT", &path, &[("prefer", "wait=20")], Some("{}"));
                let answer = answer.unwrap();
                assert_eq!(answer.status, 201, "{}", answer.text());
                if claim % 2 == 0 {
                    let gone = client.send("DELETE", &path, &[("prefer", "wait=20")], None);
                    assert_eq!(gone.unwrap().status, 204);
                }
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.join().unwrap();
    }
    let odd = |n: usize| (0..20).map(move |claim| format!("k{n}-{}", 2 * claim + 1));
    let keys: Vec<String> = (0..2).flat_map(odd).collect();
    // One of the servers may not have read the last records of the other.
    until("all are held", || keys.iter().all(|key| state(&servers[0], key) == "held"));
    assert_eq!(held(&servers[0], &keys), upstream.list());
}
