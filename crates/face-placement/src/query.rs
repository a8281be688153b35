//! Query strings: names and values, and the syntax of some values.
//!
//! - `groups`: the parameters of `GET /allocation_candidates`
//!
//! Whether a class, a trait or an aggregate exists is checked elsewhere.

pub(crate) mod groups;

use allod_core::capacity::Uuid;
use serde_json::{Map, Value};

use crate::error::{PlacementError, PlacementResult};
use crate::schema::{self, JsonSchema};
use crate::uuid;
use crate::versions::{Feature, Microversion};

/// Decoded names and values, in the order of the request.
#[derive(Debug)]
pub(crate) struct QueryString(Vec<(String, String)>);

/// Amounts by class.
pub(crate) type ResourceAmounts = Vec<(String, u64)>;

/// Requested traits: at least one of each required set, and none of the forbidden ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TraitParams {
    pub required: Vec<Vec<String>>,
    pub forbidden: Vec<String>,
}

/// Requested aggregates: at least one of each set, and none of the forbidden ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AggregateParams {
    pub any_of_each: Vec<Vec<Uuid>>,
    pub forbidden: Vec<Uuid>,
}

impl QueryString {
    pub(crate) fn read(text: &str) -> QueryString {
        QueryString(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// Validates the query against a schema. If a name occurs more than once, only its last value is checked.
    pub(crate) fn check(&self, schema: JsonSchema) -> PlacementResult<()> {
        let pairs = self.0.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
        let object = Value::Object(pairs.collect::<Map<String, Value>>());
        match schema::check(&object, schema) {
            None => Ok(()),
            Some(why) => {
                Err(PlacementError::bad_request(format!("Invalid query string parameters: {why}")))
            }
        }
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(crate) fn all(&self, name: &str) -> impl DoubleEndedIterator<Item = &str> {
        self.0.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn last(&self, name: &str) -> Option<&str> {
        self.all(name).next_back()
    }

    /// The traits in the parameter of this name.
    pub(crate) fn traits(&self, name: &str, version: Microversion) -> PlacementResult<TraitParams> {
        let mut traits = TraitParams::default();
        // Before 1.39 only the last value counted.
        let skip = match version.has(Feature::AnyTraits) {
            true => 0,
            false => self.all(name).count().saturating_sub(1),
        };
        for value in self.all(name).skip(skip) {
            let read = read_traits(value, version)?;
            traits.required.extend(read.required);
            traits.forbidden.extend(read.forbidden);
        }
        Ok(traits)
    }

    /// The aggregates of the group with this suffix.
    pub(crate) fn member_of(
        &self,
        suffix: &str,
        version: Microversion,
    ) -> PlacementResult<AggregateParams> {
        let name = format!("member_of{suffix}");
        if !version.has(Feature::SeveralMemberOf) && self.all(&name).count() > 1 {
            return Err(PlacementError::bad_request(format!(
                "Multiple member_of{suffix} parameters are not supported"
            )));
        }
        let mut aggregates = AggregateParams::default();
        for value in self.all(&name) {
            match read_member_of(value)? {
                (uuids, false) => aggregates.any_of_each.push(uuids),
                (_, true) if !version.has(Feature::ForbiddenAggregates) => {
                    return Err(PlacementError::bad_request(format!(
                        "Forbidden member_of{suffix} parameters are not supported in the specified microversion"
                    )));
                }
                (uuids, true) => aggregates.forbidden.extend(uuids),
            }
        }
        Ok(aggregates)
    }
}

/// `VCPU:2,MEMORY_MB:1024`. If a class occurs twice, the last amount counts.
pub(crate) fn read_resources(text: &str) -> PlacementResult<ResourceAmounts> {
    let badly_formed = |got: &str| {
        PlacementError::bad_request(format!(
            "Badly formed resources parameter. Expected resources query string parameter in form: ?resources=VCPU:2,MEMORY_MB:1024. Got: {got}."
        ))
    };
    if text.trim().is_empty() {
        return Err(badly_formed("empty string"));
    }
    let mut amounts = ResourceAmounts::new();
    for part in text.split(',') {
        let (class, amount) = match part.split_once(':') {
            Some((class, amount)) if !amount.contains(':') => (class, amount),
            _ => return Err(badly_formed(part)),
        };
        let number = read_amount(amount).ok_or_else(|| {
            PlacementError::bad_request(format!(
                "Requested resource {class} expected positive integer amount. Got: {amount}."
            ))
        })?;
        let number = u64::try_from(number).ok().filter(|number| *number > 0).ok_or_else(|| {
            PlacementError::bad_request(format!(
                "Requested resource {class} requires amount >= 1. Got: {number}."
            ))
        })?;
        match amounts.iter_mut().find(|(known, _)| known == class) {
            Some((_, amount)) => *amount = number,
            None => amounts.push((class.to_owned(), number)),
        }
    }
    Ok(amounts)
}

/// An integer, clamped to 64 bits.
fn read_amount(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let too_large = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    Some(text.parse().unwrap_or(too_large))
}

/// `A,!B`, or `in:A,B`.
pub(crate) fn read_traits(text: &str, version: Microversion) -> PlacementResult<TraitParams> {
    let wrong = |what: String| {
        PlacementError::bad_request(format!("Invalid query string parameters: {what}"))
    };
    if let Some(list) = text.strip_prefix("in:") {
        const FORM: &str = "in:HW_CPU_X86_VMX,CUSTOM_MAGIC";
        if !version.has(Feature::AnyTraits) {
            return Err(wrong(format!(
                "The format '{FORM}' only supported since microversion 1.39. Got: {text}"
            )));
        }
        let any = names(list);
        if any.iter().any(String::is_empty) {
            return Err(wrong(format!(
                "Expected 'required' parameter value of the form: {FORM}. Got an empty trait in: {text}"
            )));
        }
        if any.iter().any(|name| name.starts_with('!')) {
            return Err(wrong(format!(
                "The format '{FORM}' does not support forbidden traits. Got: {text}"
            )));
        }
        return Ok(TraitParams { required: vec![any], forbidden: Vec::new() });
    }
    let forbidding = version.has(Feature::ForbiddenTraits);
    let mut traits = TraitParams::default();
    for name in names(text) {
        // Several marks count as one.
        let (bare, is_forbidden) = match name.strip_prefix('!') {
            Some(rest) => (rest.trim_start_matches('!').to_owned(), true),
            None => (name, false),
        };
        if bare.is_empty() {
            let mark = if forbidding { "!" } else { "" };
            return Err(wrong(format!(
                "Expected 'required' parameter value of the form: HW_CPU_X86_VMX,{mark}CUSTOM_MAGIC. Got an empty trait in: {text}"
            )));
        }
        match is_forbidden {
            true => traits.forbidden.push(bare),
            false => traits.required.push(vec![bare]),
        }
    }
    if !traits.forbidden.is_empty() && !forbidding {
        return Err(wrong(format!(
            "Expected 'required' parameter value of the form: HW_CPU_X86_VMX,CUSTOM_MAGIC. Got: {text}"
        )));
    }
    Ok(traits)
}

fn names(list: &str) -> Vec<String> {
    list.split(',').map(|name| name.trim().to_owned()).collect()
}

/// A UUID, or `in:` and several; `!` before it forbids them.
fn read_member_of(text: &str) -> PlacementResult<(Vec<Uuid>, bool)> {
    let (rest, forbidden) = match text.strip_prefix('!') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let (list, several) = match rest.strip_prefix("in:") {
        Some(list) => (list, true),
        None => (rest, false),
    };
    if !several && text.contains(',') {
        return Err(PlacementError::bad_request(format!(
            "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid microversion. Got: {text}"
        )));
    }
    let read = |one: &str| {
        uuid::read(one).ok_or_else(|| {
            PlacementError::bad_request(format!(
                "Invalid query string parameters: Expected 'member_of' parameter to contain valid UUID(s). Got: {one}"
            ))
        })
    };
    let uuids: PlacementResult<Vec<Uuid>> = match several {
        true => list.split(',').map(read).collect(),
        false => read(list).map(|uuid| vec![uuid]),
    };
    Ok((uuids?, forbidden))
}

/// The UUID of any provider of a tree.
pub(crate) fn read_in_tree(text: &str) -> PlacementResult<Uuid> {
    uuid::read(text.trim()).ok_or_else(|| {
        PlacementError::bad_request(format!(
            "Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got: {text}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "7a3f0a5e-0000-4000-8000-00000000000a";
    const B: &str = "7a3f0a5e-0000-4000-8000-00000000000b";

    #[test]
    fn resources_are_parsed() {
        for (text, wanted) in [
            ("VCPU:2,MEMORY_MB:1024", Ok("VCPU=2 MEMORY_MB=1024")),
            ("VCPU:2,DISK_GB: +3 ,VCPU:4", Ok("VCPU=4 DISK_GB=3")),
            ("", Err("Got: empty string.")),
            ("  ", Err("Got: empty string.")),
            ("VCPU", Err("Got: VCPU.")),
            ("VCPU:1:2", Err("Got: VCPU:1:2.")),
            ("VCPU:1,", Err("Got: .")),
            ("VCPU:fred", Err("expected positive integer amount. Got: fred.")),
            ("VCPU:", Err("expected positive integer amount. Got: .")),
            ("VCPU:0", Err("Requested resource VCPU requires amount >= 1. Got: 0.")),
            ("VCPU:-2", Err("Got: -2.")),
            ("VCPU:99999999999999999999", Ok("VCPU=9223372036854775807")),
        ] {
            let read = read_resources(text).map(|amounts| {
                let shown = amounts.iter().map(|(class, amount)| format!("{class}={amount}"));
                shown.collect::<Vec<_>>().join(" ")
            });
            match (read, wanted) {
                (Ok(read), Ok(wanted)) => assert_eq!(read, wanted),
                (Err(error), Err(words)) => assert!(error.message.contains(words), "{error:?}"),
                (read, wanted) => panic!("{text}: {read:?} {wanted:?}"),
            }
        }
    }

    #[test]
    fn traits_are_parsed_by_version() {
        let version = |minor| Microversion::tested(minor);
        let set = |names: &[&[&str]], forbidden: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
            Ok(TraitParams {
                required: names.iter().map(|names| owned(names)).collect(),
                forbidden: owned(forbidden),
            })
        };
        for (text, minor, wanted) in [
            ("A, B", 17, set(&[&["A"], &["B"]], &[])),
            ("A,!B", 22, set(&[&["A"]], &["B"])),
            ("!!!A", 22, set(&[], &["A"])),
            ("in:A,B", 39, set(&[&["A", "B"]], &[])),
            ("A,!B", 21, Err("of the form: HW_CPU_X86_VMX,CUSTOM_MAGIC. Got: A,!B")),
            (
                "A,,B",
                21,
                Err("of the form: HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: A,,B"),
            ),
            ("", 22, Err("of the form: HW_CPU_X86_VMX,!CUSTOM_MAGIC. Got an empty trait in: ")),
            ("A,!", 22, Err("Got an empty trait in: A,!")),
            ("in:A", 38, Err("only supported since microversion 1.39. Got: in:A")),
            ("in:A,", 39, Err("Got an empty trait in: in:A,")),
            ("in:A,!B", 39, Err("does not support forbidden traits. Got: in:A,!B")),
        ] {
            match (read_traits(text, version(minor)), wanted) {
                (Ok(read), Ok(wanted)) => assert_eq!(read, wanted, "{text}"),
                (Err(error), Err(words)) => {
                    assert!(error.message.starts_with("Invalid query string parameters: "));
                    assert!(error.message.contains(words), "{error:?}");
                }
                (read, wanted) => panic!("{text}: {read:?} {wanted:?}"),
            }
        }
        let query = QueryString::read("required=A&required=B&name=x");
        assert_eq!(
            query.traits("required", version(38)),
            set(&[&["B"]], &[]).map_err(|_: &str| unreachable!())
        );
        assert_eq!(query.traits("required", version(39)).unwrap().required.len(), 2);
    }

    #[test]
    fn aggregates_are_parsed_by_version() {
        for (text, minor, any, forbidden, words) in [
            (format!("member_of={A}"), 3, 1, 0, ""),
            (format!("member_of=in:{A},{B}"), 3, 1, 0, ""),
            (format!("member_of={A}&member_of={B}"), 24, 2, 0, ""),
            (
                format!("member_of={A}&member_of={B}"),
                23,
                0,
                0,
                "Multiple member_of parameters are not supported",
            ),
            (format!("member_of=!{A}&member_of=!in:{A},{B}"), 32, 0, 3, ""),
            (
                format!("member_of=!{A}"),
                31,
                0,
                0,
                "Forbidden member_of parameters are not supported in the specified microversion",
            ),
            (
                format!("member_of={A},{B}"),
                32,
                0,
                0,
                "must be prefixed with the 'in:' or '!in:' keyword",
            ),
            (format!("member_of=in:{A},!{B}"), 32, 0, 0, "to contain valid UUID(s). Got: !7a3f"),
            (
                "member_of=x".to_owned(),
                3,
                0,
                0,
                "Expected 'member_of' parameter to contain valid UUID(s). Got: x",
            ),
        ] {
            match QueryString::read(&text).member_of("", Microversion::tested(minor)) {
                Ok(read) => {
                    assert_eq!(words, "", "{text}");
                    assert_eq!((read.any_of_each.len(), read.forbidden.len()), (any, forbidden));
                }
                Err(error) => {
                    assert!(!words.is_empty() && error.message.contains(words), "{error:?}")
                }
            }
        }
    }

    #[test]
    fn only_the_last_of_several_values_is_validated() {
        let schema = schema::schemas::list_providers(Microversion::MIN);
        assert_eq!(QueryString::read("name=a&name=b").check(schema), Ok(()));
        assert_eq!(QueryString::read("name=a&name=b").last("name"), Some("b"));
        let error = QueryString::read("uuid=x&nam=y").check(schema).unwrap_err();
        let words = "Invalid query string parameters: Additional properties are not allowed ('nam' was unexpected)";
        assert!(error.message.starts_with(words), "{error:?}");
    }
}
