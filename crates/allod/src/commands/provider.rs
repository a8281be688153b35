//! `allod provider`: lists and shows resource providers. They are created and changed through the Placement interface.

use std::collections::BTreeMap;

use allod_core::capacity::Uuid;
use clap::{Args, Subcommand};
use serde::Deserialize;

use crate::client::answers::{PageArguments, PagedList, parse};
use crate::client::{Client, path_segment, with_query};
use crate::connection::ClientArguments;
use crate::error::{CommandError, Result, with_advice};
use crate::output::table::{Table, field_lines};
use crate::output::{format, print};

#[derive(Debug, Subcommand)]
pub enum ProviderCommand {
    /// List providers with their inventories and usage
    #[command(visible_alias = "ls", after_help = LIST_EXAMPLES)]
    List(ProviderListArguments),
    /// Show a provider
    Show(ProviderShowArguments),
}

const LIST_EXAMPLES: &str = "\
Examples:
  allod provider list rack-7-                    providers whose name starts with this
  allod provider list --class VGPU               providers with an inventory of a class
  allod provider list --trait HW_CPU_X86_AVX2 --aggregate UUID";

#[derive(Debug, Args)]
pub struct ProviderListArguments {
    /// Only providers whose name starts with this
    prefix: Option<String>,

    /// Only the tree of this provider, by name or UUID
    #[arg(long, value_name = "PROVIDER")]
    in_tree: Option<String>,

    /// Only providers with this trait; repeatable
    #[arg(long = "trait", value_name = "TRAIT")]
    traits: Vec<String>,

    /// Only providers with an inventory of this resource class; repeatable
    #[arg(long = "class", value_name = "CLASS")]
    classes: Vec<String>,

    /// Only providers in this aggregate; repeatable
    #[arg(long = "aggregate", value_name = "UUID")]
    aggregates: Vec<String>,

    #[command(flatten)]
    page: PageArguments,
    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Args)]
pub struct ProviderShowArguments {
    /// Name or UUID of the provider
    provider: String,
    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Deserialize)]
struct ProviderRow {
    uuid: String,
    name: String,
    generation: u64,
    parent: Option<String>,
    root: String,
    aggregates: Vec<String>,
    traits: Vec<String>,
    inventories: BTreeMap<String, InventoryRow>,
    consumers: u64,
    changed: String,
}

#[derive(Debug, Deserialize)]
struct InventoryRow {
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

pub fn run(command: ProviderCommand) -> Result<()> {
    match command {
        ProviderCommand::List(arguments) => list(arguments),
        ProviderCommand::Show(arguments) => show(arguments),
    }
}

fn list(arguments: ProviderListArguments) -> Result<()> {
    let ProviderListArguments { prefix, in_tree, traits, classes, aggregates, page, common } =
        arguments;
    common.run(async move |client, output| {
        let in_tree = match in_tree {
            Some(provider) => Some(uuid_of(client, &provider).await?),
            None => None,
        };
        let each = |name, texts: Vec<String>| texts.into_iter().map(move |text| (name, Some(text)));
        let query = [("name_prefix", prefix), ("in_tree", in_tree)];
        let query = query.into_iter().chain(each("trait", traits));
        let query = query.chain(each("class", classes)).chain(each("aggregate", aggregates));
        let list = PagedList::fetch(client, "/v1/providers", "providers", query, &page).await?;
        list.show(output, "no matching providers", table)
    })
}

/// One line for each provider and resource class.
fn table(providers: &[ProviderRow]) -> Table {
    const BAR: usize = 10;
    let columns = ["PROVIDER", "UUID", "CLASS", "FILL", "", "USED", "FREE", "CAPACITY"];
    let mut table = Table::new(&columns).right(&columns[4..]);
    for provider in providers {
        let name = [provider.name.clone(), provider.uuid.clone()];
        if provider.inventories.is_empty() {
            table.row(name.clone().into_iter().chain(["-".to_owned()]));
        }
        for (class, inventory) in &provider.inventories {
            let (part, all) = inventory.fill();
            let fill = [class.clone(), format::bar(part, all, BAR), format::percent(part, all)];
            let InventoryRow { used, free, capacity, .. } = inventory;
            let counts = [used.to_string(), free.to_string(), capacity.to_string()];
            table.row(name.clone().into_iter().chain(fill).chain(counts));
        }
    }
    table
}

impl InventoryRow {
    fn fill(&self) -> (u128, u128) {
        (self.used.into(), u128::try_from(self.capacity).unwrap_or(0))
    }

    /// The amounts that one allocation may have; empty if any.
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

fn show(arguments: ProviderShowArguments) -> Result<()> {
    let ProviderShowArguments { provider, common } = arguments;
    common.run(async move |client, output| {
        let uuid = uuid_of(client, &provider).await?;
        let reply = client.get(format!("/v1/providers/{}", path_segment(&uuid))).await?;
        reply.show(output, describe)
    })
}

fn describe(provider: ProviderRow) -> Result<()> {
    let root = Some(provider.root).filter(|root| *root != provider.uuid);
    print(&field_lines([
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
}

/// The inventories of one provider.
fn stock(inventories: &BTreeMap<String, InventoryRow>) -> Table {
    let columns = ["CLASS", "TOTAL", "RESERVED", "RATIO", "CAPACITY", "USED", "FREE", "PORTIONS"];
    let mut table = Table::new(&columns).right(&columns[1..7]);
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

/// The UUID of a provider that is given by name or UUID.
pub async fn uuid_of(client: &Client, named: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct NamesPage {
        providers: Vec<ProviderName>,
        next: Option<String>,
    }
    #[derive(Deserialize)]
    struct ProviderName {
        uuid: String,
        name: String,
    }
    if is_uuid(named) {
        return Ok(named.to_owned());
    }
    let mut after: Option<String> = None;
    loop {
        let query = [
            ("name_prefix", named.to_owned()),
            ("fields", "name".into()),
            ("limit", "10000".into()),
        ];
        let query = query.into_iter().chain(after.take().map(|after| ("after", after)));
        let reply = client.get(with_query("/v1/providers", query)).await?;
        let NamesPage { providers, next } = parse(&reply.body)?;
        if let Some(known) = providers.into_iter().find(|known| known.name == named) {
            return Ok(known.uuid);
        }
        if next.is_none() {
            return Err(CommandError::NotFound(with_advice(
                format!("there is no provider named '{named}'"),
                "`allod provider list` lists the providers",
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
    fn uuids_are_recognized() {
        assert!(is_uuid("4e8e5957-649f-477b-9e5b-f1f75b21c03c"));
        assert!(is_uuid("4E8E5957649F477B9E5BF1F75B21C03C"));
        assert!(!is_uuid("host-1"));
        assert!(!is_uuid("4e8e5957-649f-477b-9e5b-f1f75b21c03"));
    }

    #[test]
    fn portions_are_empty_if_any_amount_is_allowed() {
        let inventory = |min_unit, max_unit, step_size| InventoryRow {
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
