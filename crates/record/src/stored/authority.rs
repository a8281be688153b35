//! Authorities, and the claims that they grant.

use std::sync::Arc;

use allod_core::authority::event::{
    AuthorityDefined, AuthorityRemoved, ClaimProgressed, ClaimWanted, ExternalClaimClosed,
    FindingSettled, IdentityDrawn, LookUpChanged, LookUpChecked, LookUpRemoved, LookUpsRefreshed,
    ReconciliationEnded, ReconciliationWanted,
};
use allod_core::authority::{
    AuthoritySpec, ConflictFound, Drifted, ExternalProgress, ExternalRequest, FindingCounts,
    Findings, LookUp, Missing, Orphan, Protocol, Seen, SqlStatements,
};

use super::capacity::UuidV1;
use super::claim::ClaimParamsV1;
use super::form::{StoredForm, stored_structs};
use super::number::{
    DriftPolicyV1, ExternalStateV1, LookUpStateV1, ReconciliationStateV1, RefusalCodeV1,
};
use super::pool::LabelsV1;

stored_structs! {
    IdentityDrawnV1 of IdentityDrawn {
        identity: u32,
    }

    AuthorityDefinedV1<'a> of AuthorityDefined {
        name: &'a str,
        generation: u64,
        #[serde(borrow)]
        spec: AuthoritySpecV1<'a>,
    }

    AuthoritySpecV1<'a> of AuthoritySpec {
        #[serde(borrow)]
        protocol: ProtocolV1<'a>,
        url: &'a str,
        secret: Option<&'a str>,
        ca: Option<&'a str>,
        parallel: u32,
        timeout_ms: u64,
        queue_max: u64,
        alarm_after_ms: u64,
        poll_ms: Option<u64>,
        reconcile_ms: Option<u64>,
    }

    SqlStatementsV1<'a> of SqlStatements {
        find: Option<&'a str>,
        take: Option<&'a str>,
        release: Option<&'a str>,
        list: Option<&'a str>,
        lookup: Option<&'a str>,
    }

    AuthorityRemovedV1<'a> of AuthorityRemoved {
        name: &'a str,
    }

    ClaimWantedV1<'a> of ClaimWanted {
        #[serde(borrow)]
        request: ExternalRequestV1<'a>,
        #[serde(borrow)]
        progress: ExternalProgressV1<'a>,
    }

    ExternalRequestV1<'a> of ExternalRequest {
        reference: UuidV1,
        authority: &'a str,
        pool: &'a str,
        key: &'a str,
        owner: &'a str,
        params: ClaimParamsV1,
        labels: LabelsV1,
    }

    ExternalProgressV1<'a> of ExternalProgress {
        state: ExternalStateV1,
        version: u64,
        since_ms: u64,
        asked: bool,
        withdrawn: bool,
        value: Option<&'a str>,
        handle: Option<&'a str>,
        granted_version: Option<&'a str>,
        code: Option<RefusalCodeV1>,
        reason: Option<&'a str>,
        attempts: u32,
        due_ms: Option<u64>,
    }

    ClaimProgressedV1<'a> of ClaimProgressed {
        reference: UuidV1,
        pool: &'a str,
        key: &'a str,
        owner: &'a str,
        #[serde(borrow)]
        progress: ExternalProgressV1<'a>,
    }

    LookUpChangedV1<'a> of LookUpChanged {
        #[serde(borrow)]
        look_up: LookUpV1<'a>,
    }

    LookUpV1<'a> of LookUp {
        authority: &'a str,
        key: &'a str,
        policy: DriftPolicyV1,
        state: LookUpStateV1,
        version: u64,
        value: Option<&'a str>,
        value_version: Option<&'a str>,
        resolved_ms: Option<u64>,
        #[serde(borrow)]
        seen: Option<SeenV1<'a>>,
        reason: Option<&'a str>,
        attempts: u32,
        since_ms: u64,
        due_ms: Option<u64>,
        checked: u64,
    }

    SeenV1<'a> of Seen {
        value: Option<&'a str>,
        version: Option<&'a str>,
        at_ms: u64,
    }

    LookUpCheckedV1<'a> of LookUpChecked {
        authority: &'a str,
        key: &'a str,
        checked: u64,
        due_ms: Option<u64>,
        attempts: u32,
        reason: Option<&'a str>,
    }

    LookUpRemovedV1<'a> of LookUpRemoved {
        authority: &'a str,
        key: &'a str,
    }

    LookUpsRefreshedV1<'a> of LookUpsRefreshed {
        authority: &'a str,
        position: u64,
    }

    ReconciliationWantedV1<'a> of ReconciliationWanted {
        authority: &'a str,
        number: u64,
        at_ms: u64,
    }

    ReconciliationEndedV1<'a> of ReconciliationEnded {
        authority: &'a str,
        number: u64,
        state: ReconciliationStateV1,
        at_ms: u64,
        position: u64,
        #[serde(borrow)]
        findings: FindingsV1<'a>,
        reason: Option<&'a str>,
    }

    FindingCountsV1 of FindingCounts {
        orphans: u64,
        missing: u64,
        drifted: u64,
        conflicts: u64,
    }

    OrphanV1<'a> of Orphan {
        reference: UuidV1,
        value: &'a str,
        handle: Option<&'a str>,
        own: bool,
    }

    MissingV1<'a> of Missing {
        reference: UuidV1,
        pool: &'a str,
        key: &'a str,
        value: &'a str,
    }

    DriftedV1<'a> of Drifted {
        reference: UuidV1,
        pool: &'a str,
        key: &'a str,
        value: &'a str,
        seen: &'a str,
    }

    ConflictFoundV1<'a> of ConflictFound {
        reference: UuidV1,
        value: &'a str,
        pool: &'a str,
        key: &'a str,
    }

    FindingSettledV1<'a> of FindingSettled {
        authority: &'a str,
        reference: UuidV1,
    }

    ExternalClaimClosedV1<'a> of ExternalClaimClosed {
        reference: UuidV1,
        pool: &'a str,
        key: &'a str,
        owner: &'a str,
    }
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct FindingsV1<'a> {
    #[serde(borrow)]
    orphans: Vec<OrphanV1<'a>>,
    #[serde(borrow)]
    missing: Vec<MissingV1<'a>>,
    #[serde(borrow)]
    drifted: Vec<DriftedV1<'a>>,
    #[serde(borrow)]
    conflicts: Vec<ConflictFoundV1<'a>>,
    counts: FindingCountsV1,
}

