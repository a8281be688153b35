//! Formats the answers of the core for the tables.

use allod_core::claim::Values;
use allod_core::command::Command;
use allod_core::receipt::{ClaimIn, Outcome, Receipt};
use allod_core::refusal::{Exhausted, Refusal};
use allod_core::value::Kind;
use allod_core::view::{self, ClaimFilter, Page, ValueView};

use crate::values::script::{Words, number};
use crate::values::world::World;

/// Runs a command and formats the answer.
pub fn of(world: &mut World, command: &Command) -> String {
    let events_before = world.entries.len();
    let ops = match command {
        Command::Transact(transact) => transact.ops.len(),
        Command::PutPool(_) | Command::DeletePool(_) | Command::Tick => 1,
        Command::Capacity(_)
        | Command::Blocks(_)
        | Command::Requests(_)
        | Command::Outbox(_)
        | Command::Alarm(_)
        | Command::Authority(_) => 1,
    };
    match world.run(command) {
        Ok(receipt) if matches!(command, Command::Tick) => {
            assert_eq!(receipt.outcomes, [Outcome::Ticked]);
            let events = world.entries[events_before..].first().copied().unwrap_or(0);
            format!("{events} events")
        }
        Ok(receipt) => outcomes(&receipt),
        Err(refused) => {
            let text = format!("no {}: {}", refused.refusal.code(), refused.refusal);
            let text =
                crate::values::capacity::with_names(&text) + &details(world, &refused.refusal);
            if ops > 1 { format!("no op {}: {}", refused.op, &text[3..]) } else { text }
        }
    }
}

fn outcomes(receipt: &Receipt) -> String {
    let shown: Vec<String> = receipt.outcomes.iter().map(outcome).collect();
    shown.join("; ")
}

fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::PoolPut { created: true, generation } => format!("created {generation}"),
        Outcome::PoolPut { created: false, generation } => format!("generation {generation}"),
        Outcome::PoolDeleted { existed } => format!("deleted {existed}"),
        Outcome::Claimed { claims, created } => {
            let values: Vec<_> = claims.iter().map(|c| values(c.kind, &c.claim.values)).collect();
            format!("{} {}", if *created { "new" } else { "same" }, values.join(" "))
        }
        Outcome::Released { existed } => {
            if *existed {
                "released".into()
            } else {
                "was not held".into()
            }
        }
        Outcome::Leased(claim) => values(claim.kind, &claim.claim.values),
        Outcome::Checked => "holds".into(),
        Outcome::Ticked => "ticked".into(),
        Outcome::Ids(ids) => crate::values::blocks::shown(ids),
        Outcome::BlocksEdited
        | Outcome::RequestsEdited
        | Outcome::NotificationChanged
        | Outcome::AlarmPurged => "written".into(),
        Outcome::Found(Ok(found)) => crate::values::blocks::shown(std::slice::from_ref(found)),
        Outcome::Found(Err((pool, failure))) => format!("! {failure:?} of {pool}"),
        Outcome::AuthorityPut { created: true, generation } => format!("created {generation}"),
        Outcome::AuthorityPut { created: false, generation } => format!("generation {generation}"),
        Outcome::AuthorityDeleted { existed } => format!("deleted {existed}"),
        Outcome::LookUp(look_up) => look_up.state.name().into(),
        Outcome::LookUpDeleted { existed } => format!("deleted {existed}"),
        Outcome::LookUpsRefreshed => "refreshed".into(),
        Outcome::Reconciling { number } => format!("reconciliation {number}"),
        Outcome::External(claim) => claim.progress.state.name().into(),
        Outcome::Reported { look_up: None } => "reported".into(),
        Outcome::Reported { look_up: Some(reference) } => format!("look up {reference}"),
        other => crate::values::capacity::outcome(other),
    }
}

pub fn values(kind: Kind, values: &Values) -> String {
    let shown: Vec<String> = values.spans().map(|span| kind.show(span)).collect();
    shown.join(",")
}

/// The details of a refusal that its sentence does not have.
fn details(world: &World, refusal: &Refusal) -> String {
    match refusal {
        Refusal::PoolExhausted { report, .. } => report_of(world, report),
        Refusal::SyncExhausted { reports } => {
            let of = |(pool, report): &(_, _)| format!(" {pool}{}", report_of(world, report));
            reports.iter().map(of).collect()
        }
        Refusal::HeldOutside { kind, sample, .. } => {
            let sample: Vec<_> =
                sample.iter().map(|(key, span)| format!("{key} {}", kind.show(*span))).collect();
            format!(" [{}]", sample.join(", "))
        }
        Refusal::SyncDiffers { held, .. } => {
            let held: Vec<_> = held
                .iter()
                .map(|(pool, kind, span)| format!("{pool} {}", kind.show(*span)))
                .collect();
            format!(" [{}]", held.join(", "))
        }
        Refusal::ValueQuarantined { until_ms, .. } => format!(" [for {}]", left(world, *until_ms)),
        _ => String::new(),
    }
}

