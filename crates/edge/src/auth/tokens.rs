//! The tokens that a server knows, and the file that they come from.
//!
//! The file is TOML, a table for each token, and holds hashes only:
//!
//! ```toml
//! [[token]]
//! name = "ci"
//! role = "writer"
//! pools = "tenant-a/"
//! expires = "2027-01-01T00:00:00Z"
//! hash = "blake3:…"
//! ```
//!
//! Under which word the scope stands, here `pools`, is said by whoever opens the file: the edge does not know what it means.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use toml::{Table, Value};

use super::identity::Known;
use super::{Denied, Digest, Identity, Role, expiry};
use crate::reload::{self, Reload, SourceFile};

const NAME_BYTES_MAX: usize = 100;

/// One token of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenEntry {
    pub name: String,
    pub role: Role,
    pub scope: Option<String>,
    pub expires_ms: Option<u64>,
    pub digest: Digest,
}

impl TokenEntry {
    /// The table that stands for it in the file.
    pub fn table(&self, scope_word: &str) -> String {
        let quoted = |text: &str| Value::String(text.to_owned()).to_string();
        let mut table = format!(
            "[[token]]\nname = {}\nrole = {}\n",
            quoted(&self.name),
            quoted(self.role.name())
        );
        if let Some(scope) = &self.scope {
            let _ = writeln!(table, "{scope_word} = {}", quoted(scope));
        }
        if let Some(ms) = self.expires_ms {
            let _ = writeln!(table, "expires = {}", quoted(&expiry::show(ms)));
        }
        let _ = writeln!(table, "hash = {}", quoted(&self.digest.text()));
        table
    }

    /// Whether the parts that people choose can be told apart in a log and in a file.
    pub fn check(&self, scope_word: &str) -> Result<(), String> {
        if self.name.is_empty() || self.name.len() > NAME_BYTES_MAX {
            return Err(format!("name is empty or longer than {NAME_BYTES_MAX} bytes"));
        }
        if self.name.chars().any(char::is_control) {
            return Err("name has a control character in it".to_owned());
        }
        match &self.scope {
            Some(scope) if scope.is_empty() => {
                Err(format!("{scope_word} is empty; leave it out if the token is for everything"))
            }
            _ => Ok(()),
        }
    }
}

/// The tokens that are in a file with this text. The error never repeats a value that could be secret.
pub fn parse(text: &str, scope_word: &str) -> Result<Vec<TokenEntry>, String> {
    let file: Table = text.parse().map_err(|error| not_toml(text, &error))?;
    if let Some(other) = file.keys().find(|key| *key != "token") {
        return Err(format!("'{other}' is unknown; only [[token]] tables are known"));
    }
    let tables = match file.get("token") {
        None => return Ok(Vec::new()),
        Some(Value::Array(tables)) => tables,
        Some(_) => return Err("token is not a list; write [[token]] in double brackets".into()),
    };
    let mut entries: Vec<TokenEntry> = Vec::with_capacity(tables.len());
    for (index, table) in tables.iter().enumerate() {
        let named = table.get("name").and_then(Value::as_str).unwrap_or_default();
        let place = |why: String| format!("token {} '{named}': {why}", index + 1);
        let table = table.as_table().ok_or_else(|| place("is not a table".into()))?;
        let entry = entry(table, scope_word).map_err(place)?;
        let twice = |known: &&TokenEntry| {
            known.name == entry.name || known.digest.place() == entry.digest.place()
        };
        if let Some(known) = entries.iter().find(twice) {
            return Err(place(format!("has the name or the hash of '{}'", known.name)));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// What is wrong and in which line, without the line itself.
fn not_toml(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, error.message())
}

fn entry(table: &Table, scope_word: &str) -> Result<TokenEntry, String> {
    let known = ["name", "role", scope_word, "expires", "hash"];
    if let Some(other) = table.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("'{other}' is unknown; {} are known", known.join(", ")));
    }
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        // A time may stand there as TOML writes it, without quotes.
        Some(Value::Datetime(_)) if key == "expires" => Ok(None),
        Some(_) => Err(format!("{key} is not a text")),
    };
    let needed = |key: &str| text(key)?.ok_or_else(|| format!("{key} is missing"));
    let expires = match table.get("expires") {
        Some(Value::Datetime(bare)) => Some(bare.to_string()),
        _ => text("expires")?.map(str::to_owned),
    };
    let expires_ms = expires.map(|text| expiry::read(&text)).transpose();
    let entry = TokenEntry {
        name: needed("name")?.to_owned(),
        role: needed("role")?.parse()?,
        scope: text(scope_word)?.map(str::to_owned),
        expires_ms: expires_ms.map_err(|why| format!("expires: {why}"))?,
        digest: needed("hash")?.parse()?,
    };
    entry.check(scope_word)?;
    Ok(entry)
}

