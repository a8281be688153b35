//! A thousand claims on 64 connections get each of a thousand values exactly once; then again, mixed with releases.
//!
//! The scenario records the holder of each value from the answer to the claim until the release is sent. A value that is
//! granted while it is held ends the run.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::Effort;
use crate::caller::Caller;
use crate::figure::{Bar, ScenarioReport};
use crate::load::{self, Length, Script, write_request};
use crate::process::{self, BenchServer};

const VALUES: u64 = 1000;
const CONNECTIONS: u64 = 64;
const POOL: &str = r#"{"kind":"id32","ranges":["1-1000"],"strategy":"lowest"}"#;

/// The holder of each value, according to the answers.
#[derive(Debug, Default)]
struct GrantedValues {
    held: HashMap<u64, String>,
    granted: u64,
    refused: u64,
}

type SharedGrants = Rc<RefCell<GrantedValues>>;

impl GrantedValues {
    fn grant(&mut self, value: u64, key: &str) -> Result<(), String> {
        if !(1..=VALUES).contains(&value) {
            return Err(format!("{value} is not in the pool"));
        }
        self.granted += 1;
        match self.held.insert(value, key.to_string()) {
            None => Ok(()),
            Some(other) => Err(format!("{value} was granted to {key} while {other} held it")),
        }
    }
}

/// The claims of one connection and its next request.
struct ClaimAndRelease {
    pool: &'static str,
    granted_values: SharedGrants,
    connection: u64,
    /// Keys still to claim.
    left: u64,
    /// Whether it releases about every other claim.
    releases: bool,
    mine: Vec<(String, u64)>,
    doing: PendingRequest,
    dice: u64,
}

enum PendingRequest {
    Claim(String),
    Release,
}

impl ClaimAndRelease {
    fn new(
        pool: &'static str,
        granted_values: &SharedGrants,
        connection: u64,
        left: u64,
        releases: bool,
    ) -> ClaimAndRelease {
        ClaimAndRelease {
            pool,
            granted_values: Rc::clone(granted_values),
            connection,
            left,
            releases,
            mine: Vec::new(),
            doing: PendingRequest::Release,
            dice: connection + 1,
        }
    }

    fn random(&mut self) -> u64 {
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.dice >> 33
    }

    fn path(&self, key: &str) -> String {
        format!("/v1/pools/{}/claims/{key}", self.pool)
    }
}

impl Script for ClaimAndRelease {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        let release = self.releases && !self.mine.is_empty() && self.random().is_multiple_of(2);
        if release {
            let pick = self.random() as usize % self.mine.len();
            let (key, value) = self.mine.swap_remove(pick);
            // From now on the server may grant it to another key.
            self.granted_values.borrow_mut().held.remove(&value);
            write_request(out, "DELETE", &self.path(&key), None);
            self.doing = PendingRequest::Release;
            return true;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let key = format!("{}-{}", self.connection, self.left);
        write_request(out, "PUT", &self.path(&key), Some(b"{}"));
        self.doing = PendingRequest::Claim(key);
        true
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        let text = || String::from_utf8_lossy(body).into_owned();
        match (&self.doing, status) {
            (PendingRequest::Release, 204) => Ok(()),
            (PendingRequest::Claim(key), 201) => {
                let value = value_in(body).ok_or_else(text)?;
                self.granted_values.borrow_mut().grant(value, key)?;
                self.mine.push((key.clone(), value));
                Ok(())
            }
            // When all values are held, a claim is refused, which is correct.
            (PendingRequest::Claim(_), 409) if self.releases => {
                self.granted_values.borrow_mut().refused += 1;
                Ok(())
            }
            _ => Err(format!("answered {status}: {}", text())),
        }
    }
}

/// The value in the answer to a claim, as a number or a string.
fn value_in(body: &[u8]) -> Option<u64> {
    let reply: Value = serde_json::from_slice(body).ok()?;
    let value = reply.get("value")?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

pub fn run(effort: Effort) -> Result<ScenarioReport> {
    let scratch = process::scratch()?;
    let server = BenchServer::allod(&scratch.path().join("data"), scratch.path(), &[])?;
    let mut caller = Caller::connect(server.address)?;
    let mut report = ScenarioReport::default();

    caller.put_pool("once", POOL)?;
    let granted_values = SharedGrants::default();
    let share = |connection| VALUES / CONNECTIONS + u64::from(connection < VALUES % CONNECTIONS);
    let players = (0..CONNECTIONS)
        .map(|connection| {
            ClaimAndRelease::new("once", &granted_values, connection, share(connection), false)
        })
        .collect();
    let measured = load::run(server.address, players, Length::UntilDone)?;
    ensure!(
        granted_values.borrow().granted == VALUES,
        "{} of {VALUES} were granted",
        granted_values.borrow().granted
    );
    full(&mut caller, "once")?;
    report.note(format!(
        "{VALUES} claims on {CONNECTIONS} connections: {:.0}/s",
        measured.per_second()
    ));
    report.figure(
        "values that went to exactly one claim, of 1,000",
        granted_values.borrow().held.len() as f64,
        "",
        Bar::AtLeast(VALUES as f64),
    );

    caller.put_pool("mixed", POOL)?;
    let granted_values = SharedGrants::default();
    let each = if effort == Effort::Quick { 200 } else { 2000 };
    let players = (0..CONNECTIONS)
        .map(|connection| ClaimAndRelease::new("mixed", &granted_values, connection, each, true))
        .collect();
    let measured = load::run(server.address, players, Length::UntilDone)?;
    let (granted, refused) = (granted_values.borrow().granted, granted_values.borrow().refused);
    let missing = VALUES - granted_values.borrow().held.len() as u64;
    for number in 0..missing {
        let path = format!("/v1/pools/mixed/claims/last-{number}");
        let body = caller.expect("PUT", &path, Some("{}"))?;
        let value = value_in(body.as_bytes()).unwrap_or(0);
        granted_values.borrow_mut().grant(value, "last").map_err(anyhow::Error::msg)?;
    }
    full(&mut caller, "mixed")?;
    report.note(format!(
        "with releases mixed in: {:.0} requests/s, {granted} claims granted, {refused} refused as exhausted",
        measured.per_second()
    ));
    report.figure(
        "the same after releases were mixed in",
        granted_values.borrow().held.len() as f64,
        "",
        Bar::AtLeast(VALUES as f64),
    );
    server.stop()?;
    Ok(report)
}

/// One more claim must be refused.
fn full(caller: &mut Caller, pool: &str) -> Result<()> {
    let (status, text) =
        caller.call("PUT", &format!("/v1/pools/{pool}/claims/one-too-many"), Some("{}"))?;
    ensure!(status == 409, "claim {} was answered with {status}: {text}", VALUES + 1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_granted_twice_is_detected() {
        let mut granted_values = GrantedValues::default();
        granted_values.grant(7, "a").unwrap();
        assert_eq!(granted_values.grant(7, "b").unwrap_err(), "7 was granted to b while a held it");
        assert!(granted_values.grant(0, "c").is_err() && granted_values.grant(1001, "c").is_err());
    }

    #[test]
    fn a_value_may_be_a_number_or_a_string() {
        assert_eq!(value_in(br#"{"value":17}"#), Some(17));
        assert_eq!(value_in(br#"{"value":"17"}"#), Some(17));
        assert_eq!(value_in(b"{}"), None);
    }
}
