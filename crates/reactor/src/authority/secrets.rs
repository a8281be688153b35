//! The passwords and tokens of authorities: named in the configuration, read when a connection is set up, never stored.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use serde::Deserialize;

use super::connector::Secret;

const SECRET_BYTES_MAX: u64 = 4096;

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum SecretSource {
    /// A file. Spaces and line breaks at its end are not part of the secret.
    File(PathBuf),
    /// An environment variable of the server.
    Env(String),
}

/// The secrets of a server by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secrets(pub BTreeMap<String, SecretSource>);

impl Secrets {
    /// Reads a secret. The error does not contain it.
    pub fn read(&self, name: &str) -> Result<Secret, String> {
        let source = self.0.get(name).ok_or_else(|| {
            format!("this server has no secret '{name}'; add it to [secrets] in allod.toml")
        })?;
        let text = match source {
            SecretSource::File(path) => read_file(path)
                .map_err(|why| format!("secret '{name}': {} {why}", path.display()))?,
            SecretSource::Env(variable) => std::env::var(variable).map_err(|_| {
                format!("secret '{name}': the environment variable {variable} is not set")
            })?,
        };
        match text.trim_end() {
            "" => Err(format!("secret '{name}' is empty")),
            text => Ok(Secret(text.to_owned())),
        }
    }
}

fn read_file(path: &PathBuf) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(SECRET_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > SECRET_BYTES_MAX {
        return Err(format!("has more than {SECRET_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "is not text in UTF-8".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_from_a_file_or_an_environment_variable() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "s3cret\n").unwrap();
        let large = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(large.path(), "x".repeat(5000)).unwrap();
        let empty = tempfile::NamedTempFile::new().unwrap();
        let sources = [
            ("file", SecretSource::File(file.path().into())),
            ("large", SecretSource::File(large.path().into())),
            ("empty", SecretSource::File(empty.path().into())),
            ("missing", SecretSource::File("/nowhere/s".into())),
            ("variable", SecretSource::Env("PATH".into())),
            ("unset", SecretSource::Env("ALLOD_NO_SUCH_VARIABLE".into())),
        ];
        let secrets = Secrets(sources.map(|(name, source)| (name.to_owned(), source)).into());
        assert_eq!(secrets.read("file").unwrap().0, "s3cret");
        assert_eq!(secrets.read("variable").unwrap().0, std::env::var("PATH").unwrap());
        for (name, words) in [
            ("large", "has more than 4096 bytes"),
            ("empty", "secret 'empty' is empty"),
            ("missing", "secret 'missing': /nowhere/s cannot be read"),
            ("unset", "the environment variable ALLOD_NO_SUCH_VARIABLE is not set"),
            ("other", "no secret 'other'; add it to [secrets]"),
        ] {
            let error = secrets.read(name).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
