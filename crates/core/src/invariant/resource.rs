//! What must hold of a pool that the resource-manager keeps.

use crate::resource::{Answer, Wanted};
use crate::state::pool::Pool;
use crate::state::requests::Class;

/// Whoever was granted something has it, whoever was not has nothing, and what is free for hosts is what would be.
pub(super) fn check(pool: &Pool) -> Vec<String> {
    let mut wrong = Vec::new();
    if pool.hosts.as_ref().is_some_and(|hosts| !hosts.is_sound(&pool.free)) {
        wrong.push("what is free for hosts is not what is free without lone edges".into());
    }
    let Some(requests) = &pool.requests else { return wrong };
    if *pool.spec != requests.config.spec() {
        wrong.push("its values are not what its configuration says".into());
    }
    for asked in requests.iter() {
        let key = &asked.key;
        let held = pool.held(key).map(|(_, row)| row.first);
        match (&asked.answer, held) {
            (Answer::Granted, None) => wrong.push(format!("'{key}' was granted and has nothing")),
            (Answer::Failed(_), Some(_)) => {
                wrong.push(format!("'{key}' has what it was not granted"))
            }
            _ => {}
        }
        let waits = requests.waiting.has(Class::of(&asked.request), key);
        if waits != (asked.answer != Answer::Granted) {
            wrong.push(format!("'{key}' is not where those wait that have nothing"));
        }
        if let (Wanted::Prefix(want), Some(value)) = (&asked.request.want, held)
            && pool.spec.kind.prefix_len(value) != want.len(pool.spec.kind.width())
        {
            wrong.push(format!("'{key}' has another length than it asked for"));
        }
    }
    let kept = requests.iter().filter(|asked| asked.answer != Answer::Granted).count();
    if kept != requests.waiting.len() {
        wrong.push("more wait than were refused".into());
    }
    wrong
}
