//! `allod watch`: what happens, as it happens. Goes on by itself after a lost connection, without gap or duplicate.

use std::time::Duration;

use allod_face_native::KINDS;
use clap::Args;
use http::HeaderName;
use http::header::{ACCEPT, CONTENT_TYPE};

use super::change::{Change, lines};
use super::{Form, Shown, print, say, while_read};
use crate::client::events::{Message, Reader};
use crate::client::{Ask, Client, Stream, with_query};
use crate::failed::{Failed, advised};

pub const EXAMPLES: &str = "\
Examples:
  allod watch                                     everything from now on
  allod watch --from 17 --pool vlans              what happened to a pool after position 17, and goes on
  allod watch --kind claim_released -o json       one JSON object on each line";

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The server says something at least every quarter of a minute; silence longer than this is a lost connection.
const SILENCE_MAX: Duration = Duration::from_secs(60);
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub struct WatchArguments {
    /// Everything after this position first; from now on when not said
    #[arg(long, value_name = "POSITION")]
    from: Option<u64>,

    /// Only this pool; may be repeated
    #[arg(long = "pool", value_name = "POOL")]
    pools: Vec<String>,

    /// Only owners whose name starts with this
    #[arg(long, value_name = "PREFIX", visible_alias = "owner")]
    owner_prefix: Option<String>,

    /// Only this provider, and what is held of it; may be repeated
    #[arg(long = "provider", value_name = "UUID")]
    providers: Vec<String>,

    /// Only what this consumer holds; may be repeated
    #[arg(long = "consumer", value_name = "UUID")]
    consumers: Vec<String>,

    /// Only this kind of event; may be repeated
    #[arg(long = "kind", value_name = "KIND", value_parser = KINDS)]
    kinds: Vec<String>,

    /// Stop after this many changes
    #[arg(long, value_name = "N")]
    count: Option<u64>,

    #[command(flatten)]
    shown: Shown,
}

pub fn run(arguments: WatchArguments) -> Result<(), Failed> {
    let shown = arguments.shown.clone();
    shown.run(async move |client, form| {
        let (path, left) = (arguments.path(), arguments.count.unwrap_or(u64::MAX));
        while_read(Watch { client, form, path, last: None, left }.go_on()).await
    })
}

impl WatchArguments {
    fn path(&self) -> String {
        let one = |name: &'static str, value: Option<String>| value.map(|value| (name, value));
        let many = |name: &'static str, values: &[String]| -> Vec<(&'static str, String)> {
            values.iter().map(|value| (name, value.clone())).collect()
        };
        let from = one("from", self.from.map(|from| from.to_string()));
        let owner = one("owner_prefix", self.owner_prefix.clone());
        let pairs = from.into_iter().chain(many("pool", &self.pools)).chain(owner);
        let pairs = pairs.chain(many("provider", &self.providers));
        let pairs = pairs.chain(many("consumer", &self.consumers));
        with_query("/v1/watch", pairs.chain(many("kind", &self.kinds)))
    }
}

struct Watch<'a> {
    client: &'a Client,
    form: Form,
    path: String,
    /// The position up to which everything was seen.
    last: Option<String>,
    /// How many changes are still wanted.
    left: u64,
}

impl Watch<'_> {
    /// Shows what comes, until enough has come.
    async fn go_on(mut self) -> Result<(), Failed> {
        // The first attempt tells whether there is a server and whether it likes the question; later ones are patient.
        let mut stream = self.open().await?;
        let mut pause = PAUSE_MIN;
        while self.left > 0 {
            if self.read(&mut stream).await? {
                pause = PAUSE_MIN;
            }
            if self.left > 0 {
                stream = self.again(&mut pause).await?;
            }
        }
        Ok(())
    }

    async fn open(&self) -> Result<Stream, Failed> {
        let mut ask =
            Ask::get(&self.path).header(ACCEPT, "text/event-stream, application/problem+json")?;
        if let Some(last) = &self.last {
            ask = ask.header(LAST_EVENT_ID, last)?;
        }
        let stream = self.client.get_stream(&ask).await?;
        let kind = stream.headers.get(CONTENT_TYPE).map(|kind| kind.as_bytes());
        if kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
            return Ok(stream);
        }
        Err(Failed::Running(advised(
            format!("{} answers, but not with events", self.client.server),
            "is --server right, or is there a proxy in between?",
        )))
    }

    /// Shows what comes until the stream ends; says whether anything came.
    async fn read(&mut self, stream: &mut Stream) -> Result<bool, Failed> {
        let mut reader = Reader::default();
        let mut any = false;
        // Silence, an error and the end are all the same: the stream is over, and is taken up again where it ended.
        while let Ok(Ok(Some(bytes))) = tokio::time::timeout(SILENCE_MAX, stream.chunk()).await {
            for message in reader.feed(&bytes) {
                any = true;
                self.show(message)?;
                if self.left == 0 {
                    return Ok(true);
                }
            }
        }
        Ok(any)
    }

    fn show(&mut self, message: Message) -> Result<(), Failed> {
        if message.event.is_empty() {
            match (self.form, serde_json::from_str::<Change>(&message.data)) {
                (Form::Table, Ok(change)) => print(&lines(&change))?,
                _ => print(&format!("{}\n", message.data))?,
            }
            self.left -= 1;
        }
        self.last = message.id.or(self.last.take());
        Ok(())
    }

    /// Connects again, for as long as it takes. Only an answer that will not change ends it.
    async fn again(&mut self, pause: &mut Duration) -> Result<Stream, Failed> {
        let mut said = false;
        loop {
            tokio::time::sleep(*pause).await;
            *pause = (*pause * 2).min(PAUSE_MAX);
            match self.open().await {
                Ok(stream) => {
                    if said {
                        say("connected again");
                    }
                    return Ok(stream);
                }
                Err(Failed::Running(error) | Failed::Later(error)) => {
                    if !said {
                        let from = self.last.as_deref().unwrap_or("here");
                        say(&format!(
                            "the connection was lost, and goes on from {from} when it can: {error:#}"
                        ));
                        said = true;
                    }
                }
                Err(failed) => return Err(failed),
            }
        }
    }
}
