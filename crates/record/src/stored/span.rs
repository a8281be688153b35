//! Spans, and the values of a claim.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeSeq, Serializer};

use allod_core::claim::Values;
use allod_core::span::Span;

use super::form::StoredForm;

/// A span as its first value and the number of further values, which is one byte for a single value.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
#[serde(into = "(u128, u128)", try_from = "(u128, u128)")]
pub(crate) struct SpanV1(pub Span);

impl From<SpanV1> for (u128, u128) {
    fn from(SpanV1(span): SpanV1) -> (u128, u128) {
        (span.first, span.last - span.first)
    }
}

impl TryFrom<(u128, u128)> for SpanV1 {
    type Error = &'static str;

    fn try_from((first, more): (u128, u128)) -> Result<SpanV1, &'static str> {
        let last = first.checked_add(more).ok_or("the span ends beyond 2^128")?;
        Ok(SpanV1(Span { first, last }))
    }
}

impl StoredForm<'_, Span> for SpanV1 {
    fn store(span: &Span) -> SpanV1 {
        SpanV1(*span)
    }

    fn load(self) -> Span {
        self.0
    }
}

/// The values of a claim: a list of spans that is never empty.
#[derive(Debug, Clone)]
pub(crate) struct ValuesV1(pub Values);

impl StoredForm<'_, Values> for ValuesV1 {
    fn store(values: &Values) -> ValuesV1 {
        ValuesV1(values.clone())
    }

    fn load(self) -> Values {
        self.0
    }
}

impl Serialize for ValuesV1 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.spans().count()))?;
        self.0.spans().try_for_each(|span| list.serialize_element(&SpanV1(span)))?;
        list.end()
    }
}

impl<'de> Deserialize<'de> for ValuesV1 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ValuesV1, D::Error> {
        struct Spans;

        impl<'de> Visitor<'de> for Spans {
            type Value = Values;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("at least one span")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Values, A::Error> {
                let none = || A::Error::custom("a claim without values");
                let SpanV1(first) = seq.next_element()?.ok_or_else(none)?;
                let Some(SpanV1(second)) = seq.next_element()? else {
                    return Ok(Values::one(first));
                };
                let mut spans = vec![first, second];
                while let Some(SpanV1(span)) = seq.next_element()? {
                    spans.push(span);
                }
                if overlap(&spans) {
                    return Err(A::Error::custom("a claim with a value twice"));
                }
                Values::new(&spans).ok_or_else(none)
            }
        }

        deserializer.deserialize_seq(Spans).map(ValuesV1)
    }
}

/// Whether two of the spans have a value in common. No decision grants such a claim, and it cannot be applied.
fn overlap(spans: &[Span]) -> bool {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable_by_key(|span| span.first);
    sorted.windows(2).any(|pair| pair[0].last >= pair[1].first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_beyond_the_last_value_is_rejected() {
        let read = |first: u128, more: u128| {
            let bytes = postcard::to_allocvec(&(first, more)).unwrap();
            postcard::from_bytes::<SpanV1>(&bytes).map(|SpanV1(span)| (span.first, span.last))
        };
        assert_eq!(read(1, u128::MAX - 1), Ok((1, u128::MAX)));
        assert!(read(1, u128::MAX).is_err());
        assert!(read(u128::MAX, 1).is_err());
    }

    #[test]
    fn claim_without_values_is_rejected() {
        assert!(postcard::from_bytes::<ValuesV1>(&[0]).is_err());
        assert_eq!(postcard::from_bytes::<ValuesV1>(&[1, 7, 0]).unwrap().0.first(), Span::one(7));
    }

    #[test]
    fn claim_with_a_value_twice_is_rejected() {
        for (bytes, wanted) in [
            (&[2, 7, 1, 9, 0][..], Some(2)),
            (&[2, 9, 0, 7, 1], Some(2)),
            (&[2, 7, 1, 8, 0], None),
            (&[2, 8, 0, 7, 1], None),
            (&[3, 1, 0, 5, 0, 1, 0], None),
        ] {
            let read = postcard::from_bytes::<ValuesV1>(bytes).ok();
            assert_eq!(read.map(|ValuesV1(values)| values.spans().count()), wanted, "{bytes:?}");
        }
    }
}
