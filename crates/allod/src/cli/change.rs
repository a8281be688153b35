//! Changes for people: what `allod watch` and `allod history` show of the journal.

use serde::Deserialize;
use serde_json::Value;

use super::answer::text;
use super::format;
use super::style::plain;
use super::table::{Side, Table};

/// What happened at one position.
#[derive(Debug, Deserialize)]
pub struct Change {
    pub position: u64,
    pub at: String,
    pub events: Vec<Event>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Event {
    kind: String,
    pool: String,
    key: Option<String>,
    owner: Option<String>,
    value: Option<Value>,
    values: Vec<Value>,
    ranges: Vec<String>,
    generation: Option<u64>,
    expires: Option<String>,
    cause: Option<String>,
    quarantine_until: Option<String>,
}

impl Event {
    fn held(&self) -> String {
        if !self.ranges.is_empty() {
            return self.ranges.join(", ");
        }
        let all: Vec<String> = self.values.iter().map(text).collect();
        if all.is_empty() {
            self.value.as_ref().map(text).unwrap_or_default()
        } else {
            all.join(", ")
        }
    }

    /// What else is worth knowing, in a few words.
    fn note(&self) -> String {
        let mut parts = Vec::new();
        if let Some(generation) = self.generation {
            parts.push(format!("generation {generation}"));
        }
        match &self.expires {
            Some(expires) => parts.push(format!("expires {}", format::time(expires))),
            None if self.kind == "lease_changed" => parts.push("never expires".into()),
            None => {}
        }
        // That somebody asked for it is the ordinary case.
        if let Some(cause) = self.cause.as_deref().filter(|cause| *cause != "asked") {
            parts.push(cause.to_owned());
        }
        if let Some(until) = &self.quarantine_until {
            parts.push(format!("quarantined until {}", format::time(until)));
        }
        parts.join(", ")
    }

    fn cells(&self) -> [String; 6] {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_default();
        let (key, owner) = (or_none(&self.key), or_none(&self.owner));
        [self.kind.clone(), self.pool.clone(), key, self.held(), owner, self.note()]
    }
}

/// Changes below each other, a line for each event.
pub fn table<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Table {
    let mut table = Table::new(&[
        ("POSITION", Side::Right),
        ("TIME", Side::Left),
        ("EVENT", Side::Left),
        ("POOL", Side::Left),
        ("KEY", Side::Left),
        ("VALUE", Side::Left),
        ("OWNER", Side::Left),
        ("NOTE", Side::Left),
    ]);
    for change in changes {
        let when = [change.position.to_string(), format::time(&change.at)];
        for event in &change.events {
            table.row(when.clone().into_iter().chain(event.cells()));
        }
    }
    table
}

/// A change as it comes in: a line for each event, wide enough that most stand below each other.
pub fn lines(change: &Change) -> String {
    let mut lines = String::new();
    for event in &change.events {
        let [kind, pool, key, held, owner, note] = event.cells().map(|cell| plain(&cell));
        let when = format::time(&change.at);
        let line = format!(
            "{:>8}  {when}  {kind:<16}  {pool:<12}  {key:<16}  {held:<16}  {owner:<16}  {note}",
            change.position
        );
        lines.push_str(line.trim_end());
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGES: &str = r#"[
        {"position":2,"at":"2026-11-15T10:00:00.000Z","events":[
            {"kind":"pool_defined","pool":"vlans","generation":1}]},
        {"position":3,"at":"2026-11-15T10:00:01.000Z","events":[
            {"kind":"claim_granted","pool":"vlans","key":"blue","owner":"t7","values":[2],"version":3,"expires":null,"labels":{}},
            {"kind":"claim_granted","pool":"lan","key":"a\nb","owner":"t7","values":["10.0.0.1"],"version":3,"expires":"2026-11-15T11:00:01.000Z"}]},
        {"position":4,"at":"2026-11-15T10:00:02.000Z","events":[
            {"kind":"lease_changed","pool":"lan","key":"x","owner":"t7","values":["10.0.0.1"],"version":4,"expires":null},
            {"kind":"claim_released","pool":"vlans","key":"blue","owner":"t7","values":[2],"cause":"asked","quarantine_until":"2026-11-15T12:00:00.000Z"},
            {"kind":"claim_released","pool":"vlans","key":"red","owner":"t8","values":[3,4],"cause":"taken"}]}]"#;

    #[test]
    fn a_table_has_a_line_for_each_event() {
        let changes: Vec<Change> = serde_json::from_str(CHANGES).unwrap();
        let wanted = "\
POSITION  TIME                  EVENT           POOL   KEY   VALUE     OWNER  NOTE
       2  2026-11-15T10:00:00Z  pool_defined    vlans                         generation 1
       3  2026-11-15T10:00:01Z  claim_granted   vlans  blue  2         t7
       3  2026-11-15T10:00:01Z  claim_granted   lan    a\\nb  10.0.0.1  t7     expires 2026-11-15T11:00:01Z
       4  2026-11-15T10:00:02Z  lease_changed   lan    x     10.0.0.1  t7     never expires
       4  2026-11-15T10:00:02Z  claim_released  vlans  blue  2         t7     quarantined until 2026-11-15T12:00:00Z
       4  2026-11-15T10:00:02Z  claim_released  vlans  red   3, 4      t8     taken
";
        assert_eq!(table(&changes).text(None, false), wanted);
    }

    #[test]
    fn lines_cannot_be_broken_by_a_name() {
        let changes: Vec<Change> = serde_json::from_str(CHANGES).unwrap();
        let shown: String = changes.iter().map(lines).collect();
        assert_eq!(shown.lines().count(), 6);
        assert!(
            shown.contains("       3  2026-11-15T10:00:01Z  claim_granted     vlans         blue ")
        );
    }
}
