//! Several requests at a time.

use tokio::task::JoinSet;

use crate::failed::Failed;

/// Does the work for each item, for at most `jobs` of them at a time. Ends with the first failure.
pub async fn each<T, F>(
    jobs: usize,
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> F,
) -> Result<(), Failed>
where
    F: Future<Output = Result<(), Failed>> + Send + 'static,
{
    let mut running = JoinSet::new();
    for item in items {
        if running.len() >= jobs.max(1) {
            ended(running.join_next().await)?;
        }
        running.spawn(work(item));
    }
    while let Some(done) = running.join_next().await {
        ended(Some(done))?;
    }
    Ok(())
}

fn ended(done: Option<Result<Result<(), Failed>, tokio::task::JoinError>>) -> Result<(), Failed> {
    match done {
        None => Ok(()),
        Some(Ok(done)) => done,
        Some(Err(error)) => Err(Failed::Running(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use anyhow::anyhow;

    use super::*;

    #[test]
    fn no_more_than_so_many_at_a_time_and_none_after_a_failure() {
        let (now, most, all) = (<Arc<AtomicUsize>>::default(), <Arc<AtomicUsize>>::default(), 50);
        let work = |item: usize| {
            let (now, most) = (now.clone(), most.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                now.fetch_sub(1, Ordering::SeqCst);
                if item == 40 { Err(Failed::Running(anyhow!("enough"))) } else { Ok(()) }
            }
        };
        let run = |upto: usize| crate::cli::block_on(each(4, 0..upto, work)).unwrap();
        run(30).unwrap();
        assert_eq!(most.load(Ordering::SeqCst), 4);
        assert!(run(all).is_err());
    }
}
