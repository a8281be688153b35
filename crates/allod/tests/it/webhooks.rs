//! Notifications of a real server to a webhook: across kills, with retries, and with commands of the operator.
//!
//! In `requests`, services send requests over RESTCONF. Elsewhere the queued notifications are written into the journal
//! beforehand.

mod hook;
mod inventory;
mod outside;
mod requests;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use allod_core::command::Command as CoreCommand;
use allod_core::limits::Limits;
use allod_core::requests::command::{
    EditRequests, PutRequestPool, RequestPoolEdit, RequestsCommand,
};
use allod_core::requests::{
    AlarmSettings, IdSupply, Request, RequestPool, Supply, Wanted, WantedId,
};
use allod_engine::{Config, Engine};
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::Embedded;
use allod_testkit::server::Server;
use hook::{Hook, HookBehaviour};

/// A folder with a server's data, its settings, and notices in its outbox: one for each of these services, in this order.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(services: &[&str], settings: &str) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("allod.toml"), settings).unwrap();
        queue(&folder.path().join("data"), services);
        Folder(folder)
    }

    fn allod(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allod"));
        command.args(arguments).current_dir(self.0.path()).env_clear().stdin(Stdio::null());
        command
    }

    fn serve(&self) -> Server {
        let limits = "outbox_attempts_max=3,outbox_backoff_first_ms=20,outbox_backoff_max_ms=50";
        let start = ["serve", "--listen", "127.0.0.1:0", "--data", "data", "--limit", limits];
        Server::of(self.allod(&start))
    }

    /// Runs a command, and returns its stdout and stderr.
    fn run(&self, server: &Server, arguments: &[&str]) -> String {
        let url = format!("http://{}", server.address);
        let output = self.allod(arguments).env("ALLOD_SERVER", url).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    }
}

