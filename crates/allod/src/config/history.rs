//! Parses the retention setting: `all`, `since-checkpoint`, a time such as `30d`, a size such as `10GB`, or both.

use allod_engine::RetentionPolicy;

const FORMS: &str =
    "all, since-checkpoint, a time such as 30d, a size such as 10GB, or both, such as 30d,10GB";

/// Units in milliseconds and in bytes.
const TIMES: [(&str, u64); 4] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)];
const SIZES: [(&str, u64); 4] =
    [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000)];

pub fn parse(text: &str) -> Result<RetentionPolicy, String> {
    match text.trim() {
        "all" => return Ok(RetentionPolicy::All),
        "since-checkpoint" => return Ok(RetentionPolicy::SinceCheckpoint),
        _ => {}
    }
    let invalid = || format!("'{text}' is not one of {FORMS}");
    let (mut ms_max, mut bytes_max) = (None, None);
    for part in text.split(',').map(str::trim) {
        let (setting, amount) = match (amount(part, &TIMES), amount(part, &SIZES)) {
            (Some(ms), _) => (&mut ms_max, ms),
            (None, Some(bytes)) => (&mut bytes_max, bytes),
            (None, None) => return Err(invalid()),
        };
        if setting.replace(amount).is_some() {
            return Err(invalid());
        }
    }
    Ok(RetentionPolicy::Within { ms_max, bytes_max })
}

/// A positive number with its unit.
fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (_, unit) = units.iter().find(|(name, _)| *name == &text[digits..])?;
    text[..digits].parse::<u64>().ok()?.checked_mul(*unit).filter(|amount| *amount > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_settings_are_parsed_and_others_refused() {
        let within = |ms_max, bytes_max| Ok(RetentionPolicy::Within { ms_max, bytes_max });
        for (text, wanted) in [
            ("all", Ok(RetentionPolicy::All)),
            ("since-checkpoint", Ok(RetentionPolicy::SinceCheckpoint)),
            ("30d", within(Some(2_592_000_000), None)),
            ("12h", within(Some(43_200_000), None)),
            ("10GB", within(None, Some(10_000_000_000))),
            ("500MB", within(None, Some(500_000_000))),
            ("30d,10GB", within(Some(2_592_000_000), Some(10_000_000_000))),
            ("1TB, 90m", within(Some(5_400_000), Some(1_000_000_000_000))),
        ] {
            assert_eq!(parse(text), wanted, "{text}");
        }
        for text in [
            "",
            "0d",
            "d",
            "30",
            "30d,12h",
            "1GB,2GB",
            "-1d",
            "1.5d",
            "30 d",
            "10gb",
            "99999999999999999d",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("30d,10GB"), "{error}");
        }
    }
}
