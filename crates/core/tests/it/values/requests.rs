//! Commands of the test language for request pools, alarms and the outbox.
//!
//! `idpool p 20-200 [exclude=8-30,20-88] [alarms[=10]]`, `ippool p [nets=10.0.0.0/24,…] [exclude=…] [ranges=a-b] [sequential]
//! [quiet] [alarms]`; `ask p+q k [sync] [id=77] [rr] [odd|even] [svc=/s] [how] [waits]`, `net p k 32 [start=A] [invert]`,
//! `look p+q k …` finds what `ask` or `net` would get, and `seize p+q k …` adds the request only if it is granted;
//! `withdraw p k`, `rmpool p`; `recast p [was=1-9] 2-9` changes a pool with this configuration; `answers p`, `left p`, `alarms`, `outbox`
//! print the state; `done N`, `failed N [again=T]`, `again N`, `forget N` are about a notification by its index in the outbox.
//! Lines with `&` between them are one edit.
//!
//! `idpool p 20-200 external` has an allocator outside, `by=ipam` an authority; `site=acme:vrf` adds a node to a pool or a
//! request. `reply p k 40 [version=N] [seen=N]` and `reply p k no=text` answer a request. `inventory ipam` creates an
//! authority, which answers with `grants p k 40`, `refuses p k`, `stuck p k`, `gone p k`; `external p k` prints its claim.

use std::sync::Arc;

use allod_core::authority::command::{AuthorityCommand, GrantedValue, Report};
use allod_core::authority::{AuthoritySpec, Protocol, RefusalCode};
use allod_core::claim::Parity;
use allod_core::command::{Command, Expect};
use allod_core::outbox::OutboxCommand;
use allod_core::requests::command::{
    EditRequests, FindValue, PutRequestPool, RequestEdit, RequestPoolEdit, RequestsCommand,
};
use allod_core::requests::{
    AddressSupply, AlarmSettings, Allocator, Answer, AnswerRequest, ExcludedIds, Failure, IdSupply,
    Method, Redeploy, Request, RequestPool, Response, SiteNode, SiteNodes, SiteValue, Subnet,
    Supply, Wanted, WantedId, WantedParity, WantedPrefix,
};
use allod_core::span::Span;
use allod_core::state::State;
use allod_core::value::{IpVersion, Kind};
use allod_core::view;

use crate::values::script::{Words, number, text};

pub fn command(state: &State, words: &Words<'_>) -> Option<Command> {
    let put = |put: PutRequestPool| RequestPoolEdit::Put(Box::new(put));
    let plain = PutRequestPool { config: None, replace: false, put: vec![], withdraw: vec![] };
    let edit = |edits: Vec<(Arc<str>, RequestPoolEdit)>| {
        let seen = words.get("seen").map_or(state.position, number);
        RequestsCommand::Edit(EditRequests { seen, seen_all: false, pools: edits })
    };
    let one = |edit_of: RequestPoolEdit| edit(vec![(text(words.plain(0)), edit_of)]);
    let outbox = |command| Some(Command::Outbox(command));
    let notice = || {
        let at = number(words.plain(0)) as usize;
        view::outbox(state).from(0).nth(at).expect("a notice").number
    };
    Some(Command::Requests(match words.verb() {
        "idpool" | "ippool" => one(put(PutRequestPool { config: Some(config(words)), ..plain })),
        "ask" | "net" => {
            let request = (text(words.plain(1)), request(words));
            let pools = words.plain(0).split('+').map(text);
            let asked =
                |name| (name, put(PutRequestPool { put: vec![request.clone()], ..plain.clone() }));
            edit(pools.map(asked).collect())
        }
        // Configures a pool that is as `was=` says, or does not exist.
        "recast" => {
            let was = words.get("was").map(|was| config(&Words::of(&format!("idpool p {was}"))));
            let config = Some(config(&Words::of(&format!("idpool p {}", words.plain(1)))));
            let put = Box::new(PutRequestPool { config, ..plain });
            one(RequestPoolEdit::PutOver(was.map(Arc::new), put))
        }
        "seize" | "look" => {
            let pools = words.plain(0).split('+').map(text).collect();
            let find = FindValue { pools, key: text(words.plain(1)), request: request(words) };
            match words.verb() {
                "seize" => RequestsCommand::Allocate(find),
                _ => RequestsCommand::Find(find),
            }
        }
        // Changes a request that is as `was=` says, or does not exist.
        "over" => {
            let want = |id: &str| {
                Wanted::Id(WantedId { id: Some(number(id) as u32), ..Default::default() })
            };
            let plain = request(words);
            let before =
                words.get("was").map(|id| Arc::new(Request { want: want(id), ..plain.clone() }));
            let after = words.get("id").map(|_| plain);
            one(RequestPoolEdit::Requests(vec![RequestEdit {
                key: text(words.plain(1)),
                before,
                after,
            }]))
        }
        "reply" => {
            let (pool, key) = (text(words.plain(0)), text(words.plain(1)));
            let known = view::requests::request(state, &pool, &key);
            let version = known.map_or(0, |(asked, _)| asked.version);
            let response = match words.get("no") {
                Some(why) => Response::Failed(text(why)),
                None => {
                    let config = view::requests::config(state, &pool).expect("a pool");
                    let value = config.kind().parse(words.plain(2)).expect("a value");
                    Response::Granted(value)
                }
            };
            let version = words.get("version").map_or(version, number);
            let seen = words.get("seen").map(number);
            RequestsCommand::Answer(AnswerRequest { pool, key, version, seen, response })
        }
        "inventory" => {
            let spec = AuthoritySpec::new(Protocol::Http, "http://ipam.example.org");
            let (name, expect) = (text(words.plain(0)), Expect::Any);
            return Some(Command::Authority(AuthorityCommand::Put { name, spec, expect }));
        }
        "grants" | "refuses" | "stuck" | "gone" => {
            let claim = view::authority::claim(state, words.plain(0), words.plain(1));
            let reference = claim.expect("a claim").request.reference;
            let report = match words.verb() {
                "grants" => Report::Granted(GrantedValue {
                    value: text(words.plain(2)),
                    handle: None,
                    version: None,
                    still_held: None,
                }),
                "refuses" => {
                    Report::Refused { code: RefusalCode::Exhausted, reason: "none left".into() }
                }
                "stuck" => Report::Stuck { reason: "no idea".into() },
                _ => Report::Gone,
            };
            return Some(Command::Authority(AuthorityCommand::Report {
                reference,
                version: None,
                report,
            }));
        }
        "withdraw" => one(put(PutRequestPool { withdraw: vec![text(words.plain(1))], ..plain })),
        "rmpool" => one(RequestPoolEdit::Remove),
        "done" => return outbox(OutboxCommand::Delivered { number: notice() }),
        "again" => return outbox(OutboxCommand::Retry { number: notice() }),
        "forget" => return outbox(OutboxCommand::Drop { number: notice() }),
        "failed" => {
            let again_ms = words.get("again").map(|after| state.now_ms + number(after) * 1000);
            let error = "no".into();
            return outbox(OutboxCommand::Failed { number: notice(), error, again_ms });
        }
        _ => return None,
    }))
}

