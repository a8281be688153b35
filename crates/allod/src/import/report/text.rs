//! The report for people: two tables, what was refused, what differs, and what is never copied.

use super::{Copied, Count, Difference, Kind, Refusal, Report};
use crate::cli::style;
use crate::cli::table::{Side, Table};

fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::ResourceClasses => "custom resource classes",
        Kind::Traits => "custom traits",
        Kind::Providers => "providers",
        Kind::Inventories => "inventories",
        Kind::ProviderTraits => "traits of providers",
        Kind::ProviderAggregates => "aggregates of providers",
        Kind::Usages => "usages",
        Kind::Consumers => "consumers",
        Kind::Allocations => "allocations",
    }
}

pub fn of(report: &Report) -> String {
    let mut lines = Vec::new();
    if let Some(copied) = &report.copied {
        let columns = ["WRITTEN", "EQUAL", "DIFFERING", "REMOVED", "REFUSED"];
        let rows = copied.kinds.iter().map(|(kind, of)| {
            let Copied { written, equal, differing, removed, refused } = *of;
            (*kind, vec![written, equal, differing, removed, refused])
        });
        lines.push(table("COPIED", &columns, rows));
        for Refusal { kind, of, why } in &copied.refusals {
            lines.push(style::plain(&format!("refused: {}: {of}: {why}", words(*kind))));
        }
    }
    let compared = &report.compared;
    let rows = compared.kinds.iter().map(|(kind, of)| {
        let Count { source, target, differ } = *of;
        (*kind, vec![source, target, differ])
    });
    lines.push(table("COMPARED", &["SOURCE", "TARGET", "DIFFER"], rows));
    for Difference { kind, of, member, source, target } in &compared.differences {
        let of = format!("{of} {member}");
        let (of, kind) = (of.trim_end(), words(*kind));
        let both = format!("{source} at the source, {target} at the target");
        lines.push(style::plain(&format!("differs: {kind}: {of}: {both}")));
    }
    let untold = compared.differences_total - compared.differences.len() as u64;
    if untold > 0 {
        lines.push(format!("and {untold} more that differ"));
    }
    lines.extend(report.lost.iter().map(|lost| format!("not copied: {lost}")));
    lines.push(format!(
        "not copied: generations; each server counts its own writes ({} providers have another one here)",
        compared.generations_differ
    ));
    if compared.others > 0 {
        lines.push(format!("passed over: {} providers that only the target has", compared.others));
    }
    lines
        .push(if report.agrees { "both sides agree" } else { "the two sides do not agree" }.into());
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

fn table(
    first: &'static str,
    columns: &[&'static str],
    rows: impl Iterator<Item = (Kind, Vec<u64>)>,
) -> String {
    let columns = columns.iter().map(|name| (*name, Side::Right));
    let columns: Vec<_> = [(first, Side::Left)].into_iter().chain(columns).collect();
    let mut table = Table::new(&columns);
    for (kind, numbers) in rows {
        let numbers = numbers.iter().map(ToString::to_string);
        table.row([words(kind).to_owned()].into_iter().chain(numbers));
    }
    table.text(None, false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Compared, Copying, End};
    use super::*;

    #[test]
    fn a_report_says_what_was_done_and_what_differs() {
        let mut copied = Copying::default();
        copied.of(Kind::Providers).written = 3;
        copied.refused(Kind::Consumers, "c-1".into(), "it is\nfull".into());
        let mut compared = Compared { generations_differ: 2, others: 1, ..Compared::default() };
        *compared.of(Kind::Providers) = Count { source: 3, target: 3, differ: 0 };
        let (a, b) = (json!({"VCPU": {"total": 9}}), json!({"VCPU": {"total": 8}}));
        compared.compare(Kind::Inventories, "p-1", &a, &b);
        compared.compare(Kind::Consumers, "c-1", &json!({"a": 1}), &json!(null));
        let end = || End { url: "http://x".into(), version: "1.39".into() };
        let (source, target, lost) = (end(), end(), vec!["something"]);
        let copied = Some(copied);
        let report = Report { agrees: false, source, target, lost, copied, compared, took_s: 1.0 };
        let wanted = "\
COPIED     WRITTEN  EQUAL  DIFFERING  REMOVED  REFUSED
providers        3      0          0        0        0
consumers        0      0          0        0        1

refused: consumers: c-1: it is\\nfull
COMPARED     SOURCE  TARGET  DIFFER
providers         3       3       0
inventories       0       0       1
consumers         0       0       1

differs: inventories: p-1 VCPU.total: 9 at the source, 8 at the target
differs: consumers: c-1: {\"a\":1} at the source, null at the target
not copied: something
not copied: generations; each server counts its own writes (2 providers have another one here)
passed over: 1 providers that only the target has
the two sides do not agree
";
        assert_eq!(of(&report), wanted);
    }
}