impl<'a> StoredForm<'a, Arc<Findings>> for FindingsV1<'a> {
    fn store(findings: &'a Arc<Findings>) -> FindingsV1<'a> {
        let Findings { orphans, missing, drifted, conflicts, counts } = &**findings;
        FindingsV1 {
            orphans: StoredForm::store(orphans),
            missing: StoredForm::store(missing),
            drifted: StoredForm::store(drifted),
            conflicts: StoredForm::store(conflicts),
            counts: StoredForm::store(counts),
        }
    }

    fn load(self) -> Arc<Findings> {
        Arc::new(Findings {
            orphans: self.orphans.load(),
            missing: self.missing.load(),
            drifted: self.drifted.load(),
            conflicts: self.conflicts.load(),
            counts: self.counts.load(),
        })
    }
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) enum ProtocolV1<'a> {
    Http,
    Allod {
        pool: &'a str,
    },
    #[serde(borrow)]
    Sql(SqlStatementsV1<'a>),
}

impl<'a> StoredForm<'a, Protocol> for ProtocolV1<'a> {
    fn store(protocol: &'a Protocol) -> ProtocolV1<'a> {
        match protocol {
            Protocol::Http => ProtocolV1::Http,
            Protocol::Allod { pool } => ProtocolV1::Allod { pool },
            Protocol::Sql(statements) => ProtocolV1::Sql(StoredForm::store(statements)),
        }
    }

    fn load(self) -> Protocol {
        match self {
            ProtocolV1::Http => Protocol::Http,
            ProtocolV1::Allod { pool } => Protocol::Allod { pool: pool.into() },
            ProtocolV1::Sql(statements) => Protocol::Sql(statements.load()),
        }
    }
}
