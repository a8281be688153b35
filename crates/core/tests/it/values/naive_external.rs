//! A naive inventory, and a naive model of look-ups: what an authority and its clients may rely on, in plain maps.

use std::collections::BTreeMap;

use allod_core::authority::{DriftPolicy, LookUp, LookUpState};
use allod_core::capacity::Uuid;

/// An inventory with a few values. A reference gets the same grant again until it is released.
#[derive(Debug, Default)]
pub struct Inventory {
    pub grants: BTreeMap<Uuid, u32>,
}

impl Inventory {
    const VALUES: u32 = 6;

    /// The value of this reference: the one that it has, the wanted one, or the lowest that is free. `None`: a definite no.
    pub fn grant(&mut self, reference: Uuid, want: Option<u32>) -> Option<u32> {
        if let Some(value) = self.grants.get(&reference) {
            return Some(*value);
        }
        let is_free = |value: &u32| !self.grants.values().any(|taken| taken == value);
        let value = match want {
            Some(value) => Some(value).filter(is_free),
            None => (1..=Inventory::VALUES).find(is_free),
        }?;
        self.grants.insert(reference, value);
        Some(value)
    }

    pub fn release(&mut self, reference: Uuid) {
        self.grants.remove(&reference);
    }
}

/// A look-up as its client understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    pub policy: DriftPolicy,
    pub value: Option<String>,
    /// Another value that the authority has; `Some(None)`: none.
    pub other: Option<Option<String>>,
    /// The authority has answered.
    pub answered: bool,
}

impl Watched {
    pub fn new(policy: DriftPolicy) -> Watched {
        Watched { policy, value: None, other: None, answered: false }
    }

    pub fn saw(&mut self, now: Option<&str>) {
        let now = now.map(str::to_string);
        let keeps = self.policy != DriftPolicy::Follow && self.value.is_some();
        self.answered = true;
        self.other = None;
        if self.value != now && keeps {
            self.other = Some(now);
        } else {
            self.value = now;
        }
    }

    pub fn set_policy(&mut self, policy: DriftPolicy) {
        self.policy = policy;
        if policy == DriftPolicy::Follow {
            self.accept();
        }
    }

    pub fn accept(&mut self) {
        if let Some(other) = self.other.take() {
            self.value = other;
        }
    }

    /// Compares with what the core has stored.
    pub fn assert_same(&self, look_up: &LookUp) {
        let state = match (&self.value, &self.other) {
            (_, Some(_)) => LookUpState::Drifted,
            (Some(_), None) => LookUpState::Resolved,
            (None, None) if self.answered => LookUpState::Unknown,
            (None, None) => LookUpState::Wanted,
        };
        assert_eq!(look_up.state, state, "{self:?} {look_up:?}");
        assert_eq!(look_up.policy, self.policy);
        assert_eq!(look_up.value.as_deref(), self.value.as_deref());
        let seen = look_up.seen.as_ref().map(|seen| seen.value.as_deref().map(str::to_string));
        assert_eq!(seen, self.other);
    }
}