fn report_of(world: &World, report: &Exhausted) -> String {
    let mut parts = Vec::new();
    for (name, count) in [
        ("size", report.size),
        ("held", report.held),
        ("expired", report.expired),
        ("quarantined", report.quarantined),
        ("excluded", report.excluded),
        ("draining", report.draining),
        ("manual", report.manual),
        ("free", report.free),
        ("run", report.longest_run),
    ] {
        if count > 0 {
            parts.push(format!("{name} {count}"));
        }
    }
    parts
        .extend(report.quarantined_until_ms.map(|until| format!("next in {}", left(world, until))));
    parts.extend(report.largest_prefix_len.map(|len| format!("largest /{len}")));
    format!(" [{}]", parts.join(", "))
}

/// How long until then.
fn left(world: &World, at_ms: u64) -> String {
    let ms = i128::from(at_ms) - i128::from(world.now_ms);
    if ms % 1000 == 0 { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}

pub fn usage(world: &World, pool: &str) -> String {
    let Some(view) = view::pool(&world.state, pool, world.now_ms) else { return "none".into() };
    let usage = view.usage;
    let counts = [
        ("size", usage.size),
        ("claims", usage.claims.into()),
        ("held", usage.held),
        ("expired", usage.expired_claims.into()),
        ("quarantined", usage.quarantined),
        ("excluded", usage.excluded),
        ("draining", usage.draining),
        ("draining_held", usage.draining_held),
        ("manual", usage.manual_free),
        ("free", usage.free),
        ("outside", usage.outside_held),
    ];
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    counts.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(" ")
}

pub fn who(world: &World, pool: &str, value: &str) -> String {
    let Some(kind) = world.state.pool(pool).map(|pool| pool.spec.kind) else {
        return "no such pool".into();
    };
    let value = kind.parse(value).expect("a value");
    match view::value(&world.state, pool, value).expect("the pool is there") {
        ValueView::Outside => "outside".into(),
        ValueView::Excluded => "excluded".into(),
        ValueView::Draining => "draining".into(),
        ValueView::Manual => "manual".into(),
        ValueView::Free => "free".into(),
        ValueView::Held(claim) => format!("held {}", claim.claim.key),
        ValueView::Quarantined(claim) => format!("quarantined {}", claim.claim.key),
    }
}

pub fn show(world: &World, pool: &str, key: &str) -> String {
    let Some(claim) = view::claim(&world.state, pool, key) else { return "none".into() };
    let ClaimIn { kind, claim, .. } = claim;
    let mut text = format!("{} by {} v{}", values(kind, &claim.values), claim.owner, claim.version);
    if let Some(at_ms) = claim.expires_ms {
        text += &format!(" lease {}", left(world, at_ms));
    }
    for (key, value) in claim.labels.iter() {
        text += &format!(" {key}:{value}");
    }
    text
}

/// All pages of the claims of a pool.
pub fn list(world: &World, words: &Words<'_>) -> String {
    let pool = words.plain(0);
    let kind = world.state.pool(pool).expect("a pool").spec.kind;
    let filter = ClaimFilter {
        overlaps: words.get("within").map(|text| kind.parse_range(text).expect("a range").0),
        ..filter(words)
    };
    let limit = words.get("page").map_or(100, number) as usize;
    pages(|after| {
        view::claims(&world.state, pool, world.now_ms, &filter, after, limit)
            .expect("a cursor of this list")
            .expect("a pool")
    })
}

/// All pages of the claims of owners.
pub fn owners(world: &World, words: &Words<'_>) -> String {
    let prefix = words.get("prefix").unwrap_or_default();
    let limit = words.get("page").map_or(100, number) as usize;
    let filter = filter(words);
    pages(|after| {
        view::claims_by_owner(&world.state, world.now_ms, prefix, &filter, after, limit)
            .expect("a cursor of this list")
    })
}

fn filter(words: &Words<'_>) -> ClaimFilter {
    ClaimFilter {
        key_prefix: words.get("key").map(str::to_string),
        owner_prefix: words.get("owner").map(str::to_string),
        pool_prefix: words.get("pool").map(str::to_string),
        overlaps: None,
        expired: words.get("expired").map(|text| text == "yes"),
        quarantined: words.has("quarantined"),
    }
}

fn pages(page: impl Fn(Option<&str>) -> Page<ClaimIn>) -> String {
    let mut text = Vec::new();
    let mut after = None;
    loop {
        let Page { items, next } = page(after.as_deref());
        let shown = items
            .iter()
            .map(|item| format!("{}={}", item.claim.key, values(item.kind, &item.claim.values)));
        text.push(shown.collect::<Vec<_>>().join(" "));
        assert!(text.len() < 100, "the pages have no end: {text:?}");
        match next {
            None => return text.join(" | ").trim_end().into(),
            next => after = next,
        }
    }
}

/// All pages of the pools.
pub fn pools(world: &World, words: &Words<'_>) -> String {
    let limit = words.get("page").map_or(100, number) as usize;
    let prefix = words.get("prefix").unwrap_or_default();
    let mut text = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = view::pools(&world.state, world.now_ms, prefix, after.as_deref(), limit);
        text.push(page.items.iter().map(|pool| &*pool.name).collect::<Vec<_>>().join(" "));
        match page.next {
            None => return text.join(" | ").trim_end().into(),
            next => after = next,
        }
    }
}
