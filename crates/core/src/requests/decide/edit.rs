//! Changes to pools and requests, in the order in which they take effect: pools are removed, configured, requests are
//! withdrawn, displaced requests are answered, then new ones, then those that have failed before.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::answering::{
    OnFailure, OpenRequest, OpenRequests, answer_all, failed_in_group, is_quiet, record,
};
use super::notify::Notifications;
use super::{alarms, follow_up, outside, requests};
use crate::authority::ExternalState;
use crate::decide::pool::{ensure_authority, ensure_empty, ensure_no_external_claims, removed};
use crate::decide::{Draft, release, valid};
use crate::event::{PoolDefined, ReleaseCause};
use crate::limits::at_most;
use crate::receipt::Outcome;
use crate::refusal::Refusal;
use crate::requests::command::{EditRequests, PutRequestPool, RequestEdit, RequestPoolEdit};
use crate::requests::event::{RequestPoolDefined, RequestWithdrawn, Retry, RetryScheduled};
use crate::requests::refusal::RequestsRefusal;
use crate::requests::state::{AnsweredRequest, Requests};
use crate::requests::{Answer, Request, RequestPool, Wanted};
use crate::span::Span;
use crate::state::pool::Pool;
use crate::state::zones::{Zone, Zones};
use crate::value::Kind;

/// What the edit has yet to do.
#[derive(Default)]
struct Pending {
    /// Requests whose values the pool no longer has.
    displaced: OpenRequests,
    /// New and changed requests.
    new: OpenRequests,
    /// The keys of groups with a member less: the others may have failed because of it.
    left: BTreeSet<Arc<str>>,
    /// The same, because a pool was removed. They do not count as requests of the edit.
    left_by_pools: BTreeSet<Arc<str>>,
    /// The number of requests in these groups.
    members_left_by_pools: u64,
    notifications: Notifications,
}

impl Pending {
    /// The request, if it is open already because it was displaced.
    fn open_request(&mut self, name: &Arc<str>, key: &Arc<str>) -> Option<&mut OpenRequest> {
        let mut all = [&mut self.displaced, &mut self.new].into_iter();
        all.find_map(|open| open.get_mut(key)?.get_mut(name))
    }
}

pub(super) fn run(draft: &mut Draft<'_>, edit: &EditRequests) -> Result<Outcome, Refusal> {
    ensure_unchanged(draft, edit)?;
    at_most("pools_per_edit_max", draft.limits.pools_per_edit_max, edit.pools.len() as u64)?;
    let puts = puts(edit);
    draft.limit_requests();
    let written = puts.iter().map(|(_, put)| (put.put.len() + put.withdraw.len()) as u64);
    draft.touch_requests(written.sum())?;
    for (name, put) in puts.iter().filter(|(_, put)| put.replace) {
        draft.touch_requests(replaced(draft, name, put))?;
    }
    let puts = || puts.iter().map(|(name, put)| (*name, &**put));
    let mut pending = Pending::default();
    for (name, edit) in &edit.pools {
        if matches!(edit, RequestPoolEdit::Remove) {
            remove(draft, name, &mut pending)?;
        }
    }
    for (name, put) in puts() {
        if let Some(config) = &put.config {
            configure(draft, name, config, &mut pending.displaced)?;
        }
        requests(draft, name)?;
    }
    for (name, put) in puts() {
        withdraw(draft, name, put, &mut pending)?;
    }
    for (name, put) in puts() {
        for (key, request) in &put.put {
            open(draft, name, key, request, &mut pending)?;
        }
    }
    let Pending { mut displaced, mut new, left, left_by_pools, mut notifications, .. } = pending;
    join_groups(&mut displaced, &mut new);
    let (none, update) = (OpenRequests::new(), OnFailure::UpdateAnswer);
    answer_all(draft, displaced, &new, update, &mut notifications)?;
    answer_all(draft, new, &none, update, &mut notifications)?;
    for key in left.union(&left_by_pools) {
        let failed: BTreeMap<_, _> = failed_in_group(draft, key).into_iter().collect();
        if left.contains(key) {
            draft.touch_requests(failed.len() as u64)?;
        }
        let open = OpenRequests::from([(key.clone(), failed)]);
        answer_all(draft, open, &none, update, &mut notifications)?;
    }
    follow_up(draft, notifications)?;
    Ok(Outcome::RequestsEdited)
}

