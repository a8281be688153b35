//! Resolves `type` statements: built-in types, typedefs, and restrictions.

use std::sync::Arc;

use super::YangError;
use super::compile::{Compiled, Compiler, EXPANSION_MAX, FileLine, StatementScope};
use super::pattern::Pattern;
use super::statement::Statement;
use super::types::{BaseType, LeafType, decimal, split_prefix};
use super::well_known::WellKnown;

/// A type, and the default of its typedef with the index of the file that has it.
type Typed = (LeafType, Option<(String, usize)>);

impl Compiler<'_> {
    pub(super) fn resolve_type(
        &self,
        scope: &StatementScope<'_>,
        statement: &Statement,
        depth: usize,
    ) -> Compiled<Typed> {
        if depth > EXPANSION_MAX {
            return self.fail(scope.at(statement), "types are nested too deeply");
        }
        let name = statement.argument.as_str();
        if let Some(base) = self.built_in(scope, statement, depth)? {
            let base = self.restrict(scope, statement, base)?;
            return Ok((LeafType { name: name.to_owned(), base }, None));
        }
        let (typedef, outer) = self.definition(scope, "typedef", statement)?;
        let Some(inner) = typedef.first("type") else {
            return self.fail(outer.at(typedef), "the typedef has no type");
        };
        let (ty, default) = self.resolve_type(&outer, inner, depth + 1)?;
        let default = typedef.text("default").map(|text| (text.to_owned(), outer.file)).or(default);
        let mut base = self.restrict(scope, statement, ty.base)?;
        let (_, plain) = split_prefix(name);
        if let BaseType::Text { known, patterns, .. } = &mut base {
            let module = self.module_name(self.files[outer.file].module);
            if let Some(found) = WellKnown::of(module, plain) {
                // It checks more than its patterns do.
                *known = Some(found);
                patterns.clear();
            }
        }
        Ok((LeafType { name: plain.to_owned(), base }, default))
    }

    fn built_in(
        &self,
        scope: &StatementScope<'_>,
        statement: &Statement,
        depth: usize,
    ) -> Compiled<Option<BaseType>> {
        let signed = |bits: u8| BaseType::Int {
            bits,
            ranges: vec![(i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))],
        };
        let unsigned =
            |bits: u8| BaseType::Uint { bits, ranges: vec![(0, u64::MAX >> (64 - bits))] };
        let names = |keyword| statement.all(keyword).map(|one| one.argument.clone()).collect();
        let required = |keyword: &str| match statement.first(keyword) {
            Some(inner) => Ok(inner),
            None => self.fail(scope.at(statement), format!("'{keyword}' is missing")),
        };
        let base = match statement.argument.as_str() {
            "int8" => signed(8),
            "int16" => signed(16),
            "int32" => signed(32),
            "int64" => signed(64),
            "uint8" => unsigned(8),
            "uint16" => unsigned(16),
            "uint32" => unsigned(32),
            "uint64" => unsigned(64),
            "decimal64" => {
                let digits = required("fraction-digits")?;
                match digits.argument.parse::<u8>() {
                    Ok(digits @ 1..=18) => {
                        BaseType::Decimal { digits, ranges: vec![(i64::MIN, i64::MAX)] }
                    }
                    _ => return self.fail(scope.at(digits), "fraction-digits must be 1 to 18"),
                }
            }
            "string" => {
                BaseType::Text { lengths: vec![(0, u64::MAX)], patterns: Vec::new(), known: None }
            }
            "boolean" => BaseType::Boolean,
            "empty" => BaseType::Empty,
            "enumeration" => BaseType::Enumeration(names("enum")),
            "bits" => BaseType::Bits(names("bit")),
            "binary" => BaseType::Binary { lengths: vec![(0, u64::MAX)] },
            "instance-identifier" => BaseType::InstanceIdentifier,
            "union" => BaseType::Union(
                statement
                    .all("type")
                    .map(|member| Ok(self.resolve_type(scope, member, depth + 1)?.0))
                    .collect::<Result<_, YangError>>()?,
            ),
            "identityref" => {
                let bases = self.bases(scope.file, statement)?;
                let mut unknown = bases.iter().filter(|base| !self.identities.contains_key(*base));
                if let Some(base) = unknown.next() {
                    return self.fail(scope.at(statement), format!("unknown identity '{base}'"));
                }
                let derived =
                    |name: &&String| bases.iter().all(|base| self.is_derived(name, base, 0));
                BaseType::Identity(self.identities.keys().filter(derived).cloned().collect())
            }
            "leafref" => {
                let path = required("path")?;
                let target = LeafType { name: "empty".to_owned(), base: BaseType::Empty };
                let path = self.module_path(scope.at(path), &path.argument)?;
                BaseType::Leafref { path, target: Box::new(target) }
            }
            _ => return Ok(None),
        };
        Ok(Some(base))
    }

    fn is_derived(&self, name: &str, base: &str, depth: usize) -> bool {
        let Some(bases) = self.identities.get(name) else { return false };
        depth < EXPANSION_MAX
            && bases.iter().any(|one| one == base || self.is_derived(one, base, depth + 1))
    }

    /// The path of a leafref with module names as prefixes, without predicates.
    fn module_path(&self, at: FileLine, path: &str) -> Compiled<String> {
        let mut plain = String::new();
        let mut depth = 0usize;
        for char in path.chars().filter(|char| !char.is_whitespace()) {
            match char {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ if depth == 0 => plain.push(char),
                _ => {}
            }
        }
        let segments = plain.split('/').map(|segment| match segment {
            "" | ".." | "." => Ok(segment.to_owned()),
            _ if segment.contains(':') => self.full_name(at, segment),
            _ => Ok(segment.to_owned()),
        });
        Ok(segments.collect::<Result<Vec<_>, _>>()?.join("/"))
    }

    /// Applies the restrictions of a statement: ranges, lengths and patterns can only become narrower.
    fn restrict(
        &self,
        scope: &StatementScope<'_>,
        statement: &Statement,
        mut base: BaseType,
    ) -> Compiled<BaseType> {
        for inner in &statement.inner {
            let argument = inner.argument.as_str();
            let good = match (inner.keyword.as_str(), &mut base) {
                ("range", BaseType::Int { ranges, .. }) => {
                    narrow(argument, ranges, |text| text.parse().ok())
                }
                ("range", BaseType::Uint { ranges, .. }) => {
                    narrow(argument, ranges, |text| text.parse().ok())
                }
                ("range", BaseType::Decimal { ranges, digits }) => {
                    let digits = *digits;
                    narrow(argument, ranges, |text| decimal(text, digits))
                }
                ("length", BaseType::Text { lengths, .. } | BaseType::Binary { lengths }) => {
                    narrow(argument, lengths, |text| text.parse().ok())
                }
                ("pattern", BaseType::Text { patterns, .. }) => {
                    let inverted = inner.text("modifier") == Some("invert-match");
                    match Pattern::compile(argument, inverted) {
                        Ok(pattern) => patterns.push(Arc::new(pattern)),
                        Err(why) => {
                            let message = format!("invalid pattern '{argument}': {why}");
                            return self.fail(scope.at(inner), message);
                        }
                    }
                    true
                }
                ("enum", BaseType::Enumeration(names)) | ("bit", BaseType::Bits(names)) => {
                    names.iter().any(|name| name == argument)
                }
                ("range" | "length" | "pattern" | "enum" | "bit", _) => false,
                _ => true,
            };
            if !good {
                let message = format!("invalid {} '{argument}' for this type", inner.keyword);
                return self.fail(scope.at(inner), message);
            }
        }
        // A derived enumeration lists the remaining values.
        if let BaseType::Enumeration(names) | BaseType::Bits(names) = &mut base {
            let left: Vec<&str> = statement
                .inner
                .iter()
                .filter(|inner| matches!(inner.keyword.as_str(), "enum" | "bit"))
                .map(|inner| inner.argument.as_str())
                .collect();
            names.retain(|name| left.is_empty() || left.contains(&name.as_str()));
            if names.is_empty() {
                return self.fail(scope.at(statement), "the type has no values");
            }
        }
        Ok(base)
    }
}

/// Parses `1..10 | 20 | 30..max`. Returns `false` if it is outside the present ranges or not in ascending order.
fn narrow<N: Copy + PartialOrd>(
    text: &str,
    spans: &mut Vec<(N, N)>,
    parse: impl Fn(&str) -> Option<N>,
) -> bool {
    let (Some((lowest, _)), Some((_, highest))) = (spans.first().copied(), spans.last().copied())
    else {
        return false;
    };
    let bound = |text: &str| match text.trim() {
        "min" => Some(lowest),
        "max" => Some(highest),
        number => parse(number),
    };
    let mut narrowed: Vec<(N, N)> = Vec::new();
    for part in text.split('|') {
        let (min, max) = part.split_once("..").unwrap_or((part, part));
        let (Some(min), Some(max)) = (bound(min), bound(max)) else { return false };
        let within = spans.iter().any(|(low, high)| *low <= min && max <= *high);
        let in_order = narrowed.last().is_none_or(|(_, last)| *last < min);
        if min > max || !within || !in_order {
            return false;
        }
        narrowed.push((min, max));
    }
    *spans = narrowed;
    true
}
