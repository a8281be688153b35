//! The two parts of a list of claims: those with a value, and those that an authority has given none.

use allod_core::authority::ExternalState;
use allod_core::receipt::ClaimIn;
use allod_core::span::Span;
use allod_core::view::{ClaimFilter, NoCursor, Page, State};
use allod_edge::Problem;

use super::STATE;
use super::external::{self, ExternalCursor, FoundClaim, UNSETTLED};
use crate::query::{QueryParams, unexpected};

/// The state of the claims to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListState {
    /// All but claims in quarantine.
    Any,
    Held,
    Quarantined,
    /// A claim that the authority of its pool has to answer, has refused, or that needs an operator.
    Unsettled(ExternalState),
}

pub(crate) fn list_state(query: &QueryParams<'_>) -> Result<ListState, Problem> {
    match query.text(STATE.name) {
        None => Ok(ListState::Any),
        Some("held") => Ok(ListState::Held),
        Some("quarantined") => Ok(ListState::Quarantined),
        Some(other) => match ExternalState::from_name(other) {
            Some(state) => Ok(ListState::Unsettled(state)),
            None => {
                let known = UNSETTLED.map(ExternalState::name).join(", ");
                Err(unexpected(STATE.name, other, &format!("one of: held, quarantined, {known}")))
            }
        },
    }
}

impl ListState {
    pub(crate) fn has_claims_without_value(self) -> bool {
        matches!(self, ListState::Any | ListState::Unsettled(_))
    }

    /// The claims of a page of held claims that are in this state.
    pub(crate) fn of_held(self, state: &State, page: Page<ClaimIn>) -> Page<FoundClaim> {
        let found = page.items.into_iter().map(|held| FoundClaim::of_held(state, held));
        let fits = |found: &FoundClaim| {
            let external = found.external.as_ref().map(|external| external.progress.state);
            match self {
                ListState::Any | ListState::Quarantined => true,
                ListState::Held => external.is_none_or(|state| state == ExternalState::Held),
                // Such a list does not begin with claims that have a value.
                ListState::Unsettled(_) => false,
            }
        };
        Page { items: found.filter(fits).collect(), next: page.next }
    }
}

/// Which authorities and pools the second part is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListedAuthority<'a> {
    /// `None`: all.
    pub authority: Option<&'a str>,
    /// `None`: all.
    pub pool: Option<&'a str>,
    /// Only claims with a value in one of these; `None`: all.
    pub windows: Option<&'a [Span]>,
}

/// A page of claims that have a value, in the order of `first`, followed by those that an authority has given none. Claims
/// that are not settled are few, so a list of these alone does not look at those with a value.
pub(crate) fn two_part_page(
    state: &State,
    states: &ListState,
    filter: &ClaimFilter,
    rest: Option<ListedAuthority<'_>>,
    after: Option<&str>,
    limit: usize,
    first: impl Fn(Option<&str>, usize) -> Result<Option<Page<FoundClaim>>, NoCursor>,
) -> Result<Option<Page<FoundClaim>>, NoCursor> {
    let is_alone = matches!(states, ListState::Unsettled(_));
    let (mut page, cursor) = match after {
        Some(after) if is_alone || ExternalCursor::is_one(after) => {
            let empty = Page { items: Vec::new(), next: None };
            (empty, ExternalCursor::read(after).ok_or(NoCursor)?)
        }
        None if is_alone => (Page { items: Vec::new(), next: None }, None),
        after => match first(after, limit)? {
            Some(page) => (page, None),
            None => return Ok(None),
        },
    };
    let Some(of) = rest.filter(|_| page.next.is_none()) else { return Ok(Some(page)) };
    let left = limit.saturating_sub(page.items.len());
    let one;
    let wanted = match states {
        ListState::Unsettled(state) => {
            one = [*state];
            &one[..]
        }
        _ => &UNSETTLED,
    };
    let picks = |found: &FoundClaim| {
        let Some(external) = &found.external else { return false };
        let request = &external.request;
        let begins = |text: &str, prefix: &Option<String>| {
            prefix.as_ref().is_none_or(|prefix| text.starts_with(&**prefix))
        };
        let in_windows = |windows: &[Span]| {
            let held = found.held.as_ref().map(|held| &held.claim.values);
            held.is_some_and(|held| {
                windows.iter().any(|&window| held.first_within(window).is_some())
            })
        };
        (is_alone || found.held.is_none())
            && of.windows.is_none_or(in_windows)
            && of.pool.is_none_or(|pool| *pool == *request.pool)
            && begins(&request.pool, &filter.pool_prefix)
            && begins(&request.key, &filter.key_prefix)
            && begins(&request.owner, &filter.owner_prefix)
            && filter.expired != Some(true)
    };
    let more = external::page(state, of.authority, wanted, cursor.as_ref(), left.max(1), picks);
    if left == 0 {
        // The page is full; whether it is the last depends on whether there are more.
        let is_last = more.items.is_empty() && more.next.is_none();
        page.next = (!is_last).then(|| ExternalCursor::FIRST.to_owned());
        return Ok(Some(page));
    }
    page.items.extend(more.items);
    page.next = more.next;
    Ok(Some(page))
}
