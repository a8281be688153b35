//! Scripts that request IDs from the resource-manager under new names.

use crate::load::{Script, write_request};

/// The path of the resource-manager's pools.
pub const POOLS: &str = "/restconf/data/resource-allocator:resource-pools";

/// Creates allocations in a pool of IDs.
#[derive(Debug)]
pub struct PoolRequests {
    pool: String,
    connection: usize,
    number: u64,
}

impl PoolRequests {
    /// One endless script for each connection.
    pub fn scripts(pool: &str, connections: usize) -> Vec<PoolRequests> {
        let one = |connection| PoolRequests { pool: pool.to_owned(), connection, number: 0 };
        (0..connections).map(one).collect()
    }
}

impl Script for PoolRequests {
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
