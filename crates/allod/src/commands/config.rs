//! `allod config`: shows, checks and documents the configuration of a server, without a server.

use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::config::{EffectiveSetting, KEYS, ServeArguments, TABLE_KEYS};
use crate::error::{CommandError, Result};
use crate::limits::AllLimits;
use crate::memory;
use crate::output::table::Table;
use crate::output::{OutputFormat, json as json_output, message, print};
use crate::security::Security;

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Show the settings that `allod serve` would use, and where each was set
    Show(ConfigShowArguments),
    /// Check the configuration that `allod serve` would use
    Check(ServeArguments),
    /// Print the configuration reference as Markdown
    Reference,
}

#[derive(Debug, Args)]
pub struct ConfigShowArguments {
    /// Output format: a table for people, or JSON for scripts
    #[arg(
        long,
        short,
        value_enum,
        value_name = "FORMAT",
        env = "ALLOD_OUTPUT",
        hide_env_values = true,
        default_value_t
    )]
    output: OutputFormat,

    /// Omit settings that have their default
    #[arg(long)]
    said: bool,

    #[command(flatten)]
    serve: ServeArguments,
}

pub fn run(command: ConfigCommand) -> Result<()> {
    match command {
        ConfigCommand::Show(arguments) => show(arguments),
        ConfigCommand::Check(arguments) => {
            let resolved = arguments.resolve().map_err(CommandError::Usage)?;
            tracing_subscriber::EnvFilter::try_new(&resolved.settings.log)
                .with_context(|| format!("log '{}' is invalid", resolved.settings.log))
                .map_err(CommandError::Usage)?;
            Security::open(&resolved.settings).map_err(CommandError::Usage)?;
            resolved.settings.check_secrets().map_err(CommandError::Usage)?;
            message("the configuration is valid");
            Ok(())
        }
        ConfigCommand::Reference => print(&reference()),
    }
}

fn show(arguments: ConfigShowArguments) -> Result<()> {
    let resolved = arguments.serve.resolve().map_err(CommandError::Usage)?;
    let wanted = |row: &&EffectiveSetting| {
        !arguments.said || row.source != crate::config::SettingSource::Default
    };
    let keys = resolved.keys.iter().filter(wanted);
    let limits = resolved.limits.iter().filter(wanted);
    let mut memory = memory::parts(&resolved.settings.limits);
    if arguments.said {
        memory.clear();
    }
    if arguments.output == OutputFormat::Json {
        let row = |row: &EffectiveSetting| {
            (row.name.to_owned(), json!({ "value": row.text, "source": row.source.to_string() }))
        };
        let keys: serde_json::Map<_, _> = keys.map(row).collect();
        let limits: serde_json::Map<_, _> = limits.map(row).collect();
        let mut shown = json!({ "keys": keys, "limits": limits });
        if !memory.is_empty() {
            let memory = memory.iter().map(|part| (part.name.to_owned(), json!(part.bytes)));
            shown["memory"] = memory.collect::<serde_json::Map<_, _>>().into();
        }
        return json_output::print(shown.to_string().as_bytes());
    }
    let mut table = Table::new(&["KEY", "VALUE", "FROM"]);
    for row in keys {
        table.row([row.name.to_owned(), row.text.clone(), row.source.to_string()]);
    }
    for row in limits {
        table.row([format!("limits.{}", row.name), row.text.clone(), row.source.to_string()]);
    }
    for part in memory {
        let bytes = part.bytes.to_string();
        table.row([format!("memory.{}", part.name), bytes, "computed from the limits".to_owned()]);
    }
    table.print()
}

/// The keys of `[[webhook]]`. The parser refuses unknown keys.
const WEBHOOKS: &str = "
## Webhooks

Each `[[webhook]]` table of the file is one webhook. The first whose `match` fits the target delivers a notification.
See [Webhooks](../guides/webhooks.md).

| key | default | description |
|---|---|---|
| `match` | all | Targets of the webhook: a path and everything below it, or a pattern with `*` as wildcard |
| `shape` | `plain` | `plain`: a request as described by these keys; `nso`: a RESTCONF action of the service in NSO |
| `url` |  | `plain`: template of the URL; `nso`: address of the NSO server |
| `method` | `POST` | `plain`: HTTP method |
| `headers` |  | Headers by name; the values are templates |
| `body` | the notification as JSON | `plain`: template of the body |
| `credentials` |  | File with one `user:password` per line for HTTP Basic authentication; read for each request |
| `ca` | the system's certificates | File with the CA certificates to trust for https:// |
| `action` | `reactive-re-deploy` | `nso`: action to call if the request names none |
| `modules` | `{ ncs = \"tailf-ncs\" }` | `nso`: module names of the prefixes in targets |
";

