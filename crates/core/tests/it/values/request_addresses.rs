//! Request pools of addresses: extreme ranges, displaced requests, notifications and alarms.

use crate::values::script::{check, play};

#[test]
fn all_addresses_are_one_block_with_two_edges() {
    check(
        "
        # Two halves, each with its own edges.
        ippool v4 nets=0.0.0.0/1,128.0.0.0/1
        left v4 -> 0.0.0.0/0
        net v4 all 32 invert -> 0.0.0.0/0
        left v4 ->
        net v4 more 33 invert -> ! NoAddresses
        withdraw v4 all
        answers v4 -> more=0.0.0.0/0
        withdraw v4 more
        net v4 first 32 start=0.0.0.0 -> ! EdgeAddress { address: 0 }
        net v4 first 32 start=0.0.0.1 -> 0.0.0.1/32
        net v4 last 32 start=255.255.255.255 -> ! EdgeAddress { address: 4294967295 }
        net v4 last 32 start=255.255.255.254 -> 255.255.255.254/32
        net v4 middle 32 start=128.0.0.0 -> ! EdgeAddress { address: 2147483648 }
        net v4 half 1 -> ! TooBig([29, 29, 28, 28, 27, 27, 26, 26, 25, 25, 24, 24, 23, 23, 22, 22, 21, 21, 20, 20, 19, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10, 10, 9, 9, 8, 8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2])
        ippool v6 nets=::/1,8000::/1
        left v6 -> ::/0
        net v6 all 128 invert -> ::/0
        left v6 ->
        net v6 more 255 invert -> ! NoAddresses
        withdraw v6 all
        answers v6 -> more=::/0
        withdraw v6 more
        net v6 a 1 -> ::/1
        net v6 last 128 start=ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff -> ! EdgeAddress { address: 340282366920938463463374607431768211455 }
        net v6 host 128 -> 8000::1/128
        withdraw v6 host
        withdraw v6 a
        left v6 -> ::/0
        # As a range it is one block.
        ippool r6 ranges=::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff alarms
        left r6 -> ::/0
        net r6 h 128 start=8000:: -> 8000::/128
        withdraw r6 h
        net r6 all 128 invert -> ::/0
        alarms -> r6 Exhausted
        withdraw r6 all
        alarms -> r6 Exhausted over
        left r6 -> ::/0
        ",
    );
}

#[test]
fn range_includes_the_last_address() {
    check(
        "
        ippool e ranges=255.255.255.250-255.255.255.255
        left e -> 255.255.255.250/31,255.255.255.252/30
        net e a 32 -> 255.255.255.250/32
        net e b 32 -> 255.255.255.251/32
        net e c 32 -> 255.255.255.253/32
        net e d 32 -> 255.255.255.254/32
        net e e 32 -> ! NoAddresses
        net e f 30 -> ! NoAddresses
        ippool one ranges=255.255.255.255-255.255.255.255
        net one a 32 -> 255.255.255.255/32
        ippool e6 ranges=ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffd-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
        net e6 a 128 -> ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffd/128
        net e6 b 127 -> ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127
        net e6 c 128 -> ! NoAddresses
        withdraw e6 b
        answers e6 -> a=ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffd/128 c=ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/128
        ",
    );
}

#[test]
fn subnet_serves_exactly_its_hosts() {
    let mut world = check(&format!("ippool p nets=10.0.0.0/24 alarms=0\n{}", hosts(1, 254)));
    // Two blocks are left, so no alarm is raised.
    play(
        &mut world,
        "
        net p more 32 -> ! NoAddresses
        left p -> 10.0.0.0/32,10.0.0.255/32
        alarms ->
        net p edge 32 start=10.0.0.255 -> ! EdgeAddress { address: 167772415 }
        withdraw p k7
        net p k7 32 -> ! NoAddresses
        net p more 31 -> ! NoAddresses
        ",
    );
}

/// Requests for hosts of pool `p`, each with the address of its number.
fn hosts(from: u32, to: u32) -> String {
    (from..=to).map(|n| format!("net p k{n} 32 -> 10.0.0.{n}/32\n")).collect()
}

