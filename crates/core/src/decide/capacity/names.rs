//! Creates, renames and deletes custom resource classes and traits.

use std::sync::Arc;

use crate::capacity::standard::CUSTOM;
use crate::command::capacity::{CreateClass, RenameClass};
use crate::decide::{Draft, valid};
use crate::event::capacity::{ClassDefined, ClassRemoved, TraitDefined, TraitRemoved};
use crate::limits::at_most;
use crate::receipt::Outcome;
use crate::refusal::{CapacityRefusal, Refusal};
use crate::state::capacity::names::{NameIx, NameTable};

pub(super) fn create_class(
    draft: &mut Draft<'_>,
    create: &CreateClass,
) -> Result<Outcome, Refusal> {
    let class = create.name.clone();
    let classes = &draft.state.capacity.classes;
    if let Some(changed_ms) = there(classes, &class) {
        return if create.ensure {
            Ok(Outcome::Named { created: false, changed_ms })
        } else {
            Err(CapacityRefusal::ClassExists { class }.into())
        };
    }
    custom(&class, "resource class", draft)?;
    let many = classes.custom().count() as u64 + 1;
    at_most("custom_classes_max", draft.limits.custom_classes_max, many)?;
    define_class(draft, class, None)
}

pub(super) fn rename_class(
    draft: &mut Draft<'_>,
    rename: &RenameClass,
) -> Result<Outcome, Refusal> {
    let (from, to) = (rename.from.clone(), rename.to.clone());
    let ix = custom_class(draft, &from)?;
    if from == to {
        let changed_ms = draft.state.capacity.classes.get(ix).map_or(0, |named| named.changed_ms);
        return Ok(Outcome::Named { created: false, changed_ms });
    }
    custom(&to, "resource class", draft)?;
    if draft.state.capacity.classes.find(&to).is_some() {
        return Err(CapacityRefusal::ClassExists { class: to }.into());
    }
    define_class(draft, to, Some(from))
}

fn define_class(
    draft: &mut Draft<'_>,
    class: Arc<str>,
    was: Option<Arc<str>>,
) -> Result<Outcome, Refusal> {
    let at_ms = draft.now_ms;
    draft.record(ClassDefined { class, was, at_ms });
    Ok(Outcome::Named { created: true, changed_ms: at_ms })
}

pub(super) fn delete_class(draft: &mut Draft<'_>, class: &Arc<str>) -> Result<Outcome, Refusal> {
    let ix = custom_class(draft, class)?;
    let providers = draft.state.capacity.column(ix).map_or(0, |column| column.have.len()) as u64;
    let class = class.clone();
    if providers > 0 {
        return Err(CapacityRefusal::ClassInUse { class, providers }.into());
    }
    draft.record(ClassRemoved { class });
    Ok(Outcome::Unnamed)
}

pub(super) fn create_trait(draft: &mut Draft<'_>, name: &Arc<str>) -> Result<Outcome, Refusal> {
    let traits = &draft.state.capacity.traits;
    if let Some(changed_ms) = there(traits, name) {
        return Ok(Outcome::Named { created: false, changed_ms });
    }
    custom(name, "trait", draft)?;
    let many = traits.custom().count() as u64 + 1;
    at_most("custom_traits_max", draft.limits.custom_traits_max, many)?;
    let at_ms = draft.now_ms;
    draft.record(TraitDefined { name: name.clone(), at_ms });
    Ok(Outcome::Named { created: true, changed_ms: at_ms })
}

pub(super) fn delete_trait(draft: &mut Draft<'_>, name: &Arc<str>) -> Result<Outcome, Refusal> {
    let capacity = &draft.state.capacity;
    let name = name.clone();
    let Some(ix) = capacity.traits.find(&name) else {
        return Err(CapacityRefusal::TraitUnknown { traits: vec![name] }.into());
    };
    if capacity.traits.is_standard(ix) {
        return Err(CapacityRefusal::TraitStandard { name }.into());
    }
    let providers = capacity.with_trait(ix).len() as u64;
    if providers > 0 {
        return Err(CapacityRefusal::TraitInUse { name, providers }.into());
    }
    draft.record(TraitRemoved { name });
    Ok(Outcome::Unnamed)
}

/// When the name was created, if it exists.
fn there(names: &NameTable, name: &str) -> Option<u64> {
    Some(names.get(names.find(name)?)?.changed_ms)
}

/// The index of a custom class; refuses standard and unknown ones.
fn custom_class(draft: &Draft<'_>, class: &Arc<str>) -> Result<NameIx, Refusal> {
    let classes = &draft.state.capacity.classes;
    match classes.find(class) {
        None => Err(CapacityRefusal::ClassUnknown { class: class.clone() }.into()),
        Some(ix) if classes.is_standard(ix) => {
            Err(CapacityRefusal::ClassStandard { class: class.clone() }.into())
        }
        Some(ix) => Ok(ix),
    }
}

/// Checks that a custom class or trait may have this name.
fn custom(name: &str, what: &str, draft: &Draft<'_>) -> Result<(), Refusal> {
    at_most("custom_name_bytes_max", draft.limits.custom_name_bytes_max, name.len() as u64)?;
    let letters = |rest: &str| {
        !rest.is_empty()
            && rest.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    if name.strip_prefix(CUSTOM).is_some_and(letters) {
        return Ok(());
    }
    valid::invalid(
        format!("'{name}' is not a valid name for a {what}"),
        "use CUSTOM_ followed by capital letters, digits and underscores",
    )
}
