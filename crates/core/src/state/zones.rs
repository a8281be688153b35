//! The zone of each value of a pool, from the pool's configuration.

use crate::pool::PoolSpec;
use crate::span::{self, Span};

/// What a claim may do with a value, from the least to the most restrictive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    Automatic,
    Manual,
    Draining,
    Excluded,
    Outside,
}

pub(crate) const ZONES: usize = 5;

impl Zone {
    /// The zones within the pool's ranges.
    pub(crate) const INSIDE: [Zone; 4] =
        [Zone::Automatic, Zone::Manual, Zone::Draining, Zone::Excluded];
}

/// Sorted, disjoint spans for each zone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Zones {
    pub members: Vec<Span>,
    pub automatic: Vec<Span>,
    pub manual: Vec<Span>,
    pub draining: Vec<Span>,
    pub excluded: Vec<Span>,
    /// The number of values in all ranges.
    pub size: u128,
    sizes: [u128; ZONES],
}

impl Zones {
    pub fn of(spec: &PoolSpec) -> Zones {
        let members = spec.members();
        let excluded = span::intersect(&members, &spec.excluded());
        let given = span::subtract(&members, &excluded);
        let draining = span::intersect(&given, &span::normalise(spec.draining.clone()));
        let by_value = span::subtract(&given, &draining);
        let manual = span::intersect(&by_value, &span::normalise(spec.manual.clone()));
        let automatic = span::subtract(&by_value, &manual);
        let size = span::total(&members);
        let mut zones =
            Zones { members, automatic, manual, draining, excluded, size, sizes: [0; ZONES] };
        for zone in Zone::INSIDE {
            zones.sizes[zone as usize] = span::total(zones.spans(zone));
        }
        zones
    }

    /// The most restrictive zone that the span overlaps.
    pub fn worst(&self, span: Span) -> Zone {
        if covered(&self.automatic, span) {
            return Zone::Automatic;
        }
        if !covered(&self.members, span) {
            return Zone::Outside;
        }
        let zones = [Zone::Excluded, Zone::Draining, Zone::Manual];
        let touched = |zone: &Zone| overlapping(self.spans(*zone), span).next().is_some();
        zones.into_iter().find(touched).unwrap_or(Zone::Automatic)
    }

    /// The number of values of the span in each zone, modulo 2^128: only the whole number line in one zone wraps, to 0.
    pub fn split(&self, span: Span) -> [u128; ZONES] {
        let size = |span: Span| (span.last - span.first).wrapping_add(1);
        let mut parts = [0; ZONES];
        if covered(&self.automatic, span) {
            parts[Zone::Automatic as usize] = size(span);
            return parts;
        }
        let mut outside = size(span);
        for zone in Zone::INSIDE {
            let within = overlapping(self.spans(zone), span).map(size);
            let within = within.fold(0, |sum: u128, part| sum.wrapping_add(part));
            parts[zone as usize] = within;
            outside = outside.wrapping_sub(within);
        }
        parts[Zone::Outside as usize] = outside;
        parts
    }

    /// Turns a sum of [`Zones::split`] counts into a saturating count. `any`: whether the sum has any part at all.
    pub fn shown(&self, zone: Zone, sum: u128, any: bool) -> u128 {
        let line = [Span { first: 0, last: u128::MAX }];
        if sum == 0 && any && self.spans(zone) == line { u128::MAX } else { sum }
    }

    /// The number of values of a zone.
    pub fn size_of(&self, zone: Zone) -> u128 {
        self.sizes[zone as usize]
    }

    fn spans(&self, zone: Zone) -> &[Span] {
        match zone {
            Zone::Automatic => &self.automatic,
            Zone::Manual => &self.manual,
            Zone::Draining => &self.draining,
            Zone::Excluded => &self.excluded,
            Zone::Outside => &[],
        }
    }

