//! The result of an import: counts, differences and refused writes. The command line shows it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// How many differences and refused writes are listed; the rest are only counted.
const LISTED_MAX: usize = 1000;

/// What is copied and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    ResourceClasses,
    Traits,
    Providers,
    Inventories,
    ProviderTraits,
    ProviderAggregates,
    Usages,
    Consumers,
    Allocations,
}

impl ItemKind {
    pub const ALL: [ItemKind; 9] = [
        ItemKind::ResourceClasses,
        ItemKind::Traits,
        ItemKind::Providers,
        ItemKind::Inventories,
        ItemKind::ProviderTraits,
        ItemKind::ProviderAggregates,
        ItemKind::Usages,
        ItemKind::Consumers,
        ItemKind::Allocations,
    ];
}

/// What the import did with the items of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CopyCounts {
    pub written: u64,
    /// The target had the same item.
    pub equal: u64,
    /// The target had a different item, which was not overwritten.
    pub differing: u64,
    pub removed: u64,
    pub refused: u64,
}

/// How many items of a kind each side has, and how many differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CompareCounts {
    pub source: u64,
    pub target: u64,
    pub differ: u64,
}

/// A value that differs between the sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    pub kind: ItemKind,
    /// A UUID or a name.
    pub of: String,
    /// The member that differs; empty for the whole item.
    pub member: String,
    pub source: Value,
    pub target: Value,
}

/// A write that the target refused, with its error text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedWrite {
    pub kind: ItemKind,
    pub of: String,
    pub why: String,
}

#[derive(Debug, Default, Serialize)]
pub struct CopyReport {
    pub kinds: BTreeMap<ItemKind, CopyCounts>,
    pub refusals: Vec<RefusedWrite>,
}

impl CopyReport {
    pub fn of(&mut self, kind: ItemKind) -> &mut CopyCounts {
        self.kinds.entry(kind).or_default()
    }

    pub fn refused(&mut self, kind: ItemKind, of: String, why: String) {
        self.of(kind).refused += 1;
        if self.refusals.len() < LISTED_MAX {
            self.refusals.push(RefusedWrite { kind, of, why });
        }
    }

    pub fn refused_total(&self) -> u64 {
        self.kinds.values().map(|counts| counts.refused).sum()
    }
}

#[derive(Debug, Default, Serialize)]
pub struct CompareReport {
    pub kinds: BTreeMap<ItemKind, CompareCounts>,
    /// Providers whose generation differs. This is no error: generations are not copied.
    pub generations_differ: u64,
    /// Providers that only the target has, and that were skipped on request.
    pub others: u64,
    pub differences: Vec<Difference>,
    pub differences_total: u64,
}

impl CompareReport {
    pub fn of(&mut self, kind: ItemKind) -> &mut CompareCounts {
        self.kinds.entry(kind).or_default()
    }

    /// Counts so many items on each side.
    pub fn count(&mut self, kind: ItemKind, source: usize, target: usize) {
        let counts = self.of(kind);
        counts.source += source as u64;
        counts.target += target as u64;
    }

    /// Compares one item and records the differences.
    pub fn compare(&mut self, kind: ItemKind, of: &str, source: &Value, target: &Value) {
        let differing = differing(source, target);
        if differing.is_empty() {
            return;
        }
        self.of(kind).differ += 1;
        self.differences_total += differing.len() as u64;
        for (member, source, target) in differing {
            if self.differences.len() < LISTED_MAX {
                let of = of.to_owned();
                self.differences.push(Difference { kind, of, member, source, target });
            }
        }
    }
}

/// The members that differ, by path. Lists are compared as a whole.
fn differing(source: &Value, target: &Value) -> Vec<(String, Value, Value)> {
    let mut found = Vec::new();
    differing_below("", source, target, &mut found);
    found
}

fn differing_below(path: &str, a: &Value, b: &Value, found: &mut Vec<(String, Value, Value)>) {
    match (a, b) {
        (Value::Object(left), Value::Object(right)) => {
            let mut names: Vec<&String> = left.keys().chain(right.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let [a, b] = [left, right].map(|all| all.get(name).unwrap_or(&Value::Null));
                differing_below(&below, a, b, found);
            }
        }
        // 16 and 16.0 are equal.
        (Value::Number(left), Value::Number(right)) if left.as_f64() == right.as_f64() => {}
        (a, b) if a == b => {}
        (a, b) => found.push((path.to_owned(), a.clone(), b.clone())),
    }
}

/// One of the two servers.
#[derive(Debug, Serialize)]
pub struct ServerInfo {
    pub url: String,
    pub version: String,
}

#[derive(Debug, Serialize)]
pub struct ImportReport {
    pub agrees: bool,
    pub source: ServerInfo,
    pub target: ServerInfo,
    /// What the versions of the two servers do not allow to copy.
    pub lost: Vec<&'static str>,
    /// `None` if the import only compared.
    pub copied: Option<CopyReport>,
    pub compared: CompareReport,
    pub took_s: f64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_have_a_path() {
        let here = json!({"VCPU": {"total": 8, "allocation_ratio": 16.0}, "DISK_GB": {"total": 1}});
        for (there, wanted) in [
            (
                json!({"VCPU": {"total": 8, "allocation_ratio": 16}, "DISK_GB": {"total": 1}}),
                vec![],
            ),
            (
                json!({"VCPU": {"total": 9, "allocation_ratio": 1.5}, "DISK_GB": {"total": 1}}),
                vec![
                    ("VCPU.allocation_ratio", json!(16.0), json!(1.5)),
                    ("VCPU.total", json!(8), json!(9)),
                ],
            ),
            (
                json!({"VCPU": {"total": 8, "allocation_ratio": 16.0}}),
                vec![("DISK_GB", json!({"total": 1}), Value::Null)],
            ),
        ] {
            let wanted: Vec<(String, Value, Value)> =
                wanted.into_iter().map(|(path, a, b)| (path.to_owned(), a, b)).collect();
            assert_eq!(differing(&here, &there), wanted);
        }
        assert_eq!(
            differing(&json!(["A"]), &json!(["B"])),
            [(String::new(), json!(["A"]), json!(["B"]))]
        );
    }

    #[test]
    fn differences_are_counted_by_item_and_listed_up_to_a_limit() {
        let mut compared = CompareReport::default();
        for _ in 0..LISTED_MAX {
            let (a, b) = (json!({"a": 1, "b": 2}), json!({"a": 2, "b": 1}));
            compared.compare(ItemKind::Inventories, "x", &a, &b);
        }
        compared.compare(ItemKind::Usages, "x", &json!({"a": 1}), &json!({"a": 1}));
        assert_eq!(compared.of(ItemKind::Inventories).differ, LISTED_MAX as u64);
        assert_eq!(compared.differences_total, 2 * LISTED_MAX as u64);
        assert_eq!(compared.differences.len(), LISTED_MAX);
        assert_eq!(compared.kinds.get(&ItemKind::Usages), None);
    }
}
