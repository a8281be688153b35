//! A minimal HTTP/1.1 parser for answers that arrive in pieces: status and a body with a length.

use std::ops::Range;

/// One complete answer within a buffer.
#[derive(Debug, PartialEq, Eq)]
pub struct Parsed {
    pub status: u16,
    pub body: Range<usize>,
}

/// The first answer in `buffer`; `None` if it is incomplete.
pub fn parse(buffer: &[u8]) -> Result<Option<Parsed>, String> {
    let Some(head_len) = find(buffer, b"\r\n\r\n") else { return Ok(None) };
    let head = &buffer[..head_len];
    let status = head
        .strip_prefix(b"HTTP/1.1 ")
        .and_then(|rest| std::str::from_utf8(rest.get(..3)?).ok()?.parse().ok())
        .ok_or_else(|| format!("no status in '{}'", String::from_utf8_lossy(head)))?;
    let start = head_len + 4;
    let len = match content_length(head) {
        Some(len) => len,
        None if status == 204 || status == 304 => 0,
        None => return Err(format!("no length in '{}'", String::from_utf8_lossy(head))),
    };
    let body = start..start + len;
    Ok((buffer.len() >= body.end).then_some(Parsed { status, body }))
}

fn content_length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    head.split(|&byte| byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked(NAME.len())?;
        let value = name.eq_ignore_ascii_case(NAME).then_some(value)?;
        std::str::from_utf8(value.trim_ascii()).ok()?.parse().ok()
    })
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|part| part == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_its_whole_body_is_incomplete() {
        let text = b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\nx: y\r\n\r\nbody";
        for end in 0..text.len() {
            assert_eq!(parse(&text[..end]), Ok(None), "after {end} bytes");
        }
        let whole = parse(text).unwrap().unwrap();
        assert_eq!((whole.status, &text[whole.body]), (201, &b"body"[..]));
    }

    #[test]
    fn an_answer_without_a_body_needs_no_length() {
        let text = b"HTTP/1.1 204 No Content\r\ndate: now\r\n\r\n";
        assert_eq!(parse(text), Ok(Some(Parsed { status: 204, body: text.len()..text.len() })));
    }

    #[test]
    fn an_answer_without_a_length_is_an_error() {
        assert!(parse(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
        assert!(parse(b"SSH-2.0\r\n\r\n").is_err());
    }
}
