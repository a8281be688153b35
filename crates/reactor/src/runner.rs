//! Finds due notifications, starts their delivery, and submits the outcome as commands.
//!
//! One task scans the outbox; each attempt runs in its own task. A target has one attempt in progress at a time and a
//! channel a limited number, so a slow receiver does not delay others. A scan covers a limited number of notifications and
//! the next one continues after it, so notifications behind a full channel are found too.
//!
//! Of several servers that share a journal, the leader delivers. The others deliver what is overdue.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use allod_core::command::Command;
use allod_core::outbox::Notification;
use allod_core::outbox::OutboxCommand;
use allod_core::refusal::{OutboxRefusal, Refusal};
use allod_core::view;
use allod_engine::{EngineError, Handle};
use tokio::task::{JoinHandle, JoinSet};
use tracing::{debug, info, warn};

use crate::backoff::again_ms;
use crate::limits::ReactorLimits;
use crate::metrics::ReactorMetrics;
use crate::transport::{ChannelId, DeliveryOutcome, Transport};

/// The most notifications of one scan.
const SCAN_MAX: usize = 1024;
/// The delay before a scan that continues an incomplete one.
const CONTINUE_AFTER: Duration = Duration::from_millis(5);
/// The delay after a change of the state, because more changes may follow.
const RESCAN_AFTER: Duration = Duration::from_millis(1);
/// The same while at least `MANY_BLOCKED` notifications wait for a full channel.
const RESCAN_BLOCKED_AFTER: Duration = Duration::from_millis(20);
const MANY_BLOCKED: usize = 64;
/// The same without any channel, when a scan only updates metrics.
const RESCAN_METRICS_AFTER: Duration = Duration::from_millis(100);
/// The longest delay between two scans. Needed because there is no event when another server stops delivering.
const SCAN_EVERY: Duration = Duration::from_secs(1);
/// The delay before an outcome that could not be stored is submitted again.
const RESUBMIT_AFTER: Duration = Duration::from_millis(500);

/// A running reactor.
#[derive(Debug)]
pub struct Reactor {
    task: JoinHandle<()>,
}

impl Reactor {
    /// Starts delivering the notifications of this engine's outbox.
    pub fn start(handle: Handle, transport: Arc<dyn Transport>, limits: ReactorLimits) -> Reactor {
        Reactor { task: tokio::spawn(Runner::new(handle, transport, limits).run()) }
    }

    /// Stops it and cancels the attempts in progress; they are repeated after a restart.
    pub async fn stop(self) {
        self.task.abort();
        drop(self.task.await);
    }
}

/// An attempt that has ended.
struct FinishedAttempt {
    target: Arc<str>,
    channel: Option<ChannelId>,
}

struct Runner {
    handle: Handle,
    transport: Arc<dyn Transport>,
    limits: ReactorLimits,
    metrics: Arc<ReactorMetrics>,
    /// Targets with an attempt in progress.
    busy: BTreeSet<Arc<str>>,
    /// Attempts in progress in each channel. The last element is for notifications without a channel.
    channels: Vec<u64>,
    attempts: JoinSet<FinishedAttempt>,
    /// Where the next scan starts.
    from: (u64, u128),
}

/// The result of a scan.
struct Scan {
    found: Vec<(Option<ChannelId>, Arc<Notification>)>,
    /// Where the next scan continues. `None`: this one was complete.
    rest: Option<(u64, u128)>,
    /// How long until the next notification is due.
    wait: Option<Duration>,
    /// How long to wait after a change of the state.
    pause: Duration,
    position: u64,
}

impl Runner {
    fn new(handle: Handle, transport: Arc<dyn Transport>, limits: ReactorLimits) -> Runner {
        Runner {
            channels: vec![0; transport.channels() + 1],
            handle,
            transport,
            limits,
            metrics: Arc::new(ReactorMetrics::new()),
            busy: BTreeSet::new(),
            attempts: JoinSet::new(),
            from: (0, 0),
        }
    }

    async fn run(mut self) {
        loop {
            let Ok(scan) = self.scan() else {
                // The journal is being replayed.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            for (channel, notification) in scan.found {
                self.begin(channel, notification);
            }
            self.from = scan.rest.unwrap_or_default();
            let wait = if scan.rest.is_some() { Some(CONTINUE_AFTER) } else { scan.wait };
            let wait_max = wait.unwrap_or(SCAN_EVERY).min(SCAN_EVERY);
            self.wait(scan.position, wait_max, scan.pause).await;
        }
    }

