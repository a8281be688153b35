//! A request for somebody who waits for the answer: it is written and has what it asks for, or nothing is written.

use super::{Draft, edit};
use crate::command::resource::{EditResources, FindResource, PutResource, ResourceEdit};
use crate::receipt::Outcome;
use crate::refusal::Refusal;
use crate::resource::{Answer, Failure};
use crate::view::resource as view;

pub(super) fn run(draft: &mut Draft<'_>, find: &FindResource) -> Result<Outcome, Refusal> {
    let put = || PutResource {
        config: None,
        replace: false,
        put: vec![(find.key.clone(), find.request.clone())],
        withdraw: vec![],
    };
    let pools = find.pools.iter().map(|name| (name.clone(), ResourceEdit::Put(Box::new(put()))));
    let (seen, pools) = (draft.state.position, pools.collect());
    let mark = draft.mark();
    edit::run(draft, &EditResources { seen, seen_all: false, pools })?;
    let found = answered(draft, find);
    if found.is_err() {
        draft.back_to(mark);
    }
    Ok(Outcome::Found(found))
}

/// What the request has got, in all of its pools the same.
fn answered(draft: &Draft<'_>, find: &FindResource) -> Result<crate::span::Span, Failure> {
    let mut found = Err(Failure::SyncExhausted);
    for name in &find.pools {
        match view::asked(draft.state, name, &find.key) {
            Some((asked, Some(value))) if asked.answer == Answer::Granted => found = Ok(value),
            Some((asked, _)) => match &asked.answer {
                Answer::Failed(failure) => return Err(failure.clone()),
                Answer::Granted => return Err(Failure::SyncExhausted),
            },
            None => return Err(Failure::SyncExhausted),
        }
    }
    found
}
