//! JSON schemas: the few keywords that Placement's interface is described with, and what a client is told when its
//! request does not fit.
//!
//! The words are those of Python's jsonschema, because clients and tests look for them. Of several failures the one nearest
//! to the root is told; of those at the same depth the one whose path is last, and at one place the first keyword's.
//!
//! - `pattern`: the regular expressions that occur, without an engine for others
//! - `python`: values as Python writes them
//! - `forms`: the schemas themselves, by microversion
//!
//! Not here: what a body that fits means.

pub(crate) mod forms;
pub(crate) mod pattern;
pub(crate) mod python;

use std::collections::HashSet;
use std::fmt::Write;

use serde_json::Value;

use pattern::Pattern;
use python::{quoted, repr};

use crate::fault::Fault;
use crate::uuid;

/// What a value has to look like: each of these.
pub(crate) type Schema = &'static [Rule];

#[derive(Debug)]
pub(crate) enum Rule {
    Type(&'static [Kind]),
    Properties(&'static [(&'static str, Schema)]),
    PatternProperties(&'static [(Pattern, Schema)]),
    Required(&'static [&'static str]),
    /// Properties that are not listed are not allowed.
    NoOthers,
    MinProperties(usize),
    Items(Schema),
    MinItems(usize),
    UniqueItems,
    Minimum(i64),
    Maximum(Limit),
    MinLength(usize),
    MaxLength(usize),
    Pattern(Pattern),
    Format(Format),
    Enum(&'static [&'static str]),
    AnyOf(&'static [Schema]),
}

/// The greatest number that is allowed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    Whole(i64),
    Float(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Null,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// As Python's library reads one: dashes and braces may be missing.
    Uuid,
    /// With its dashes where they belong, as in a query.
    DashedUuid,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Object => "object",
            Kind::Array => "array",
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Null => "null",
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Kind::Object => value.is_object(),
            Kind::Array => value.is_array(),
            Kind::String => value.is_string(),
            Kind::Integer => match value.as_f64() {
                Some(_) if value.is_i64() || value.is_u64() => true,
                Some(float) => float.fract() == 0.0,
                None => false,
            },
            Kind::Number => value.is_number(),
            Kind::Null => value.is_null(),
        }
    }
}

/// Reads a JSON body and holds it against a schema.
pub(crate) fn body(bytes: &[u8], schema: Schema) -> Result<Value, Fault> {
    let value = serde_json::from_slice(bytes)
        .map_err(|error| Fault::bad_request(format!("Malformed JSON: {error}")))?;
    match check(&value, schema) {
        None => Ok(value),
        Some(why) => Err(Fault::bad_request(format!("JSON does not validate: {why}"))),
    }
}

/// Why a value does not fit, if it does not.
pub(crate) fn check(value: &Value, schema: Schema) -> Option<String> {
    let mut failures = Vec::new();
    Place { up: None, step: Step::Root, value, schema, route: Route::Root }.look(&mut failures);
    let mut best: Option<Failure> = None;
    for failure in failures {
        let better = best.as_ref().is_none_or(|best| {
            let depth = best.path.len().cmp(&failure.path.len());
            depth.then_with(|| failure.path.cmp(&best.path)).is_gt()
        });
        if better {
            best = Some(failure);
        }
    }
    best.map(|failure| failure.text)
}

/// A failure, told whole.
struct Failure {
    path: Vec<Step<'static>>,
    text: String,
}

/// From a value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step<'a> {
    Root,
    Index(usize),
    Key(std::borrow::Cow<'a, str>),
}

/// From a schema to one inside it.
#[derive(Debug, Clone, Copy)]
enum Route<'a> {
    Root,
    Named(&'static str, &'a str),
    Choice(usize),
    Items,
}

/// A value, its schema, and how both were reached.
struct Place<'a> {
    up: Option<&'a Place<'a>>,
    step: Step<'a>,
    value: &'a Value,
    schema: Schema,
    route: Route<'a>,
}

