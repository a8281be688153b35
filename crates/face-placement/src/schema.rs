//! Validates JSON with the few schema keywords that Placement's API uses.
//!
//! The error texts are those of Python's jsonschema, because clients and tests look for them. If several errors occur,
//! the one nearest to the root is reported; at the same depth, the one with the last path; at the same path, that of
//! the first keyword.
//!
//! - `pattern`: the regular expressions that occur, as functions
//! - `python`: values in Python's notation
//! - `schemas`: the schemas by microversion

pub(crate) mod pattern;
pub(crate) mod python;
pub(crate) mod schemas;

use std::collections::HashSet;
use std::fmt::Write;

use serde_json::Value;

use pattern::SchemaPattern;
use python::{quoted, repr};

use crate::error::{PlacementError, PlacementResult};
use crate::uuid;

/// A list of keywords that a value must all satisfy.
pub(crate) type JsonSchema = &'static [Keyword];

#[derive(Debug)]
pub(crate) enum Keyword {
    Type(&'static [JsonType]),
    Properties(&'static [(&'static str, JsonSchema)]),
    PatternProperties(&'static [(SchemaPattern, JsonSchema)]),
    Required(&'static [&'static str]),
    /// `additionalProperties: false`.
    NoOthers,
    MinProperties(usize),
    Items(JsonSchema),
    MinItems(usize),
    UniqueItems,
    Minimum(i64),
    Maximum(MaximumValue),
    MinLength(usize),
    MaxLength(usize),
    Pattern(SchemaPattern),
    Format(StringFormat),
    Enum(&'static [&'static str]),
    AnyOf(&'static [JsonSchema]),
}

/// The value of the keyword `maximum`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MaximumValue {
    Whole(i64),
    Float(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonType {
    Object,
    Array,
    String,
    Integer,
    Number,
    Null,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StringFormat {
    /// As Python's `uuid` module parses it: dashes and braces are optional.
    Uuid,
    /// With dashes at the right positions, as in query strings.
    DashedUuid,
}

impl JsonType {
    fn name(self) -> &'static str {
        match self {
            JsonType::Object => "object",
            JsonType::Array => "array",
            JsonType::String => "string",
            JsonType::Integer => "integer",
            JsonType::Number => "number",
            JsonType::Null => "null",
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            JsonType::Object => value.is_object(),
            JsonType::Array => value.is_array(),
            JsonType::String => value.is_string(),
            JsonType::Integer => match value.as_f64() {
                Some(_) if value.is_i64() || value.is_u64() => true,
                Some(float) => float.fract() == 0.0,
                None => false,
            },
            JsonType::Number => value.is_number(),
            JsonType::Null => value.is_null(),
        }
    }
}

/// Parses a JSON body and validates it.
pub(crate) fn body(bytes: &[u8], schema: JsonSchema) -> PlacementResult<Value> {
    let value = serde_json::from_slice(bytes)
        .map_err(|error| PlacementError::bad_request(format!("Malformed JSON: {error}")))?;
    validate(&value, schema)?;
    Ok(value)
}

pub(crate) fn validate(value: &Value, schema: JsonSchema) -> PlacementResult<()> {
    match check(value, schema) {
        None => Ok(()),
        Some(why) => Err(PlacementError::bad_request(format!("JSON does not validate: {why}"))),
    }
}

/// The error text, if the value is not valid.
pub(crate) fn check(value: &Value, schema: JsonSchema) -> Option<String> {
    let mut errors = Vec::new();
    Instance { up: None, step: InstanceStep::Root, value, schema, schema_step: SchemaStep::Root }
        .validate(&mut errors);
    let mut best: Option<ValidationError> = None;
    for error in errors {
        let better = best.as_ref().is_none_or(|best| {
            let depth = best.path.len().cmp(&error.path.len());
            depth.then_with(|| error.path.cmp(&best.path)).is_gt()
        });
        if better {
            best = Some(error);
        }
    }
    best.map(|error| error.text)
}

/// A validation error with its complete text.
struct ValidationError {
    path: Vec<InstanceStep<'static>>,
    text: String,
}

/// A step from a value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum InstanceStep<'a> {
    Root,
    Index(usize),
    Key(std::borrow::Cow<'a, str>),
}

/// A step from a schema to one inside it.
#[derive(Debug, Clone, Copy)]
enum SchemaStep<'a> {
    Root,
    Named(&'static str, &'a str),
    Choice(usize),
    Items,
}

