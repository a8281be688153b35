//! Runs several tasks at a time.

use tokio::task::{JoinError, JoinSet};

use crate::error::{ImportError, ImportErrorKind, ImportResult};

/// Runs `work` for each item, at most `jobs` at a time. Stops at the first error.
pub async fn each<T, F>(
    jobs: usize,
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> F,
) -> ImportResult<()>
where
    F: Future<Output = ImportResult<()>> + Send + 'static,
{
    let mut running = JoinSet::new();
    for item in items {
        if running.len() >= jobs.max(1)
            && let Some(result) = running.join_next().await
        {
            flatten(result)?;
        }
        running.spawn(work(item));
    }
    while let Some(result) = running.join_next().await {
        flatten(result)?;
    }
    Ok(())
}

fn flatten(result: Result<ImportResult<()>, JoinError>) -> ImportResult<()> {
    result.unwrap_or_else(|error| Err(ImportError::new(ImportErrorKind::Failed, error.to_string())))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn at_most_so_many_run_at_a_time_and_an_error_stops_them() {
        let (now, most, all) = (<Arc<AtomicUsize>>::default(), <Arc<AtomicUsize>>::default(), 50);
        let work = |item: usize| {
            let (now, most) = (now.clone(), most.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                now.fetch_sub(1, Ordering::SeqCst);
                let error = || ImportError::new(ImportErrorKind::Failed, "enough");
                if item == 40 { Err(error()) } else { Ok(()) }
            }
        };
        each(4, 0..30, work).await.unwrap();
        assert_eq!(most.load(Ordering::SeqCst), 4);
        assert!(each(4, 0..all, work).await.is_err());
    }
}