/// The tokens in force. They change when the file does.
pub struct Tokens {
    path: PathBuf,
    scope_word: &'static str,
    by_place: RwLock<HashMap<u64, (Digest, Arc<Known>)>>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Tokens {
    /// Reads the file. `scope_word` is the key under which a token's scope stands in it.
    pub fn open(path: &Path, scope_word: &'static str) -> Result<Arc<Tokens>, String> {
        let path = path.to_owned();
        let tokens = Arc::new(Tokens { path, scope_word, by_place: RwLock::default() });
        reload::load(&*tokens)?;
        Ok(tokens)
    }

    pub fn is_empty(&self) -> bool {
        self.by_place.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Who has the token that a client presents.
    pub(super) fn identify(&self, presented: &[u8]) -> Result<Identity, Denied> {
        let digest = Digest::of_presented(presented).ok_or(Denied::Unknown)?;
        let by_place = self.by_place.read().unwrap_or_else(PoisonError::into_inner);
        let found = by_place.get(&digest.place()).filter(|(known, _)| *known == digest);
        let (_, known) = found.ok_or(Denied::Unknown)?;
        match known.expires_ms {
            Some(expires_ms) if known.has_expired(expiry::now_ms()) => {
                Err(Denied::Expired { name: known.name.clone(), expires_ms })
            }
            _ => Ok(Identity::Known(known.clone())),
        }
    }

    /// Puts other tokens in force. A token that is there unchanged stays the same one, with what it has open; one that is
    /// not there any more, or may now do something else, ends.
    fn put(&self, entries: Vec<TokenEntry>) {
        let mut by_place = self.by_place.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::take(&mut *by_place);
        for entry in entries {
            let place = entry.digest.place();
            let unchanged = |(digest, known): &(Digest, Arc<Known>)| {
                *digest == entry.digest
                    && known.name == entry.name
                    && known.role == entry.role
                    && known.scope == entry.scope
                    && known.expires_ms == entry.expires_ms
            };
            let kept = match old.get(&place) {
                Some(known) if unchanged(known) => known.clone(),
                _ => {
                    let TokenEntry { name, role, scope, expires_ms, digest } = entry;
                    let revoked = AtomicBool::new(false);
                    (digest, Arc::new(Known { name, role, scope, expires_ms, revoked }))
                }
            };
            by_place.insert(place, kept);
        }
        for (place, (_, known)) in old {
            let stays = by_place.get(&place).is_some_and(|(_, new)| Arc::ptr_eq(new, &known));
            known.revoked.store(!stays, Ordering::Relaxed);
        }
    }
}

impl Reload for Tokens {
    fn what(&self) -> &'static str {
        "tokens"
    }

    fn files(&self) -> Vec<SourceFile<'_>> {
        vec![SourceFile { path: &self.path, private: true }]
    }

