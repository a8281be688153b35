//! Samples of authorities and their claims.

use std::sync::Arc;

use allod_core::alarm::{AlarmChanged, AlarmKind, AlarmPurged};
use allod_core::authority::event::{
    AuthorityDefined, AuthorityRemoved, ClaimProgressed, ClaimWanted, ExternalClaimClosed,
    FindingSettled, IdentityDrawn, LookUpChanged, LookUpChecked, LookUpRemoved, LookUpsRefreshed,
    ReconciliationEnded, ReconciliationWanted,
};
use allod_core::authority::{
    AuthoritySpec, ConflictFound, DriftPolicy, Drifted, ExternalProgress, ExternalRequest,
    ExternalState, FindingCounts, Findings, LookUp, LookUpState, Missing, Orphan, Protocol,
    ReconciliationState, RefusalCode, Seen, SqlStatements,
};
use allod_core::capacity::Uuid;
use allod_core::claim::{ClaimParams, Want};
use allod_core::event::{Event, PoolDefined};
use allod_core::pool::PoolSpec;
use allod_core::span::Span;
use allod_core::state::restore::PoolImage;
use allod_core::value::Kind;

use super::samples::Sample;
use crate::checkpoint::{CheckpointPart, Header};

const REFERENCE: Uuid = Uuid(0x0123_4567_89ab_8def_8000_0000_0000_0403);

pub(super) fn all() -> Vec<(&'static str, Sample)> {
    let event = |event: Event| Sample::Event(event);
    let spec = PoolSpec { authority: Some("ipam".into()), ..PoolSpec::new(Kind::Address4, vec![]) };
    let image = PoolImage {
        name: "lab".into(),
        generation: 2,
        spec: spec.clone(),
        cursor: None,
        released: vec![],
        blocks: None,
        requests: None,
    };
    let header = Header { level: 7, position: 9, now_ms: 1_000 };
    let defined = PoolDefined { pool: "lab".into(), generation: 2, spec };
    let alarm = |raised| AlarmChanged {
        object: "ipam".into(),
        kind: AlarmKind::Stuck,
        ids: false,
        raised,
        at_ms: 1_000,
    };
    vec![
        ("16-pool_defined-v2", event(defined.into())),
        ("50-alarm_changed-v2", event(alarm(true).into())),
        (
            "51-alarm_purged-v2",
            event(AlarmPurged { object: "ipam".into(), kind: AlarmKind::Conflict }.into()),
        ),
        ("56-authority_defined-v1", event(http().into())),
        ("56-authority_defined-v1-sql", event(sql().into())),
        ("57-authority_removed-v1", event(AuthorityRemoved { name: "ipam".into() }.into())),
        ("58-claim_wanted-v1", event(wanted().into())),
        ("59-claim_progressed-v1", event(refused().into())),
        (
            "60-claim_closed-v1",
            event(
                ExternalClaimClosed {
                    reference: REFERENCE,
                    pool: "lab".into(),
                    key: "vm-1".into(),
                    owner: "team-a".into(),
                }
                .into(),
            ),
        ),
        ("61-identity_drawn-v1", event(IdentityDrawn { identity: 0x0123_4567 }.into())),
        ("62-lookup_changed-v1", event(LookUpChanged { look_up: look_up() }.into())),
        ("63-lookup_checked-v1", event(checked().into())),
        (
            "70-lookup_removed-v1",
            event(LookUpRemoved { authority: "ipam".into(), key: "site/north".into() }.into()),
        ),
        (
            "71-lookups_refreshed-v1",
            event(LookUpsRefreshed { authority: "ipam".into(), position: 8 }.into()),
        ),
        (
            "72-reconciliation_wanted-v1",
            event(
                ReconciliationWanted { authority: "ipam".into(), number: 11, at_ms: 4_000 }.into(),
            ),
        ),
        ("73-reconciliation_ended-v1", event(reconciled().into())),
        (
            "74-finding_settled-v1",
            event(FindingSettled { authority: "ipam".into(), reference: REFERENCE }.into()),
        ),
        (
            "65-checkpoint_pool-v4",
            Sample::Checkpoint(
                header,
                vec![
                    CheckpointPart::Pool(Box::new(image)),
                    CheckpointPart::Event(http().into()),
                    CheckpointPart::Event(wanted().into()),
                    CheckpointPart::End,
                ],
            ),
        ),
    ]
}

