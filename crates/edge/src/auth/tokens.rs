//! The tokens file, and the tokens in force.
//!
//! The file is TOML with a table for each token. It contains hashes, not tokens:
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
//! The caller chooses the key of the scope, here `pools`: the edge does not know its meaning.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use toml::{Table, Value};

use super::identity::TokenIdentity;
use super::{Denied, Digest, Identity, Role};
use crate::reload::{self, Reload, SourceFile};
use crate::time;

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
    /// The table of this token in the file.
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
            let _ = writeln!(table, "expires = {}", quoted(&time::rfc3339_s(ms)));
        }
        let _ = writeln!(table, "hash = {}", quoted(&self.digest.text()));
        table
    }

    /// Validates the name and the scope.
    pub fn check(&self, scope_word: &str) -> Result<(), String> {
        if self.name.is_empty() || self.name.len() > NAME_BYTES_MAX {
            return Err(format!("name is empty or longer than {NAME_BYTES_MAX} bytes"));
        }
        if self.name.chars().any(char::is_control) {
            return Err("name contains a control character".to_owned());
        }
        match &self.scope {
            Some(scope) if scope.is_empty() => {
                Err(format!("{scope_word} is empty; omit it for a token without restriction"))
            }
            _ => Ok(()),
        }
    }
}

/// Parses the tokens file. Errors never contain a value that could be secret.
pub fn parse(text: &str, scope_word: &str) -> Result<Vec<TokenEntry>, String> {
    let file: Table = text.parse().map_err(|error| not_toml(text, &error))?;
    if let Some(other) = file.keys().find(|key| *key != "token") {
        return Err(format!("unknown key '{other}'; only [[token]] tables are allowed"));
    }
    let tables = match file.get("token") {
        None => return Ok(Vec::new()),
        Some(Value::Array(tables)) => tables,
        Some(_) => return Err("token is not a list; write [[token]] with double brackets".into()),
    };
    let mut entries: Vec<TokenEntry> = Vec::with_capacity(tables.len());
    for (index, table) in tables.iter().enumerate() {
        let named = table.get("name").and_then(Value::as_str).unwrap_or_default();
        let locate = |why: String| format!("token {} '{named}': {why}", index + 1);
        let table = table.as_table().ok_or_else(|| locate("is not a table".into()))?;
        let entry = entry(table, scope_word).map_err(locate)?;
        let twice = |known: &&TokenEntry| {
            known.name == entry.name || known.digest.index_key() == entry.digest.index_key()
        };
        if let Some(known) = entries.iter().find(twice) {
            return Err(locate(format!("has the same name or hash as '{}'", known.name)));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// The error with its line number, without the text of the line.
fn not_toml(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, error.message())
}

fn entry(table: &Table, scope_word: &str) -> Result<TokenEntry, String> {
    let known = ["name", "role", scope_word, "expires", "hash"];
    if let Some(other) = table.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("unknown key '{other}'; expected one of {}", known.join(", ")));
    }
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        // TOML allows an unquoted time.
        Some(Value::Datetime(_)) if key == "expires" => Ok(None),
        Some(_) => Err(format!("{key} is not a string")),
    };
    let needed = |key: &str| text(key)?.ok_or_else(|| format!("{key} is missing"));
    let expires = match table.get("expires") {
        Some(Value::Datetime(bare)) => Some(bare.to_string()),
        _ => text("expires")?.map(str::to_owned),
    };
    let expires_ms = expires.map(|text| time::read_rfc3339(&text)).transpose();
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

/// The tokens in force, reloaded when the file changes.
pub struct Tokens {
    path: PathBuf,
    scope_word: &'static str,
    by_index_key: RwLock<HashMap<u64, (Digest, Arc<TokenIdentity>)>>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Tokens {
    /// Reads the file. `scope_word` is the key of a token's scope.
    pub fn open(path: &Path, scope_word: &'static str) -> Result<Arc<Tokens>, String> {
        let path = path.to_owned();
        let tokens = Arc::new(Tokens { path, scope_word, by_index_key: RwLock::default() });
        reload::load(&*tokens)?;
        Ok(tokens)
    }

    pub fn is_empty(&self) -> bool {
        self.by_index_key.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// The identity that belongs to a presented token.
    pub(super) fn identify(&self, presented: &[u8]) -> Result<Identity, Denied> {
        let digest = Digest::of_presented(presented).ok_or(Denied::Unknown)?;
        let by_index_key = self.by_index_key.read().unwrap_or_else(PoisonError::into_inner);
        let found = by_index_key.get(&digest.index_key()).filter(|(known, _)| *known == digest);
        let (_, known) = found.ok_or(Denied::Unknown)?;
        match known.expires_ms {
            Some(expires_ms) if known.has_expired(time::now_ms()) => {
                Err(Denied::Expired { name: known.name.clone(), expires_ms })
            }
            _ => Ok(Identity::Token(known.clone())),
        }
    }

    /// Replaces the tokens in force. The streams of an unchanged token continue; those of a removed or changed token end.
    fn replace(&self, entries: Vec<TokenEntry>) {
        let mut by_index_key = self.by_index_key.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::take(&mut *by_index_key);
        for entry in entries {
            let key = entry.digest.index_key();
            let unchanged = |(digest, known): &(Digest, Arc<TokenIdentity>)| {
                *digest == entry.digest
                    && known.name == entry.name
                    && known.role == entry.role
                    && known.scope == entry.scope
                    && known.expires_ms == entry.expires_ms
            };
            let kept = match old.get(&key) {
                Some(known) if unchanged(known) => known.clone(),
                _ => {
                    let TokenEntry { name, role, scope, expires_ms, digest } = entry;
                    let revoked = AtomicBool::new(false);
                    (digest, Arc::new(TokenIdentity { name, role, scope, expires_ms, revoked }))
                }
            };
            by_index_key.insert(key, kept);
        }
        for (key, (_, known)) in old {
            let stays = by_index_key.get(&key).is_some_and(|(_, new)| Arc::ptr_eq(new, &known));
            known.revoked.store(!stays, Ordering::Relaxed);
        }
    }
}

impl Reload for Tokens {
    fn name(&self) -> &'static str {
        "tokens"
    }

    fn files(&self) -> Vec<SourceFile<'_>> {
        vec![SourceFile { path: &self.path, private: true }]
    }

