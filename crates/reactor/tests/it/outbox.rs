//! Delivery of notifications: in order, at least once, however the receiver behaves.

mod hook;
mod tls;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use allod_core::alarm::AlarmKind;
use allod_core::outbox::{Notification, OutboxCommand};
use allod_core::view;
use allod_reactor::{ChannelId, Delivery, DeliveryOutcome, Reactor, ReactorLimits, Transport};
use hook::{Asked, Hook, Manner};
use world::{World, hasty, plain, webhooks};

fn names(asked: &[Asked]) -> Vec<String> {
    asked.iter().map(|asked| asked.header("allod-notice").to_owned()).collect()
}

#[tokio::test]
async fn service_is_notified_once_for_each_transaction_in_order() {
    let world = World::new().await;
    let hook = Hook::start(|_| Manner::Answer(204)).await;
    world.pool("p").await;
    let reactor = world.react(&plain(&hook.url()), hasty());
    // Two answers for one service in one transaction are one notification.
    world.ask("p", &[("a", "/s1"), ("b", "/s1"), ("c", "/s2")]).await;
    for n in 0..20 {
        world.ask("p", &[(&format!("k{n}"), "/s1")]).await;
    }
    world.empty().await;
    let asked = hook.asked();
    assert_eq!(asked.len(), 22);
    let of = |target: &str| {
        let own = asked.iter().filter(|asked| asked.target() == target);
        own.cloned().collect::<Vec<Asked>>()
    };
    let (first, second) = (of("/s1"), of("/s2"));
    assert_eq!((first.len(), second.len()), (21, 1));
    assert!(first[0].body.contains(
        r#""how":"touch","pools":[{"pool":"p","allocation":"a"},{"pool":"p","allocation":"b"}]"#
    ));
    let delivered: Vec<u64> =
        names(&first).iter().map(|name| name.split_once('-').unwrap().0.parse().unwrap()).collect();
    assert!(delivered.is_sorted(), "{delivered:?}");
    assert_eq!(first[0].header("authorization"), "");
    reactor.stop().await;
}

#[tokio::test]
async fn failed_delivery_is_retried_before_later_ones() {
    let world = World::new().await;
    let mut count = 0;
    let hook = Hook::start(move |_| {
        count += 1;
        match count {
            1 => Manner::Answer(503),
            2 => Manner::HangUp,
            _ => Manner::Answer(200),
        }
    })
    .await;
    world.pool("p").await;
    world.ask("p", &[("a", "/s")]).await;
    world.ask("p", &[("b", "/s")]).await;
    let reactor = world.react(&plain(&hook.url()), hasty());
    world.empty().await;
    let asked = hook.asked();
    let names = names(&asked);
    assert_eq!(names.len(), 4);
    assert!(names[0] == names[1] && names[1] == names[2] && names[2] != names[3], "{names:?}");
    let attempts: Vec<&str> = asked.iter().map(|asked| asked.header("allod-attempts")).collect();
    assert_eq!(attempts, ["0", "1", "2", "0"]);
    reactor.stop().await;
}

#[tokio::test]
async fn delivery_is_given_up_with_an_alarm_and_later_ones_continue() {
    let world = World::new().await;
    let hook = Hook::start(|_| Manner::Answer(500)).await;
    world.pool("p").await;
    world.ask("p", &[("a", "/s")]).await;
    let reactor = world.react(&plain(&hook.url()), hasty());
    let given_up =
        |notices: &[Arc<Notification>]| notices.iter().any(|notice| notice.due_ms.is_none());
    world.until("it is not given up", given_up).await;
    assert_eq!(hook.asked().len(), 3);
    let dead = world.outbox().remove(0);
    assert_eq!(dead.attempts, 3);
    assert_eq!(dead.error.as_deref(), Some("answered 500: what I think of it"));
    let raised = |world: &World| {
        let key = ("/s".into(), AlarmKind::Undelivered);
        world.read(|state| view::alarms(state)[&key].cleared_ms.is_none())
    };
    assert!(raised(&world));
    // Later ones are delivered, and a manual retry delivers this one.
    hook.now(|_| Manner::Answer(200));
    world.ask("p", &[("b", "/s")]).await;
    world.until("the later one is not delivered", |notices| notices.len() == 1).await;
    world.notice(OutboxCommand::Retry { number: dead.number }).await;
    world.empty().await;
    assert!(!raised(&world));
    assert_eq!(names(&hook.asked()).last(), Some(&dead.name()));
    reactor.stop().await;
}

