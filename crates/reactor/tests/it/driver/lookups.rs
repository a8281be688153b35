//! Look-ups: values stay the same while the authority is down, and changes are noticed.

use std::sync::Arc;

use allod_core::authority::command::{AuthorityCommand, LookUpCommand};
use allod_core::authority::{AuthoritySpec, DriftPolicy, LookUp};
use allod_core::command::{Command, Expect};
use allod_core::view;
use serde_json::json;

use crate::driver::inventory::{Fault, IDEMPOTENT, Inventory};
use crate::driver::world::{World, http};

impl World {
    async fn look_up(&self, authority: &str, key: &str, policy: DriftPolicy) {
        let (authority, key) = (authority.into(), key.into());
        let put = LookUpCommand::Put { authority, key, policy, expect: Expect::Any };
        self.submit(Command::Authority(AuthorityCommand::LookUp(put))).await.unwrap();
    }

    async fn refresh(&self, authority: &str, key: Option<&str>) {
        let (authority, key) = (authority.into(), key.map(Arc::from));
        let refresh = LookUpCommand::Refresh { authority, key };
        self.submit(Command::Authority(AuthorityCommand::LookUp(refresh))).await.unwrap();
    }

    fn fact(&self, authority: &str, key: &str) -> Arc<LookUp> {
        self.read(|state| view::authority::lookup(state, authority, key).cloned()).unwrap()
    }

    /// Waits until a look-up has this state and value.
    async fn until_fact(&self, authority: &str, key: &str, wanted: &str) {
        let shown = || {
            let fact = self.fact(authority, key);
            let value = fact.value.as_deref().unwrap_or_default();
            format!("{} {value}", fact.state.name()).trim_end().to_owned()
        };
        assert!(self.reaches(|| shown() == wanted).await, "{:?}", self.fact(authority, key));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn look_ups_are_resolved_and_changes_are_noticed() {
    let inventory = Inventory::start(IDEMPOTENT, 10).await;
    let world = World::new().await;
    world.define("a", http(&inventory.url)).await;
    inventory.know("r1", json!({"ip": "10.0.0.1", "as": 7}), "1");
    inventory.know("r2", json!("x"), "1");
    world.look_up("a", "r1", DriftPolicy::Pin).await;
    world.look_up("a", "r2", DriftPolicy::Follow).await;
    world.look_up("a", "r3", DriftPolicy::Ask).await;
    world.until_fact("a", "r1", r#"resolved {"as":7,"ip":"10.0.0.1"}"#).await;
    world.until_fact("a", "r2", r#"resolved "x""#).await;
    world.until_fact("a", "r3", "unknown").await;
    inventory.know("r1", json!({"ip": "10.0.0.2", "as": 7}), "2");
    inventory.know("r2", json!("y"), "2");
    inventory.know("r3", json!(null), "1");
    world.refresh("a", None).await;
    world.until_fact("a", "r1", r#"drifted {"as":7,"ip":"10.0.0.1"}"#).await;
    world.until_fact("a", "r2", r#"resolved "y""#).await;
    world.until_fact("a", "r3", "resolved null").await;
    // The members of an object have no order.
    inventory.know("r1", json!({"as": 7, "ip": "10.0.0.1"}), "3");
    world.refresh("a", Some("r1")).await;
    world.until_fact("a", "r1", r#"resolved {"as":7,"ip":"10.0.0.1"}"#).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_stay_while_the_authority_is_down_and_claims_do_not_wait_for_them() {
    let inventory = Inventory::start(IDEMPOTENT, 100).await;
    let world = World::new().await;
    let spec = AuthoritySpec { poll_ms: Some(1000), parallel: 1, ..http(&inventory.url) };
    world.pool("p", spec).await;
    for n in 0..50 {
        let name = format!("r{n}");
        inventory.know(&name, json!(n), "1");
        world.look_up("p", &name, DriftPolicy::Follow).await;
    }
    world.until_fact("p", "r49", "resolved 49").await;
    for n in 0..10 {
        world.ask("p", &format!("k{n}")).await;
    }
    assert!(world.reaches(|| world.held("p").len() == 10).await);
    inventory.always(Some(Fault::Status(503, "")));
    assert!(world.reaches(|| world.fact("p", "r0").reason.is_some()).await);
    assert_eq!(world.fact("p", "r0").value.as_deref(), Some("0"));
    inventory.know("r0", json!("new"), "2");
    inventory.always(None);
    world.until_fact("p", "r0", r#"resolved "new""#).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_without_look_ups_is_not_asked_often() {
    let inventory = Inventory::start(IDEMPOTENT, 100).await;
    let world = World::new().await;
    world.define("a", http(&inventory.url)).await;
    inventory.always(Some(Fault::Status(501, "")));
    inventory.fault("GET", Fault::None);
    world.look_up("a", "r1", DriftPolicy::Pin).await;
    let reason = || world.fact("a", "r1").reason.clone().unwrap_or_default();
    assert!(world.reaches(|| &*reason() == "the authority cannot look up values").await);
    let due_ms = world.fact("a", "r1").due_ms.unwrap();
    assert!(due_ms > world.handle.status().now_ms + 60_000);
}
