//! The flags of every command that talks to a server: `--server`, `--token`, `--output` and so on.

use std::path::PathBuf;
use std::time::Duration;

use allod_outbound::BaseUrl;
use anyhow::Context;
use clap::Args;

use crate::client::Client;
use crate::error::{CommandError, Result};
use crate::output::{OutputFormat, format, json};

const HEADING: &str = "Connection";

#[derive(Debug, Clone, Args)]
pub struct ConnectionArguments {
    /// URL of the server
    #[arg(long, env = "ALLOD_SERVER", hide_env_values = true, value_name = "URL", default_value = "http://127.0.0.1:8778", help_heading = HEADING)]
    pub server: BaseUrl,

    /// Access token
    #[arg(long, env = "ALLOD_TOKEN", hide_env_values = true, help_heading = HEADING, hide_short_help = true)]
    pub token: Option<String>,

    /// File with the access token; unlike --token, it is not visible in the process list
    #[arg(long, env = "ALLOD_TOKEN_FILE", hide_env_values = true, value_name = "FILE", help_heading = HEADING, hide_short_help = true)]
    pub token_file: Option<PathBuf>,

    /// File with the CA certificates to trust for https:// [default: the system's certificates]
    #[arg(long, env = "ALLOD_CA", hide_env_values = true, value_name = "FILE", help_heading = HEADING, hide_short_help = true)]
    pub ca: Option<PathBuf>,

    /// Maximum time to wait for an answer
    #[arg(long, env = "ALLOD_TIMEOUT", hide_env_values = true, value_name = "TIME", default_value = "60s", value_parser = format::duration, help_heading = HEADING, hide_short_help = true)]
    pub timeout: Duration,

    /// How long to retry while the server answers "try again later"
    #[arg(long, env = "ALLOD_PATIENCE", hide_env_values = true, value_name = "TIME", default_value = "10s", value_parser = format::duration, help_heading = HEADING, hide_short_help = true)]
    pub patience: Duration,
}

impl ConnectionArguments {
    pub fn client(self) -> Result<Client> {
        let token = read_token(self.token, self.token_file)?;
        Client::new(self.server, self.ca.as_deref(), token, self.timeout, self.patience)
    }
}

/// The token itself, or else the one in the file.
pub fn read_token(token: Option<String>, file: Option<PathBuf>) -> Result<Option<String>> {
    match (token.filter(|token| !token.is_empty()), file) {
        (None, Some(path)) => {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read the token file {}", path.display()))
                .map_err(CommandError::Usage)?;
            Ok(Some(text.trim().to_owned()))
        }
        (token, _) => Ok(token),
    }
}

/// The flags of a command that prints an answer of the server.
#[derive(Debug, Clone, Args)]
pub struct ClientArguments {
    /// Output format: a table for people, or the server's JSON for scripts
    #[arg(
        long,
        short,
        value_enum,
        value_name = "FORMAT",
        env = "ALLOD_OUTPUT",
        hide_env_values = true,
        default_value_t
    )]
    pub output: OutputFormat,

    #[command(flatten)]
    pub connection: ConnectionArguments,
}

impl ClientArguments {
    /// Runs a command with a client. With `--output json`, the JSON of an error is printed to stdout as well.
    pub fn run<W>(self, work: W) -> Result<()>
    where
        W: AsyncFnOnce(&Client, OutputFormat) -> Result<()>,
    {
        let output = self.output;
        let client = self.connection.client()?;
        let result = block_on(work(&client, output))?;
        if output == OutputFormat::Json
            && let Err(error) = &result
            && let Some(body) = error.body()
        {
            json::print(body)?;
        }
        result
    }
}

/// Runs a future to its end on the current thread.
pub fn block_on<T>(work: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(CommandError::failed)?.block_on(work))
}
