//! Reconciliation: differences are found only if two listings show them, and an orphan can be released.

use std::sync::Arc;

use allod_core::authority::command::{AuthorityCommand, ReconcileCommand, SettleAction};
use allod_core::authority::{Reconciliation, ReconciliationState};
use allod_core::command::Command;
use allod_core::view;

use crate::driver::inventory::{Fault, IDEMPOTENT, Inventory};
use crate::driver::world::{World, http};

const ORPHAN: &str = "6f1c2d3e-0000-8000-8000-000000000001";

impl World {
    async fn reconcile(&self, authority: &str) -> Arc<Reconciliation> {
        let request = ReconcileCommand::Request { authority: authority.into() };
        self.submit(Command::Authority(AuthorityCommand::Reconcile(request))).await.unwrap();
        let last = || {
            let last =
                self.read(|state| view::authority::reconciliation(state, authority).cloned());
            last.unwrap()
        };
        assert!(self.reaches(|| last().state != ReconciliationState::Wanted).await);
        last()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_differs_is_found_and_an_orphan_is_released() {
    let inventory = Inventory::start(IDEMPOTENT, 100).await;
    let world = World::new().await;
    world.pool("p", http(&inventory.url)).await;
    for key in ["a", "b", "c", "d"] {
        world.ask("p", key).await;
        assert!(world.reaches(|| world.shown("p", key).starts_with("held")).await);
    }
    inventory.fault("GET", Fault::Status(503, ""));
    let clean = world.reconcile("p").await;
    assert_eq!(
        (clean.state, clean.findings.counts),
        (ReconciliationState::Done, Default::default())
    );

    let reference = |key: &str| world.claim("p", key).unwrap().request.reference;
    inventory.take(ORPHAN, 50);
    inventory.change(&reference("b").to_string(), None);
    inventory.change(&reference("c").to_string(), Some(60));
    let found = world.reconcile("p").await;
    let findings = &found.findings;
    let orphan = &findings.orphans[0];
    assert_eq!(
        (orphan.reference.to_string().as_str(), &*orphan.value, orphan.own),
        (ORPHAN, "50", false)
    );
    assert_eq!((&*findings.missing[0].key, &*findings.missing[0].value), ("b", "2"));
    let drifted = &findings.drifted[0];
    assert_eq!((&*drifted.key, &*drifted.value, &*drifted.seen), ("c", "3", "60"));
    assert_eq!(
        (findings.counts.orphans, findings.counts.missing, findings.counts.drifted),
        (1, 1, 1)
    );

    let settle = ReconcileCommand::Settle {
        authority: "p".into(),
        reference: ORPHAN.parse().unwrap(),
        action: SettleAction::Release,
    };
    world.submit(Command::Authority(AuthorityCommand::Reconcile(settle))).await.unwrap();
    let is_gone = || !inventory.grants().iter().any(|(reference, _)| reference == ORPHAN);
    assert!(world.reaches(is_gone).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_that_fails_has_a_reason() {
    let inventory = Inventory::start(IDEMPOTENT, 100).await;
    let world = World::new().await;
    world.pool("p", http(&inventory.url)).await;
    world.ask("p", "a").await;
    world.until("p", "a", "held 1").await;
    inventory.always(Some(Fault::Status(500, "")));
    let failed = world.reconcile("p").await;
    assert_eq!(failed.state, ReconciliationState::Failed);
    assert_eq!(failed.reason.as_deref(), Some("answered 500"));
    inventory.always(Some(Fault::Status(501, "")));
    let failed = world.reconcile("p").await;
    assert_eq!(failed.reason.as_deref(), Some("the authority cannot list its grants"));
}
