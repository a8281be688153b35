//! `Authorization: Basic …`: user and password in base64. The password is a token; the user name is not checked.
//!
//! For clients that support only this, such as those of OpenDaylight and NSO.

use http::HeaderValue;

/// Parses the text after `Basic`. `None` if it is not base64 or has no colon.
pub(super) fn read(text: &[u8]) -> Option<(HeaderValue, HeaderValue)> {
    let decoded = decode(text)?;
    let colon = decoded.iter().position(|&byte| byte == b':')?;
    let (user, password) = (&decoded[..colon], &decoded[colon + 1..]);
    Some((HeaderValue::from_bytes(user).ok()?, HeaderValue::from_bytes(password).ok()?))
}

/// Decodes standard base64; padding is optional.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|&&byte| byte == b'=').count();
    let text = &text[..text.len() - padding];
    if padding > 2 || text.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for &byte in text {
        bits = bits << 6 | u32::from(sextet(byte)?);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_colon_separates_user_and_password() {
        for (text, wanted) in [
            ("YWRtaW46YWRtaW4=", Some(("admin", "admin"))),
            ("YWRtaW46YWRtaW4", Some(("admin", "admin"))),
            ("dTpw", Some(("u", "p"))),
            ("dTphOmI=", Some(("u", "a:b"))),
            ("OnA=", Some(("", "p"))),
            ("YWRtaW4=", None),
            ("dTpw=====", None),
            ("dTpwd", None),
            ("d-_w", None),
            ("", None),
        ] {
            let read = read(text.as_bytes());
            let read = read.as_ref().map(|(user, password)| {
                (user.to_str().unwrap_or_default(), password.to_str().unwrap_or_default())
            });
            assert_eq!(read, wanted, "{text}");
        }
    }
}
