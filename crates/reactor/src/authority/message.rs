//! Texts from an authority, made safe to store and to show.

use super::connector::Secret;

const MESSAGE_CHARS_MAX: usize = 300;
const HIDDEN: &str = "***";

/// Prepares messages for one authority.
#[derive(Debug, Clone)]
pub(super) struct Messages {
    secret: Option<Secret>,
}

impl Messages {
    pub fn new(secret: Option<&Secret>) -> Messages {
        Messages { secret: secret.filter(|secret| !secret.0.is_empty()).cloned() }
    }

    /// The text without the secret and without control characters, at most 300 characters.
    pub fn clean(&self, text: &str) -> String {
        let text = match &self.secret {
            Some(secret) => text.replace(&secret.0, HIDDEN),
            None => text.to_owned(),
        };
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MESSAGE_CHARS_MAX).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_short_and_have_no_secret_and_no_control_characters() {
        let messages = Messages::new(Some(&Secret("s3cret".into())));
        assert_eq!(messages.clean("a\u{7}b\ns3cret"), "a b ***");
        assert_eq!(messages.clean(&"é".repeat(1000)).chars().count(), 300);
        assert_eq!(Messages::new(Some(&Secret(String::new()))).clean("ab"), "ab");
    }
}
