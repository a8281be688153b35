//! Event streams: as things happen, from the journal, and their limits.

use allod_edge::{Body, Guard};
use allod_engine::Config;
use allod_face_restconf::Settings;
use http_body_util::BodyExt;

use crate::protocol::{Server, parse};

#[tokio::test]
async fn a_stream_too_many_waits_its_turn() {
    let settings = Settings { restconf_streams_max: 1, ..Settings::default() };
    let server = Server::start(settings, Guard::Disabled).await;
    let open = server.app.answer(parse("GET /restconf/streams/toy/json")).await;
    assert_eq!(open.status(), 200);
    let (head, body) = server.ask("GET /restconf/streams/toy/json").await;
    assert!(head.starts_with("503") && head.contains("retry-after: 5"), "{head}");
    assert!(body.contains("restconf_streams_max is 1"), "{body}");
    drop(open);
    assert_eq!(server.app.answer(parse("GET /restconf/streams/toy/json")).await.status(), 200);
}

/// An open stream, and its next piece.
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
async fn events_are_sent_as_they_happen_and_none_is_left_out() {
    let server = Server::start(Settings::default(), Guard::Disabled).await;
    open_shop(&server).await;
    let mut reader = Reader::open(&server, "/restconf/streams/allod/json").await;
    assert_eq!(reader.next().await.unwrap(), ": nothing new\n\n");
    for (number, customer) in [(1, "ann"), (2, "bob"), (3, "cem")] {
        draw(&server, customer).await;
        let event = reader.next().await.unwrap();
        let told = format!("\"toy:drawn\":{{\"customer\":\"{customer}\",\"number\":{number}}}");
        assert!(event.contains(&told) && event.starts_with("id: "), "{event}");
    }
}

/// An engine that keeps only the newest record in memory.
async fn forgetful() -> Server {
    let config = Config { feed_bytes_max: 1, ..Config::default() };
    let server = Server::start_with(Settings::default(), Guard::Disabled, config).await;
    open_shop(&server).await;
    server
}

#[tokio::test]
async fn who_falls_behind_gets_the_rest_from_the_journal() {
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
async fn who_falls_behind_what_is_kept_is_told_so_in_the_stream() {
    let server = forgetful().await;
    let mut reader = Reader::open(&server, "/restconf/streams/toy/json").await;
    for customer in ["ann", "bob", "cem"] {
        draw(&server, customer).await;
    }
    server.trim(4);
    let told = reader.next().await.unwrap();
    assert!(told.starts_with(": error: what happened then is no longer kept"), "{told}");
    assert_eq!(reader.next().await, None);
}

#[tokio::test]
async fn a_quiet_stream_says_so_from_time_to_time() {
    let settings = Settings { stream_heartbeat_ms: 10, ..Settings::default() };
    let server = Server::start(settings, Guard::Disabled).await;
    let mut reader = Reader::open(&server, "/restconf/streams/toy/xml").await;
    for _ in 0..3 {
        assert_eq!(reader.next().await.unwrap(), ": nothing new\n\n");
    }
}

#[tokio::test]
async fn each_of_many_streams_gets_what_it_asked_for_and_no_more() {
    let server = Server::start(Settings::default(), Guard::Disabled).await;
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
