//! Schemas as HTML: the type in one line, and for an object each of its members.

use serde_json::Value;

use super::html::{Html, list, text, word};
use super::members;

/// A schema with its description and members.
pub(super) fn show(html: &mut Html, schema: &Value) {
    html.tagged("p", "", text(&schema["description"]));
    for part in list(&schema["allOf"]) {
        match part.get("$ref") {
            Some(_) => {
                html.tag("p", "", |html| {
                    html.raw("All of ");
                    form(html, part);
                    html.raw(", and:");
                });
            }
            None => properties(html, part),
        }
    }
    if schema["properties"].is_null() && schema["allOf"].is_null() {
        html.tag("p", "", |html| form(html, schema));
    }
    properties(html, schema);
    if let Some(example) = schema.get("example") {
        html.tagged("pre", "", &serde_json::to_string_pretty(example).unwrap_or_default());
    }
}

fn properties(html: &mut Html, schema: &Value) {
    if schema["properties"].is_null() {
        return;
    }
    html.raw("<dl>");
    for (name, member) in members(&schema["properties"]) {
        html.tag("dt", "", |html| {
            html.tagged("code", "", name).raw(" ");
            form(html, member);
            if list(&schema["required"]).iter().any(|required| required == name) {
                html.raw(" <small>required</small>");
            }
        });
        html.tagged("dd", "", about(member));
    }
    html.raw("</dl>");
}

/// The description of a member; a nullable reference has it one level deeper.
fn about(member: &Value) -> &str {
    let own = text(&member["description"]);
    let deeper = list(&member["oneOf"]).iter().map(|part| text(&part["description"]));
    std::iter::once(own).chain(deeper).find(|text| !text.is_empty()).unwrap_or_default()
}

/// The type of a value in one line.
pub(super) fn form(html: &mut Html, schema: &Value) {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        let name = name.split('"').next().unwrap_or_default();
        html.tagged("a", &format!("href=\"#schema-{name}\""), name);
        return;
    }
    let choices = list(&schema["oneOf"]);
    if !choices.is_empty() {
        for (index, choice) in choices.iter().enumerate() {
            html.raw(if index == 0 { "" } else { " or " });
            form(html, choice);
        }
        return;
    }
    if let Some(words) = schema["enum"].as_array() {
        for (index, word) in words.iter().enumerate() {
            html.raw(if index == 0 { "" } else { " or " });
            html.tagged("code", "", text(word));
        }
        return;
    }
    plain(html, schema);
}

/// A JSON type with its bounds.
fn plain(html: &mut Html, schema: &Value) {
    let one = std::slice::from_ref(&schema["type"]);
    let types = schema["type"].as_array().map_or(one, Vec::as_slice);
    for (index, name) in types.iter().enumerate() {
        html.raw(if index == 0 { "" } else { " or " });
        html.text(if name.is_null() { "an object" } else { word(name) });
    }
    if !schema["items"].is_null() {
        html.raw(" of ");
        form(html, &schema["items"]);
    }
    if schema["additionalProperties"].is_object() {
        html.raw(" of names with ");
        form(html, &schema["additionalProperties"]);
    }
    if let Some(required) = schema["required"].as_array() {
        html.raw(" with");
        for name in required {
            html.raw(" ").tagged("code", "", text(name));
            let member = &schema["properties"][text(name)];
            if !member.is_null() {
                html.raw(": ");
                form(html, member);
            }
        }
    }
    for (word, label) in [("minimum", "from"), ("maximum", "to")] {
        if !schema[word].is_null() {
            html.raw(" ").raw(label).raw(" ").text(&schema[word].to_string());
        }
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        html.raw(" like ").tagged("code", "", pattern);
    }
}