/// A value under validation, its schema, and the path to both.
struct Instance<'a> {
    up: Option<&'a Instance<'a>>,
    step: InstanceStep<'a>,
    value: &'a Value,
    schema: JsonSchema,
    schema_step: SchemaStep<'a>,
}

impl<'a> Instance<'a> {
    fn inner(
        &'a self,
        step: InstanceStep<'a>,
        value: &'a Value,
        schema: JsonSchema,
        schema_step: SchemaStep<'a>,
    ) -> Self {
        Instance { up: Some(self), step, value, schema, schema_step }
    }

    fn validate(&self, errors: &mut Vec<ValidationError>) {
        for keyword in self.schema {
            self.validate_keyword(keyword, errors);
        }
    }

    fn validate_keyword(&self, keyword: &'static Keyword, errors: &mut Vec<ValidationError>) {
        let value = self.value;
        let shown = || repr(value);
        let mut fail = |keyword: &str, message: String| {
            errors.push(ValidationError {
                path: self.path(),
                text: self.error_text(keyword, &message),
            });
        };
        match keyword {
            Keyword::Type(types) => {
                if !types.iter().any(|json_type| json_type.fits(value)) {
                    let names: Vec<String> =
                        types.iter().map(|json_type| quoted(json_type.name())).collect();
                    fail("type", format!("{} is not of type {}", shown(), names.join(", ")));
                }
            }
            Keyword::Properties(known) => {
                let Some(own) = value.as_object() else { return };
                for (name, schema) in *known {
                    if let Some(inside) = own.get(*name) {
                        let (step, schema_step) = (
                            InstanceStep::Key((*name).into()),
                            SchemaStep::Named("properties", name),
                        );
                        self.inner(step, inside, schema, schema_step).validate(errors);
                    }
                }
            }
            Keyword::PatternProperties(known) => {
                let Some(own) = value.as_object() else { return };
                for (pattern, schema) in *known {
                    for (name, inside) in own.iter().filter(|(name, _)| pattern.finds(name)) {
                        let schema_step = SchemaStep::Named("patternProperties", pattern.text());
                        let step = InstanceStep::Key(name.as_str().into());
                        self.inner(step, inside, schema, schema_step).validate(errors);
                    }
                }
            }
            Keyword::Required(names) => {
                let Some(own) = value.as_object() else { return };
                for name in names.iter().filter(|name| !own.contains_key(**name)) {
                    fail("required", format!("{} is a required property", quoted(name)));
                }
            }
            Keyword::NoOthers => {
                let Some(own) = value.as_object() else { return };
                let others: Vec<String> = own
                    .keys()
                    .filter(|name| !self.schema.iter().any(|keyword| keyword.lists(name)))
                    .map(|name| quoted(name))
                    .collect();
                if !others.is_empty() {
                    fail("additionalProperties", self.unexpected(&others));
                }
            }
            Keyword::MinProperties(min) => {
                if value.as_object().is_some_and(|own| own.len() < *min) {
                    let how = if *min == 1 {
                        "should be non-empty"
                    } else {
                        "does not have enough properties"
                    };
                    fail("minProperties", format!("{} {how}", shown()));
                }
            }
            Keyword::Items(schema) => {
                for (index, inside) in value.as_array().into_iter().flatten().enumerate() {
                    self.inner(InstanceStep::Index(index), inside, schema, SchemaStep::Items)
                        .validate(errors);
                }
            }
            Keyword::MinItems(min) => {
                if value.as_array().is_some_and(|items| items.len() < *min) {
                    fail("minItems", format!("{} {}", shown(), too_short(*min)));
                }
            }
            Keyword::UniqueItems => {
                let Some(items) = value.as_array() else { return };
                let mut seen = HashSet::with_capacity(items.len());
                if !items.iter().all(|item| seen.insert(item)) {
                    fail("uniqueItems", format!("{} has non-unique elements", shown()));
                }
            }
            Keyword::Minimum(min) => {
                if value.as_f64().is_some_and(|number| number < *min as f64) {
                    fail("minimum", format!("{} is less than the minimum of {min}", shown()));
                }
            }
            Keyword::Maximum(max) => {
                if value.as_f64().is_some_and(|number| number > max.as_f64()) {
                    let max = max.text();
                    fail("maximum", format!("{} is greater than the maximum of {max}", shown()));
                }
            }
            Keyword::MinLength(min) => {
                if value.as_str().is_some_and(|text| text.chars().count() < *min) {
                    fail("minLength", format!("{} {}", shown(), too_short(*min)));
                }
            }
            Keyword::MaxLength(max) => {
                if value
                    .as_str()
                    .is_some_and(|text| text.len() > *max && text.chars().count() > *max)
                {
                    fail("maxLength", format!("{} is too long", shown()));
                }
            }
            Keyword::Pattern(pattern) => {
                if value.as_str().is_some_and(|text| !pattern.finds(text)) {
                    let pattern = quoted(pattern.text());
                    fail("pattern", format!("{} does not match {pattern}", shown()));
                }
            }
            Keyword::Format(format) => {
                if value.as_str().is_some_and(|text| !format.fits(text)) {
                    fail("format", format!("{} is not a 'uuid'", shown()));
                }
            }
            Keyword::Enum(names) => {
                if value.as_str().is_none_or(|text| !names.contains(&text)) {
                    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
                    fail("enum", format!("{} is not one of [{}]", shown(), names.join(", ")));
                }
            }
            Keyword::AnyOf(choices) => {
                let mut inside = Vec::new();
                let tries = choices.iter().enumerate().map(|(n, schema)| {
                    let before = inside.len();
                    // The path of an error inside a choice starts at that choice.
                    let schema_step = SchemaStep::Choice(n);
                    Instance { up: None, step: InstanceStep::Root, value, schema, schema_step }
                        .validate(&mut inside);
                    inside.len() == before
                });
                if tries.collect::<Vec<bool>>().contains(&true) {
                    return;
                }
                // If the value has the type of one choice, the error of that choice is more specific.
                let meant = choices.iter().position(|schema| is_of_type(schema, value));
                match meant.and_then(|n| inside.into_iter().nth(n)) {
                    Some(error) => errors.push(error),
                    None => fail("anyOf", {
                        format!("{} is not valid under any of the given schemas", shown())
                    }),
                }
            }
        }
    }

