//! How events change request pools and their requests.

use std::sync::Arc;

use super::RequestPool;
use super::event::{RequestAnswered, RequestPoolDefined, RequestsEvent, Retry, RetryScheduled};
use super::state::{AnsweredRequest, Requests};
use crate::extension::PoolExtension;
use crate::state::pool::{Pool, PoolChange};
use crate::state::undo::StateChange;
use crate::state::{PoolIx, State};

impl State {
    pub(crate) fn apply_requests(&mut self, event: &RequestsEvent) {
        match event {
            RequestsEvent::PoolDefined(event) => self.request_pool_defined(event),
            RequestsEvent::Answered(event) => self.request_answered(event),
            RequestsEvent::Withdrawn(event) => self.request_changed(&event.pool, &event.key, None),
            RequestsEvent::RetryScheduled(event) => self.retry_scheduled(event),
        }
    }

    fn request_pool_defined(&mut self, event: &RequestPoolDefined) {
        let Some(&ix) = self.names.get(&event.pool) else { return };
        if self.pool_at(ix).is_none_or(|pool| pool.blocks().is_some()) {
            return;
        }
        let config = Some((Arc::new(event.config.clone()), self.position + 1));
        let before = self.set_request_pool(ix, config);
        self.note(StateChange::Pool(ix, PoolChange::RequestPool(before)));
    }

    /// Sets the configuration and the position of the change; `None` removes it. Returns the previous ones.
    pub(crate) fn set_request_pool(
        &mut self,
        ix: PoolIx,
        config: Option<(Arc<RequestPool>, u64)>,
    ) -> Option<(Arc<RequestPool>, u64)> {
        let set = self.change(ix, |pool| {
            let before =
                pool.requests().map(|requests| (requests.config.clone(), requests.changed));
            match (config, &mut pool.extension) {
                (None, extension) => *extension = PoolExtension::None,
                (Some((config, changed)), PoolExtension::Requests(requests)) => {
                    (requests.config, requests.changed) = (config, changed);
                }
                (Some((config, changed)), extension) => {
                    let requests = Box::new(Requests::new(config, changed));
                    *extension = PoolExtension::Requests(requests);
                }
            }
            pool.extension.free_rebuilt(&pool.free);
            before
        });
        set.flatten()
    }

    fn retry_scheduled(&mut self, event: &RetryScheduled) {
        let Some(pool) = &event.pool else {
            let before = std::mem::replace(&mut self.retry_groups, event.retry.clone());
            return self.note(StateChange::RetryGroups(before));
        };
        let Some(&ix) = self.names.get(pool) else { return };
        if self.pool_at(ix).and_then(Pool::requests).is_some() {
            let before = self.set_retry(ix, event.retry.clone());
            self.note(StateChange::Pool(ix, PoolChange::Retry(before)));
        }
    }

    /// Sets which requests of a pool are still to be tried. Returns the previous value.
    pub(crate) fn set_retry(&mut self, ix: PoolIx, retry: Option<Retry>) -> Option<Retry> {
        let set = |pool: &mut Pool| {
            pool.requests_mut().and_then(|requests| std::mem::replace(&mut requests.retry, retry))
        };
        self.change(ix, set).flatten()
    }

    fn request_answered(&mut self, event: &RequestAnswered) {
        let (key, request) = (event.key.clone(), Arc::new(event.request.clone()));
        let (answer, version) = (event.answer.clone(), event.version);
        let now = AnsweredRequest { key, request, answer, version };
        self.request_changed(&event.pool, &event.key, Some(now));
    }

    fn request_changed(&mut self, pool: &str, key: &Arc<str>, now: Option<AnsweredRequest>) {
        let Some(&ix) = self.names.get(pool) else { return };
        let Some(requests) = self.pool_at(ix).and_then(Pool::requests) else {
            return;
        };
        let changed = requests.changed;
        let before = self.put_request(ix, key, now, self.position + 1);
        self.note(StateChange::Pool(ix, PoolChange::Request { key: key.clone(), before, changed }));
    }

    /// Inserts or replaces a request; `None` removes it. Returns the previous one.
    pub(crate) fn put_request(
        &mut self,
        ix: PoolIx,
        key: &Arc<str>,
        now: Option<AnsweredRequest>,
        changed: u64,
    ) -> Option<AnsweredRequest> {
        let is_sync = now.as_ref().is_some_and(|now| now.request.is_sync());
        let before = self.change(ix, |pool| {
            let requests = pool.requests_mut()?;
            requests.changed = changed;
            match now {
                Some(now) => requests.put(now),
                None => requests.remove(key),
            }
        });
        self.set_in_group(ix, key, is_sync);
        before.flatten()
    }

    /// Records whether the pool has a request under this key that is part of a group.
    pub(crate) fn set_in_group(&mut self, ix: PoolIx, key: &Arc<str>, is_sync: bool) {
        if is_sync {
            self.sync.entry(key.clone()).or_default().insert(ix);
        } else if let Some(group) = self.sync.get_mut(key) {
            group.remove(&ix);
            if group.is_empty() {
                self.sync.remove(key);
            }
        }
    }
}
