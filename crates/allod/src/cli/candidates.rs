//! `allod candidates`: who could serve a request for capacity, and why others could not.
//!
//! What is typed has the form of Placement's query, so that one can be tried as it stands.

mod explained;

use std::collections::BTreeMap;

use clap::Args;
use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::change::amounts_text;
use super::table::{Side, Table};
use super::{Form, Shown, json as json_form, print, read, say};
use crate::client::Ask;
use crate::failed::Failed;
use explained::Explanation;

pub const EXAMPLES: &str = r#"Examples:
  allod candidates --resources VCPU:2,MEMORY_MB:512
  allod candidates --resources VCPU:2 --required HW_CPU_X86_AVX2,!CUSTOM_OLD --explain
  allod candidates --resources VCPU:2 --group "net resources=NET_BW_EGR_KILOBIT_PER_SEC:10 required=CUSTOM_PHYSNET"

All of a list of traits must hold, `!` before a trait or an aggregate forbids it, and of a list after `in:` one is enough. The
classes of --resources may come from several providers of one tree; a group is served by one provider."#;

#[derive(Debug, Args)]
pub struct CandidatesArguments {
    /// So much of each class: CLASS:AMOUNT, with commas between
    #[arg(long, value_name = "AMOUNTS")]
    resources: Option<String>,

    /// Traits: T1,T2 all of them, !T1 not this one, in:T1,T2 one of them; may be repeated
    #[arg(long, value_name = "TRAITS")]
    required: Vec<String>,

    /// Aggregates: UUID, in:UUID,UUID one of them, !UUID not this one; may be repeated
    #[arg(long, value_name = "AGGREGATES")]
    member_of: Vec<String>,

    /// In the tree of this provider
    #[arg(long, value_name = "UUID")]
    in_tree: Option<String>,

    /// What one provider is to serve: a name, then resources=, required=, member_of= and in_tree= with blanks between; may be repeated
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,

    /// Whether groups need providers of their own
    #[arg(long, value_parser = ["none", "isolate"])]
    group_policy: Option<String>,

    /// Groups that must be served in one subtree, with commas between; may be repeated
    #[arg(long, value_name = "GROUPS")]
    same_subtree: Vec<String>,

    /// Traits of the root of the tree: T1,!T2
    #[arg(long, value_name = "TRAITS")]
    root_required: Vec<String>,

    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    limit: u64,

    /// Say also which constraint removed how many, and who came nearest
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    shown: Shown,
}

#[derive(Deserialize)]
struct Answer {
    candidates: Vec<Candidate>,
    /// Names by uuid.
    providers: BTreeMap<String, String>,
    cut: Option<String>,
    explanation: Option<Explanation>,
}

#[derive(Deserialize)]
struct Candidate {
    root: String,
    allocations: BTreeMap<String, BTreeMap<String, u64>>,
    mappings: BTreeMap<String, Vec<String>>,
}

pub fn run(arguments: CandidatesArguments) -> Result<(), Failed> {
    let body = arguments.body().map_err(|wrong| Failed::Asked(anyhow::Error::msg(wrong)))?;
    arguments.shown.clone().run(async move |client, form| {
        let ask = Ask::new(Method::POST, "/v1/candidates").json(&body)?.repeatable();
        let reply = client.ask(&ask).await?;
        if form == Form::Json {
            return json_form::print(&reply.body);
        }
        show(&read(&reply.body)?)
    })
}

fn show(answer: &Answer) -> Result<(), Failed> {
    let name = |uuid: &str| answer.providers.get(uuid).map_or(uuid, String::as_str).to_owned();
    if answer.candidates.is_empty() {
        say(match answer.explanation {
            Some(_) => "nobody can serve this",
            None => "nobody can serve this; --explain says why",
        });
    } else {
        table(answer, &name).print()?;
    }
    if answer.cut.is_some() {
        say("not everybody was looked at: that would have taken too long");
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

/// Candidates with a line for each provider.
fn table(answer: &Answer, name: &dyn Fn(&str) -> String) -> Table {
    let mut table = Table::new(&[
        ("N", Side::Right),
        ("ROOT", Side::Left),
        ("PROVIDER", Side::Left),
        ("UUID", Side::Left),
        ("TAKES", Side::Left),
        ("GROUPS", Side::Left),
    ]);
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
            let name = words.next().ok_or("--group is empty; give a name, and resources=…")?;
            let parts: Option<Vec<(&str, &str)>> = words.map(|word| word.split_once('=')).collect();
            let wrong = || format!("--group '{text}': name=value is expected after '{name}'");
            groups.push(group(name, parts.ok_or_else(wrong)?)?);
        }
        if groups.is_empty() {
            return Err("what is looked for? --resources VCPU:2, or --group".into());
        }
        let mut root = Sets::default();
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

/// Names that must hold, of lists of them one, and names that must not.
#[derive(Default)]
struct Sets {
    all: Vec<Value>,
    none: Vec<String>,
}

impl Sets {
    /// Takes in `A,!B`, `in:A,B` or `!in:A,B`.
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
        (Map::new(), Sets::default(), Sets::default());
    let mut body = Map::new();
    for (part, text) in parts {
        match part {
            "resources" => {
                for amount in split(text) {
                    let wrong = || format!("'{amount}' is no amount; one is VCPU:2");
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
                    "a group has no '{other}'; resources, required, member_of and in_tree are known"
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
    fn a_group_is_read_as_placement_writes_it() {
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
