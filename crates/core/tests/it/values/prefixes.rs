//! Prefix pools: best fit, merging, named prefixes, and the smallest and largest sizes.

use crate::values::script::check;

#[test]
fn best_fit_splits_the_smallest_block_and_releases_merge() {
    check(
        "
        pool n ipv4_prefix 10.0.0.0/24
        claim n a len=31 -> new 10.0.0.0/31
        claim n b len=31 -> new 10.0.0.2/31
        claim n c len=30 -> new 10.0.0.4/30
        claim n d len=25 -> new 10.0.0.128/25
        claim n e len=26 -> new 10.0.0.64/26
        release n a
        release n b
        release n c
        release n d
        release n e
        claim n f len=24 -> new 10.0.0.0/24
        claim n g len=32 -> no exhausted: pool 'n' has no value free [size 256, held 256]
        ",
    );
}

#[test]
fn exact_fit_is_preferred() {
    check(
        "
        pool n ipv4_prefix 192.168.1.0/24,24.1.2.0/28
        claim n a len=28 -> new 24.1.2.0/28
        claim n b len=28 -> new 192.168.1.0/28
        claim n c len=16 -> no exhausted: pool 'n' has 240 values free, but none that fit [size 272, held 32, free 240, run 240, largest /25]
        claim n d len=28 strategy=highest -> new 192.168.1.16/28
        claim n e len=26 strategy=highest -> new 192.168.1.64/26
        claim n f len=32 strategy=highest -> new 192.168.1.63/32
        pool m ipv4_prefix 24.1.2.0/24,192.168.1.0/28,192.168.2.0/28
        claim m a len=28 -> new 192.168.1.0/28
        claim m b len=29 strategy=highest -> new 192.168.2.8/29
        claim m c len=29 strategy=lowest -> new 192.168.2.0/29
        claim m d len=29 -> new 24.1.2.0/29
        ",
    );
}

#[test]
fn adjacent_subnets_merge_into_one_block() {
    check(
        "
        pool n ipv4_prefix 10.0.0.0/24
        claim n a len=23 -> no exhausted: pool 'n' has 256 values free, but none that fit [size 256, free 256, run 256, largest /24]
        pool n ipv4_prefix 10.0.0.0/24,10.0.1.0/24
        claim n a len=23 -> new 10.0.0.0/23
        release n a
        pool n ipv4_prefix 10.0.1.0/24,10.0.2.0/24
        # Adjacent, but not the two halves of one block.
        claim n a len=23 -> no exhausted: pool 'n' has 512 values free, but none that fit [size 512, free 512, run 512, largest /24]
        ",
    );
}

#[test]
fn named_prefix_is_claimed_or_refused() {
    check(
        "
        pool n ipv4_prefix 10.0.0.0/24
        claim n a value=10.0.0.3/32 -> new 10.0.0.3/32
        claim n b value=10.0.0.16/28 -> new 10.0.0.16/28
        claim n c value=10.0.0.36/30 -> new 10.0.0.36/30
        claim n d value=10.0.0.36/31 -> no taken: 10.0.0.36/30 of pool 'n' is held under 'c' by 'c'
        claim n d value=10.0.0.0/24 -> no taken: 10.0.0.3/32 of pool 'n' is held under 'a' by 'a'
        claim n e value=10.0.1.0/24 -> no value_outside: 10.0.1.0/24 is outside the ranges of pool 'n'
        claim n e value=10.0.0.0/23 -> no value_outside: 10.0.0.0/23 is outside the ranges of pool 'n'
        claim n f value=10.0.0.36/31 fallback -> new 10.0.0.0/31
        claim n g value=10.0.0.36/31 fallback len=31 -> new 10.0.0.4/31
        claim n h value=10.0.0.64/28 len=27 -> no invalid: value and prefix_len name different lengths; leave prefix_len out
        claim n h -> no invalid: prefix_len is missing; say how long a prefix is wanted
        claim n h len=33 -> no invalid: prefix_len is above 32; give a shorter one
        claim n h len=30 even -> no invalid: a prefix is neither even nor odd; leave parity out
        claim n h value=10.0.0.70-10.0.0.80 len=28 -> no malformed: value: '10.0.0.70-10.0.0.80' is not an IPv4 prefix such as 10.0.0.0/24: a length is missing, as in /24
        who n 10.0.0.32/29 -> held c
        who n 10.0.0.40/29 -> free
        ",
    );
}

