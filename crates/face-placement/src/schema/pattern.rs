//! The regular expressions that occur in Placement's schemas. There are few, so each is a function; the text is for
//! messages.

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    Uuid,
    /// A resource class, a trait, a consumer's type.
    Name,
    Custom,
    /// A type to ask for usages by.
    ConsumerTypeAsked,
    Positive,
    /// The suffix of a group somewhere in the text.
    Suffix,
    /// A parameter with this name, with a number after it or none.
    Numbered(&'static str),
    /// A parameter with this name, with a name after it or none.
    Named(&'static str),
}

impl Pattern {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Pattern::Uuid => "^[0-9a-fA-F-]{36}$",
            Pattern::Name => "^[A-Z0-9_]+$",
            Pattern::Custom => "^CUSTOM_[A-Z0-9_]+$",
            Pattern::ConsumerTypeAsked => "^[A-Z0-9_]+$|^all|^unknown$",
            Pattern::Positive => "^[1-9][0-9]*$",
            Pattern::Suffix => "[a-zA-Z0-9_-]{1,64}",
            Pattern::Numbered("resources") => "^resources([1-9][0-9]*)?$",
            Pattern::Numbered("required") => "^required([1-9][0-9]*)?$",
            Pattern::Numbered("member_of") => "^member_of([1-9][0-9]*)?$",
            Pattern::Numbered(_) => "^in_tree([1-9][0-9]*)?$",
            Pattern::Named("resources") => "^resources([a-zA-Z0-9_-]{1,64})?$",
            Pattern::Named("required") => "^required([a-zA-Z0-9_-]{1,64})?$",
            Pattern::Named("member_of") => "^member_of([a-zA-Z0-9_-]{1,64})?$",
            Pattern::Named(_) => "^in_tree([a-zA-Z0-9_-]{1,64})?$",
        }
    }

    /// Whether it is found in a text.
    pub(crate) fn finds(self, text: &str) -> bool {
        match self {
            Pattern::Uuid => {
                let fits = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
                text.len() == 36 && text.bytes().all(fits)
            }
            Pattern::Name => is_name(text),
            Pattern::Custom => text.strip_prefix("CUSTOM_").is_some_and(is_name),
            Pattern::ConsumerTypeAsked => {
                is_name(text) || text.starts_with("all") || text == "unknown"
            }
            Pattern::Positive => is_number(text),
            Pattern::Suffix => text.bytes().any(is_suffix_byte),
            Pattern::Numbered(name) => {
                text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || is_number(rest))
            }
            Pattern::Named(name) => {
                text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || is_suffix(rest))
            }
        }
    }
}

/// A number without leading zeros that is not zero.
pub(crate) fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() && !text.starts_with('0')
}

/// The name of a group.
pub(crate) fn is_suffix(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(is_suffix_byte)
}

fn is_suffix_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    !text.is_empty() && text.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finds_what_its_text_says() {
        for (pattern, text, found) in [
            (Pattern::Uuid, "7a3f0a5e-0000-4000-8000-00000000000g", false),
            (Pattern::Uuid, "7A3f0a5e-0000-4000-8000-000000000000", true),
            (Pattern::Uuid, "------------------------------------", true),
            (Pattern::Name, "VCPU_2", true),
            (Pattern::Name, "", false),
            (Pattern::Name, "vcpu", false),
            (Pattern::Custom, "CUSTOM_", false),
            (Pattern::Custom, "CUSTOM_A", true),
            (Pattern::Custom, "A_CUSTOM_A", false),
            (Pattern::ConsumerTypeAsked, "allx", true),
            (Pattern::ConsumerTypeAsked, "unknownx", false),
            (Pattern::Positive, "10", true),
            (Pattern::Positive, "01", false),
            (Pattern::Positive, "-1", false),
            (Pattern::Suffix, "", false),
            (Pattern::Suffix, "?a?", true),
            (Pattern::Numbered("resources"), "resources", true),
            (Pattern::Numbered("resources"), "resources1", true),
            (Pattern::Numbered("resources"), "resources01", false),
            (Pattern::Numbered("resources"), "resources_A", false),
            (Pattern::Named("in_tree"), "in_tree_A-1", true),
            (Pattern::Named("in_tree"), "in_tree1@", false),
        ] {
            assert_eq!(pattern.finds(text), found, "{pattern:?} {text}");
        }
        assert!(Pattern::Named("required").finds(&format!("required{}", "a".repeat(64))));
        assert!(!Pattern::Named("required").finds(&format!("required{}", "a".repeat(65))));
    }
}
