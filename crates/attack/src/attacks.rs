//! The table of attacks.

mod answers;
mod bodies;
mod connections;
mod control_keys;
mod documents;
mod heads;
mod idempotency;
mod largest_requests;
mod roles;
mod sites;
mod slow;
mod smuggling;

use anyhow::{Result, anyhow};

use crate::target::TargetAuth;
use crate::{Attack, HarmMax};

/// Runs one function on each of so many threads and returns what they return.
fn parallel<T: Send>(clients: usize, run: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..clients).map(|number| scope.spawn(move || run(number))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<T>>| {
            thread.join().map_err(|_| anyhow!("an attacking client panicked"))?
        };
        threads.into_iter().map(join).collect()
    })
}

/// What a request without large contents may cost.
const SMALL: HarmMax = HarmMax { pause_ms: 100, peak_mib: 64, kept_mib: 32 };

/// What large bodies and answers may cost: the budget of bytes in flight, and what is made of them.
const LARGE: HarmMax = HarmMax { pause_ms: 200, peak_mib: 640, kept_mib: 96 };

/// What writes may cost that store much: what they store stays.
const STORED: HarmMax = HarmMax { pause_ms: 200, peak_mib: 1024, kept_mib: 256 };

/// What a change may cost that goes to a thousand watchers: it is sent to each of them.
const WATCHED: HarmMax = HarmMax { pause_ms: 1000, ..STORED };

const fn attack(
    name: &'static str,
    what: &'static str,
    harm: HarmMax,
    run: fn(&crate::Target) -> Result<crate::Sent>,
) -> Attack {
    Attack { name, what, auth: TargetAuth::None, quick_flags: &[], harm, run }
}

pub static ATTACKS: [Attack; 19] = [
    attack("malformed-heads", "heads that are not HTTP", SMALL, heads::send_malformed),
    attack("huge-heads", "heads above every limit, many at a time", SMALL, heads::send_huge),
    attack("smuggling", "a second request hidden in an ambiguous body", SMALL, smuggling::send),
    Attack {
        quick_flags: &["--limit", "header_read_ms_max=1000"],
        ..attack("slow-heads", "connections that send a head byte by byte", SMALL, slow::send_heads)
    },
    Attack {
        quick_flags: &["--limit", "request_ms_max=1500"],
        ..attack(
            "slow-bodies",
            "connections that send a body byte by byte",
            SMALL,
            slow::send_bodies,
        )
    },
    Attack {
        quick_flags: &["--limit", "request_ms_max=1500"],
        ..attack(
            "endless-bodies",
            "chunked bodies, extensions and trailers without an end",
            LARGE,
            bodies::send_endless,
        )
    },
    Attack {
        quick_flags: &["--limit", "in_flight_bytes_per_client_max=67108864"],
        ..attack(
            "half-bodies",
            "the first half of the largest bodies, held",
            LARGE,
            bodies::send_halves,
        )
    },
    attack(
        "connections",
        "thousands of idle connections, and short ones",
        LARGE,
        connections::open_many,
    ),
    attack(
        "pipelining",
        "thousands of requests that do not wait for answers",
        LARGE,
        connections::pipeline,
    ),
    Attack {
        quick_flags: &["--limit", "in_flight_bytes_per_client_max=67108864"],
        ..attack(
            "unread-answers",
            "clients that do not read the largest answers",
            LARGE,
            answers::leave_unread,
        )
    },
    attack(
        "greedy-watchers",
        "watchers that do not read while much is written",
        WATCHED,
        answers::watch_greedily,
    ),
    attack("sites", "requests that a web page makes a browser send", SMALL, sites::send),
    Attack {
        auth: TargetAuth::Tokens,
        quick_flags: &["--limit", "idempotency_keys_max=8000"],
        ..attack(
            "idempotency-keys",
            "one client with more keys than its share",
            STORED,
            idempotency::fill,
        )
    },
    attack(
        "documents",
        "deep, wide and expanding JSON, XML and YANG Patch",
        LARGE,
        documents::send,
    ),
    attack("control-keys", "keys and owners with control characters", SMALL, control_keys::send),
    Attack {
        auth: TargetAuth::Tokens,
        ..attack("roles", "edits that the role of a token does not allow", SMALL, roles::cross)
    },
    attack("largest-writes", "the largest write of every kind", STORED, largest_requests::write),
    attack(
        "refused-writes",
        "writes just above the limits, again and again",
        LARGE,
        largest_requests::refuse,
    ),
    attack(
        "largest-reads",
        "the reads that cost the most, many at a time",
        LARGE,
        largest_requests::read,
    ),
];
