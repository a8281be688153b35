//! `allod config`: the settings of a server, where each comes from, and what each means. Speaks to no server.

use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::json;

use super::table::{Side, Table};
use super::{Form, json as json_form, print, say};
use crate::config::{Effective, KEYS, ServeArguments, TABLE_KEYS};
use crate::failed::Failed;
use crate::limits::Limits;
use crate::security::Security;

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// The settings that `allod serve` would use here, and where each was said
    Show(ShowArguments),
    /// Whether `allod serve` would accept its settings
    Check(CheckArguments),
    /// Every key with its default and its meaning, as Markdown
    Reference,
}

#[derive(Debug, Args)]
pub struct ShowArguments {
    /// A table for people, or JSON for scripts
    #[arg(
        long,
        short,
        value_enum,
        value_name = "FORM",
        env = "ALLOD_OUTPUT",
        hide_env_values = true,
        default_value_t
    )]
    output: Form,

    /// Only what was said, not the defaults
    #[arg(long)]
    said: bool,

    #[command(flatten)]
    serve: ServeArguments,
}

#[derive(Debug, Args)]
pub struct CheckArguments {
    #[command(flatten)]
    serve: ServeArguments,
}

pub fn run(command: ConfigCommand) -> Result<(), Failed> {
    match command {
        ConfigCommand::Show(arguments) => show(arguments),
        ConfigCommand::Check(arguments) => {
            let resolved = arguments.serve.resolve().map_err(Failed::Asked)?;
            tracing_subscriber::EnvFilter::try_new(&resolved.settings.log)
                .with_context(|| format!("log '{}' is not understood", resolved.settings.log))
                .map_err(Failed::Asked)?;
            Security::open(&resolved.settings).map_err(Failed::Asked)?;
            say("the settings are fine");
            Ok(())
        }
        ConfigCommand::Reference => print(&reference()),
    }
}

fn show(arguments: ShowArguments) -> Result<(), Failed> {
    let resolved = arguments.serve.resolve().map_err(Failed::Asked)?;
    let wanted = |row: &&Effective| !arguments.said || row.source != crate::config::Source::Default;
    let keys = resolved.keys.iter().filter(wanted);
    let limits = resolved.limits.iter().filter(wanted);
    if arguments.output == Form::Json {
        let row = |row: &Effective| {
            (row.name.to_owned(), json!({ "value": row.text, "source": row.source.to_string() }))
        };
        let keys: serde_json::Map<_, _> = keys.map(row).collect();
        let limits: serde_json::Map<_, _> = limits.map(row).collect();
        return json_form::print(json!({ "keys": keys, "limits": limits }).to_string().as_bytes());
    }
    let mut table = Table::new(&[("KEY", Side::Left), ("VALUE", Side::Left), ("FROM", Side::Left)]);
    for row in keys {
        table.row([row.name.to_owned(), row.text.clone(), row.source.to_string()]);
    }
    for row in limits {
        table.row([format!("limits.{}", row.name), row.text.clone(), row.source.to_string()]);
    }
    table.print()
}

/// What may stand in `[[webhook]]`. Held to the program by how it is read there: what is not known is refused.
const WEBHOOKS: &str = "
## Webhooks

Each `[[webhook]]` of the file is one; the first that is for a target tells it. See [Webhooks](../guides/webhooks.md).

| key | default | is |
|---|---|---|
| `match` | all | Which targets it is for: a path with all below it, or a pattern with `*` for anything |
| `shape` | `plain` | `plain`: as the keys here say; `nso`: an action of the service, over RESTCONF |
| `url` |  | Where to. Of `plain` a template, of `nso` the address of the server |
| `method` | `POST` | Of `plain`: the method |
| `headers` |  | Headers by name; templates |
| `body` | the notice as JSON | Of `plain`: a template |
| `credentials` |  | A file with `user:password` on each line, for HTTP's Basic scheme; read for each request |
| `ca` | those of this machine | A file with the certificates that vouch for an https:// server |
| `action` | `reactive-re-deploy` | Of `nso`: the action where the request names none |
| `modules` | `{ ncs = \"tailf-ncs\" }` | Of `nso`: names of modules for prefixes that stand in targets |
";

/// The document `docs/reference/config.md`.
pub fn reference() -> String {
    let mut text = String::from(
        "# Configuration\n\n\
         Made by `allod config reference`; a test holds it to the program.\n\n\
         Every key is a line of `allod.toml`, a flag of `allod serve`, and an environment variable. A flag counts more \
         than the\nenvironment, that more than the file. `allod config show` says what counts where you are, and why.\n\n\
         | key | flag | environment | default | is |\n|---|---|---|---|---|\n",
    );
    for key in KEYS {
        let default =
            if key.default.is_empty() { String::new() } else { format!("`{}`", key.default) };
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
        "\nThe file itself is `allod.toml` where the server starts, if there is one, or what `--config` (`ALLOD_CONFIG`) names.\n\n\
         ## Tables\n\n\
         Keys that stand in a table of the file, as in `[placement]`; they are said there only. A list may be one text with\n\
         commas. `[policy.rules]` has rules by name in place of the defaults, as in `\"placement:usages\" = \"@\"`; see\n\
         [Placement](../guides/placement.md). What the switches of `[restconf]` and `[id_manager]` are for is in\n\
         [RESTCONF](../guides/restconf.md) and [the id-manager](../guides/id-manager.md).\n\n\
         | key | default | is |\n|---|---|---|\n",
    );
    for key in TABLE_KEYS {
        let default =
            if key.default.is_empty() { String::new() } else { format!("`{}`", key.default) };
        text.push_str(&format!("| `{}` | {default} | {} |\n", key.name, key.about));
    }
    text.push_str(WEBHOOKS);
    text.push_str(
        "\n\
         ## Limits\n\n\
         In the table `[limits]` of the file, or as `--limit NAME=NUMBER` (`ALLOD_LIMIT`, with commas between several).\n\
         [Operating](../guides/operating.md) says what happens beyond each.\n\n\
         | limit | default |\n|---|---|\n",
    );
    for (name, value) in Limits::default().list() {
        text.push_str(&format!("| `{name}` | {value} |\n"));
    }
    text.push_str(
        "\n## Commands that talk to a server\n\n| flag | environment | default | is |\n|---|---|---|---|\n",
    );
    let command = super::Shown::augment_args(clap::Command::new("allod"));
    for argument in command.get_arguments() {
        let flag = argument.get_long().unwrap_or_default();
        let variable = argument.get_env().map(|name| name.to_string_lossy()).unwrap_or_default();
        let default = argument.get_default_values().first().map(|value| value.to_string_lossy());
        let default = default.map_or(String::new(), |value| format!("`{value}`"));
        let about = argument.get_help().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("| `--{flag}` | `{variable}` | {default} | {about} |\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_in_the_documents_as_it_is_printed() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/config.md");
        let wanted = reference();
        if std::env::var_os("ALLOD_UPDATE_GOLDEN").is_some() {
            std::fs::write(path, &wanted).unwrap();
        }
        let there = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(there, wanted, "write it anew with ALLOD_UPDATE_GOLDEN=1");
    }
}
