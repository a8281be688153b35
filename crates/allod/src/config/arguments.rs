//! The flags and environment variables of `allod serve`. `config` combines them with the file.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser, ValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::{ConfigKey, KEYS, SettingSource, mask};

#[derive(Debug)]
pub struct ServeArguments {
    pub(super) config: Option<PathBuf>,
    pub(super) given: Vec<GivenSetting>,
    pub(super) limits: Vec<(String, u64)>,
    pub(super) limits_source: SettingSource,
}

/// A setting given as flag or environment variable.
#[derive(Debug)]
pub(super) struct GivenSetting {
    pub key: &'static ConfigKey,
    pub text: String,
    pub source: SettingSource,
}

impl Args for ServeArguments {
    fn augment_args(command: Command) -> Command {
        let config = Arg::new("config")
            .long("config")
            .env("ALLOD_CONFIG")
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf))
            .help("Configuration file [default: allod.toml, if it exists]");
        let limit = Arg::new("limit")
            .long("limit")
            .env("ALLOD_LIMIT")
            .value_name("NAME=NUMBER")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .value_parser(named_number)
            .help("Set a limit, as in key_bytes_max=2000; repeatable");
        command.args(KEYS.iter().map(argument)).arg(config).arg(limit)
    }

    fn augment_args_for_update(command: Command) -> Command {
        ServeArguments::augment_args(command)
    }
}

impl FromArgMatches for ServeArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ServeArguments, clap::Error> {
        let given = |key: &'static ConfigKey| {
            let text = matches.get_one::<String>(key.name)?.clone();
            let source = source(matches, key.name, key.variable(), &key.flag());
            Some(GivenSetting { key, text, source })
        };
        let limits = matches.get_many::<(String, u64)>("limit");
        Ok(ServeArguments {
            config: matches.get_one("config").cloned(),
            given: KEYS.iter().filter_map(given).collect(),
            limits: limits.into_iter().flatten().cloned().collect(),
            limits_source: source(matches, "limit", "ALLOD_LIMIT".to_owned(), "limit"),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = ServeArguments::from_arg_matches(matches)?;
        Ok(())
    }
}

fn source(matches: &ArgMatches, name: &str, variable: String, flag: &str) -> SettingSource {
    match matches.value_source(name) {
        Some(ValueSource::EnvVariable) => SettingSource::Environment(variable),
        _ => SettingSource::Flag(format!("--{flag}")),
    }
}

fn argument(key: &'static ConfigKey) -> Arg {
    let help = match key.default {
        "" => key.about.to_owned(),
        default => format!("{} [default: {default}]", key.about),
    };
    // clap prints the invalid value, so a value with a password is checked later.
    let check = move |text: String| match mask(&text) == text {
        true => key.check(&text).map(|()| text),
        false => Ok(text),
    };
    let parser = if key.choices.is_empty() {
        ValueParser::new(move |text: &str| check(text.to_owned()))
    } else {
        ValueParser::new(PossibleValuesParser::new(key.choices).try_map(check))
    };
    let argument = Arg::new(key.name)
        .long(key.flag())
        .env(key.variable())
        .value_name(key.value)
        // The value may contain a password.
        .hide_env_values(true)
        .value_parser(parser)
        .help(help);
    if key.choices == ["true", "false"] {
        argument.num_args(0..=1).require_equals(true).default_missing_value("true")
    } else {
        argument
    }
}

fn named_number(text: &str) -> Result<(String, u64), String> {
    let (name, number) = text.split_once('=').ok_or("expected NAME=NUMBER")?;
    let number = number.trim().parse().map_err(|_| format!("'{number}' is not a number"))?;
    Ok((name.trim().to_owned(), number))
}

/// Parses the arguments of `allod serve`.
#[cfg(test)]
pub(super) fn parse(words: &[&str]) -> Result<ServeArguments, clap::Error> {
    let command = ServeArguments::augment_args(Command::new("serve").no_binary_name(true));
    ServeArguments::from_arg_matches(&command.try_get_matches_from(words)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_flags_are_refused() {
        let flags = ["--log-format", "json", "--limit", "a=1,b=2", "--limit", "c=3"];
        let parsed = parse(&flags).unwrap();
        assert_eq!(parsed.given.len(), 1);
        assert_eq!(parsed.given[0].source, SettingSource::Flag("--log-format".into()));
        assert_eq!(parsed.limits.len(), 3);
        for (flags, words) in [
            (["--listen", "here"], "invalid socket address"),
            (["--log-format", "xml"], "possible values: text, json"),
            (["--limit", "a"], "expected NAME=NUMBER"),
            (["--limit", "a=b"], "'b' is not a number"),
        ] {
            let error = parse(&flags).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
