//! Notifying services of changed answers: at most one notification to each service and user for each command.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::decide::Draft;
use crate::limits::at_most;
use crate::outbox::NotificationQueued;
use crate::refusal::Refusal;
use crate::requests::{Redeploy, Request};

/// Pools and keys whose answers have changed.
type Changed = BTreeSet<(Arc<str>, Arc<str>)>;

/// The notifications to queue, by service and user.
#[derive(Debug, Default)]
pub(super) struct Notifications(BTreeMap<(Arc<str>, Arc<str>), (Redeploy, Changed)>);

impl Notifications {
    /// The answer to a request has changed. `knew`: the services that the request had before.
    pub fn answer_changed(
        &mut self,
        pool: &Arc<str>,
        key: &Arc<str>,
        request: &Request,
        knew: &[Arc<str>],
    ) {
        // A service that waits for the reply of the command gets the answer there.
        let services =
            request.services.iter().filter(|service| !request.sync_alloc || knew.contains(service));
        services.for_each(|service| self.add(pool, key, request, service));
    }

    /// The answer to a request is the same: only services that were added to it are notified.
    pub fn services_added(
        &mut self,
        pool: &Arc<str>,
        key: &Arc<str>,
        request: &Request,
        knew: &[Arc<str>],
    ) {
        let new = request
            .services
            .iter()
            .filter(|service| !request.sync_alloc && !knew.contains(service));
        new.for_each(|service| self.add(pool, key, request, service));
    }

    fn add(&mut self, pool: &Arc<str>, key: &Arc<str>, request: &Request, service: &Arc<str>) {
        let redeploy = request.redeploy.unwrap_or(Redeploy::Default);
        if redeploy == Redeploy::Never {
            return;
        }
        // Requests that want different actions share one notification: the most thorough action includes the others.
        let one = self.0.entry((service.clone(), request.user.clone()));
        let (action, about) = one.or_insert((redeploy, Changed::new()));
        *action = redeploy.max(*action);
        about.insert((pool.clone(), key.clone()));
    }

    /// Records the notifications. A limit of 0 disables the outbox.
    pub fn queue(self, draft: &mut Draft<'_>) -> Result<(), Refusal> {
        let max = draft.limits.outbox_max;
        if max == 0 || self.0.is_empty() {
            return Ok(());
        }
        let many = (draft.state.outbox.len() + self.0.len()) as u64;
        at_most("outbox_max", max, many)?;
        let first = u128::from(draft.version) << 32 | draft.events.len() as u128;
        for (number, ((target, user), (redeploy, about))) in (first..).zip(self.0) {
            let (about, at_ms, payload) =
                (about.into_iter().collect(), draft.now_ms, redeploy.payload());
            let queued = NotificationQueued { number, target, user, payload, about, at_ms };
            draft.record(queued);
        }
        Ok(())
    }
}
