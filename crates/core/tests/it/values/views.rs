//! Lists that change while they are read, and events without a matching claim.

use std::sync::Arc;

use allod_core::claim::Values;
use allod_core::event::{
    ClaimEvent, ClaimGranted, ClaimReleased, Event, IdempotencyEvent, IdempotencyExpired,
    LeaseChanged, PoolEvent, PoolRemoved, QuarantineEnded, ReleaseCause,
};
use allod_core::invariant;
use allod_core::pool::Labels;
use allod_core::span::Span;
use allod_core::state::State;
use allod_core::view::{self, ClaimFilter, NoCursor, Page};

use crate::values::script::{check, play};
use crate::values::world::{World, dump, restored};

/// Reads a list in pages of two claims, with a change after each page.
fn read(
    world: &mut World,
    page: impl Fn(&State, Option<&str>) -> Page<allod_core::receipt::ClaimIn>,
    between: &[&str],
) -> String {
    let mut shown = Vec::new();
    let mut after = None;
    let mut between = between.iter();
    loop {
        let part = page(&world.state, after.as_deref());
        shown.extend(part.items.iter().map(|item| item.claim.key.to_string()));
        if part.next.is_none() {
            return shown.join(" ");
        }
        after = part.next;
        match between.next() {
            Some(&"restart") => world.state = restored(&world.state),
            Some(script) => play(world, script),
            None => {}
        }
    }
}

fn by_value(state: &State, after: Option<&str>) -> Page<allod_core::receipt::ClaimIn> {
    let page = view::claims(state, "p", 0, &ClaimFilter::default(), after, 2);
    page.expect("a cursor of this list").expect("the pool is there")
}

fn by_owner(state: &State, after: Option<&str>) -> Page<allod_core::receipt::ClaimIn> {
    let page = view::claims_by_owner(state, 0, "o", &ClaimFilter::default(), after, 2);
    page.expect("a cursor of this list")
}

const SIX: &str = "
    pool p id32 1-99
    claim p a owner=o
    claim p b owner=o
    claim p c owner=o
    claim p d owner=o
    claim p e owner=o
    claim p f owner=o
    ";

#[test]
fn list_by_value_continues_after_its_cursor() {
    let mut world = check(SIX);
    let seen = read(
        &mut world,
        by_value,
        &["release p b\nrenew p c ttl=9s", "release p e\nclaim p g owner=o value=50", "restart"],
    );
    assert_eq!(seen, "a b c d f g");
}

#[test]
fn list_by_owner_has_every_claim_that_exists_throughout() {
    // Renews claims, moves the claim that was listed last, and adds new ones.
    let mut world = check(SIX);
    let between = [
        "renew p c ttl=9s\nrenew p f ttl=9s",
        "release p d\nclaim p x owner=zz\nclaim p d owner=o value=70",
    ];
    assert_eq!(read(&mut world, by_owner, &between), "a b c d e f d");
    // The claim that was listed last is released.
    let mut world = check(SIX);
    assert_eq!(read(&mut world, by_owner, &["release p b", "release p a"]), "a b c d e f");
    // After a restart from a checkpoint, the claims of the last owner are listed again, then the rest.
    let mut world = check(&format!("{SIX}\nclaim p g owner=oo"));
    assert_eq!(
        read(&mut world, by_owner, &["release p a", "", "restart"]),
        "a b c d e f b c d e f g"
    );
    // Claims in quarantine are skipped.
    let mut world = check(&SIX.replace("1-99", "1-99 quarantine=1h"));
    play(&mut world, "release p a\nrelease p b\nrelease p c\nrelease p d");
    assert_eq!(read(&mut world, by_owner, &[]), "e f");
}

