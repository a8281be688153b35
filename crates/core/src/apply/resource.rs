//! What events do to pools of resources, alarms and the outbox.

use std::sync::Arc;

use crate::event::resource::{
    AlarmChanged, NoticeQueued, NoticeTried, RequestAnswered, ResourcePoolDefined,
};
use crate::resource::{Alarm, AlarmKind, ResourcePool};
use crate::state::outbox::Notice;
use crate::state::pool::PoolChange;
use crate::state::requests::{Asked, Requests};
use crate::state::undo::StateChange;
use crate::state::{PoolIx, State};

impl State {
    pub(super) fn resource_pool_defined(&mut self, event: &ResourcePoolDefined) {
        let Some(&ix) = self.names.get(&event.pool) else { return };
        let config = Some((Arc::new(event.config.clone()), self.position + 1));
        let before = self.set_resource(ix, config);
        self.note(StateChange::Pool(ix, PoolChange::Resource(before)));
    }

    /// Gives back the configuration that was there.
    pub(super) fn set_resource(
        &mut self,
        ix: PoolIx,
        config: Option<(Arc<ResourcePool>, u64)>,
    ) -> Option<(Arc<ResourcePool>, u64)> {
        let set = self.change(ix, |pool| {
            let before =
                pool.requests.as_ref().map(|requests| (requests.config.clone(), requests.changed));
            match (config, &mut pool.requests) {
                (None, _) => pool.requests = None,
                (Some((config, changed)), Some(requests)) => {
                    (requests.config, requests.changed) = (config, changed);
                }
                (Some((config, changed)), None) => {
                    pool.requests = Some(Box::new(Requests::new(config, changed)));
                }
            }
            pool.settle_hosts();
            before
        });
        set.flatten()
    }

    pub(super) fn request_answered(&mut self, event: &RequestAnswered) {
        let (key, request) = (event.key.clone(), Arc::new(event.request.clone()));
        let asked = Asked { key, request, answer: event.answer.clone() };
        self.request_changed(&event.pool, &event.key, Some(asked));
    }

    pub(super) fn request_changed(&mut self, pool: &str, key: &Arc<str>, now: Option<Asked>) {
        let Some(&ix) = self.names.get(pool) else { return };
        let Some(requests) = self.pool_at(ix).and_then(|pool| pool.requests.as_ref()) else {
            return;
        };
        let changed = requests.changed;
        let before = self.put_request(ix, key, now, self.position + 1);
        self.note(StateChange::Pool(ix, PoolChange::Request { key: key.clone(), before, changed }));
    }

    /// Puts a request in the place of the one under its key, or takes that one out. Gives back what was there.
    pub(super) fn put_request(
        &mut self,
        ix: PoolIx,
        key: &Arc<str>,
        now: Option<Asked>,
        changed: u64,
    ) -> Option<Asked> {
        let is_sync = now.as_ref().is_some_and(|asked| asked.request.is_sync());
        let before = self.change(ix, |pool| {
            let requests = pool.requests.as_deref_mut()?;
            requests.changed = changed;
            match now {
                Some(asked) => requests.put(asked),
                None => requests.remove(key),
            }
        });
        self.in_group(ix, key, is_sync);
        before.flatten()
    }

    /// Whether a pool has a request of this key that is part of a group.
    pub(super) fn in_group(&mut self, ix: PoolIx, key: &Arc<str>, is_sync: bool) {
        if is_sync {
            self.sync.entry(key.clone()).or_default().insert(ix);
        } else if let Some(group) = self.sync.get_mut(key) {
            group.remove(&ix);
            if group.is_empty() {
                self.sync.remove(key);
            }
        }
    }

    pub(super) fn alarm_changed(&mut self, event: &AlarmChanged) {
        let (object, kind) = (event.object.clone(), event.kind);
        let known = self.alarms.get(&(object.clone(), kind));
        let alarm = match (known, event.raised) {
            (None, false) => return,
            (Some(known), false) => Alarm { cleared_ms: Some(event.at_ms), ..known.clone() },
            (_, true) => {
                let (raised_ms, ids) = (event.at_ms, event.ids);
                Alarm { object: object.clone(), kind, ids, raised_ms, cleared_ms: None }
            }
        };
        let before = self.put_alarm(object.clone(), kind, Some(alarm));
        self.note(StateChange::Alarm { object, kind, before });
    }

    pub(super) fn alarm_purged(&mut self, object: &Arc<str>, kind: AlarmKind) {
        let before = self.put_alarm(object.clone(), kind, None);
        self.note(StateChange::Alarm { object: object.clone(), kind, before });
    }

    pub(crate) fn put_alarm(
        &mut self,
        object: Arc<str>,
        kind: AlarmKind,
        alarm: Option<Alarm>,
    ) -> Option<Alarm> {
        self.alarms.put(object, kind, alarm)
    }

    pub(super) fn notice_queued(&mut self, event: &NoticeQueued) {
        let notice = Notice {
            number: event.number,
            target: event.target.clone(),
            user: event.user.clone(),
            how: event.how,
            about: event.about.clone(),
            at_ms: event.at_ms,
            attempts: 0,
            error: None,
            due_ms: Some(event.at_ms),
        };
        self.put_notice(event.number, Some(notice));
    }

    pub(super) fn notice_tried(&mut self, event: &NoticeTried) {
        let Some(notice) = self.outbox.get(event.number) else { return };
        let notice = Notice {
            attempts: event.attempts,
            error: Some(event.error.clone()),
            due_ms: event.again_ms,
            ..Notice::clone(notice)
        };
        self.put_notice(event.number, Some(notice));
    }

    pub(super) fn put_notice(&mut self, number: u128, notice: Option<Notice>) {
        let before = self.outbox.put(number, notice.map(Arc::new));
        self.note(StateChange::Notice { number, before });
    }
}
