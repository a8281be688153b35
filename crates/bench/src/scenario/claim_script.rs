//! Scripts of most scenarios: claims under new keys, and reads of existing claims.

use std::io::Write;

use crate::load::{Script, write_request};

/// Claims values of a pool under new keys.
#[derive(Debug)]
pub struct NewClaims {
    /// The path up to the key.
    path: String,
    body: Vec<u8>,
    connection: usize,
    round: usize,
    number: u64,
}

impl NewClaims {
    /// One script for each connection. `round` makes the keys unique.
    pub fn scripts(pool: &str, connections: usize, round: usize) -> Vec<NewClaims> {
        let one = |connection| NewClaims {
            path: format!("/v1/pools/{pool}/claims/"),
            body: format!("{{\"owner\":\"tenant-{connection:02}\"}}").into_bytes(),
            connection,
            round,
            number: 0,
        };
        (0..connections).map(one).collect()
    }
}

impl Script for NewClaims {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        self.number += 1;
        let body = self.body.len();
        // Writing into a vector cannot fail.
        let _ = write!(
            out,
            "PUT {}r{}-c{:02}-{:07} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {body}\r\n\r\n",
            self.path, self.round, self.connection, self.number
        );
        out.extend_from_slice(&self.body);
        true
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        if status == 201 {
            return Ok(());
        }
        Err(format!("a claim was answered with {status}: {}", String::from_utf8_lossy(body)))
    }
}

/// Reads existing claims in scattered order.
#[derive(Debug)]
pub struct Reads {
    pub pool: &'static str,
    /// The number of keys, see [`held_key`].
    pub keys: u64,
    pub at: u64,
}

/// The keys of the claims in the memory scenario.
pub fn held_key(number: u64) -> String {
    format!("service-{number:08}")
}

impl Script for Reads {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        // A step that is coprime to the number of keys visits all keys before it repeats one.
        self.at = (self.at + 7_368_787) % self.keys;
        let path = format!("/v1/pools/{}/claims/{}", self.pool, held_key(self.at));
        write_request(out, "GET", &path, None);
        true
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        if status == 200 {
            return Ok(());
        }
        Err(format!("a read was answered with {status}: {}", String::from_utf8_lossy(body)))
    }
}
