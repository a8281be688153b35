//! `allod watch`: follows changes. Reconnects after a lost connection and resumes without gaps or duplicates.

use std::time::Duration;

use allod_core::event::projection::EventKind;
use allod_outbound::HttpAnswer;
use clap::Args;
use http::HeaderName;
use http::header::{ACCEPT, CONTENT_TYPE};

use crate::client::events::{SseMessage, SseReader};
use crate::client::{ApiRequest, Client, with_query};
use crate::connection::ClientArguments;
use crate::error::{CommandError, Result, with_advice};
use crate::output::changes::{ChangeRow, lines};
use crate::output::{OutputFormat, message, print, until_output_closed};

pub const EXAMPLES: &str = "\
Examples:
  allod watch                                     all changes from now on
  allod watch --from 17 --pool vlans              changes of a pool since position 17
  allod watch --kind claim_released -o json       one JSON object per line";

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The server sends a heartbeat every 15 s. After this time without data the connection is lost.
const SILENCE_MAX: Duration = Duration::from_secs(60);
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub struct WatchArguments {
    /// Start after this position [default: now]
    #[arg(long, value_name = "POSITION")]
    from: Option<u64>,

    /// Only changes of this pool; repeatable
    #[arg(long = "pool", value_name = "POOL")]
    pools: Vec<String>,

    /// Only changes of owners whose name starts with this
    #[arg(long, value_name = "PREFIX", visible_alias = "owner")]
    owner_prefix: Option<String>,

    /// Only changes of this provider and its allocations; repeatable
    #[arg(long = "provider", value_name = "UUID")]
    providers: Vec<String>,

    /// Only changes of this consumer; repeatable
    #[arg(long = "consumer", value_name = "UUID")]
    consumers: Vec<String>,

    /// Only events of this kind; repeatable
    #[arg(long = "kind", value_name = "KIND", value_parser = EventKind::ALL.map(EventKind::name))]
    kinds: Vec<String>,

    /// Stop after this many changes
    #[arg(long, value_name = "N")]
    count: Option<u64>,

    #[command(flatten)]
    common: ClientArguments,
}

pub fn run(arguments: WatchArguments) -> Result<()> {
    let common = arguments.common.clone();
    common.run(async move |client, output| {
        let (path, left) = (arguments.path(), arguments.count.unwrap_or(u64::MAX));
        until_output_closed(WatchClient { client, output, path, last: None, left }.run()).await
    })
}

impl WatchArguments {
    fn path(&self) -> String {
        let members = [
            ("from", self.from.iter().map(u64::to_string).collect()),
            ("pool", self.pools.clone()),
            ("owner_prefix", self.owner_prefix.iter().cloned().collect()),
            ("provider", self.providers.clone()),
            ("consumer", self.consumers.clone()),
            ("kind", self.kinds.clone()),
        ];
        let each = |(name, values): (&'static str, Vec<String>)| {
            values.into_iter().map(move |value| (name, value))
        };
        with_query("/v1/watch", members.into_iter().flat_map(each))
    }
}

struct WatchClient<'a> {
    client: &'a Client,
    output: OutputFormat,
    path: String,
    /// The last position received.
    last: Option<String>,
    /// How many more changes to print.
    left: u64,
}

impl WatchClient<'_> {
    async fn run(mut self) -> Result<()> {
        // An error of the first connection ends the command; later ones are retried.
        let mut stream = self.open().await?;
        let mut pause = PAUSE_MIN;
        while self.left > 0 {
            if self.read(&mut stream).await? {
                pause = PAUSE_MIN;
            }
            if self.left > 0 {
                stream = self.reconnect(&mut pause).await?;
            }
        }
        Ok(())
    }

    async fn open(&self) -> Result<HttpAnswer> {
        let mut request = ApiRequest::get(&self.path)
            .header(ACCEPT, "text/event-stream, application/problem+json")?;
        if let Some(last) = &self.last {
            request = request.header(LAST_EVENT_ID, last)?;
        }
        let stream = self.client.begin(&request).await?;
        let kind = stream.headers.get(CONTENT_TYPE).map(|kind| kind.as_bytes());
        if kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
            return Ok(stream);
        }
        Err(CommandError::Failed(with_advice(
            format!("{} did not answer with a stream of events", self.client.server),
            "check --server; perhaps a proxy answered",
        )))
    }

    /// Prints changes until the stream ends. Returns whether anything was received.
    async fn read(&mut self, stream: &mut HttpAnswer) -> Result<bool> {
        let mut reader = SseReader::default();
        let mut any = false;
        // A timeout, an error and the end of the stream are treated alike: the watcher reconnects.
        while let Ok(Some(bytes)) = stream.chunk(SILENCE_MAX).await {
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

    fn show(&mut self, message: SseMessage) -> Result<()> {
        if message.event.is_empty() {
            match (self.output, serde_json::from_str::<ChangeRow>(&message.data)) {
                (OutputFormat::Table, Ok(change)) => print(&lines(&change))?,
                _ => print(&format!("{}\n", message.data))?,
            }
            self.left -= 1;
        }
        self.last = message.id.or(self.last.take());
        Ok(())
    }

    /// Reconnects, retrying without limit. Only a permanent error ends the command.
    async fn reconnect(&mut self, pause: &mut Duration) -> Result<HttpAnswer> {
        let mut reported = false;
        loop {
            tokio::time::sleep(*pause).await;
            *pause = (*pause * 2).min(PAUSE_MAX);
            match self.open().await {
                Ok(stream) => {
                    if reported {
                        message("reconnected");
                    }
                    return Ok(stream);
                }
                Err(CommandError::Failed(error) | CommandError::Unavailable(error)) => {
                    if !reported {
                        let from = self.last.as_deref().unwrap_or("now");
                        message(&format!("connection lost, will resume from {from}: {error:#}"));
                        reported = true;
                    }
                }
                Err(failed) => return Err(failed),
            }
        }
    }
}
