//! Which value each strategy picks.

use crate::values::script::check;

#[test]
fn lowest_picks_the_lowest_gap() {
    check(
        "
        pool p id32 1-4 -> created 1
        claim p a -> new 1
        claim p b -> new 2
        release p a -> released
        claim p c -> new 1
        usage p -> size 4 claims 2 held 2 free 2
        claim p d -> new 3
        claim p e -> new 4
        claim p f -> no exhausted: pool 'p' has no value free [size 4, held 4]
        release p b
        claim p f -> new 2
        ",
    );
}

#[test]
fn highest_picks_the_highest_value() {
    check(
        "
        pool p id32 1-4 strategy=highest
        claim p a -> new 4
        claim p b -> new 3
        release p a
        claim p c -> new 4
        claim p d count=2 -> new 1-2
        claim p e -> no exhausted: pool 'p' has no value free [size 4, held 4]
        ",
    );
}

#[test]
fn next_wraps_around_at_the_end() {
    check(
        "
        pool p id32 1-5 strategy=next
        claim p a -> new 1
        claim p b -> new 2
        release p a
        claim p c -> new 3
        claim p d -> new 4
        claim p e -> new 5
        claim p f -> new 1
        claim p g -> no exhausted: pool 'p' has no value free [size 5, held 5]
        release p d
        release p b
        claim p g -> new 2
        claim p h -> new 4
        ",
    );
}

#[test]
fn next_continues_after_the_value_given_last() {
    check(
        "
        pool p id32 0-9 strategy=next
        claim p a count=8 -> new 0-7
        release p a
        claim p b count=4 -> new 0-1,8-9
        release p b
        # The value given last is 1, not 9.
        claim p c -> new 2
        claim p d count=10 -> no exhausted: pool 'p' has 9 values free, but none that fit [size 10, held 1, free 9, run 7]
        release p c
        claim p e count=10 -> new 0-9
        release p e
        claim p f -> new 3
        ",
    );
}

#[test]
fn next_continues_after_contiguous_values() {
    check(
        "
        pool p id32 0-9 strategy=next
        claim p a count=4 contiguous -> new 0-3
        claim p b count=4 contiguous -> new 4-7
        release p a
        claim p c count=3 contiguous -> new 0-2
        release p c
        claim p d -> new 3
        claim p e -> new 8
        ",
    );
}

#[test]
fn random_gives_every_value_exactly_once() {
    let mut world = check("pool p id32 100-299 strategy=random");
    let mut seen = std::collections::BTreeSet::new();
    let mut ascending = 0;
    let mut last = 0;
    for n in 0..200 {
        let op = format!("claim p k{n}");
        let value = crate::values::script::ask(&mut world, &op);
        let value: u32 = value.trim_start_matches("new ").parse().expect("a number");
        assert!((100..300).contains(&value) && seen.insert(value), "{value}");
        ascending += u32::from(value > last);
        last = value;
    }
    // Half of the steps go up if the order is random; all of them if it is not.
    assert!((60..140).contains(&ascending), "{ascending} of 200 steps went up");
    crate::values::script::play(
        &mut world,
        "claim p x -> no exhausted: pool 'p' has no value free [size 200, held 200]",
    );
}

#[test]
fn random_picks_all_values_with_equal_probability() {
    let mut world = check("pool p id32 0-9 strategy=random");
    let mut hits = [0u32; 10];
    for n in 0..600 {
        let value = crate::values::script::ask(&mut world, &format!("claim p k{n}"));
        let value: usize = value.trim_start_matches("new ").parse().expect("a number");
        hits[value] += 1;
        crate::values::script::ask(&mut world, &format!("release p k{n}"));
    }
    // 60 are expected for each; five standard deviations are 37.
    assert!(hits.iter().all(|hits| (23..=97).contains(hits)), "{hits:?}");
}

#[test]
fn random_picks_several_values() {
    check(
        "
        pool p id32 1-6 strategy=random
        claim p a count=6 -> new 1-6
        release p a
        claim p b count=3 odd -> new 1,3,5
        claim p c count=3 -> new 2,4,6
        ",
    );
}

#[test]
fn least_recently_used_picks_unused_values_then_by_time_of_release() {
    check(
        "
        pool p id32 1-4 strategy=lru
        claim p a -> new 1
        claim p b -> new 2
        release p b
        release p a
        claim p c -> new 3
        claim p d -> new 4
        # 2 was released before 1.
        claim p e -> new 2
        release p d
        claim p f -> new 1
        claim p g -> new 4
        claim p h -> no exhausted: pool 'p' has no value free [size 4, held 4]
        ",
    );
}

