//! Values have become free: whoever waits for some is answered again, in the order of keys, as long as there is anything to
//! give.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::notices::Told;
use super::turn::{InVain, Open, Opened, answer_all, is_quiet};
use super::{Draft, requests};
use crate::event::Event;
use crate::refusal::Refusal;
use crate::resource::{Answer, Request};
use crate::state::requests::Class;

/// In every pool in which something was released, or that is another than it was.
pub(super) fn run(draft: &mut Draft<'_>, told: &mut Told) -> Result<(), Refusal> {
    let mut pools: BTreeMap<Arc<str>, InVain> = BTreeMap::new();
    for event in &draft.events {
        match event {
            Event::ClaimReleased(event) if !pools.contains_key(&event.pool) => {
                pools.insert(event.pool.clone(), InVain::Silent);
            }
            Event::PoolDefined(event) => {
                pools.insert(event.pool.clone(), InVain::Told);
            }
            _ => {}
        }
    }
    pools.into_iter().try_for_each(|(name, in_vain)| of_pool(draft, &name, in_vain, told))
}

fn of_pool(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    in_vain: InVain,
    told: &mut Told,
) -> Result<(), Refusal> {
    let (mut after, mut hopeless) = (None, Vec::new());
    loop {
        // It may be gone, or not be kept by the resource-manager.
        let Ok((pool, kept)) = requests(draft, name) else { return Ok(()) };
        if pool.free.is_empty() {
            return Ok(());
        }
        let Some((class, key)) = kept.waiting.next(after.as_ref(), &hopeless) else {
            return Ok(());
        };
        after = Some(key.clone());
        let Some(asked) = kept.get(&key) else { continue };
        let before = Some((asked.answer.clone(), None));
        let (request, quiet) = (Request::clone(&asked.request), is_quiet(&kept.config));
        let opened = Opened { request, before, quiet };
        let open = Open::from([(key.clone(), BTreeMap::from([(name.clone(), opened)]))]);
        answer_all(draft, open, &Open::new(), in_vain, told)?;
        let asked = requests(draft, name)?.1.get(&key);
        let in_need = asked.is_some_and(|asked| asked.answer != Answer::Granted);
        if in_need && in_vain == InVain::Silent && class != Class::Own {
            hopeless.push(class);
        }
    }
}
