//! Parses the query parameters of RFC 8040, and checks which of them a method accepts.

use crate::codec::Dialect;
use crate::edit::InsertAt;
use crate::error::{Result, invalid_value};
use crate::model::{Content, InstancePath};
use crate::path;
use crate::tree::{Defaults, ReadFilters, Selection};
use crate::yang::{Schema, WellKnown};

/// The kind of a request, as far as its parameters depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// GET and HEAD of data.
    Read,
    /// POST and PUT of data.
    Write,
    /// GET of a stream.
    Stream,
    /// PATCH, DELETE, OPTIONS and operations.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestconfParams {
    pub content: Option<Content>,
    /// `None`: unbounded.
    pub depth: Option<u16>,
    pub fields: Option<String>,
    pub defaults: Option<Defaults>,
    pub insert: Option<Insert>,
    pub point: Option<String>,
    pub filter: Option<String>,
    /// A valid `date-and-time`, as the client wrote it.
    pub start_time: Option<String>,
    pub stop_time: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insert {
    First,
    Last,
    Before,
    After,
}

impl RestconfParams {
    /// Parses the part of the URI after the question mark.
    pub fn parse(text: &str, used: RequestKind) -> Result<RestconfParams> {
        let mut query = RestconfParams::default();
        let mut seen: Vec<String> = Vec::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            if seen.iter().any(|one| *one == name) {
                return Err(invalid_value(format!("parameter '{name}' occurs more than once")));
            }
            query.set(&name, &value, used)?;
            seen.push(name.into_owned());
        }
        match (query.insert, &query.point) {
            (Some(Insert::Before | Insert::After), None) => {
                Err(invalid_value("parameter 'point' is missing"))
            }
            (None | Some(Insert::First | Insert::Last), Some(_)) => {
                Err(invalid_value("parameter 'point' requires insert=before or insert=after"))
            }
            _ if query.start_time.is_none() && query.stop_time.is_some() => {
                Err(invalid_value("parameter 'stop-time' requires 'start-time'"))
            }
            _ => Ok(query),
        }
    }

    fn set(&mut self, name: &str, value: &str, used: RequestKind) -> Result<()> {
        let wrong = || invalid_value(format!("parameter '{name}' has the invalid value '{value}'"));
        match (name, used) {
            ("content", RequestKind::Read) => {
                self.content = Some(match value {
                    "all" => Content::All,
                    "config" => Content::Config,
                    "nonconfig" => Content::State,
                    _ => return Err(wrong()),
                });
            }
            ("depth", RequestKind::Read) => {
                let levels = value.parse().ok().filter(|levels| *levels > 0);
                self.depth = match value {
                    "unbounded" => None,
                    _ if value.starts_with('+') => return Err(wrong()),
                    _ => Some(levels.ok_or_else(wrong)?),
                };
            }
            ("fields", RequestKind::Read) => self.fields = Some(value.to_owned()),
            ("with-defaults", RequestKind::Read) => {
                self.defaults = Some(match value {
                    "report-all" => Defaults::ReportAll,
                    "trim" => Defaults::Trim,
                    "explicit" => Defaults::Explicit,
                    "report-all-tagged" => {
                        return Err(invalid_value("report-all-tagged is not supported"));
                    }
                    _ => return Err(wrong()),
                });
            }
            ("insert", RequestKind::Write) => {
                self.insert = Some(match value {
                    "first" => Insert::First,
                    "last" => Insert::Last,
                    "before" => Insert::Before,
                    "after" => Insert::After,
                    _ => return Err(wrong()),
                });
            }
            // NSO clients send `unhide` to see hidden nodes. This server hides none.
            ("unhide", RequestKind::Read | RequestKind::Write | RequestKind::Other) => {}
            ("point", RequestKind::Write) => self.point = Some(value.to_owned()),
            ("filter", RequestKind::Stream) => self.filter = Some(value.to_owned()),
            ("start-time" | "stop-time", RequestKind::Stream) => {
                // An unencoded `+` was decoded to a space. A time contains no spaces.
                let value = value.replace(' ', "+");
                let known = WellKnown::DateAndTime.canonical(&value).ok_or_else(wrong)?;
                if name == "start-time" {
                    self.start_time = Some(known);
                } else {
                    self.stop_time = Some(known);
                }
            }
            _ => {
                return Err(invalid_value(format!("parameter '{name}' is not known here")));
            }
        }
        Ok(())
    }

    /// The filters for a read of the target.
    pub fn read_filters(&self, schema: &Schema, target: &InstancePath) -> Result<ReadFilters> {
        let node = target.steps.last().map(|step| step.node);
        let fields =
            self.fields.as_deref().map(|text| Selection::parse(schema, node, text)).transpose()?;
        Ok(ReadFilters {
            content: self.content.unwrap_or(Content::All),
            depth: self.depth.map(u32::from),
            fields,
            defaults: self.defaults.unwrap_or(Defaults::Explicit),
            at_datastore: node.is_none(),
        })
    }

    /// The position of a new entry in its list. `point` is a path from the datastore to another entry of the list.
    pub fn insert_at(&self, schema: &Schema, target: &InstancePath) -> Result<Option<InsertAt>> {
        let Some(insert) = self.insert else { return Ok(None) };
        let list = target.steps.last().map(|step| step.node);
        if !list.is_some_and(|list| schema.node(list).user_ordered) {
            return Err(invalid_value("parameter 'insert' requires a list with ordered-by user"));
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
                    _ => {
                        return Err(invalid_value(
                            "parameter 'point' does not name an entry of the same list",
                        ));
                    }
                }
            }
        };
        Ok(Some(match insert {
            Insert::First => InsertAt::First,
            Insert::Last => InsertAt::Last,
            Insert::Before => InsertAt::Before(point),
            Insert::After => InsertAt::After(point),
        }))
    }
}
