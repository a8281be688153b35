//! The driver of external authorities: a real engine, and inventories with faults.

mod inventory;
mod lookups;
mod postgres;
mod reconciliation;
mod world;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use allod_core::authority::{AuthoritySpec, Protocol};
use allod_reactor::authority::{AuthoritySettings, SecretSource, Secrets};

use self::inventory::{Fault, IDEMPOTENT, Inventory, Promises};
use self::world::{World, hasty, http};

const NO_SEARCH: Promises = Promises { find: "none", idempotent: false, parallel: None };
const BY_VALUE: Promises = Promises { find: "value", idempotent: false, parallel: None };
const BY_REFERENCE: Promises = Promises { find: "ref", idempotent: false, parallel: None };

#[tokio::test(flavor = "multi_thread")]
async fn claims_are_granted_and_released() {
    let inventory = Inventory::start(IDEMPOTENT, 100).await;
    let world = World::new().await;
    world.pool("p", http(&inventory.url)).await;
    for n in 0..50 {
        world.ask("p", &format!("k{n}")).await;
    }
    assert!(world.reaches(|| world.held("p").len() == 50).await);
    assert_eq!(world.held("p"), inventory.grants());
    // One for the abilities, and one for each parallel request.
    assert!(inventory.connections() <= 5, "{}", inventory.connections());
    assert!(inventory.most_in_progress() <= 4, "{}", inventory.most_in_progress());
    for n in 0..50 {
        world.release("p", &format!("k{n}")).await;
    }
    assert!(world.reaches(|| inventory.grants().is_empty() && world.held("p").is_empty()).await);
    world.until("p", "k7", "gone").await;
    assert_eq!(inventory.granted(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_a_request_is_resolved() {
    let late = Fault::Late(Duration::from_millis(300));
    for fault in [
        Fault::CutBefore,
        Fault::CutAfter,
        Fault::DoneButError,
        late,
        Fault::Hang,
        Fault::Status(503, ""),
        Fault::Status(429, "Retry-After: 0\r\n"),
        Fault::Status(500, ""),
    ] {
        for promises in [IDEMPOTENT, BY_REFERENCE] {
            let inventory = Inventory::start(promises, 100).await;
            let world = World::new().await;
            world.pool("p", http(&inventory.url)).await;
            inventory.fault("PUT", fault.clone());
            inventory.fault("DELETE", fault.clone());
            world.ask("p", "k").await;
            world.until("p", "k", "held 1").await;
            assert_eq!(world.held("p"), inventory.grants(), "{fault:?} {promises:?}");
            assert_eq!(inventory.granted(), 1, "{fault:?} {promises:?}");
            world.release("p", "k").await;
            world.until("p", "k", "gone").await;
            assert_eq!(inventory.grants(), [], "{fault:?} {promises:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definite_no_is_a_refusal() {
    let inventory = Inventory::start(IDEMPOTENT, 1).await;
    let world = World::new().await;
    world.pool("p", http(&inventory.url)).await;
    inventory.take("other", 1);
    world.ask("p", "a").await;
    world.until("p", "a", "refused exhausted").await;
    world.wish("p", "b", Some("1")).await;
    world.until("p", "b", "refused taken").await;
    assert_eq!(inventory.methods(), "PUT PUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_is_down_costs_few_entries_and_delays_no_other() {
    let down = Inventory::start(IDEMPOTENT, 1000).await;
    let hanging = Inventory::start(IDEMPOTENT, 1000).await;
    let works = Inventory::start(IDEMPOTENT, 1000).await;
    let world = World::new().await;
    world.pool("down", http(&down.url)).await;
    world.pool("hangs", http(&hanging.url)).await;
    world.pool("works", http(&works.url)).await;
    down.always(Some(Fault::Status(503, "")));
    hanging.always(Some(Fault::Hang));
    for n in 0..300 {
        world.ask("down", &format!("k{n}")).await;
        world.ask("hangs", &format!("k{n}")).await;
    }
    let (before, began) = (world.position(), Instant::now());
    for n in 0..20 {
        let key = format!("k{n}");
        world.ask("works", &key).await;
        assert!(world.reaches(|| world.shown("works", &key).starts_with("held")).await);
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // Each grant has two entries; a probe of the others has one, every 50 ms to 100 ms.
    let probes_max = began.elapsed().as_millis() as u64 / 25 + 20;
    let entries = world.position() - before;
    assert!(entries <= 40 + probes_max, "{entries} entries in {:?}", began.elapsed());
    assert!(hanging.most_in_progress() <= 1);
    down.always(None);
    hanging.always(None);
    assert!(world.reaches(|| world.held("down").len() + world.held("hangs").len() == 600).await);
    assert_eq!(world.held("down"), down.grants());
    assert_eq!(world.held("hangs"), hanging.grants());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_asks_to_wait_is_left_alone() {
    let inventory = Inventory::start(IDEMPOTENT, 100).await;
    let world = World::new().await;
    world.pool("p", http(&inventory.url)).await;
    inventory.fault("PUT", Fault::Status(429, "Retry-After: 1\r\n"));
    world.ask("p", "first").await;
    let has_failed = || world.claim("p", "first").is_some_and(|it| it.progress.attempts == 1);
    assert!(world.reaches(has_failed).await);
    let began = Instant::now();
    world.ask("p", "second").await;
    world.until("p", "second", "held 1").await;
    assert!(began.elapsed() > Duration::from_millis(900), "{:?}", began.elapsed());
    world.until("p", "first", "held 2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_adapter_limits_parallel_requests() {
    let one = Promises { parallel: Some(1), ..IDEMPOTENT };
    let inventory = Inventory::start(one, 100).await;
    let world = World::new().await;
    world.pool("p", http(&inventory.url)).await;
    for n in 0..20 {
        world.ask("p", &format!("k{n}")).await;
    }
    assert!(world.reaches(|| world.held("p").len() == 20).await);
    assert_eq!(inventory.most_in_progress(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_cannot_be_searched_for_is_stuck() {
    for fault in [Fault::CutBefore, Fault::CutAfter] {
        let inventory = Inventory::start(NO_SEARCH, 100).await;
        let world = World::new().await;
        world.pool("p", http(&inventory.url)).await;
        inventory.fault("PUT", fault);
        world.ask("p", "k").await;
        world.until("p", "k", "stuck").await;
        assert_eq!(inventory.methods(), "PUT");
        // What was refused for the time being was not done.
        inventory.fault("PUT", Fault::Status(503, ""));
        world.ask("p", "later").await;
        assert!(world.reaches(|| world.shown("p", "later").starts_with("held")).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wished_value_that_is_not_there_is_asked_for_again() {
    let inventory = Inventory::start(BY_VALUE, 100).await;
    let world = World::new().await;
    world.pool("p", http(&inventory.url)).await;
    inventory.fault("PUT", Fault::CutBefore);
    world.wish("p", "k", Some("7")).await;
    world.until("p", "k", "held 7").await;
    assert_eq!(inventory.methods(), "PUT GET PUT");
    // The search shows that the value is held, but not by which claim.
    inventory.fault("PUT", Fault::CutAfter);
    world.wish("p", "other", Some("8")).await;
    world.until("p", "other", "stuck").await;
    assert_eq!(inventory.granted(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_during_a_request_is_resolved_after_the_restart() {
    let late = Fault::Late(Duration::from_millis(300));
    for (promises, fault, wanted) in [
        (IDEMPOTENT, late.clone(), "held 1"),
        (IDEMPOTENT, Fault::Hang, "held 1"),
        (IDEMPOTENT, Fault::CutAfter, "held 1"),
        (BY_REFERENCE, late.clone(), "held 1"),
        (BY_REFERENCE, Fault::Hang, "held 1"),
        (NO_SEARCH, Fault::Hang, "stuck"),
    ] {
        let inventory = Inventory::start(promises, 100).await;
        let world = World::new().await;
        world.pool("p", http(&inventory.url)).await;
        inventory.fault("PUT", fault.clone());
        world.ask("p", "k").await;
        assert!(world.reaches(|| !inventory.log().is_empty()).await);
        let world = world.restart().await;
        world.until("p", "k", wanted).await;
        let grants = inventory.grants();
        assert!(grants.len() <= 1, "{promises:?} {fault:?} {grants:?}");
        assert_eq!(world.held("p"), grants);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_claim_leaves_nothing_behind() {
    let late = Fault::Late(Duration::from_millis(500));
    for promises in [IDEMPOTENT, BY_REFERENCE] {
        for fault in [late.clone(), Fault::Hang, Fault::CutAfter] {
            let inventory = Inventory::start(promises, 100).await;
            let world = World::new().await;
            world.pool("p", http(&inventory.url)).await;
            inventory.fault("PUT", fault.clone());
            inventory.fault("GET", Fault::CutBefore);
            world.ask("p", "k").await;
            assert!(world.reaches(|| !inventory.log().is_empty()).await);
            world.release("p", "k").await;
            world.until("p", "k", "gone").await;
            // A request that was cut off has arrived by then.
            assert_eq!(inventory.grants(), [], "{fault:?} {promises:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_whose_release_is_not_confirmed_is_granted_again_only_if_it_is_gone() {
    let inventory = Inventory::start(IDEMPOTENT, 1).await;
    let world = World::with(
        allod_reactor::ReactorLimits { authority_backoff_first_ms: 60_000, ..hasty() },
        AuthoritySettings::default(),
    )
    .await;
    world.pool("p", http(&inventory.url)).await;
    world.ask("p", "old").await;
    world.until("p", "old", "held 1").await;
    // It is released, but the answer is lost, and the next attempt is far away.
    inventory.fault("DELETE", Fault::DoneButError);
    world.release("p", "old").await;
    let is_retrying = || world.claim("p", "old").is_some_and(|old| old.progress.attempts == 1);
    assert!(world.reaches(is_retrying).await);
    world.ask("p", "new").await;
    world.until("p", "new", "held 1").await;
    world.until("p", "old", "gone").await;
    assert!(inventory.methods().ends_with("PUT GET"), "{}", inventory.methods());
    // This time the authority grants a value that it has not taken back from the other claim.
    let old = inventory.grants()[0].0.clone();
    inventory.fault("DELETE", Fault::Status(503, ""));
    world.release("p", "new").await;
    let is_retrying = || world.claim("p", "new").is_some_and(|new| new.progress.attempts == 1);
    assert!(world.reaches(is_retrying).await);
    inventory.share_values();
    world.ask("p", "third").await;
    world.until("p", "third", "conflict 1").await;
    assert!(inventory.grants().iter().any(|(reference, _)| *reference == old));
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_read_when_they_are_needed_and_never_shown() {
    let inventory = Inventory::start(IDEMPOTENT, 10).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let secrets = [("token".to_owned(), SecretSource::File(file.path().into()))];
    let secrets = Secrets(secrets.into());
    let settings = AuthoritySettings { secrets, ..AuthoritySettings::default() };
    let world = World::with(hasty(), settings).await;
    let with = |secret: &str| AuthoritySpec { secret: Some(secret.into()), ..http(&inventory.url) };
    world.pool("unknown", with("nowhere")).await;
    world.pool("known", with("token")).await;
    world.ask("unknown", "k").await;
    world.ask("known", "k").await;
    let reason = |pool: &str| {
        let claim = world.claim(pool, "k").unwrap();
        claim.progress.reason.as_deref().unwrap_or_default().to_owned()
    };
    assert!(world.reaches(|| reason("unknown").contains("no secret 'nowhere'")).await);
    assert!(world.reaches(|| reason("known").contains("secret 'token' is empty")).await);
    std::fs::write(file.path(), "s3cret\n").unwrap();
    world.until("known", "k", "held 1").await;
    world.define("unknown", with("token")).await;
    world.until("unknown", "k", "held 2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_allowed_servers_are_asked() {
    let inventory = Inventory::start(IDEMPOTENT, 10).await;
    let targets = "localhost,*.example.org".parse().unwrap();
    let settings = AuthoritySettings { targets, ..AuthoritySettings::default() };
    let world = World::with(hasty(), settings).await;
    world.pool("p", http(&inventory.url)).await;
    world.ask("p", "k").await;
    let reason = || world.claim("p", "k").unwrap().progress.reason.clone().unwrap_or_default();
    assert!(world.reaches(|| reason().contains("is not one of the authority_targets")).await);
    assert_eq!(inventory.connections(), 0);
    world.define("p", http(&inventory.url.replace("127.0.0.1", "localhost"))).await;
    world.until("p", "k", "held 1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_be_reached_is_asked_again_once_it_is_there() {
    let world = World::new().await;
    let nowhere = AuthoritySpec::new(Protocol::Http, "http://127.0.0.1:1");
    world.pool("p", nowhere).await;
    world.ask("p", "k").await;
    let reason = || world.claim("p", "k").unwrap().progress.reason.clone().unwrap_or_default();
    assert!(world.reaches(|| reason().contains("cannot connect")).await, "{}", reason());
    let inventory = Inventory::start(IDEMPOTENT, 10).await;
    world.define("p", http(&inventory.url)).await;
    world.until("p", "k", "held 1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_faults_and_restarts_grant_no_value_twice() {
    let inventory = Inventory::start(IDEMPOTENT, 10_000).await;
    let mut world = World::new().await;
    world.pool("p", http(&inventory.url)).await;
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    for round in 0..120 {
        for _ in 0..next(4) {
            let fault = match next(5) {
                0 => Fault::CutBefore,
                1 => Fault::CutAfter,
                2 => Fault::Late(Duration::from_millis(next(200))),
                3 => Fault::Status(503, ""),
                _ => Fault::Status(500, ""),
            };
            let method = ["PUT", "GET", "DELETE"][next(3) as usize];
            inventory.fault(method, fault);
        }
        for _ in 0..4 {
            let key = format!("k{}", next(40));
            // A claim that is being released refuses another one.
            match world.shown("p", &key).as_str() {
                "gone" => world.ask("p", &key).await,
                _ => world.release("p", &key).await,
            }
        }
        if round % 30 == 29 {
            world = world.restart().await;
        }
    }
    let is_settled = || {
        (0..40).all(|n| {
            let shown = world.shown("p", &format!("k{n}"));
            shown == "gone" || shown.starts_with("held")
        })
    };
    assert!(world.reaches(is_settled).await);
    let held = world.held("p");
    assert_eq!(held, inventory.grants());
    let values: BTreeSet<u64> = held.iter().map(|(_, value)| *value).collect();
    assert_eq!(values.len(), held.len());
}
