//! After a crash on a journal in a file, everything that was acknowledged is still there.

use std::path::Path;
use std::sync::Arc;

use allod_engine::Clock;
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::embedded::Embedded;
use allod_testkit::transcript::ManualClock;

use crate::id_manager::server::{Server, Setup};

async fn on(folder: &Path, clock: Arc<dyn Clock>) -> Server {
    let journal = Arc::new(Embedded::open(folder).unwrap().journal);
    Server::start(journal, Arc::new(MemoryCheckpoints::new()), clock, &Setup::default()).await
}

/// A copy of the files at this moment, as a crash would leave them.
fn crashed(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
        }
    }
    copy
}

#[tokio::test]
async fn scenarios_64_65_and_87_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::morning();
    let server = on(folder.path(), clock.clone()).await;
    server.call("createIdPool", r#""pool-name":"p","low":0,"high":100"#).await;
    let enhanced = r#""pool-name":"e","low":1,"high":2,"enhanced-id-allocation":true"#;
    server.call("createIdPool", enhanced).await;
    for n in 0..5 {
        assert_eq!(server.allocate("p", &format!("key{n}")).await, Some(n));
    }
    server.call("releaseId", r#""pool-name":"p","id-key":"key3""#).await;
    let lease = r#""pool-name":"e","id-key":"k","id-value":2,"expiration-time-sec":60"#;
    server.call("allocateId", lease).await;
    let whole = "/restconf/config/id-manager:id-pools";
    let before = server.ask("GET", whole, "").await.body;

    let left = crashed(folder.path());
    let again = on(left.path(), clock.clone()).await;
    assert_eq!(again.ask("GET", whole, "").await.body, before);
    for n in [0, 1, 2, 4] {
        assert_eq!(again.allocate("p", &format!("key{n}")).await, Some(n));
    }
    assert_eq!(again.allocate("p", "sixth").await, Some(5));
    assert_eq!(again.allocate("e", "other").await, Some(1));
    assert_eq!(again.allocate("e", "none").await, None);
    again.stop();

    // Time passes while the server is down: expired ids become available.
    clock.wait(60);
    let later = on(left.path(), clock).await;
    assert_eq!(later.allocate("e", "none").await, Some(2));
    assert_eq!(later.allocate("e", "k").await, None);
}
