//! Edge cases: the ends of the number line, and pools of one value.

use crate::values::script::check;

#[test]
fn lowest_and_highest_ids_can_be_claimed() {
    check(
        "
        pool z id32 0-0
        claim z a -> new 0
        who z 0 -> held a
        claim z b -> no exhausted: pool 'z' has no value free [size 1, held 1]
        claim z b value=0 -> no taken: 0 of pool 'z' is held under 'a' by 'a'
        release z a
        claim z b value=0 -> new 0
        pool last id32 4294967294-4294967295
        claim last a -> new 4294967294
        claim last b -> new 4294967295
        claim last c strategy=next -> no exhausted: pool 'last' has no value free [size 2, held 2]
        release last a
        claim last c strategy=next -> new 4294967294
        pool wide id64 0-18446744073709551615 strategy=next
        claim wide a -> new 0
        claim wide b value=18446744073709551615 -> new 18446744073709551615
        claim wide c -> new 1
        claim wide d strategy=highest -> new 18446744073709551614
        claim wide e value=9223372036854775808 -> new 9223372036854775808
        usage wide -> size 18446744073709551616 claims 5 held 5 free 18446744073709551611
        pool all id32 0-4294967295
        claim all a strategy=highest -> new 4294967295
        claim all b count=2 strategy=highest -> new 4294967293-4294967294
        claim all c count=2 contiguous -> new 0-1
        ",
    );
}

#[test]
fn every_strategy_works_in_a_pool_of_one_value() {
    for strategy in ["lowest", "highest", "next", "random", "lru"] {
        check(&format!(
            "
            pool p id64 7 strategy={strategy}
            claim p a -> new 7
            claim p b -> no exhausted: pool 'p' has no value free [size 1, held 1]
            release p a
            claim p b -> new 7
            release p b
            claim p c count=1 contiguous odd -> new 7
            release p c
            claim p d even -> no exhausted: pool 'p' has 1 values free, but none that fit [size 1, free 1, run 1]
            claim p e count=2 -> no exhausted: pool 'p' has 1 values free, but none that fit [size 1, free 1, run 1]
            claim p e count=2 contiguous -> no exhausted: pool 'p' has 1 values free, but none that fit [size 1, free 1, run 1]
            pool n ipv4_prefix 10.0.0.1/32 strategy={strategy}
            claim n a len=32 -> new 10.0.0.1/32
            claim n b len=32 -> no exhausted: pool 'n' has no value free [size 1, held 1]
            release n a
            claim n c len=31 -> no exhausted: pool 'n' has 1 values free, but none that fit [size 1, free 1, run 1, largest /32]
            "
        ));
    }
}

#[test]
fn every_strategy_works_on_the_whole_number_line() {
    for strategy in ["lowest", "highest", "next", "random", "lru"] {
        check(&format!(
            "
            pool n ipv6_prefix ::/0 strategy={strategy}
            claim n a len=0 -> new ::/0
            release n a
            claim n b len=0 -> new ::/0
            release n b
            claim n c len=1 count=2 -> new ::/1,8000::/1
            release n c
            claim n d len=1 count=2 contiguous -> new ::/1,8000::/1
            release n d
            claim n e len=0 count=2 -> no exhausted: pool 'n' has 340282366920938463463374607431768211455 values free, but none that fit [size 340282366920938463463374607431768211455, free 340282366920938463463374607431768211455, run 340282366920938463463374607431768211455, largest /0]
            claim n e len=0 count=2 contiguous -> no exhausted: pool 'n' has 340282366920938463463374607431768211455 values free, but none that fit [size 340282366920938463463374607431768211455, free 340282366920938463463374607431768211455, run 340282366920938463463374607431768211455, largest /0]
            pool i ipv6_address ::/0 no_edges strategy={strategy}
            claim i a value=ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
            claim i b value=::
            claim i c
            claim i d count=3
            claim i e count=3 contiguous
            claim i f odd
            release i a
            release i b
            release i c
            release i d
            release i e
            release i f
            usage i -> size 340282366920938463463374607431768211455 free 340282366920938463463374607431768211455
            "
        ));
    }
}

#[test]
fn time_does_not_go_back_with_the_clock() {
    let mut world = check(
        "
        pool p id32 1-9
        claim p a ttl=10s
        at +20s
        claim p b
        ",
    );
    world.now_ms -= 15_000;
    crate::values::script::play(
        &mut world,
        "
        # The journal's time is 20 seconds later, so the lease has expired.
        claim p c value=1 -> new 1
        ",
    );
}