#[test]
fn alarms_of_addresses_count_hosts() {
    let mut world = check(&format!("ippool p nets=10.0.0.0/27 alarms\n{}", hosts(1, 20)));
    play(&mut world, "alarms ->");
    play(&mut world, &hosts(21, 29));
    play(
        &mut world,
        "
        left p -> 10.0.0.0/32,10.0.0.30/31
        alarms -> p Low
        ippool p nets=10.0.0.0/27
        alarms -> p Low over
        ippool p nets=10.0.0.0/27 alarms
        alarms -> p Low
        rmpool p
        alarms -> p Low over
        # All addresses are left, which is no more than 100 percent.
        ippool p nets=10.0.0.0/27 alarms=100
        alarms -> p Low
        ippool p nets=10.0.0.0/27
        alarms -> p Low over
        ippool p nets=10.0.0.0/27 alarms=20
        alarms -> p Low over
        ",
    );
    play(&mut world, &hosts(1, 28));
    play(
        &mut world,
        "
        alarms -> p Low
        # The default threshold is lower than the removed one.
        ippool p nets=10.0.0.0/27 alarms
        alarms -> p Low over
        ",
    );
    check(
        "
        ippool two nets=10.0.0.1/32,10.0.0.9/32
        net two a 32 -> 10.0.0.1/32
        net two b 32 -> 10.0.0.9/32
        alarms ->
        ippool two nets=10.0.0.1/32,10.0.0.9/32 alarms
        alarms -> two Exhausted
        withdraw two a
        alarms -> two Exhausted over
        ",
    );
}

#[test]
fn quiet_pool_notifies_only_of_changed_requests() {
    check(
        "
        limit outbox_max=100
        ippool p nets=10.0.0.0/24 quiet
        net p a 32 svc=/s -> 10.0.0.1/32
        outbox -> /s of p/a
        done 0
        # An edit replaces one subnet by another.
        ippool p nets=10.0.1.0/24 quiet
        answers p -> a=10.0.1.1/32
        outbox ->
        # A new service is notified.
        ippool p nets=10.0.2.0/24 quiet & net p a 32 svc=/s,/t
        answers p -> a=10.0.2.1/32
        outbox -> /t of p/a
        done 0
        # A changed request is notified.
        ippool p nets=10.0.3.0/24 quiet & net p a 30 svc=/s,/t
        answers p -> a=10.0.3.0/30
        outbox -> /s of p/a, /t of p/a
        done 0
        done 0
        # A failed request that is granted later is not notified.
        ippool p quiet
        ippool p nets=10.0.4.0/24 quiet
        answers p -> a=10.0.4.0/30
        outbox ->
        ippool p nets=10.0.5.0/24
        answers p -> a=10.0.5.0/30
        outbox -> /s of p/a, /t of p/a
        ",
    );
}

#[test]
fn failed_request_is_not_notified_with_every_release() {
    check(
        "
        limit outbox_max=100
        ippool p nets=10.0.0.0/24
        net p host 26 -> 10.0.0.0/26
        net p wide 16 svc=/s -> ! TooBig([26, 25])
        outbox -> /s of p/wide
        done 0
        withdraw p host
        answers p -> wide=! TooBig([26, 25])
        outbox ->
        # A changed request gets the present reason.
        net p wide 15 svc=/s -> ! TooBig([24])
        outbox -> /s of p/wide
        done 0
        ippool p nets=10.9.0.0/30
        answers p -> wide=! NoAddresses
        outbox -> /s of p/wide
        ",
    );
}

#[test]
fn request_for_a_named_prefix_waits_for_its_subnet() {
    check(
        "
        limit outbox_max=100
        ippool p nets=10.0.0.0/24
        net p a 30 start=10.0.0.8 svc=/s -> 10.0.0.8/30
        net p b 30 start=10.0.0.8 -> ! PrefixUnavailable { address: 167772168, len: 30 }
        done 0
        ippool p nets=10.0.1.0/24
        answers p -> a=! PrefixUnavailable { address: 167772168, len: 30 } b=! PrefixUnavailable { address: 167772168, len: 30 }
        outbox -> /s of p/a
        done 0
        ippool p nets=10.0.1.0/24,10.0.0.0/24
        answers p -> a=10.0.0.8/30 b=! PrefixUnavailable { address: 167772168, len: 30 }
        outbox -> /s of p/a
        withdraw p a
        answers p -> b=10.0.0.8/30
        # A prefix of the other IP version is never available.
        net p c 128 start=2001:db8::1 -> ! PrefixUnavailable { address: 42540766411282592856903984951653826561, len: 128 }
        net p d 0 invert start=2001:db8::1 -> ! PrefixUnavailable { address: 42540766411282592856903984951653826561, len: 128 }
        ippool v6 nets=2001:db8::/64
        net v6 a 24 start=10.0.0.0 -> ! PrefixUnavailable { address: 167772160, len: 24 }
        net v6 b 64 start=10.0.0.0 -> ! TooLong
        ",
    );
}

#[test]
fn free_block_is_listed_after_many_that_are_not_listed() {
    let singles: Vec<String> =
        (0..1100).map(|n| format!("10.0.{}.{}/32", n / 100, n % 100 * 2)).collect();
    check(&format!(
        "
        ippool p nets={},10.9.0.0/24
        net p a 16 -> ! TooBig([24])
        net p b 24 -> 10.9.0.0/24
        net p c 24 -> ! NoAddresses
        net p d 31 -> ! NoAddresses
        withdraw p b
        answers p -> a=! TooBig([24]) c=10.9.0.0/24 d=! NoAddresses
        ",
        singles.join(",")
    ));
}

