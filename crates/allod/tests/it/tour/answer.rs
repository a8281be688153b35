//! Compares the output of a command with the output that a document shows.
//!
//! `…` in the document stands for anything: as a member of an object for any other members, as an item of a list for any
//! number of items, elsewhere for any text.

use serde_json::Value;

const ANYTHING: &str = "…";

/// Compares text literally, and JSON from the first line that starts with a brace or a bracket by its meaning. The text
/// before the JSON is, for example, the status line and the headers that `curl -i` prints.
pub fn fits(expected: &str, got: &str) -> bool {
    let got = got.replace('\r', "");
    let ((head, json), (got_head, got_json)) = (split_at_json(expected), split_at_json(&got));
    let Some(pattern) = json.and_then(pattern) else { return text_fits(expected, got.trim_end()) };
    let got_json = got_json.and_then(|json| serde_json::from_str(json).ok());
    text_fits(head, got_head) && got_json.is_some_and(|got| json_fits(&pattern, &got))
}

/// The lines before the first line that starts with a brace or a bracket, and the rest.
fn split_at_json(text: &str) -> (&str, Option<&str>) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(['{', '[']) {
            return (&text[..at], Some(&text[at..]));
        }
        at += line.len();
    }
    (text, None)
}

/// Turns JSON with `…` in it into JSON: a member of that name, an item or a value of that text.
fn pattern(text: &str) -> Option<Value> {
    let (mut json, mut open, mut in_text, mut escaped) = (String::new(), Vec::new(), false, false);
    let mut after_colon = false;
    for letter in text.chars() {
        if in_text {
            in_text = escaped || letter != '"';
            escaped = letter == '\\' && !escaped;
            json.push(letter);
            continue;
        }
        match letter {
            '…' if open.last() == Some(&'{') && !after_colon => json.push_str("\"…\":\"…\""),
            '…' => json.push_str("\"…\""),
            other => json.push(other),
        }
        match letter {
            '"' => in_text = true,
            '{' | '[' => open.push(letter),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
        after_colon = letter == ':' || (after_colon && letter.is_whitespace());
    }
    serde_json::from_str(&json).ok()
}

fn json_fits(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::String(expected), _) if expected == ANYTHING => true,
        (Value::String(expected), Value::String(got)) => text_fits(expected, got),
        (Value::Array(expected), Value::Array(got)) => items_fit(expected, got),
        (Value::Object(expected), Value::Object(got)) => {
            let open = expected.contains_key(ANYTHING);
            let mut named = expected.iter().filter(|(name, _)| *name != ANYTHING);
            (open || expected.len() == got.len())
                && named.all(|(name, part)| got.get(name).is_some_and(|got| json_fits(part, got)))
        }
        _ => expected == got,
    }
}

fn items_fit(expected: &[Value], got: &[Value]) -> bool {
    match expected.split_first() {
        None => got.is_empty(),
        Some((first, rest)) if first.as_str() == Some(ANYTHING) => {
            (0..=got.len()).any(|skipped| items_fit(rest, &got[skipped..]))
        }
        Some((first, rest)) => got
            .split_first()
            .is_some_and(|(got, others)| json_fits(first, got) && items_fit(rest, others)),
    }
}

fn text_fits(expected: &str, got: &str) -> bool {
    let mut parts = expected.split(ANYTHING);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = got.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            let Some(at) = rest.find(before) else { return false };
            rest = &rest[at + before.len()..];
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

#[test]
fn expected_output_is_compared_by_its_meaning() {
    for (expected, got, fit) in [
        ("", "", true),
        ("", "error", false),
        ("4", "4\n", true),
        ("4", "5\n", false),
        ("{\"a\":1,…}", "{\"b\":[],\"a\":1}", true),
        ("{\"a\":1}", "{\"a\":1,\"b\":2}", false),
        ("{\"a\":…}", "{\"a\":{\"b\":2}}", true),
        ("{\"a\":[…,{\"b\":2,…},…]}", "{\"a\":[1,{\"c\":1,\"b\":2},3]}", true),
        ("{\"a\":[…,{\"b\":2}]}", "{\"a\":[{\"b\":2},3]}", false),
        ("{\"a\":\"x…z\"}", "{\"a\":\"xyz\"}", true),
        ("{\"a\":\"x…z\"}", "{\"a\":\"xy\"}", false),
        ("{\"a\":\"\\\"…\"}", "{\"a\":\"\\\"b\"}", true),
        ("HTTP/1.1 200 OK\n…\n\n{\"a\":1}", "HTTP/1.1 200 OK\r\na: b\r\n\r\n{ \"a\": 1 }", true),
        ("HTTP/1.1 201 Created\n…\n\n{\"a\":1}", "HTTP/1.1 200 OK\r\na: b\r\n\r\n{\"a\":1}", false),
        ("HTTP/1.1 204 No Content\n…", "HTTP/1.1 204 No Content\r\na: b\r\n\r\n", true),
        ("pool   free\nvlans  …", "pool   free\nvlans  4089", true),
        ("pool   free\nvlans  …", "pool   used\nvlans  4089", false),
        ("one … two … three", "one 1 two 2 three", true),
        ("one … two … three", "one 1 three", false),
        ("error: {…", "error: {broken", true),
    ] {
        assert_eq!(fits(expected, got), fit, "{expected} against {got}");
    }
}
