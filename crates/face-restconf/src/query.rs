//! The query parameters of RFC 8040, typed. Which of them a method takes is known here, what they do is not.

use crate::codec::Dialect;
use crate::edit::Place;
use crate::fault::{Fault, Tag};
use crate::model::{Content, Target};
use crate::path;
use crate::tree::{Defaults, Selection, View};
use crate::yang::{Schema, WellKnown};

/// What a request does, as far as its parameters go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// GET and HEAD of data.
    Read,
    /// POST and PUT of data.
    Write,
    /// GET of a stream.
    Stream,
    /// PATCH, DELETE, OPTIONS and calls, which take no parameters.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    pub content: Option<Content>,
    pub depth: Option<Depth>,
    pub fields: Option<String>,
    pub defaults: Option<Defaults>,
    pub insert: Option<Insert>,
    pub point: Option<String>,
    pub filter: Option<String>,
    /// As written, but a date and time by its type.
    pub start_time: Option<String>,
    pub stop_time: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    Unbounded,
    Levels(u16),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insert {
    First,
    Last,
    Before,
    After,
}

impl Query {
    /// Reads what follows the question mark.
    pub fn parse(text: &str, used: Use) -> Result<Query, Fault> {
        let mut query = Query::default();
        let mut seen: Vec<String> = Vec::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            if seen.iter().any(|one| *one == name) {
                return Err(bad(format!("parameter '{name}' is there twice")));
            }
            query.set(&name, &value, used)?;
            seen.push(name.into_owned());
        }
        match (query.insert, &query.point) {
            (Some(Insert::Before | Insert::After), None) => {
                Err(bad("parameter 'point' is missing"))
            }
            (None | Some(Insert::First | Insert::Last), Some(_)) => {
                Err(bad("parameter 'point' only goes with insert=before and insert=after"))
            }
            _ => match (&query.start_time, &query.stop_time) {
                (None, Some(_)) => Err(bad("parameter 'stop-time' only goes with 'start-time'")),
                _ => Ok(query),
            },
        }
    }

    fn set(&mut self, name: &str, value: &str, used: Use) -> Result<(), Fault> {
        let wrong = || bad(format!("parameter '{name}' cannot be '{value}'"));
        match (name, used) {
            ("content", Use::Read) => {
                self.content = Some(match value {
                    "all" => Content::All,
                    "config" => Content::Config,
                    "nonconfig" => Content::State,
                    _ => return Err(wrong()),
                });
            }
            ("depth", Use::Read) => {
                self.depth = Some(match value {
                    "unbounded" => Depth::Unbounded,
                    _ if value.starts_with('+') => return Err(wrong()),
                    _ => Depth::Levels(
                        value.parse().ok().filter(|levels| *levels > 0).ok_or_else(wrong)?,
                    ),
                });
            }
            ("fields", Use::Read) => self.fields = Some(value.to_owned()),
            ("with-defaults", Use::Read) => {
                self.defaults = Some(match value {
                    "report-all" => Defaults::ReportAll,
                    "trim" => Defaults::Trim,
                    "explicit" => Defaults::Explicit,
                    "report-all-tagged" => return Err(bad("defaults cannot be tagged")),
                    _ => return Err(wrong()),
                });
            }
            ("insert", Use::Write) => {
                self.insert = Some(match value {
                    "first" => Insert::First,
                    "last" => Insert::Last,
                    "before" => Insert::Before,
                    "after" => Insert::After,
                    _ => return Err(wrong()),
                });
            }
            // Clients of NSO ask to see what it hides. Nothing is hidden here.
            ("unhide", Use::Read | Use::Write | Use::Other) => {}
            ("point", Use::Write) => self.point = Some(value.to_owned()),
            ("filter", Use::Stream) => self.filter = Some(value.to_owned()),
            ("start-time" | "stop-time", Use::Stream) => {
                // A plus that nobody encoded is a space by now, and a time has none.
                let value = value.replace(' ', "+");
                let known = WellKnown::DateAndTime.canonical(&value).ok_or_else(wrong)?;
                if name == "start-time" {
                    self.start_time = Some(known);
                } else {
                    self.stop_time = Some(known);
                }
            }
            _ => return Err(bad(format!("parameter '{name}' is not known here"))),
        }
        Ok(())
    }

    /// What of the target is told.
    pub fn view(&self, schema: &Schema, target: &Target) -> Result<View, Fault> {
        let node = target.steps.last().map(|step| step.node);
        let fields =
            self.fields.as_deref().map(|text| Selection::parse(schema, node, text)).transpose()?;
        Ok(View {
            content: self.content.unwrap_or(Content::All),
            depth: match self.depth {
                None | Some(Depth::Unbounded) => None,
                Some(Depth::Levels(levels)) => Some(u32::from(levels)),
            },
            fields,
            defaults: self.defaults.unwrap_or(Defaults::Explicit),
            at_datastore: node.is_none(),
        })
    }

    /// Where among the entries of its list a new one goes. The point is a path from the datastore, beside the target.
    pub fn place(&self, schema: &Schema, target: &Target) -> Result<Option<Place>, Fault> {
        let Some(insert) = self.insert else { return Ok(None) };
        let list = target.steps.last().map(|step| step.node);
        if !list.is_some_and(|list| schema.node(list).user_ordered) {
            return Err(bad("parameter 'insert' is for lists that are ordered by the user"));
        }
        let point = match &self.point {
            None => Vec::new(),
            Some(text) => {
                let point = path::parse(schema, Dialect::Rfc8040, text)?;
                let beside = point.steps.split_last().map(|(_, above)| above)
                    == target.steps.split_last().map(|(_, above)| above);
                match point.steps.last() {
                    Some(step) if beside && Some(step.node) == list && !step.keys.is_empty() => {
                        step.keys.clone()
                    }
                    _ => return Err(bad("parameter 'point' is not in the same list")),
                }
            }
        };
        Ok(Some(match insert {
            Insert::First => Place::First,
            Insert::Last => Place::Last,
            Insert::Before => Place::Before(point),
            Insert::After => Place::After(point),
        }))
    }
}

fn bad(message: impl Into<String>) -> Fault {
    Fault::protocol(Tag::InvalidValue, message)
}
