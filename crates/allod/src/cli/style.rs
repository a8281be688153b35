//! Emphasis on a terminal. It never carries meaning alone, and `NO_COLOR` or a pipe switches it off.

/// Whether to use it, on something that is a terminal or not.
pub fn coloured(terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    terminal && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

pub fn bold(text: &str, coloured: bool) -> String {
    if coloured { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}

pub fn error(text: &str, coloured: bool) -> String {
    if coloured { format!("\x1b[1;31m{text}\x1b[0m") } else { text.to_owned() }
}

/// The text with everything that would move the cursor, hide or reorder other text made visible: names come from other
/// people.
pub fn plain(text: &str) -> String {
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
    fn names_cannot_play_with_the_terminal() {
        assert_eq!(plain("blüe"), "blüe");
        assert_eq!(plain("a\nb\t\x1b[2J"), "a\\nb\\t\\u{1b}[2J");
        assert_eq!(plain("a\u{202e}b"), "a\\u{202e}b");
    }
}
