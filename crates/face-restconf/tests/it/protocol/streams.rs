//! Event streams: live, from the journal, and their limits.

use allod_edge::{Body, Guard};
use allod_engine::Config;
use allod_face_restconf::RestconfSettings;
use http_body_util::BodyExt;

use crate::protocol::{Server, parse};

#[tokio::test]
async fn a_stream_beyond_the_limit_is_503_until_another_one_closes() {
    let settings = RestconfSettings { restconf_streams_max: 1, ..RestconfSettings::default() };
    let server = Server::start(settings, Guard::Disabled).await;
    let open = server.app.answer(parse("GET /restconf/streams/toy/json")).await;
    assert_eq!(open.status(), 200);
    let (head, body) = server.ask("GET /restconf/streams/toy/json").await;
    assert!(head.starts_with("503") && head.contains("retry-after: 5"), "{head}");
    assert!(body.contains("restconf_streams_max is 1"), "{body}");
    drop(open);
    assert_eq!(server.app.answer(parse("GET /restconf/streams/toy/json")).await.status(), 200);
}

/// An open stream.
struct Reader(Body);

impl Reader {
    async fn open(server: &Server, path: &str) -> Reader {
        let reply = server.app.answer(parse(&format!("GET {path}"))).await;
        assert_eq!(reply.status(), 200);
        Reader(reply.into_body())
    }

    async fn next(&mut self) -> Option<String> {
        let frame = self.0.frame().await?.unwrap();
        Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
    }
}

async fn open_shop(server: &Server) {
    server.ask("PUT /restconf/data/toy:shop\n{\"toy:shop\":{\"motto\":\"m\"}}").await;
}

async fn draw(server: &Server, customer: &str) {
    let input = format!("{{\"input\":{{\"customer\":\"{customer}\"}}}}");
    let (head, _) = server.ask(&format!("POST /restconf/operations/toy:draw\n{input}")).await;
    assert!(head.starts_with("200"), "{head}");
}

#[tokio::test]
async fn events_are_sent_live_without_gaps() {
    let server = Server::start(RestconfSettings::default(), Guard::Disabled).await;
    open_shop(&server).await;
    let mut reader = Reader::open(&server, "/restconf/streams/allod/json").await;
    assert_eq!(reader.next().await.unwrap(), ": nothing new\n\n");
    for (number, customer) in [(1, "ann"), (2, "bob"), (3, "cem")] {
        draw(&server, customer).await;
        let event = reader.next().await.unwrap();
        let text = format!("\"toy:drawn\":{{\"customer\":\"{customer}\",\"number\":{number}}}");
        assert!(event.contains(&text) && event.starts_with("id: "), "{event}");
    }
}

/// An engine that retains only the newest record in memory.
async fn forgetful() -> Server {
    let config = Config { feed_bytes_max: 1, ..Config::default() };
    let server = Server::start_with(RestconfSettings::default(), Guard::Disabled, config).await;
    open_shop(&server).await;
    server
}

#[tokio::test]
async fn a_stream_that_falls_behind_reads_the_journal() {
    let server = forgetful().await;
    let mut reader = Reader::open(&server, "/restconf/streams/toy/json").await;
    for customer in ["ann", "bob", "cem"] {
        draw(&server, customer).await;
    }
    let mut seen = String::new();
    while !seen.contains("nothing new") {
        seen.push_str(&reader.next().await.unwrap());
    }
    for customer in ["ann", "bob", "cem"] {
        assert_eq!(seen.matches(customer).count(), 1, "{seen}");
    }
}

#[tokio::test]
async fn a_stream_that_falls_behind_a_trimmed_journal_reports_an_error() {
    let server = forgetful().await;
    let mut reader = Reader::open(&server, "/restconf/streams/toy/json").await;
    for customer in ["ann", "bob", "cem"] {
        draw(&server, customer).await;
    }
    server.trim(4);
    let text = reader.next().await.unwrap();
    assert!(text.starts_with(": error: events of that time have been trimmed"), "{text}");
    assert_eq!(reader.next().await, None);
}

#[tokio::test]
async fn a_silent_stream_sends_heartbeats() {
    let settings = RestconfSettings { stream_heartbeat_ms: 10, ..RestconfSettings::default() };
    let server = Server::start(settings, Guard::Disabled).await;
    let mut reader = Reader::open(&server, "/restconf/streams/toy/xml").await;
    for _ in 0..3 {
        assert_eq!(reader.next().await.unwrap(), ": nothing new\n\n");
    }
}

#[tokio::test]
async fn each_of_many_streams_gets_its_own_selection() {
    let server = Server::start(RestconfSettings::default(), Guard::Disabled).await;
    open_shop(&server).await;
    let mut readers = Vec::new();
    for n in 0..20 {
        let (path, wanted) = match n % 4 {
            0 => ("toy/json", vec!["\"ann\"", "\"bob\"", "\"cem\""]),
            1 => ("allod/xml", vec![">ann<", ">bob<", ">cem<"]),
            2 => ("toy/json?filter=/toy:drawn[customer='cem']", vec!["\"cem\""]),
            _ => (
                "allod/xml?filter=/toy:drawn[number=2]|/toy:drawn[number=3]",
                vec![">bob<", ">cem<"],
            ),
        };
        let mut reader = Reader::open(&server, &format!("/restconf/streams/{path}")).await;
        assert_eq!(reader.next().await.unwrap(), ": nothing new\n\n");
        readers.push((reader, wanted));
    }
    for customer in ["ann", "bob", "cem"] {
        draw(&server, customer).await;
    }
    for (reader, wanted) in &mut readers {
        let mut seen = String::new();
        while seen.matches("data: ").count() < wanted.len() {
            seen.push_str(&reader.next().await.unwrap());
        }
        let places: Vec<usize> = wanted.iter().map(|text| seen.find(text).unwrap()).collect();
        assert!(places.is_sorted(), "{seen}");
        assert_eq!(seen.matches("id: ").count(), wanted.len(), "{seen}");
    }
}
