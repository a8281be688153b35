//! Address pools: network and broadcast addresses, subnets of every size, IPv6.

use crate::values::script::{ask, check, play};

#[test]
fn first_and_last_address_of_a_subnet_are_excluded() {
    check(
        "
        pool a ipv4_address 10.0.0.0/30
        claim a x -> new 10.0.0.1
        claim a y -> new 10.0.0.2
        claim a z -> no exhausted: pool 'a' has no value free [size 4, held 2, excluded 2]
        claim a z value=10.0.0.0 -> no value_excluded: 10.0.0.0 is excluded in pool 'a'
        claim a z value=10.0.0.3 -> no value_excluded: 10.0.0.3 is excluded in pool 'a'
        pool b ipv4_address 10.0.0.0/31
        claim b x count=2 -> new 10.0.0.0-10.0.0.1
        pool c ipv4_address 10.0.0.0/32
        claim c x -> new 10.0.0.0
        pool d ipv4_address 10.0.0.0/30 no_edges
        claim d x -> new 10.0.0.0
        pool e ipv4_address 10.0.2.0-10.0.2.255
        claim e x -> new 10.0.2.0
        claim e y strategy=highest -> new 10.0.2.255
        pool f ipv6_address 2001:db8::/126
        claim f x -> new 2001:db8::1
        claim f y -> new 2001:db8::2
        claim f z -> no exhausted: pool 'f' has no value free [size 4, held 2, excluded 2]
        ",
    );
}

#[test]
fn slash_24_has_254_hosts() {
    let mut world = check("pool a ipv4_address 10.0.0.0/24");
    for n in 1..=254 {
        assert_eq!(ask(&mut world, &format!("claim a k{n}")), format!("new 10.0.0.{n}"));
    }
    play(
        &mut world,
        "
        claim a x -> no exhausted: pool 'a' has no value free [size 256, held 254, excluded 2]
        release a k77
        claim a x -> new 10.0.0.77
        ",
    );
}

#[test]
fn each_subnet_excludes_its_own_edges() {
    check(
        "
        pool a ipv4_address 10.0.0.0/30,10.0.0.4/30
        claim a w count=4 -> new 10.0.0.1-10.0.0.2,10.0.0.5-10.0.0.6
        claim a x -> no exhausted: pool 'a' has no value free [size 8, held 4, excluded 4]
        release a w
        claim a y count=4 contiguous -> no exhausted: pool 'a' has 4 values free, but none that fit [size 8, excluded 4, free 4, run 2]
        pool a ipv4_address 10.0.0.0/29
        claim a y count=4 contiguous -> new 10.0.0.1-10.0.0.4
        ",
    );
}

#[test]
fn claim_skips_exclusions_and_host_bits_of_a_subnet_are_ignored() {
    check(
        "
        pool a ipv4_address 192.168.1.0/24 exclude=192.168.1.1
        claim a x -> new 192.168.1.2
        pool b ipv4_address 10.6.12.0/17
        claim b x -> new 10.6.0.1
        claim b y value=10.6.0.0 -> no value_excluded: 10.6.0.0 is excluded in pool 'b'
        claim b y value=10.6.128.0 -> no value_outside: 10.6.128.0 is outside the ranges of pool 'b'
        pool c ipv4_address 83.131.11.160/28 exclude=83.131.11.161-83.131.11.175
        claim c x -> no exhausted: pool 'c' has no value free [size 16, excluded 16]
        ",
    );
}

#[test]
fn slash_8_and_all_of_ipv4_and_ipv6_are_ordinary_pools() {
    check(
        "
        pool a ipv4_address 10.0.0.0/8
        claim a x -> new 10.0.0.1
        claim a y strategy=highest -> new 10.255.255.254
        usage a -> size 16777216 claims 2 held 2 excluded 2 free 16777212
        pool b ipv4_address 0.0.0.0/0
        claim b x -> new 0.0.0.1
        claim b y value=255.255.255.254
        claim b z value=0.0.0.0 -> no value_excluded: 0.0.0.0 is excluded in pool 'b'
        pool c ipv6_address ::/0 no_edges
        claim c x -> new ::
        claim c y strategy=highest -> new ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
        claim c z value=0:0:0:0:8000:: -> new ::8000:0:0:0
        claim c w value=::7fff:ffff:ffff:ffff -> new ::7fff:ffff:ffff:ffff
        claim c n strategy=next value=ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe
        claim c o strategy=next -> new ::1
        usage c -> size 340282366920938463463374607431768211455 claims 6 held 6 free 340282366920938463463374607431768211450
        pool d ipv6_address ::/0
        claim d x -> new ::1
        ",
    );
}
