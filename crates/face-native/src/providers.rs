//! Routes of providers, read-only: providers are created and changed through the Placement interface.

pub(crate) mod rows;

use std::sync::Arc;

use allod_core::refusal::CapacityRefusal;
use allod_edge::{Call, Problem, Reply};
use allod_engine::FrozenRead;
use http::StatusCode;

use crate::query::{AFTER, Param, QueryParams, uuid};
use crate::wire::ProviderList;
use crate::{Native, refusals, to_wire};
use rows::{ProviderCopy, ProviderFields, ProviderListFilter};

/// Large, because exporters read all providers at every scrape.
pub(crate) const LIMIT_MAX: usize = 10_000;

const NAME_PREFIX: Param =
    Param { name: "name_prefix", about: "Only providers whose name starts with this." };
const IN_TREE: Param =
    Param { name: "in_tree", about: "Only providers in the tree of this provider." };
const TRAIT: Param = Param {
    name: "trait",
    about: "Only providers with this trait. May be repeated: with all of them.",
};
const CLASS: Param = Param {
    name: "class",
    about: "Only providers with an inventory of this resource class. May be repeated: of all of them.",
};
const AGGREGATE: Param = Param {
    name: "aggregate",
    about: "Only providers in this aggregate. May be repeated: in all of them.",
};
const FIELDS: Param = Param {
    name: "fields",
    about: "Comma-separated members to return besides the uuid: name, generation, parent, root, aggregates, traits, inventories, consumers, changed. Default: all.",
};
const LIMIT: Param =
    Param { name: "limit", about: "The size of a page, 1 to 10000. Default: 100." };

pub(crate) const LIST_QUERY: &[Param] =
    &[NAME_PREFIX, IN_TREE, TRAIT, CLASS, AGGREGATE, FIELDS, LIMIT, AFTER];
const REPEATED: &[&str] = &["trait", "class", "aggregate"];

pub(crate) const GET_QUERY: &[Param] = &[FIELDS];

pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let fields = fields(&QueryParams::read(&call, GET_QUERY)?)?;
    let provider = uuid("the provider", &call.param(0)?)?;
    native.wait_for_position(&call).await?;
    let frozen = native.freeze()?;
    let (capacity, at) = (frozen.capacity.view(), frozen.at);
    let row = capacity.provider(provider).map(|found| ProviderCopy::of(capacity, found, fields));
    let unknown = CapacityRefusal::ProviderUnknown { provider };
    let row = row.ok_or_else(|| refusals::alone(unknown, &at))?;
    Ok(to_wire::json(StatusCode::OK, &to_wire::capacity::provider(&row, fields), &at))
}

pub(crate) async fn list(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read_repeated(&call, LIST_QUERY, REPEATED)?;
    native.wait_for_position(&call).await?;
    let frozen = native.freeze()?;
    let entries = frozen.capacity.view().provider_count();
    native.list(entries, move || page(&call, &frozen)).await
}

fn page(call: &Call, frozen: &FrozenRead) -> Result<Reply, Reply> {
    let query = QueryParams::read_repeated(call, LIST_QUERY, REPEATED)?;
    let filter = ProviderListFilter {
        name_prefix: query.text(NAME_PREFIX.name).unwrap_or_default(),
        in_tree: query.uuid(IN_TREE.name)?,
        traits: query.texts(TRAIT.name).collect(),
        classes: query.texts(CLASS.name).collect(),
        aggregates: query.uuids(AGGREGATE.name)?,
    };
    let after = query.after(|text| text.parse().ok())?;
    let (fields, limit, at) = (fields(&query)?, query.limit_upto(LIMIT_MAX)?, frozen.at);
    let page = rows::page(frozen.capacity.view(), &filter, fields, after, limit);
    let page = page.map_err(|refusal| refusals::of_query(refusal, &at))?;
    let providers = page.items.iter().map(|row| to_wire::capacity::provider(row, fields)).collect();
    let next = page.next.as_deref();
    Ok(to_wire::page(call, &query, &ProviderList { providers, next }, next, &at))
}

fn fields(query: &QueryParams<'_>) -> Result<ProviderFields, Problem> {
    match query.text(FIELDS.name) {
        None => Ok(ProviderFields::ALL),
        Some(text) => ProviderFields::read(text).map_err(|name| {
            let known = ProviderFields::names().join(", ");
            Problem::malformed(format!("fields names '{name}'; expected some of: {known}"))
        }),
    }
}