impl<'a> Place<'a> {
    fn inner(&'a self, step: Step<'a>, value: &'a Value, schema: Schema, route: Route<'a>) -> Self {
        Place { up: Some(self), step, value, schema, route }
    }

    fn look(&self, failures: &mut Vec<Failure>) {
        for rule in self.schema {
            self.look_at(rule, failures);
        }
    }

    fn look_at(&self, rule: &'static Rule, failures: &mut Vec<Failure>) {
        let value = self.value;
        let shown = || repr(value);
        let mut fail = |keyword: &str, message: String| {
            failures.push(Failure { path: self.path(), text: self.tell(keyword, &message) });
        };
        match rule {
            Rule::Type(kinds) => {
                if !kinds.iter().any(|kind| kind.fits(value)) {
                    let names: Vec<String> = kinds.iter().map(|kind| quoted(kind.name())).collect();
                    fail("type", format!("{} is not of type {}", shown(), names.join(", ")));
                }
            }
            Rule::Properties(known) => {
                let Some(own) = value.as_object() else { return };
                for (name, schema) in *known {
                    if let Some(inside) = own.get(*name) {
                        let (step, route) =
                            (Step::Key((*name).into()), Route::Named("properties", name));
                        self.inner(step, inside, schema, route).look(failures);
                    }
                }
            }
            Rule::PatternProperties(known) => {
                let Some(own) = value.as_object() else { return };
                for (pattern, schema) in *known {
                    for (name, inside) in own.iter().filter(|(name, _)| pattern.finds(name)) {
                        let route = Route::Named("patternProperties", pattern.text());
                        let step = Step::Key(name.as_str().into());
                        self.inner(step, inside, schema, route).look(failures);
                    }
                }
            }
            Rule::Required(names) => {
                let Some(own) = value.as_object() else { return };
                for name in names.iter().filter(|name| !own.contains_key(**name)) {
                    fail("required", format!("{} is a required property", quoted(name)));
                }
            }
            Rule::NoOthers => {
                let Some(own) = value.as_object() else { return };
                let others: Vec<String> = own
                    .keys()
                    .filter(|name| !self.schema.iter().any(|rule| rule.lists(name)))
                    .map(|name| quoted(name))
                    .collect();
                if !others.is_empty() {
                    fail("additionalProperties", self.unexpected(&others));
                }
            }
            Rule::MinProperties(min) => {
                if value.as_object().is_some_and(|own| own.len() < *min) {
                    let how = if *min == 1 {
                        "should be non-empty"
                    } else {
                        "does not have enough properties"
                    };
                    fail("minProperties", format!("{} {how}", shown()));
                }
            }
            Rule::Items(schema) => {
                for (index, inside) in value.as_array().into_iter().flatten().enumerate() {
                    self.inner(Step::Index(index), inside, schema, Route::Items).look(failures);
                }
            }
            Rule::MinItems(min) => {
                if value.as_array().is_some_and(|items| items.len() < *min) {
                    fail("minItems", format!("{} {}", shown(), too_short(*min)));
                }
            }
            Rule::UniqueItems => {
                let Some(items) = value.as_array() else { return };
                let mut seen = HashSet::with_capacity(items.len());
                if !items.iter().all(|item| seen.insert(item)) {
                    fail("uniqueItems", format!("{} has non-unique elements", shown()));
                }
            }
            Rule::Minimum(min) => {
                if value.as_f64().is_some_and(|number| number < *min as f64) {
                    fail("minimum", format!("{} is less than the minimum of {min}", shown()));
                }
            }
            Rule::Maximum(max) => {
                if value.as_f64().is_some_and(|number| number > max.as_f64()) {
                    let max = max.text();
                    fail("maximum", format!("{} is greater than the maximum of {max}", shown()));
                }
            }
            Rule::MinLength(min) => {
                if value.as_str().is_some_and(|text| text.chars().count() < *min) {
                    fail("minLength", format!("{} {}", shown(), too_short(*min)));
                }
            }
            Rule::MaxLength(max) => {
                if value
                    .as_str()
                    .is_some_and(|text| text.len() > *max && text.chars().count() > *max)
                {
                    fail("maxLength", format!("{} is too long", shown()));
                }
            }
            Rule::Pattern(pattern) => {
                if value.as_str().is_some_and(|text| !pattern.finds(text)) {
                    let pattern = quoted(pattern.text());
                    fail("pattern", format!("{} does not match {pattern}", shown()));
                }
            }
            Rule::Format(format) => {
                if value.as_str().is_some_and(|text| !format.fits(text)) {
                    fail("format", format!("{} is not a 'uuid'", shown()));
                }
            }
            Rule::Enum(names) => {
                if value.as_str().is_none_or(|text| !names.contains(&text)) {
                    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
                    fail("enum", format!("{} is not one of [{}]", shown(), names.join(", ")));
                }
            }
            Rule::AnyOf(choices) => {
                let mut inside = Vec::new();
                let tries = choices.iter().enumerate().map(|(n, schema)| {
                    let before = inside.len();
                    // What is wrong within a choice is told from there, and not from the top.
                    let route = Route::Choice(n);
                    Place { up: None, step: Step::Root, value, schema, route }.look(&mut inside);
                    inside.len() == before
                });
                if tries.collect::<Vec<bool>>().contains(&true) {
                    return;
                }
                // If it is of one choice's type, what is wrong with it as that choice says more.
                let meant = choices.iter().position(|schema| is_of_type(schema, value));
                match meant.and_then(|n| inside.into_iter().nth(n)) {
                    Some(failure) => failures.push(failure),
                    None => fail("anyOf", {
                        format!("{} is not valid under any of the given schemas", shown())
                    }),
                }
            }
        }
    }