#[test]
fn exclusions_manual_and_draining_values_split_blocks() {
    check(
        "
        pool n ipv4_prefix 10.0.0.0/24 exclude=10.0.0.0/26,10.0.0.32/27 manual=10.0.0.64/26 draining=10.0.0.128/26
        claim n a len=26 -> new 10.0.0.192/26
        claim n b len=26 -> no exhausted: pool 'n' has no value free [size 256, held 64, excluded 64, draining 64, manual 64]
        claim n b value=10.0.0.64/26 -> new 10.0.0.64/26
        claim n c value=10.0.0.128/26 -> no value_draining: 10.0.0.128/26 is in a draining range of pool 'n'
        claim n c value=10.0.0.48/28 -> no value_excluded: 10.0.0.48/28 is excluded in pool 'n'
        claim n c value=10.0.0.0/25 -> no value_excluded: 10.0.0.0/25 is excluded in pool 'n'
        ",
    );
}

#[test]
fn several_prefixes_are_claimed_at_once() {
    check(
        "
        pool n ipv4_prefix 10.0.0.0/28
        claim n x value=10.0.0.4/30 -> new 10.0.0.4/30
        claim n a len=30 count=2 -> new 10.0.0.0/30,10.0.0.8/30
        release n a
        claim n b len=30 count=2 contiguous -> new 10.0.0.8/30,10.0.0.12/30
        claim n c len=30 count=2 -> no exhausted: pool 'n' has 4 values free, but none that fit [size 16, held 12, free 4, run 4, largest /30]
        release n b
        claim n d len=30 count=2 strategy=highest -> new 10.0.0.8/30,10.0.0.12/30
        release n d
        release n x
        claim n e len=30 count=2 contiguous strategy=highest -> new 10.0.0.8/30,10.0.0.12/30
        release n e
        claim n f len=30 count=3 contiguous strategy=highest -> new 10.0.0.4/30,10.0.0.8/30,10.0.0.12/30
        release n f
        # The prefix that was claimed by name moved the cursor to 10.0.0.7.
        claim n g len=31 count=3 contiguous strategy=next -> new 10.0.0.8/31,10.0.0.10/31,10.0.0.12/31
        claim n h len=31 count=3 contiguous strategy=next -> new 10.0.0.0/31,10.0.0.2/31,10.0.0.4/31
        release n g
        claim n i len=31 count=3 contiguous strategy=next -> new 10.0.0.6/31,10.0.0.8/31,10.0.0.10/31
        ",
    );
}

#[test]
fn contiguous_prefixes_are_aligned_in_an_unaligned_gap() {
    check(
        "
        pool n ipv4_prefix 10.0.0.1-10.0.0.4,10.0.0.7-10.0.0.12
        claim n a len=31 count=2 contiguous -> new 10.0.0.8/31,10.0.0.10/31
        claim n b len=31 count=2 contiguous -> no exhausted: pool 'n' has 6 values free, but none that fit [size 10, held 4, free 6, run 4, largest /31]
        release n a
        claim n c len=31 count=2 contiguous strategy=highest -> new 10.0.0.8/31,10.0.0.10/31
        ",
    );
}

#[test]
fn next_strategy_wraps_around_with_prefixes() {
    check(
        "
        pool n ipv4_prefix 10.0.0.0/29 strategy=next
        claim n a len=31 -> new 10.0.0.0/31
        claim n b len=31 -> new 10.0.0.2/31
        release n a
        claim n c len=30 -> new 10.0.0.4/30
        claim n d len=31 -> new 10.0.0.0/31
        release n c
        release n b
        claim n e len=31 count=3 -> new 10.0.0.2/31,10.0.0.4/31,10.0.0.6/31
        release n d
        release n e
        claim n f len=31 -> new 10.0.0.0/31
        claim n g len=30 count=1 -> new 10.0.0.4/30
        ",
    );
}

#[test]
fn least_recently_used_prefix_is_reused_last() {
    check(
        "
        pool n ipv4_prefix 10.0.0.0/28 strategy=lru
        claim n a len=30 -> new 10.0.0.0/30
        claim n b len=30 -> new 10.0.0.4/30
        release n b
        release n a
        claim n c len=30 -> new 10.0.0.8/30
        claim n d len=30 -> new 10.0.0.12/30
        claim n e len=30 -> new 10.0.0.4/30
        claim n f len=31 -> new 10.0.0.0/31
        ",
    );
}

