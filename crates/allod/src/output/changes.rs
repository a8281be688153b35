//! Changes as text, for `allod watch`, `allod history` and `allod journal show`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::format;
use super::style::escape_controls;
use crate::client::answers::{text, values_text};
use crate::output::table::Table;

/// The events at one position.
#[derive(Debug, Deserialize)]
pub struct ChangeRow {
    pub position: u64,
    pub at: String,
    pub events: Vec<EventRow>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct EventRow {
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
    #[serde(flatten)]
    capacity: CapacityFields,
    #[serde(flatten)]
    resource: RequestFields,
    #[serde(flatten)]
    authority: AuthorityFields,
}

/// The members of events about providers and consumers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CapacityFields {
    provider: Option<String>,
    consumer: Option<String>,
    name: Option<String>,
    parent: Option<String>,
    class: Option<String>,
    r#trait: Option<String>,
    was: Option<String>,
    project: Option<String>,
    traits: Vec<String>,
    aggregates: Vec<String>,
    inventories: BTreeMap<String, EventInventory>,
    allocations: BTreeMap<String, BTreeMap<String, u64>>,
    left: Vec<String>,
}

/// The members of events about standing requests and alarms.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RequestFields {
    failure: Option<String>,
    services: Vec<String>,
    object: Option<String>,
    alarm: Option<String>,
    raised: bool,
}

/// The members of events about authorities and their claims.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AuthorityFields {
    authority: Option<String>,
    state: Option<String>,
    reason: Option<String>,
    attempts: Option<u64>,
    next_attempt: Option<String>,
}

impl AuthorityFields {
    fn notes(&self) -> impl Iterator<Item = String> {
        let authority = self.authority.iter().map(|name| format!("authority {name}"));
        let attempts = self.attempts.filter(|attempts| *attempts > 0);
        let attempts = attempts.map(|attempts| format!("failed attempts: {attempts}"));
        let next = self.next_attempt.iter().filter(|_| self.reason.is_some());
        let next = next.map(|at| format!("next {}", format::time(at)));
        let state = self.state.iter().cloned();
        authority.chain(state).chain(self.reason.iter().cloned()).chain(attempts).chain(next)
    }
}

impl RequestFields {
    fn notes(&self) -> impl Iterator<Item = String> {
        let failure = self.failure.iter().map(|code| format!("failed: {code}"));
        let services = self.services.iter().map(|service| format!("for {service}"));
        let state = if self.raised { "raised" } else { "cleared" };
        let alarm = self.alarm.iter().map(move |alarm| format!("{alarm} {state}"));
        failure.chain(services).chain(alarm)
    }
}

#[derive(Debug, Deserialize)]
struct EventInventory {
    capacity: i64,
}

impl CapacityFields {
    fn subject(&self) -> Option<&String> {
        let party = self.consumer.as_ref().or(self.provider.as_ref());
        party.or(self.class.as_ref()).or(self.r#trait.as_ref())
    }

    /// Names, inventories and allocations.
    fn held(&self) -> String {
        let stock = self.inventories.iter();
        let stock = stock.map(|(class, stock)| format!("{class}:{}", stock.capacity));
        let allocated = self.allocations.iter();
        let allocated = allocated.map(|(of, amounts)| format!("{} of {of}", amounts_text(amounts)));
        let names = self.name.iter().chain(&self.traits).chain(&self.aggregates).cloned();
        names.chain(stock).chain(allocated).collect::<Vec<_>>().join(", ")
    }

    fn notes(&self) -> impl Iterator<Item = String> {
        let parent = self.parent.iter().map(|parent| format!("below {parent}"));
        let was = self.was.iter().map(|was| format!("was {was}"));
        let left = self.left.iter().map(|left| format!("left {left}"));
        parent.chain(was).chain(left)
    }
}

/// Amounts in the syntax of `--resources`: VCPU:2,MEMORY_MB:512.
pub fn amounts_text(amounts: &BTreeMap<String, u64>) -> String {
    let each = amounts.iter().map(|(class, amount)| format!("{class}:{amount}"));
    each.collect::<Vec<_>>().join(",")
}

impl EventRow {
    fn held(&self) -> String {
        let several = values_text(&self.ranges, &self.values);
        let one = || self.value.as_ref().map(text);
        several.or_else(one).unwrap_or_else(|| self.capacity.held())
    }

    fn note(&self) -> String {
        let mut parts = Vec::new();
        if let Some(generation) = self.generation {
            parts.push(format!("generation {generation}"));
        }
        match &self.expires {
            Some(expires) => parts.push(format!("expires {}", format::time(expires))),
            None if matches!(&*self.kind, "lease_changed" | "allocations_extended") => {
                parts.push("never expires".into());
            }
            None => {}
        }
        // "asked" is the normal cause.
        if let Some(cause) = self.cause.as_deref().filter(|cause| *cause != "asked") {
            parts.push(cause.to_owned());
        }
        if let Some(until) = &self.quarantine_until {
            parts.push(format!("quarantined until {}", format::time(until)));
        }
        parts.extend(self.capacity.notes());
        parts.extend(self.resource.notes());
        parts.extend(self.authority.notes());
        parts.join(", ")
    }