#[test]
fn list_within_many_windows_has_short_pages_and_misses_nothing() {
    let world = check(
        "
        pool p id32 1-99999
        claim p a value=7
        claim p b value=50000
        claim p c value=50001
        claim p d value=99999
        ",
    );
    // Every odd value is a window.
    let windows: Vec<Span> = (0..50_000).map(|n| Span::one(2 * n + 1)).collect();
    let page = |after: Option<&str>, limit| {
        let all = ClaimFilter::default();
        let page = view::claims_within(&world.state, "p", 0, &all, &windows, after, limit);
        page.expect("a cursor of this list").expect("the pool is there")
    };
    for limit in [1, 2, 100] {
        let (mut keys, mut pages, mut after) = (Vec::new(), 0, None);
        loop {
            let part = page(after.as_deref(), limit);
            assert!(part.items.len() <= limit);
            keys.extend(part.items.iter().map(|item| item.claim.key.to_string()));
            pages += 1;
            after = part.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(keys, ["a", "c", "d"], "{limit}");
        assert!((5..=8).contains(&pages), "{limit}: {pages} pages");
    }
    assert_eq!(page(Some("99999"), 1), Page { items: Vec::new(), next: None });
}

#[test]
fn invalid_cursor_is_refused() {
    let world = check(SIX);
    let all = ClaimFilter::default();
    for after in ["", "x", "1.2", "-1", "99999999999999999999999999999999999999999999"] {
        let page = view::claims(&world.state, "p", 0, &all, Some(after), 2);
        assert_eq!(page, Err(NoCursor), "{after}");
    }
    // The last cursor is at another owner, which this list does not have.
    for after in ["", "7", "0.0.o", "-1.0.0.o", "0.0.x.o", "0.0.0.p"] {
        let page = view::claims_by_owner(&world.state, 0, "o", &all, Some(after), 2);
        assert_eq!(page, Err(NoCursor), "{after}");
    }
    let end = u128::MAX.to_string();
    assert_eq!(by_value(&world.state, Some(&end)), Page { items: Vec::new(), next: None });
}

#[test]
fn event_for_a_missing_claim_changes_nothing() {
    let world = check(
        "
        pool p id32 1-9 quarantine=1h
        claim p a -> new 1
        claim p b -> new 2
        release p b
        ",
    );
    let (p, nowhere): (Arc<str>, Arc<str>) = ("p".into(), "nowhere".into());
    let grant = |pool: &Arc<str>, key: &str, value: u128| {
        Event::Claim(ClaimEvent::Granted(ClaimGranted {
            pool: pool.clone(),
            kind: None,
            key: key.into(),
            owner: "x".into(),
            values: Values::one(Span::one(value)),
            version: 9,
            at_ms: 0,
            expires_ms: None,
            labels: Labels::default(),
            params: None,
            cursor: Some(7),
        }))
    };
    let lease = |pool: &Arc<str>, key: &str| {
        let (pool, key) = (pool.clone(), key.into());
        Event::Claim(ClaimEvent::LeaseChanged(LeaseChanged {
            pool,
            key,
            version: 9,
            expires_ms: None,
            was: None,
        }))
    };
    let release = |pool: &Arc<str>, key: &str| {
        Event::Claim(ClaimEvent::Released(ClaimReleased {
            pool: pool.clone(),
            key: key.into(),
            version: 9,
            at_version: 1,
            cause: ReleaseCause::Asked,
            quarantine_until_ms: None,
            was: None,
        }))
    };
    let ended = |pool: &Arc<str>, first: u128| {
        Event::Claim(ClaimEvent::QuarantineEnded(QuarantineEnded {
            pool: pool.clone(),
            first,
            key: None,
            was: None,
        }))
    };
    for event in [
        grant(&nowhere, "x", 5),
        grant(&p, "a", 5),
        grant(&p, "x", 1),
        grant(&p, "x", 2),
        lease(&nowhere, "a"),
        lease(&p, "b"),
        release(&nowhere, "a"),
        release(&p, "b"),
        ended(&nowhere, 2),
        ended(&p, 1),
        ended(&p, 5),
        Event::Pool(PoolEvent::Removed(PoolRemoved {
            pool: nowhere.clone(),
            claims: 0,
            requests: 0,
        })),
        Event::Idempotency(IdempotencyEvent::Expired(IdempotencyExpired { key: nowhere.clone() })),
    ] {
        let mut state = world.state.clone();
        state.apply_entry(0, std::slice::from_ref(&event));
        state.position -= 1;
        assert_eq!(invariant::check(&state), Vec::<String>::new(), "{event:?}");
        assert_eq!(dump(&state), dump(&world.state), "{event:?}");
    }
}
