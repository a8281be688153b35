//! What a token looks like, how one is made, and its hash.
//!
//! A token is `allod_` and 64 hexadecimal digits: 256 bits that we drew ourselves. Nobody can go through the possible ones,
//! so a fast hash protects them as well as a slow one would, and costs nothing at each request. That holds only for
//! tokens of this form, so a text of any other form is not even hashed.

use std::fmt;
use std::str::FromStr;

use tokio_rustls::rustls::crypto::ring;

/// By which people, and programs that look for secrets in the wrong places, recognise a token.
const PREFIX: &str = "allod_";
const RANDOM_BYTES: usize = 32;
const TOKEN_BYTES: usize = PREFIX.len() + 2 * RANDOM_BYTES;

/// How a hash is written begins with this, so that another kind can come beside it.
const HASH_KIND: &str = "blake3:";

/// A token in clear. It shows itself only when asked by name.
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// A new one. `Err`: the operating system gives no random numbers.
    pub fn draw() -> Result<Secret, String> {
        let mut bytes = [0; RANDOM_BYTES];
        let random = ring::default_provider().secure_random;
        random.fill(&mut bytes).map_err(|_| "the system gives no random numbers".to_owned())?;
        // A hash is what is at hand to write 32 bytes in hexadecimal.
        Ok(Secret(format!("{PREFIX}{}", blake3::Hash::from_bytes(bytes).to_hex())))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn digest(&self) -> Digest {
        Digest(blake3::hash(self.0.as_bytes()))
    }
}

/// The hash of a token. Two are compared in constant time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest(blake3::Hash);

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest")
    }
}

impl Digest {
    /// Of what a client presents; `None` when it does not look like a token.
    pub(super) fn of_presented(token: &[u8]) -> Option<Digest> {
        let hex = token.strip_prefix(PREFIX.as_bytes())?;
        let fits = token.len() == TOKEN_BYTES && hex.iter().all(u8::is_ascii_hexdigit);
        fits.then(|| Digest(blake3::hash(token)))
    }

    /// The first part, by which a token is found among the others. How long that takes may tell something about this part
    /// of a hash. Whoever knew all of it would still have to find the token that it is the hash of.
    pub(super) fn place(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = *self.0.as_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// As it stands in the file.
    pub fn text(&self) -> String {
        format!("{HASH_KIND}{}", self.0.to_hex())
    }
}

impl FromStr for Digest {
    type Err = String;

    /// The text is not repeated in the error: somebody may have put the token itself there.
    fn from_str(text: &str) -> Result<Digest, String> {
        let read = text.strip_prefix(HASH_KIND).and_then(|hex| blake3::Hash::from_hex(hex).ok());
        let wrong = || format!("hash is not {HASH_KIND} and 64 hexadecimal digits");
        read.map(Digest).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_are_found_by_their_hash_only() {
        let (a, b) = (Secret::draw().unwrap(), Secret::draw().unwrap());
        assert_ne!(a.reveal(), b.reveal());
        assert_eq!(a.reveal().len(), TOKEN_BYTES);
        assert_eq!(Digest::of_presented(a.reveal().as_bytes()), Some(a.digest()));
        assert_ne!(a.digest(), b.digest());
        assert_eq!(a.digest().text().parse(), Ok(a.digest()));
    }

    #[test]
    fn what_does_not_look_like_a_token_is_not_hashed() {
        let token = Secret::draw().unwrap().reveal().to_owned();
        for wrong in [
            String::new(),
            token[1..].to_owned(),
            token[..69].to_owned(),
            format!("{token}0"),
            token.replace("allod_", "allud_"),
            format!("{}g", &token[..69]),
            "x".repeat(60_000),
        ] {
            assert_eq!(Digest::of_presented(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn neither_a_token_nor_its_hash_is_shown_by_accident() {
        let token = Secret::draw().unwrap();
        let shown = format!("{token:?} {:?}", token.digest());
        assert_eq!(shown, "Secret Digest");
        let error = token.reveal().parse::<Digest>().unwrap_err();
        assert!(!error.contains("allod_"), "{error}");
    }
}
