//! A request for somebody who waits for the answer: it is written and has what it asks for, or nothing is written.

use std::sync::Arc;

use super::{Draft, edit, requests};
use crate::command::resource::{EditResources, FindResource, PutResource, ResourceEdit};
use crate::receipt::Outcome;
use crate::refusal::Refusal;
use crate::resource::{Answer, Failure, Request};
use crate::span::Span;
use crate::view::resource as view;

/// What was found in all pools, or why there is nothing in one of them.
type Found = Result<Span, (Arc<str>, Failure)>;

pub(super) fn run(draft: &mut Draft<'_>, find: &FindResource) -> Result<Outcome, Refusal> {
    let mark = draft.mark();
    let found = written(draft, find)?;
    if found.is_err() {
        draft.back_to(mark);
    }
    Ok(Outcome::Found(found))
}

/// What it would come to. It is done and undone, so that nothing can be said that would not be so.
pub(super) fn look(draft: &mut Draft<'_>, find: &FindResource) -> Result<Outcome, Refusal> {
    let mark = draft.mark();
    let found = written(draft, find)?;
    draft.back_to(mark);
    Ok(Outcome::Found(found))
}

fn written(draft: &mut Draft<'_>, find: &FindResource) -> Result<Found, Refusal> {
    let mut pools = Vec::with_capacity(find.pools.len());
    for name in &find.pools {
        let before = requests(draft, name)?.1.get(&find.key).map(|asked| &*asked.request);
        let put = vec![(find.key.clone(), joined(before, &find.request))];
        let put = PutResource { put, ..PutResource::default() };
        pools.push((name.clone(), ResourceEdit::Put(Box::new(put))));
    }
    let seen = draft.state.position;
    edit::run(draft, &EditResources { seen, seen_all: false, pools })?;
    Ok(answered(draft, find))
}

/// The request of one service more. Those that asked before have not withdrawn.
fn joined(before: Option<&Request>, request: &Request) -> Request {
    let mut joined = request.clone();
    if let Some(before) = before {
        let mut services = before.services.clone();
        services
            .extend(request.services.iter().filter(|one| !before.services.contains(one)).cloned());
        joined.services = services;
        joined.redeploy = request.redeploy.or(before.redeploy);
    }
    joined
}

/// What the request has got, in all of its pools the same.
fn answered(draft: &Draft<'_>, find: &FindResource) -> Found {
    let mut value = None;
    let mut denied: Option<(Arc<str>, Failure)> = None;
    for name in &find.pools {
        let failure = match view::asked(draft.state, name, &find.key) {
            Some((asked, got)) => match (&asked.answer, got) {
                (Answer::Granted, Some(got)) => {
                    value = Some(got);
                    continue;
                }
                (Answer::Failed(failure), _) => failure.clone(),
                (Answer::Granted, None) => Failure::SyncExhausted,
            },
            None => Failure::SyncExhausted,
        };
        // That others cannot have it says less than why they cannot.
        let known = denied.as_ref().map(|(_, known)| known);
        if known.is_none_or(|known| *known == Failure::SyncExhausted && *known != failure) {
            denied = Some((name.clone(), failure));
        }
    }
    match (denied, value) {
        (Some(denied), _) => Err(denied),
        (None, Some(value)) => Ok(value),
        (None, None) => Err((find.key.clone(), Failure::SyncExhausted)),
    }
}
