//! How events change authorities and their claims.

use std::sync::Arc;

use super::event::{
    AuthorityDefined, AuthorityEvent, ClaimWanted, IdentityDrawn, LookUpChanged, LookUpChecked,
    LookUpsRefreshed, ReconciliationEnded, ReconciliationWanted,
};
use super::state::{Authority, FrozenAuthorities, LookUpName};
use super::{ExternalClaim, ExternalProgress, LookUp, Reconciliation, ReconciliationState};
use crate::capacity::Uuid;
use crate::event::Event;
use crate::state::State;
use crate::state::undo::StateChange;

impl State {
    pub(crate) fn apply_authority(&mut self, event: &AuthorityEvent) {
        match event {
            AuthorityEvent::IdentityDrawn(event) => self.set_identity(Some(event.identity)),
            AuthorityEvent::Defined(event) => {
                let AuthorityDefined { name, generation, spec } = event.clone();
                let known = self.authorities.by_name.get(&name);
                let refreshed = known.map_or(0, |known| known.refreshed);
                let reconciliation = known.and_then(|known| known.reconciliation.clone());
                let authority = Authority { generation, spec, refreshed, reconciliation };
                self.put_authority(name, Some(Arc::new(authority)));
            }
            AuthorityEvent::Removed(event) => self.put_authority(event.name.clone(), None),
            AuthorityEvent::Wanted(event) => {
                let ClaimWanted { request, progress } = event.clone();
                let reference = request.reference;
                self.put_external(reference, Some(ExternalClaim { request, progress }));
            }
            AuthorityEvent::Progressed(event) => {
                self.set_progress(event.reference, event.progress.clone());
            }
            AuthorityEvent::Closed(event) => self.put_external(event.reference, None),
            AuthorityEvent::LookUpChanged(event) => {
                let look_up = event.look_up.clone();
                let name = (look_up.authority.clone(), look_up.key.clone());
                self.put_lookup(name, Some(look_up));
            }
            AuthorityEvent::LookUpChecked(event) => self.lookup_checked(event),
            AuthorityEvent::LookUpRemoved(event) => {
                self.put_lookup((event.authority.clone(), event.key.clone()), None);
            }
            AuthorityEvent::LookUpsRefreshed(event) => {
                self.change_authority(&event.authority, |known| known.refreshed = event.position);
            }
            AuthorityEvent::ReconciliationWanted(event) => {
                self.change_authority(&event.authority, |known| {
                    let before = known.reconciliation.as_deref();
                    known.reconciliation = Some(Arc::new(event.wanted(before)));
                });
            }
            AuthorityEvent::ReconciliationEnded(event) => {
                self.change_authority(&event.authority, |known| {
                    known.reconciliation = Some(Arc::new(event.reconciliation()));
                });
            }
            AuthorityEvent::FindingSettled(event) => {
                self.change_authority(&event.authority, |known| {
                    known.reconciliation = known.reconciliation.as_deref().map(|last| {
                        let findings = Arc::new(last.findings.without(event.reference));
                        Arc::new(Reconciliation { findings, ..last.clone() })
                    });
                });
            }
        }
    }

    fn set_progress(&mut self, reference: Uuid, progress: ExternalProgress) {
        let Some(known) = self.authorities.get(reference) else { return };
        let request = known.request.clone();
        self.put_external(reference, Some(ExternalClaim { request, progress }));
    }

    fn lookup_checked(&mut self, event: &LookUpChecked) {
        let LookUpChecked { authority, key, checked, due_ms, attempts, reason } = event.clone();
        let Some(known) = self.authorities.lookups.get(&authority, &key) else { return };
        let look_up = LookUp { checked, due_ms, attempts, reason, ..LookUp::clone(known) };
        self.put_lookup((authority, key), Some(look_up));
    }

    fn put_lookup(&mut self, name: LookUpName, look_up: Option<LookUp>) {
        let before = self.authorities.lookups.put(name.clone(), look_up.map(Arc::new));
        self.note(StateChange::LookUp { name, before });
    }

    fn change_authority(&mut self, name: &Arc<str>, change: impl FnOnce(&mut Authority)) {
        let Some(known) = self.authorities.by_name.get(name) else { return };
        let mut changed = Authority::clone(known);
        change(&mut changed);
        self.put_authority(name.clone(), Some(Arc::new(changed)));
    }