fn queue(data: &Path, services: &[&str]) {
    std::fs::create_dir_all(data).unwrap();
    let journal = Arc::new(Embedded::open(data).unwrap().journal);
    let checkpoints = Arc::new(FileCheckpoints::open(data).unwrap());
    let limits = Limits { outbox_max: 100, ..Limits::default() };
    let engine = Engine::start(journal, checkpoints, Config { limits, ..Config::default() });
    let engine = engine.unwrap();
    let handle = engine.handle();
    eventually("the engine is not ready", || handle.status().ready);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let put = |put: PutRequestPool| {
        // No other client edits, so there are no concurrent changes.
        let seen = u64::MAX;
        let pools = vec![("p".into(), RequestPoolEdit::Put(Box::new(put)))];
        let edit = RequestsCommand::Edit(EditRequests { seen, seen_all: false, pools });
        runtime.block_on(handle.submit(CoreCommand::Requests(edit))).unwrap().answer.unwrap();
    };
    let plain = PutRequestPool { config: None, replace: false, put: vec![], withdraw: vec![] };
    let supply = Supply::Ids(IdSupply { start: 1, end: 100, exclude: vec![], alarm_base: 99 });
    let config = Some(RequestPool::new(supply, AlarmSettings::default()));
    put(PutRequestPool { config, ..plain.clone() });
    for (n, service) in services.iter().enumerate() {
        let request = Request {
            user: "admin".into(),
            services: vec![(*service).into()],
            redeploy: None,
            sync_alloc: false,
            want: Wanted::Id(WantedId::default()),
            site: Default::default(),
        };
        put(PutRequestPool { put: vec![(format!("k{n}").into(), request)], ..plain.clone() });
    }
    engine.stop().unwrap();
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn metric(server: &Server, name: &str) -> Option<String> {
    let text = server.get("/metrics").text();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.map(str::to_owned)
}

#[test]
fn a_kill_before_delivery_loses_no_notification_and_keeps_the_order() {
    let hook = Hook::start(HookBehaviour::Silent);
    let folder = Folder::new(&["/s", "/s", "/s", "/t"], &hook.settings());
    let server = folder.serve();
    hook.wait_for("the first of each is sent", |received| received.len() == 2);
    server.kill();
    hook.now(HookBehaviour::Answer(200));
    let server = folder.serve();
    hook.wait_for("all are delivered", |received| received.len() == 6);
    let of = |target: &str| {
        let own = hook.received().into_iter().filter(|received| received.target == target);
        own.map(|received| received.notice).collect::<Vec<String>>()
    };
    let received = of("/s");
    assert!(
        received[0] == received[1] && received[1] < received[2] && received[2] < received[3],
        "{received:?}"
    );
    assert_eq!(of("/t").len(), 2);
    eventually("the outbox is not empty", || {
        server.get("/v1/outbox").text() == r#"{"notices":[],"next":null}"#
    });
    assert_eq!(metric(&server, "allod_notices_delivered_total").as_deref(), Some("4"));
    eventually("the figures are old", || {
        metric(&server, "allod_outbox_notices").as_deref() == Some("0")
    });
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn a_given_up_notification_raises_an_alarm_until_it_is_retried() {
    let hook = Hook::start(HookBehaviour::Answer(500));
    let folder = Folder::new(&["/ncs:services/v:vpn[name='a']", "/other"], &hook.settings());
    let server = folder.serve();
    eventually("they are not given up", || {
        metric(&server, "allod_notices_given_up_total").as_deref() == Some("2")
            && folder.run(&server, &["outbox", "list", "--dead"]).lines().count() == 3
    });
    let listed = folder.run(&server, &["outbox", "list"]);
    let line = listed.lines().find(|line| line.contains("/other")).unwrap();
    assert!(line.contains("  3  given up  answered 500"), "{listed}");
    let number = line.split(' ').next().unwrap();
    let alarms = folder.run(&server, &["alarms"]);
    assert!(alarms.contains("/other") && alarms.contains("undelivered"), "{alarms}");
    eventually("the alarms are not counted", || {
        metric(&server, "allod_alarms{kind=\"undelivered\"}").as_deref() == Some("2")
            && metric(&server, "allod_outbox_dead").as_deref() == Some("2")
    });
    // One is discarded, the other delivered.
    let dropped = folder.run(&server, &["outbox", "drop", number]);
    assert_eq!(dropped, format!("discarded {number}\n"));
    let again = folder.run(&server, &["outbox", "drop", number]);
    assert!(again.contains(&format!("notification {number} is not in the outbox")), "{again}");
    hook.now(HookBehaviour::Answer(204));
    let retried = folder.run(&server, &["outbox", "retry", "--dead"]);
    assert!(retried.starts_with("retrying "), "{retried}");
    eventually("it is not delivered", || {
        folder.run(&server, &["outbox", "list"]).starts_with("no matching notifications")
    });
    assert_eq!(folder.run(&server, &["alarms"]), "no active alarms\n");
    let over = folder.run(&server, &["alarms", "list", "--over", "--kind", "undelivered"]);
    assert_eq!(over.lines().count(), 3, "{over}");
    let purged = folder.run(&server, &["alarms", "purge", "/other", "undelivered"]);
    assert_eq!(purged, "purged alarm undelivered of /other\n");
    assert_eq!(folder.run(&server, &["alarms", "--over"]).lines().count(), 2);
    let purged = folder.run(&server, &["alarms", "purge", "--over"]);
    assert_eq!(purged, "purged alarm undelivered of /ncs:services/v:vpn[name='a']\n");
    assert_eq!(folder.run(&server, &["alarms", "--over"]), "no alarms\n");
}

#[test]
fn a_notification_is_delivered_when_the_endpoint_is_back() {
    let hook = Hook::start(HookBehaviour::Answer(200));
    let (settings, address) = (hook.settings(), hook.address);
    hook.stop();
    let folder = Folder::new(&["/s"], &settings);
    let server = folder.serve();
    eventually("it is not tried", || {
        metric(&server, "allod_notices_failed_total").is_some_and(|count| count != "0")
    });
    let hook = Hook::at(address, HookBehaviour::Answer(200));
    // On a slow machine it may have been given up meanwhile.
    eventually("it is not delivered", || {
        drop(folder.run(&server, &["outbox", "retry", "--dead"]));
        !hook.received().is_empty()
    });
    assert_eq!(hook.received()[0].target, "/s");
}

#[test]
fn a_slow_webhook_does_not_delay_the_stop() {
    let hook = Hook::start(HookBehaviour::Silent);
    let folder = Folder::new(&["/s"], &hook.settings());
    let server = folder.serve();
    hook.wait_for("it is sent", |received| !received.is_empty());
    let began = Instant::now();
    assert_eq!(server.stop().0, Some(0));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn invalid_webhooks_end_the_start() {
    let folder = Folder::new(&[], "[[webhook]]\nurl = \"http://h/{who}\"\n");
    let output = folder.allod(&["serve", "--data", "data"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("unknown placeholder {who}"), "{said}");
}
