//! `allod candidates`: finds providers that satisfy a request for capacity.
//!
//! The flags have the syntax of Placement's query parameters, so that a query can be copied.

mod explanation;

use std::collections::BTreeMap;

use clap::Args;
use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::client::ApiRequest;
use crate::connection::ClientArguments;
use crate::error::{CommandError, Result};
use crate::output::changes::amounts_text;
use crate::output::table::Table;
use crate::output::{message, print};
use explanation::CandidateExplanation;

pub const EXAMPLES: &str = r#"Examples:
  allod candidates --resources VCPU:2,MEMORY_MB:512
  allod candidates --resources VCPU:2 --required HW_CPU_X86_AVX2,!CUSTOM_OLD --explain
  allod candidates --resources VCPU:2 --group "net resources=NET_BW_EGR_KILOBIT_PER_SEC:10 required=CUSTOM_PHYSNET"

A provider needs all traits of a list; `!` forbids a trait or an aggregate; after `in:` one of the list is enough. The classes
of --resources may come from several providers of one tree; each group comes from one provider."#;

#[derive(Debug, Args)]
pub struct CandidatesArguments {
    /// Amount of each resource class: CLASS:AMOUNT, comma-separated
    #[arg(long, value_name = "AMOUNTS")]
    resources: Option<String>,

    /// Traits: T1,T2 requires all, !T1 forbids, in:T1,T2 requires one; repeatable
    #[arg(long, value_name = "TRAITS")]
    required: Vec<String>,

    /// Aggregates: UUID, in:UUID,UUID for one of them, !UUID forbids; repeatable
    #[arg(long, value_name = "AGGREGATES")]
    member_of: Vec<String>,

    /// Only the tree of this provider
    #[arg(long, value_name = "UUID")]
    in_tree: Option<String>,

    /// A request group, for one provider: a name, then resources=, required=, member_of= and in_tree=, separated by spaces; repeatable
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,

    /// isolate: each group needs its own provider
    #[arg(long, value_parser = ["none", "isolate"])]
    group_policy: Option<String>,

    /// Groups whose providers must be in one subtree, comma-separated; repeatable
    #[arg(long, value_name = "GROUPS")]
    same_subtree: Vec<String>,

    /// Traits of the root provider: T1,!T2
    #[arg(long, value_name = "TRAITS")]
    root_required: Vec<String>,

    /// Maximum number of candidates
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    limit: u64,

    /// Explain how many providers each constraint removed, and which came nearest
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Deserialize)]
struct CandidatesAnswer {
    candidates: Vec<CandidateEntry>,
    /// Names by UUID.
    providers: BTreeMap<String, String>,
    cut: Option<String>,
    explanation: Option<CandidateExplanation>,
}

#[derive(Deserialize)]
struct CandidateEntry {
    root: String,
    allocations: BTreeMap<String, BTreeMap<String, u64>>,
    mappings: BTreeMap<String, Vec<String>>,
}

pub fn run(arguments: CandidatesArguments) -> Result<()> {
    let body = arguments.body().map_err(|error| CommandError::Usage(anyhow::Error::msg(error)))?;
    arguments.common.clone().run(async move |client, output| {
        let request = ApiRequest::new(Method::POST, "/v1/candidates").json(&body)?.repeatable();
        let reply = client.send(&request).await?;
        reply.show(output, |answer: CandidatesAnswer| show(&answer))
    })
}

fn show(answer: &CandidatesAnswer) -> Result<()> {
    let name = |uuid: &str| answer.providers.get(uuid).map_or(uuid, String::as_str).to_owned();
    if answer.candidates.is_empty() {
        message(match answer.explanation {
            Some(_) => "no provider satisfies the request",
            None => "no provider satisfies the request; --explain says why",
        });
    } else {
        table(answer, &name).print()?;
    }
    if answer.cut.is_some() {
        message("the search stopped early: not all providers were examined");
    }
    if let Some(explanation) = &answer.explanation {
        if !answer.candidates.is_empty() {
            print("\n")?;
        }
        explanation.groups(&name).print()?;
        print("\n")?;
        explanation.trees(&name).print()?;
    }
    Ok(())
}

/// One line for each provider of each candidate.
fn table(answer: &CandidatesAnswer, name: &dyn Fn(&str) -> String) -> Table {
    let mut table = Table::new(&["N", "ROOT", "PROVIDER", "UUID", "TAKES", "GROUPS"]).right(&["N"]);
    for (n, candidate) in answer.candidates.iter().enumerate() {
        for (provider, amounts) in &candidate.allocations {
            let serves = candidate.mappings.iter().filter(|(_, by)| by.contains(provider));
            let serves: Vec<&str> =
                serves.map(|(group, _)| if group.is_empty() { "-" } else { &**group }).collect();
            table.row([
                (n + 1).to_string(),
                name(&candidate.root),
                name(provider),
                provider.clone(),
                amounts_text(amounts),
                serves.join(","),
            ]);
        }
    }
    table
}

