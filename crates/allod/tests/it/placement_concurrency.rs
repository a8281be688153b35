//! Sixty-four concurrent clients write allocations on four providers, through the Placement interface of a real process.
//!
//! Capacity is never exceeded; generations neither repeat nor skip; every reported conflict is real; and a move of two
//! consumers is atomic. Readers check snapshots during the writes; afterwards the naive model replays the journal and checks
//! every refusal.

mod clients;
mod judge;
mod wire;

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use allod_testkit::server::Server;
use clients::ClientAnswers;
use serde_json::json;
use wire::{CPUS, Client, DISKS, HOT, MEMORY, provider};

/// Clients that take and release scarce capacity. All four kinds are sixty-four clients.
const FILLERS: u32 = 24;
/// Clients for which there is always capacity.
const ROOMY: u32 = 16;
/// Clients that move allocations from one consumer to another. Four on each provider, with capacity for exactly four.
const MOVERS: u32 = 16;
/// Clients that write shared consumers.
const RIVALS: u32 = 8;

/// The number of operations of each client.
type Work = fn(Client, u32) -> ClientAnswers;

fn stock(client: &mut Client) {
    for hot in 0..HOT {
        let (uuid, name) = (provider(hot).to_string(), format!("hot-{hot}"));
        let created =
            client.send("POST", "/resource_providers", &json!({ "name": name, "uuid": uuid }));
        assert_eq!(created.status, 200, "{}", created.text());
        let inventories = json!({
            CPUS: { "total": wire::CPUS_TOTAL },
            MEMORY: { "total": 1_000_000 },
            DISKS: { "total": MOVERS / HOT },
        });
        let body = json!({ "resource_provider_generation": 0, "inventories": inventories });
        let set = client.send("PUT", &format!("/resource_providers/{uuid}/inventories"), &body);
        assert_eq!(set.status, 200, "{}", set.text());
    }
}

#[test]
fn sixty_four_clients_on_four_hot_providers() {
    assert_eq!(FILLERS + ROOMY + MOVERS + RIVALS, 64);
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_allod"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--data"]);
    command.arg(folder.path()).env_clear().stdin(Stdio::null());
    let server = Server::of(command);
    let mut first = Client::of(&server);
    stock(&mut first);
    (0..MOVERS).for_each(|n| clients::settle(&mut first, n));

    let enough = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (client, enough) = (Client::of(&server), enough.clone());
            thread::spawn(move || clients::read(client, MOVERS, &enough))
        })
        .collect();
    let kinds: [(u32, Work); 4] = [
        (FILLERS, clients::fill),
        (ROOMY, clients::take_what_is_there),
        (MOVERS, clients::move_to_and_fro),
        (RIVALS, clients::rival),
    ];
    let writers: Vec<_> = kinds
        .into_iter()
        .flat_map(|(count, work)| (0..count).map(move |n| (n, work)))
        .map(|(n, work)| {
            let client = Client::of(&server);
            thread::spawn(move || work(client, n))
        })
        .collect();
    let mut answers = ClientAnswers::default();
    for writer in writers {
        answers.add(writer.join().unwrap());
    }
    enough.store(true, Ordering::Relaxed);
    let looks: u64 = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
    assert_eq!(server.stop().0, Some(0));

    judge::journal(folder.path(), &answers);
    assert!(looks > 0 && answers.moves > 0, "no reads or no moves");
    assert!(!answers.full.is_empty(), "no write was refused for capacity");
    assert!(!answers.stale.is_empty(), "no write had a generation conflict");
}
