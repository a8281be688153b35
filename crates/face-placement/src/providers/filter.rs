//! Which providers a listing is about. Unlike candidates these are single providers: all that is asked for must be true of
//! each of them by itself.

use allod_core::capacity::Uuid;
use allod_core::state::capacity::Capacity;
use allod_core::state::capacity::bits::Bits;
use allod_core::state::capacity::names::{NameIx, Names};
use allod_core::state::capacity::provider::{Provider, ProviderIx};

use crate::fault::Fault;
use crate::query::{Aggregates, Amounts, Query, Traits, read_resources};
use crate::uuid;
use crate::versions::Version;

/// What is asked, with names that are still names.
#[derive(Debug)]
pub(super) struct Filter {
    name: Option<String>,
    uuid: Option<Option<Uuid>>,
    in_tree: Option<Option<Uuid>>,
    aggregates: Aggregates,
    traits: Traits,
    resources: Amounts,
}

impl Filter {
    pub(super) fn read(query: &Query, version: Version) -> Result<Filter, Fault> {
        let uuid = |name| query.last(name).map(|text| uuid::read(text).map(Uuid));
        let aggregates = query.member_of("", version)?;
        let traits = query.traits("required", version)?;
        let resources = query.last("resources").map(read_resources).transpose()?;
        Ok(Filter {
            name: query.last("name").map(str::to_owned),
            uuid: uuid("uuid"),
            in_tree: uuid("in_tree"),
            aggregates,
            traits,
            resources: resources.unwrap_or_default(),
        })
    }

    /// The providers of which all of it is true.
    pub(super) fn find<'a>(&self, capacity: &'a Capacity) -> Result<Vec<&'a Provider>, Fault> {
        let wanted = self.look_up(capacity)?;
        if let Some(one) = self.named(capacity) {
            let found = one.filter(|ix| wanted.fits(capacity, *ix));
            return Ok(found.and_then(|ix| capacity.at(ix)).into_iter().collect());
        }
        if let Some(member) = self.in_tree {
            let member = member.and_then(|uuid| capacity.provider(uuid));
            let tree = member.map(|member| capacity.tree(member.root)).unwrap_or_default();
            let fitting = tree.into_iter().filter(|ix| wanted.fits(capacity, *ix));
            return Ok(fitting.filter_map(|ix| capacity.at(ix)).collect());
        }
        // Only those are looked at that have the rarest of what is asked for.
        let found = match wanted.rarest() {
            Some(bits) => {
                let fitting = bits.iter().filter(|ix| wanted.fits(capacity, *ix));
                fitting.filter_map(|ix| capacity.at(ix)).collect()
            }
            None => {
                let all = capacity.providers().filter(|(ix, _)| wanted.fits(capacity, *ix));
                all.map(|(_, provider)| provider).collect()
            }
        };
        Ok(found)
    }

    /// The one provider that a name or a uuid leaves, if there is one; `None`: neither is asked for.
    fn named(&self, capacity: &Capacity) -> Option<Option<ProviderIx>> {
        if self.name.is_none() && self.uuid.is_none() {
            return None;
        }
        let by_uuid = self.uuid.map(|uuid| uuid.and_then(|uuid| capacity.provider(uuid)));
        let by_name = self.name.as_deref().map(|name| capacity.provider_named(name));
        let found = match (by_uuid, by_name) {
            (Some(one), None) | (None, Some(one)) => one,
            (Some(one), Some(other)) => {
                one.filter(|one| other.is_some_and(|other| other.uuid == one.uuid))
            }
            (None, None) => None,
        };
        let found = found.filter(|found| match self.in_tree {
            None => true,
            Some(member) => {
                let member = member.and_then(|uuid| capacity.provider(uuid));
                member.is_some_and(|member| member.root == found.root)
            }
        });
        Some(found.and_then(|found| capacity.provider_ix(found.uuid)))
    }

    /// Unknown classes and traits are errors; an unknown aggregate is one that nobody is in.
    fn look_up<'a>(&self, capacity: &'a Capacity) -> Result<Wanted<'a>, Fault> {
        let class = |(name, amount): &(String, u64)| match capacity.classes().find(name) {
            Some(class) => Ok((class, *amount)),
            None => Err(Fault::bad_request(format!(
                "Invalid resource class in resources parameter: No such resource class {name}."
            ))),
        };
        let resources: Result<Vec<_>, Fault> = self.resources.iter().map(class).collect();
        let resources = resources?;
        let all = self.traits.required.iter().flatten().chain(&self.traits.forbidden);
        let unknown = unknown(capacity.traits(), all);
        if let Some(unknown) = unknown {
            return Err(Fault::bad_request(format!(
                "Invalid trait(s) in \"required\" parameter: No such trait(s): {unknown}."
            )));
        }
        let with = |name: &String| {
            capacity.traits().find(name).map(|found| capacity.with_trait(found))
        };
        let members = |uuid: &Uuid| capacity.members_of(*uuid);
        let mut any: Vec<Vec<&Bits>> = Vec::new();
        any.extend(self.traits.required.iter().map(|set| set.iter().filter_map(with).collect()));
        any.extend(self.aggregates.any_of_each.iter().map(|set| set.iter().map(members).collect()));
        let mut none: Vec<&Bits> = self.traits.forbidden.iter().filter_map(with).collect();
        none.extend(self.aggregates.forbidden.iter().map(members));
        let columns = resources.iter().filter_map(|(class, _)| capacity.column(*class));
        let have: Vec<&Bits> = columns.map(|column| &column.have).collect();
        // Of a class that nobody has ever had there is no column.
        let lacks_column = have.len() < resources.len();
        Ok(Wanted { any, none, have, lacks_column, resources })
    }
}

/// Names that are not there, if any.
pub(crate) fn unknown<'a>(
    names: &Names,
    asked: impl Iterator<Item = &'a String>,
) -> Option<String> {
    let mut unknown: Vec<&str> =
        asked.filter(|name| names.find(name).is_none()).map(String::as_str).collect();
    unknown.sort_unstable();
    unknown.dedup();
    (!unknown.is_empty()).then(|| unknown.join(", "))
}

/// The same with everything looked up.
struct Wanted<'a> {
    /// In at least one of each.
    any: Vec<Vec<&'a Bits>>,
    /// In none of these.
    none: Vec<&'a Bits>,
    have: Vec<&'a Bits>,
    lacks_column: bool,
    resources: Vec<(NameIx, u64)>,
}

impl<'a> Wanted<'a> {
    fn fits(&self, capacity: &Capacity, ix: ProviderIx) -> bool {
        let room = |(class, amount): &(NameIx, u64)| {
            capacity.column(*class).is_some_and(|column| {
                column.have.contains(ix) && column.room(ix).fits(*amount)
            })
        };
        self.any.iter().all(|set| set.iter().any(|bits| bits.contains(ix)))
            && !self.none.iter().any(|bits| bits.contains(ix))
            && self.resources.iter().all(room)
    }

    /// The smallest set that all must be in, if there is any that is one set.
    fn rarest(&self) -> Option<&'a Bits> {
        static NOBODY: Bits = Bits::EMPTY;
        if self.lacks_column {
            return Some(&NOBODY);
        }
        let single = self.any.iter().filter(|set| set.len() == 1).map(|set| set[0]);
        single.chain(self.have.iter().copied()).min_by_key(|bits| bits.len())
    }
}
