//! The filter of an event stream: which notifications a client wants, in a small part of XPath.
//!
//! `/module:notification[leaf='x' and container/leaf=7]`, and several of these with `|` or `or` between them. A prefix may be
//! left out where only one module has the name. What is more than that is refused, not guessed at.

use crate::fault::{Fault, Tag};
use crate::tree::{Node, Siblings, Value};
use crate::yang::{Kind, NodeId, Schema, split_prefix};

/// One of these has to fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filter(Vec<Pattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    notification: NodeId,
    /// All of these hold.
    conditions: Vec<Condition>,
}

/// Some leaf at the end of the path has this value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Condition {
    path: Vec<NodeId>,
    value: String,
}

impl Filter {
    pub(crate) fn parse(schema: &Schema, text: &str) -> Result<Filter, Fault> {
        let mut parser = Parser { schema, rest: text.trim_start() };
        let mut patterns = vec![parser.pattern()?];
        while parser.take("|") || parser.word("or") {
            patterns.push(parser.pattern()?);
        }
        if !parser.rest.is_empty() {
            return Err(parser.wrong("the end, '|' or 'or'"));
        }
        Ok(Filter(patterns))
    }

    pub(crate) fn picks(&self, notification: &Node) -> bool {
        self.0.iter().any(|pattern| {
            let holds =
                |condition: &Condition| holds(notification, &condition.path, &condition.value);
            pattern.notification == notification.schema && pattern.conditions.iter().all(holds)
        })
    }
}

fn holds(node: &Node, path: &[NodeId], wanted: &str) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return node.value().is_some_and(|value| shown(value) == wanted);
    };
    node.entries(*first).any(|child| holds(child, rest, wanted))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Text(text) => text.to_string(),
        Value::Empty => String::new(),
    }
}

struct Parser<'a> {
    schema: &'a Schema,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn pattern(&mut self) -> Result<Pattern, Fault> {
        if !self.take("/") {
            return Err(self.wrong("'/' and the name of a notification"));
        }
        let name = self.name()?;
        let notification = self.lookup(None, name)?;
        if self.schema.node(notification).kind != Kind::Notification {
            return Err(invalid(format!("'{name}' in the filter is no notification")));
        }
        let mut conditions = Vec::new();
        while self.take("[") {
            conditions.push(self.condition(notification)?);
            while self.word("and") {
                conditions.push(self.condition(notification)?);
            }
            if !self.take("]") {
                return Err(self.wrong("'and' or ']'"));
            }
        }
        Ok(Pattern { notification, conditions })
    }

    fn condition(&mut self, notification: NodeId) -> Result<Condition, Fault> {
        let mut path = vec![];
        loop {
            let name = self.name()?;
            let above = path.last().copied().unwrap_or(notification);
            path.push(self.lookup(Some(above), name)?);
            if !self.take("/") {
                break;
            }
        }
        if !path.last().is_some_and(|last| self.schema.is_leaf(*last)) {
            return Err(invalid("a condition of the filter must end at a leaf"));
        }
        if !self.take("=") {
            return Err(self.wrong("'=' and a value"));
        }
        Ok(Condition { path, value: self.literal()? })
    }

    fn lookup(&self, parent: Option<NodeId>, name: &str) -> Result<NodeId, Fault> {
        let (module, local) = split_prefix(name);
        let unknown = || invalid(format!("the filter names '{name}', which there is not"));
        self.schema.child(parent, module, local).ok_or_else(unknown)
    }

    fn name(&mut self) -> Result<&'a str, Fault> {
        let part = |c: char| c.is_alphanumeric() || "_-.:".contains(c);
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        if end == 0 {
            return Err(self.wrong("a name"));
        }
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        Ok(name)
    }

    /// In quotes of either kind, or a number.
    fn literal(&mut self) -> Result<String, Fault> {
        for quote in ['\'', '"'] {
            if let Some(after) = self.rest.strip_prefix(quote) {
                let Some((inside, rest)) = after.split_once(quote) else {
                    return Err(self.wrong("the other quote"));
                };
                self.rest = rest.trim_start();
                return Ok(inside.to_owned());
            }
        }
        let end = self.rest.find(|c: char| !c.is_ascii_digit() && c != '-');
        let (number, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        if number.parse::<i128>().is_err() {
            return Err(self.wrong("a value in quotes, or a number"));
        }
        self.rest = rest.trim_start();
        Ok(number.to_owned())
    }

    fn take(&mut self, sign: &str) -> bool {
        let after = self.rest.strip_prefix(sign);
        self.rest = after.unwrap_or(self.rest).trim_start();
        after.is_some()
    }

    fn word(&mut self, word: &str) -> bool {
        let after =
            self.rest.strip_prefix(word).filter(|after| !after.starts_with(char::is_alphanumeric));
        self.rest = after.unwrap_or(self.rest).trim_start();
        after.is_some()
    }

    fn wrong(&self, expected: &str) -> Fault {
        let at: String = self.rest.chars().take(20).collect();
        let place = if at.is_empty() { "at its end".to_owned() } else { format!("at '{at}'") };
        invalid(format!(
            "the filter is not understood {place}, where {expected} is expected; /module:notification[leaf='value'] is the form"
        ))
    }
}

