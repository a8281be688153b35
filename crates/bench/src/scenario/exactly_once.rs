//! A thousand values, a thousand claims, 64 connections: each value exactly once; and again with releases mixed in.
//!
//! Whoever has a value is written down here, from the answer that gave it until its release is sent. A value that
//! arrives while somebody else has it ends the run.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::Effort;
use crate::caller::Caller;
use crate::figure::{Bar, Report};
use crate::load::{self, Length, Script, write_request};
use crate::process::{self, Server};

const VALUES: u64 = 1000;
const CONNECTIONS: u64 = 64;
const POOL: &str = r#"{"kind":"id32","ranges":["1-1000"],"strategy":"lowest"}"#;

/// Who has which value, as far as the answers say.
#[derive(Debug, Default)]
struct Ledger {
    held: HashMap<u64, String>,
    granted: u64,
    refused: u64,
}

type Shared = Rc<RefCell<Ledger>>;

impl Ledger {
    fn grant(&mut self, value: u64, key: &str) -> Result<(), String> {
        if !(1..=VALUES).contains(&value) {
            return Err(format!("{value} is not in the pool"));
        }
        self.granted += 1;
        match self.held.insert(value, key.to_string()) {
            None => Ok(()),
            Some(other) => Err(format!("{value} was given to {key} while {other} had it")),
        }
    }
}

/// What one connection holds and does next.
struct Player {
    pool: &'static str,
    ledger: Shared,
    connection: u64,
    /// Keys still to claim.
    left: u64,
    /// Whether it releases about every other claim.
    releases: bool,
    mine: Vec<(String, u64)>,
    doing: Doing,
    dice: u64,
}

enum Doing {
    Claim(String),
    Release,
}

impl Player {
    fn new(
        pool: &'static str,
        ledger: &Shared,
        connection: u64,
        left: u64,
        releases: bool,
    ) -> Player {
        Player {
            pool,
            ledger: Rc::clone(ledger),
            connection,
            left,
            releases,
            mine: Vec::new(),
            doing: Doing::Release,
            dice: connection + 1,
        }
    }

    fn roll(&mut self) -> u64 {
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

impl Script for Player {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        let release = self.releases && !self.mine.is_empty() && self.roll().is_multiple_of(2);
        if release {
            let pick = self.roll() as usize % self.mine.len();
            let (key, value) = self.mine.swap_remove(pick);
            // From here on the server may give it to somebody else.
            self.ledger.borrow_mut().held.remove(&value);
            write_request(out, "DELETE", &self.path(&key), None);
            self.doing = Doing::Release;
            return true;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let key = format!("{}-{}", self.connection, self.left);
        write_request(out, "PUT", &self.path(&key), Some(b"{}"));
        self.doing = Doing::Claim(key);
        true
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        let text = || String::from_utf8_lossy(body).into_owned();
        match (&self.doing, status) {
            (Doing::Release, 204) => Ok(()),
            (Doing::Claim(key), 201) => {
                let value = value_in(body).ok_or_else(text)?;
                self.ledger.borrow_mut().grant(value, key)?;
                self.mine.push((key.clone(), value));
                Ok(())
            }
            // With releases mixed in, a claim may come when all are held. That is an answer too.
            (Doing::Claim(_), 409) if self.releases => {
                self.ledger.borrow_mut().refused += 1;
                Ok(())
            }
            _ => Err(format!("answered {status}: {}", text())),
        }
    }
}

/// The value in the answer to a claim of one id, as a number or as text.
fn value_in(body: &[u8]) -> Option<u64> {
    let reply: Value = serde_json::from_slice(body).ok()?;
    let value = reply.get("value")?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

pub fn run(effort: Effort) -> Result<Report> {
    let scratch = process::scratch()?;
    let server = Server::allod(&scratch.path().join("data"), scratch.path(), &[])?;
    let mut caller = Caller::connect(server.address)?;
    let mut report = Report::default();

    caller.put_pool("once", POOL)?;
    let ledger = Shared::default();
    let share = |connection| VALUES / CONNECTIONS + u64::from(connection < VALUES % CONNECTIONS);
    let players = (0..CONNECTIONS)
        .map(|connection| Player::new("once", &ledger, connection, share(connection), false))
        .collect();
    let measured = load::run(server.address, players, Length::UntilDone)?;
    ensure!(
        ledger.borrow().granted == VALUES,
        "{} of {VALUES} were granted",
        ledger.borrow().granted
    );
    full(&mut caller, "once")?;
    report.note(format!(
        "{VALUES} claims on {CONNECTIONS} connections: {:.0}/s",
        measured.per_second()
    ));
    report.figure(
        "values that went to exactly one claim, of 1,000",
        ledger.borrow().held.len() as f64,
        "",
        Bar::AtLeast(VALUES as f64),
    );

    caller.put_pool("mixed", POOL)?;
    let ledger = Shared::default();
    let each = if effort == Effort::Quick { 200 } else { 2000 };
    let players = (0..CONNECTIONS)
        .map(|connection| Player::new("mixed", &ledger, connection, each, true))
        .collect();
    let measured = load::run(server.address, players, Length::UntilDone)?;
    let (granted, refused) = (ledger.borrow().granted, ledger.borrow().refused);
    let missing = VALUES - ledger.borrow().held.len() as u64;
    for number in 0..missing {
        let path = format!("/v1/pools/mixed/claims/last-{number}");
        let body = caller.expect("PUT", &path, Some("{}"))?;
        let value = value_in(body.as_bytes()).unwrap_or(0);
        ledger.borrow_mut().grant(value, "last").map_err(anyhow::Error::msg)?;
    }
    full(&mut caller, "mixed")?;
    report.note(format!(
        "with releases mixed in: {:.0} requests/s, {granted} claims granted, {refused} refused as exhausted",
        measured.per_second()
    ));
    report.figure(
        "the same after releases were mixed in",
        ledger.borrow().held.len() as f64,
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
    fn the_ledger_sees_a_value_given_twice() {
        let mut ledger = Ledger::default();
        ledger.grant(7, "a").unwrap();
        assert_eq!(ledger.grant(7, "b").unwrap_err(), "7 was given to b while a had it");
        assert!(ledger.grant(0, "c").is_err() && ledger.grant(1001, "c").is_err());
    }

    #[test]
    fn a_value_is_read_as_number_and_as_text() {
        assert_eq!(value_in(br#"{"value":17}"#), Some(17));
        assert_eq!(value_in(br#"{"value":"17"}"#), Some(17));
        assert_eq!(value_in(b"{}"), None);
    }
}
