//! Hostile requests: each is refused clearly, the server's memory does not grow, and other clients are not affected.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use allod_testkit::memory::Memory;
use serde_json::json;

use crate::restconf::start;
use crate::restconf::wire::{Reply, allocate, ask, call, connect, read};

const RPC: &str = "/restconf/operations/id-manager:createIdPool";
const POOLS: &str = "/restconf/config/id-manager:id-pools";
const JSON: &str = "application/json";
const XML: &str = "application/xml";

/// Maximum growth of the server when an attack is repeated, and maximum peak.
const MIB_KEPT_MAX: u64 = 8;
const MIB_PEAK_MAX: u64 = 128;

/// After this many repetitions, remaining growth is a leak.
const ROUNDS_MAX: usize = 6;

/// Repeats an attack while another client allocates IDs, and checks the server's memory.
fn endure(times: usize, attack: impl Fn(SocketAddr)) {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "");
    let address = server.address;
    let pool = json!({ "pool-name": "p", "low": 0, "high": 100_000 });
    assert_eq!(call(address, "createIdPool", pool).status, 204);
    for key in 0..100 {
        assert_eq!(allocate(address, "p", &format!("before-{key}")), key);
    }
    let before = Memory::of(server.pid());
    let (begun, over) = (Barrier::new(2), AtomicBool::new(false));
    let mut settled = false;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for count in 0.. {
                assert_eq!(allocate(address, "p", &format!("meanwhile-{count}")), 100 + count);
                if count == 0 {
                    begun.wait();
                }
                if over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        begun.wait();
        // The allocator retains some memory, more with each thread; a leak grows every time.
        settled = (0..ROUNDS_MAX).any(|_| {
            let memory = Memory::of(server.pid());
            (0..times).for_each(|_| attack(address));
            memory.grown_mib() <= MIB_KEPT_MAX
        });
        over.store(true, Ordering::Relaxed);
    });
    assert!(settled, "memory keeps growing, by {} MiB so far", before.grown_mib());
    assert!(before.peak_mib() <= MIB_PEAK_MAX, "memory peaked at {} MiB more", before.peak_mib());
    assert_eq!(server.stop().0, Some(0));
}

/// Asserts a RESTCONF error.
fn refused(reply: &Reply, status: u16, tag: &str) {
    assert_eq!(reply.status, status, "{}", reply.text);
    assert!(reply.text.contains("error-tag") && reply.text.contains(tag), "{}", reply.text);
}

#[test]
fn an_xml_bomb_is_refused() {
    let mut bomb =
        String::from("<?xml version=\"1.0\"?>\n<!DOCTYPE lolz [\n<!ENTITY lol0 \"lol\">\n");
    for level in 1..10 {
        let inner = format!("&lol{};", level - 1).repeat(10);
        bomb.push_str(&format!("<!ENTITY lol{level} \"{inner}\">\n"));
    }
    bomb.push_str(
        "]>\n<input xmlns=\"urn:opendaylight:genius:idmanager\"><pool-name>&lol9;</pool-name></input>",
    );
    endure(20, |address| {
        refused(&ask(address, "POST", RPC, XML, bomb.as_bytes()), 400, "malformed-message");
    });
}

#[test]
fn custom_xml_entities_are_refused() {
    let body = "<!DOCTYPE x [<!ENTITY f SYSTEM \"file:///etc/hostname\">]><input xmlns=\"urn:opendaylight:genius:idmanager\"><pool-name>&f;</pool-name></input>";
    let undeclared =
        "<input xmlns=\"urn:opendaylight:genius:idmanager\"><pool-name>&f;</pool-name></input>";
    endure(5, |address| {
        refused(&ask(address, "POST", RPC, XML, body.as_bytes()), 400, "malformed-message");
        refused(&ask(address, "POST", RPC, XML, undeclared.as_bytes()), 400, "malformed-message");
    });
}

#[test]
fn deep_nesting_is_refused() {
    let array = "[".repeat(10_000);
    let object = "{\"a\":".repeat(10_000);
    let within = format!("{{\"input\":{{\"pool-name\":{}", "[".repeat(10_000));
    let xml = "<a>".repeat(10_000);
    let within_xml =
        format!("<input xmlns=\"urn:opendaylight:genius:idmanager\">{}", "<low>".repeat(10_000));
    let closed = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    endure(20, |address| {
        for body in [&array, &object, &within, &closed] {
            refused(&ask(address, "POST", RPC, JSON, body.as_bytes()), 400, "error-message");
            refused(&ask(address, "PUT", POOLS, JSON, body.as_bytes()), 400, "error-message");
        }
        for body in [&xml, &within_xml] {
            refused(&ask(address, "POST", RPC, XML, body.as_bytes()), 400, "error-message");
            refused(&ask(address, "PUT", POOLS, XML, body.as_bytes()), 400, "error-message");
        }
    });
}

