//! Decides commands and operations about providers, inventories and consumers.

mod allocate;
mod hold;
mod inventory;
mod names;
mod provider;
mod reshape;
mod sets;

pub(super) use allocate::allocate;
pub(crate) use hold::released;
pub(super) use hold::{deallocate, extend};

use super::Draft;
use crate::capacity::Uuid;
use crate::command::capacity::CapacityCommand;
use crate::receipt::{Outcome, ProviderNow};
use crate::refusal::{CapacityRefusal, Refusal};
use crate::state::capacity::provider::Provider;

pub(super) fn run(draft: &mut Draft<'_>, command: &CapacityCommand) -> Result<Outcome, Refusal> {
    match command {
        CapacityCommand::CreateProvider(create) => provider::create(draft, create),
        CapacityCommand::UpdateProvider(update) => provider::update(draft, update),
        CapacityCommand::DeleteProvider(uuid) => provider::delete(draft, *uuid),
        CapacityCommand::ChangeInventories(change) => inventory::change(draft, change),
        CapacityCommand::SetTraits(set) => sets::traits(draft, set),
        CapacityCommand::SetAggregates(set) => sets::aggregates(draft, set),
        CapacityCommand::CreateClass(create) => names::create_class(draft, create),
        CapacityCommand::RenameClass(rename) => names::rename_class(draft, rename),
        CapacityCommand::DeleteClass(class) => names::delete_class(draft, class),
        CapacityCommand::CreateTrait(name) => names::create_trait(draft, name),
        CapacityCommand::DeleteTrait(name) => names::delete_trait(draft, name),
        CapacityCommand::Reshape(reshape) => reshape::run(draft, reshape),
    }
}

impl Draft<'_> {
    fn provider(&self, uuid: Uuid) -> Result<&Provider, Refusal> {
        let unknown = CapacityRefusal::ProviderUnknown { provider: uuid };
        self.state.capacity.provider(uuid).ok_or_else(|| unknown.into())
    }

    /// The provider, if it has the expected generation.
    fn provider_at(&self, uuid: Uuid, expect: Option<u64>) -> Result<&Provider, Refusal> {
        let provider = self.provider(uuid)?;
        let actual = provider.generation;
        match expect {
            Some(expected) if expected != actual => {
                let provider = uuid;
                Err(CapacityRefusal::ProviderGenerationDiffers { provider, expected, actual }
                    .into())
            }
            _ => Ok(provider),
        }
    }

    /// The provider after the change.
    fn provider_now(&self, uuid: Uuid) -> Result<Outcome, Refusal> {
        let provider = self.provider(uuid)?;
        Ok(Outcome::Provider(ProviderNow {
            uuid,
            name: provider.name.clone(),
            generation: provider.generation,
            parent: self.state.capacity.parent(provider),
            root: self.state.capacity.root(provider),
            changed_ms: provider.changed_ms,
        }))
    }
}
