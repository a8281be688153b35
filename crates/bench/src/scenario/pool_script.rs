//! Scripts that ask the resource-manager for ids, each under a new name.

use crate::load::{Script, write_request};

/// Where the pools of the resource-manager are.
pub const POOLS: &str = "/restconf/data/resource-allocator:resource-pools";

/// Puts one allocation after the other into a pool of ids.
#[derive(Debug)]
pub struct Requests {
    pool: String,
    connection: usize,
    number: u64,
}

impl Requests {
    /// One script for each of `connections`, with no end.
    pub fn scripts(pool: &str, connections: usize) -> Vec<Requests> {
        let one = |connection| Requests { pool: pool.to_owned(), connection, number: 0 };
        (0..connections).map(one).collect()
    }
}

impl Script for Requests {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        self.number += 1;
        let name = format!("c{:02}-{:07}", self.connection, self.number);
        let path = format!("{POOLS}/id-allocator:id-pool={}/allocation={name}", self.pool);
        let body = format!(
            "{{\"id-allocator:allocation\":[{{\"id\":\"{name}\",\"username\":\"admin\",\"request\":{{\"sync\":false}}}}]}}"
        );
        write_request(out, "PUT", &path, Some(body.as_bytes()));
        true
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        if status == 201 {
            return Ok(());
        }
        Err(format!("a request was answered with {status}: {}", String::from_utf8_lossy(body)))
    }
}
