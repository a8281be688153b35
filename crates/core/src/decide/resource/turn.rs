//! Requests whose turn it is to be answered: the order among them, what is written of the answer, and who is told of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::notices::Told;
use super::{Draft, answer, group};
use crate::event::Event;
use crate::event::resource::RequestAnswered;
use crate::refusal::Refusal;
use crate::resource::{Answer, Failure, Given, Request, ResourcePool};
use crate::span::Span;

/// Requests that have to be answered, by key and pool: all pools of a key at once, because some want the same.
pub(super) type Open = BTreeMap<Arc<str>, BTreeMap<Arc<str>, Opened>>;

#[derive(Clone)]
pub(super) struct Opened {
    pub request: Request,
    /// What was there before, if it was there.
    pub before: Option<(Answer, Option<Span>)>,
    /// Whether the services are told: not of what was moved, if the pool says so.
    pub quiet: bool,
}

/// What becomes of a request that waits and gets nothing again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InVain {
    /// It is told the reason of today.
    Told,
    /// It keeps the one that it has: then a release costs what it gives, however many wait.
    Silent,
}

/// Whether services are not told of what was moved.
pub(super) fn is_quiet(config: &ResourcePool) -> bool {
    matches!(&config.given, Given::Addresses(given) if given.auto_redeploy == Some(false))
}

/// Answers requests in the order of their keys. `later`: those whose turn comes after these.
pub(super) fn answer_all(
    draft: &mut Draft<'_>,
    open: Open,
    later: &Open,
    in_vain: InVain,
    told: &mut Told,
) -> Result<(), Refusal> {
    for (key, pools) in open {
        let (sync, alone): (Vec<_>, Vec<_>) =
            pools.into_iter().partition(|(_, opened)| opened.request.is_sync());
        for (name, opened) in alone {
            let gift = match kept(draft, &name, &opened) {
                Some(gift) => Ok(gift),
                None => answer::gift(draft, &name, &opened.request)?,
            };
            settle_one(draft, &name, &key, opened, gift, in_vain, told)?;
        }
        if sync.is_empty() {
            continue;
        }
        // Whoever of the group has nothing yet is part of it.
        let mut members: BTreeMap<Arc<str>, Opened> = sync.into_iter().collect();
        for (name, waiting) in waiting_in_group(draft, &key) {
            if !later.get(&key).is_some_and(|pools| pools.contains_key(&name)) {
                members.entry(name).or_insert(waiting);
            }
        }
        let asked: Vec<(Arc<str>, Request)> =
            members.iter().map(|(name, opened)| (name.clone(), opened.request.clone())).collect();
        let had = members.values().find_map(|opened| opened.before.as_ref()?.1);
        let mut gifts = group::gifts(draft, &key, &asked, had)?;
        for (name, opened) in members {
            let gift = gifts.remove(&name).unwrap_or(Err(Failure::SyncExhausted));
            settle_one(draft, &name, &key, opened, gift, in_vain, told)?;
        }
    }
    Ok(())
}

/// What a request had whose group was moved, if it has left the group in the meantime.
fn kept(draft: &Draft<'_>, name: &Arc<str>, opened: &Opened) -> Option<answer::Gift> {
    let value = opened.before.as_ref()?.1?;
    let alone = [(name.clone(), opened.request.clone())];
    let serves = group::still_serves(draft, &alone, value);
    serves.then_some(answer::Gift { value, cursor: None })
}

/// The requests of a group that have nothing.
pub(super) fn waiting_in_group(draft: &Draft<'_>, key: &Arc<str>) -> Vec<(Arc<str>, Opened)> {
    let pools = draft.state.sync.get(key).into_iter().flatten();
    let pools = pools.filter_map(|ix| draft.state.pool_at(*ix));
    let waiting = pools.filter_map(|pool| {
        let requests = pool.requests.as_ref()?;
        let asked = requests.get(key).filter(|asked| asked.answer != Answer::Granted)?;
        let before = Some((asked.answer.clone(), None));
        let (request, quiet) = (Request::clone(&asked.request), is_quiet(&requests.config));
        Some((pool.name.clone(), Opened { request, before, quiet }))
    });
    waiting.collect()
}

fn settle_one(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    opened: Opened,
    gift: Result<answer::Gift, Failure>,
    in_vain: InVain,
    told: &mut Told,
) -> Result<(), Refusal> {
    if in_vain == InVain::Silent && gift.is_err() {
        return Ok(());
    }
    let (answer, value) = match gift {
        Ok(gift) => {
            answer::grant(draft, name, key, &opened.request, gift)?;
            (Answer::Granted, Some(gift.value))
        }
        Err(failure) => (Answer::Failed(failure), None),
    };
    let now = (answer.clone(), value);
    let before = opened.before.as_ref();
    let written = draft.state.pool(name).and_then(|pool| pool.requests.as_ref()?.get(key).cloned());
    // Without services to compare with, all of them are new.
    let knew = written.as_ref().map(|asked| asked.request.services.clone()).unwrap_or_default();
    let differs =
        written.is_none_or(|asked| *asked.request != opened.request || asked.answer != answer);
    // Something else in the place of what it had is another answer, too: whoever watches is told.
    if differs || before != Some(&now) {
        record(draft, name, key, &opened.request, answer);
    }
    if before == Some(&now) || opened.quiet {
        told.new_services(name, key, &opened.request, &knew);
    } else {
        told.add(name, key, &opened.request, &knew);
    }
    Ok(())
}

pub(super) fn record(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    request: &Request,
    answer: Answer,
) {
    let (pool, key, request) = (name.clone(), key.clone(), request.clone());
    draft.record(Event::RequestAnswered(RequestAnswered { pool, key, request, answer }));
}