    fn unexpected(&self, others: &[String]) -> String {
        let patterns = self.schema.iter().find_map(|rule| match rule {
            Rule::PatternProperties(known) => Some(*known),
            _ => None,
        });
        match (patterns, others) {
            (None, [other]) => {
                format!("Additional properties are not allowed ({other} was unexpected)")
            }
            (None, _) => format!(
                "Additional properties are not allowed ({} were unexpected)",
                others.join(", ")
            ),
            (Some(known), _) => {
                let mut texts: Vec<&str> =
                    known.iter().map(|(pattern, _)| pattern.text()).collect();
                texts.sort_unstable();
                let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
                let verb = if others.len() == 1 { "does" } else { "do" };
                let (others, texts) = (others.join(", "), texts.join(", "));
                format!("{others} {verb} not match any of the regexes: {texts}")
            }
        }
    }

    fn path(&self) -> Vec<Step<'static>> {
        let mut path = self.up.map_or_else(Vec::new, Place::path);
        match &self.step {
            Step::Root => {}
            Step::Index(index) => path.push(Step::Index(*index)),
            Step::Key(name) => path.push(Step::Key(name.to_string().into())),
        }
        path
    }

    fn tell(&self, keyword: &str, message: &str) -> String {
        let mut text = format!("{message}\n\nFailed validating {} in schema", quoted(keyword));
        self.write_route(&mut text);
        text.push_str(":\n    ");
        write_schema(&mut text, self.schema);
        text.push_str("\n\nOn instance");
        for step in self.path() {
            // Writing into a string does not fail.
            let _ = match step {
                Step::Root => Ok(()),
                Step::Index(index) => write!(text, "[{index}]"),
                Step::Key(name) => write!(text, "[{}]", quoted(&name)),
            };
        }
        let _ = write!(text, ":\n    {}", repr(self.value));
        text
    }

    fn write_route(&self, text: &mut String) {
        if let Some(up) = self.up {
            up.write_route(text);
        }
        let _ = match self.route {
            Route::Root => Ok(()),
            Route::Named(keyword, name) => write!(text, "['{keyword}'][{}]", quoted(name)),
            Route::Choice(number) => write!(text, "[{number}]"),
            Route::Items => write!(text, "['items']"),
        };
    }
}

