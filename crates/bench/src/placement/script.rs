//! The measured requests: those that Nova and monitoring exporters send.

use std::cell::Cell;
use std::io::Write;
use std::rc::Rc;

use super::cloud::{HOT, UuidKind, ZONES, mix, uuid};
use crate::load::Script;

/// The request that a connection repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasuredRequest {
    /// Three classes, a required and a forbidden trait, one availability zone.
    Candidates {
        limit: u64,
    },
    /// Three classes of any host.
    AnyHost {
        limit: u64,
    },
    /// An unnamed group and four named ones: two with VCPU, two with virtual functions.
    NestedCandidates {
        limit: u64,
    },
    CloudProvider,
    Inventories,
    Usages,
    Allocations,
    /// A new consumer on any host.
    Put,
    /// A new consumer on one of this many hot hosts.
    PutHot(u64),
    /// A migration: one request moves the allocations of one consumer and creates another.
    Move,
    /// The bare server: a body of this many bytes.
    Blob(usize),
    /// The bare server: parses the body of a PUT and discards it.
    Parse,
}

const RESOURCES: &str = r#"{"VCPU":1,"MEMORY_MB":512,"DISK_GB":10}"#;

/// Totals of all connections of a run.
#[derive(Debug, Default)]
pub struct SeenReplies {
    pub bytes: Cell<u64>,
    pub replies: Cell<u64>,
    pub conflicts: Cell<u64>,
}

pub struct PlacementScript {
    ask: MeasuredRequest,
    hosts: u64,
    dice: u64,
    /// The first consumer number of this connection.
    number: u64,
    /// The host of the moving consumer and its generation; `None` before the first move.
    at: Option<(u64, u64)>,
    going: u64,
    /// The real Placement gives up after ten conflicts, and the client must retry.
    may_conflict: bool,
    seen: Rc<SeenReplies>,
}

impl PlacementScript {
    pub fn scripts(
        ask: MeasuredRequest,
        hosts: u64,
        connections: usize,
        round: usize,
        may_conflict: bool,
    ) -> (Vec<PlacementScript>, Rc<SeenReplies>) {
        let seen = Rc::new(SeenReplies::default());
        let one = |connection: usize| {
            let number = ((round as u64) << 48) | ((connection as u64) << 32);
            PlacementScript {
                ask,
                hosts,
                dice: mix(number ^ 0xa110d),
                number,
                at: None,
                going: 0,
                may_conflict,
                seen: seen.clone(),
            }
        };
        ((0..connections).map(one).collect(), seen)
    }

    fn random(&mut self, below: u64) -> u64 {
        self.dice = mix(self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15));
        self.dice % below
    }

    fn consumer(&self, number: u64) -> String {
        uuid(UuidKind::Consumer, number)
    }

    fn put(&mut self, out: &mut Vec<u8>, host: &str) {
        self.number += 1;
        let consumer = self.consumer(self.number);
        let body = format!("{{{}}}", holding(host, "null", "INSTANCE", self.number));
        put_head(out, "PUT", &format!("/allocations/{consumer}"), Some(body.as_bytes()));
    }
}

/// The members of an allocation.
fn holding(host: &str, generation: &str, kind: &str, who: u64) -> String {
    let project = uuid(UuidKind::Project, who % 20).replace('-', "");
    format!(
        r#""allocations":{{"{host}":{{"resources":{RESOURCES}}}}},"project_id":"{project}","user_id":"{project}","consumer_generation":{generation},"consumer_type":"{kind}""#
    )
}

