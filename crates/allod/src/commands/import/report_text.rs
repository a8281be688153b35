//! The import report as text: tables of counts, refused writes, differences, and what is not copied.

use allod_import_placement::report::{
    CompareCounts, CopyCounts, Difference, ImportReport, ItemKind, RefusedWrite,
};

use crate::output::style;
use crate::output::table::Table;

fn label(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::ResourceClasses => "custom resource classes",
        ItemKind::Traits => "custom traits",
        ItemKind::Providers => "providers",
        ItemKind::Inventories => "inventories",
        ItemKind::ProviderTraits => "traits of providers",
        ItemKind::ProviderAggregates => "aggregates of providers",
        ItemKind::Usages => "usages",
        ItemKind::Consumers => "consumers",
        ItemKind::Allocations => "allocations",
    }
}

pub fn text(report: &ImportReport) -> String {
    let mut lines = Vec::new();
    if let Some(copied) = &report.copied {
        let columns = ["WRITTEN", "EQUAL", "DIFFERING", "REMOVED", "REFUSED"];
        let rows = copied.kinds.iter().map(|(kind, of)| {
            let CopyCounts { written, equal, differing, removed, refused } = *of;
            (*kind, vec![written, equal, differing, removed, refused])
        });
        lines.push(table("COPIED", &columns, rows));
        for RefusedWrite { kind, of, why } in &copied.refusals {
            lines.push(style::escape_controls(&format!("refused: {}: {of}: {why}", label(*kind))));
        }
    }
    let compared = &report.compared;
    let rows = compared.kinds.iter().map(|(kind, of)| {
        let CompareCounts { source, target, differ } = *of;
        (*kind, vec![source, target, differ])
    });
    lines.push(table("COMPARED", &["SOURCE", "TARGET", "DIFFER"], rows));
    for Difference { kind, of, member, source, target } in &compared.differences {
        let of = format!("{of} {member}");
        let (of, kind) = (of.trim_end(), label(*kind));
        let both = format!("{source} at the source, {target} at the target");
        lines.push(style::escape_controls(&format!("differs: {kind}: {of}: {both}")));
    }
    let unlisted = compared.differences_total - compared.differences.len() as u64;
    if unlisted > 0 {
        lines.push(format!("{unlisted} more differences are not listed"));
    }
    lines.extend(report.lost.iter().map(|lost| format!("not copied: {lost}")));
    lines.push(format!(
        "not copied: generations, because each server counts its own writes ({} providers have a different one)",
        compared.generations_differ
    ));
    if compared.others > 0 {
        lines.push(format!("skipped: {} providers that only the target has", compared.others));
    }
    lines.push(if report.agrees { "the servers agree" } else { "the servers differ" }.into());
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

fn table(
    first: &'static str,
    columns: &[&'static str],
    rows: impl Iterator<Item = (ItemKind, Vec<u64>)>,
) -> String {
    let mut table = Table::new(&[&[first], columns].concat()).right(columns);
    for (kind, numbers) in rows {
        let numbers = numbers.iter().map(ToString::to_string);
        table.row([label(kind).to_owned()].into_iter().chain(numbers));
    }
    table.text(None, false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use allod_import_placement::report::{CompareReport, CopyReport, ServerInfo};

    use super::*;

    #[test]
    fn the_report_lists_counts_refused_writes_and_differences() {
        let mut copied = CopyReport::default();
        copied.of(ItemKind::Providers).written = 3;
        copied.refused(ItemKind::Consumers, "c-1".into(), "it is\nfull".into());
        let mut compared =
            CompareReport { generations_differ: 2, others: 1, ..CompareReport::default() };
        *compared.of(ItemKind::Providers) = CompareCounts { source: 3, target: 3, differ: 0 };
        let (a, b) = (json!({"VCPU": {"total": 9}}), json!({"VCPU": {"total": 8}}));
        compared.compare(ItemKind::Inventories, "p-1", &a, &b);
        compared.compare(ItemKind::Consumers, "c-1", &json!({"a": 1}), &json!(null));
        let info = || ServerInfo { url: "http://x".into(), version: "1.39".into() };
        let (source, target, lost) = (info(), info(), vec!["something"]);
        let copied = Some(copied);
        let report =
            ImportReport { agrees: false, source, target, lost, copied, compared, took_s: 1.0 };
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
not copied: generations, because each server counts its own writes (2 providers have a different one)
skipped: 1 providers that only the target has
the servers differ
";
        assert_eq!(text(&report), wanted);
    }
}
