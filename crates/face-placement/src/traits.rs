//! `/traits` and `/resource_providers/{uuid}/traits`: what providers are like.

use std::sync::Arc;

use allod_core::command::Command;
use allod_core::command::capacity::{CapacityCommand, SetTraits};
use allod_core::receipt::Outcome;
use allod_core::state::capacity::names::Named;
use allod_engine::CommitPoint;
use http::StatusCode;
use serde_json::Value;

use crate::ask::Ask;
use crate::fault::Fault;
use crate::out::{ARRAY, Out};
use crate::providers::{look, now, unknown};
use crate::refusals::{Doing, unexpected};
use crate::schema::{self, forms};
use crate::to_wire::{Shown, newest};
use crate::{Placement, from_wire};

/// Which traits are listed.
#[derive(Default)]
struct Filter {
    any_of: Option<Vec<String>>,
    prefix: Option<String>,
    associated: Option<bool>,
}

impl Filter {
    fn read(ask: &Ask) -> Result<Filter, Fault> {
        let query = ask.query();
        query.check(forms::LIST_TRAITS)?;
        let mut filter = Filter::default();
        if let Some(name) = query.last("name") {
            match name.split_once(':') {
                Some(("in", names)) => {
                    filter.any_of = Some(names.split(',').map(str::to_owned).collect());
                }
                Some(("startswith", prefix)) => filter.prefix = Some(prefix.to_owned()),
                Some(_) => {}
                None => {
                    return Err(Fault::bad_request(format!(
                        "Badly formatted name parameter. Expected name query string parameter in form: ?name=[in|startswith]:[name1,name2|prefix]. Got: \"{name}\""
                    )));
                }
            }
        }
        if let Some(associated) = query.last("associated") {
            filter.associated = match associated.to_lowercase().as_str() {
                "true" => Some(true),
                "false" => Some(false),
                _ => {
                    return Err(Fault::bad_request(
                        "The query parameter \"associated\" only accepts \"true\" or \"false\"",
                    ));
                }
            };
        }
        Ok(filter)
    }

    fn lets(&self, name: &str, is_associated: impl FnOnce() -> bool) -> bool {
        self.any_of.as_ref().is_none_or(|names| names.iter().any(|own| own == name))
            && self.prefix.as_ref().is_none_or(|prefix| name.starts_with(prefix.as_str()))
            && self.associated.is_none_or(|wanted| is_associated() == wanted)
    }
}

pub(crate) fn list(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let filter = Filter::read(ask)?;
    face.read(|capacity, snapshot| {
        let all = capacity.traits().iter();
        let listed: Vec<&Named> = all
            .filter(|(ix, named)| filter.lets(&named.name, || !capacity.with_trait(*ix).is_empty()))
            .map(|(_, named)| named)
            .collect();
        let modified = newest(listed.iter().map(|named| named.changed_ms), snapshot.now_ms);
        let names = listed.iter().map(|named| &named.name);
        Ok(show(snapshot.at, names, None).modified(modified))
    })
}

pub(crate) fn get(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    face.read(|capacity, snapshot| {
        let (traits, name) = (capacity.traits(), ask.param(0));
        let named = traits.find(&name).and_then(|ix| traits.get(ix));
        let named = named.ok_or_else(|| Fault::not_found(format!("No such trait(s): {name}.")))?;
        let modified = newest([named.changed_ms], snapshot.now_ms);
        Ok(Shown::nothing(snapshot.at, StatusCode::NO_CONTENT).modified(modified))
    })
}

pub(crate) async fn put(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let name = ask.param(0);
    if schema::check(&Value::from(name.as_str()), forms::CUSTOM_TRAIT).is_some() {
        return Err(Fault::bad_request(
            "The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix \"CUSTOM_\" and use following characters: \"A\"-\"Z\", \"0\"-\"9\" and \"_\"",
        ));
    }
    let command = Command::Capacity(CapacityCommand::CreateTrait(name.as_str().into()));
    let (outcome, at) = face.submit(command, Doing::PutTrait).await?;
    let Outcome::Named { created, changed_ms } = outcome else { return Err(unexpected()) };
    let status = if created { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
    let location = ask.address(face.settings.scheme, &format!("/traits/{name}"));
    Ok(Shown::nothing(at, status).location(location).modified(changed_ms))
}

pub(crate) async fn delete(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let command = Command::Capacity(CapacityCommand::DeleteTrait(ask.param(0).into()));
    let (_, at) = face.submit(command, Doing::DeleteTrait).await?;
    Ok(Shown::nothing(at, StatusCode::NO_CONTENT))
}

pub(crate) fn of_provider(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    face.read(|capacity, snapshot| {
        let provider = look(capacity, ask, || {
            let unknown = unknown(ask);
            Fault::not_found(format!("{unknown}: {unknown}"))
        })?;
        let rows = provider.traits.iter().filter_map(|ix| capacity.traits().get(*ix));
        let modified = newest(rows.map(|named| named.changed_ms), snapshot.now_ms);
        let names = capacity.trait_names(provider);
        Ok(show(snapshot.at, names, Some(provider.generation)).modified(modified))
    })
}

pub(crate) async fn set(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let body = ask.body(forms::PUT_PROVIDER_TRAITS)?;
    let (provider, _) = face.provider(ask)?;
    let expect = Some(from_wire::generation(&body["resource_provider_generation"]));
    let names = body["traits"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut traits: Vec<Arc<str>> = names.map(Into::into).collect();
    let command =
        CapacityCommand::SetTraits(SetTraits { provider, expect, traits: traits.clone() });
    let (outcome, at) = face.submit(Command::Capacity(command), Doing::SetTraits).await?;
    let now = now(outcome)?;
    traits.sort_unstable();
    traits.dedup();
    Ok(show(at, &traits, Some(now.generation)).modified(now.changed_ms))
}

pub(crate) async fn clear(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let (provider, _) = face.provider(ask)?;
    let command =
        CapacityCommand::SetTraits(SetTraits { provider, expect: None, traits: Vec::new() });
    let (_, at) = face.submit(Command::Capacity(command), Doing::SetTraits).await?;
    Ok(Shown::nothing(at, StatusCode::NO_CONTENT))
}

fn show<'a>(
    at: CommitPoint,
    names: impl IntoIterator<Item = &'a Arc<str>>,
    generation: Option<u64>,
) -> Shown {
    let mut out = Out::with_room(1024);
    out.raw("{\"traits\":");
    out.list(ARRAY, names, |out, name| {
        out.text(name);
    });
    if let Some(generation) = generation {
        out.raw(",\"resource_provider_generation\":").number(generation);
    }
    out.raw("}");
    Shown::json(at, out)
}