#[tokio::test]
async fn manual_retry_resets_the_attempts_during_an_attempt() {
    let world = World::new().await;
    let mut count = 0;
    let hook = Hook::start(move |_| {
        count += 1;
        match count {
            1 => Manner::Answer(503),
            2 => Manner::Silent,
            _ => Manner::Answer(200),
        }
    })
    .await;
    world.pool("p").await;
    world.ask("p", &[("a", "/s")]).await;
    // The second attempt is the last one.
    let limits = ReactorLimits { outbox_attempts_max: 2, webhook_ms_max: 500, ..hasty() };
    let reactor = world.react(&plain(&hook.url()), limits);
    hook.wait_for(2).await;
    let number = world.outbox()[0].number;
    world.notice(OutboxCommand::Retry { number }).await;
    world.empty().await;
    assert_eq!(hook.asked().len(), 3);
    reactor.stop().await;
}

#[tokio::test]
async fn slow_webhook_delays_neither_others_nor_the_stop() {
    let world = World::new().await;
    let slow = Hook::start(|_| Manner::Silent).await;
    let quick = Hook::start(|_| Manner::Answer(200)).await;
    world.pool("p").await;
    let settings = webhooks(&format!(
        "[[webhook]]\nmatch = \"/slow\"\nurl = \"{}\"\n[[webhook]]\nurl = \"{}\"\n",
        slow.url(),
        quick.url()
    ));
    let limits = ReactorLimits { webhook_parallel_max: 4, webhook_ms_max: 60_000, ..hasty() };
    for n in 0..40 {
        world.ask("p", &[(&format!("s{n}"), &format!("/slow/{n}"))]).await;
    }
    let reactor = world.react(&settings, limits);
    slow.wait_for(4).await;
    let began = Instant::now();
    for n in 0..40 {
        world.ask("p", &[(&format!("q{n}"), &format!("/quick/{n}"))]).await;
    }
    let only_slow = |notices: &[Arc<Notification>]| {
        notices.iter().all(|notice| notice.target.starts_with("/slow"))
    };
    world.until("the quick ones wait", only_slow).await;
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!((quick.asked().len(), slow.asked().len()), (40, 4));
    // A stop does not wait for it either.
    let began = Instant::now();
    reactor.stop().await;
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(world.outbox().len(), 40);
}

#[tokio::test]
async fn notifications_behind_a_full_webhook_are_found() {
    let world = World::new().await;
    let slow = Hook::start(|_| Manner::Silent).await;
    let quick = Hook::start(|_| Manner::Answer(200)).await;
    world.pool("p").await;
    let settings = webhooks(&format!(
        "[[webhook]]\nmatch = \"/slow\"\nurl = \"{}\"\n[[webhook]]\nurl = \"{}\"\n",
        slow.url(),
        quick.url()
    ));
    // More than one scan covers.
    let many: Vec<(String, String)> =
        (0..2500).map(|n| (format!("k{n}"), format!("/slow/{n}"))).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(key, to)| (&**key, &**to)).collect();
    world.ask("p", &many).await;
    let limits = ReactorLimits { webhook_ms_max: 60_000, ..hasty() };
    let reactor = world.react(&settings, limits);
    slow.wait_for(8).await;
    world.ask("p", &[("q", "/quick")]).await;
    assert_eq!(quick.wait_for(1).await[0].target(), "/quick");
    // Later ones are found too: scans start again at the beginning.
    world.ask("p", &[("r", "/quick")]).await;
    quick.wait_for(2).await;
    assert_eq!(slow.asked().len(), 8);
    reactor.stop().await;
}

