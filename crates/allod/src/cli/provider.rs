//! `allod provider`: providers of capacity, and how much of what they have is given out.
//!
//! To be looked at only: providers are made and changed through the Placement interface.

use std::collections::BTreeMap;

use allod_core::capacity::Uuid;
use clap::{Args, Subcommand};
use serde::Deserialize;

use super::answer::{List, Much};
use super::table::{Side, Table, facts};
use super::{Form, Shown, format, json as json_form, print, read};
use crate::client::{Client, part, with_query};
use crate::failed::{Failed, advised};

#[derive(Debug, Subcommand)]
pub enum ProviderCommand {
    /// List providers, what they have, and how much of it is given out
    #[command(visible_alias = "ls", after_help = LIST_EXAMPLES)]
    List(ListArguments),
    /// Show one provider
    Show(ShowArguments),
}

const LIST_EXAMPLES: &str = "\
Examples:
  allod provider list rack-7-                    providers whose name begins so
  allod provider list --class VGPU               those that have an inventory of a class
  allod provider list --trait HW_CPU_X86_AVX2 --aggregate UUID";

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Only providers whose name starts with this
    prefix: Option<String>,

    /// Only the tree that this provider is in: its name or uuid
    #[arg(long, value_name = "PROVIDER")]
    in_tree: Option<String>,

    /// Only those that have this trait; may be repeated
    #[arg(long = "trait", value_name = "TRAIT")]
    traits: Vec<String>,

    /// Only those that have an inventory of this resource class; may be repeated
    #[arg(long = "class", value_name = "CLASS")]
    classes: Vec<String>,

    /// Only those that are in this aggregate; may be repeated
    #[arg(long = "aggregate", value_name = "UUID")]
    aggregates: Vec<String>,

    #[command(flatten)]
    much: Much,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Args)]
pub struct ShowArguments {
    /// Its name or uuid
    provider: String,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Deserialize)]
struct Provider {
    uuid: String,
    name: String,
    generation: u64,
    parent: Option<String>,
    root: String,
    aggregates: Vec<String>,
    traits: Vec<String>,
    inventories: BTreeMap<String, Inventory>,
    consumers: u64,
    changed: String,
}

#[derive(Debug, Deserialize)]
struct Inventory {
    total: u64,
    reserved: u64,
    min_unit: u64,
    max_unit: u64,
    step_size: u64,
    allocation_ratio: f64,
    capacity: i64,
    used: u64,
    free: i64,
}

pub fn run(command: ProviderCommand) -> Result<(), Failed> {
    match command {
        ProviderCommand::List(arguments) => list(arguments),
        ProviderCommand::Show(arguments) => show(arguments),
    }
}

fn list(arguments: ListArguments) -> Result<(), Failed> {
    let ListArguments { prefix, in_tree, traits, classes, aggregates, much, shown } = arguments;
    shown.run(async move |client, form| {
        let in_tree = match in_tree {
            Some(provider) => Some(("in_tree", uuid_of(client, &provider).await?)),
            None => None,
        };
        let prefix = prefix.map(|prefix| ("name_prefix", prefix));
        let each = |name, texts: Vec<String>| texts.into_iter().map(move |text| (name, text));
        let query = prefix.into_iter().chain(in_tree).chain(each("trait", traits));
        let query = query.chain(each("class", classes)).chain(each("aggregate", aggregates));
        let query: Vec<(&str, String)> = query.collect();
        let list = List::ask(client, "/v1/providers", "providers", &query, &much).await?;
        list.show(form, "there are no providers that fit", |providers: &[Provider]| {
            table(providers)
        })
    })
}

/// Providers with a line for each class.
fn table(providers: &[Provider]) -> Table {
    const BAR: usize = 10;
    let mut table = Table::new(&[
        ("PROVIDER", Side::Left),
        ("UUID", Side::Left),
        ("CLASS", Side::Left),
        ("FILL", Side::Left),
        ("", Side::Right),
        ("USED", Side::Right),
        ("FREE", Side::Right),
        ("CAPACITY", Side::Right),
    ]);
    for provider in providers {
        let who = [provider.name.clone(), provider.uuid.clone()];
        if provider.inventories.is_empty() {
            table.row(who.clone().into_iter().chain(["-".to_owned()]));
        }
        for (class, inventory) in &provider.inventories {
            let (used, all) = inventory.fill();
            let fill = [class.clone(), format::bar(used, all, BAR), format::percent(used, all)];
            let counts = [
                inventory.used.to_string(),
                inventory.free.to_string(),
                inventory.capacity.to_string(),
            ];
            table.row(who.clone().into_iter().chain(fill).chain(counts));
        }
    }
    table
}