#[test]
fn service_gets_one_notification_with_the_most_thorough_action() {
    check(
        "
        limit outbox_max=100
        idpool p 1-9
        ask p a svc=/s & ask p b svc=/s touch & ask p c svc=/s no-redeploy & ask p d svc=/s re-deploy
        outbox -> /s of p/a+p/b+p/d re-deploy
        ask p e svc=/s user=eve & ask p f svc=/s touch
        outbox -> /s of p/a+p/b+p/d re-deploy, /s of p/f touch, /s of p/e
        ",
    );
}

#[test]
fn service_that_waits_for_the_reply_is_not_notified_of_it() {
    check(
        "
        limit outbox_max=100
        ippool p nets=10.0.0.0/30
        look p a 32 svc=/s -> 10.0.0.1/32
        seize p a 32 svc=/s -> 10.0.0.1/32
        outbox ->
        # Finding shows the value that the request holds.
        look p a 32 svc=/s -> 10.0.0.1/32
        look p b 32 svc=/s -> 10.0.0.2/32
        answers p -> a=10.0.0.1/32
        # Another service is added: both are notified of later changes.
        seize p a 32 svc=/t -> 10.0.0.1/32
        outbox ->
        ippool p nets=10.0.1.0/30
        outbox -> /s of p/a, /t of p/a
        done 0
        done 0
        # A change by one service is notified to the other.
        seize p a 31 svc=/t,/u -> 10.0.1.0/31
        outbox -> /s of p/a, /t of p/a
        done 0
        done 0
        seize p a 24 svc=/t -> ! NoAddresses of p
        answers p -> a=10.0.1.0/31
        outbox ->
        # A failed request is notified when it is granted.
        net p w 24 svc=/w waits -> ! NoAddresses
        outbox ->
        ippool p nets=10.0.1.0/30,10.0.2.0/24
        answers p -> a=10.0.1.0/31 w=10.0.2.0/24
        outbox -> /w of p/w
        ",
    );
}

#[test]
fn unused_addresses_come_from_the_smallest_block() {
    check(
        "
        ippool s nets=10.0.0.0/24,24.1.2.0/28 sequential
        net s a 32 -> 24.1.2.1/32
        withdraw s a
        net s a 32 -> 24.1.2.2/32
        net s b 32 -> 24.1.2.3/32
        net s c 29 -> 24.1.2.8/29
        withdraw s c
        net s d 32 -> 24.1.2.4/32
        net s e 32 -> 24.1.2.5/32
        net s f 32 -> 24.1.2.6/32
        net s g 32 -> 24.1.2.7/32
        # The other half of the small block was used before, and its edge is not for hosts.
        net s h 32 -> 10.0.0.1/32
        # The rest of it is granted when there is nothing else.
        ippool s nets=24.1.2.0/28 sequential
        answers s -> a=24.1.2.2/32 b=24.1.2.3/32 d=24.1.2.4/32 e=24.1.2.5/32 f=24.1.2.6/32 g=24.1.2.7/32 h=24.1.2.1/32
        net s i 32 -> 24.1.2.8/32
        ",
    );
}

#[test]
fn pool_with_native_claims_cannot_change_its_ip_version() {
    check(
        "
        ippool p nets=10.0.0.0/24
        claim p nat len=28 -> new 10.0.0.0/28
        net p a 28 -> 10.0.0.16/28
        ippool p nets=2001:db8::/64 -> no pool_in_use: pool 'p' has 1 claims held and 0 in quarantine
        answers p -> a=10.0.0.16/28
        list p -> nat=10.0.0.0/28 a=10.0.0.16/28
        release p nat
        ippool p nets=2001:db8::/64
        answers p -> a=! TooBig([64])
        net p b 32 invert -> 2001:db8::/96
        ippool p nets=10.0.0.0/24
        answers p -> a=10.0.0.0/28 b=! TooBig([28, 27, 26, 25])
        ",
    );
}

#[test]
fn alarm_of_a_service_is_cleared_with_its_last_notification() {
    check(
        "
        limit outbox_max=100
        idpool p 1-9
        ask p a svc=/s
        ask p b svc=/s
        ask p c svc=/s2
        failed 0
        failed 1
        outbox -> /s of p/a given up after 1, /s of p/b given up after 1, /s2 of p/c
        alarms -> /s Undelivered
        forget 0
        alarms -> /s Undelivered
        forget 0
        alarms -> /s Undelivered over
        ",
    );
}
