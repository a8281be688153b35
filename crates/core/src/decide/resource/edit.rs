//! What is written over pools and requests, in the order in which it takes effect: pools that go, what pools are, requests that
//! go, what was displaced, what is new, and at last what could not be had before.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::notices::Told;
use super::turn::{InVain, Open, Opened, answer_all, is_quiet, record, waiting_in_group};
use super::{Draft, alarms, release, requests, retry, valid};
use crate::command::resource::{EditResources, PutResource, RequestEdit, ResourceEdit};
use crate::event::resource::{RequestWithdrawn, ResourcePoolDefined};
use crate::event::{Event, PoolDefined, PoolRemoved, ReleaseCause};
use crate::limits::at_most;
use crate::receipt::Outcome;
use crate::refusal::{Refusal, ResourceRefusal};
use crate::resource::{Answer, Request, ResourcePool, Wanted};
use crate::span::Span;
use crate::state::pool::Pool;
use crate::state::requests::Asked;
use crate::state::zones::{Zone, Zones};
use crate::value::Kind;

/// What an edit has set going.
#[derive(Default)]
struct Pending {
    displaced: Open,
    new: Open,
    /// The keys of groups that somebody has left: the others may have got in each other's way because of them.
    left: BTreeSet<Arc<str>>,
    told: Told,
}

impl Pending {
    /// A request that is to be answered already, because it was displaced.
    fn opened(&mut self, name: &Arc<str>, key: &Arc<str>) -> Option<&mut Opened> {
        let mut all = [&mut self.displaced, &mut self.new].into_iter();
        all.find_map(|open| open.get_mut(key)?.get_mut(name))
    }
}

