//! User names and passwords for webhooks. They are in a separate file, which is read again for each request.

use std::path::PathBuf;

use http::HeaderValue;

/// A file with `user:password` on each line. Empty lines and lines that begin with `#` are ignored.
#[derive(Debug)]
pub(super) struct WebhookCredentials(PathBuf);

impl WebhookCredentials {
    pub fn new(path: PathBuf) -> WebhookCredentials {
        WebhookCredentials(path)
    }

    /// The Basic authentication header for this user, or for the first user in the file if it has no such user.
    pub fn of(&self, user: &str) -> Result<HeaderValue, String> {
        let path = self.0.display();
        let text = std::fs::read_to_string(&self.0)
            .map_err(|error| format!("the credentials {path} cannot be read: {error}"))?;
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut pairs = lines.filter(|line| line.contains(':'));
        let own = |line: &&str| line.split_once(':').is_some_and(|(name, _)| name == user);
        let pair = pairs.clone().find(own).or_else(|| pairs.next());
        let pair = pair.ok_or_else(|| format!("there is no user:password in {path}"))?;
        let mut header = HeaderValue::try_from(format!("Basic {}", base64(pair.as_bytes())))
            .map_err(|error| error.to_string())?;
        header.set_sensitive(true);
        Ok(header)
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |n: usize| u32::from(three.get(n).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for n in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * n) & 63) as usize];
            text.push(if n > three.len() { '=' } else { letter.into() });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_rfc_4648() {
        for (text, wanted) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("\u{ff}\u{fe}~~~", "w7/Dvn5+fg=="),
        ] {
            assert_eq!(base64(text.as_bytes()), wanted);
        }
    }

    #[test]
    fn unknown_user_gets_the_first_credentials() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let credentials = WebhookCredentials::new(file.path().into());
        let of = |user| credentials.of(user).map(|header| header.to_str().unwrap().to_owned());
        assert!(of("oper").unwrap_err().contains("no user:password"));
        std::fs::write(file.path(), "# comment\n\nadmin:a:b\noper:secret\n").unwrap();
        assert_eq!(of("oper").unwrap(), format!("Basic {}", base64(b"oper:secret")));
        assert_eq!(of("ope").unwrap(), format!("Basic {}", base64(b"admin:a:b")));
        let gone = WebhookCredentials::new("/nowhere".into()).of("oper").unwrap_err();
        assert!(gone.starts_with("the credentials /nowhere cannot be read"), "{gone}");
    }
}