impl CandidatesArguments {
    fn body(&self) -> Result<Value, String> {
        let mut groups = Vec::new();
        let plain = [
            self.resources.iter().map(|text| ("resources", text)).collect::<Vec<_>>(),
            self.required.iter().map(|text| ("required", text)).collect(),
            self.member_of.iter().map(|text| ("member_of", text)).collect(),
            self.in_tree.iter().map(|text| ("in_tree", text)).collect(),
        ]
        .concat();
        if !plain.is_empty() {
            let plain = plain.into_iter().map(|(name, text)| (name, text.as_str()));
            groups.push(group("", plain)?);
        }
        for text in &self.groups {
            let mut words = text.split_whitespace();
            let name = words.next().ok_or("--group is empty; give a name and resources=…")?;
            let parts: Option<Vec<(&str, &str)>> = words.map(|word| word.split_once('=')).collect();
            let wrong = || format!("--group '{text}': name=value is expected after '{name}'");
            groups.push(group(name, parts.ok_or_else(wrong)?)?);
        }
        if groups.is_empty() {
            return Err("give --resources, such as VCPU:2, or --group".into());
        }
        let mut root = NameSets::default();
        self.root_required.iter().for_each(|text| root.add(text));
        let subtrees = self.same_subtree.iter().map(|names| split(names));
        let mut body = json!({
            "groups": groups,
            "same_subtree": subtrees.collect::<Vec<_>>(),
            "root_required": root.all,
            "root_forbidden": root.none,
            "limit": self.limit,
            "explain": self.explain,
        });
        if let Some(policy) = &self.group_policy {
            body["group_policy"] = policy.as_str().into();
        }
        Ok(body)
    }
}

/// Required names (a list means one of them) and forbidden names.
#[derive(Default)]
struct NameSets {
    all: Vec<Value>,
    none: Vec<String>,
}

impl NameSets {
    /// Parses `A,!B`, `in:A,B` or `!in:A,B`.
    fn add(&mut self, text: &str) {
        match (text.strip_prefix("in:"), text.strip_prefix("!in:")) {
            (Some(names), _) => self.all.push(split(names).into()),
            (None, Some(names)) => self.none.extend(split(names)),
            (None, None) => {
                for name in split(text) {
                    match name.strip_prefix('!') {
                        Some(name) => self.none.push(name.to_owned()),
                        None => self.all.push(name.into()),
                    }
                }
            }
        }
    }
}

fn split(names: &str) -> Vec<String> {
    names.split(',').map(|name| name.trim().to_owned()).collect()
}

fn group<'a>(
    name: &str,
    parts: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Value, String> {
    let (mut resources, mut traits, mut aggregates) =
        (Map::new(), NameSets::default(), NameSets::default());
    let mut body = Map::new();
    for (part, text) in parts {
        match part {
            "resources" => {
                for amount in split(text) {
                    let wrong = || format!("'{amount}' is not an amount such as VCPU:2");
                    let (class, number) = amount.split_once(':').ok_or_else(wrong)?;
                    let number: u64 = number.parse().map_err(|_| wrong())?;
                    resources.insert(class.to_owned(), number.into());
                }
            }
            "required" => traits.add(text),
            "member_of" => aggregates.add(text),
            "in_tree" => drop(body.insert(part.to_owned(), text.into())),
            other => {
                return Err(format!(
                    "unknown group parameter '{other}'; use resources, required, member_of or in_tree"
                ));
            }
        }
    }
    body.extend([
        ("name".to_owned(), name.into()),
        ("resources".to_owned(), resources.into()),
        ("required".to_owned(), traits.all.into()),
        ("forbidden".to_owned(), traits.none.into()),
        ("member_of".to_owned(), aggregates.all.into()),
        ("not_member_of".to_owned(), aggregates.none.into()),
    ]);
    Ok(body.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_parsed_as_placement_does() {
        let parts = [
            ("resources", "VCPU:2,MEMORY_MB:512"),
            ("required", "A,!B"),
            ("required", "in:C,D"),
            ("member_of", "u1"),
            ("member_of", "!in:u2,u3"),
            ("in_tree", "u4"),
        ];
        let wanted = json!({
            "name": "net", "resources": {"VCPU": 2, "MEMORY_MB": 512}, "required": ["A", ["C", "D"]], "forbidden": ["B"],
            "member_of": ["u1"], "not_member_of": ["u2", "u3"], "in_tree": "u4",
        });
        assert_eq!(group("net", parts).unwrap(), wanted);
        for (part, text) in [("resources", "VCPU"), ("resources", "VCPU:x"), ("colour", "red")] {
            assert!(group("net", [(part, text)]).is_err(), "{part}={text}");
        }
    }
}