impl Inventory {
    fn fill(&self) -> (u128, u128) {
        (self.used.into(), u128::try_from(self.capacity).unwrap_or(0))
    }

    /// In which portions it is given out; nothing, if in any.
    fn portions(&self) -> String {
        const ANY: u64 = i32::MAX as u64;
        let mut parts = Vec::new();
        if self.min_unit > 1 {
            parts.push(format!("from {}", self.min_unit));
        }
        if self.max_unit < ANY {
            parts.push(format!("up to {}", self.max_unit));
        }
        if self.step_size > 1 {
            parts.push(format!("in steps of {}", self.step_size));
        }
        parts.join(" ")
    }
}

fn show(arguments: ShowArguments) -> Result<(), Failed> {
    let ShowArguments { provider, shown } = arguments;
    shown.run(async move |client, form| {
        let uuid = uuid_of(client, &provider).await?;
        let reply = client.get(format!("/v1/providers/{}", part(&uuid))).await?;
        if form == Form::Json {
            return json_form::print(&reply.body);
        }
        let provider: Provider = read(&reply.body)?;
        let root = Some(provider.root).filter(|root| *root != provider.uuid);
        print(&facts([
            ("provider", provider.name),
            ("uuid", provider.uuid),
            ("generation", provider.generation.to_string()),
            ("parent", provider.parent.unwrap_or_default()),
            ("root", root.unwrap_or_default()),
            ("traits", provider.traits.join(", ")),
            ("aggregates", provider.aggregates.join(", ")),
            ("consumers", provider.consumers.to_string()),
            ("changed", format::time(&provider.changed)),
        ]))?;
        if provider.inventories.is_empty() {
            return Ok(());
        }
        print("\n")?;
        stock(&provider.inventories).print()
    })
}

/// The inventories of one provider.
fn stock(inventories: &BTreeMap<String, Inventory>) -> Table {
    let mut table = Table::new(&[
        ("CLASS", Side::Left),
        ("TOTAL", Side::Right),
        ("RESERVED", Side::Right),
        ("RATIO", Side::Right),
        ("CAPACITY", Side::Right),
        ("USED", Side::Right),
        ("FREE", Side::Right),
        ("PORTIONS", Side::Left),
    ]);
    for (class, one) in inventories {
        table.row([
            class.clone(),
            one.total.to_string(),
            one.reserved.to_string(),
            one.allocation_ratio.to_string(),
            one.capacity.to_string(),
            one.used.to_string(),
            one.free.to_string(),
            one.portions(),
        ]);
    }
    table
}

/// The uuid of a provider that is named by it or by its name.
pub async fn uuid_of(client: &Client, named: &str) -> Result<String, Failed> {
    #[derive(Deserialize)]
    struct Page {
        providers: Vec<Known>,
        next: Option<String>,
    }
    #[derive(Deserialize)]
    struct Known {
        uuid: String,
        name: String,
    }
    if is_uuid(named) {
        return Ok(named.to_owned());
    }
    let mut after: Option<String> = None;
    loop {
        let query = [("name_prefix", named.to_owned()), ("fields", "name".into())];
        let query = query.into_iter().chain([("limit", "10000".into())]);
        let reply = client.get(with_query(
            "/v1/providers",
            query.chain(after.take().map(|after| ("after", after))),
        ));
        let reply = reply.await?;
        let Page { providers, next } = read(&reply.body)?;
        if let Some(known) = providers.into_iter().find(|known| known.name == named) {
            return Ok(known.uuid);
        }
        if next.is_none() {
            let what = format!("there is no provider with the name '{named}'");
            return Err(Failed::Missing(advised(
                what,
                "`allod provider list` shows the providers",
            )));
        }
        after = next;
    }
}

fn is_uuid(text: &str) -> bool {
    text.parse::<Uuid>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_no_name() {
        assert!(is_uuid("4e8e5957-649f-477b-9e5b-f1f75b21c03c"));
        assert!(is_uuid("4E8E5957649F477B9E5BF1F75B21C03C"));
        assert!(!is_uuid("host-1"));
        assert!(!is_uuid("4e8e5957-649f-477b-9e5b-f1f75b21c03"));
    }

    #[test]
    fn portions_are_said_where_not_any_will_do() {
        let inventory = |min_unit, max_unit, step_size| Inventory {
            total: 8,
            reserved: 0,
            min_unit,
            max_unit,
            step_size,
            allocation_ratio: 1.0,
            capacity: 8,
            used: 0,
            free: 8,
        };
        assert_eq!(inventory(1, i32::MAX as u64, 1).portions(), "");
        assert_eq!(inventory(2, 4, 2).portions(), "from 2 up to 4 in steps of 2");
    }
}
