//! Syncs of the bare server: one thread appends 4 KiB and syncs, and all that wait meanwhile share the next sync.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};

use anyhow::Result;
use tokio::sync::oneshot;

#[derive(Debug, Clone)]
pub struct Syncer {
    waiting: Sender<oneshot::Sender<()>>,
}

impl Syncer {
    pub fn start(path: &Path) -> Result<Syncer> {
        let file = File::create(path)?;
        let (waiting, queue) = mpsc::channel();
        std::thread::spawn(move || run(file, &queue));
        Ok(Syncer { waiting })
    }

    /// Waits for a sync that begins after this call.
    pub async fn sync(&self) {
        let (done, wait) = oneshot::channel();
        if self.waiting.send(done).is_ok() {
            // An error means that the sync failed, which the thread has reported.
            let _ = wait.await;
        }
    }
}

fn run(mut file: File, queue: &Receiver<oneshot::Sender<()>>) {
    let block = [7; 4096];
    while let Ok(first) = queue.recv() {
        let waiting: Vec<oneshot::Sender<()>> = queue.try_iter().collect();
        if let Err(error) = file.write_all(&block).and_then(|()| file.sync_data()) {
            eprintln!("the bare server cannot sync: {error}");
            return;
        }
        for done in waiting.into_iter().chain([first]) {
            // The client may have gone.
            let _ = done.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_waiting_claim_gets_its_sync() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("syncs");
        let syncer = Syncer::start(&path).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for _ in 0..3 {
                syncer.sync().await;
            }
        });
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 3 * 4096);
    }
}