impl Script for PlacementScript {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        let get = |out: &mut Vec<u8>, path: &str| put_head(out, "GET", path, None);
        let host = self.random(self.hosts);
        let of_host =
            |what: &str| format!("/resource_providers/{}{what}", uuid(UuidKind::Host, host));
        match self.ask {
            MeasuredRequest::Candidates { limit } => {
                let zone = uuid(UuidKind::Zone, self.random(ZONES));
                get(
                    out,
                    &format!(
                        "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:10&required=HW_CPU_X86_AVX2,!COMPUTE_STATUS_DISABLED&member_of={zone}&limit={limit}"
                    ),
                );
            }
            MeasuredRequest::AnyHost { limit } => {
                get(
                    out,
                    &format!(
                        "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:10&limit={limit}"
                    ),
                );
            }
            MeasuredRequest::NestedCandidates { limit } => get(
                out,
                &format!(
                    "/allocation_candidates?resources=DISK_GB:10&resources_N0=VCPU:2,MEMORY_MB:1024&resources_N1=VCPU:2,MEMORY_MB:1024&resources_P0=SRIOV_NET_VF:1&required_P0=CUSTOM_PHYSNET_A&resources_P1=SRIOV_NET_VF:1&required_P1=CUSTOM_PHYSNET_B&group_policy=isolate&limit={limit}"
                ),
            ),
            MeasuredRequest::CloudProvider => get(out, &of_host("")),
            MeasuredRequest::Inventories => get(out, &of_host("/inventories")),
            MeasuredRequest::Usages => get(out, &of_host("/usages")),
            MeasuredRequest::Allocations => get(out, &of_host("/allocations")),
            MeasuredRequest::Put => self.put(out, &uuid(UuidKind::Host, host)),
            MeasuredRequest::PutHot(hosts) => {
                let host = self.random(hosts.min(HOT));
                self.put(out, &uuid(UuidKind::Hot, host));
            }
            MeasuredRequest::Move => {
                let to = uuid(UuidKind::Host, host);
                self.going = host;
                let own = self.consumer(self.number >> 32 << 32);
                let Some((from, generation)) = self.at else {
                    let body = format!("{{{}}}", holding(&to, "null", "INSTANCE", self.number));
                    put_head(out, "PUT", &format!("/allocations/{own}"), Some(body.as_bytes()));
                    return true;
                };
                self.number += 1;
                let body = format!(
                    r#"{{"{}":{{{}}},"{own}":{{{}}}}}"#,
                    self.consumer(self.number),
                    holding(&uuid(UuidKind::Host, from), "null", "MIGRATION", self.number),
                    holding(&to, &generation.to_string(), "INSTANCE", self.number)
                );
                put_head(out, "POST", "/allocations", Some(body.as_bytes()));
            }
            MeasuredRequest::Blob(bytes) => get(out, &format!("/blob/{bytes}")),
            MeasuredRequest::Parse => self.put(out, &uuid(UuidKind::Host, host)),
        }
        true
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        self.seen.bytes.set(self.seen.bytes.get() + body.len() as u64);
        self.seen.replies.set(self.seen.replies.get() + 1);
        match status {
            200 | 204 => {
                if self.ask == MeasuredRequest::Move {
                    self.at =
                        Some((self.going, self.at.map_or(1, |(_, generation)| generation + 1)));
                }
                Ok(())
            }
            409 if self.may_conflict => {
                self.seen.conflicts.set(self.seen.conflicts.get() + 1);
                Ok(())
            }
            _ => Err(format!(
                "{:?} was answered with {status}: {}",
                self.ask,
                String::from_utf8_lossy(body)
            )),
        }
    }
}

/// Writes a request with an admin token and the newest version.
pub fn put_head(out: &mut Vec<u8>, method: &str, path: &str, body: Option<&[u8]>) {
    // Writing into a vector cannot fail.
    let _ = write!(
        out,
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nx-auth-token: admin\r\nopenstack-api-version: placement 1.39\r\naccept: application/json\r\n"
    );
    if let Some(body) = body {
        let _ = write!(out, "content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body.unwrap_or_default());
}

pub fn request(method: &str, path: &str, body: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_head(&mut out, method, path, Some(body.as_bytes()));
    out
}