pub(super) fn run(draft: &mut Draft<'_>, edit: &EditResources) -> Result<Outcome, Refusal> {
    unchanged(draft, edit)?;
    let puts = puts(edit);
    let written = puts.iter().map(|(_, put)| (put.put.len() + put.withdraw.len()) as u64);
    at_most("requests_per_edit_max", draft.limits.requests_per_edit_max, written.sum())?;
    let puts = || puts.iter().map(|(name, put)| (*name, &**put));
    let mut pending = Pending::default();
    for (name, edit) in &edit.pools {
        if matches!(edit, ResourceEdit::Remove) {
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
    let Pending { mut displaced, mut new, left, mut told } = pending;
    join(&mut displaced, &mut new);
    answer_all(draft, displaced, &new, InVain::Told, &mut told)?;
    answer_all(draft, new, &Open::new(), InVain::Told, &mut told)?;
    for key in left {
        let waiting: BTreeMap<_, _> = waiting_in_group(draft, &key).into_iter().collect();
        answer_all(draft, Open::from([(key, waiting)]), &Open::new(), InVain::Told, &mut told)?;
    }
    retry::run(draft, &mut told)?;
    alarms::evaluate(draft);
    told.queue(draft)?;
    Ok(Outcome::ResourcesEdited)
}

/// A group is answered once: those of it that are new along with those that were displaced.
fn join(displaced: &mut Open, new: &mut Open) {
    for (key, pools) in displaced {
        if !pools.values().any(|opened| opened.request.is_sync()) {
            continue;
        }
        if let Some(others) = new.get_mut(key) {
            pools.extend(others.extract_if(.., |_, opened| opened.request.is_sync()));
        }
    }
}

/// What is written over each pool that stays.
fn puts(edit: &EditResources) -> Vec<(&Arc<str>, Cow<'_, PutResource>)> {
    let mut puts = Vec::with_capacity(edit.pools.len());
    for (name, edit) in &edit.pools {
        match edit {
            ResourceEdit::Remove => {}
            ResourceEdit::Put(put) | ResourceEdit::PutOver(_, put) => {
                puts.push((name, Cow::Borrowed(&**put)));
            }
            ResourceEdit::Requests(requests) => {
                let mut put = PutResource::default();
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

fn unchanged(draft: &Draft<'_>, edit: &EditResources) -> Result<(), Refusal> {
    let changed = |at| Err(ResourceRefusal::Changed { at }.into());
    if edit.seen_all && draft.state.position > edit.seen {
        return changed(draft.state.position);
    }
    for (name, edit_of) in &edit.pools {
        let pool = draft.state.pool(name);
        let kept = pool.and_then(|pool| pool.requests.as_ref());
        if let (ResourceEdit::Requests(requests), Some(kept)) = (edit_of, kept) {
            let now = |key| kept.get(key).map(|asked| &asked.request);
            if requests.iter().all(|one| one.before.as_ref() == now(&one.key)) {
                continue;
            }
            return changed(kept.changed);
        }
        if let ResourceEdit::PutOver(before, _) = edit_of
            && before.as_ref() == kept.map(|kept| &kept.config)
        {
            continue;
        }
        // Of a pool that is not kept only the whole state knows.
        let at = kept.map_or(draft.state.position, |requests| requests.changed);
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
    let keys: Vec<Arc<str>> =
        requests(draft, name)?.1.iter().map(|asked| asked.key.clone()).collect();
    at_most("requests_per_edit_max", draft.limits.requests_per_edit_max, keys.len() as u64)?;
    for key in keys {
        withdraw_one(draft, name, &key, pending)?;
    }
    empty(draft.pool(name)?)?;
    alarms::clear(draft, name);
    draft.record(Event::PoolRemoved(PoolRemoved { pool: name.clone() }));
    Ok(())
}

/// Refuses if anything is held of the pool.
fn empty(pool: &Pool) -> Result<(), Refusal> {
    if pool.held_claims == 0 {
        return Ok(());
    }
    let (held, quarantined) = (pool.held_claims, pool.rows.len() as u64 - pool.held_claims);
    Err(Refusal::PoolInUse { pool: pool.name.clone(), held, quarantined })
}

fn withdraw_one(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    pending: &mut Pending,
) -> Result<(), Refusal> {
    let (_, kept) = requests(draft, name)?;
    let Some(asked) = kept.get(key) else { return Ok(()) };
    if asked.request.is_sync() {
        pending.left.insert(key.clone());
    }
    give_back(draft, name, key)?;
    let event = RequestWithdrawn { pool: name.clone(), key: key.clone() };
    draft.record(Event::RequestWithdrawn(event));
    Ok(())
}

/// What the request has got is free again.
fn give_back(draft: &mut Draft<'_>, name: &Arc<str>, key: &Arc<str>) -> Result<(), Refusal> {
    let pool = draft.pool(name)?;
    let Some((_, row)) = pool.held(key) else { return Ok(()) };
    let event = release::released(draft, pool, row, ReleaseCause::Asked);
    draft.record(event);
    Ok(())
}

/// What a request has got.
fn value_of(pool: &Pool, key: &str) -> Option<Span> {
    pool.held(key).map(|(_, row)| row.first)
}

fn configure(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    config: &ResourcePool,
    displaced: &mut Open,
) -> Result<(), Refusal> {
    valid::pool_name(name, draft.limits)?;
    valid::resource(config, draft.limits)?;
    let spec = config.spec();
    let before = draft.state.pool(name);
    let generation = before.map_or(0, |pool| pool.generation) + 1;
    match before {
        None => at_most("pools_max", draft.limits.pools_max, draft.state.pool_count() as u64 + 1)?,
        Some(pool) => {
            let (_, kept) = requests(draft, name)?;
            if *kept.config == *config {
                return Ok(());
            }
            let other = std::mem::discriminant(&kept.config.given);
            if other != std::mem::discriminant(&config.given) {
                return Err(ResourceRefusal::NotResources { pool: name.clone() }.into());
            }
            let zones = Zones::of(&spec);
            let same_kind = pool.spec.kind == spec.kind;
            let stays = |span: Span| same_kind && zones.worst(span) == Zone::Automatic;
            // The cost is that of what changes, not of the pool.
            let gone =
                if same_kind { pool.zones.changed(&zones) } else { pool.zones.members.clone() };
            let mut moved: BTreeSet<Arc<str>> = BTreeSet::new();
            for span in gone {
                let touched = pool.overlapping(span).filter(|(_, row, _)| !stays(row.first));
                moved.extend(touched.map(|(_, row, _)| row.key.clone()));
            }
            let quiet = is_quiet(config);
            let moved: Vec<(Arc<str>, Asked)> = moved
                .into_iter()
                .filter_map(|key| Some((key.clone(), kept.get(&key)?.clone())))
                .collect();
            for (key, asked) in moved {
                let was = value_of(draft.pool(name)?, &key);
                give_back(draft, name, &key)?;
                let before = Some((asked.answer.clone(), was));
                let request = Request::clone(&asked.request);
                let opened = Opened { request, before, quiet };
                displaced.entry(key.clone()).or_default().insert(name.clone(), opened);
                if asked.request.is_sync() {
                    displace_group(draft, &key, displaced)?;
                }
            }
            // What others hold would be read as something else.
            if !same_kind {
                empty(draft.pool(name)?)?;
            }
        }
    }
    let defined = draft.state.pool(name).is_some_and(|pool| *pool.spec == spec);
    if !defined {
        draft.record(Event::PoolDefined(PoolDefined { pool: name.clone(), generation, spec }));
    }
    let (pool, config) = (name.clone(), config.clone());
    draft.record(Event::ResourcePoolDefined(ResourcePoolDefined { pool, config }));
    Ok(())
}

/// One id is for all of a group: when one of them cannot keep it, the others are answered anew together with it.
fn displace_group(
    draft: &mut Draft<'_>,
    key: &Arc<str>,
    displaced: &mut Open,
) -> Result<(), Refusal> {
    let pools = draft.state.sync.get(key).into_iter().flatten();
    let pools = pools.filter_map(|ix| draft.state.pool_at(*ix));
    let others = pools.filter_map(|pool| {
        let asked = pool.requests.as_ref()?.get(key)?;
        let was = value_of(pool, key)?;
        let request = Request::clone(&asked.request);
        let before = Some((asked.answer.clone(), Some(was)));
        Some((pool.name.clone(), Opened { request, before, quiet: false }))
    });
    for (name, opened) in others.collect::<Vec<_>>() {
        give_back(draft, &name, key)?;
        displaced.entry(key.clone()).or_default().insert(name, opened);
    }
    Ok(())
}

fn withdraw(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    put: &PutResource,
    pending: &mut Pending,
) -> Result<(), Refusal> {
    let mut gone = put.withdraw.clone();
    if put.replace {
        let kept: BTreeSet<&Arc<str>> = put.put.iter().map(|(key, _)| key).collect();
        let all = requests(draft, name)?.1.iter().map(|asked| asked.key.clone());
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

/// A request as it is written now, which may be what it was.
fn open(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    request: &Request,
    pending: &mut Pending,
) -> Result<(), Refusal> {
    valid::key(key, draft.limits)?;
    valid::request(request, draft.limits)?;
    let (pool, kept) = requests(draft, name)?;
    let asked = kept.get(key).cloned();
    if asked.as_ref().is_some_and(|asked| asked.request.is_sync()) && !request.is_sync() {
        pending.left.insert(key.clone());
    }
    if let Some(opened) = pending.opened(name, key) {
        // That it gets something else is then not only because of the pool.
        opened.quiet &= opened.request.want == request.want;
        opened.request = request.clone();
        return Ok(());
    }
    let Some(asked) = asked else {
        if pool.held(key).is_some() {
            // Somebody else has a claim under this key, who would not know that it is no longer theirs.
            let (pool, key) = (name.clone(), key.clone());
            return Err(Refusal::ParamsDiffer { pool, key, fields: vec!["owner"] });
        }
        let opened = Opened { request: request.clone(), before: None, quiet: false };
        pending.new.entry(key.clone()).or_default().insert(name.clone(), opened);
        return Ok(());
    };
    if *asked.request == *request {
        return Ok(());
    }
    let was = value_of(pool, key);
    let keeps = asked.answer == Answer::Granted
        && was.is_some_and(|value| still_serves(draft, name, key, request, value));
    if keeps {
        record(draft, name, key, request, Answer::Granted);
        pending.told.new_services(name, key, request, &asked.request.services);
        return Ok(());
    }
    give_back(draft, name, key)?;
    let before = Some((asked.answer, was));
    let opened = Opened { request: request.clone(), before, quiet: false };
    pending.new.entry(key.clone()).or_default().insert(name.clone(), opened);
    if was.is_some() && asked.request.is_sync() && request.is_sync() {
        displace_group(draft, key, &mut pending.new)?;
    }
    Ok(())
}

/// Whether what a request has is still what it asks for.
fn still_serves(
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
                && want.start.is_none_or(|(six, address)| {
                    six == (kind == Kind::Prefix6) && address == value.first
                })
        }
    }
}

/// Whether the other pools of the group have the same, or nothing.
fn agrees(draft: &Draft<'_>, name: &Arc<str>, key: &Arc<str>, value: Span) -> bool {
    let pools = draft.state.sync.get(key).into_iter().flatten();
    let mut others =
        pools.filter_map(|ix| draft.state.pool_at(*ix)).filter(|pool| pool.name != *name);
    others.all(|pool| value_of(pool, key).is_none_or(|other| other == value))
}
