//! Latencies. Every one is stored, so percentiles are exact.

use std::time::Duration;

#[derive(Debug, Default)]
pub struct Latencies {
    nanos: Vec<u64>,
}

impl Latencies {
    pub fn add(&mut self, took: Duration) {
        self.nanos.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.nanos.len()
    }

    /// The latency that this percentage of the answers did not exceed; zero without answers.
    pub fn percentile(&self, percent: f64) -> Duration {
        let mut sorted = self.nanos.clone();
        sorted.sort_unstable();
        let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
        let found = sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0);
        Duration::from_nanos(found)
    }
}

/// The median, which ignores outliers.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => values[len / 2],
        len => (values[len / 2 - 1] + values[len / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let mut latencies = Latencies::default();
        (1..=1000).rev().for_each(|micros| latencies.add(Duration::from_micros(micros)));
        assert_eq!(latencies.percentile(50.0), Duration::from_micros(500));
        assert_eq!(latencies.percentile(99.0), Duration::from_micros(990));
        assert_eq!(latencies.percentile(100.0), Duration::from_micros(1000));
        assert_eq!(Latencies::default().percentile(99.0), Duration::ZERO);
    }

    #[test]
    fn the_median_ignores_an_outlier() {
        assert_eq!(median(vec![3.0, 900.0, 1.0]), 3.0);
        assert_eq!(median(vec![4.0, 2.0]), 3.0);
        assert!(median(Vec::new()).is_nan());
    }
}
