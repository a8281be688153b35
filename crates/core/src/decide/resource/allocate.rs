//! A request for somebody who waits for the answer: it is written and has what it asks for, or nothing is written.

use std::sync::Arc;

use super::{Draft, edit};
use crate::command::resource::{EditResources, FindResource, PutResource, ResourceEdit};
use crate::receipt::Outcome;
use crate::refusal::Refusal;
use crate::resource::{Answer, Failure, Request};
use crate::span::Span;
use crate::view::resource as view;

pub(super) fn run(draft: &mut Draft<'_>, find: &FindResource) -> Result<Outcome, Refusal> {
    let mark = draft.mark();
    let found = tried(draft, find)?;
    if found.is_err() {
        draft.back_to(mark);
    }
    Ok(Outcome::Found(found))
}

/// The same answer, and nothing is written: what a request would get is what it gets.
pub(super) fn look(draft: &mut Draft<'_>, find: &FindResource) -> Result<Outcome, Refusal> {
    let mark = draft.mark();
    let found = tried(draft, find)?;
    draft.back_to(mark);
    Ok(Outcome::Found(found))
}

fn tried(draft: &mut Draft<'_>, find: &FindResource) -> Result<Found, Refusal> {
    let put = |name: &Arc<str>| {
        let request = joined(draft, name, find);
        let put = vec![(find.key.clone(), request)];
        PutResource { config: None, replace: false, put, withdraw: vec![] }
    };
    let pools = find.pools.iter().map(|name| {
        let put = put(name);
        (name.clone(), ResourceEdit::Put(Box::new(put)))
    });
    let (seen, pools) = (draft.state.position, pools.collect());
    edit::run(draft, &EditResources { seen, seen_all: false, pools })?;
    Ok(answered(draft, find))
}

/// The request, for those who asked for the same before as well. Nobody is forgotten because another one calls.
fn joined(draft: &Draft<'_>, name: &str, find: &FindResource) -> Request {
    let mut request = find.request.clone();
    if let Some((known, _)) = view::asked(draft.state, name, &find.key) {
        let mut services = known.request.services.clone();
        services.extend(
            request.services.into_iter().filter(|new| !known.request.services.contains(new)),
        );
        request.services = services;
        request.redeploy = request.redeploy.or(known.request.redeploy);
    }
    request
}

/// What was found in all pools, or why there is nothing in one of them.
type Found = Result<Span, (Arc<str>, Failure)>;

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
