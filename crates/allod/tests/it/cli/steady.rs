//! Replaces what differs between runs by fixed values: times, hashes, sizes, durations, the version.

/// The number after each of these is replaced by 0.
const NUMBERS: [&str; 7] = [
    "\"uptime_ms\":",
    "\"last_append_ms\":",
    "\"bytes\":",
    "append ",
    "last append  ",
    "bytes ",
    "(process ",
];

/// The rest of a line that starts with one of these is replaced by "…".
const LINES: [&str; 1] = ["uptime  "];

pub fn steady(text: &str) -> String {
    let mut text = text.to_owned();
    for before in ["allod ", "version ", "\"version\":\""] {
        let version = format!("{before}{}", env!("CARGO_PKG_VERSION"));
        text = text.replace(&version, &format!("{before}VERSION"));
    }
    let mut steady: String = text
        .lines()
        .map(|line| match LINES.iter().find(|begin| line.starts_with(**begin)) {
            Some(begin) => {
                let rest = line[begin.len()..].trim_start();
                format!("{}…\n", &line[..line.len() - rest.len()])
            }
            None => format!("{}\n", times(&hashes(&sizes(line)))),
        })
        .collect();
    for before in NUMBERS {
        steady = numbers(&steady, before);
    }
    steady
}

/// Replaces the digits of times by 0, which keeps the width of columns.
fn times(line: &str) -> String {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let mut bytes = line.as_bytes().to_vec();
    for at in 0..bytes.len().saturating_sub(FORM.len() - 1) {
        let fits = FORM.iter().zip(&bytes[at..]).all(|(form, byte)| match form {
            b'0' => byte.is_ascii_digit(),
            form => form == byte,
        });
        if fits {
            bytes[at..at + FORM.len()].copy_from_slice(FORM);
            let fraction = bytes[at + FORM.len()..].iter_mut();
            fraction
                .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
                .filter(|byte| byte.is_ascii_digit())
                .for_each(|digit| *digit = b'0');
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Replaces runs of 64 hexadecimal digits by HASH.
fn hashes(line: &str) -> String {
    let is_hash =
        |part: &str| part.len() == 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts = line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| is_hash(part));
    parts.fold(line.to_owned(), |line, hash| line.replace(hash, "HASH"))
}

/// Sizes depend on the process ID, which is part of the journal.
fn sizes(line: &str) -> String {
    match line.split_once(" since start, ") {
        Some((before, after)) if after.ends_with('B') => format!("{before} since start, … B"),
        _ => line.to_owned(),
    }
}

fn numbers(text: &str, before: &str) -> String {
    let mut parts = text.split(before);
    let mut steady = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number = if rest.len() < part.len() { "0" } else { "" };
        steady.push_str(&format!("{before}{number}{rest}"));
    }
    steady
}

#[test]
fn varying_output_is_replaced_by_fixed_values() {
    let hash = "ab".repeat(32);
    for (text, wanted) in [
        ("a 2026-11-15T10:20:30.123Z b", "a 0000-00-00T00:00:00.000Z b\n"),
        (
            "2026-11-15T10:20:30Z,2027-01-01T00:00:01Z",
            "0000-00-00T00:00:00Z,0000-00-00T00:00:00Z\n",
        ),
        (&format!("\"hash\":\"{hash}\""), "\"hash\":\"HASH\"\n"),
        ("\"bytes\":77,\"uptime_ms\":5}", "\"bytes\":0,\"uptime_ms\":0}\n"),
        ("records  7 since start, 1.2 KiB", "records  7 since start, … B\n"),
        ("uptime       1m 2s", "uptime       …\n"),
        ("10.0.1.0/24", "10.0.1.0/24\n"),
        ("(process 77)", "(process 0)\n"),
    ] {
        assert_eq!(steady(text), wanted);
    }
}
