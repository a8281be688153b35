//! Which providers a listing is about. Unlike candidates these are single providers: all that is asked for must be true of
//! each of them by itself.

use allod_core::capacity::Uuid;
use allod_core::search::{self, ProviderFilter};
use allod_core::state::capacity::Capacity;
use allod_core::state::capacity::provider::Provider;

use crate::fault::Fault;
use crate::names;
use crate::query::{Aggregates, Amounts, Query, Traits, read_resources};
use crate::uuid;
use crate::versions::Version;

/// What is asked, with names that are still names.
#[derive(Debug)]
pub(super) struct Filter {
    name: Option<String>,
    uuid: Option<Uuid>,
    in_tree: Option<Uuid>,
    aggregates: Aggregates,
    traits: Traits,
    resources: Amounts,
}

impl Filter {
    pub(super) fn read(query: &Query, version: Version) -> Result<Filter, Fault> {
        // That they are uuids has been checked.
        let uuid = |name| query.last(name).and_then(uuid::read).map(Uuid);
        let resources = |query: &Query| query.last("resources").map(read_resources).transpose();
        Ok(Filter {
            aggregates: query.member_of("", version)?,
            traits: query.traits("required", version)?,
            resources: resources(query)?.unwrap_or_default(),
            name: query.last("name").filter(|name| !name.is_empty()).map(str::to_owned),
            uuid: uuid("uuid"),
            in_tree: uuid("in_tree"),
        })
    }

    /// The providers of which all of it is true. An unknown class or trait is an error; an unknown aggregate is one that
    /// nobody is in, and an unknown tree one that has no providers.
    pub(super) fn find<'a>(&self, capacity: &'a Capacity) -> Result<Vec<&'a Provider>, Fault> {
        let filter = ProviderFilter {
            name: self.name.as_deref().map(Into::into),
            uuid: self.uuid,
            in_tree: self.in_tree,
            resources: names::classes(capacity, &self.resources)?,
            traits: names::traits(capacity, &self.traits).map_err(|why| {
                Fault::bad_request(format!("Invalid trait(s) in \"required\" parameter: {why}"))
            })?,
            member_of: self.aggregates.any_of_each.clone(),
            not_member_of: self.aggregates.forbidden.clone(),
        };
        let found = search::providers(capacity, &filter);
        Ok(found.into_iter().filter_map(|ix| capacity.at(ix)).collect())
    }
}
