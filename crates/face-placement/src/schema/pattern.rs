//! The regular expressions in Placement's schemas. There are few, so each is a function; the text is for error
//! messages.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaPattern {
    Uuid,
    /// A resource class, a trait or a consumer type.
    Name,
    Custom,
    /// The consumer type in a request for usages.
    ConsumerTypeAsked,
    Positive,
    /// A group suffix anywhere in the text.
    Suffix,
    /// A parameter with this name and an optional number.
    Numbered(&'static str),
    /// A parameter with this name and an optional suffix.
    Named(&'static str),
}

impl SchemaPattern {
    pub(crate) fn text(self) -> &'static str {
        match self {
            SchemaPattern::Uuid => "^[0-9a-fA-F-]{36}$",
            SchemaPattern::Name => "^[A-Z0-9_]+$",
            SchemaPattern::Custom => "^CUSTOM_[A-Z0-9_]+$",
            SchemaPattern::ConsumerTypeAsked => "^[A-Z0-9_]+$|^all|^unknown$",
            SchemaPattern::Positive => "^[1-9][0-9]*$",
            SchemaPattern::Suffix => "[a-zA-Z0-9_-]{1,64}",
            SchemaPattern::Numbered("resources") => "^resources([1-9][0-9]*)?$",
            SchemaPattern::Numbered("required") => "^required([1-9][0-9]*)?$",
            SchemaPattern::Numbered("member_of") => "^member_of([1-9][0-9]*)?$",
            SchemaPattern::Numbered(_) => "^in_tree([1-9][0-9]*)?$",
            SchemaPattern::Named("resources") => "^resources([a-zA-Z0-9_-]{1,64})?$",
            SchemaPattern::Named("required") => "^required([a-zA-Z0-9_-]{1,64})?$",
            SchemaPattern::Named("member_of") => "^member_of([a-zA-Z0-9_-]{1,64})?$",
            SchemaPattern::Named(_) => "^in_tree([a-zA-Z0-9_-]{1,64})?$",
        }
    }

    /// Whether the expression matches.
    pub(crate) fn finds(self, text: &str) -> bool {
        match self {
            SchemaPattern::Uuid => {
                let fits = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
                text.len() == 36 && text.bytes().all(fits)
            }
            SchemaPattern::Name => is_name(text),
            SchemaPattern::Custom => text.strip_prefix("CUSTOM_").is_some_and(is_name),
            SchemaPattern::ConsumerTypeAsked => {
                is_name(text) || text.starts_with("all") || text == "unknown"
            }
            SchemaPattern::Positive => is_number(text),
            SchemaPattern::Suffix => text.bytes().any(is_suffix_byte),
            SchemaPattern::Numbered(name) => {
                text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || is_number(rest))
            }
            SchemaPattern::Named(name) => {
                text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || is_suffix(rest))
            }
        }
    }
}

/// A positive number without leading zeros.
pub(crate) fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() && !text.starts_with('0')
}

/// The suffix of a group.
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
    fn each_function_matches_its_expression() {
        for (pattern, text, found) in [
            (SchemaPattern::Uuid, "7a3f0a5e-0000-4000-8000-00000000000g", false),
            (SchemaPattern::Uuid, "7A3f0a5e-0000-4000-8000-000000000000", true),
            (SchemaPattern::Uuid, "------------------------------------", true),
            (SchemaPattern::Name, "VCPU_2", true),
            (SchemaPattern::Name, "", false),
            (SchemaPattern::Name, "vcpu", false),
            (SchemaPattern::Custom, "CUSTOM_", false),
            (SchemaPattern::Custom, "CUSTOM_A", true),
            (SchemaPattern::Custom, "A_CUSTOM_A", false),
            (SchemaPattern::ConsumerTypeAsked, "allx", true),
            (SchemaPattern::ConsumerTypeAsked, "unknownx", false),
            (SchemaPattern::Positive, "10", true),
            (SchemaPattern::Positive, "01", false),
            (SchemaPattern::Positive, "-1", false),
            (SchemaPattern::Suffix, "", false),
            (SchemaPattern::Suffix, "?a?", true),
            (SchemaPattern::Numbered("resources"), "resources", true),
            (SchemaPattern::Numbered("resources"), "resources1", true),
            (SchemaPattern::Numbered("resources"), "resources01", false),
            (SchemaPattern::Numbered("resources"), "resources_A", false),
            (SchemaPattern::Named("in_tree"), "in_tree_A-1", true),
            (SchemaPattern::Named("in_tree"), "in_tree1@", false),
        ] {
            assert_eq!(pattern.finds(text), found, "{pattern:?} {text}");
        }
        assert!(SchemaPattern::Named("required").finds(&format!("required{}", "a".repeat(64))));
        assert!(!SchemaPattern::Named("required").finds(&format!("required{}", "a".repeat(65))));
    }
}
