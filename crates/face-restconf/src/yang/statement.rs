//! Parses YANG text to statements: keyword, argument, substatements.
//!
//! Handles quoting, concatenation with `+`, comments and line numbers. Not here: the meaning of statements.

use super::YangError;

/// Nested statements; real modules have fewer than 20 levels.
const NESTING_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// With its prefix, if it is an extension.
    pub keyword: String,
    pub argument: String,
    pub line: u32,
    pub inner: Vec<Statement>,
}

impl Statement {
    /// The substatements with this keyword.
    pub fn all<'a>(&'a self, keyword: &'a str) -> impl Iterator<Item = &'a Statement> {
        self.inner.iter().filter(move |statement| statement.keyword == keyword)
    }

    pub fn first(&self, keyword: &str) -> Option<&Statement> {
        self.inner.iter().find(|statement| statement.keyword == keyword)
    }

    /// The argument of the first substatement with this keyword.
    pub fn text(&self, keyword: &str) -> Option<&str> {
        self.first(keyword).map(|statement| statement.argument.as_str())
    }
}

/// Parses the `module` or `submodule` statement of a file.
pub fn parse(file: &str, text: &str) -> Result<Statement, YangError> {
    let mut parser =
        StatementParser { file, tokens: Tokenizer { file, rest: text, line: 1 }, ahead: None };
    let statement = parser.statement(0)?;
    match parser.next()? {
        None => Ok(statement),
        Some((_, line)) => Err(YangError::new(file, line, "unexpected text after the module")),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    End,
    /// Unquoted.
    Word(String),
    Quoted(String),
}

struct StatementParser<'a> {
    file: &'a str,
    tokens: Tokenizer<'a>,
    ahead: Option<Option<(Token, u32)>>,
}

impl StatementParser<'_> {
    fn next(&mut self) -> Result<Option<(Token, u32)>, YangError> {
        match self.ahead.take() {
            Some(token) => Ok(token),
            None => self.tokens.next(),
        }
    }

    fn fail<T>(&self, line: u32, message: impl Into<String>) -> Result<T, YangError> {
        Err(YangError::new(self.file, line, message))
    }

    fn statement(&mut self, depth: usize) -> Result<Statement, YangError> {
        let line = self.tokens.line;
        let (keyword, line) = match self.next()? {
            Some((Token::Word(word), line)) => (word, line),
            Some((_, line)) => return self.fail(line, "expected a keyword"),
            None => return self.fail(line, "expected a statement at the end of the text"),
        };
        if depth >= NESTING_MAX {
            return self.fail(line, "statements are nested too deeply");
        }
        let argument = self.argument()?;
        let mut inner = Vec::new();
        match self.next()? {
            Some((Token::End, _)) => {}
            Some((Token::Open, _)) => loop {
                match self.next()? {
                    Some((Token::Close, _)) => break,
                    Some(token) => {
                        self.ahead = Some(Some(token));
                        inner.push(self.statement(depth + 1)?);
                    }
                    None => return self.fail(line, format!("'{keyword}' is not closed")),
                }
            },
            _ => return self.fail(line, format!("expected ';' or '{{' after '{keyword}'")),
        }
        Ok(Statement { keyword, argument, line, inner })
    }

    /// An unquoted word, or quoted strings joined with `+`. No argument is an empty one.
    fn argument(&mut self) -> Result<String, YangError> {
        let token = self.next()?;
        match token {
            Some((Token::Word(word), _)) => Ok(word),
            Some((Token::Quoted(mut text), _)) => loop {
                match self.next()? {
                    Some((Token::Word(plus), line)) if plus == "+" => match self.next()? {
                        Some((Token::Quoted(more), _)) => text.push_str(&more),
                        _ => return self.fail(line, "expected a quoted string after '+'"),
                    },
                    other => {
                        self.ahead = Some(other);
                        return Ok(text);
                    }
                }
            },
            other => {
                self.ahead = Some(other);
                Ok(String::new())
            }
        }
    }
}

struct Tokenizer<'a> {
    file: &'a str,
    rest: &'a str,
    line: u32,
}

impl Tokenizer<'_> {
    fn next(&mut self) -> Result<Option<(Token, u32)>, YangError> {
        self.skip_whitespace()?;
        let line = self.line;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let token = match first {
            '{' => self.take(1, Token::Open),
            '}' => self.take(1, Token::Close),
            ';' => self.take(1, Token::End),
            '"' => Token::Quoted(self.double_quoted()?),
            '\'' => Token::Quoted(self.single_quoted()?),
            _ => self.word(),
        };
        Ok(Some((token, line)))
    }

    fn take(&mut self, bytes: usize, token: Token) -> Token {
        self.advance(bytes);
        token
    }

    /// Skips bytes and counts their lines.
    fn advance(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += passed.bytes().filter(|byte| *byte == b'\n').count() as u32;
        self.rest = rest;
    }

    fn skip_whitespace(&mut self) -> Result<(), YangError> {
        loop {
            let new_node =
                self.rest.len() - self.rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.advance(new_node);
            if self.rest.starts_with("//") {
                self.advance(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                match self.rest.find("*/") {
                    Some(end) => self.advance(end + 2),
                    None => return Err(self.fail("a comment is not closed")),
                }
            } else {
                return Ok(());
            }
        }
    }

    fn fail(&self, message: &str) -> YangError {
        YangError::new(self.file, self.line, message)
    }

    fn word(&mut self) -> Token {
        let ends = |(at, char): (usize, char)| {
            let new_node = matches!(char, ' ' | '\t' | '\r' | '\n' | ';' | '{' | '}' | '"' | '\'');
            let comment = self.rest[at..].starts_with("//") || self.rest[at..].starts_with("/*");
            (new_node || comment).then_some(at)
        };
        let end = self.rest.char_indices().find_map(ends).unwrap_or(self.rest.len());
        let word = self.rest[..end].to_owned();
        self.take(end, Token::Word(word))
    }

    fn single_quoted(&mut self) -> Result<String, YangError> {
        let Some(end) = self.rest[1..].find('\'') else {
            return Err(self.fail("a quoted string is not closed"));
        };
        let text = self.rest[1..=end].to_owned();
        self.advance(end + 2);
        Ok(text)
    }

    /// Replaces escapes, and removes the blanks around line breaks. YANG keeps blanks beyond the column of the quote; only
    /// descriptions span lines, so this does not matter here.
    fn double_quoted(&mut self) -> Result<String, YangError> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1).peekable();
        while let Some((at, char)) = chars.next() {
            match char {
                '"' => {
                    self.advance(at + 1);
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, escaped @ ('"' | '\\'))) => text.push(escaped),
                    // In YANG 1, a backslash before any other character is literal. Patterns use it.
                    Some((_, other)) => text.extend(['\\', other]),
                    None => break,
                },
                '\n' => {
                    text.truncate(text.trim_end_matches([' ', '\t', '\r']).len());
                    text.push('\n');
                    while chars.next_if(|(_, char)| matches!(char, ' ' | '\t')).is_some() {}
                }
                other => text.push(other),
            }
        }
        Err(self.fail("a quoted string is not closed"))
    }
}
