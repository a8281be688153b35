//! What to do next about a claim at an authority: a function of what is known about it, without any I/O.
//!
//! Authorities are of two kinds. One that *repeats* grants the same value when it gets the same reference again. At the
//! other kind, a second request for a grant could take a second value. So the journal says `asked` before such an authority
//! gets a request, and it gets another one only after it was found out that the first one has granted nothing.

use allod_core::authority::ExternalState;

use super::connector::{Abilities, Finds};

/// What is known about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Situation {
    /// `Wanted` or `Releasing`; in other states there is nothing to do.
    pub state: ExternalState,
    /// The journal says that a request may have been sent whose outcome is unknown.
    pub asked: bool,
    /// For a claim: a certain value was wished. For a release: the value is known.
    pub knows_value: bool,
    pub earlier: Earlier,
    pub abilities: Abilities,
    /// A grant has been requested in this attempt.
    pub tried: bool,
}

/// Requests for a grant that were sent before this attempt and whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// There are none.
    None,
    /// One may still arrive at the authority.
    Possible,
    /// Their time limit is over.
    Ended,
}

/// A request to the authority, or the record that it is about to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Store that the authority is asked for a grant.
    StoreAsked,
    Find,
    Grant,
    Release,
}

/// The outcome of a call, without its details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// It is stored that the authority is asked.
    Stored,
    /// The authority has a grant for the reference.
    Granted,
    /// The authority has no grant for the reference.
    Nothing,
    No,
    NotNow,
    Working,
    Unknown,
    Unsupported,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Do nothing before the time limit of the earlier requests is over.
    Wait,
    Call(Call),
    Report(Conclusion),
}

/// How an attempt ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    Granted,
    Refused,
    /// Try again later. `asked`: the outcome of a request for a grant is unknown. `settle`: not before the time limit of
    /// the requests that were sent is over.
    Failed {
        asked: bool,
        settle: bool,
    },
    Stuck,
    Gone,
}

impl Situation {
    fn finds_by_reference(&self) -> bool {
        self.abilities.finds == Finds::ByReference
    }

    /// Whether a search tells what the authority has done for this reference. With the value it tells at least that
    /// nothing was granted.
    fn can_search(&self) -> bool {
        match self.abilities.finds {
            Finds::ByReference => true,
            Finds::ByValue => self.knows_value,
            Finds::No => false,
        }
    }

    fn failed(&self, asked: bool) -> NextStep {
        NextStep::Report(Conclusion::Failed { asked, settle: false })
    }

    fn failed_until_settled(&self) -> NextStep {
        NextStep::Report(Conclusion::Failed { asked: true, settle: true })
    }
}

/// The next step for a claim or a release. `last`: the previous call of this attempt and its outcome.
pub fn next_step(situation: &Situation, last: Option<(Call, CallOutcome)>) -> NextStep {
    match (situation.state, last) {
        (ExternalState::Releasing, None) => begin_release(situation),
        (ExternalState::Releasing, Some((_, CallOutcome::Nothing))) => {
            NextStep::Report(Conclusion::Gone)
        }
        (ExternalState::Releasing, Some(_)) => situation.failed(situation.asked),
        (_, None) => begin_grant(situation),
        (_, Some((Call::StoreAsked, _))) => NextStep::Call(Call::Grant),
        (_, Some((Call::Find, outcome))) => after_find(situation, outcome),
        (_, Some((Call::Grant | Call::Release, outcome))) => after_grant(situation, outcome),
    }
}

fn begin_grant(situation: &Situation) -> NextStep {
    if situation.abilities.repeats {
        return match situation.earlier {
            Earlier::None if !situation.asked => NextStep::Call(Call::Grant),
            _ if situation.finds_by_reference() => NextStep::Call(Call::Find),
            _ => NextStep::Call(Call::Grant),
        };
    }
    match (situation.asked, situation.earlier) {
        (false, _) => NextStep::Call(Call::StoreAsked),
        // A request that was cut off may still arrive after a search has found nothing.
        (true, Earlier::Possible) => NextStep::Wait,
        (true, _) if situation.can_search() => NextStep::Call(Call::Find),
        (true, _) => NextStep::Report(Conclusion::Stuck),
    }
}

