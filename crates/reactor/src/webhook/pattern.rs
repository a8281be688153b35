//! Which targets a webhook is for.

/// A path, which is for itself and all below it, or a pattern with `*` for anything, which is for the whole target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    Path(String),
    /// What stands between the stars.
    Parts(Vec<String>),
}

impl Pattern {
    pub fn new(text: &str) -> Pattern {
        if text.contains('*') {
            return Pattern::Parts(text.split('*').map(str::to_owned).collect());
        }
        Pattern::Path(text.trim_end_matches('/').to_owned())
    }

    pub fn fits(&self, target: &str) -> bool {
        match self {
            Pattern::Path(path) => target.strip_prefix(&**path).is_some_and(|rest| {
                // `/a/vpn` is not for `/a/vpn-old`.
                path.is_empty() || rest.is_empty() || rest.starts_with(['/', '[', '{', '='])
            }),
            Pattern::Parts(parts) => fits(parts, target),
        }
    }
}

/// Whether the parts stand in the target in this order, the first at its beginning and the last at its end. To take each as
/// early as possible leaves the most for the others.
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
    fn a_path_is_for_all_below_it_and_a_star_for_anything() {
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
            assert_eq!(Pattern::new(pattern).fits(target), fits, "{pattern} {target}");
        }
    }
}