impl Rule {
    /// Whether it names a property, or a pattern that the name fits.
    fn lists(&self, name: &str) -> bool {
        match self {
            Rule::Properties(known) => known.iter().any(|(own, _)| *own == name),
            Rule::PatternProperties(known) => known.iter().any(|(own, _)| own.finds(name)),
            _ => false,
        }
    }
}

impl Limit {
    fn as_f64(self) -> f64 {
        match self {
            Limit::Whole(number) => number as f64,
            Limit::Float(number) => number,
        }
    }

    fn text(self) -> String {
        match self {
            Limit::Whole(number) => number.to_string(),
            Limit::Float(number) => repr(&number.into()),
        }
    }
}

impl Format {
    fn fits(self, text: &str) -> bool {
        match self {
            Format::Uuid => uuid::is_like(text),
            Format::DashedUuid => {
                let bytes = text.as_bytes();
                let dashed = [8, 13, 18, 23].iter().all(|&at| bytes.get(at) == Some(&b'-'));
                dashed && uuid::is_like(text)
            }
        }
    }
}

fn is_of_type(schema: Schema, value: &Value) -> bool {
    schema.iter().any(|rule| match rule {
        Rule::Type(kinds) => kinds.iter().any(|kind| kind.fits(value)),
        _ => false,
    })
}

fn too_short(min: usize) -> &'static str {
    if min == 1 { "should be non-empty" } else { "is too short" }
}

/// The schema as Python would print it.
fn write_schema(text: &mut String, schema: Schema) {
    let list = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        format!("[{}]", names.join(", "))
    };
    text.push('{');
    for (n, rule) in schema.iter().enumerate() {
        text.push_str(if n == 0 { "" } else { ", " });
        let _ = match rule {
            Rule::Type([kind]) => write!(text, "'type': '{}'", kind.name()),
            Rule::Type(kinds) => {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                write!(text, "'type': {}", list(&names))
            }
            Rule::Properties(known) => {
                text.push_str("'properties': ");
                write_schemas(text, known.iter().map(|(name, schema)| (*name, *schema)));
                Ok(())
            }
            Rule::PatternProperties(known) => {
                text.push_str("'patternProperties': ");
                write_schemas(text, known.iter().map(|(own, schema)| (own.text(), *schema)));
                Ok(())
            }
            Rule::Required(names) => write!(text, "'required': {}", list(names)),
            Rule::NoOthers => write!(text, "'additionalProperties': False"),
            Rule::MinProperties(min) => write!(text, "'minProperties': {min}"),
            Rule::Items(schema) => {
                text.push_str("'items': ");
                write_schema(text, schema);
                Ok(())
            }
            Rule::MinItems(min) => write!(text, "'minItems': {min}"),
            Rule::UniqueItems => write!(text, "'uniqueItems': True"),
            Rule::Minimum(min) => write!(text, "'minimum': {min}"),
            Rule::Maximum(max) => write!(text, "'maximum': {}", max.text()),
            Rule::MinLength(min) => write!(text, "'minLength': {min}"),
            Rule::MaxLength(max) => write!(text, "'maxLength': {max}"),
            Rule::Pattern(pattern) => write!(text, "'pattern': {}", quoted(pattern.text())),
            Rule::Format(_) => write!(text, "'format': 'uuid'"),
            Rule::Enum(names) => write!(text, "'enum': {}", list(names)),
            Rule::AnyOf(choices) => {
                text.push_str("'anyOf': [");
                for (n, choice) in choices.iter().enumerate() {
                    text.push_str(if n == 0 { "" } else { ", " });
                    write_schema(text, choice);
                }
                text.push(']');
                Ok(())
            }
        };
    }
    text.push('}');
}

fn write_schemas<'a>(text: &mut String, schemas: impl Iterator<Item = (&'a str, Schema)>) {
    text.push('{');
    for (n, (name, schema)) in schemas.enumerate() {
        let _ = write!(text, "{}{}: ", if n == 0 { "" } else { ", " }, quoted(name));
        write_schema(text, schema);
    }
    text.push('}');
}

#[cfg(test)]
mod tests;
