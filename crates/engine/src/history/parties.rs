//! Which providers and which consumer an event is about, for whoever looks for what happened to them.

use allod_core::capacity::Uuid;
use allod_core::event::Event;
use allod_core::event::capacity::Allocated;

/// Those whom a change of capacity concerns. A resource class or a trait that comes or goes concerns nobody in particular.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parties<'a> {
    pub consumer: Option<Uuid>,
    provider: Option<Uuid>,
    held: &'a [Allocated],
    left: &'a [Uuid],
}

impl<'a> Parties<'a> {
    /// `None`: the event is not about capacity, or is not shown to anybody.
    pub fn of(event: &'a Event) -> Option<Parties<'a>> {
        let of_provider =
            |provider: Uuid| Parties { provider: Some(provider), ..Parties::default() };
        let of_consumer = |consumer: Uuid, held: &'a [Allocated], left: &'a [Uuid]| Parties {
            consumer: Some(consumer),
            provider: None,
            held,
            left,
        };
        Some(match event {
            Event::ProviderDefined(event) => of_provider(event.provider),
            Event::ProviderRemoved(event) => of_provider(event.provider),
            Event::InventoriesSet(event) => of_provider(event.provider),
            Event::TraitsSet(event) => of_provider(event.provider),
            Event::AggregatesSet(event) => of_provider(event.provider),
            Event::ClassDefined(_)
            | Event::ClassRemoved(_)
            | Event::TraitDefined(_)
            | Event::TraitRemoved(_) => Parties::default(),
            Event::AllocationsSet(event) => {
                of_consumer(event.consumer, &event.allocations, &event.left)
            }
            // What is held does not change, and the event does not say what it is.
            Event::AllocationsExtended(event) => of_consumer(event.consumer, &[], &[]),
            Event::AllocationsReleased(event) => of_consumer(event.consumer, &event.was, &[]),
            // That a provider's generation goes up follows from what stands beside it.
            Event::ProviderCounted(_) => return None,
            Event::PoolDefined(_)
            | Event::PoolRemoved(_)
            | Event::ClaimGranted(_)
            | Event::LeaseChanged(_)
            | Event::ClaimReleased(_)
            | Event::QuarantineEnded(_)
            | Event::RequestRemembered(_)
            | Event::RequestForgotten(_)
            | Event::LedgerDefined(_)
            | Event::BlocksMoved(_)
            | Event::ResourcePoolDefined(_)
            | Event::RequestAnswered(_)
            | Event::RequestWithdrawn(_)
            | Event::AlarmChanged(_)
            | Event::AlarmPurged(_)
            | Event::NoticeQueued(_)
            | Event::NoticeTried(_)
            | Event::NoticeSettled(_) => return None,
        })
    }

    /// Every provider that it concerns, some perhaps twice.
    pub fn providers(&self) -> impl Iterator<Item = Uuid> + 'a {
        let held = self.held.iter().map(|held| held.provider);
        self.provider.into_iter().chain(held).chain(self.left.iter().copied())
    }
}
