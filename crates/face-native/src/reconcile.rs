//! Routes of reconciliation: how the listing of an authority differs from what is held here, and what becomes of that.

use std::sync::Arc;
use std::time::Duration;

use allod_core::authority::command::{AuthorityCommand, ReconcileCommand, SettleAction};
use allod_core::authority::{Findings, Reconciliation};
use allod_core::capacity::Uuid;
use allod_core::command::Command;
use allod_core::receipt::Outcome;
use allod_core::refusal::Refusal;
use allod_core::view;
use allod_edge::{Call, Problem, Reply};
use allod_engine::CommitPoint;
use http::StatusCode;
use tokio::task::JoinSet;

use crate::pools::wrong_outcome;
use crate::query::QueryParams;
use crate::to_wire::ReasonDetail;
use crate::waiters::WaitKey;
use crate::wire::{
    EmptyBody, FindingClassName, NameText, SettleActionName, SettleAnswer, SettleBody,
    UnsettledAnswer, UuidText,
};
use crate::{Native, authorities, prefer, to_wire};

/// How many findings of a class are settled at a time.
const PARALLEL: usize = 64;

/// Requests a reconciliation, and waits for its findings unless the client prefers otherwise.
pub(crate) async fn post(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let wait = prefer::wait(&call)?;
    let authority: Arc<str> = call.param(0)?.into();
    let EmptyBody {} = call.json()?;
    let request = ReconcileCommand::Request { authority: authority.clone() };
    let command = Command::Authority(AuthorityCommand::Reconcile(request));
    let (receipt, _) = native.submit_alone(command).await?;
    let Some(Outcome::Reconciling { number }) = receipt.outcomes.first() else {
        return Err(wrong_outcome());
    };
    let limit = Duration::from_millis(native.waiters.limits().wait_ms_max);
    let is_pending = |last: &Reconciliation| last.number == *number && last.is_wanted();
    let found = wait_while(&native, &authority, wait.unwrap_or(limit), is_pending).await?;
    let (last, at) = found;
    let last = last.ok_or_else(|| authorities::unknown(&authority, &at))?;
    let detail = ReasonDetail::of(&call);
    let failure = to_wire::reconcile::failure(&last, detail);
    let reply = match failure.filter(|_| !is_pending(&last)) {
        Some(why) => {
            let detail = format!("authority '{authority}' could not be listed: {why}");
            let problem = Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "reconciliation_failed",
                "the reconciliation failed",
                detail,
            );
            to_wire::at_position(problem.retry_after(10).reply(), &at)
        }
        None => {
            let status = if is_pending(&last) { StatusCode::ACCEPTED } else { StatusCode::OK };
            shown(status, &authority, &last, &at, detail)
        }
    };
    Ok(prefer::applied(reply, wait, native.waiters.limits().wait_ms_max))
}

/// The last reconciliation; with `Prefer: wait` once it has ended.
pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let wait = prefer::wait(&call)?;
    let authority: Arc<str> = call.param(0)?.into();
    native.wait_for_position(&call).await?;
    let (is_known, at) = native.read(|snapshot| {
        (view::authority::authority(snapshot.state, &authority).is_some(), snapshot.at)
    })?;
    if !is_known {
        return Err(authorities::unknown(&authority, &at));
    }
    let wait = wait.unwrap_or_default();
    let (last, at) = wait_while(&native, &authority, wait, Reconciliation::is_wanted).await?;
    let Some(last) = last else {
        let problem = Problem::new(
            StatusCode::NOT_FOUND,
            "reconciliation_unknown",
            "the authority has not been reconciled",
            format!("authority '{authority}' has not been reconciled yet"),
        );
        return Err(to_wire::at_position(problem.reply(), &at));
    };
    Ok(shown(StatusCode::OK, &authority, &last, &at, ReasonDetail::of(&call)))
}

fn shown(
    status: StatusCode,
    authority: &str,
    last: &Reconciliation,
    at: &CommitPoint,
    detail: ReasonDetail,
) -> Reply {
    to_wire::json(status, &to_wire::reconcile::reconciliation(authority, last, detail), at)
}

/// Reads the last reconciliation; with `wait`, as soon as it is not pending any more, or after that time.
async fn wait_while(
    native: &Native,
    authority: &Arc<str>,
    wait: Duration,
    is_pending: impl Fn(&Reconciliation) -> bool,
) -> Result<(Option<Arc<Reconciliation>>, CommitPoint), Reply> {
    let mut waiter = native.waiters.join(WaitKey::Reconciliation(authority.clone()), wait);
    loop {
        let (last, at) = native.read(|snapshot| {
            let last = view::authority::reconciliation(snapshot.state, authority).cloned();
            (last, snapshot.at)
        })?;
        let pending = last.as_deref().is_some_and(&is_pending);
        match waiter.take().filter(|_| pending) {
            None => return Ok((last, at)),
            Some(waiting) => waiter = waiting.changed().await.then_some(waiting),
        }
    }
}

