//! Commands about authorities, and the reports of the reactor.

use std::sync::Arc;

use super::{AuthoritySpec, DriftPolicy, Findings, RefusalCode};
use crate::capacity::Uuid;
use crate::command::Expect;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorityCommand {
    Put {
        name: Arc<str>,
        spec: AuthoritySpec,
        expect: Expect,
    },
    Delete {
        name: Arc<str>,
        expect: Expect,
    },
    /// What the reactor has learned about a claim. With `version`, the report is refused if the claim has changed since:
    /// another server may have asked meanwhile.
    Report {
        reference: Uuid,
        version: Option<u64>,
        report: Report,
    },
    LookUp(LookUpCommand),
    Reconcile(ReconcileCommand),
    /// What an operator has found out about a claim that is stuck or in conflict.
    Resolve {
        reference: Uuid,
        resolution: Resolution,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The authority is about to be asked, and a repeated request could grant a second value.
    Asked,
    Granted(GrantedValue),
    /// A definite no.
    Refused {
        code: RefusalCode,
        reason: Arc<str>,
    },
    /// Not done, or not known to be done. `again_ms`: when to try again. `asked`: whether the authority may have got a
    /// request for a grant whose outcome is unknown.
    Failed {
        reason: Arc<str>,
        again_ms: u64,
        asked: bool,
    },
    /// It is unknown whether the authority has granted a value.
    Stuck {
        reason: Arc<str>,
    },
    /// The authority has no grant for the reference any more.
    Gone,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedValue {
    pub value: Arc<str>,
    pub handle: Option<Arc<str>>,
    pub version: Option<Arc<str>>,
    /// The authority still has a grant for this reference, which holds the value here.
    pub still_held: Option<Uuid>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// The authority has granted this value. The claim gets it; if it was withdrawn, it is released.
    Granted { value: Arc<str> },
    /// The authority has no grant for the reference.
    Gone,
    /// Ask the authority again, although it may grant a second value.
    AskAgain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookUpCommand {
    /// Requests a look-up, or changes its policy.
    Put {
        authority: Arc<str>,
        key: Arc<str>,
        policy: DriftPolicy,
        expect: Expect,
    },
    Delete {
        authority: Arc<str>,
        key: Arc<str>,
        expect: Expect,
    },
    /// Asks the authority again. `None`: for all look-ups.
    Refresh {
        authority: Arc<str>,
        key: Option<Arc<str>>,
    },
    /// Takes the value that the authority has.
    Accept {
        authority: Arc<str>,
        key: Arc<str>,
        expect: Expect,
    },
    /// What the reactor has learned. Refused if the look-up is not at this version any more.
    Report {
        authority: Arc<str>,
        key: Arc<str>,
        version: u64,
        report: LookUpReport,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookUpReport {
    /// What the authority has; `None`: it does not know the name.
    Seen(Option<SeenValue>),
    /// `again_ms`: when to ask again.
    Failed { reason: Arc<str>, again_ms: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenValue {
    /// JSON. Equal values must have equal texts.
    pub value: Arc<str>,
    pub version: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReconcileCommand {
    Request {
        authority: Arc<str>,
    },
    /// What the reactor has found. Refused if this reconciliation is not wanted any more.
    Report {
        authority: Arc<str>,
        number: u64,
        report: ReconcileReport,
    },
    /// What becomes of a finding of the last reconciliation.
    Settle {
        authority: Arc<str>,
        reference: Uuid,
        action: SettleAction,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReconcileReport {
    Listed(Findings),
    Failed { reason: Arc<str> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleAction {
    /// An orphan becomes this claim. A drifted claim gets the value of the authority and stays as it is otherwise.
    Adopt { pool: Arc<str>, key: Arc<str>, owner: Arc<str> },
    /// An orphan is released at the authority.
    Release,
    /// A missing claim ends here.
    Forget,
}
