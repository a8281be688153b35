//! Scripts that speak RESTCONF: allocations of ids under new keys, and small reads.

use crate::load::{Script, write_request};

const ALLOCATE: &str = "/restconf/operations/id-manager:allocateId";

/// Allocates an id of a pool under keys that nobody has used before.
#[derive(Debug)]
pub struct Allocations {
    pool: String,
    /// Makes the keys differ from those of other runs in the same pool.
    run: String,
    /// Further leaves of the input, with the comma before them.
    leaves: String,
    connection: usize,
    number: u64,
    /// How many there are to be; as many as there is time for when it is not said.
    left: Option<u64>,
}

impl Allocations {
    /// One script for each of `connections`, with no end.
    pub fn endless(pool: &str, connections: usize, run: &str) -> Vec<Allocations> {
        let one = |connection| Allocations {
            pool: pool.to_owned(),
            run: run.to_owned(),
            leaves: String::new(),
            connection,
            number: 0,
            left: None,
        };
        (0..connections).map(one).collect()
    }

    /// Scripts that allocate `count` ids together, each for so many seconds, if they are not for ever.
    pub fn counted(
        pool: &str,
        connections: usize,
        run: &str,
        count: u64,
        expires_s: Option<u64>,
    ) -> Vec<Allocations> {
        let share = share(count, connections);
        let mut scripts = Allocations::endless(pool, connections, run);
        for script in &mut scripts {
            let before = share * script.connection as u64;
            script.left = Some(share.min(count.saturating_sub(before)));
            if let Some(seconds) = expires_s {
                script.leaves = format!(",\"expiration-time-sec\":{seconds}");
            }
        }
        scripts
    }
}

/// How many of `count` each of the connections allocates; the last ones may find fewer left.
fn share(count: u64, connections: usize) -> u64 {
    count.div_ceil(connections as u64)
}

fn key(run: &str, connection: usize, number: u64) -> String {
    format!("{run}-c{connection:02}-{number:07}")
}

impl Script for Allocations {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        match &mut self.left {
            Some(0) => return false,
            Some(left) => *left -= 1,
            None => {}
        }
        self.number += 1;
        let key = key(&self.run, self.connection, self.number);
        let Allocations { pool, leaves, .. } = self;
        let body =
            format!("{{\"input\":{{\"pool-name\":\"{pool}\",\"id-key\":\"{key}\"{leaves}}}}}");
        write_request(out, "POST", ALLOCATE, Some(body.as_bytes()));
        true
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        if status == 200 {
            return Ok(());
        }
        Err(format!("an allocation was answered with {status}: {}", String::from_utf8_lossy(body)))
    }
}

/// What other clients do while somebody reads much: half of them read one entry after the other, half of them allocate.
#[derive(Debug)]
pub enum Small {
    Read { held: Held, at: u64 },
    Allocate(Allocations),
}

/// The ids that [`Allocations::counted`] has allocated.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    pub pool: &'static str,
    pub run: &'static str,
    pub connections: usize,
    pub count: u64,
}

impl Small {
    /// Half of the scripts read what is held, half of them allocate from the other pool.
    pub fn scripts(held: Held, other: &str, run: &str, connections: usize) -> Vec<Small> {
        let half = connections / 2;
        let readers = (0..half).map(|number| Small::Read { held, at: number as u64 });
        let writers = Allocations::endless(other, half, run);
        readers.chain(writers.into_iter().map(Small::Allocate)).collect()
    }
}

impl Script for Small {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        match self {
            Small::Allocate(script) => script.request(out),
            Small::Read { held, at } => {
                // A step that shares no factor with the number of ids visits all of them before it repeats one.
                *at = (*at + 7_919) % held.count;
                let share = share(held.count, held.connections);
                let key = key(held.run, (*at / share) as usize, *at % share + 1);
                let pools = "/restconf/config/id-manager:id-pools/id-pool";
                let path = format!("{pools}/{}/id-entries/{key}", held.pool);
                write_request(out, "GET", &path, None);
                true
            }
        }
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        match self {
            Small::Allocate(script) => script.reply(status, body),
            Small::Read { .. } if status == 200 => Ok(()),
            Small::Read { .. } => {
                let said = String::from_utf8_lossy(body);
                Err(format!("a read was answered with {status}: {said}"))
            }
        }
    }
}
