//! What came of an import: how much is on either side, what differs, what was refused; for people and for scripts.

mod text;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::cli::{Form, json as json_form, print};
use crate::failed::Failed;

/// So many differences and refusals are told in full; the others are counted.
pub const TOLD_MAX: usize = 1000;

/// What is counted and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
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

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::ResourceClasses,
        Kind::Traits,
        Kind::Providers,
        Kind::Inventories,
        Kind::ProviderTraits,
        Kind::ProviderAggregates,
        Kind::Usages,
        Kind::Consumers,
        Kind::Allocations,
    ];
}

/// What an import did about the things of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Copied {
    pub written: u64,
    /// They were there already, just so.
    pub equal: u64,
    /// Others were there, which were left.
    pub differing: u64,
    pub removed: u64,
    pub refused: u64,
}

/// How much of a kind there is, and of how much the two sides do not agree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    pub source: u64,
    pub target: u64,
    pub differ: u64,
}

/// Something that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    pub kind: Kind,
    /// A uuid or a name.
    pub of: String,
    /// Which member of it; empty for all of it.
    pub member: String,
    pub source: Value,
    pub target: Value,
}

/// Something that the target did not take, with its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    pub kind: Kind,
    pub of: String,
    pub why: String,
}

/// What was written.
#[derive(Debug, Default, Serialize)]
pub struct Copying {
    pub kinds: BTreeMap<Kind, Copied>,
    pub refusals: Vec<Refusal>,
}

impl Copying {
    pub fn of(&mut self, kind: Kind) -> &mut Copied {
        self.kinds.entry(kind).or_default()
    }

    pub fn refused(&mut self, kind: Kind, of: String, why: String) {
        self.of(kind).refused += 1;
        if self.refusals.len() < TOLD_MAX {
            self.refusals.push(Refusal { kind, of, why });
        }
    }
}

/// What was compared.
#[derive(Debug, Default, Serialize)]
pub struct Compared {
    pub kinds: BTreeMap<Kind, Count>,
    /// Providers whose generation is another one on the other side, which is as it should be: generations are not copied.
    pub generations_differ: u64,
    /// Providers of the target that the source has not, and that were passed over because that was asked for.
    pub others: u64,
    pub differences: Vec<Difference>,
    pub differences_total: u64,
}

impl Compared {
    pub fn of(&mut self, kind: Kind) -> &mut Count {
        self.kinds.entry(kind).or_default()
    }

    /// Compares what the two sides say of one thing.
    pub fn compare(&mut self, kind: Kind, of: &str, source: &Value, target: &Value) {
        let differing = differing(source, target);
        if differing.is_empty() {
            return;
        }
        self.of(kind).differ += 1;
        self.differences_total += differing.len() as u64;
        for (member, source, target) in differing {
            if self.differences.len() < TOLD_MAX {
                let of = of.to_owned();
                self.differences.push(Difference { kind, of, member, source, target });
            }
        }
    }
}

/// The members that are not the same, by their path; lists are compared as a whole.
pub fn differing(source: &Value, target: &Value) -> Vec<(String, Value, Value)> {
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
        // One writes a whole number as 16, the other as 16.0.
        (Value::Number(left), Value::Number(right)) if left.as_f64() == right.as_f64() => {}
        (a, b) if a == b => {}
        (a, b) => found.push((path.to_owned(), a.clone(), b.clone())),
    }
}

/// One end of the import.
#[derive(Debug, Serialize)]
pub struct End {
    pub url: String,
    pub version: String,
}

#[derive(Debug, Serialize)]
pub struct Report {
    pub agrees: bool,
    pub source: End,
    pub target: End,
    /// What a source of this version does not tell.
    pub lost: Vec<&'static str>,
    /// `None`: nothing was to be written.
    pub copied: Option<Copying>,
    pub compared: Compared,
    pub took_s: f64,
}

impl Report {
    /// Shows it, and fails if the two sides do not agree.
    pub fn show(&self, form: Form) -> Result<(), Failed> {
        match form {
            Form::Json => {
                let bytes =
                    serde_json::to_vec(self).map_err(|error| Failed::Running(error.into()))?;
                json_form::print(&bytes)?;
            }
            Form::Table => print(&text::of(self))?,
        }
        if self.agrees {
            return Ok(());
        }
        let refused = self
            .copied
            .as_ref()
            .map_or(0, |copied| copied.kinds.values().map(|copied| copied.refused).sum::<u64>());
        let mut what =
            format!("the two sides do not agree: {} differences", self.compared.differences_total);
        if refused > 0 {
            what.push_str(&format!(", {refused} things that the target did not take"));
        }
        Err(Failed::Refused(crate::failed::advised(
            what,
            "run it again if the source was written to meanwhile; --replace overwrites what differs",
        )))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_told_and_where() {
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
    fn differences_are_counted_by_thing_and_told_up_to_a_limit() {
        let mut compared = Compared::default();
        for _ in 0..TOLD_MAX {
            let (a, b) = (json!({"a": 1, "b": 2}), json!({"a": 2, "b": 1}));
            compared.compare(Kind::Inventories, "x", &a, &b);
        }
        compared.compare(Kind::Usages, "x", &json!({"a": 1}), &json!({"a": 1}));
        assert_eq!(compared.of(Kind::Inventories).differ, TOLD_MAX as u64);
        assert_eq!(compared.differences_total, 2 * TOLD_MAX as u64);
        assert_eq!(compared.differences.len(), TOLD_MAX);
        assert_eq!(compared.kinds.get(&Kind::Usages), None);
    }
}