    fn take(&self, contents: Vec<Vec<u8>>) -> Result<(), String> {
        let place = |why| format!("the tokens file {}: {why}", self.path.display());
        let text = contents.into_iter().next().unwrap_or_default();
        let text = String::from_utf8(text).map_err(|_| place("is not UTF-8".to_owned()))?;
        self.put(parse(&text, self.scope_word).map_err(place)?);
        if self.is_empty() {
            tracing::warn!(file = %self.path.display(), "the tokens file is empty: nobody may do anything");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Secret;

    fn entry(name: &str, role: Role) -> (Secret, TokenEntry) {
        let secret = Secret::draw().unwrap();
        let digest = secret.digest();
        (secret, TokenEntry { name: name.into(), role, scope: None, expires_ms: None, digest })
    }

    #[test]
    fn what_is_written_is_read_again() {
        let (_, plain) = entry("a \"quoted\" näme", Role::Reader);
        let (_, full) = entry("full", Role::Admin);
        let scope = Some("tenant-a/\\x".to_owned());
        let full = TokenEntry { scope, expires_ms: Some(1_798_761_600_000), ..full };
        let text = format!("# mine\n{}\n{}", plain.table("pools"), full.table("pools"));
        assert_eq!(parse(&text, "pools").unwrap(), [plain, full.clone()]);
        let bare = text.replace("\"2027-01-01T00:00:00Z\"", "2027-01-01T01:00:00+01:00");
        assert_ne!(bare, text);
        assert_eq!(parse(&bare, "pools").unwrap()[1], full);
        assert_eq!(parse("", "pools").unwrap(), []);
    }

    #[test]
    fn what_is_wrong_in_a_file_is_said_with_its_place_and_without_its_secrets() {
        let (secret, good) = entry("good", Role::Reader);
        let good = good.table("pools");
        let hash = good.lines().last().unwrap();
        let token = secret.reveal();
        let one = |lines: &str| format!("[[token]]\n{lines}\n");
        for (text, words) in [
            ("tokens = 1".to_owned(), "'tokens' is unknown"),
            ("[token]\nname = 'x'".to_owned(), "double brackets"),
            (format!("\n\nname = {token}"), "line 3: "),
            (one("role = 'reader'"), "token 1 '': name is missing"),
            (one("name = 'x'"), "token 1 'x': role is missing"),
            (one("name = 'x'\nrole = 'reader'"), "hash is missing"),
            (one(&format!("name = 'x'\nrole = 'king'\n{hash}")), "'king' is no role"),
            (one(&format!("name = 1\nrole = 'reader'\n{hash}")), "name is not a text"),
            (one(&format!("name = ''\nrole = 'reader'\n{hash}")), "name is empty"),
            (one(&format!("name = 'x'\nrole = 'reader'\nhash = '{token}'")), "hash is not blake3:"),
            (one(&format!("name = 'x'\nrole = 'reader'\npools = ''\n{hash}")), "pools is empty"),
            (one(&format!("name = 'x'\nrole = 'reader'\npool = 'a'\n{hash}")), "'pool' is unknown"),
            (
                one(&format!("name = 'x'\nrole = 'reader'\nexpires = 'soon'\n{hash}")),
                "expires: 'soon'",
            ),
            (
                one(&format!("name = 'x'\nrole = 'reader'\nexpires = 7\n{hash}")),
                "expires is not a text",
            ),
            (
                format!("{good}{}", entry("good", Role::Admin).1.table("pools")),
                "token 2 'good': has",
            ),
            (format!("{good}{}", good.replace("\"good\"", "\"other\"")), "token 2 'other': has"),
        ] {
            let error = parse(&text, "pools").unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
            assert!(!error.contains(token) && !error.contains(&hash[16..]), "{error}");
        }
    }

    #[test]
    fn a_token_that_is_gone_or_changed_ends_and_one_that_stays_goes_on() {
        let tokens = Tokens { path: "t".into(), scope_word: "pools", by_place: RwLock::default() };
        let all = [
            entry("stays", Role::Reader),
            entry("goes", Role::Reader),
            entry("grows", Role::Reader),
        ];
        let [stays, goes, grows] = all;
        let who = |secret: &Secret| tokens.identify(secret.reveal().as_bytes());
        tokens.put(vec![stays.1.clone(), goes.1.clone(), grows.1.clone()]);
        let open = [&stays, &goes, &grows].map(|(secret, _)| who(secret).unwrap());
        tokens.put(vec![stays.1.clone(), TokenEntry { role: Role::Admin, ..grows.1 }]);
        assert_eq!(open.map(|identity| identity.has_lapsed()), [false, true, true]);
        assert_eq!(who(&grows.0).unwrap().role(), Some(Role::Admin));
        assert!(matches!(who(&goes.0), Err(Denied::Unknown)));
        tokens.put(Vec::new());
        assert!(tokens.is_empty() && matches!(who(&stays.0), Err(Denied::Unknown)));
    }

    #[test]
    fn a_token_ends_when_its_time_is_over() {
        let tokens = Tokens { path: "t".into(), scope_word: "pools", by_place: RwLock::default() };
        let (secret, entry) = entry("old", Role::Admin);
        let expires = |ms| TokenEntry { expires_ms: Some(ms), ..entry.clone() };
        let who = || tokens.identify(secret.reveal().as_bytes());
        tokens.put(vec![expires(expiry::now_ms() + 60_000)]);
        assert!(!who().unwrap().has_lapsed());
        tokens.put(vec![expires(expiry::now_ms() - 1)]);
        assert!(matches!(who(), Err(Denied::Expired { .. })));
    }
}
