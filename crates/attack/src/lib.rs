//! `allod-attack`: hostile clients against the real server, run by `cargo xtask attack`. Never shipped.
//!
//! Each attack runs against a server of its own on loopback, beside eight small honest clients. What counts is what others
//! notice: errors and pauses of the honest clients, the memory of the server, and whether it still answers, stops and has
//! a journal that verifies. The attacks are in `attacks/`; each is bounded in count and time.

pub mod attacks;
mod disk_witness;
mod outcome;
mod target;
mod wire;

pub use attacks::ATTACKS;
pub use outcome::{Outcome, table};
pub use target::{Effort, Target};

use std::path::Path;
use std::time::{Duration, Instant};

use allod_testkit::memory::Memory;
use allod_testkit::small_clients::{Noticed, RunningClients, SmallClients};
use anyhow::Result;

use disk_witness::DiskWitness;
use target::{RunningTarget, TargetAuth};

const HONEST_CLIENTS: usize = 8;
const PACE: Duration = Duration::from_millis(5);

/// The honest clients before the attack begins, and after it has ended.
const WARM_UP: Duration = Duration::from_millis(200);
const COOL_DOWN: Duration = Duration::from_millis(200);

/// How long memory may take to return to the system.
const RETURN_MAX: Duration = Duration::from_secs(15);

/// One attack, and what others may notice of it at most.
#[derive(Debug)]
pub struct Attack {
    pub name: &'static str,
    pub what: &'static str,
    auth: TargetAuth,
    /// Flags of the server in a quick run: smaller limits, so that they are reached soon.
    quick_flags: &'static [&'static str],
    harm: HarmMax,
    run: fn(&Target) -> Result<Sent>,
}

/// What an attack may cost at most.
#[derive(Debug, Clone, Copy)]
pub struct HarmMax {
    /// The longest pause of an honest client; of a write, beyond the longest sync of the disk. Not part of the tests, which
    /// run beside each other.
    pub pause_ms: u64,
    /// The growth of the server's memory during the attack.
    pub peak_mib: u64,
    /// What is left of the growth afterwards: what the attack has stored, and what the allocator retains.
    pub kept_mib: u64,
}

/// What an attack has sent.
#[derive(Debug, Default)]
pub struct Sent {
    /// Requests, or connections.
    pub count: u64,
    /// How the server answered, in a few words.
    pub answers: String,
}

/// Runs an attack against this binary. An error means that it could not be run; what it found is in the outcome.
pub fn run(attack: &'static Attack, binary: &Path, effort: Effort) -> Result<Outcome> {
    let running = start(attack, binary, effort)?;
    let target = &running.target;
    let clients = start_honest_clients(target)?;
    let memory = Memory::with_new_peak(running.pid());
    let disk = DiskWitness::start(running.folder())?;
    clients.count();
    let begun = Instant::now();
    let sent = (attack.run)(target);
    let lasted = begun.elapsed();
    std::thread::sleep(COOL_DOWN);
    let noticed = clients.finish();
    let longest_sync = disk.finish()?;
    let mut outcome = Outcome::new(attack.name, attack.harm);
    match sent {
        Ok(sent) => outcome.sent = sent,
        Err(error) => outcome.harm(format!("{error:#}")),
    }
    match noticed {
        Ok(noticed) => honest(&mut outcome, &noticed, longest_sync),
        Err(error) => outcome.harm(format!("the honest clients: {error:#}")),
    }
    if let Err(error) = running.answers() {
        outcome.harm(format!("the server does not answer afterwards: {error:#}"));
        return Ok(outcome);
    }
    let mut grown = Growth::of(&running, &memory, attack.harm)?;
    if let Err(error) = running.stop_and_verify(binary) {
        outcome.harm(format!("{error:#}"));
    }
    if grown.is_beyond(attack.harm) {
        let honest = without_attack(attack, binary, effort, lasted)?;
        grown.peak_mib = grown.peak_mib.saturating_sub(honest.peak_mib);
        grown.kept_mib = grown.kept_mib.saturating_sub(honest.kept_mib);
    }
    outcome.peak_mib(grown.peak_mib);
    outcome.kept_mib(grown.kept_mib);
    Ok(outcome)
}

fn start(attack: &Attack, binary: &Path, effort: Effort) -> Result<RunningTarget> {
    let flags = if effort == Effort::Quick { attack.quick_flags } else { &[] };
    RunningTarget::start(binary, attack.auth, flags, effort)
}

fn start_honest_clients(target: &Target) -> Result<RunningClients> {
    let clients = SmallClients {
        address: target.address,
        clients: HONEST_CLIENTS,
        pace: PACE,
        token: target.tokens.as_ref().map(|tokens| tokens.admin.clone()),
        run: "honest".to_owned(),
    };
    clients.prepare()?;
    let clients = clients.start()?;
    std::thread::sleep(WARM_UP);
    Ok(clients)
}

/// How much the memory of the server grew.
struct Growth {
    peak_mib: u64,
    kept_mib: u64,
}

impl Growth {
    fn of(running: &RunningTarget, memory: &Memory, max: HarmMax) -> Result<Growth> {
        let peak_mib = memory.peak_mib();
        Ok(Growth { peak_mib, kept_mib: settled(running, memory, max.kept_mib)? })
    }

    fn is_beyond(&self, max: HarmMax) -> bool {
        self.peak_mib > max.peak_mib || self.kept_mib > max.kept_mib
    }
}

/// What the honest clients alone cost in the same time. What they write stays in memory, so a long attack on a server
/// with a fast disk would be blamed for it.
fn without_attack(
    attack: &Attack,
    binary: &Path,
    effort: Effort,
    lasted: Duration,
) -> Result<Growth> {
    let running = start(attack, binary, effort)?;
    let clients = start_honest_clients(&running.target)?;
    let memory = Memory::with_new_peak(running.pid());
    std::thread::sleep(lasted + COOL_DOWN);
    clients.finish()?;
    let grown = Growth::of(&running, &memory, HarmMax { kept_mib: 0, ..attack.harm })?;
    running.stop_and_verify(binary)?;
    Ok(grown)
}

fn honest(outcome: &mut Outcome, noticed: &Noticed, longest_sync: Duration) {
    if noticed.errors > 0 {
        let described = noticed.described.join("; ");
        outcome.harm(format!("{} errors of honest clients: {described}", noticed.errors));
    }
    if noticed.has_duplicates() {
        outcome.harm("a value was granted twice".to_owned());
    }
    if noticed.reads.is_empty() || noticed.writes.is_empty() {
        outcome.harm("the honest clients got no answers".to_owned());
    }
    let (read, write) = (Noticed::longest(&noticed.reads), Noticed::longest(&noticed.writes));
    outcome.pauses(read, write, longest_sync);
}

/// The growth once it is below the maximum, or after [`RETURN_MAX`]. The allocator returns memory to the system when it is used
/// again, so requests of a usual size are sent meanwhile.
fn settled(running: &RunningTarget, memory: &Memory, kept_mib_max: u64) -> Result<u64> {
    let begun = Instant::now();
    loop {
        let grown = memory.grown_mib();
        if grown <= kept_mib_max || begun.elapsed() > RETURN_MAX {
            return Ok(grown);
        }
        running.send_usual_requests()?;
        std::thread::sleep(Duration::from_millis(100));
    }
}
