//! The filters of a provider list. Unlike with candidates, each provider must satisfy all of them alone.

use allod_core::capacity::Uuid;
use allod_core::search::{self, ProviderFilter};
use allod_core::view::capacity::{CapacityView, ProviderView};

use crate::error::{PlacementError, PlacementResult};
use crate::lookup;
use crate::query::{AggregateParams, QueryString, ResourceAmounts, TraitParams, read_resources};
use crate::uuid;
use crate::versions::Microversion;

/// The filters with names that are not resolved yet.
#[derive(Debug)]
pub(super) struct ProviderParams {
    name: Option<String>,
    uuid: Option<Uuid>,
    in_tree: Option<Uuid>,
    aggregates: AggregateParams,
    traits: TraitParams,
    resources: ResourceAmounts,
}

impl ProviderParams {
    pub(super) fn read(
        query: &QueryString,
        version: Microversion,
    ) -> PlacementResult<ProviderParams> {
        // The schema has checked that these are UUIDs.
        let uuid = |name| query.last(name).and_then(uuid::read);
        let resources =
            |query: &QueryString| query.last("resources").map(read_resources).transpose();
        Ok(ProviderParams {
            aggregates: query.member_of("", version)?,
            traits: query.traits("required", version)?,
            resources: resources(query)?.unwrap_or_default(),
            name: query.last("name").filter(|name| !name.is_empty()).map(str::to_owned),
            uuid: uuid("uuid"),
            in_tree: uuid("in_tree"),
        })
    }

    /// Whether it names one provider.
    pub(super) fn is_single(&self) -> bool {
        self.name.is_some() || self.uuid.is_some()
    }

    /// The matching providers. An unknown class or trait is an error; an unknown aggregate or tree matches nothing.
    pub(super) fn find<'a>(
        &self,
        capacity: CapacityView<'a>,
    ) -> PlacementResult<impl Iterator<Item = ProviderView<'a>> + use<'a>> {
        let filter = ProviderFilter {
            name: self.name.as_deref().map(Into::into),
            uuid: self.uuid,
            in_tree: self.in_tree,
            resources: lookup::classes(capacity, &self.resources)?,
            traits: lookup::traits(capacity, &self.traits).map_err(|why| {
                PlacementError::bad_request(format!(
                    "Invalid trait(s) in \"required\" parameter: {why}"
                ))
            })?,
            member_of: self.aggregates.any_of_each.clone(),
            not_member_of: self.aggregates.forbidden.clone(),
        };
        let found = search::providers(capacity, &filter);
        Ok(found.into_iter().filter_map(move |ix| capacity.provider_at(ix)))
    }
}
