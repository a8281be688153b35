//! Who is told that an answer has changed: each service once for each transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Draft;
use crate::command::resource::NoticeCommand;
use crate::event::Event;
use crate::event::resource::{AlarmChanged, NoticeQueued, NoticeSettled, NoticeTried};
use crate::limits::at_most;
use crate::receipt::Outcome;
use crate::refusal::{Refusal, ResourceRefusal};
use crate::resource::{AlarmKind, Redeploy, Request};

/// Pools and keys, each once however many they are.
type Changed = BTreeSet<(Arc<str>, Arc<str>)>;

/// Whom to tell, and about what.
#[derive(Debug, Default)]
pub(super) struct Told(BTreeMap<(Arc<str>, Arc<str>, Redeploy), Changed>);

impl Told {
    /// The answer to a request has changed.
    pub fn add(&mut self, pool: &Arc<str>, key: &Arc<str>, request: &Request) {
        request.services.iter().for_each(|service| self.tell(pool, key, request, service));
    }

    /// The answer is what it was, but who is new among the services has not heard of it yet.
    pub fn new_services(
        &mut self,
        pool: &Arc<str>,
        key: &Arc<str>,
        request: &Request,
        knew: &[Arc<str>],
    ) {
        let new = request.services.iter().filter(|service| !knew.contains(service));
        new.for_each(|service| self.tell(pool, key, request, service));
    }

    /// One service has a reason to look at a request.
    fn tell(&mut self, pool: &Arc<str>, key: &Arc<str>, request: &Request, service: &Arc<str>) {
        let how = request.redeploy.unwrap_or(Redeploy::Default);
        if how == Redeploy::Never {
            return;
        }
        let about = self.0.entry((service.clone(), request.user.clone(), how)).or_default();
        about.insert((pool.clone(), key.clone()));
    }

    /// Records all of it. A server that tells nobody has no outbox.
    pub fn queue(self, draft: &mut Draft<'_>) -> Result<(), Refusal> {
        let max = draft.limits.outbox_max;
        if max == 0 || self.0.is_empty() {
            return Ok(());
        }
        let many = (draft.state.outbox.len() + self.0.len()) as u64;
        at_most("outbox_max", max, many)?;
        let first = u128::from(draft.version) << 32 | draft.events.len() as u128;
        for (number, ((target, user, how), about)) in (first..).zip(self.0) {
            let (about, at_ms) = (about.into_iter().collect(), draft.now_ms);
            let notice = NoticeQueued { number, target, user, how, about, at_ms };
            draft.record(Event::NoticeQueued(notice));
        }
        Ok(())
    }
}

pub(super) fn run(draft: &mut Draft<'_>, command: &NoticeCommand) -> Result<Outcome, Refusal> {
    let number = match command {
        NoticeCommand::Delivered { number }
        | NoticeCommand::Failed { number, .. }
        | NoticeCommand::Retry { number }
        | NoticeCommand::Drop { number } => *number,
    };
    let Some(notice) = draft.state.outbox.get(number).cloned() else {
        return Err(ResourceRefusal::NoticeUnknown { number }.into());
    };
    match command {
        NoticeCommand::Delivered { .. } => {
            draft.record(Event::NoticeSettled(NoticeSettled { number, delivered: true }));
            alarm(draft, &notice.target, false);
        }
        NoticeCommand::Drop { .. } => {
            draft.record(Event::NoticeSettled(NoticeSettled { number, delivered: false }));
            // Whoever drops it has looked, and nothing would ever end the alarm of a service that is told nothing more.
            alarm(draft, &notice.target, false);
        }
        NoticeCommand::Failed { error, again_ms, .. } => {
            let (attempts, error, again_ms) = (notice.attempts + 1, error.clone(), *again_ms);
            let tried = NoticeTried { number, attempts, error, again_ms };
            draft.record(Event::NoticeTried(tried));
            if again_ms.is_none() {
                alarm(draft, &notice.target, true);
            }
        }
        NoticeCommand::Retry { .. } => {
            let error = notice.error.clone().unwrap_or_default();
            let (attempts, again_ms) = (0, Some(draft.now_ms));
            draft.record(Event::NoticeTried(NoticeTried { number, attempts, error, again_ms }));
        }
    }
    Ok(Outcome::ResourcesEdited)
}

/// That a service cannot be told is an alarm of the service.
fn alarm(draft: &mut Draft<'_>, target: &Arc<str>, raised: bool) {
    let kind = AlarmKind::Undelivered;
    let known = draft.state.alarms.get(&(target.clone(), kind));
    if known.is_some_and(|alarm| alarm.cleared_ms.is_none()) == raised {
        return;
    }
    let (object, ids, at_ms) = (target.clone(), false, draft.now_ms);
    draft.record(Event::AlarmChanged(AlarmChanged { object, kind, ids, raised, at_ms }));
}