    /// The values that have another zone in `other`.
    pub fn changed(&self, other: &Zones) -> Vec<Span> {
        let pairs = [
            (&self.members, &other.members),
            (&self.automatic, &other.automatic),
            (&self.manual, &other.manual),
            (&self.draining, &other.draining),
            (&self.excluded, &other.excluded),
        ];
        let both_ways =
            pairs.into_iter().flat_map(|(a, b)| [span::subtract(a, b), span::subtract(b, a)]);
        span::normalise(both_ways.flatten().collect())
    }
}

/// Whether one of the sorted spans covers this one.
fn covered(spans: &[Span], span: Span) -> bool {
    let after = spans.partition_point(|zone| zone.first <= span.first);
    after > 0 && spans[after - 1].last >= span.last
}

/// The parts of `span` that are in the sorted, disjoint `spans`.
pub(crate) fn overlapping(spans: &[Span], span: Span) -> impl Iterator<Item = Span> + '_ {
    let from = spans.partition_point(|zone| zone.last < span.first);
    spans[from..].iter().map_while(move |zone| zone.intersection(span))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::PoolRange;
    use crate::value::Kind;

    fn zones(
        kind: Kind,
        ranges: &[&str],
        exclude: &[&str],
        manual: &[&str],
        draining: &[&str],
    ) -> Zones {
        let read = |text: &&str| kind.parse_range(text).unwrap();
        let ranges = ranges
            .iter()
            .map(read)
            .map(|(span, subnet_len)| PoolRange { span, subnet_len })
            .collect();
        let spans = |list: &[&str]| list.iter().map(|text| read(text).0).collect();
        let spec = PoolSpec {
            exclude: spans(exclude),
            manual: spans(manual),
            draining: spans(draining),
            ..PoolSpec::new(kind, ranges)
        };
        Zones::of(&spec)
    }

    #[test]
    fn exclusion_beats_draining_beats_manual() {
        let zones = zones(
            Kind::Id32,
            &["0-99"],
            &["8-30", "20-40"],
            &["0-19", "60-69"],
            &["35-49", "65-80"],
        );
        let zone = |value| zones.worst(Span::one(value));
        assert_eq!(zone(0), Zone::Manual);
        assert_eq!(zone(19), Zone::Excluded);
        assert_eq!(zone(40), Zone::Excluded);
        assert_eq!(zone(41), Zone::Draining);
        assert_eq!(zone(50), Zone::Automatic);
        assert_eq!(zone(64), Zone::Manual);
        assert_eq!(zone(65), Zone::Draining);
        assert_eq!(zone(100), Zone::Outside);
        assert_eq!(zones.worst(Span { first: 50, last: 60 }), Zone::Manual);
        assert_eq!(zones.split(Span { first: 0, last: 109 }), [29, 13, 25, 33, 10]);
    }

    #[test]
    fn edges_of_address_subnets_are_excluded() {
        let free =
            |kind, ranges: &[&str]| span::total(&zones(kind, ranges, &[], &[], &[]).automatic);
        assert_eq!(free(Kind::Address4, &["10.0.0.0/24"]), 254);
        assert_eq!(free(Kind::Address4, &["10.0.0.0/30"]), 2);
        assert_eq!(free(Kind::Address4, &["10.0.0.0/31"]), 2);
        assert_eq!(free(Kind::Address4, &["10.0.0.0/32"]), 1);
        assert_eq!(free(Kind::Address4, &["10.0.0.0-10.0.0.255"]), 256);
        assert_eq!(free(Kind::Address4, &["0.0.0.0/0"]), (1 << 32) - 2);
        assert_eq!(free(Kind::Address6, &["2001:db8::/126"]), 2);
        assert_eq!(free(Kind::Address6, &["2001:db8::/127"]), 2);
        assert_eq!(free(Kind::Prefix4, &["10.0.0.0/24"]), 256);
        assert_eq!(free(Kind::Address6, &["::/0"]), u128::MAX - 1);
    }
}