/// Moves the new members of displaced groups to the displaced ones: a group is answered once.
fn join_groups(displaced: &mut OpenRequests, new: &mut OpenRequests) {
    for (key, pools) in displaced {
        if !pools.values().any(|open| open.request.is_sync()) {
            continue;
        }
        if let Some(others) = new.get_mut(key) {
            pools.extend(others.extract_if(.., |_, open| open.request.is_sync()));
        }
    }
}

/// The changes to each pool that is not removed.
fn puts(edit: &EditRequests) -> Vec<(&Arc<str>, Cow<'_, PutRequestPool>)> {
    let mut puts = Vec::with_capacity(edit.pools.len());
    for (name, edit) in &edit.pools {
        match edit {
            RequestPoolEdit::Remove => {}
            RequestPoolEdit::Put(put) | RequestPoolEdit::PutOver(_, put) => {
                puts.push((name, Cow::Borrowed(&**put)));
            }
            RequestPoolEdit::Requests(requests) => {
                let mut put = PutRequestPool::default();
                for RequestEdit { key, after, .. } in requests {
                    match after {
                        Some(request) => put.put.push((key.clone(), request.clone())),
                        None => put.withdraw.push(key.clone()),
                    }
                }
                puts.push((name, Cow::Owned(put)));
            }
        }
    }
    puts
}

/// Refuses if what the edit is based on has changed.
fn ensure_unchanged(draft: &Draft<'_>, edit: &EditRequests) -> Result<(), Refusal> {
    let changed = |at| Err(RequestsRefusal::Changed { at }.into());
    if edit.seen_all && draft.state.position > edit.seen {
        return changed(draft.state.position);
    }
    for (name, edit_of) in &edit.pools {
        let pool = draft.state.pool(name);
        let requests = pool.and_then(Pool::requests);
        if let (RequestPoolEdit::Requests(edits), Some(requests)) = (edit_of, requests) {
            let now = |key| requests.get(key).map(|one| &one.request);
            if edits.iter().all(|one| one.before.as_ref() == now(&one.key)) {
                continue;
            }
            return changed(requests.changed);
        }
        if let RequestPoolEdit::PutOver(before, _) = edit_of
            && before.as_ref() == requests.map(|requests| &requests.config)
        {
            continue;
        }
        // A pool without requests does not know when it last changed: any change of the state counts.
        let at = requests.map_or(draft.state.position, |requests| requests.changed);
        if at > edit.seen {
            return changed(at);
        }
    }
    Ok(())
}

fn remove(draft: &mut Draft<'_>, name: &Arc<str>, pending: &mut Pending) -> Result<(), Refusal> {
    if draft.state.pool(name).is_none() {
        return Ok(());
    }
    let (pool, requests) = requests(draft, name)?;
    // Its claims at the authority are released first, one by one.
    ensure_no_external_claims(draft, pool)?;
    let granted = (requests.len() - requests.waiting.len()) as u64;
    let others = pool.held_claims.saturating_sub(granted);
    if others > 0 {
        let quarantined = pool.rows.len() as u64 - pool.held_claims;
        return Err(Refusal::PoolInUse { pool: name.clone(), held: others, quarantined });
    }
    let event = removed(pool);
    // The other members of its groups may have failed because of it.
    let max = draft.limits.waiting_requests_per_entry_max;
    let mut members = pending.members_left_by_pools;
    let few = requests.in_groups.len() as u64 <= max
        && requests.in_groups.iter().all(|key| {
            members += draft.state.sync.get(key).map_or(0, BTreeSet::len) as u64;
            members <= 2 * max
        });
    if few {
        pending.left_by_pools.extend(requests.in_groups.iter().cloned());
        pending.members_left_by_pools = members;
    } else {
        let retry = match &draft.state.retry_groups {
            Some(retry) => retry.extended(true),
            None => Retry::all(draft.now_ms, true),
        };
        draft.record(RetryScheduled { pool: None, retry: Some(retry) });
    }
    alarms::clear(draft, name);
    draft.record(event);
    Ok(())
}