#[test]
fn slash_48_of_127s_and_all_of_ipv6_are_ordinary_pools() {
    check(
        "
        pool n ipv6_prefix 2001:db8::/48
        claim n a len=127 -> new 2001:db8::/127
        claim n b len=127 -> new 2001:db8::2/127
        claim n c len=127 strategy=highest -> new 2001:db8::6/127
        claim n d len=48 -> no exhausted: pool 'n' has 1208925819614629174706170 values free, but none that fit [size 1208925819614629174706176, held 6, free 1208925819614629174706170, run 1208925819614629174706168, largest /49]
        claim n e value=2001:db8:0:ffff:ffff:ffff:ffff:fffe/127 -> new 2001:db8:0:ffff:ffff:ffff:ffff:fffe/127
        pool six ipv6_prefix ::/0
        claim six a len=0 -> new ::/0
        usage six -> size 340282366920938463463374607431768211455 claims 1 held 340282366920938463463374607431768211455
        claim six b len=128 -> no exhausted: pool 'six' has no value free [size 340282366920938463463374607431768211455, held 340282366920938463463374607431768211455]
        release six a
        claim six b len=1 -> new ::/1
        claim six c len=1 -> new 8000::/1
        usage six -> size 340282366920938463463374607431768211455 claims 2 held 340282366920938463463374607431768211455
        release six b
        usage six -> size 340282366920938463463374607431768211455 claims 1 held 170141183460469231731687303715884105728 free 170141183460469231731687303715884105728
        release six c
        claim six d len=128 -> new ::/128
        claim six e value=ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128
        claim six f value=0:0:0:0:8000::/65 -> new ::8000:0:0:0/65
        claim six g len=1 -> no exhausted: pool 'six' has 340282366920938463454151235394913435646 values free, but none that fit [size 340282366920938463463374607431768211455, held 9223372036854775810, free 340282366920938463454151235394913435646, run 340282366920938463444927863358058659839, largest /2]
        claim six g len=2 -> new 4000::/2
        ",
    );
}

#[test]
fn whole_line_without_one_value_is_an_ordinary_pool() {
    check(
        "
        pool six ipv6_prefix ::/0 exclude=::1/128
        claim six a value=::/0 -> no value_excluded: ::/0 is excluded in pool 'six'
        claim six a len=0 -> no exhausted: pool 'six' has 340282366920938463463374607431768211455 values free, but none that fit [size 340282366920938463463374607431768211455, excluded 1, free 340282366920938463463374607431768211455, run 340282366920938463463374607431768211454, largest /1]
        claim six a len=1 -> new 8000::/1
        release six a
        pool six ipv6_prefix ::/0
        claim six a len=0 -> new ::/0
        pool six ipv6_prefix ::/0 exclude=::1/128
        usage six -> size 340282366920938463463374607431768211455 claims 1 held 340282366920938463463374607431768211455
        pool six ipv6_prefix ::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff -> no held_outside: 1 claim(s) of pool 'six' hold values outside the new ranges [a ::/0]
        pool six ipv6_prefix ::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff keep_held
        usage six -> size 340282366920938463463374607431768211455 claims 1 held 340282366920938463463374607431768211455 outside 1
        release six a
        usage six -> size 340282366920938463463374607431768211455 free 340282366920938463463374607431768211455
        ",
    );
}

#[test]
fn block_is_claimed_over_many_expired_claims() {
    check(
        "
        pool n ipv4_prefix 10.0.0.0/28
        claim n a len=31 count=2 ttl=10s -> new 10.0.0.0/31,10.0.0.2/31
        claim n b len=31 ttl=10s -> new 10.0.0.4/31
        claim n c len=30 -> new 10.0.0.8/30
        at +1h
        claim n d value=10.0.0.0/28 -> no taken: 10.0.0.8/30 of pool 'n' is held under 'c' by 'c'
        show n a -> 10.0.0.0/31,10.0.0.2/31 by a v2 lease -3590s
        claim n d value=10.0.0.0/29 -> new 10.0.0.0/29
        show n a -> none
        limit claims_ended_per_claim_max=1
        claim n e len=31 count=2 ttl=10s -> new 10.0.0.12/31,10.0.0.14/31
        at +1h
        claim n f value=10.0.0.12/30 -> new 10.0.0.12/30
        release n f
        claim n g len=31 ttl=10s
        claim n h len=31 ttl=10s
        at +1h
        claim n f value=10.0.0.12/30 -> no limit_exceeded: claims_ended_per_claim_max is 1, the request has 2
        ",
    );
}
