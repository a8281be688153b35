//! The wheel: what is ready is told, and what became of it is written down.
//!
//! One task looks; each attempt is a task of its own. A target has one attempt under way at a time and a lane a bounded
//! number, so a slow one holds up nobody else. A look takes a bounded number of notices, and the next one goes on where it
//! ended: however many wait for a lane that is full, those behind them are found.
//!
//! Of servers that share a journal the one that has written last tells. What nobody has told for a while is taken up by the
//! others, whoever should have done it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use allod_core::command::Command;
use allod_core::command::resource::{NoticeCommand, ResourceCommand};
use allod_core::refusal::{Refusal, ResourceRefusal};
use allod_core::state::outbox::Notice;
use allod_engine::{Failure, Handle};
use tokio::task::{JoinHandle, JoinSet};
use tracing::{debug, info, warn};

use crate::backoff::again_ms;
use crate::courier::{Courier, Lane, Told};
use crate::limits::Limits;
use crate::meter::Meter;

/// How many notices one look takes in.
const LOOKED_AT_MAX: usize = 1024;
/// How long the next look waits when there may be more to see.
const GO_ON_AFTER: Duration = Duration::from_millis(5);
/// How long the next look waits after a change, which may have been one of many.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(1);
/// The same while many notices wait for room: whatever changes, they are looked at again only so often.
const LOOK_AGAIN_AT_MANY_AFTER: Duration = Duration::from_millis(20);
const MANY: usize = 64;
/// The same where nobody is told anything, and only the figures follow.
const COUNT_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// How often it looks when nothing seems to happen: whether another server has stopped is told by nobody.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long to wait when an outcome could not be written down.
const WRITE_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// A running reactor.
#[derive(Debug)]
pub struct Reactor {
    wheel: JoinHandle<()>,
}

impl Reactor {
    /// Starts telling what the outbox of this engine says.
    pub fn start(handle: Handle, courier: Arc<dyn Courier>, limits: Limits) -> Reactor {
        Reactor { wheel: tokio::spawn(Wheel::new(handle, courier, limits).run()) }
    }

    /// Ends it. What is under way is cut off, which is told again by whoever comes next.
    pub async fn stop(self) {
        self.wheel.abort();
        drop(self.wheel.await);
    }
}

/// What an attempt leaves behind.
struct Done {
    target: Arc<str>,
    lane: Option<Lane>,
}

struct Wheel {
    handle: Handle,
    courier: Arc<dyn Courier>,
    limits: Limits,
    meter: Arc<Meter>,
    /// Targets with an attempt under way.
    busy: BTreeSet<Arc<str>>,
    /// How many are under way in each lane. The last one is for notices that nobody is told of.
    lanes: Vec<u64>,
    attempts: JoinSet<Done>,
    /// Where the next look goes on.
    from: (u64, u128),
}

/// What a look has found.
struct Look {
    found: Vec<(Option<Lane>, Arc<Notice>)>,
    /// Where the next look goes on. `None`: this one has seen all.
    rest: Option<(u64, u128)>,
    /// How long until something else becomes ready.
    wait: Option<Duration>,
    /// How long it waits after a change.
    pause: Duration,
    position: u64,
}

impl Wheel {
    fn new(handle: Handle, courier: Arc<dyn Courier>, limits: Limits) -> Wheel {
        Wheel {
            lanes: vec![0; courier.lanes() + 1],
            handle,
            courier,
            limits,
            meter: Arc::new(Meter::new()),
            busy: BTreeSet::new(),
            attempts: JoinSet::new(),
            from: (0, 0),
        }
    }

    async fn run(mut self) {
        loop {
            let Ok(look) = self.look() else {
                // The journal is being replayed.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            for (lane, notice) in look.found {
                self.begin(lane, notice);
            }
            self.from = look.rest.unwrap_or_default();
            let wait = if look.rest.is_some() { Some(GO_ON_AFTER) } else { look.wait };
            let wait_max = wait.unwrap_or(LOOK_EVERY).min(LOOK_EVERY);
            self.rest(look.position, wait_max, look.pause).await;
        }
    }

    /// Waits until there may be something to do.
    async fn rest(&mut self, position: u64, wait_max: Duration, pause: Duration) {
        let handle = self.handle.clone();
        let changed = async {
            // On a busy server something changes all the time. And one that is stopping changes no more.
            let is_stopping = handle.wait_for(position + 1).await.is_err();
            tokio::time::sleep(if is_stopping { wait_max } else { pause }).await;
        };
        tokio::select! {
            Some(done) = self.attempts.join_next() => {
                if let Ok(done) = done {
                    self.end(&done);
                }
                while let Some(Ok(done)) = self.attempts.try_join_next() {
                    self.end(&done);
                }
            }
            () = tokio::time::sleep(wait_max) => {}
            () = changed => {}
        }
    }

