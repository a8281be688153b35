//! Requests that wait for an authority: many at a time, their limits, and the stop of the server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use allod_edge::{App, HttpLimits, Reply};
use allod_engine::{Config, Engine, Handle};
use allod_face_native::{Native, WaitLimits};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use http::Request;
use http_body_util::Full;

use crate::reported;

struct Server {
    app: Arc<App>,
    native: Arc<Native>,
    handle: Handle,
    _engine: Engine,
}

impl Server {
    async fn start(limits: WaitLimits) -> Server {
        let engine = Engine::start(
            Arc::new(MemoryStorage::new().open()),
            Arc::new(MemoryCheckpoints::new()),
            Config::default(),
        );
        let engine = engine.unwrap();
        let handle = engine.handle();
        while !handle.status().ready {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let plain = Default::default();
        let native = Native::new(handle.clone(), Vec::new(), plain, limits, Default::default());
        let app = Arc::new(App::new(native.routes(), HttpLimits::default()).unwrap());
        let server = Server { app, native, handle, _engine: engine };
        for (path, body) in [
            ("/v1/authorities/inventory", r#"{"kind":"http","url":"http://127.0.0.1:9"}"#),
            ("/v1/pools/vlans", r#"{"kind":"id32","authority":"inventory"}"#),
        ] {
            assert_eq!(server.put(path, body, "").await.status(), 201);
        }
        server
    }

    fn put(&self, path: &str, body: &str, prefer: &str) -> impl Future<Output = Reply> + use<> {
        let request = Request::put(path).header("content-type", "application/json");
        let request = request.header("prefer", prefer).body(Full::from(body.to_owned())).unwrap();
        let app = self.app.clone();
        async move { app.answer(request).await }
    }

    fn claim(&self, key: &str, prefer: &str) -> tokio::task::JoinHandle<Reply> {
        tokio::spawn(self.put(&format!("/v1/pools/vlans/claims/{key}"), "{}", prefer))
    }
}

#[tokio::test]
async fn many_requests_wait_and_each_is_answered_by_its_own_report() {
    const MANY: usize = 2000;
    let server = Server::start(WaitLimits::default()).await;
    let waiting: Vec<_> = (0..MANY).map(|n| server.claim(&format!("key-{n}"), "wait=60")).collect();
    // The last first, so that no request is answered by the order.
    for n in (0..MANY).rev() {
        reported::report(&server.handle, &format!("vlans key-{n} granted {}", n + 1)).await;
    }
    for (n, reply) in waiting.into_iter().enumerate() {
        let reply = reply.await.unwrap();
        assert_eq!(reply.status(), 201, "{n}");
        let body = crate::stream::text(reply).await;
        assert!(body.contains(&format!("\"value\":{},", n + 1)), "{body}");
    }
}

#[tokio::test]
async fn wait_is_limited_in_time_and_in_number() {
    let server = Server::start(WaitLimits { wait_ms_max: 400, waiters_max: 1 }).await;
    let began = Instant::now();
    let first = server.claim("first", "wait=3600");
    let reply = first.await.unwrap();
    assert_eq!(reply.status(), 202);
    assert_eq!(reply.headers()["preference-applied"], "wait=0");
    assert!(began.elapsed() >= Duration::from_millis(400));
    let none = Server::start(WaitLimits { wait_ms_max: 60_000, waiters_max: 0 }).await;
    assert_eq!(none.claim("second", "wait=60").await.unwrap().status(), 202);
}

#[tokio::test]
async fn stop_answers_waiting_requests_with_what_is_known() {
    let server = Server::start(WaitLimits::default()).await;
    let waiting: Vec<_> = (0..10).map(|n| server.claim(&format!("key-{n}"), "wait=60")).collect();
    for n in 0..10 {
        reported::reference(&server.handle, "vlans", &format!("key-{n}")).await;
    }
    server.native.stop_waiting();
    for reply in waiting {
        assert_eq!(reply.await.unwrap().status(), 202);
    }
    assert_eq!(server.claim("late", "wait=60").await.unwrap().status(), 202);
}