fn http() -> AuthorityDefined {
    let spec = AuthoritySpec::new(Protocol::Http, "http://127.0.0.1:8080");
    let spec = AuthoritySpec { secret: Some("ipam-token".into()), ..spec };
    AuthorityDefined { name: "ipam".into(), generation: 1, spec }
}

fn sql() -> AuthorityDefined {
    let statements = SqlStatements {
        find: Some("select value from grants where ref = :ref".into()),
        take: Some("insert into grants values (:ref, :value)".into()),
        ..SqlStatements::default()
    };
    let spec = AuthoritySpec::new(Protocol::Sql(statements), "postgres://127.0.0.1/ipam");
    AuthorityDefined { name: "db".into(), generation: 3, spec }
}

fn progress() -> ExternalProgress {
    ExternalProgress {
        state: ExternalState::Wanted,
        version: 7,
        since_ms: 1_000,
        asked: false,
        withdrawn: false,
        value: None,
        handle: None,
        granted_version: None,
        code: None,
        reason: None,
        attempts: 0,
        due_ms: Some(1_000),
    }
}

fn wanted() -> ClaimWanted {
    let want = Want { value: Some(Span::one(0x0a00_0001)), ..Want::any() };
    let request = ExternalRequest {
        reference: REFERENCE,
        authority: "ipam".into(),
        pool: "lab".into(),
        key: "vm-1".into(),
        owner: "team-a".into(),
        params: ClaimParams { want, ttl_ms: Some(60_000) },
        labels: [("site".into(), "north".into())].into(),
    };
    ClaimWanted { request, progress: progress() }
}

fn refused() -> ClaimProgressed {
    let progress = ExternalProgress {
        state: ExternalState::Refused,
        asked: true,
        value: Some("10.0.0.1".into()),
        handle: Some("17".into()),
        granted_version: Some("3".into()),
        code: Some(RefusalCode::Taken),
        reason: Some("held by another team".into()),
        attempts: 2,
        ..progress()
    };
    ClaimProgressed {
        reference: REFERENCE,
        pool: "lab".into(),
        key: "vm-1".into(),
        owner: "team-a".into(),
        progress,
    }
}

fn look_up() -> LookUp {
    LookUp {
        authority: "ipam".into(),
        key: "site/north".into(),
        policy: DriftPolicy::Ask,
        state: LookUpState::Drifted,
        version: 9,
        value: Some("{\"vlan\":17}".into()),
        value_version: Some("3".into()),
        resolved_ms: Some(1_000),
        seen: Some(Seen {
            value: Some("{\"vlan\":18}".into()),
            version: Some("4".into()),
            at_ms: 2_000,
        }),
        reason: None,
        attempts: 0,
        since_ms: 900,
        due_ms: Some(302_000),
        checked: 9,
    }
}

fn checked() -> LookUpChecked {
    LookUpChecked {
        authority: "ipam".into(),
        key: "site/north".into(),
        checked: 10,
        due_ms: Some(303_000),
        attempts: 2,
        reason: Some("timeout".into()),
    }
}

fn reconciled() -> ReconciliationEnded {
    let (pool, key): (Arc<str>, Arc<str>) = ("lab".into(), "vm-1".into());
    let value: Arc<str> = "10.0.0.1".into();
    let findings = Findings {
        orphans: vec![Orphan {
            reference: Uuid(1),
            value: value.clone(),
            handle: Some("17".into()),
            own: true,
        }],
        missing: vec![Missing {
            reference: Uuid(2),
            pool: pool.clone(),
            key: key.clone(),
            value: value.clone(),
        }],
        drifted: vec![Drifted {
            reference: Uuid(3),
            pool: pool.clone(),
            key: key.clone(),
            value: value.clone(),
            seen: "10.0.0.2".into(),
        }],
        conflicts: vec![ConflictFound { reference: Uuid(4), value, pool, key }],
        counts: FindingCounts { orphans: 1001, missing: 1, drifted: 1, conflicts: 1 },
    };
    ReconciliationEnded {
        authority: "ipam".into(),
        number: 11,
        state: ReconciliationState::Failed,
        at_ms: 5_000,
        position: 12,
        findings: Arc::new(findings),
        reason: Some("timeout".into()),
    }
}