    fn put_external(&mut self, reference: Uuid, claim: Option<ExternalClaim>) {
        let before = self.authorities.put(reference, claim.map(Arc::new));
        self.note(StateChange::External { reference, before });
    }

    fn set_identity(&mut self, identity: Option<u32>) {
        let before = std::mem::replace(&mut self.authorities.identity, identity);
        self.note(StateChange::Identity(before));
    }

    fn put_authority(&mut self, name: Arc<str>, authority: Option<Arc<Authority>>) {
        let before = self.set_authority(name.clone(), authority);
        self.note(StateChange::Authority { name, before });
    }

    /// Inserts or replaces an authority; `None` removes it. Returns the previous one.
    pub(crate) fn set_authority(
        &mut self,
        name: Arc<str>,
        authority: Option<Arc<Authority>>,
    ) -> Option<Arc<Authority>> {
        let all = &mut self.authorities;
        let due =
            |authority: &Authority| authority.reconcile_due_ms().map(|at_ms| (at_ms, name.clone()));
        if let Some(due) = all.by_name.get(&name).and_then(|before| due(before)) {
            all.reconcile_due.remove(&due);
        }
        all.reconcile_due.extend(authority.as_deref().and_then(due));
        let before = match authority {
            Some(authority) => all.by_name.insert(name.clone(), authority),
            None => all.by_name.remove(&name),
        };
        all.index_overdue(&name);
        before
    }
}

impl FrozenAuthorities {
    /// The events that produce the authorities and their claims.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let identity = self.identity.map(|identity| IdentityDrawn { identity }.into());
        let defined = self.by_name.iter().map(|(name, authority)| {
            let Authority { generation, spec, .. } = Authority::clone(authority);
            AuthorityDefined { name: name.clone(), generation, spec }.into()
        });
        let claims = self.claims.iter().map(|(_, claim)| {
            let ExternalClaim { request, progress } = ExternalClaim::clone(claim);
            ClaimWanted { request, progress }.into()
        });
        let refreshed = self.by_name.iter().filter(|(_, authority)| authority.refreshed > 0);
        let refreshed = refreshed.map(|(name, authority)| {
            LookUpsRefreshed { authority: name.clone(), position: authority.refreshed }.into()
        });
        let lookups = self
            .lookups
            .iter()
            .map(|(_, look_up)| LookUpChanged { look_up: LookUp::clone(look_up) }.into());
        let reconciliations = self.by_name.iter().flat_map(|(name, authority)| {
            authority.reconciliation.iter().flat_map(|last| reconciliation_events(name, last))
        });
        let definitions = identity.into_iter().chain(defined).chain(refreshed);
        let definitions = definitions.chain(reconciliations);
        definitions.chain(claims).chain(lookups)
    }
}

/// The events that produce the last reconciliation.
fn reconciliation_events(name: &Arc<str>, last: &Reconciliation) -> impl Iterator<Item = Event> {
    let Reconciliation { number, state, at_ms, position, findings, reason } = last.clone();
    let authority = name.clone();
    let wanted = ReconciliationWanted { authority: name.clone(), number, at_ms };
    let wanted = last.is_wanted().then(|| wanted.into());
    let ended = ReconciliationEnded { authority, number, state, at_ms, position, findings, reason };
    std::iter::once(ended.into()).chain(wanted)
}

impl ReconciliationWanted {
    /// The findings of the previous reconciliation stay until this one has ended.
    fn wanted(&self, before: Option<&Reconciliation>) -> Reconciliation {
        Reconciliation {
            number: self.number,
            state: ReconciliationState::Wanted,
            at_ms: self.at_ms,
            position: before.map_or(0, |before| before.position),
            findings: before.map(|before| before.findings.clone()).unwrap_or_default(),
            reason: before.and_then(|before| before.reason.clone()),
        }
    }
}

impl ReconciliationEnded {
    fn reconciliation(&self) -> Reconciliation {
        let ReconciliationEnded { number, state, at_ms, position, findings, reason, .. } =
            self.clone();
        Reconciliation { number, state, at_ms, position, findings, reason }
    }
}
