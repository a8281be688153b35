//! The operator's SQL: splits a text into statements and finds their named parameters.
//!
//! Names in quotes, comments, dollar quotes and casts are not parameters. Each use of a parameter gets its own number, so
//! that the server infers its type from that use alone.

/// The most statements of one operation, and the longest text.
const STATEMENTS_MAX: usize = 16;
const SCRIPT_BYTES_MAX: usize = 64 * 1024;

/// Statements that would end the transaction of an operation.
const FORBIDDEN: [&str; 8] =
    ["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "PREPARE", "SAVEPOINT"];

/// The statements of one operation, which run in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    /// The name of the operation, for messages.
    pub name: &'static str,
    pub statements: Vec<ScriptStatement>,
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptStatement {
    /// With `$1`, `$2` and so on.
    pub text: String,
    /// The parameters in order. A name may occur more than once.
    pub names: Vec<String>,
}

impl Script {
    /// Splits the text into statements.
    pub fn parse(name: &'static str, text: &str) -> Result<Script, String> {
        if text.len() > SCRIPT_BYTES_MAX {
            return Err(format!("{name}: the text has more than {SCRIPT_BYTES_MAX} bytes"));
        }
        if text.contains('\0') {
            return Err(format!("{name}: the text has a NUL character"));
        }
        let statements = Scanner::new(text).scan().map_err(|why| format!("{name}: {why}"))?;
        if statements.is_empty() || statements.len() > STATEMENTS_MAX {
            let count = statements.len();
            return Err(format!("{name}: there are {count} statements; 1 to {STATEMENTS_MAX}"));
        }
        Ok(Script { name, statements })
    }

    /// Refuses names that the operation does not have. Later statements may use columns of earlier ones, so only the first
    /// statement is checked here.
    pub fn ensure_names(&self, known: &[&str]) -> Result<(), String> {
        let names = self.statements.iter().take(1).flat_map(|statement| &statement.names);
        for used in names {
            if !known.contains(&used.as_str()) {
                let known: Vec<String> = known.iter().map(|name| format!(":{name}")).collect();
                let known = known.join(", ");
                return Err(format!(
                    "{}: there is no parameter :{used} here; use {known}",
                    self.name
                ));
            }
        }
        Ok(())
    }

    pub fn uses(&self, name: &str) -> bool {
        self.statements.iter().any(|statement| statement.names.iter().any(|used| used == name))
    }
}

struct Scanner<'a> {
    rest: &'a str,
    /// The character before `rest`.
    before: char,
    text: String,
    names: Vec<String>,
    /// The statement has more than spaces and comments.
    has_content: bool,
    /// The first word, in upper case.
    first_word: Option<String>,
    done: Vec<ScriptStatement>,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Scanner<'a> {
        Scanner {
            rest: text,
            before: ' ',
            text: String::new(),
            names: Vec::new(),
            has_content: false,
            first_word: None,
            done: Vec::new(),
        }
    }

    fn scan(mut self) -> Result<Vec<ScriptStatement>, String> {
        while let Some(next) = self.rest.chars().next() {
            match next {
                '\'' => {
                    // E'...' has escapes with a backslash.
                    let start = self.text.trim_end_matches(['e', 'E']);
                    let escapes =
                        start.len() + 1 == self.text.len() && !start.ends_with(is_name_char);
                    self.quoted('\'', escapes)?;
                }
                '"' => self.quoted('"', false)?,
                '-' if self.rest.starts_with("--") => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.copy(end);
                }
                '/' if self.rest.starts_with("/*") => self.comment()?,
                '$' if !is_name_char(self.before) => self.dollar()?,
                ':' if self.rest.starts_with("::") || self.rest.starts_with(":=") => {
                    self.content(2);
                }
                ':' => self.parameter(),
                ';' => {
                    self.rest = &self.rest[1..];
                    self.end()?;
                }
                _ if next.is_whitespace() => self.copy(next.len_utf8()),
                _ if self.first_word.is_none() && next.is_ascii_alphabetic() => {
                    let end = self.rest.find(|c| !is_name_char(c)).unwrap_or(self.rest.len());
                    self.first_word = Some(self.rest[..end].to_ascii_uppercase());
                    self.content(end);
                }
                _ => self.content(next.len_utf8()),
            }
        }
        self.end()?;
        Ok(self.done)
    }

    /// Copies bytes that are not part of a statement's content.
    fn copy(&mut self, bytes: usize) {
        let (taken, rest) = self.rest.split_at(bytes);
        self.text.push_str(taken);
        self.before = taken.chars().next_back().unwrap_or(self.before);
        self.rest = rest;
    }

    fn content(&mut self, bytes: usize) {
        self.has_content = true;
        self.copy(bytes);
    }

    /// A doubled quote inside is read as the end of one text and the start of the next, which has the same effect.
    fn quoted(&mut self, quote: char, escapes: bool) -> Result<(), String> {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            if escaped {
                escaped = false;
            } else if escapes && c == '\\' {
                escaped = true;
            } else if c == quote {
                if escapes && self.rest[at + 1..].starts_with(quote) {
                    escaped = true;
                    continue;
                }
                self.content(at + 1);
                return Ok(());
            }
        }
        Err(format!("a {quote} is not closed"))
    }

    /// Comments can be nested.
    fn comment(&mut self) -> Result<(), String> {
        let (mut depth, mut at) = (0_usize, 0);
        while at < self.rest.len() {
            let here = &self.rest.as_bytes()[at..];
            if here.starts_with(b"/*") {
                depth += 1;
                at += 2;
            } else if here.starts_with(b"*/") {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    self.copy(at);
                    return Ok(());
                }
            } else {
                at += 1;
            }
        }
        Err("a /* is not closed".into())
    }

    /// `$tag$ ... $tag$`, or a dollar sign that has no meaning here.
    fn dollar(&mut self) -> Result<(), String> {
        let after = &self.rest[1..];
        if after.starts_with(|c: char| c.is_ascii_digit()) {
            return Err("parameters have names, such as :ref, not numbers".into());
        }
        let tag_end = after.find(|c| !is_name_char(c)).unwrap_or(after.len());
        if !after[tag_end..].starts_with('$') {
            self.content(1);
            return Ok(());
        }
        let tag = &self.rest[..tag_end + 2];
        match self.rest[tag.len()..].find(tag) {
            Some(end) => {
                self.content(tag.len() + end + tag.len());
                Ok(())
            }
            None => Err(format!("a {tag} is not closed")),
        }
    }

    fn parameter(&mut self) {
        let after = &self.rest[1..];
        let is_name = after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !is_name || is_name_char(self.before) || self.before == ']' {
            // Part of an array slice, such as [1:2] or [a:b].
            self.content(1);
            return;
        }
        let end = after.find(|c| !is_name_char(c)).unwrap_or(after.len());
        self.names.push(after[..end].to_owned());
        self.text.push_str(&format!("${}", self.names.len()));
        self.has_content = true;
        self.before = '0';
        self.rest = &after[end..];
    }

    fn end(&mut self) -> Result<(), String> {
        let text = std::mem::take(&mut self.text);
        let names = std::mem::take(&mut self.names);
        let first = self.first_word.take();
        self.before = ' ';
        if let Some(word) = first.filter(|word| FORBIDDEN.contains(&word.as_str())) {
            return Err(format!(
                "{word} is not allowed: all statements of an operation run in one transaction"
            ));
        }
        if std::mem::take(&mut self.has_content) {
            self.done.push(ScriptStatement { text: text.trim().to_owned(), names });
        }
        Ok(())
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, String)> {
        let script = Script::parse("take", text).unwrap();
        let each = script.statements.into_iter();
        each.map(|statement| (statement.text, statement.names.join(" "))).collect()
    }

    #[test]
    fn named_parameters_become_numbers() {
        for (text, wanted, names) in [
            ("SELECT a WHERE b=:ref AND c= :key", "SELECT a WHERE b=$1 AND c= $2", "ref key"),
            ("SELECT :ref, :ref", "SELECT $1, $2", "ref ref"),
            ("SELECT :value::int, 'a'::text", "SELECT $1::int, 'a'::text", "value"),
            ("SELECT ':ref', \":ref\", ''':ref'", "SELECT ':ref', \":ref\", ''':ref'", ""),
            (r"SELECT E'\':ref', 'e\', :ref", r"SELECT E'\':ref', 'e\', $1", "ref"),
            (r"SELECT E'a'':ref\'', :key", r"SELECT E'a'':ref\'', $1", "key"),
            ("SELECT 1 -- :ref ; '\n, :key", "SELECT 1 -- :ref ; '\n, $1", "key"),
            ("SELECT /* :ref /* ; */ ' */ :key", "SELECT /* :ref /* ; */ ' */ $1", "key"),
            (
                "SELECT $$:ref;'$$, $a$ $$:ref $a$, :key",
                "SELECT $$:ref;'$$, $a$ $$:ref $a$, $1",
                "key",
            ),
            ("SELECT a[1:2], a[b:c], x := :ref", "SELECT a[1:2], a[b:c], x := $1", "ref"),
            ("SELECT é, :ref_2é FROM t", "SELECT é, $1 FROM t", "ref_2é"),
        ] {
            assert_eq!(parsed(text), [(wanted.to_owned(), names.to_owned())], "{text}");
        }
    }

    #[test]
    fn statements_are_split_outside_quotes() {
        let texts: Vec<String> = parsed("SELECT ';'; ; -- end;\n INSERT INTO t VALUES (:ref);\n")
            .into_iter()
            .map(|(text, _)| text)
            .collect();
        assert_eq!(texts, ["SELECT ';'", "-- end;\n INSERT INTO t VALUES ($1)"]);
    }

    #[test]
    fn invalid_scripts_are_refused() {
        for (text, words) in [
            ("", "there are 0 statements"),
            (" ; -- nothing", "there are 0 statements"),
            ("SELECT 'a", "a ' is not closed"),
            ("SELECT \"a", "a \" is not closed"),
            ("SELECT /* /* */ 1", "a /* is not closed"),
            ("SELECT $x$ 1", "a $x$ is not closed"),
            ("SELECT $1", "parameters have names"),
            ("commit; SELECT 1", "COMMIT is not allowed"),
            ("SELECT 1; /* x */ Rollback", "ROLLBACK is not allowed"),
            ("SELECT '\0'", "NUL"),
        ] {
            let error = Script::parse("take", text).unwrap_err();
            assert!(error.starts_with("take: ") && error.contains(words), "{text}: {error}");
        }
        let script = Script::parse("lookup", "SELECT a FROM b WHERE c = :nam").unwrap();
        let error = script.ensure_names(&["name"]).unwrap_err();
        assert_eq!(error, "lookup: there is no parameter :nam here; use :name");
    }
}