/// Several lines, with `&` between them, as one edit.
pub fn together(state: &State, line: &str) -> Command {
    let edits = line.split('&').map(|line| match command(state, &Words::of(line)) {
        Some(Command::Requests(RequestsCommand::Edit(edit))) => edit,
        _ => panic!("'{line}' is no edit"),
    });
    let together = |mut one: EditRequests, other: EditRequests| {
        one.pools.extend(other.pools);
        one
    };
    Command::Requests(RequestsCommand::Edit(edits.reduce(together).expect("a line")))
}

fn config(words: &Words<'_>) -> RequestPool {
    let list = |name| words.get(name).into_iter().flat_map(|list: &str| list.split(','));
    let percent = |name: &str| words.get(name).map(|text| number(text) as u8);
    let alarms = AlarmSettings {
        enabled: words.has("alarms") || words.get("alarms").is_some(),
        low: percent("alarms"),
        low_odd: percent("odd"),
        low_even: percent("even"),
    };
    let supply = if words.verb() == "idpool" {
        let pair = |text: &str| {
            let (start, end) = text.split_once('-').unwrap_or((text, text));
            (number(start) as u32, number(end) as u32)
        };
        let (start, end) = pair(words.plain(1));
        let excluded = |text| {
            let (start, end) = pair(text);
            ExcludedIds { start, end, flag: None }
        };
        Supply::Ids(IdSupply {
            start,
            end,
            exclude: list("exclude").map(excluded).collect(),
            alarm_base: end - start,
        })
    } else {
        let subnet = |text: &str| {
            let (address, len) = text.split_once('/').expect("a subnet");
            Subnet { address: address_of(address).1, len: number(len) as u8 }
        };
        let range = |text: &str| {
            let (from, to) = text.split_once('-').expect("a range");
            (address_of(from).1, address_of(to).1)
        };
        let has_six = ["nets", "ranges"]
            .iter()
            .any(|name| words.get(name).is_some_and(|list| list.contains(':')));
        Supply::Addresses(AddressSupply {
            version: if has_six { IpVersion::V6 } else { IpVersion::V4 },
            subnets: list("nets").map(subnet).collect(),
            exclude: list("exclude").map(subnet).collect(),
            ranges: list("ranges").map(range).collect(),
            auto_redeploy: words.has("quiet").then_some(false),
            sequential: words.has("sequential").then_some(true),
        })
    };
    let by = words.get("by").map(|name| Allocator::Authority(text(name)));
    let allocator = by.or(words.has("external").then_some(Allocator::External));
    RequestPool { allocator, site: site(words), ..RequestPool::new(supply, alarms) }
}

fn site(words: &Words<'_>) -> SiteNodes {
    let node = |path| SiteNode { path: text(path), value: SiteValue::Text("x".into()) };
    words.get("site").into_iter().map(node).collect()
}

fn address_of(text: &str) -> (IpVersion, u128) {
    IpVersion::split(text.parse().expect("an address"))
}

