//! Answering failed requests when values have become free, in the order of keys, while there are free values.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answering::{OnFailure, OpenRequest, OpenRequests, answer_all, is_quiet};
use super::notify::Notifications;
use super::requests;
use crate::decide::Draft;
use crate::event::{ClaimEvent, Event, PoolEvent};
use crate::refusal::Refusal;
use crate::requests::state::Class;
use crate::requests::{Answer, Request};

/// Retries in all pools in which this decision has released claims, or that it has redefined.
pub(super) fn run(draft: &mut Draft<'_>, notifications: &mut Notifications) -> Result<(), Refusal> {
    let mut pools: BTreeMap<Arc<str>, OnFailure> = BTreeMap::new();
    for event in &draft.events {
        match event {
            Event::Claim(ClaimEvent::Released(event)) if !pools.contains_key(&event.pool) => {
                pools.insert(event.pool.clone(), OnFailure::KeepAnswer);
            }
            Event::Pool(PoolEvent::Defined(event)) => {
                pools.insert(event.pool.clone(), OnFailure::UpdateAnswer);
            }
            _ => {}
        }
    }
    pools
        .into_iter()
        .try_for_each(|(name, on_failure)| retry_pool(draft, &name, on_failure, notifications))
}

fn retry_pool(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    on_failure: OnFailure,
    notifications: &mut Notifications,
) -> Result<(), Refusal> {
    let (mut after, mut hopeless) = (None, Vec::new());
    loop {
        // The pool may have been removed, or be no request pool.
        let Ok((pool, waiting)) = requests(draft, name) else { return Ok(()) };
        if pool.free.is_empty() {
            return Ok(());
        }
        let Some((class, key)) = waiting.waiting.next(after.as_ref(), &hopeless) else {
            return Ok(());
        };
        after = Some(key.clone());
        let Some(failed) = waiting.get(&key) else { continue };
        let before = Some((failed.answer.clone(), None));
        let (request, quiet) = (Request::clone(&failed.request), is_quiet(&waiting.config));
        let open = OpenRequest { request, before, quiet };
        let open = OpenRequests::from([(key.clone(), BTreeMap::from([(name.clone(), open)]))]);
        answer_all(draft, open, &OpenRequests::new(), on_failure, notifications)?;
        let now = requests(draft, name)?.1.get(&key);
        let still_fails = now.is_some_and(|now| now.answer != Answer::Granted);
        if still_fails && on_failure == OnFailure::KeepAnswer && class != Class::Own {
            hopeless.push(class);
        }
    }
}