/// `[secrets]` and `[authorities.NAME]`.
const AUTHORITIES: &str = "
## Authorities

`[secrets]` names the passwords and tokens of authorities. `NAME = { file = \"/path\" }` is the contents of a file without
spaces and line breaks at its end; it is read again when it changes. `NAME = { env = \"VARIABLE\" }` is an environment variable
of the server. Secrets are never stored, logged or shown.

Each `[authorities.NAME]` table defines an authority when the server starts. Its keys are those of
`PUT /v1/authorities/{name}`, such as `kind`, `url` and `secret`. See
[External inventories](../guides/external-inventories.md).
";

/// A default in Markdown.
fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

/// The text of `docs/reference/config.md`.
pub fn reference() -> String {
    let mut text = String::from(
        "# Configuration\n\n\
         Generated by `allod config reference`; a test compares it with the program.\n\n\
         Every key is a key of `allod.toml`, a flag of `allod serve` and an environment variable. Precedence: flag, \
         environment, file.\n`allod config show` prints the effective settings and where each was set.\n\n\
         | key | flag | environment | default | description |\n|---|---|---|---|---|\n",
    );
    for key in KEYS {
        let default = code(key.default);
        let choices = match key.choices {
            [] => String::new(),
            choices => format!(" ({})", choices.join(", ")),
        };
        let (name, flag, variable, about) = (key.name, key.flag(), key.variable(), key.about);
        text.push_str(&format!(
            "| `{name}` | `--{flag}` | `{variable}` | {default} | {about}{choices} |\n"
        ));
    }
    text.push_str(
        "\nThe file is the one given with `--config` (`ALLOD_CONFIG`), or else `allod.toml` in the working directory, if it exists.\n\n\
         ## Tables\n\n\
         These keys can be set only in a table of the file, such as `[placement]`. A list may be written as one string with\n\
         commas. `[policy.rules]` replaces default rules by name, as in `\"placement:usages\" = \"@\"`; see\n\
         [Placement](../guides/placement.md). `[restconf]` and `[id_manager]` are explained in\n\
         [RESTCONF](../guides/restconf.md) and [the id-manager](../guides/id-manager.md).\n\n\
         | key | default | description |\n|---|---|---|\n",
    );
    for key in TABLE_KEYS {
        let default = code(key.default);
        text.push_str(&format!("| `{}` | {default} | {} |\n", key.name, key.about));
    }
    text.push_str(WEBHOOKS);
    text.push_str(AUTHORITIES);
    text.push_str(
        "\n\
         ## Limits\n\n\
         Set them in the table `[limits]` of the file, or with `--limit NAME=NUMBER` (`ALLOD_LIMIT`, comma-separated).\n\
         [Operating](../guides/operating.md) describes what happens when each is exceeded.\n\n\
         | limit | default |\n|---|---|\n",
    );
    for (name, value) in AllLimits::default().list() {
        text.push_str(&format!("| `{name}` | {value} |\n"));
    }
    text.push_str(
        "\n## Commands that talk to a server\n\n| flag | environment | default | description |\n|---|---|---|---|\n",
    );
    let command = crate::connection::ClientArguments::augment_args(clap::Command::new("allod"));
    for argument in command.get_arguments() {
        let flag = argument.get_long().unwrap_or_default();
        let variable = argument.get_env().map(|name| name.to_string_lossy()).unwrap_or_default();
        let default = argument.get_default_values().first().map(|value| value.to_string_lossy());
        let default = code(&default.unwrap_or_default());
        let about = argument.get_help().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("| `--{flag}` | `{variable}` | {default} | {about} |\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_document_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/config.md");
        let wanted = reference();
        if std::env::var_os("ALLOD_UPDATE_GOLDEN").is_some() {
            std::fs::write(path, &wanted).unwrap();
        }
        let actual = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(actual, wanted, "run with ALLOD_UPDATE_GOLDEN=1 to update it");
    }
}
