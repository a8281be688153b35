//! The policy language: `role:admin or (role:reader and project_id:%(project_id)s)`, `rule:other`, `@`, `!`, `not`.

use std::collections::HashMap;

use allod_edge::Principal;

/// A parsed rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PolicyCheck {
    Always,
    Never,
    Role(String),
    Rule(String),
    /// A field of the caller or a literal equals a text with the fields of the target filled in.
    Same(String, String),
    Not(Box<PolicyCheck>),
    All(Vec<PolicyCheck>),
    Any(Vec<PolicyCheck>),
}

/// The target of a request, as rules see it.
pub(super) struct PolicyTarget<'a> {
    /// The project that the request refers to.
    pub project: Option<&'a str>,
    pub principal: &'a Principal,
}

/// The maximum depth of `rule:` references. A rule that refers to itself does not hold.
const DEPTH_MAX: usize = 16;

impl PolicyCheck {
    pub(super) fn read(text: &str) -> Result<PolicyCheck, String> {
        if text.trim().is_empty() {
            return Ok(PolicyCheck::Always);
        }
        let mut words = PolicyTokens { words: split(text), at: 0 };
        let check = words.any()?;
        match words.next() {
            None => Ok(check),
            Some(word) => Err(format!("unexpected '{word}' in '{text}'")),
        }
    }

    pub(super) fn holds(
        &self,
        principal: &Principal,
        target: &PolicyTarget<'_>,
        rules: &HashMap<String, PolicyCheck>,
    ) -> bool {
        self.look(principal, target, rules, 0)
    }

    fn look(
        &self,
        principal: &Principal,
        target: &PolicyTarget<'_>,
        rules: &HashMap<String, PolicyCheck>,
        depth: usize,
    ) -> bool {
        let inner = |check: &PolicyCheck| check.look(principal, target, rules, depth);
        match self {
            PolicyCheck::Always => true,
            PolicyCheck::Never => false,
            PolicyCheck::Role(role) => principal.has_role(role),
            PolicyCheck::Rule(name) => {
                let rule = rules.get(name).filter(|_| depth < DEPTH_MAX);
                rule.is_some_and(|rule| rule.look(principal, target, rules, depth + 1))
            }
            PolicyCheck::Same(own, text) => own_text(own, principal) == target.fill(text),
            PolicyCheck::Not(check) => !inner(check),
            PolicyCheck::All(checks) => checks.iter().all(inner),
            PolicyCheck::Any(checks) => checks.iter().any(inner),
        }
    }

    /// The rules that it refers to.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            PolicyCheck::Rule(name) => vec![name],
            PolicyCheck::Not(check) => check.names(),
            PolicyCheck::All(checks) | PolicyCheck::Any(checks) => {
                checks.iter().flat_map(PolicyCheck::names).collect()
            }
            PolicyCheck::Always
            | PolicyCheck::Never
            | PolicyCheck::Role(_)
            | PolicyCheck::Same(..) => Vec::new(),
        }
    }

    fn single(word: &str) -> Result<PolicyCheck, String> {
        match (word, word.split_once(':')) {
            ("@", _) => Ok(PolicyCheck::Always),
            ("!", _) => Ok(PolicyCheck::Never),
            (_, Some(("role", role))) => Ok(PolicyCheck::Role(role.to_owned())),
            (_, Some(("rule", name))) => Ok(PolicyCheck::Rule(name.to_owned())),
            (_, Some(("http" | "https", _))) => {
                Err(format!("'{word}' calls another server, which is not supported"))
            }
            (_, Some((own, text))) => Ok(PolicyCheck::Same(own.to_owned(), text.to_owned())),
            _ => {
                Err(format!("'{word}' is not a check; use role:x, rule:x, @, ! or name:%(field)s"))
            }
        }
    }
}

impl PolicyTarget<'_> {
    /// The text with fields filled in; `None` if a field is unknown.
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

/// A field of the caller, or a literal.
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

/// Splits a rule into words and parentheses. Parentheses inside a word, as in `%(project_id)s`, belong to it.
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

struct PolicyTokens {
    words: Vec<String>,
    at: usize,
}

impl PolicyTokens {
    fn next(&mut self) -> Option<String> {
        let word = self.words.get(self.at).cloned();
        self.at += 1;
        word
    }

    /// Consumes the next word if it is this one.
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at).is_some_and(|next| next.eq_ignore_ascii_case(word));
        self.at += usize::from(is_next);
        is_next
    }

    fn any(&mut self) -> Result<PolicyCheck, String> {
        let mut checks = vec![self.all()?];
        while self.take("or") {
            checks.push(self.all()?);
        }
        Ok(one_or(checks, PolicyCheck::Any))
    }

    fn all(&mut self) -> Result<PolicyCheck, String> {
        let mut checks = vec![self.one()?];
        while self.take("and") {
            checks.push(self.one()?);
        }
        Ok(one_or(checks, PolicyCheck::All))
    }

    fn one(&mut self) -> Result<PolicyCheck, String> {
        if self.take("not") {
            return Ok(PolicyCheck::Not(Box::new(self.one()?)));
        }
        if self.take("(") {
            let check = self.any()?;
            return if self.take(")") { Ok(check) } else { Err("a ')' is missing".to_owned()) };
        }
        match self.next() {
            Some(word) => PolicyCheck::single(&word),
            None => Err("it ends too early".to_owned()),
        }
    }
}

fn one_or(
    mut checks: Vec<PolicyCheck>,
    several: fn(Vec<PolicyCheck>) -> PolicyCheck,
) -> PolicyCheck {
    match checks.len() {
        1 => checks.remove(0),
        _ => several(checks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_evaluated() {
        let principal = Principal {
            user: "u".into(),
            project: Some("p".into()),
            roles: vec!["a".into(), "b".into()],
            system_scope: None,
        };
        let rules = HashMap::from([
            ("own".to_owned(), PolicyCheck::read("project_id:%(project_id)s").unwrap()),
            ("loop".to_owned(), PolicyCheck::read("rule:loop").unwrap()),
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
            let target = PolicyTarget { project: Some("p"), principal: &principal };
            let check = PolicyCheck::read(text).unwrap();
            assert_eq!(check.holds(&principal, &target, &rules), holds, "{text}");
        }
        let target = PolicyTarget { project: Some("q"), principal: &principal };
        assert!(!rules["own"].holds(&principal, &target, &rules));
    }
}
