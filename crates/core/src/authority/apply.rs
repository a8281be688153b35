//! How events change authorities and their claims.

use std::sync::Arc;

use super::event::{
    AuthorityDefined, AuthorityEvent, ClaimWanted, IdentityDrawn, LookUpChanged, LookUpChecked,
    LookUpsRefreshed,
};
use super::state::{Authority, FrozenAuthorities, LookUpName};
use super::{ExternalClaim, ExternalProgress, LookUp};
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
                self.put_authority(name, Some(Arc::new(Authority { generation, spec, refreshed })));
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
                let Some(known) = self.authorities.by_name.get(&event.authority) else { return };
                let refreshed = Authority { refreshed: event.position, ..Authority::clone(known) };
                self.put_authority(event.authority.clone(), Some(Arc::new(refreshed)));
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
        let definitions = identity.into_iter().chain(defined).chain(refreshed);
        definitions.chain(claims).chain(lookups)
    }
}
