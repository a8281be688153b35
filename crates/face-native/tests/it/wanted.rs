//! Resource-manager pools for tests. Clients use RESTCONF; tests submit the commands directly, from lines such as
//!
//! ```text
//! wanted pool lan1 1-2       a pool of ids, with alarms
//! wanted ask lan1 a /s1      a request of a service, which is notified of the answer
//! wanted drop lan1           deletes the pool
//! wanted failed 1            the second notice of the outbox failed; with `for good` at the end: it was given up
//! ```

use allod_core::command::Command;
use allod_core::outbox::OutboxCommand;
use allod_core::requests::command::{
    EditRequests, PutRequestPool, RequestPoolEdit, RequestsCommand,
};
use allod_core::requests::{
    AlarmSettings, IdSupply, Request, RequestPool, Supply, Wanted, WantedId,
};
use allod_core::view;
use allod_engine::Handle;

/// Submits the command of the line.
pub async fn tell(handle: &Handle, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let plain = PutRequestPool { config: None, replace: false, put: vec![], withdraw: vec![] };
    let command = match words[..] {
        ["pool", pool, range] => {
            let (start, end) = range.split_once('-').expect("a range");
            let (start, end) = (start.parse().unwrap(), end.parse().unwrap());
            let supply =
                Supply::Ids(IdSupply { start, end, exclude: Vec::new(), alarm_base: end - start });
            let alarms = AlarmSettings { enabled: true, ..AlarmSettings::default() };
            let config = Some(RequestPool::new(supply, alarms));
            edit(pool, RequestPoolEdit::Put(Box::new(PutRequestPool { config, ..plain })))
        }
        ["ask", pool, key, service] => {
            let request = Request {
                user: "admin".into(),
                services: vec![service.into()],
                redeploy: None,
                sync_alloc: false,
                want: Wanted::Id(WantedId::default()),
                site: Default::default(),
            };
            let put = vec![(key.into(), request)];
            edit(pool, RequestPoolEdit::Put(Box::new(PutRequestPool { put, ..plain })))
        }
        ["drop", pool] => edit(pool, RequestPoolEdit::Remove),
        ["failed", place, ref rest @ ..] => {
            let place: usize = place.parse().expect("a place");
            let notice = handle.read(|snapshot| {
                view::outbox(snapshot.state).from(0).nth(place).map(|notice| notice.number)
            });
            let number = notice.unwrap().expect("a notice");
            let soon = handle.status().now_ms + 60_000;
            let again_ms = rest.is_empty().then_some(soon);
            let error = "answered 503".into();
            Command::Outbox(OutboxCommand::Failed { number, error, again_ms })
        }
        _ => panic!("{line}: not known"),
    };
    let reply = handle.submit(command).await.expect("an answer");
    reply.answer.expect("no refusal");
}

fn edit(pool: &str, edit: RequestPoolEdit) -> Command {
    // There are no concurrent edits.
    let seen = u64::MAX;
    let pools = vec![(pool.into(), edit)];
    Command::Requests(RequestsCommand::Edit(EditRequests { seen, seen_all: false, pools }))
}
