//! The complete check: the hash chain of the journal, and every call of a history against the journal.

use std::collections::HashMap;

use allod_core::event::Event;
use allod_engine::{Hash, decode_record};
use allod_journal::{Journal, RecordFrame, Tail};
use allod_record::Item;

use crate::history::{Call, CallAnswer, History, OpOutcome, Request};
use crate::judge;
use crate::model::NaiveModel;
use crate::refusals::Judgement;

/// The number of problems that are reported in full.
const SHOWN_MAX: usize = 20;

/// A journal, read from its first record to its last.
#[derive(Debug, Default)]
pub struct Chain {
    /// The last position of each record, by its hash.
    pub records: HashMap<Hash, u64>,
    pub tail: Tail,
    /// The entries by position; the first has position 1.
    pub entries: Vec<ChainEntry>,
}

/// The time and the events of an entry; `None` if it changes nothing.
pub type ChainEntry = Option<(u64, Vec<Event>)>;

/// The result of a check.
#[derive(Debug, Default)]
pub struct CheckReport {
    pub right: u64,
    /// Answers that cannot be verified from outside.
    pub open: u64,
    pub problems: Vec<String>,
    pub problems_count: u64,
}

impl CheckReport {
    fn problem(&mut self, what: String) {
        self.problems_count += 1;
        if self.problems.len() < SHOWN_MAX {
            self.problems.push(what);
        }
    }

    /// Panics with all problems; for tests.
    pub fn expect_no_problems(&self) {
        assert!(
            self.problems_count == 0,
            "{} problems:\n{}",
            self.problems_count,
            self.problems.join("\n")
        );
    }
}

/// Reads a journal and checks that every record follows the previous one and that every entry can be decoded.
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
    /// Adds a record, if it follows the chain and can be decoded.
    pub fn take_in(&mut self, frame: &RecordFrame) -> Result<(), String> {
        frame.follows(&self.tail).map_err(|broken| broken.to_string())?;
        let items = decode_record(frame).map_err(|error| error.to_string())?;
        for item in items {
            match item {
                Item::Entry(entry) => self.entries.push(Some((entry.at_ms, entry.events))),
                Item::Level { .. } => self.entries.push(None),
                Item::Epoch { .. } => {}
            }
        }
        if self.entries.len() as u64 != frame.position {
            return Err(format!("record {} does not end at its stated position", frame.seq));
        }
        self.tail = frame.tail(frame.hash());
        self.records.insert(self.tail.hash, frame.position);
        Ok(())
    }
}

/// Checks a history against the journal. `in_time`: positions must follow the order of calls in time. That holds for
/// all calls to one server and for the commands of all servers. It does not hold for a read from a server that has not
/// seen the writes of another one yet.
pub fn check(chain: &Chain, history: &History, in_time: bool) -> CheckReport {
    let mut report = CheckReport::default();
    let answered: Vec<&Call> = history
        .calls
        .iter()
        .filter(|call| !matches!(call.answer, CallAnswer::Failed | CallAnswer::Lost))
        .collect();
    if in_time {
        in_order(&answered, &mut report);
    }
    for call in &answered {
        match chain.records.get(&call.hash) {
            Some(position) if *position >= call.position => {}
            Some(position) => report.problem(format!(
                "answered at {} with the hash of a record that ends at {position}: {call:?}",
                call.position
            )),
            None => report.problem(format!("answered with an unknown hash: {call:?}")),
        }
        if call.position > chain.tail.position {
            report
                .problem(format!("answered at a position after the end of the journal: {call:?}"));
        }
    }
    replay(chain, answered, &mut report);
    report
}

/// If one call ended before another began, its position is not greater.
fn in_order(calls: &[&Call], report: &mut CheckReport) {
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
            report.problem(format!(
                "{call:?} has an earlier position than {highest:?}, which ended before it began"
            ));
        }
    }
}

/// Replays the journal and judges each call at its position.
fn replay(chain: &Chain, mut calls: Vec<&Call>, report: &mut CheckReport) {
    calls.sort_by_key(|call| call.position);
    let mut calls = calls.into_iter().peekable();
    let mut model = NaiveModel::default();
    // The call that claims to have created each claim; a second one is a problem.
    let mut given: HashMap<(u64, &str, &str), &Call> = HashMap::new();
    for position in 0..=chain.entries.len() as u64 {
        let standing =
            position.checked_sub(1).and_then(|index| chain.entries[index as usize].as_ref());
        let events = standing.map_or(&[][..], |(_, events)| events);
        match standing {
            Some((at_ms, events)) => {
                if let Err(what) = model.apply(*at_ms, events) {
                    report.problem(format!("the journal at {position}: {what}"));
                }
            }
            None => model.position = position,
        }
        while let Some(call) = calls.next_if(|call| call.position <= position) {
            match judge::judge(&model, events, call) {
                Judgement::Right => report.right += 1,
                Judgement::Open => report.open += 1,
                Judgement::Wrong(what) => report.problem(format!("{what}: {call:?}")),
            }
            for (pool, key) in created(call) {
                if let Some(other) = given.insert((position, pool, key), call) {
                    report.problem(format!(
                        "both {other:?} and {call:?} report that they created the same claim"
                    ));
                }
            }
        }
    }
}

/// The claims that a call reports as created. Dry runs and repeated answers do not count.
fn created(call: &Call) -> impl Iterator<Item = (&str, &str)> {
    let plain = match &call.request {
        Request::Command(allod_core::command::Command::Transact(transact)) => {
            !transact.dry_run && transact.idempotency.is_none() && transact.ops.len() == 1
        }
        _ => false,
    };
    let done = match &call.answer {
        CallAnswer::Done(done) if plain => &done[..],
        _ => &[],
    };
    done.iter()
        .flat_map(|done| match done {
            OpOutcome::Claimed { created: true, claims } => &claims[..],
            _ => &[],
        })
        .map(|claim| (claim.pool.as_str(), claim.key.as_str()))
}
