//! Whether an answer is what the README says. `…` stands for anything: as a member of an object for any others, as an item
//! of a list for any number of items, elsewhere for any text.

use serde_json::Value;

const ANYTHING: &str = "…";

/// Texts are compared as they are, JSON (perhaps after a status) by what it means.
pub fn fits(wanted: &str, got: &str) -> bool {
    let (status, json) = at_json(wanted);
    let Some(pattern) = json.and_then(pattern) else { return text_fits(wanted, got) };
    let (got_status, got_json) = at_json(got);
    let got = got_json.and_then(|json| serde_json::from_str(json).ok());
    status == got_status && got.is_some_and(|got| json_fits(&pattern, &got))
}

/// What stands before the JSON, and the JSON. Only a status may stand before it.
fn at_json(text: &str) -> (&str, Option<&str>) {
    match text.find(['{', '[']) {
        Some(at) if text[..at].trim().bytes().all(|byte| byte.is_ascii_digit()) => {
            (text[..at].trim(), Some(&text[at..]))
        }
        _ => (text.trim(), None),
    }
}

/// JSON with `…` in it as JSON: a member of that name, an item or a value of that text.
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

fn json_fits(wanted: &Value, got: &Value) -> bool {
    match (wanted, got) {
        (Value::String(wanted), _) if wanted == ANYTHING => true,
        (Value::String(wanted), Value::String(got)) => text_fits(wanted, got),
        (Value::Array(wanted), Value::Array(got)) => items_fit(wanted, got),
        (Value::Object(wanted), Value::Object(got)) => {
            let open = wanted.contains_key(ANYTHING);
            let mut named = wanted.iter().filter(|(name, _)| *name != ANYTHING);
            (open || wanted.len() == got.len())
                && named.all(|(name, part)| got.get(name).is_some_and(|got| json_fits(part, got)))
        }
        _ => wanted == got,
    }
}

fn items_fit(wanted: &[Value], got: &[Value]) -> bool {
    match wanted.split_first() {
        None => got.is_empty(),
        Some((first, rest)) if first.as_str() == Some(ANYTHING) => {
            (0..=got.len()).any(|skipped| items_fit(rest, &got[skipped..]))
        }
        Some((first, rest)) => got
            .split_first()
            .is_some_and(|(got, others)| json_fits(first, got) && items_fit(rest, others)),
    }
}

fn text_fits(wanted: &str, got: &str) -> bool {
    let mut parts = wanted.split(ANYTHING);
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
fn an_answer_fits_or_it_does_not() {
    for (wanted, got, fit) in [
        ("204", "204", true),
        ("204", "200", false),
        ("200 {\"a\":1,…}", "200 {\"b\":[],\"a\":1}", true),
        ("201 {\"a\":1,…}", "200 {\"b\":[],\"a\":1}", false),
        ("200 {\"a\":1}", "200 {\"a\":1,\"b\":2}", false),
        ("200 {\"a\":…}", "200 {\"a\":{\"b\":2}}", true),
        ("200 {\"a\":[…,{\"b\":2,…},…]}", "200 {\"a\":[1,{\"c\":1,\"b\":2},3]}", true),
        ("200 {\"a\":[…,{\"b\":2}]}", "200 {\"a\":[{\"b\":2},3]}", false),
        ("{\"a\":\"x…z\"}", "{\"a\":\"xyz\"}", true),
        ("{\"a\":\"x…z\"}", "{\"a\":\"xy\"}", false),
        ("{\"a\":\"\\\"…\"}", "{\"a\":\"\\\"b\"}", true),
        ("pool   free\nvlans  …", "pool   free\nvlans  4089", true),
        ("pool   free\nvlans  …", "pool   used\nvlans  4089", false),
        ("one … two … three", "one 1 two 2 three", true),
        ("one … two … three", "one 1 three", false),
        ("error: {…", "error: {broken", true),
    ] {
        assert_eq!(fits(wanted, got), fit, "{wanted} against {got}");
    }
}