#[test]
fn an_unknown_namespace_is_refused() {
    endure(5, |address| {
        let xml = b"<input xmlns=\"urn:absent\"><pool-name>p</pool-name></input>";
        refused(&ask(address, "POST", RPC, XML, xml), 400, "error-message");
        let nested = b"<input xmlns=\"urn:opendaylight:genius:idmanager\"><pool-name xmlns=\"urn:absent\">p</pool-name></input>";
        refused(&ask(address, "POST", RPC, XML, nested), 400, "error-message");
        let undeclared = b"<x:input><x:pool-name>p</x:pool-name></x:input>";
        refused(&ask(address, "POST", RPC, XML, undeclared), 400, "error-message");
        let json = b"{\"absent:input\":{\"pool-name\":\"p\"}}";
        refused(&ask(address, "POST", RPC, JSON, json), 400, "error-message");
        let nested = b"{\"input\":{\"absent:pool-name\":\"p\",\"low\":1,\"high\":2}}";
        refused(&ask(address, "POST", RPC, JSON, nested), 400, "error-message");
    });
}

#[test]
fn invalid_percent_encoding_is_refused() {
    endure(5, |address| {
        for path in [
            "/restconf/config/id-manager:id-pools/id-pool/%zz",
            "/restconf/config/id-manager:id-pools/id-pool/%",
            "/restconf/config/id-manager:id-pools/id-pool/%ff%fe",
            "/rests/data/id-manager:id-pools/id-pool=%4",
            "/rests/data/id-manager:id-pools/id-pool=%c3",
            "/restconf/operations/%zz",
        ] {
            let reply = ask(address, "GET", path, JSON, b"");
            assert!((400..500).contains(&reply.status), "{path}: {}", reply.text);
            assert!(reply.text.contains("error-tag"), "{path}: {}", reply.text);
        }
    });
}

#[test]
fn long_keys_are_refused() {
    let key = "k".repeat(100_000);
    let path = format!("{POOLS}/id-pool/p/id-entries/{}", &key[..7000]);
    let too_long = format!("{POOLS}/id-pool/{}", key);
    let many = format!("{POOLS}/{}", "a/".repeat(3000));
    endure(12, |address| {
        let reply = call(address, "allocateId", json!({ "pool-name": "p", "id-key": key }));
        assert!((400..500).contains(&reply.status), "{}", &reply.text[..300]);
        let reply = call(address, "createIdPool", json!({ "pool-name": key, "low": 0, "high": 9 }));
        assert!((400..500).contains(&reply.status), "{}", &reply.text[..300]);
        for path in [&path, &many] {
            let reply = ask(address, "GET", path, JSON, b"");
            assert!((400..500).contains(&reply.status), "{}", reply.text);
        }
        assert!([414, 431].contains(&ask(address, "GET", &too_long, JSON, b"").status));
    });
}

#[test]
fn a_gigabyte_with_a_length_is_refused_before_it_is_read() {
    endure(20, |address| {
        for (method, path, media_type) in
            [("POST", RPC, JSON), ("PUT", POOLS, XML), ("PATCH", "/rests/data", JSON)]
        {
            let mut stream = connect(address);
            write!(stream, "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: {media_type}\r\ncontent-length: 1073741824\r\n\r\n").unwrap();
            refused(&read(stream), 413, "too-big");
        }
    });
}

#[test]
fn a_gigabyte_in_chunks_is_refused_at_the_limit() {
    const CHUNK: usize = 1 << 20;
    let chunk = format!("{CHUNK:x}\r\n{}\r\n", " ".repeat(CHUNK));
    endure(6, |address| {
        let mut stream = connect(address);
        write!(stream, "PUT {POOLS} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: {JSON}\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
        let mut sent = 0;
        while sent < 1024 && stream.write_all(chunk.as_bytes()).is_ok() {
            sent += 1;
            // A client that continues to send after the answer may lose it.
            stream.set_nonblocking(true).unwrap();
            let answered = stream.peek(&mut [0]).is_ok();
            stream.set_nonblocking(false).unwrap();
            if answered {
                break;
            }
        }
        assert!(sent < 64, "{sent} MiB were taken");
        refused(&read(stream), 413, "too-big");
    });
}
