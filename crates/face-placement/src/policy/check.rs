//! The language of policy rules: `role:admin or (role:reader and project_id:%(project_id)s)`, `rule:other`, `@`, `!`, `not`.

use std::collections::HashMap;

use allod_edge::Principal;

/// A rule that has been understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Check {
    Always,
    Never,
    Role(String),
    Rule(String),
    /// Something of who asks, by name or as a literal, is the same as a text into which the target's fields are put.
    Same(String, String),
    Not(Box<Check>),
    All(Vec<Check>),
    Any(Vec<Check>),
}

/// What is to be done, as far as rules may ask.
pub(super) struct Target<'a> {
    /// Whose it is, if it is about a project.
    pub project: Option<&'a str>,
    pub principal: &'a Principal,
}

/// Rules that are about rules go no deeper than this: one that is about itself does not hold.
const DEPTH_MAX: usize = 16;

impl Check {
    pub(super) fn read(text: &str) -> Result<Check, String> {
        if text.trim().is_empty() {
            return Ok(Check::Always);
        }
        let mut words = Words { words: split(text), at: 0 };
        let check = words.any()?;
        match words.next() {
            None => Ok(check),
            Some(word) => Err(format!("'{word}' is not expected in '{text}'")),
        }
    }

    pub(super) fn holds(
        &self,
        principal: &Principal,
        target: &Target<'_>,
        rules: &HashMap<String, Check>,
    ) -> bool {
        self.look(principal, target, rules, 0)
    }

    fn look(
        &self,
        principal: &Principal,
        target: &Target<'_>,
        rules: &HashMap<String, Check>,
        depth: usize,
    ) -> bool {
        let inner = |check: &Check| check.look(principal, target, rules, depth);
        match self {
            Check::Always => true,
            Check::Never => false,
            Check::Role(role) => principal.has_role(role),
            Check::Rule(name) => {
                let rule = rules.get(name).filter(|_| depth < DEPTH_MAX);
                rule.is_some_and(|rule| rule.look(principal, target, rules, depth + 1))
            }
            Check::Same(own, text) => own_text(own, principal) == target.fill(text),
            Check::Not(check) => !inner(check),
            Check::All(checks) => checks.iter().all(inner),
            Check::Any(checks) => checks.iter().any(inner),
        }
    }

    /// The rules that it is about.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Check::Rule(name) => vec![name],
            Check::Not(check) => check.names(),
            Check::All(checks) | Check::Any(checks) => {
                checks.iter().flat_map(Check::names).collect()
            }
            Check::Always | Check::Never | Check::Role(_) | Check::Same(..) => Vec::new(),
        }
    }

    fn single(word: &str) -> Result<Check, String> {
        match (word, word.split_once(':')) {
            ("@", _) => Ok(Check::Always),
            ("!", _) => Ok(Check::Never),
            (_, Some(("role", role))) => Ok(Check::Role(role.to_owned())),
            (_, Some(("rule", name))) => Ok(Check::Rule(name.to_owned())),
            (_, Some(("http" | "https", _))) => {
                Err(format!("'{word}' asks another server, which is not done here"))
            }
            (_, Some((own, text))) => Ok(Check::Same(own.to_owned(), text.to_owned())),
            _ => Err(format!("'{word}' is no check; role:x, rule:x, @, ! and name:%(field)s are")),
        }
    }
}

impl Target<'_> {
    /// The text with the fields in it; `None` when it names one that is not there.
    fn fill(&self, text: &str) -> Option<String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("%(") {
            let (name, after) = after.split_once(")s")?;
            filled.push_str(before);
            filled.push_str(match name {
                "project_id" => self.project.unwrap_or("None"),
                "user_id" => &self.principal.user,
                _ => return None,
            });
            rest = after;
        }
        filled.push_str(rest);
        Some(filled)
    }
}