/// The number of requests that are withdrawn because the edit does not have them.
fn replaced(draft: &Draft<'_>, name: &Arc<str>, put: &PutRequestPool) -> u64 {
    let Some(requests) = draft.state.pool(name).and_then(Pool::requests) else { return 0 };
    let kept: BTreeSet<&Arc<str>> = put.put.iter().map(|(key, _)| key).collect();
    let kept = kept.into_iter().filter(|key| requests.get(key).is_some()).count();
    (requests.len() - kept) as u64
}

fn withdraw_one(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    pending: &mut Pending,
) -> Result<(), Refusal> {
    let (_, requests) = requests(draft, name)?;
    let Some(one) = requests.get(key) else { return Ok(()) };
    if one.request.is_sync() {
        pending.left.insert(key.clone());
    }
    let version = one.version;
    release_value(draft, name, key)?;
    draft.record(RequestWithdrawn { pool: name.clone(), key: key.clone(), version });
    Ok(())
}

/// Releases the value of a request.
pub(super) fn release_value(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
) -> Result<(), Refusal> {
    let pool = draft.pool(name)?;
    if pool.spec.authority.is_some() {
        return outside::release_at_authority(draft, name, key);
    }
    let Some((_, row)) = pool.held(key) else { return Ok(()) };
    let event = release::released(draft, pool, row, ReleaseCause::Asked);
    draft.record(event);
    Ok(())
}

/// The value of a request.
pub(super) fn value_of(pool: &Pool, key: &str) -> Option<Span> {
    pool.held(key).map(|(_, row)| row.first)
}

fn configure(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    config: &RequestPool,
    displaced: &mut OpenRequests,
) -> Result<(), Refusal> {
    valid::pool_name(name, draft.limits)?;
    valid::request_pool(config, draft.limits)?;
    let spec = config.spec();
    ensure_authority(draft, &spec)?;
    let before = draft.state.pool(name);
    let generation = before.map_or(0, |pool| pool.generation) + 1;
    match before {
        None => at_most("pools_max", draft.limits.pools_max, draft.state.pool_count() as u64 + 1)?,
        Some(pool) => {
            let (_, requests) = requests(draft, name)?;
            if *requests.config == *config {
                return Ok(());
            }
            ensure_same_allocator(draft, pool, requests, config)?;
            let other = std::mem::discriminant(&requests.config.supply);
            if other != std::mem::discriminant(&config.supply) {
                return Err(RequestsRefusal::NotRequestPool { pool: name.clone() }.into());
            }
            let zones = Zones::of(&spec);
            let same_kind = pool.spec.kind == spec.kind;
            let stays = |span: Span| same_kind && zones.worst(span) == Zone::Automatic;
            // Looks only at values whose zone changes, not at the whole pool.
            let gone =
                if same_kind { pool.zones.changed(&zones) } else { pool.zones.members.clone() };
            let mut moved: BTreeSet<Arc<str>> = BTreeSet::new();
            let max = draft.limits.requests_per_edit_max;
            for span in gone {
                for (_, row, _) in pool.overlapping(span).filter(|(_, row, _)| !stays(row.first)) {
                    moved.insert(row.key.clone());
                    at_most("requests_per_edit_max", max, moved.len() as u64)?;
                }
            }
            if spec.authority.is_some() && !moved.is_empty() {
                return Err(held_outside(pool, &moved));
            }
            let quiet = is_quiet(config);
            let moved: Vec<(Arc<str>, AnsweredRequest)> = moved
                .into_iter()
                .filter_map(|key| Some((key.clone(), requests.get(&key)?.clone())))
                .collect();
            draft.touch_requests(moved.len() as u64)?;
            for (key, one) in moved {
                let was = value_of(draft.pool(name)?, &key);
                release_value(draft, name, &key)?;
                let before = Some((one.answer.clone(), was));
                let request = Request::clone(&one.request);
                let open = OpenRequest { request, before, quiet };
                displaced.entry(key.clone()).or_default().insert(name.clone(), open);
                if one.request.is_sync() {
                    displace_group(draft, &key, displaced)?;
                }
            }
            // Claims without a request would have values of another kind.
            if !same_kind {
                ensure_empty(draft.pool(name)?)?;
            }
        }
    }
    let defined = draft.state.pool(name).is_some_and(|pool| *pool.spec == spec);
    if !defined {
        draft.record(PoolDefined { pool: name.clone(), generation, spec });
    }
    let (pool, config) = (name.clone(), config.clone());
    draft.record(RequestPoolDefined { pool, config });
    Ok(())
}

