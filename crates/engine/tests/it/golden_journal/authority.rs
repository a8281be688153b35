//! Commands that produce the events that level 7 adds. Reports need the references that the claims have got, so each command
//! is made from the state before it.

use std::sync::Arc;

use allod_core::alarm::{AlarmCommand, AlarmKind};
use allod_core::authority::command::{AuthorityCommand, GrantedValue, Report, Resolution};
use allod_core::authority::{AuthoritySpec, Protocol, RefusalCode, SqlStatements};
use allod_core::capacity::Uuid;
use allod_core::claim::Want;
use allod_core::command::{Command, Expect, Transact};
use allod_core::state::State;
use allod_core::value::Kind;
use allod_core::view;

use super::{claim, put, release};

/// A time, and the command that the state leads to.
pub type Step = (u64, fn(&State) -> Command);

const POOL: &str = "at-ipam";

pub fn script() -> Vec<Step> {
    vec![
        (70_000, |_| define("ipam", AuthoritySpec { alarm_after_ms: 5_000, ..http() })),
        (70_000, |_| define("db", sql())),
        (70_000, |_| put(POOL, Kind::Id32, &["1-99"], |spec| spec.authority = Some("ipam".into()))),
        (70_000, |_| {
            one(claim(&[POOL], "held", |op| op.labels = [("site".into(), "n".into())].into()))
        }),
        (70_000, |_| one(claim(&[POOL], "full", |op| op.ttl_ms = Some(60_000)))),
        (70_000, |_| {
            let want = Want { value: Some("7".into()), ..Want::any() };
            one(claim(&[POOL], "other", |op| op.want = want))
        }),
        (70_000, |_| one(claim(&[POOL], "unclear", |_| {}))),
        (70_000, |_| one(claim(&[POOL], "late", |_| {}))),
        (71_000, |state| report(state, "held", granted("5"))),
        (71_000, |state| report(state, "other", granted("8"))),
        (71_000, |state| {
            let (code, reason) = (RefusalCode::Exhausted, "no value is free".into());
            report(state, "full", Report::Refused { code, reason })
        }),
        (71_000, |state| report(state, "unclear", Report::Asked)),
        (71_000, |state| report(state, "unclear", Report::Stuck { reason: "cut off".into() })),
        (71_000, |state| {
            let (reason, again_ms) = ("timeout".into(), 72_000);
            report(state, "late", Report::Failed { reason, again_ms, asked: true })
        }),
        (76_000, |_| Command::Tick),
        (76_000, |_| one(release(POOL, "held"))),
        (77_000, |state| report(state, "held", Report::Gone)),
        (77_000, |state| resolve(state, "unclear", Resolution::Granted { value: "9".into() })),
        (77_000, |_| {
            let (object, kind) = ("ipam".into(), AlarmKind::Stuck);
            Command::Alarm(AlarmCommand::Purge { object, kind })
        }),
        (77_000, |_| {
            let (name, expect) = ("db".into(), Expect::Any);
            Command::Authority(AuthorityCommand::Delete { name, expect })
        }),
    ]
}

fn http() -> AuthoritySpec {
    AuthoritySpec::new(Protocol::Http, "http://127.0.0.1:8080")
}

fn sql() -> AuthoritySpec {
    let statements =
        SqlStatements { take: Some("select take(:ref)".into()), ..SqlStatements::default() };
    AuthoritySpec::new(Protocol::Sql(statements), "postgres://127.0.0.1/ipam")
}

fn define(name: &str, spec: AuthoritySpec) -> Command {
    Command::Authority(AuthorityCommand::Put { name: name.into(), spec, expect: Expect::Any })
}

fn one(op: allod_core::command::Op) -> Command {
    Command::Transact(Transact::one(op))
}

fn reference(state: &State, key: &str) -> Uuid {
    view::authority::claim(state, POOL, key).unwrap().request.reference
}

fn report(state: &State, key: &str, report: Report) -> Command {
    let reference = reference(state, key);
    Command::Authority(AuthorityCommand::Report { reference, version: None, report })
}

fn resolve(state: &State, key: &str, resolution: Resolution) -> Command {
    let reference = reference(state, key);
    Command::Authority(AuthorityCommand::Resolve { reference, resolution })
}

fn granted(value: &str) -> Report {
    let text = |text: &str| Some(Arc::from(text));
    let (handle, version) = (text("17"), text("3"));
    Report::Granted(GrantedValue { value: value.into(), handle, version, still_held: None })
}
