//! The filter of an event stream, in a small subset of XPath.
//!
//! `/module:notification[leaf='x' and container/leaf=7]`; several of these can be joined with `|` or `or`. A prefix may be
//! left out if the name is unambiguous. Everything else is refused.

use crate::error::{RestconfError, Result, invalid_value};
use crate::tree::{DataNode, Siblings};
use crate::yang::{NodeId, NodeKind, Schema, spelled, split_prefix};

/// Matches if one of the patterns does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotificationFilter(Vec<FilterPattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct FilterPattern {
    notification: NodeId,
    /// All must hold.
    conditions: Vec<FilterCondition>,
}

/// A leaf at the end of the path has this value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FilterCondition {
    path: Vec<NodeId>,
    value: String,
}

impl NotificationFilter {
    pub(crate) fn parse(schema: &Schema, text: &str) -> Result<NotificationFilter> {
        let mut parser = FilterParser { schema, rest: text.trim_start() };
        let mut patterns = vec![parser.pattern()?];
        while parser.take("|") || parser.word("or") {
            patterns.push(parser.pattern()?);
        }
        if !parser.rest.is_empty() {
            return Err(parser.wrong("the end, '|' or 'or'"));
        }
        Ok(NotificationFilter(patterns))
    }

    pub(crate) fn selects(&self, notification: &DataNode) -> bool {
        self.0.iter().any(|pattern| {
            let matches = |condition: &FilterCondition| {
                matches(notification, &condition.path, &condition.value)
            };
            pattern.notification == notification.schema && pattern.conditions.iter().all(matches)
        })
    }
}

fn matches(node: &DataNode, path: &[NodeId], wanted: &str) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return node.value().is_some_and(|value| *spelled(value) == *wanted);
    };
    node.entries(*first).any(|child| matches(child, rest, wanted))
}

struct FilterParser<'a> {
    schema: &'a Schema,
    rest: &'a str,
}

impl<'a> FilterParser<'a> {
    fn pattern(&mut self) -> Result<FilterPattern> {
        if !self.take("/") {
            return Err(self.wrong("'/' and the name of a notification"));
        }
        let name = self.name()?;
        let notification = self.lookup(None, name)?;
        if self.schema.node(notification).kind != NodeKind::Notification {
            return Err(invalid_value(format!("'{name}' in the filter is not a notification")));
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
        Ok(FilterPattern { notification, conditions })
    }

    fn condition(&mut self, notification: NodeId) -> Result<FilterCondition> {
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
            return Err(invalid_value("a condition of the filter must end at a leaf"));
        }
        if !self.take("=") {
            return Err(self.wrong("'=' and a value"));
        }
        Ok(FilterCondition { path, value: self.literal()? })
    }

    fn lookup(&self, parent: Option<NodeId>, name: &str) -> Result<NodeId> {
        let (module, local) = split_prefix(name);
        let unknown = || invalid_value(format!("unknown node '{name}' in the filter"));
        self.schema.child(parent, module, local).ok_or_else(unknown)
    }

    fn name(&mut self) -> Result<&'a str> {
        let part = |c: char| c.is_alphanumeric() || "_-.:".contains(c);
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        if end == 0 {
            return Err(self.wrong("a name"));
        }
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        Ok(name)
    }

    /// A quoted string or a number.
    fn literal(&mut self) -> Result<String> {
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

    fn wrong(&self, expected: &str) -> RestconfError {
        let at: String = self.rest.chars().take(20).collect();
        let place = if at.is_empty() { "at its end".to_owned() } else { format!("at '{at}'") };
        invalid_value(format!(
            "invalid filter {place}: expected {expected}; example: /module:notification[leaf='value']"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorTag;
    use crate::tree::LeafValue;

    const MODULE: &str = "module m { namespace urn:m; prefix m;
        notification up { leaf name { type string; } leaf n { type uint32; }
            container in { leaf-list tag { type string; } } }
        notification down { leaf name { type string; } }
        container c { leaf x { type string; } } }";

    fn up(schema: &Schema, name: &str, n: u64, tags: &[&str]) -> Option<DataNode> {
        let id = |path: &str| schema.find(path);
        let tag = id("/m:up/in/tag")?;
        let tags = tags.iter().map(|text| DataNode::leaf(tag, *text)).collect();
        Some(DataNode::inner(
            id("/m:up")?,
            vec![
                DataNode::leaf(id("/m:up/name")?, LeafValue::text(name)),
                DataNode::leaf(id("/m:up/n")?, LeafValue::Uint(n)),
                DataNode::inner(id("/m:up/in")?, tags),
            ],
        ))
    }

    #[test]
    fn a_notification_that_matches_a_pattern_is_selected() {
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
            let filter = NotificationFilter::parse(&schema, text)
                .unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!(filter.selects(&event), picked, "{text}");
        }
    }

    #[test]
    fn unsupported_xpath_is_refused() {
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
            let error = NotificationFilter::parse(&schema, text).err();
            assert_eq!(error.map(|error| error.tag), Some(ErrorTag::InvalidValue), "{text}");
        }
    }
}
