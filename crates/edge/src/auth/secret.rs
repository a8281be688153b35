//! The form of a token, its generation and its hash.
//!
//! A token is `allod_` and 64 hexadecimal digits: 256 random bits. So many cannot be guessed, and a fast hash is as safe as
//! a slow one. This holds only for tokens of this form, so a string of any other form is rejected before hashing.

use std::fmt;
use std::str::FromStr;

use tokio_rustls::rustls::crypto::ring;

/// Identifies a token to people and to secret scanners.
const PREFIX: &str = "allod_";
const RANDOM_BYTES: usize = 32;
const TOKEN_BYTES: usize = PREFIX.len() + 2 * RANDOM_BYTES;

/// The prefix of a written hash, so that other algorithms can be added.
const HASH_KIND: &str = "blake3:";

/// A token in clear text. Only `reveal` shows it.
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Generates a token. `Err` if the operating system has no random numbers.
    pub fn generate() -> Result<Secret, String> {
        let mut bytes = [0; RANDOM_BYTES];
        let random = ring::default_provider().secure_random;
        random
            .fill(&mut bytes)
            .map_err(|_| "the operating system provides no random numbers".to_owned())?;
        // blake3's hash type formats 32 bytes in hexadecimal.
        Ok(Secret(format!("{PREFIX}{}", blake3::Hash::from_bytes(bytes).to_hex())))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn digest(&self) -> Digest {
        Digest(blake3::hash(self.0.as_bytes()))
    }
}

/// The hash of a token. Comparison takes constant time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest(blake3::Hash);

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest")
    }
}

impl Digest {
    /// The hash of a presented token; `None` if it does not have the form of a token.
    pub(super) fn of_presented(token: &[u8]) -> Option<Digest> {
        let hex = token.strip_prefix(PREFIX.as_bytes())?;
        let fits = token.len() == TOKEN_BYTES && hex.iter().all(u8::is_ascii_hexdigit);
        fits.then(|| Digest(blake3::hash(token)))
    }

    /// The first bytes, as the key of a hash map. The lookup may leak them through its timing, which does not help to find
    /// a token.
    pub(super) fn index_key(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = *self.0.as_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// The form in the tokens file.
    pub fn text(&self) -> String {
        format!("{HASH_KIND}{}", self.0.to_hex())
    }
}

impl FromStr for Digest {
    type Err = String;

    /// The error does not contain the text, which may be a token by mistake.
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
    fn generated_tokens_differ_and_match_their_hash() {
        let (a, b) = (Secret::generate().unwrap(), Secret::generate().unwrap());
        assert_ne!(a.reveal(), b.reveal());
        assert_eq!(a.reveal().len(), TOKEN_BYTES);
        assert_eq!(Digest::of_presented(a.reveal().as_bytes()), Some(a.digest()));
        assert_ne!(a.digest(), b.digest());
        assert_eq!(a.digest().text().parse(), Ok(a.digest()));
    }

    #[test]
    fn text_of_another_form_is_not_hashed() {
        let token = Secret::generate().unwrap().reveal().to_owned();
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
    fn debug_output_and_errors_show_neither_token_nor_hash() {
        let token = Secret::generate().unwrap();
        let shown = format!("{token:?} {:?}", token.digest());
        assert_eq!(shown, "Secret Digest");
        let error = token.reveal().parse::<Digest>().unwrap_err();
        assert!(!error.contains("allod_"), "{error}");
    }
}