#[tokio::test]
async fn misbehaving_server_is_a_failed_delivery() {
    let world = World::new().await;
    world.pool("p").await;
    for (manner, words) in [
        (Manner::Silent, "did not answer within 100 ms"),
        (Manner::Endless, "broke: "),
        (
            Manner::Unfinished,
            "answered 200, but the answer is incomplete: it did not end within 100 ms",
        ),
        (Manner::Cut, "answered 200, but the answer is incomplete: the connection broke"),
        (Manner::CutChunks, "answered 200, but the answer is incomplete: the connection broke"),
        (
            Manner::EndlessBody,
            "answered 200, but the answer is incomplete: it is larger than 65536 bytes",
        ),
        (Manner::Answer(302), "answered 302"),
        (Manner::Answer(404), "answered 404: what I think of it"),
    ] {
        let answer = manner.clone();
        let hook = Hook::start(move |_| answer.clone()).await;
        let limits = ReactorLimits { outbox_attempts_max: 1, webhook_ms_max: 100, ..hasty() };
        let limits = match words {
            // These must end without the time limit.
            _ if words.contains("broke") || words.contains("larger") => {
                ReactorLimits { webhook_ms_max: 20_000, ..limits }
            }
            _ => limits,
        };
        let reactor = world.react(&plain(&hook.url()), limits);
        world.ask("p", &[(&format!("{manner:?}"), "/s")]).await;
        world.until("it is not given up", |all| all.iter().any(|one| one.due_ms.is_none())).await;
        let dead = world.outbox().remove(0);
        assert!(dead.error.as_ref().unwrap().contains(words), "{dead:?}");
        world.notice(OutboxCommand::Drop { number: dead.number }).await;
        reactor.stop().await;
    }
    // No server at all.
    let reactor = world.react(&plain("http://127.0.0.1:1/"), hasty());
    world.ask("p", &[("absent", "/s")]).await;
    world.until("it is not tried", |all| all.iter().any(|one| one.attempts > 0)).await;
    assert!(world.outbox()[0].error.as_ref().unwrap().contains("cannot be reached"));
    reactor.stop().await;
}

#[tokio::test]
async fn incomplete_success_is_retried_until_a_complete_one() {
    let world = World::new().await;
    let mut count = 0;
    let hook = Hook::start(move |_| {
        count += 1;
        match count {
            1 => Manner::Cut,
            2 => Manner::CutChunks,
            3 => Manner::EndlessBody,
            _ => Manner::UntilClosed,
        }
    })
    .await;
    world.pool("p").await;
    world.ask("p", &[("a", "/s")]).await;
    let reactor =
        world.react(&plain(&hook.url()), ReactorLimits { outbox_attempts_max: 9, ..hasty() });
    world.empty().await;
    let asked = hook.asked();
    let attempts: Vec<&str> = asked.iter().map(|asked| asked.header("allod-attempts")).collect();
    assert_eq!(attempts, ["0", "1", "2", "3"]);
    assert!(names(&asked).windows(2).all(|two| two[0] == two[1]), "{:?}", names(&asked));
    reactor.stop().await;
}

/// Panics on the first delivery, and then delivers everything.
struct Nervous(AtomicBool);

impl Transport for Nervous {
    fn channels(&self) -> usize {
        1
    }

    fn channel_for(&self, _: &Notification) -> Option<ChannelId> {
        Some(0)
    }

    fn deliver(&self, _: ChannelId, _: Arc<Notification>) -> Delivery {
        assert!(self.0.swap(true, Ordering::Relaxed), "not now");
        Box::pin(async { DeliveryOutcome::Delivered })
    }
}

