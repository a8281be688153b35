//! Finds every consumer of some providers, on either server, once.
//!
//! Placement has no list of consumers: they are found through the providers that they have allocations of. The UUIDs of
//! all consumers stay in memory, so that a consumer of several providers is visited once.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use allod_core::capacity::Uuid;

use crate::consumer_id::ConsumerId;
use crate::error::ImportResult;
use crate::progress::Phase;
use crate::reader::PlacementReader;
use crate::{Import, parallel};

/// How many providers are searched before the consumers found are visited.
const PROVIDERS_AT_A_TIME: usize = 64;

#[derive(Debug, Default)]
struct FoundConsumers {
    all: HashSet<ConsumerId>,
    /// Found and not visited yet.
    unvisited: Vec<ConsumerId>,
}

pub async fn each_consumer<F>(
    import: &Arc<Import>,
    providers: &[Uuid],
    phase: &Arc<Phase>,
    work: impl Fn(ConsumerId) -> F,
) -> ImportResult<()>
where
    F: Future<Output = ImportResult<()>> + Send + 'static,
{
    let found: Arc<Mutex<FoundConsumers>> = Arc::default();
    let jobs = import.options.jobs;
    for some in providers.chunks(PROVIDERS_AT_A_TIME) {
        parallel::each(jobs, some.iter().copied(), |uuid| {
            let (import, found, phase) = (import.clone(), found.clone(), phase.clone());
            async move {
                // The source first: its spelling of the UUID is used.
                search(&import.source, uuid, &found).await?;
                search(&import.target.reader, uuid, &found).await?;
                phase.provider_done();
                Ok(())
            }
        })
        .await?;
        let unvisited = {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut found.unvisited)
        };
        parallel::each(jobs, unvisited, |id| {
            phase.still_working();
            work(id)
        })
        .await?;
    }
    Ok(())
}

async fn search(
    reader: &PlacementReader,
    provider: Uuid,
    found: &Mutex<FoundConsumers>,
) -> ImportResult<()> {
    let each = |id: ConsumerId| {
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.all.insert(id.clone()) {
            found.unvisited.push(id);
        }
    };
    reader.consumers(provider, each).await
}
