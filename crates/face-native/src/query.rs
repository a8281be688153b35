//! The query part of a request: known names, each at most once, of the right type.

use std::borrow::Cow;

use allod_core::capacity::Uuid;
use allod_core::view::NoCursor;
use allod_edge::{Call, Problem};

/// A name that a route takes in its query, and what it does there.
#[derive(Debug)]
pub(crate) struct Param {
    pub name: &'static str,
    pub about: &'static str,
}

pub(crate) const LIMIT: Param =
    Param { name: "limit", about: "How many at most, 1 to 1000; 100 unless said otherwise." };
pub(crate) const AFTER: Param =
    Param { name: "after", about: "Go on after here: the `next` of the page before." };

const LIMIT_MAX: usize = 1000;
const LIMIT_USUAL: usize = 100;

/// The query of a request, with only names that the route knows.
#[derive(Debug)]
pub(crate) struct QueryParams<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> QueryParams<'a> {
    pub(crate) fn read(call: &'a Call, known: &[Param]) -> Result<QueryParams<'a>, Problem> {
        QueryParams::read_repeated(call, known, &[])
    }

    /// With names that may be there more than once.
    pub(crate) fn read_repeated(
        call: &'a Call,
        known: &[Param],
        repeated: &[&str],
    ) -> Result<QueryParams<'a>, Problem> {
        if call.head.uri.query().is_none() {
            return Ok(QueryParams(Vec::new()));
        }
        let mut all: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::new();
        for (name, value) in call.query() {
            let name = current_name(name, known);
            if !known.iter().any(|param| param.name == name) {
                return Err(Problem::malformed(unknown(&name, known)));
            }
            if !repeated.contains(&&*name) && all.iter().any(|(seen, _)| *seen == name) {
                return Err(Problem::malformed(format!("'{name}' is in the query more than once")));
            }
            all.push((name, value));
        }
        Ok(QueryParams(all))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_ref())
    }

    /// Every value of a name that may be repeated.
    pub(crate) fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_ref())
    }

    pub(crate) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Problem> {
        match self.text(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => {
                Err(Problem::malformed(format!("{name} is '{other}'; true or false is expected")))
            }
        }
    }

    /// A provider, a consumer or an aggregate.
    pub(crate) fn uuid(&self, name: &str) -> Result<Option<Uuid>, Problem> {
        self.text(name).map(|text| uuid(name, text)).transpose()
    }

    pub(crate) fn uuids(&self, name: &str) -> Result<Vec<Uuid>, Problem> {
        self.texts(name).map(|text| uuid(name, text)).collect()
    }

    pub(crate) fn limit(&self) -> Result<usize, Problem> {
        self.limit_upto(LIMIT_MAX)
    }

    /// Where more than usual may be asked for.
    pub(crate) fn limit_upto(&self, max: usize) -> Result<usize, Problem> {
        match self.text(LIMIT.name).map(|text| (text, text.parse())) {
            None => Ok(LIMIT_USUAL),
            Some((_, Ok(limit))) if (1..=max).contains(&limit) => Ok(limit),
            Some((text, _)) => {
                Err(Problem::malformed(format!("limit is '{text}'; 1 to {max} is expected")))
            }
        }
    }

    /// The list does not know the place that `after` names; to begin anew unasked would show things twice.
    pub(crate) fn no_cursor(&self, _: NoCursor) -> Problem {
        let after = self.text(AFTER.name).unwrap_or_default();
        Problem::malformed(format!(
            "after is '{after}'; the next of a page of this list is expected, or nothing to begin anew"
        ))
    }

    /// The same query with another `after`, for the next page.
    pub(crate) fn with_after(&self, after: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.0.iter().filter(|(name, _)| name != AFTER.name));
        query.append_pair(AFTER.name, after);
        query.finish()
    }
}

/// The uuid that was given under this name.
pub(crate) fn uuid(name: &str, text: &str) -> Result<Uuid, Problem> {
    text.parse().map_err(|_| {
        let shown: String = text.chars().take(64).collect();
        Problem::malformed(format!(
            "{name} is '{shown}'; a uuid such as 4e8e5957-649f-477b-9e5b-f1f75b21c03c is expected"
        ))
    })
}

/// Former names of parameters, still accepted and not documented.
const FORMER_NAMES: &[(&str, &str)] = &[("within", "overlaps")];

fn current_name<'a>(name: Cow<'a, str>, known: &[Param]) -> Cow<'a, str> {
    let renamed = FORMER_NAMES.iter().find(|(former, current)| {
        *former == name && known.iter().any(|param| param.name == *current)
    });
    renamed.map_or(name, |(_, current)| Cow::Borrowed(current))
}

fn unknown(name: &str, known: &[Param]) -> String {
    if known.is_empty() {
        return format!("'{name}' is in the query, and this route takes none");
    }
    let names: Vec<&str> = known.iter().map(|param| param.name).collect();
    let are = if known.len() == 1 { "is" } else { "are" };
    format!("'{name}' in the query is unknown; {} {are} known", names.join(", "))
}
