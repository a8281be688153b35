//! Authorities, and the claims that they grant.

use allod_core::authority::event::{
    AuthorityDefined, AuthorityRemoved, ClaimProgressed, ClaimWanted, ExternalClaimClosed,
    IdentityDrawn, LookUpChanged, LookUpChecked, LookUpRemoved, LookUpsRefreshed,
};
use allod_core::authority::{
    AuthoritySpec, ExternalProgress, ExternalRequest, LookUp, Protocol, Seen, SqlStatements,
};

use super::capacity::UuidV1;
use super::claim::ClaimParamsV1;
use super::form::{StoredForm, stored_structs};
use super::number::{DriftPolicyV1, ExternalStateV1, LookUpStateV1, RefusalCodeV1};
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

    ExternalClaimClosedV1<'a> of ExternalClaimClosed {
        reference: UuidV1,
        pool: &'a str,
        key: &'a str,
        owner: &'a str,
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