    /// Finds notices that can be told now and for which there is room.
    fn look(&self) -> Result<Look, Failure> {
        // Whoever has written last tells at once; the others let it.
        let patience_ms = if self.handle.leads() { 0 } else { self.limits.outbox_takeover_ms };
        self.handle.read(|snapshot| {
            self.meter.publish(snapshot.state);
            let outbox = snapshot.state.outbox();
            let now_ms = snapshot.now_ms.saturating_sub(patience_ms);
            let mut lanes = self.lanes.clone();
            let mut found = Vec::new();
            let (mut rest, mut in_vain) = (None, 0);
            for (looked_at, notice) in outbox.ready_from(self.from, now_ms).enumerate() {
                if looked_at == LOOKED_AT_MAX {
                    rest = notice.due_ms.map(|due_ms| (due_ms, notice.number));
                    break;
                }
                if self.busy.contains(&notice.target) {
                    continue;
                }
                let lane = self.courier.lane(notice);
                if let Some(under_way) = lanes.get_mut(self.place(lane))
                    && *under_way < self.limits.webhook_parallel_max
                {
                    *under_way += 1;
                    found.push((lane, notice.clone()));
                } else {
                    in_vain += 1;
                }
            }
            let next = outbox.due_after(now_ms);
            let wait = next.map(|due_ms| Duration::from_millis(due_ms - now_ms));
            // What comes before the place where this look began is looked at next.
            let rest = rest.or_else(|| (self.from > (0, 0)).then_some((0, 0)));
            let pause = match self.courier.lanes() {
                0 => COUNT_AGAIN_AFTER,
                _ if in_vain < MANY => LOOK_AGAIN_AFTER,
                _ => LOOK_AGAIN_AT_MANY_AFTER,
            };
            Look { found, rest, wait, pause, position: snapshot.at.position }
        })
    }

    fn place(&self, lane: Option<Lane>) -> usize {
        lane.unwrap_or(self.lanes.len() - 1)
    }

    fn begin(&mut self, lane: Option<Lane>, notice: Arc<Notice>) {
        let at = self.place(lane);
        self.lanes[at] += 1;
        self.busy.insert(notice.target.clone());
        let attempt = Attempt {
            handle: self.handle.clone(),
            courier: self.courier.clone(),
            limits: self.limits,
            meter: self.meter.clone(),
        };
        self.attempts.spawn(async move {
            let target = notice.target.clone();
            attempt.make(lane, notice).await;
            Done { target, lane }
        });
    }

    fn end(&mut self, done: &Done) {
        let at = self.place(done.lane);
        self.lanes[at] -= 1;
        self.busy.remove(&done.target);
    }
}

/// One attempt to tell one notice, with what it needs.
struct Attempt {
    handle: Handle,
    courier: Arc<dyn Courier>,
    limits: Limits,
    meter: Arc<Meter>,
}

impl Attempt {
    async fn make(&self, lane: Option<Lane>, notice: Arc<Notice>) {
        let number = notice.number;
        let Some(lane) = lane else {
            debug!(notice = notice.name(), target = %notice.target, "no webhook is for this");
            self.meter.unwanted.increment(1);
            return self.write(NoticeCommand::Drop { number }).await;
        };
        // A courier that panics has not told, wherever it does.
        let (courier, told) = (self.courier.clone(), notice.clone());
        let telling = tokio::spawn(async move { courier.tell(lane, told).await });
        let _cut_off = CutOff(telling.abort_handle());
        match telling.await.unwrap_or_else(|_| Told::No("an internal error".into())) {
            Told::Yes => {
                self.meter.delivered.increment(1);
                debug!(notice = notice.name(), target = %notice.target, "told");
                self.write(NoticeCommand::Delivered { number }).await;
            }
            Told::No(error) => {
                let now_ms = self.handle.status().now_ms;
                let again_ms = again_ms(&self.limits, self.attempts(&notice), now_ms);
                self.failed(&notice, error, again_ms).await;
            }
            Told::Never(error) => self.failed(&notice, error, None).await,
        }
    }

    /// How often it has been tried before this time. An operator may have begun to count anew while this attempt was under way.
    fn attempts(&self, notice: &Notice) -> u32 {
        let now = self.handle.read(|snapshot| {
            snapshot.state.outbox().get(notice.number).map(|notice| notice.attempts)
        });
        now.ok().flatten().unwrap_or(notice.attempts)
    }

    async fn failed(&self, notice: &Notice, error: String, again_ms: Option<u64>) {
        self.meter.failed.increment(1);
        let (name, target) = (notice.name(), &notice.target);
        if again_ms.is_some() {
            info!(notice = name, %target, error, "not taken, will be told again");
        } else {
            self.meter.given_up.increment(1);
            warn!(notice = name, %target, error, "not taken, and given up");
        }
        let (number, error) = (notice.number, error.into());
        self.write(NoticeCommand::Failed { number, error, again_ms }).await;
    }

    /// Writes down what became of it. Until that is done the target is told nothing else.
    async fn write(&self, command: NoticeCommand) {
        loop {
            let command = Command::Resource(ResourceCommand::Notice(command.clone()));
            match self.handle.submit(command).await {
                Ok(reply) => {
                    if let Err(refused) = reply.answer
                        // Somebody has dropped it in the meantime, or another server has told it.
                        && !matches!(
                            refused.refusal,
                            Refusal::Resource(ResourceRefusal::NoticeUnknown { .. })
                        )
                    {
                        warn!(refusal = %refused.refusal, "the outcome of a notice was refused");
                    }
                    return;
                }
                Err(Failure::Stopping) => return,
                Err(failure) => {
                    debug!(%failure, "the outcome of a notice cannot be written yet");
                    tokio::time::sleep(WRITE_AGAIN_AFTER).await;
                }
            }
        }
    }
}

/// Ends a task with the one that waits for it.
struct CutOff(tokio::task::AbortHandle);

impl Drop for CutOff {
    fn drop(&mut self) {
        self.0.abort();
    }
}
