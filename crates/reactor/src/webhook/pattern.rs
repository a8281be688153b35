//! Which targets a webhook matches.

/// A path, which matches itself and everything below it, or a pattern with `*`, which matches the whole target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TargetPattern {
    Path(String),
    /// The texts between the stars.
    Parts(Vec<String>),
}

impl TargetPattern {
    pub fn new(text: &str) -> TargetPattern {
        if text.contains('*') {
            return TargetPattern::Parts(text.split('*').map(str::to_owned).collect());
        }
        TargetPattern::Path(text.trim_end_matches('/').to_owned())
    }

    pub fn fits(&self, target: &str) -> bool {
        match self {
            TargetPattern::Path(path) => target.strip_prefix(&**path).is_some_and(|rest| {
                // `/a/vpn` does not match `/a/vpn-old`.
                path.is_empty() || rest.is_empty() || rest.starts_with(['/', '[', '{', '='])
            }),
            TargetPattern::Parts(parts) => fits(parts, target),
        }
    }
}

/// Whether the target contains the parts in this order, the first at its beginning and the last at its end. Matching each
/// part as early as possible leaves the most text for the others.
fn fits(parts: &[String], target: &str) -> bool {
    let [first, middle @ .., last] = parts else { return false };
    let Some(mut rest) = target.strip_prefix(&**first) else { return false };
    for part in middle {
        match rest.find(&**part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(&**last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_matches_everything_below_it_and_star_matches_any_text() {
        for (pattern, target, fits) in [
            ("", "/a", true),
            ("/", "/a", true),
            ("/s/vpn", "/s/vpn", true),
            ("/s/vpn/", "/s/vpn[name='x']", true),
            ("/s/vpn", "/s/vpn{x}", true),
            ("/s/vpn", "/s/vpn/part", true),
            ("/s/vpn", "/s/vpn-old[name='x']", false),
            ("/s/vpn", "/s", false),
            ("*", "/s", true),
            ("*", "", true),
            ("/s/*", "/s/vpn", true),
            ("/s/*", "/t/vpn", false),
            ("*vpn*", "/s/vpn-old", true),
            ("/s/*[name='b*']", "/s/vpn[name='blue']", true),
            ("/s/*[name='b*']", "/s/vpn[name='red']", false),
            ("ab*ba", "aba", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
        ] {
            assert_eq!(TargetPattern::new(pattern).fits(target), fits, "{pattern} {target}");
        }
    }
}