/// A field of who asks, or the literal that stands in its place.
fn own_text(own: &str, principal: &Principal) -> Option<String> {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "None".to_owned());
    match own {
        "project_id" | "tenant" | "tenant_id" => Some(or_none(&principal.project)),
        "user_id" | "user" => Some(principal.user.clone()),
        "system_scope" | "system" => principal.system_scope.clone(),
        "True" | "False" | "None" => Some(own.to_owned()),
        _ => {
            let quoted = |quote| own.strip_prefix(quote)?.strip_suffix(quote);
            quoted('\'').or_else(|| quoted('"')).map(str::to_owned)
        }
    }
}

/// Words and parentheses. Those inside a word, as in `%(project_id)s`, belong to it.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        let inner = word.trim_start_matches('(');
        words.extend(std::iter::repeat_n("(".to_owned(), word.len() - inner.len()));
        let bare = inner.trim_end_matches(')');
        if !bare.is_empty() {
            words.push(bare.to_owned());
        }
        words.extend(std::iter::repeat_n(")".to_owned(), inner.len() - bare.len()));
    }
    words
}

struct Words {
    words: Vec<String>,
    at: usize,
}

impl Words {
    fn next(&mut self) -> Option<String> {
        let word = self.words.get(self.at).cloned();
        self.at += 1;
        word
    }

    /// Whether the next word is this one, which is then taken.
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at).is_some_and(|next| next.eq_ignore_ascii_case(word));
        self.at += usize::from(is_next);
        is_next
    }

    fn any(&mut self) -> Result<Check, String> {
        let mut checks = vec![self.all()?];
        while self.take("or") {
            checks.push(self.all()?);
        }
        Ok(one_or(checks, Check::Any))
    }

    fn all(&mut self) -> Result<Check, String> {
        let mut checks = vec![self.one()?];
        while self.take("and") {
            checks.push(self.one()?);
        }
        Ok(one_or(checks, Check::All))
    }

    fn one(&mut self) -> Result<Check, String> {
        if self.take("not") {
            return Ok(Check::Not(Box::new(self.one()?)));
        }
        if self.take("(") {
            let check = self.any()?;
            return if self.take(")") { Ok(check) } else { Err("a ')' is missing".to_owned()) };
        }
        match self.next() {
            Some(word) => Check::single(&word),
            None => Err("it ends too early".to_owned()),
        }
    }
}

fn one_or(mut checks: Vec<Check>, several: fn(Vec<Check>) -> Check) -> Check {
    match checks.len() {
        1 => checks.remove(0),
        _ => several(checks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_hold_as_they_are_written() {
        let principal = Principal {
            user: "u".into(),
            project: Some("p".into()),
            roles: vec!["a".into(), "b".into()],
            system_scope: None,
        };
        let rules = HashMap::from([
            ("own".to_owned(), Check::read("project_id:%(project_id)s").unwrap()),
            ("loop".to_owned(), Check::read("rule:loop").unwrap()),
        ]);
        for (text, holds) in [
            ("", true),
            ("@", true),
            ("!", false),
            ("role:a", true),
            ("role:A", true),
            ("role:c", false),
            ("not role:c", true),
            ("role:c or role:a and role:b", true),
            ("role:a or role:b and role:c", true),
            ("(role:a or role:b) and role:c", false),
            ("not (role:a and role:c)", true),
            ("NOT role:a", false),
            ("rule:own", true),
            ("rule:own and ((role:c))", false),
            ("rule:loop", false),
            ("user_id:u", true),
            ("user_id:%(user_id)s", true),
            ("user_id:%(other)s", false),
            ("'x':x", true),
            ("None:%(project_id)s", false),
        ] {
            let target = Target { project: Some("p"), principal: &principal };
            let check = Check::read(text).unwrap();
            assert_eq!(check.holds(&principal, &target, &rules), holds, "{text}");
        }
        let target = Target { project: Some("q"), principal: &principal };
        assert!(!rules["own"].holds(&principal, &target, &rules));
    }
}