#[tokio::test]
async fn panic_of_the_transport_is_a_failed_delivery() {
    let world = World::new().await;
    world.pool("p").await;
    world.ask("p", &[("a", "/s")]).await;
    // One at a time, so a slot that is not released would block all others.
    let limits = ReactorLimits { webhook_parallel_max: 1, ..hasty() };
    let transport = Arc::new(Nervous(AtomicBool::new(false)));
    let reactor = Reactor::start(world.handle.clone(), transport, limits);
    world.empty().await;
    world.ask("p", &[("b", "/s"), ("c", "/t")]).await;
    world.empty().await;
    reactor.stop().await;
}

#[tokio::test]
async fn notification_without_a_webhook_is_discarded() {
    let world = World::new().await;
    let hook = Hook::start(|_| Manner::Answer(200)).await;
    world.pool("p").await;
    world.ask("p", &[("a", "/other"), ("b", "/mine")]).await;
    let settings = webhooks(&format!("[[webhook]]\nmatch = \"/mine\"\nurl = \"{}\"\n", hook.url()));
    let reactor = world.react(&settings, hasty());
    world.empty().await;
    assert_eq!(hook.asked().len(), 1);
    reactor.stop().await;
}

#[tokio::test]
async fn invalid_target_is_given_up_at_once() {
    let world = World::new().await;
    let hook = Hook::start(|_| Manner::Answer(200)).await;
    world.pool("p").await;
    world.ask("p", &[("a", "no path"), ("b", "/ncs:services/v:vpn[name='x']")]).await;
    let url = format!("http://{}", hook.address);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "oper:x\nadmin:admin\n").unwrap();
    let settings = format!(
        "[[webhook]]\nshape = \"nso\"\nurl = \"{url}\"\ncredentials = \"{}\"\n",
        file.path().display()
    );
    let reactor = world.react(&webhooks(&settings), hasty());
    world.until("one is left", |all| all.len() == 1 && all[0].due_ms.is_none()).await;
    let dead = world.outbox().remove(0);
    assert_eq!((dead.attempts, &*dead.target), (1, "no path"));
    let asked = hook.asked().remove(0);
    assert_eq!(asked.line, "POST /restconf/data/tailf-ncs:services/v:vpn=x/touch HTTP/1.1");
    assert_eq!(asked.header("authorization"), "Basic YWRtaW46YWRtaW4=");
    reactor.stop().await;
}

#[tokio::test]
async fn restarted_server_continues_deliveries() {
    let world = World::new().await;
    let hook = Hook::start(|_| Manner::Silent).await;
    world.pool("p").await;
    world.ask("p", &[("a", "/s")]).await;
    world.ask("p", &[("b", "/s")]).await;
    let reactor = world.react(&plain(&hook.url()), hasty());
    hook.wait_for(1).await;
    // It was sent, and its outcome is unknown.
    reactor.stop().await;
    world.engine.stop().unwrap();
    hook.now(|_| Manner::Answer(200));
    let world = World::on(world.storage).await;
    let reactor = world.react(&plain(&hook.url()), hasty());
    world.empty().await;
    let names = names(&hook.asked());
    assert_eq!(names.len(), 3);
    assert!(names[0] == names[1] && names[1] != names[2], "{names:?}");
    reactor.stop().await;
}

#[tokio::test]
async fn leader_delivers_and_another_server_takes_over() {
    let first = World::new().await;
    let hook = Hook::start(|_| Manner::Answer(200)).await;
    first.pool("p").await;
    let second = World::on(first.storage.clone()).await;
    // The first server is the leader.
    first.ask("p", &[("a", "/s")]).await;
    second.handle.confirm_tail().await.unwrap();
    assert!(first.handle.leads() && !second.handle.leads());
    let patient = ReactorLimits { outbox_takeover_ms: 700, ..hasty() };
    let began = Instant::now();
    let reactor = second.react(&plain(&hook.url()), patient);
    second.empty().await;
    assert!(began.elapsed() >= Duration::from_millis(400), "it did not wait for the leader");
    assert!(second.handle.leads());
    assert_eq!(hook.asked().len(), 1);
    reactor.stop().await;
}
