//! Query parameters: only documented names, each at most once unless it may be repeated.

use std::borrow::Cow;

use allod_core::capacity::Uuid;
use allod_core::view::Page;
use allod_edge::{Call, Problem};

/// A query parameter with its documentation.
#[derive(Debug)]
pub(crate) struct Param {
    pub name: &'static str,
    pub about: &'static str,
}

pub(crate) const LIMIT: Param =
    Param { name: "limit", about: "The size of a page, 1 to 1000. Default: 100." };
pub(crate) const AFTER: Param = Param { name: "after", about: "The `next` of the previous page." };

const LIMIT_MAX: usize = 1000;
const LIMIT_DEFAULT: usize = 100;

/// How many items of most lists are examined for one page.
pub(crate) const EXAMINED_MAX: usize = 10_000;

/// The query parameters of a request, all of them known to the route.
#[derive(Debug)]
pub(crate) struct QueryParams<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> QueryParams<'a> {
    pub(crate) fn read(call: &'a Call, known: &[Param]) -> Result<QueryParams<'a>, Problem> {
        QueryParams::read_repeated(call, known, &[])
    }

    /// As `read`; the parameters in `repeated` may occur more than once.
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
                return Err(Problem::malformed(format!("query parameter '{name}' is repeated")));
            }
            all.push((name, value));
        }
        Ok(QueryParams(all))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_ref())
    }

    /// All values of a parameter that may be repeated.
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
                Err(Problem::malformed(format!("{name} is '{other}'; expected true or false")))
            }
        }
    }

    /// The uuid of a provider, a consumer or an aggregate.
    pub(crate) fn uuid(&self, name: &str) -> Result<Option<Uuid>, Problem> {
        self.text(name).map(|text| uuid(name, text)).transpose()
    }

    pub(crate) fn uuids(&self, name: &str) -> Result<Vec<Uuid>, Problem> {
        self.texts(name).map(|text| uuid(name, text)).collect()
    }

    pub(crate) fn limit(&self) -> Result<usize, Problem> {
        self.limit_upto(LIMIT_MAX)
    }

    /// The page size, with another maximum.
    pub(crate) fn limit_upto(&self, max: usize) -> Result<usize, Problem> {
        match self.text(LIMIT.name).map(|text| (text, text.parse())) {
            None => Ok(LIMIT_DEFAULT),
            Some((_, Ok(limit))) if (1..=max).contains(&limit) => Ok(limit),
            Some((text, _)) => {
                Err(Problem::malformed(format!("limit is '{text}'; expected 1 to {max}")))
            }
        }
    }

    /// The cursor in `after`.
    pub(crate) fn after<T>(
        &self,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let after = self.text(AFTER.name);
        after.map(|text| read(text).ok_or_else(|| self.no_cursor())).transpose()
    }

    /// `after` is not a cursor of this list. Starting from the beginning instead would list items twice.
    pub(crate) fn no_cursor(&self) -> Problem {
        let after = self.text(AFTER.name).unwrap_or_default();
        Problem::malformed(format!(
            "after is '{after}'; expected the next of a page of this list; omit it to start from the beginning"
        ))
    }

    /// The query string of the next page.
    pub(crate) fn with_after(&self, after: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.0.iter().filter(|(name, _)| name != AFTER.name));
        query.append_pair(AFTER.name, after);
        query.finish()
    }
}

/// Reads a uuid; `name` is the parameter for the error.
pub(crate) fn uuid(name: &str, text: &str) -> Result<Uuid, Problem> {
    let expected = "a uuid such as 4e8e5957-649f-477b-9e5b-f1f75b21c03c";
    text.parse().map_err(|_| unexpected(name, text, expected))
}

/// The problem of a parameter that is not as expected. A long text is cut.
pub(crate) fn unexpected(name: &str, text: &str, expected: &str) -> Problem {
    let shown: String = text.chars().take(64).collect();
    Problem::malformed(format!("{name} is '{shown}'; expected {expected}"))
}

/// A page of the items that `pick` takes, in their order. At most `examined_max` are examined, so that a filter that
/// matches nothing does not examine all of them. `cursor` names the last one that was examined.
pub(crate) fn page<T: Copy, U>(
    all: impl Iterator<Item = T>,
    limit: usize,
    examined_max: usize,
    pick: impl Fn(T) -> Option<U>,
    cursor: impl Fn(T) -> String,
) -> Page<U> {
    let mut items = Vec::new();
    let mut last = None;
    for (examined, item) in all.enumerate() {
        if items.len() >= limit || examined == examined_max {
            return Page { items, next: last.map(cursor) };
        }
        last = Some(item);
        items.extend(pick(item));
    }
    Page { items, next: None }
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
        return format!("unknown query parameter '{name}'; this route has none");
    }
    let names: Vec<&str> = known.iter().map(|param| param.name).collect();
    format!("unknown query parameter '{name}'; expected one of: {}", names.join(", "))
}