    fn unexpected(&self, others: &[String]) -> String {
        let patterns = self.schema.iter().find_map(|keyword| match keyword {
            Keyword::PatternProperties(known) => Some(*known),
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

    fn path(&self) -> Vec<InstanceStep<'static>> {
        let mut path = self.up.map_or_else(Vec::new, Instance::path);
        match &self.step {
            InstanceStep::Root => {}
            InstanceStep::Index(index) => path.push(InstanceStep::Index(*index)),
            InstanceStep::Key(name) => path.push(InstanceStep::Key(name.to_string().into())),
        }
        path
    }

    fn error_text(&self, keyword: &str, message: &str) -> String {
        let mut text = format!("{message}\n\nFailed validating {} in schema", quoted(keyword));
        self.write_schema_path(&mut text);
        text.push_str(":\n    ");
        write_schema(&mut text, self.schema);
        text.push_str("\n\nOn instance");
        for step in self.path() {
            // Writing to a string does not fail.
            let _ = match step {
                InstanceStep::Root => Ok(()),
                InstanceStep::Index(index) => write!(text, "[{index}]"),
                InstanceStep::Key(name) => write!(text, "[{}]", quoted(&name)),
            };
        }
        let _ = write!(text, ":\n    {}", repr(self.value));
        text
    }

    fn write_schema_path(&self, text: &mut String) {
        if let Some(up) = self.up {
            up.write_schema_path(text);
        }
        let _ = match self.schema_step {
            SchemaStep::Root => Ok(()),
            SchemaStep::Named(keyword, name) => write!(text, "['{keyword}'][{}]", quoted(name)),
            SchemaStep::Choice(number) => write!(text, "[{number}]"),
            SchemaStep::Items => write!(text, "['items']"),
        };
    }
}

impl Keyword {
    /// Whether it lists this property or a pattern that matches it.
    fn lists(&self, name: &str) -> bool {
        match self {
            Keyword::Properties(known) => known.iter().any(|(own, _)| *own == name),
            Keyword::PatternProperties(known) => known.iter().any(|(own, _)| own.finds(name)),
            _ => false,
        }
    }
}

impl MaximumValue {
    fn as_f64(self) -> f64 {
        match self {
            MaximumValue::Whole(number) => number as f64,
            MaximumValue::Float(number) => number,
        }
    }

    fn text(self) -> String {
        match self {
            MaximumValue::Whole(number) => number.to_string(),
            MaximumValue::Float(number) => repr(&number.into()),
        }
    }
}

impl StringFormat {
    fn fits(self, text: &str) -> bool {
        match self {
            StringFormat::Uuid => uuid::is_like(text),
            StringFormat::DashedUuid => {
                let bytes = text.as_bytes();
                let dashed = [8, 13, 18, 23].iter().all(|&at| bytes.get(at) == Some(&b'-'));
                dashed && uuid::is_like(text)
            }
        }
    }
}

fn is_of_type(schema: JsonSchema, value: &Value) -> bool {
    schema.iter().any(|keyword| match keyword {
        Keyword::Type(types) => types.iter().any(|json_type| json_type.fits(value)),
        _ => false,
    })
}

fn too_short(min: usize) -> &'static str {
    if min == 1 { "should be non-empty" } else { "is too short" }
}

/// The schema in Python's notation.
fn write_schema(text: &mut String, schema: JsonSchema) {
    let list = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        format!("[{}]", names.join(", "))
    };
    text.push('{');
    for (n, keyword) in schema.iter().enumerate() {
        text.push_str(if n == 0 { "" } else { ", " });
        let _ = match keyword {
            Keyword::Type([json_type]) => write!(text, "'type': '{}'", json_type.name()),
            Keyword::Type(types) => {
                let names: Vec<&str> = types.iter().map(|json_type| json_type.name()).collect();
                write!(text, "'type': {}", list(&names))
            }
            Keyword::Properties(known) => {
                text.push_str("'properties': ");
                write_schemas(text, known.iter().map(|(name, schema)| (*name, *schema)));
                Ok(())
            }
            Keyword::PatternProperties(known) => {
                text.push_str("'patternProperties': ");
                write_schemas(text, known.iter().map(|(own, schema)| (own.text(), *schema)));
                Ok(())
            }
            Keyword::Required(names) => write!(text, "'required': {}", list(names)),
            Keyword::NoOthers => write!(text, "'additionalProperties': False"),
            Keyword::MinProperties(min) => write!(text, "'minProperties': {min}"),
            Keyword::Items(schema) => {
                text.push_str("'items': ");
                write_schema(text, schema);
                Ok(())
            }
            Keyword::MinItems(min) => write!(text, "'minItems': {min}"),
            Keyword::UniqueItems => write!(text, "'uniqueItems': True"),
            Keyword::Minimum(min) => write!(text, "'minimum': {min}"),
            Keyword::Maximum(max) => write!(text, "'maximum': {}", max.text()),
            Keyword::MinLength(min) => write!(text, "'minLength': {min}"),
            Keyword::MaxLength(max) => write!(text, "'maxLength': {max}"),
            Keyword::Pattern(pattern) => write!(text, "'pattern': {}", quoted(pattern.text())),
            Keyword::Format(_) => write!(text, "'format': 'uuid'"),
            Keyword::Enum(names) => write!(text, "'enum': {}", list(names)),
            Keyword::AnyOf(choices) => {
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

fn write_schemas<'a>(text: &mut String, schemas: impl Iterator<Item = (&'a str, JsonSchema)>) {
    text.push('{');
    for (n, (name, schema)) in schemas.enumerate() {
        let _ = write!(text, "{}{}: ", if n == 0 { "" } else { ", " }, quoted(name));
        write_schema(text, schema);
    }
    text.push('}');
}

#[cfg(test)]
mod tests;
