//! Uuids as clients write them: with dashes or without, in braces, with `urn:uuid:` before, in either case.
//!
//! Not here: the core's type for them.

use allod_core::capacity::Uuid;

/// The 32 hexadecimal digits of what Python's library would take for a uuid.
fn digits(text: &str) -> Option<String> {
    let bare = text.replace("urn:", "").replace("uuid:", "");
    let bare = bare.trim_matches(['{', '}']).replace('-', "");
    let fits = bare.len() == 32 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
    fits.then_some(bare)
}

/// Whether a text is a uuid in some form.
pub(crate) fn is_like(text: &str) -> bool {
    digits(text).is_some()
}

/// What a text that is a uuid in some form is as a number.
pub(crate) fn read(text: &str) -> Option<u128> {
    // The usual forms are the core's, and need no copy.
    if let Ok(Uuid(number)) = text.parse() {
        return Some(number);
    }
    u128::from_str_radix(&digits(text)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_may_be_written_in_several_ways() {
        let plain = "7a3f0a5e-0000-4000-8000-00000000000b";
        let number = 0x7a3f_0a5e_0000_4000_8000_0000_0000_000b;
        for text in [
            plain,
            "7a3f0a5e000040008000 00000000000b".replace(' ', "").as_str(),
            "7A3F0A5E-0000-4000-8000-00000000000B",
            "{7a3f0a5e-0000-4000-8000-00000000000b}",
            "urn:uuid:7a3f0a5e-0000-4000-8000-00000000000b",
            "7a3f-0a5e0000-4000-8000-00000000000b",
        ] {
            assert!(is_like(text) && read(text) == Some(number), "{text}");
        }
        for text in ["", "x", &plain[1..], "7a3f0a5e-0000-4000-8000-00000000000g", "ä"] {
            assert!(!is_like(text) && read(text).is_none(), "{text}");
        }
        assert_eq!(read("7a3f0a5e-0000-4000-8000-0000-000000b"), None);
    }
}
