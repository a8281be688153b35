//! Bold and coloured text on a terminal. `NO_COLOR` or a pipe switches it off, so it never carries meaning alone.

pub fn use_colour(terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    terminal && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

pub fn bold(text: &str, coloured: bool) -> String {
    if coloured { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}

pub fn error(text: &str, coloured: bool) -> String {
    if coloured { format!("\x1b[1;31m{text}\x1b[0m") } else { text.to_owned() }
}

/// Escapes control and bidirectional characters. Names come from other users, and could otherwise forge or hide output.
pub fn escape_controls(text: &str) -> String {
    let hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if hostile(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(escape_controls("blüe"), "blüe");
        assert_eq!(escape_controls("a\nb\t\x1b[2J"), "a\\nb\\t\\u{1b}[2J");
        assert_eq!(escape_controls("a\u{202e}b"), "a\\u{202e}b");
    }
}
