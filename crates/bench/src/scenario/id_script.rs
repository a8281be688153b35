//! RESTCONF scripts: allocations of IDs under new keys, and small reads.

use crate::load::{Script, write_request};

const ALLOCATE: &str = "/restconf/operations/id-manager:allocateId";

/// Allocates IDs of a pool under new keys.
#[derive(Debug)]
pub struct IdAllocations {
    pool: String,
    /// Makes the keys unique among the runs in a pool.
    run: String,
    /// More leaves of the input, after a comma.
    leaves: String,
    connection: usize,
    number: u64,
    /// How many to allocate; `None` for no limit.
    left: Option<u64>,
}

impl IdAllocations {
    /// One endless script for each connection.
    pub fn endless(pool: &str, connections: usize, run: &str) -> Vec<IdAllocations> {
        let one = |connection| IdAllocations {
            pool: pool.to_owned(),
            run: run.to_owned(),
            leaves: String::new(),
            connection,
            number: 0,
            left: None,
        };
        (0..connections).map(one).collect()
    }

    /// Scripts that together allocate `count` IDs, with an expiry time if given.
    pub fn counted(
        pool: &str,
        connections: usize,
        run: &str,
        count: u64,
        expires_s: Option<u64>,
    ) -> Vec<IdAllocations> {
        let share = share(count, connections);
        let mut scripts = IdAllocations::endless(pool, connections, run);
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

/// The share of each connection; the last ones may get fewer.
fn share(count: u64, connections: usize) -> u64 {
    count.div_ceil(connections as u64)
}

fn key(run: &str, connection: usize, number: u64) -> String {
    format!("{run}-c{connection:02}-{number:07}")
}

impl Script for IdAllocations {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        match &mut self.left {
            Some(0) => return false,
            Some(left) => *left -= 1,
            None => {}
        }
        self.number += 1;
        let key = key(&self.run, self.connection, self.number);
        let IdAllocations { pool, leaves, .. } = self;
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

/// Small requests beside a large read: half of the scripts read single entries, half allocate.
#[derive(Debug)]
pub enum SmallRequests {
    Read { held: AllocatedIds, at: u64 },
    Allocate(IdAllocations),
}

/// The IDs that [`IdAllocations::counted`] allocated.
#[derive(Debug, Clone, Copy)]
pub struct AllocatedIds {
    pub pool: &'static str,
    pub run: &'static str,
    pub connections: usize,
    pub count: u64,
}

impl SmallRequests {
    /// Half of the scripts read allocated IDs, half allocate from the other pool.
    pub fn scripts(
        held: AllocatedIds,
        other: &str,
        run: &str,
        connections: usize,
    ) -> Vec<SmallRequests> {
        let half = connections / 2;
        let readers = (0..half).map(|number| SmallRequests::Read { held, at: number as u64 });
        let writers = IdAllocations::endless(other, half, run);
        readers.chain(writers.into_iter().map(SmallRequests::Allocate)).collect()
    }
}

impl Script for SmallRequests {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        match self {
            SmallRequests::Allocate(script) => script.request(out),
            SmallRequests::Read { held, at } => {
                // A step that is coprime to the number of IDs visits all of them before it repeats one.
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
            SmallRequests::Allocate(script) => script.reply(status, body),
            SmallRequests::Read { .. } if status == 200 => Ok(()),
            SmallRequests::Read { .. } => {
                let said = String::from_utf8_lossy(body);
                Err(format!("a read was answered with {status}: {said}"))
            }
        }
    }
}
