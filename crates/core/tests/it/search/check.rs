//! Check functions: a cloud and a request in, the candidates as text out.

use std::fmt::Write;

use allod_core::search::{
    Candidate, CandidateQuery, Candidates, SearchLimits, candidates, summaries,
};

use crate::search::cloud::Cloud;
use crate::search::query::query;

/// Searches and compares the sorted candidates with these lines. A line lists providers and amounts and, if there are
/// suffixed groups, the providers of each group.
#[track_caller]
pub fn check(cloud: &str, request: &str, expected: &[&str]) {
    let mut cloud = Cloud::new(cloud);
    let query = query(&mut cloud, request);
    let found = candidates(cloud.capacity(), &query, &SearchLimits::default());
    assert_eq!(found.limit_hit, None);
    let mut expected: Vec<String> = expected.iter().map(|line| line.to_string()).collect();
    expected.sort_unstable();
    let mut lines = lines(&cloud, &query, &found);
    lines.sort_unstable();
    assert_eq!(lines, expected, "{request}");
}

/// Searches and compares the names of the providers that the answer describes.
#[track_caller]
pub fn check_summaries(cloud: &str, request: &str, expected: &str) {
    let mut cloud = Cloud::new(cloud);
    let query = query(&mut cloud, request);
    let found = candidates(cloud.capacity(), &query, &SearchLimits::default());
    let names: Vec<String> =
        summaries(cloud.capacity(), &found).into_iter().map(|ix| cloud.name(ix)).collect();
    assert_eq!(names.join(" "), expected, "{request}");
}

/// The candidates in the order of the search.
pub fn lines(cloud: &Cloud, query: &CandidateQuery, found: &Candidates) -> Vec<String> {
    found.iter().map(|candidate| line(cloud, query, &candidate)).collect()
}

fn line(cloud: &Cloud, query: &CandidateQuery, candidate: &Candidate<'_>) -> String {
    let mut amounts: Vec<(String, String)> = Vec::new();
    for (provider, class, amount) in candidate.amounts {
        amounts.push((cloud.name(*provider), format!("{}:{amount}", cloud.class(*class))));
    }
    amounts.sort();
    let mut text = String::new();
    let mut last = "";
    for (provider, amount) in &amounts {
        if provider != last {
            let between = if text.is_empty() { "" } else { "; " };
            write!(text, "{between}{provider}").expect("a string");
        }
        write!(text, " {amount}").expect("a string");
        last = provider;
    }
    if query.groups.iter().all(|group| group.suffix.is_empty()) {
        return text;
    }
    text.push_str(" |");
    for (group, servers) in query.groups.iter().zip(candidate.mappings()) {
        let mut names: Vec<String> = servers.iter().map(|ix| cloud.name(*ix)).collect();
        names.sort_unstable();
        write!(text, " {}={}", group.suffix, names.join("+")).expect("a string");
    }
    text
}