    /// Waits until there may be something to do.
    async fn wait(&mut self, position: u64, wait_max: Duration, pause: Duration) {
        let handle = self.handle.clone();
        let changed = async {
            // When the engine stops, `wait_for` fails at once; without the longer sleep this would spin.
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

    /// Finds notifications that are due and whose channel is not full.
    fn scan(&self) -> Result<Scan, EngineError> {
        // The leader delivers at once; the others only what is overdue.
        let patience_ms = if self.handle.leads() { 0 } else { self.limits.outbox_takeover_ms };
        self.handle.read(|snapshot| {
            self.metrics.publish(snapshot.state);
            let outbox = view::outbox(snapshot.state);
            let now_ms = snapshot.now_ms.saturating_sub(patience_ms);
            let mut channels = self.channels.clone();
            let mut found = Vec::new();
            let (mut rest, mut blocked) = (None, 0);
            for (scanned, notification) in outbox.ready_from(self.from, now_ms).enumerate() {
                if scanned == SCAN_MAX {
                    rest = notification.due_ms.map(|due_ms| (due_ms, notification.number));
                    break;
                }
                if self.busy.contains(&notification.target) {
                    continue;
                }
                let channel = self.transport.channel_for(notification);
                if let Some(in_progress) = channels.get_mut(self.slot(channel))
                    && *in_progress < self.limits.webhook_parallel_max
                {
                    *in_progress += 1;
                    found.push((channel, notification.clone()));
                } else {
                    blocked += 1;
                }
            }
            let next = outbox.due_after(now_ms);
            let wait = next.map(|due_ms| Duration::from_millis(due_ms - now_ms));
            // If this scan did not start at the beginning, the next one does.
            let rest = rest.or_else(|| (self.from > (0, 0)).then_some((0, 0)));
            let pause = match self.transport.channels() {
                0 => RESCAN_METRICS_AFTER,
                _ if blocked < MANY_BLOCKED => RESCAN_AFTER,
                _ => RESCAN_BLOCKED_AFTER,
            };
            Scan { found, rest, wait, pause, position: snapshot.at.position }
        })
    }

    /// The index in `channels`.
    fn slot(&self, channel: Option<ChannelId>) -> usize {
        channel.unwrap_or(self.channels.len() - 1)
    }

    fn begin(&mut self, channel: Option<ChannelId>, notification: Arc<Notification>) {
        let at = self.slot(channel);
        self.channels[at] += 1;
        self.busy.insert(notification.target.clone());
        let attempt = DeliveryAttempt {
            handle: self.handle.clone(),
            transport: self.transport.clone(),
            limits: self.limits,
            metrics: self.metrics.clone(),
        };
        self.attempts.spawn(async move {
            let target = notification.target.clone();
            attempt.make(channel, notification).await;
            FinishedAttempt { target, channel }
        });
    }

    fn end(&mut self, done: &FinishedAttempt) {
        let at = self.slot(done.channel);
        self.channels[at] -= 1;
        self.busy.remove(&done.target);
    }
}

/// One attempt to deliver one notification.
struct DeliveryAttempt {
    handle: Handle,
    transport: Arc<dyn Transport>,
    limits: ReactorLimits,
    metrics: Arc<ReactorMetrics>,
}

impl DeliveryAttempt {
    async fn make(&self, channel: Option<ChannelId>, notification: Arc<Notification>) {
        let number = notification.number;
        let Some(channel) = channel else {
            debug!(notification = notification.name(), target = %notification.target, "no webhook matches; discarded");
            self.metrics.unwanted.increment(1);
            return self.submit(OutboxCommand::Drop { number }).await;
        };
        // In its own task, so that a panic of the transport is a failed attempt.
        let (transport, delivered) = (self.transport.clone(), notification.clone());
        let delivery = tokio::spawn(async move { transport.deliver(channel, delivered).await });
        let _abort = AbortOnDrop(delivery.abort_handle());
        match delivery.await.unwrap_or_else(|_| DeliveryOutcome::Failed("an internal error".into()))
        {
            DeliveryOutcome::Delivered => {
                self.metrics.delivered.increment(1);
                debug!(notification = notification.name(), target = %notification.target, "delivered");
                self.submit(OutboxCommand::Delivered { number }).await;
            }
            DeliveryOutcome::Failed(error) => {
                let now_ms = self.handle.status().now_ms;
                let again_ms = again_ms(&self.limits, self.attempts(&notification), now_ms);
                self.failed(&notification, error, again_ms).await;
            }
            DeliveryOutcome::Undeliverable(error) => self.failed(&notification, error, None).await,
        }
    }

    /// The attempts before this one, from the current state: an operator may have reset them during this attempt.
    fn attempts(&self, notification: &Notification) -> u32 {
        let now = self.handle.read(|snapshot| {
            view::outbox(snapshot.state)
                .get(notification.number)
                .map(|notification| notification.attempts)
        });
        now.ok().flatten().unwrap_or(notification.attempts)
    }

    async fn failed(&self, notification: &Notification, error: String, again_ms: Option<u64>) {
        self.metrics.failed.increment(1);
        let (name, target) = (notification.name(), &notification.target);
        if again_ms.is_some() {
            info!(notification = name, %target, error, "delivery failed, will retry");
        } else {
            self.metrics.given_up.increment(1);
            warn!(notification = name, %target, error, "delivery failed, giving up");
        }
        let (number, error) = (notification.number, error.into());
        self.submit(OutboxCommand::Failed { number, error, again_ms }).await;
    }

    /// Submits the outcome. The target gets no other notification until that is done.
    async fn submit(&self, command: OutboxCommand) {
        loop {
            let command = Command::Outbox(command.clone());
            match self.handle.submit(command).await {
                Ok(reply) => {
                    if let Err(refused) = reply.answer
                        // An operator has discarded it meanwhile, or another server has delivered it.
                        && !matches!(
                            refused.refusal,
                            Refusal::Outbox(OutboxRefusal::NotificationUnknown { .. })
                        )
                    {
                        warn!(refusal = %refused.refusal, "the outcome of a delivery was refused");
                    }
                    return;
                }
                Err(EngineError::Stopping) => return,
                Err(failure) => {
                    debug!(%failure, "the outcome of a delivery cannot be stored yet");
                    tokio::time::sleep(RESUBMIT_AFTER).await;
                }
            }
        }
    }
}

/// Aborts a task when the task that waits for it ends.
struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