/// The values of an authority stay held until it has released them, so its pool cannot shrink below them.
fn held_outside(pool: &Pool, keys: &BTreeSet<Arc<str>>) -> Refusal {
    let sample = keys.iter().filter_map(|key| Some((key.clone(), value_of(pool, key)?)));
    let (sample, held) = (sample.take(10).collect(), keys.len() as u64);
    let (pool, kind) = (pool.name.clone(), pool.spec.kind);
    Refusal::HeldOutside { pool, kind, held, all: true, sample }
}

/// Displaces all members of a group, because one of them cannot keep its id and all must have the same.
fn displace_group(
    draft: &mut Draft<'_>,
    key: &Arc<str>,
    displaced: &mut OpenRequests,
) -> Result<(), Refusal> {
    let pools = draft.state.sync.get(key).into_iter().flatten();
    let pools = pools.filter_map(|ix| draft.state.pool_at(*ix));
    let others = pools.filter_map(|pool| {
        let one = pool.requests()?.get(key)?;
        let was = value_of(pool, key)?;
        let request = Request::clone(&one.request);
        let before = Some((one.answer.clone(), Some(was)));
        Some((pool.name.clone(), OpenRequest { request, before, quiet: false }))
    });
    for (name, open) in others.collect::<Vec<_>>() {
        draft.touch_requests(1)?;
        release_value(draft, &name, key)?;
        displaced.entry(key.clone()).or_default().insert(name, open);
    }
    Ok(())
}

fn withdraw(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    put: &PutRequestPool,
    pending: &mut Pending,
) -> Result<(), Refusal> {
    let mut gone = put.withdraw.clone();
    if put.replace {
        let kept: BTreeSet<&Arc<str>> = put.put.iter().map(|(key, _)| key).collect();
        let all = requests(draft, name)?.1.iter().map(|one| one.key.clone());
        gone.extend(all.filter(|key| !kept.contains(key)));
    }
    for key in &gone {
        withdraw_one(draft, name, key, pending)?;
        if let Some(pools) = pending.displaced.get_mut(key) {
            pools.remove(name);
        }
    }
    Ok(())
}

/// A request as the edit has it, which may be unchanged.
fn open(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    request: &Request,
    pending: &mut Pending,
) -> Result<(), Refusal> {
    valid::key(key, draft.limits)?;
    valid::request(request, draft.limits)?;
    let (_, all) = requests(draft, name)?;
    outside::ensure_askable(&all.config, key, request)?;
    let answers_itself = all.config.answers_itself();
    let stored = all.get(key).cloned();
    if stored.as_ref().is_some_and(|stored| stored.request.is_sync()) && !request.is_sync() {
        pending.left.insert(key.clone());
    }
    if request.is_sync() && !stored.as_ref().is_some_and(|stored| stored.request.is_sync()) {
        ensure_group_size(draft, name, key)?;
    }
    let (pool, _) = requests(draft, name)?;
    if let Some(open) = pending.open_request(name, key) {
        // A changed request is not displaced by the pool alone, so its service is notified.
        open.quiet &= open.request.want == request.want;
        open.request = request.clone();
        return Ok(());
    }
    let Some(stored) = stored else {
        if is_held_by_other(draft, pool, key) {
            // A claim without a request has this key, and its owner does not expect it to become a request's.
            let (pool, key) = (name.clone(), key.clone());
            return Err(Refusal::ParamsDiffer { pool, key, fields: vec!["owner"] });
        }
        let open = OpenRequest { request: request.clone(), before: None, quiet: false };
        pending.new.entry(key.clone()).or_default().insert(name.clone(), open);
        return Ok(());
    };
    if *stored.request == *request {
        return Ok(());
    }
    let was = value_of(pool, key);
    let same = outside::asks_the_same(&stored.request, request);
    let keeps = stored.answer == Answer::Granted
        && (answers_itself || stored.request.site == request.site)
        && was.is_some_and(|value| still_fits(draft, name, key, request, value));
    if keeps || !answers_itself && same {
        record(draft, name, key, request, stored.answer.clone(), stored.version);
        if stored.answer != Answer::Wanted {
            pending.notifications.services_added(name, key, request, &stored.request.services);
        }
        return Ok(());
    }
    release_value(draft, name, key)?;
    let before = Some((stored.answer, was));
    let open = OpenRequest { request: request.clone(), before, quiet: false };
    pending.new.entry(key.clone()).or_default().insert(name.clone(), open);
    if was.is_some() && stored.request.is_sync() && request.is_sync() {
        displace_group(draft, key, &mut pending.new)?;
    }
    Ok(())
}

