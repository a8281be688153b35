//! Prints the server's JSON: unchanged into a pipe, indented on a terminal. It is not parsed, because that would lose the
//! order of members and the digits of large numbers.

use std::io::IsTerminal;

use super::print as print_text;
use crate::error::Result;

pub fn print(body: &[u8]) -> Result<()> {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_end();
    if std::io::stdout().is_terminal() {
        print_text(&format!("{}\n", indented(text)))
    } else {
        print_text(&format!("{text}\n"))
    }
}

/// The same JSON with one line for each member.
fn indented(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let new_line = |shown: &mut String, depth: usize| {
        shown.push('\n');
        shown.push_str(&"  ".repeat(depth));
    };
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if in_string {
            shown.push(c);
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '"' => {
                in_string = true;
                shown.push(c);
            }
            '{' | '[' => {
                shown.push(c);
                // `{}` and `[]` stay on one line.
                if let Some(close) = rest.next_if(|next| matches!(next, '}' | ']')) {
                    shown.push(close);
                } else {
                    depth += 1;
                    new_line(&mut shown, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut shown, depth);
                shown.push(c);
            }
            ',' => {
                shown.push(c);
                new_line(&mut shown, depth);
            }
            ':' => shown.push_str(": "),
            c if c.is_whitespace() => {}
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indenting_changes_only_white_space() {
        let text = r#"{"b":[1,2.50,{}],"a":"x{[,:\"\\","n":[],"big":340282366920938463463374607431768211455}"#;
        let wanted = r#"{
  "b": [
    1,
    2.50,
    {}
  ],
  "a": "x{[,:\"\\",
  "n": [],
  "big": 340282366920938463463374607431768211455
}"#;
        assert_eq!(indented(text), wanted);
    }
}
