//! Every consumer of some providers, on either side, once.
//!
//! Placement has no list of consumers: they are found through the providers that they hold something of. What is kept is
//! the uuid of each, so that one that holds something of several providers is met once.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use allod_core::capacity::Uuid;

use super::id::Id;
use super::progress::Phase;
use super::side::Side;
use super::{Ends, parallel};
use crate::failed::Failed;

/// So many providers are looked at before their consumers are gone through.
const PROVIDERS_AT_A_TIME: usize = 64;

/// What has been met, and what has not been gone through yet.
#[derive(Debug, Default)]
struct Met {
    all: HashSet<Id>,
    fresh: Vec<Id>,
}

pub async fn each_consumer<F>(
    ends: &Arc<Ends>,
    providers: &[Uuid],
    phase: &Arc<Phase>,
    work: impl Fn(Id) -> F,
) -> Result<(), Failed>
where
    F: Future<Output = Result<(), Failed>> + Send + 'static,
{
    let met: Arc<Mutex<Met>> = Arc::default();
    for some in providers.chunks(PROVIDERS_AT_A_TIME) {
        parallel::each(ends.jobs, some.iter().copied(), |uuid| {
            let (ends, met, phase) = (ends.clone(), met.clone(), phase.clone());
            async move {
                // The source first, because it is its spelling that counts.
                meet(&ends.source, uuid, &met).await?;
                meet(&ends.target.side, uuid, &met).await?;
                phase.one();
                Ok(())
            }
        })
        .await?;
        let fresh = {
            let mut met = met.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut met.fresh)
        };
        parallel::each(ends.jobs, fresh, |id| {
            phase.still();
            work(id)
        })
        .await?;
    }
    Ok(())
}

async fn meet(side: &Side, provider: Uuid, met: &Mutex<Met>) -> Result<(), Failed> {
    side.consumers(provider, |id| {
        let mut met = met.lock().unwrap_or_else(PoisonError::into_inner);
        if met.all.insert(id.clone()) {
            met.fresh.push(id);
        }
    })
    .await
}