/// Whether a claim has the key that is not of a request. A claim that is being released at an authority is not: the
/// request waits for that.
fn is_held_by_other(draft: &Draft<'_>, pool: &Pool, key: &Arc<str>) -> bool {
    match draft.state.authorities.claim(&pool.name, key) {
        Some(claim) => claim.progress.state != ExternalState::Releasing,
        None => pool.held(key).is_some(),
    }
}

/// Refuses another allocator for a pool that is in use.
fn ensure_same_allocator(
    draft: &Draft<'_>,
    pool: &Pool,
    requests: &Requests,
    config: &RequestPool,
) -> Result<(), Refusal> {
    let kinds = |config: &RequestPool| (config.is_external(), config.authority().cloned());
    if kinds(&requests.config) == kinds(config) {
        return Ok(());
    }
    if requests.len() > 0 {
        let (pool, requests) = (pool.name.clone(), requests.len() as u64);
        return Err(RequestsRefusal::AllocatorInUse { pool, requests }.into());
    }
    ensure_empty(pool)?;
    ensure_no_external_claims(draft, pool)
}

/// Refuses a group of too many pools.
fn ensure_group_size(draft: &Draft<'_>, name: &Arc<str>, key: &Arc<str>) -> Result<(), Refusal> {
    let max = draft.limits.pools_per_group_max;
    let pools = draft.state.sync.get(key).into_iter().flatten();
    let pools = pools.filter_map(|ix| draft.state.pool_at(*ix));
    let others = pools.filter(|pool| pool.name != *name).count() as u64;
    at_most("pools_per_group_max", max, others + 1)
}

/// Whether the value of a request is still one that it wants.
fn still_fits(
    draft: &Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    request: &Request,
    value: Span,
) -> bool {
    let Ok((pool, _)) = requests(draft, name) else { return false };
    match &request.want {
        Wanted::Id(_) if pool.spec.kind != Kind::Id32 => false,
        Wanted::Id(want) => {
            let id = want.id.is_none_or(|id| u128::from(id) == value.first);
            let parity = want.parity();
            let parity =
                parity.is_none_or(|parity| crate::claim::Parity::of(value.first) == parity);
            id && parity && (!request.is_sync() || agrees(draft, name, key, value))
        }
        Wanted::Prefix(want) => {
            let kind = pool.spec.kind;
            let len = want.len(kind.width());
            kind.is_prefix()
                && len == kind.prefix_len(value)
                && want.start.is_none_or(|(version, address)| {
                    version.prefix_kind() == kind && address == value.first
                })
        }
    }
}

/// Whether the group holds this value or nothing in its other pools.
fn agrees(draft: &Draft<'_>, name: &Arc<str>, key: &Arc<str>, value: Span) -> bool {
    let pools = draft.state.sync.get(key).into_iter().flatten();
    let mut others =
        pools.filter_map(|ix| draft.state.pool_at(*ix)).filter(|pool| pool.name != *name);
    others.all(|pool| value_of(pool, key).is_none_or(|other| other == value))
}
