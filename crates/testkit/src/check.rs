//! The whole check: the journal's chain, and every call of a history against it.

use std::collections::HashMap;

use allod_core::event::Event;
use allod_engine::Hash;
use allod_journal::{Journal, RecordFrame, Tail};
use allod_record::Item;

use crate::history::{Answer, Call, Done, History, Request};
use crate::judge;
use crate::model::Model;
use crate::refusals::Judgement;

/// How many problems are told in full.
const TOLD_MAX: usize = 20;

/// A journal read from its first record to its last.
#[derive(Debug, Default)]
pub struct Chain {
    /// Where each record ends: its position, by its hash.
    pub records: HashMap<Hash, u64>,
    pub tail: Tail,
    /// What stands at each position, from 1.
    pub entries: Vec<Standing>,
}

/// What stands at one position: the time and the events of a command, or nothing that changes anything.
pub type Standing = Option<(u64, Vec<Event>)>;

/// What came of a check.
#[derive(Debug, Default)]
pub struct Verdict {
    pub right: u64,
    /// Answers of which nothing can be told from outside.
    pub open: u64,
    pub problems: Vec<String>,
    pub problems_count: u64,
}

impl Verdict {
    fn problem(&mut self, what: String) {
        self.problems_count += 1;
        if self.problems.len() < TOLD_MAX {
            self.problems.push(what);
        }
    }

    /// Panics with everything that is wrong; for tests.
    pub fn expect_sound(&self) {
        assert!(
            self.problems_count == 0,
            "{} problems:\n{}",
            self.problems_count,
            self.problems.join("\n")
        );
    }
}

/// Reads a journal and checks its chain: every record follows the one before it, and every entry can be read.
pub fn read_chain(journal: &dyn Journal) -> Result<Chain, String> {
    let mut chain = Chain::default();
    loop {
        let frames =
            journal.read(chain.tail.seq + 1, 8 << 20).map_err(|error| error.to_string())?;
        if frames.is_empty() {
            return Ok(chain);
        }
        for frame in &frames {
            chain.take_in(frame)?;
        }
    }
}

impl Chain {
    /// Adds a record, if it follows what is here and can be read.
    pub fn take_in(&mut self, frame: &RecordFrame) -> Result<(), String> {
        frame.follows(&self.tail).map_err(|broken| broken.to_string())?;
        let items = allod_record::decode(&frame.body)
            .map_err(|error| format!("record {}: {error}", frame.seq))?;
        for item in items {
            match item {
                Item::Entry(entry) => self.entries.push(Some((entry.at_ms, entry.events))),
                Item::Level { .. } => self.entries.push(None),
                Item::Epoch { .. } => {}
            }
        }
        if self.entries.len() as u64 != frame.position {
            return Err(format!("record {} ends elsewhere than it says", frame.seq));
        }
        self.tail = frame.tail(frame.hash());
        self.records.insert(self.tail.hash, frame.position);
        Ok(())
    }
}

/// Checks a history against the journal. `in_time`: positions must follow the order in time, as they do for all calls to
/// one server, and for the commands of all; a read of a server that has not heard of another's writes is from the past.
pub fn check(chain: &Chain, history: &History, in_time: bool) -> Verdict {
    let mut verdict = Verdict::default();
    let answered: Vec<&Call> = history
        .calls
        .iter()
        .filter(|call| !matches!(call.answer, Answer::Failed | Answer::Lost))
        .collect();
    if in_time {
        in_order(&answered, &mut verdict);
    }
    for call in &answered {
        match chain.records.get(&call.hash) {
            Some(position) if *position >= call.position => {}
            Some(position) => verdict.problem(format!(
                "answered at {} with the hash of a record that ends at {position}: {call:?}",
                call.position
            )),
            None => verdict.problem(format!("answered with a hash that is not there: {call:?}")),
        }
        if call.position > chain.tail.position {
            verdict.problem(format!("answered at a position that is not there: {call:?}"));
        }
    }
    replay(chain, answered, &mut verdict);
    verdict
}

/// Whoever was answered before another asked was answered at an earlier position, or the same.
fn in_order(calls: &[&Call], verdict: &mut Verdict) {
    let mut by_end = calls.to_vec();
    by_end.sort_by_key(|call| call.ended_ns);
    let mut by_start = calls.to_vec();
    by_start.sort_by_key(|call| call.began_ns);
    let mut ended = by_end.into_iter().peekable();
    let mut highest: Option<&Call> = None;
    for call in by_start {
        while let Some(before) = ended.next_if(|before| before.ended_ns < call.began_ns) {
            if highest.is_none_or(|highest| highest.position < before.position) {
                highest = Some(before);
            }
        }
        if let Some(highest) = highest.filter(|highest| highest.position > call.position) {
            verdict.problem(format!("{call:?} was answered from before {highest:?}"));
        }
    }
}

/// Goes through the journal, and judges each call where it stands.
fn replay(chain: &Chain, mut calls: Vec<&Call>, verdict: &mut Verdict) {
    calls.sort_by_key(|call| call.position);
    let mut calls = calls.into_iter().peekable();
    let mut model = Model::default();
    // Who says that it was given what, by position, pool and key: nobody else may.
    let mut given: HashMap<(u64, &str, &str), &Call> = HashMap::new();
    for position in 0..=chain.entries.len() as u64 {
        let standing =
            position.checked_sub(1).and_then(|index| chain.entries[index as usize].as_ref());
        let events = standing.map_or(&[][..], |(_, events)| events);
        match standing {
            Some((at_ms, events)) => {
                if let Err(what) = model.apply(*at_ms, events) {
                    verdict.problem(format!("the journal at {position}: {what}"));
                }
            }
            None => model.position = position,
        }
        while let Some(call) = calls.next_if(|call| call.position <= position) {
            match judge::judge(&model, events, call) {
                Judgement::Right => verdict.right += 1,
                Judgement::Open => verdict.open += 1,
                Judgement::Wrong(what) => verdict.problem(format!("{what}: {call:?}")),
            }
            for (pool, key) in created(call) {
                if let Some(other) = given.insert((position, pool, key), call) {
                    verdict.problem(format!("both {other:?} and {call:?} were given the same"));
                }
            }
        }
    }
}

/// The claims that a call says it made. What is remembered, or only tried, is not made by it.
fn created(call: &Call) -> impl Iterator<Item = (&str, &str)> {
    let plain = match &call.request {
        Request::Command(allod_core::command::Command::Transact(transact)) => {
            !transact.dry_run && transact.idempotency.is_none() && transact.ops.len() == 1
        }
        _ => false,
    };
    let done = match &call.answer {
        Answer::Done(done) if plain => &done[..],
        _ => &[],
    };
    done.iter()
        .flat_map(|done| match done {
            Done::Claimed { created: true, claims } => &claims[..],
            _ => &[],
        })
        .map(|claim| (claim.pool.as_str(), claim.key.as_str()))
}