    fn apply(&self, contents: Vec<Vec<u8>>) -> Result<(), String> {
        let locate = |why| format!("tokens file {}: {why}", self.path.display());
        let text = contents.into_iter().next().unwrap_or_default();
        let text = String::from_utf8(text).map_err(|_| locate("is not UTF-8".to_owned()))?;
        self.replace(parse(&text, self.scope_word).map_err(locate)?);
        if self.is_empty() {
            tracing::warn!(file = %self.path.display(), "the tokens file is empty: every request will be denied");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Secret;

    fn entry(name: &str, role: Role) -> (Secret, TokenEntry) {
        let secret = Secret::generate().unwrap();
        let digest = secret.digest();
        (secret, TokenEntry { name: name.into(), role, scope: None, expires_ms: None, digest })
    }

    #[test]
    fn written_table_is_parsed_back() {
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
    fn error_names_the_entry_and_contains_no_secret() {
        let (secret, good) = entry("good", Role::Reader);
        let good = good.table("pools");
        let hash = good.lines().last().unwrap();
        let token = secret.reveal();
        let one = |lines: &str| format!("[[token]]\n{lines}\n");
        for (text, words) in [
            ("tokens = 1".to_owned(), "unknown key 'tokens'"),
            ("[token]\nname = 'x'".to_owned(), "double brackets"),
            (format!("\n\nname = {token}"), "line 3: "),
            (one("role = 'reader'"), "token 1 '': name is missing"),
            (one("name = 'x'"), "token 1 'x': role is missing"),
            (one("name = 'x'\nrole = 'reader'"), "hash is missing"),
            (one(&format!("name = 'x'\nrole = 'king'\n{hash}")), "unknown role 'king'"),
            (one(&format!("name = 1\nrole = 'reader'\n{hash}")), "name is not a string"),
            (one(&format!("name = ''\nrole = 'reader'\n{hash}")), "name is empty"),
            (one(&format!("name = 'x'\nrole = 'reader'\nhash = '{token}'")), "hash is not blake3:"),
            (one(&format!("name = 'x'\nrole = 'reader'\npools = ''\n{hash}")), "pools is empty"),
            (
                one(&format!("name = 'x'\nrole = 'reader'\npool = 'a'\n{hash}")),
                "unknown key 'pool'",
            ),
            (
                one(&format!("name = 'x'\nrole = 'reader'\nexpires = 'soon'\n{hash}")),
                "expires: 'soon'",
            ),
            (
                one(&format!("name = 'x'\nrole = 'reader'\nexpires = 7\n{hash}")),
                "expires is not a string",
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
    fn removed_or_changed_token_lapses_and_unchanged_token_does_not() {
        let tokens =
            Tokens { path: "t".into(), scope_word: "pools", by_index_key: RwLock::default() };
        let all = [
            entry("stays", Role::Reader),
            entry("goes", Role::Reader),
            entry("grows", Role::Reader),
        ];
        let [stays, goes, grows] = all;
        let who = |secret: &Secret| tokens.identify(secret.reveal().as_bytes());
        tokens.replace(vec![stays.1.clone(), goes.1.clone(), grows.1.clone()]);
        let open = [&stays, &goes, &grows].map(|(secret, _)| who(secret).unwrap());
        tokens.replace(vec![stays.1.clone(), TokenEntry { role: Role::Admin, ..grows.1 }]);
        assert_eq!(open.map(|identity| identity.has_lapsed()), [false, true, true]);
        assert_eq!(who(&grows.0).unwrap().role(), Some(Role::Admin));
        assert!(matches!(who(&goes.0), Err(Denied::Unknown)));
        tokens.replace(Vec::new());
        assert!(tokens.is_empty() && matches!(who(&stays.0), Err(Denied::Unknown)));
    }

    #[test]
    fn expired_token_is_denied() {
        let tokens =
            Tokens { path: "t".into(), scope_word: "pools", by_index_key: RwLock::default() };
        let (secret, entry) = entry("old", Role::Admin);
        let expires = |ms| TokenEntry { expires_ms: Some(ms), ..entry.clone() };
        let who = || tokens.identify(secret.reveal().as_bytes());
        tokens.replace(vec![expires(time::now_ms() + 60_000)]);
        assert!(!who().unwrap().has_lapsed());
        tokens.replace(vec![expires(time::now_ms() - 1)]);
        assert!(matches!(who(), Err(Denied::Expired { .. })));
    }
}