pub(crate) async fn settle(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let authority: Arc<str> = call.param(0)?.into();
    let body: SettleBody = call.json()?;
    let (last, at) = native.read(|snapshot| {
        let known = view::authority::authority(snapshot.state, &authority);
        (known.map(|known| known.reconciliation.clone()), snapshot.at)
    })?;
    let last = last.ok_or_else(|| authorities::unknown(&authority, &at))?;
    let findings = last.map(|last| last.findings.clone()).unwrap_or_default();
    match (body.reference, body.all, body.class) {
        (Some(UuidText(reference)), false, None) => {
            let action = action(&body, &findings, reference)?;
            let command = command(&authority, reference, action);
            let (_, at) = native.submit_alone(command).await?;
            Ok(to_wire::json(StatusCode::OK, &SettleAnswer { settled: 1, refused: vec![] }, &at))
        }
        (None, true, Some(class)) => {
            let mut wanted = Vec::new();
            for reference in references(&findings, class) {
                wanted.push((reference, action(&body, &findings, reference)?));
            }
            settle_all(&native, &authority, wanted, at).await
        }
        _ => Err(Problem::malformed(
            "expected either the reference of a finding, or all (true) with a class of findings",
        )
        .into()),
    }
}

fn references(findings: &Findings, class: FindingClassName) -> Vec<Uuid> {
    match class {
        FindingClassName::Orphans => findings.orphans.iter().map(|one| one.reference).collect(),
        FindingClassName::Missing => findings.missing.iter().map(|one| one.reference).collect(),
        FindingClassName::Drifted => findings.drifted.iter().map(|one| one.reference).collect(),
    }
}

fn command(authority: &Arc<str>, reference: Uuid, action: SettleAction) -> Command {
    let settle = ReconcileCommand::Settle { authority: authority.clone(), reference, action };
    Command::Authority(AuthorityCommand::Reconcile(settle))
}

/// The action with what the finding says about pool and key.
fn action(
    body: &SettleBody,
    findings: &Findings,
    reference: Uuid,
) -> Result<SettleAction, Problem> {
    let text = |name: &Option<NameText>| name.as_ref().map(|name| name.0.clone());
    match body.action {
        SettleActionName::Release => Ok(SettleAction::Release),
        SettleActionName::Forget => Ok(SettleAction::Forget),
        SettleActionName::Adopt => {
            let drifted = findings.drifted.iter().find(|one| one.reference == reference);
            let pool = drifted.map(|one| one.pool.clone()).or_else(|| text(&body.pool));
            let pool = pool.ok_or_else(|| {
                Problem::malformed("pool is missing; an orphan is adopted as a claim in a pool")
            })?;
            let key = drifted.map(|one| one.key.clone()).or_else(|| text(&body.key));
            let key = key.unwrap_or_else(|| reference.to_string().into());
            let owner = text(&body.owner).unwrap_or_else(|| key.clone());
            Ok(SettleAction::Adopt { pool, key, owner })
        }
    }
}

async fn settle_all(
    native: &Arc<Native>,
    authority: &Arc<str>,
    wanted: Vec<(Uuid, SettleAction)>,
    mut at: CommitPoint,
) -> Result<Reply, Reply> {
    let mut answer = SettleAnswer { settled: 0, refused: Vec::new() };
    let mut running: JoinSet<Result<(Option<UnsettledAnswer>, CommitPoint), Reply>> =
        JoinSet::new();
    let mut wanted = wanted.into_iter();
    loop {
        while running.len() < PARALLEL
            && let Some((reference, action)) = wanted.next()
        {
            let (native, command) = (native.clone(), command(authority, reference, action));
            running.spawn(async move {
                let decided = native.submit(command).await?;
                let refused = decided.answer.err().map(|refused| {
                    let refusal: Refusal = refused.refusal;
                    let (code, detail) = (refusal.code(), refusal.to_string());
                    UnsettledAnswer { reference: UuidText(reference), code, detail }
                });
                Ok((refused, decided.at))
            });
        }
        let Some(done) = running.join_next().await else { break };
        let (refused, point) = done.map_err(|_| wrong_outcome())??;
        at = if point.position > at.position { point } else { at };
        match refused {
            Some(refused) => answer.refused.push(refused),
            None => answer.settled += 1,
        }
    }
    Ok(to_wire::json(StatusCode::OK, &answer, &at))
}