fn after_find(situation: &Situation, outcome: CallOutcome) -> NextStep {
    let repeats = situation.abilities.repeats;
    match outcome {
        CallOutcome::Granted if situation.finds_by_reference() => {
            NextStep::Report(Conclusion::Granted)
        }
        // The value is held, but the authority does not say by which reference.
        CallOutcome::Granted if !repeats => NextStep::Report(Conclusion::Stuck),
        CallOutcome::Granted => NextStep::Call(Call::Grant),
        // It was searched because the outcome of a request is unknown, which may still arrive.
        CallOutcome::Nothing if situation.tried => situation.failed(true),
        CallOutcome::Nothing if repeats => NextStep::Call(Call::Grant),
        CallOutcome::Nothing => NextStep::Call(Call::StoreAsked),
        CallOutcome::Unsupported if repeats && !situation.tried => NextStep::Call(Call::Grant),
        CallOutcome::Unsupported if !repeats => NextStep::Report(Conclusion::Stuck),
        CallOutcome::Stored
        | CallOutcome::No
        | CallOutcome::NotNow
        | CallOutcome::Working
        | CallOutcome::Unknown
        | CallOutcome::Unsupported => situation.failed(true),
    }
}

fn after_grant(situation: &Situation, outcome: CallOutcome) -> NextStep {
    let repeats = situation.abilities.repeats;
    let is_pending = situation.earlier == Earlier::Possible;
    match outcome {
        CallOutcome::Granted => NextStep::Report(Conclusion::Granted),
        // A request that was sent before could still be granted after the refusal.
        CallOutcome::No | CallOutcome::Unsupported if is_pending => {
            situation.failed_until_settled()
        }
        CallOutcome::No | CallOutcome::Unsupported => NextStep::Report(Conclusion::Refused),
        CallOutcome::NotNow => situation.failed(is_pending),
        CallOutcome::Working => situation.failed(true),
        CallOutcome::Stored | CallOutcome::Nothing | CallOutcome::Unknown if repeats => {
            if situation.finds_by_reference() {
                NextStep::Call(Call::Find)
            } else {
                situation.failed(true)
            }
        }
        CallOutcome::Stored | CallOutcome::Nothing | CallOutcome::Unknown => {
            if situation.can_search() {
                situation.failed_until_settled()
            } else {
                NextStep::Report(Conclusion::Stuck)
            }
        }
    }
}

fn begin_release(situation: &Situation) -> NextStep {
    let knows_nothing = !situation.knows_value && !situation.finds_by_reference();
    match (situation.abilities.repeats, situation.asked) {
        // The request is stored before it is sent, so none was sent.
        (false, false) if knows_nothing => NextStep::Report(Conclusion::Gone),
        _ if situation.earlier == Earlier::Possible => NextStep::Wait,
        // The authority releases values, and it is unknown which one it has granted.
        (false, true) if knows_nothing => NextStep::Report(Conclusion::Stuck),
        _ => NextStep::Call(Call::Release),
    }
}

/// What to do about a claim whose granted value is held here by another claim that is being released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HolderStep {
    Find,
    /// The authority has no grant for the other claim any more.
    Gone,
    /// The authority has a grant for both.
    StillHeld,
    /// Try again later.
    Failed,
}

/// The next step about the other claim. `found`: the outcome of a search for its grant.
pub fn holder_step(finds: Finds, found: Option<CallOutcome>) -> HolderStep {
    match (finds, found) {
        (Finds::ByReference, None) => HolderStep::Find,
        // Such an authority knows one holder of a value. It has granted the value to the new claim, so the other one is
        // over. Its release must not be sent again, because it would release the value of the new claim.
        (Finds::ByValue | Finds::No, _) | (_, Some(CallOutcome::Nothing)) => HolderStep::Gone,
        (_, Some(CallOutcome::Granted)) => HolderStep::StillHeld,
        (_, Some(_)) => HolderStep::Failed,
    }
}

/// The delay after `attempts` failed attempts and one more. It doubles up to a maximum.
pub fn retry_after_ms(first_ms: u64, max_ms: u64, attempts: u32) -> u64 {
    let times = 1_u64.checked_shl(attempts).unwrap_or(u64::MAX);
    first_ms.saturating_mul(times).min(max_ms)
}

#[cfg(test)]
mod tests;