#[test]
fn least_recently_used_picks_several_values_and_parities() {
    check(
        "
        pool p id32 1-6 strategy=lru
        claim p a count=4 -> new 1-4
        release p a
        claim p b -> new 5
        release p b
        claim p c odd -> new 1
        claim p d even -> new 6
        claim p e count=2 -> new 2-3
        claim p f odd -> new 5
        claim p g odd -> no exhausted: pool 'p' has 1 values free, but none that fit [size 6, held 5, free 1, run 1]
        claim p h count=2 -> no exhausted: pool 'p' has 1 values free, but none that fit [size 6, held 5, free 1, run 1]
        claim p i -> new 4
        ",
    );
}

#[test]
fn claim_can_ask_for_least_recently_used_in_any_pool() {
    check(
        "
        pool p id32 1-4
        claim p a -> new 1
        claim p b -> new 2
        release p a
        release p b
        claim p c strategy=lru -> new 3
        claim p d strategy=lru -> new 4
        claim p e strategy=lru -> new 1
        claim p f strategy=lru -> new 2
        ",
    );
}

#[test]
fn least_recently_used_survives_a_change_of_the_pool() {
    check(
        "
        pool p id32 1-6 strategy=lru
        claim p a count=6 -> new 1-6
        release p a
        claim p b value=5 -> new 5
        release p b
        pool p id32 1-4 strategy=lru -> generation 2
        claim p c -> new 1
        pool p id32 1-8 strategy=lru -> generation 3
        # 5 to 8 are new in the changed pool.
        claim p d -> new 5
        pool p id32 1-8 -> generation 4
        pool p id32 1-8 strategy=lru exclude=6-7 -> generation 5
        claim p e -> new 8
        claim p f -> new 2
        ",
    );
}

#[test]
fn claim_can_override_the_strategy() {
    check(
        "
        pool p id32 1-9
        claim p a strategy=highest -> new 9
        claim p b -> new 1
        claim p c strategy=next -> new 2
        release p c
        claim p d strategy=next -> new 3
        claim p e -> new 2
        ",
    );
}

#[test]
fn parity_is_respected() {
    check(
        "
        pool p id32 100-105
        claim p a odd -> new 101
        pool q id32 100-105
        claim q a even -> new 100
        claim q b even strategy=highest -> new 104
        claim q c even -> new 102
        claim q d even -> no exhausted: pool 'q' has 3 values free, but none that fit [size 6, held 3, free 3, run 1]
        claim q e even value=101 -> no invalid: the value is not even; leave parity out, or name another value
        claim q f even value=100 fallback -> no exhausted: pool 'q' has 3 values free, but none that fit [size 6, held 3, free 3, run 1]
        claim q g count=3 odd -> new 101,103,105
        ",
    );
}

#[test]
fn several_values_are_contiguous_on_request() {
    check(
        "
        pool p id32 1-10
        claim p x value=3 -> new 3
        claim p a count=3 -> new 1-2,4
        claim p b count=3 contiguous -> new 5-7
        claim p c count=4 -> no exhausted: pool 'p' has 3 values free, but none that fit [size 10, held 7, free 3, run 3]
        release p x
        claim p d count=4 contiguous -> no exhausted: pool 'p' has 4 values free, but none that fit [size 10, held 6, free 4, run 3]
        claim p d count=4 -> new 3,8-10
        show p d -> 3,8-10 by d v6
        who p 9 -> held d
        release p d
        usage p -> size 10 claims 2 held 6 free 4
        ",
    );
}

#[test]
fn contiguous_values_use_adjacent_ranges_and_gaps() {
    check(
        "
        pool p id32 50-51,10-11,90
        claim p a -> new 10
        claim p b -> new 11
        claim p c -> new 50
        claim p d -> new 51
        claim p e -> new 90
        claim p f -> no exhausted: pool 'p' has no value free [size 5, held 5]
        release p a
        claim p f -> new 10
        ",
    );
}

/// Replaying a journal depends on the limit.
#[test]
fn stored_releases_are_limited_however_they_are_split() {
    let mut world = check(
        "
        pool p ipv4_prefix 10.0.0.0/8
        claim p a len=8 -> new 10.0.0.0/8
        release p a
        ",
    );
    for n in 1..80 {
        crate::values::script::play(
            &mut world,
            &format!("claim p k{n} value=10.{n}.0.0/32 -> new 10.{n}.0.0/32"),
        );
    }
    assert_eq!(world.state.freeze().pools[0].image().released.len(), 64);
}