fn invalid(message: impl Into<String>) -> Fault {
    Fault::protocol(Tag::InvalidValue, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "module m { namespace urn:m; prefix m;
        notification up { leaf name { type string; } leaf n { type uint32; }
            container in { leaf-list tag { type string; } } }
        notification down { leaf name { type string; } }
        container c { leaf x { type string; } } }";

    fn up(schema: &Schema, name: &str, n: u64, tags: &[&str]) -> Option<Node> {
        let id = |path: &str| schema.find(path);
        let tag = id("/m:up/in/tag")?;
        let tags = tags.iter().map(|text| Node::leaf(tag, Value::text(*text))).collect();
        Some(Node::inner(
            id("/m:up")?,
            vec![
                Node::leaf(id("/m:up/name")?, Value::text(name)),
                Node::leaf(id("/m:up/n")?, Value::Uint(n)),
                Node::inner(id("/m:up/in")?, tags),
            ],
        ))
    }

    #[test]
    fn what_fits_one_of_the_patterns_is_picked() {
        let schema = Schema::compile(&[("m.yang", MODULE)]).unwrap_or_else(|e| panic!("{e}"));
        let event = up(&schema, "it's", 7, &["a", "b"]).unwrap_or_else(|| panic!("an event"));
        for (text, picked) in [
            ("/m:up", true),
            ("/up", true),
            ("/m:down", false),
            ("/m:down | /m:up", true),
            ("/m:down or /m:up[n=8]", false),
            ("/m:up[n=7]", true),
            ("/m:up[n='7']", true),
            ("/m:up[name=\"it's\"]", true),
            ("/m:up[ name = \"it's\" and n = 7 ]", true),
            ("/m:up[name=\"it's\"][n=8]", false),
            ("/m:up[in/tag='b']", true),
            ("/m:up[m:in/m:tag='c']", false),
        ] {
            let filter = Filter::parse(&schema, text).unwrap_or_else(|fault| panic!("{fault:?}"));
            assert_eq!(filter.picks(&event), picked, "{text}");
        }
    }

    #[test]
    fn what_is_more_than_the_small_part_is_refused() {
        let schema = Schema::compile(&[("m.yang", MODULE)]).unwrap_or_else(|e| panic!("{e}"));
        for text in [
            "",
            "up",
            "//up",
            "/m:up[",
            "/m:up[n=7",
            "/m:up[n>7]",
            "/m:up[n=7 or n=8]",
            "/m:up[contains(name, 'x')]",
            "/m:up[in='x']",
            "/m:up[x='y']",
            "/m:up[name='x]",
            "/m:up and /m:down",
            "/m:up/name",
            "/m:c[x='y']",
            "/n:up",
            "/m:up |",
        ] {
            let fault = Filter::parse(&schema, text).err();
            assert_eq!(fault.map(|fault| fault.tag), Some(Tag::InvalidValue), "{text}");
        }
    }
}