    fn cells(&self) -> [String; 6] {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_default();
        let subject = self.capacity.subject().or(self.resource.object.as_ref());
        let key = self.key.as_ref().or(subject).cloned().unwrap_or_default();
        let owner =
            or_none(if self.owner.is_some() { &self.owner } else { &self.capacity.project });
        [self.kind.clone(), self.pool.clone(), key, self.held(), owner, self.note()]
    }
}

/// One line for each event.
pub fn table<'a>(changes: impl IntoIterator<Item = &'a ChangeRow>) -> Table {
    let mut table =
        Table::new(&["POSITION", "TIME", "EVENT", "POOL", "KEY", "VALUE", "OWNER", "NOTE"])
            .right(&["POSITION"]);
    for change in changes {
        let when = [change.position.to_string(), format::time(&change.at)];
        for event in &change.events {
            table.row(when.clone().into_iter().chain(event.cells()));
        }
    }
    table
}

/// One line for each event of a change, with fixed column widths, because later changes are not known yet.
pub fn lines(change: &ChangeRow) -> String {
    let mut lines = String::new();
    for event in &change.events {
        let [kind, pool, key, held, owner, note] = event.cells().map(|cell| escape_controls(&cell));
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
            {"kind":"claim_released","pool":"vlans","key":"red","owner":"t8","values":[3,4],"cause":"taken"}]},
        {"position":5,"at":"2026-11-15T10:00:03.000Z","events":[
            {"kind":"provider_defined","provider":"p-1","name":"host-1","parent":"p-0"},
            {"kind":"inventories_set","provider":"p-1","generation":1,"inventories":{"VCPU":{"total":8,"capacity":16}}},
            {"kind":"class_defined","class":"CUSTOM_A","was":"CUSTOM_B"},
            {"kind":"trait_removed","trait":"CUSTOM_T"},
            {"kind":"allocations_set","consumer":"c-1","generation":2,"project":"red","user":"u","type":null,
             "allocations":{"p-1":{"VCPU":2,"DISK_GB":1}},"left":["p-2"],"expires":null},
            {"kind":"allocations_released","consumer":"c-1","generation":2,"project":"red","user":"u","allocations":{"p-1":{"VCPU":2}},"cause":"reaped"}]},
        {"position":6,"at":"2026-11-15T10:00:04.000Z","events":[
            {"kind":"request_answered","pool":"lan1","key":"a","services":["/services/vpn[name='x']"],"failure":"exhausted"},
            {"kind":"request_withdrawn","pool":"lan1","key":"b"},
            {"kind":"alarm_changed","object":"lan1","alarm":"low","of":"id-pool","raised":false},
            {"kind":"alarm_changed","object":"lan1","alarm":"exhausted","of":"id-pool","raised":true}]}]"#;

    #[test]
    fn the_table_has_one_line_for_each_event() {
        let changes: Vec<ChangeRow> = serde_json::from_str(CHANGES).unwrap();
        let wanted = "\
POSITION  TIME                  EVENT                 POOL   KEY       VALUE                    OWNER  NOTE
       2  2026-11-15T10:00:00Z  pool_defined          vlans                                            generation 1
       3  2026-11-15T10:00:01Z  claim_granted         vlans  blue      2                        t7
       3  2026-11-15T10:00:01Z  claim_granted         lan    a\\nb      10.0.0.1                 t7     expires 2026-11-15T11:00:01Z
       4  2026-11-15T10:00:02Z  lease_changed         lan    x         10.0.0.1                 t7     never expires
       4  2026-11-15T10:00:02Z  claim_released        vlans  blue      2                        t7     quarantined until 2026-11-15T12:00:00Z
       4  2026-11-15T10:00:02Z  claim_released        vlans  red       3, 4                     t8     taken
       5  2026-11-15T10:00:03Z  provider_defined             p-1       host-1                          below p-0
       5  2026-11-15T10:00:03Z  inventories_set              p-1       VCPU:16                         generation 1
       5  2026-11-15T10:00:03Z  class_defined                CUSTOM_A                                  was CUSTOM_B
       5  2026-11-15T10:00:03Z  trait_removed                CUSTOM_T
       5  2026-11-15T10:00:03Z  allocations_set              c-1       DISK_GB:1,VCPU:2 of p-1  red    generation 2, left p-2
       5  2026-11-15T10:00:03Z  allocations_released         c-1       VCPU:2 of p-1            red    generation 2, reaped
       6  2026-11-15T10:00:04Z  request_answered      lan1   a                                         failed: exhausted, for /services/vpn[name='x']
       6  2026-11-15T10:00:04Z  request_withdrawn     lan1   b
       6  2026-11-15T10:00:04Z  alarm_changed                lan1                                      low cleared
       6  2026-11-15T10:00:04Z  alarm_changed                lan1                                      exhausted raised
";
        assert_eq!(table(&changes).text(None, false), wanted);
    }

    #[test]
    fn a_line_break_in_a_name_is_escaped() {
        let changes: Vec<ChangeRow> = serde_json::from_str(CHANGES).unwrap();
        let shown: String = changes.iter().map(lines).collect();
        assert_eq!(shown.lines().count(), 16);
        assert!(
            shown.contains("       3  2026-11-15T10:00:01Z  claim_granted     vlans         blue ")
        );
    }
}
