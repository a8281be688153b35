//! Values in Python's notation, for messages that quote what a client sent.

use serde_json::Value;

/// The result of Python's `repr`.
pub(crate) fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => float_text(float),
            _ => number.to_string(),
        },
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(repr).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let shown =
                members.iter().map(|(name, value)| format!("{}: {}", quoted(name), repr(value)));
            let members: Vec<String> = shown.collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

/// A float with the shortest exact digits, and an exponent where Python uses one.
fn float_text(float: f64) -> String {
    let size = float.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{float:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    if float.fract() == 0.0 { format!("{float:.1}") } else { float.to_string() }
}

/// A quoted string: in single quotes, unless it contains only single quotes.
pub(crate) fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut shown = String::with_capacity(text.len() + 2);
    shown.push(quote);
    for c in text.chars() {
        match c {
            '\\' => shown.push_str("\\\\"),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c == quote => {
                shown.push('\\');
                shown.push(c);
            }
            c if c.is_control() => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown.push(quote);
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_python_writes_them() {
        for (value, text) in [
            (json!(null), "None"),
            (json!([true, 1, 1.5, 2.0]), "[True, 1, 1.5, 2.0]"),
            (json!({"a": "b'c"}), r#"{'a': "b'c"}"#),
            (json!("both ' and \""), r#"'both \' and "'"#),
            (json!("tab\tline\n\\"), r"'tab\tline\n\\'"),
            (json!(3.40282e38), "3.40282e+38"),
            (json!(1e-7), "1e-07"),
        ] {
            assert_eq!(repr(&value), text);
        }
    }
}