fn request(words: &Words<'_>) -> Request {
    // A request with a size is for a prefix.
    let size = words.plains().nth(2).and_then(|word| word.parse().ok());
    let want = if let Some(size) = size {
        let (invert, start) = (words.has("invert"), words.get("start").map(address_of));
        Wanted::Prefix(WantedPrefix { size, invert, start })
    } else {
        let parity = |flag, parity| words.has(flag).then_some(WantedParity::Only(parity));
        Wanted::Id(WantedId {
            sync: words.has("sync").then_some(true),
            id: words.get("id").map(|id| number(id) as u32),
            parity: parity("odd", Parity::Odd).or(parity("even", Parity::Even)),
            method: words.has("rr").then_some(Method::RoundRobin),
        })
    };
    Request {
        user: text(words.get("user").unwrap_or("admin")),
        services: words.get("svc").into_iter().flat_map(|all| all.split(',')).map(text).collect(),
        redeploy: [Redeploy::Touch, Redeploy::Whole, Redeploy::Never]
            .into_iter()
            .find(|how| words.has(how.name())),
        sync_alloc: words.has("waits") || matches!(words.verb(), "seize" | "look"),
        want,
        site: site(words),
    }
}

fn value(kind: Kind, value: Span) -> String {
    if kind == Kind::Id32 { value.first.to_string() } else { kind.show(value) }
}

fn answer(state: &State, pool: &str, key: &str) -> String {
    let Some((asked, got)) = view::requests::request(state, pool, key) else {
        return "nothing".into();
    };
    let kind = view::requests::config(state, pool).expect("a pool").kind();
    match (&asked.answer, got) {
        (Answer::Granted, Some(got)) => value(kind, got),
        (Answer::Granted, None) => "lost".into(),
        (Answer::Wanted, None) => "wanted".into(),
        (Answer::Wanted, Some(got)) => format!("wanted, has {}", value(kind, got)),
        (Answer::Failed(Failure::Outside(failure)), _) => {
            format!("! {}: {}", failure.code(), failure.text)
        }
        (Answer::Failed(failure), _) => format!("! {failure:?}"),
    }
}

/// The answer to the request.
pub fn answered(state: &State, words: &Words<'_>, said: String) -> String {
    if said != "written" {
        return said;
    }
    let pools = words.plain(0).split('+');
    pools.map(|pool| answer(state, pool, words.plain(1))).collect::<Vec<_>>().join(" ")
}

/// The found value, written as a prefix in a pool of addresses.
pub fn found(state: &State, words: &Words<'_>, said: String) -> String {
    let Some(config) = view::requests::config(state, words.plain(0)) else { return said };
    let (first, last) = said.split_once('-').unwrap_or((&said, &said));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) => value(config.kind(), Span { first, last }),
        _ => said,
    }
}

pub fn show(state: &State, words: &Words<'_>) -> String {
    match words.verb() {
        "asks" => {
            let claim = view::authority::claim(state, words.plain(0), words.plain(1));
            claim.map_or("none".into(), |claim| {
                let labels =
                    claim.request.labels.iter().map(|(name, value)| format!(" {name}={value}"));
                claim.progress.state.name().to_owned() + &labels.collect::<String>()
            })
        }
        "alarms" => {
            let one = |alarm: &allod_core::alarm::Alarm| {
                let over = if alarm.cleared_ms.is_some() { " over" } else { "" };
                format!("{} {:?}{over}", alarm.object, alarm.kind)
            };
            view::alarms(state).values().map(one).collect::<Vec<_>>().join(", ")
        }
        "outbox" => {
            let one = |notice: &Arc<allod_core::outbox::Notification>| {
                let about = notice.about.iter().map(|(pool, key)| format!("{pool}/{key}"));
                let about = about.collect::<Vec<_>>().join("+");
                let tried = match (notice.attempts, notice.due_ms) {
                    (0, Some(_)) => String::new(),
                    (n, Some(_)) => format!(" tried {n}"),
                    (n, None) => format!(" given up after {n}"),
                };
                let how = match notice.payload.0 {
                    "default" => String::new(),
                    how => format!(" {how}"),
                };
                format!("{} of {about}{how}{tried}", notice.target)
            };
            view::outbox(state).from(0).map(one).collect::<Vec<_>>().join(", ")
        }
        _ => {
            let Some(frozen) = view::requests::frozen(state, words.plain(0)) else {
                return "none".into();
            };
            if words.verb() == "answers" {
                let mut keys: Vec<Arc<str>> =
                    frozen.requests.iter().map(|asked| asked.key.clone()).collect();
                keys.sort();
                let one = |key: &Arc<str>| format!("{key}={}", answer(state, &frozen.name, key));
                return keys.iter().map(one).collect::<Vec<_>>().join(" ");
            }
            let kind = frozen.config.kind();
            if kind == Kind::Id32 {
                return crate::values::blocks::shown(&frozen.free());
            }
            let free = frozen.free();
            let blocks = free.iter().flat_map(|span| span.aligned_blocks(128));
            blocks.map(|block| kind.show(block)).collect::<Vec<_>>().join(",")
        }
    }
}
