//! Request pools and their answers, as NSO's resource-manager has them.

use crate::values::script::check;

#[test]
fn displaced_requests_move_with_the_range() {
    check(
        "
        idpool p 10-200
        idpool p 5-150
        left p -> 5-150
        idpool p 5-150 exclude=8-30
        left p -> 5-7,31-150
        ask p a1 -> 5
        left p -> 6-7,31-150
        idpool p 40-200 exclude=8-30
        answers p -> a1=40
        left p -> 41-200
        idpool p 40-200
        ask p a2 id=45 -> 45
        ask p a3 id=9 -> ! IdUnavailable(9)
        idpool p 40-41
        answers p -> a1=40 a2=! IdUnavailable(45) a3=! IdUnavailable(9)
        idpool p 9-45
        answers p -> a1=40 a2=45 a3=9
        idpool p 1-20 exclude=10-15,10-20
        left p -> 2-8
        ",
    );
}

#[test]
fn failed_requests_get_released_values() {
    check(
        "
        idpool p 0-0
        ask p x -> 0
        ask p y -> ! Exhausted
        ask p z id=0 -> ! Exhausted
        withdraw p x
        answers p -> y=0 z=! Exhausted
        idpool big 4294967294-4294967295
        ask big a -> 4294967294
        ask big b -> 4294967295
        withdraw big a
        withdraw big b
        left big -> 4294967294-4294967295
        idpool rr 1-4
        ask rr a rr -> 1
        ask rr b rr -> 2
        withdraw rr a
        ask rr c rr -> 3
        ask rr d rr -> 4
        ask rr e rr -> 1
        ask rr f rr -> ! Exhausted
        idpool par 100-200
        ask par o odd -> 101
        ask par e even -> 100
        # The native interface can read it but not change it.
        claim par n -> new 102
        release par o -> no kept_by_resource_manager: the claim of 'o' in pool 'par' belongs to a request of the resource-manager; withdraw the request there
        delete par -> no kept_by_resource_manager: pool 'par' is managed by the resource-manager; change it there
        claim par o -> no kept_by_resource_manager: the claim of 'o' in pool 'par' belongs to a request of the resource-manager; withdraw the request there
        renew par o ttl=1s -> no kept_by_resource_manager: the claim of 'o' in pool 'par' belongs to a request of the resource-manager; withdraw the request there
        confirm par o -> no kept_by_resource_manager: the claim of 'o' in pool 'par' belongs to a request of the resource-manager; withdraw the request there
        ask par n -> no params_differ: 'n' in pool 'par' was claimed with different owner
        # The same for the id-manager.
        ids par 100-200 -> no kept_by_resource_manager: pool 'par' is managed by the resource-manager; change it there
        alloc par z -> no kept_by_resource_manager: pool 'par' is managed by the resource-manager; change it there
        free par o -> no kept_by_resource_manager: pool 'par' is managed by the resource-manager; change it there
        drop par -> no kept_by_resource_manager: pool 'par' is managed by the resource-manager; change it there
        wipe par -> no kept_by_resource_manager: pool 'par' is managed by the resource-manager; change it there
        entry par o 150 -> no kept_by_resource_manager: pool 'par' is managed by the resource-manager; change it there
        answers par -> e=100 o=101
        idpool small 1-1
        claim small n -> new 1
        ask small k -> ! Exhausted
        release small n
        answers small -> k=1
        # Native claims are not displaced, and keep the pool from being removed.
        idpool small 1-2
        claim small n -> new 2
        idpool small 1-1
        claim small n -> same 2
        left small -> nothing
        rmpool small -> no pool_in_use: pool 'small' has 1 claims held and 0 in quarantine
        release small n
        left small -> nothing
        ippool fam nets=10.0.0.0/24
        claim fam n len=30
        ippool fam nets=2001:db8::/64 -> no pool_in_use: pool 'fam' has 1 claims held and 0 in quarantine
        release fam n
        ippool fam nets=2001:db8::/64
        ",
    );
}

#[test]
fn changed_request_keeps_a_value_that_still_fits() {
    check(
        "
        idpool p 1-20
        ask p a -> 1
        ask p a id=7 -> 7
        ask p a -> 7
        ask p a even -> 2
        ask p a user=other -> 2
        left p -> 1,3-20
        ippool n nets=10.0.0.0/24
        net n a 32 -> 10.0.0.1/32
        net n a 28 -> 10.0.0.0/28
        net n a 28 start=10.0.0.32 -> 10.0.0.32/28
        net n a 28 -> 10.0.0.32/28
        # The same number in the other IP version.
        net n a 28 start=::a00:20 -> ! PrefixUnavailable { address: 167772192, len: 28 }
        ",
    );
}

#[test]
fn values_come_from_the_smallest_block_that_fits() {
    check(
        "
        ippool p nets=10.0.0.0/24
        net p a 32 -> 10.0.0.1/32
        left p -> 10.0.0.0/32,10.0.0.2/31,10.0.0.4/30,10.0.0.8/29,10.0.0.16/28,10.0.0.32/27,10.0.0.64/26,10.0.0.128/25
        net p b 32 -> 10.0.0.2/32
        net p c 32 -> 10.0.0.3/32
        withdraw p a
        withdraw p b
        withdraw p c
        left p -> 10.0.0.0/24
        ippool p nets=10.0.0.0/24,10.0.1.0/24
        left p -> 10.0.0.0/23
        ippool p nets=10.0.0.0/24,10.0.1.0/24,10.0.3.0/24
        left p -> 10.0.0.0/23,10.0.3.0/24
        ippool q nets=192.168.1.0/24,24.1.2.0/28
        net q a 28 -> 24.1.2.0/28
        ippool r nets=10.0.0.0/24
        net r a 31 -> 10.0.0.0/31
        net r b 31 -> 10.0.0.2/31
        net r c 30 -> 10.0.0.4/30
        ippool s nets=10.0.0.0/24,10.0.2.0/24
        net s a 16 -> ! TooBig([24, 24])
        left s -> 10.0.0.0/24,10.0.2.0/24
        ippool t nets=10.0.0.0/30
        net t a 29 -> ! NoAddresses
        net t b 32 -> 10.0.0.1/32
        net t c 32 -> 10.0.0.2/32
        net t d 32 -> ! NoAddresses
        net t e 64 -> ! TooLong
        ippool u nets=83.131.11.160/28 exclude=83.131.11.161/32,83.131.11.162/31,83.131.11.164/30,83.131.11.168/29
        left u -> 83.131.11.160/32
        net u a 32 -> ! NoAddresses
        ippool v nets=10.6.0.0/31
        net v a 32 -> 10.6.0.0/32
        ",
    );
}

#[test]
fn requests_move_when_their_subnet_is_removed() {
    check(
        "
        ippool p nets=192.168.1.0/24
        net p a 32 -> 192.168.1.1/32
        ippool p
        answers p -> a=! NoAddresses
        ippool p nets=192.168.2.0/24
        answers p -> a=192.168.2.1/32
        ippool p nets=192.168.2.0/24 exclude=192.168.2.1/32
        answers p -> a=192.168.2.2/32
        ippool p nets=2001:db8:1234::/100
        answers p -> a=! TooBig([100])
        net p a 128 -> 2001:db8:1234::1/128
        net p b 120 -> 2001:db8:1234::100/120
        net p c 1 invert -> 2001:db8:1234::2/127
        ippool r ranges=10.0.2.0-10.0.2.255
        net r a 32 -> 10.0.2.1/32
        ippool w nets=0.0.0.0/0
        net w a 32 -> 0.0.0.1/32
        net w b 1 -> 128.0.0.0/1
        ippool w6 nets=::/0
        net w6 a 128 -> ::1/128
        net w6 b 1 -> 8000::/1
        ",
    );
}

#[test]
fn request_for_a_named_prefix() {
    check(
        "
        ippool p nets=10.0.0.0/24
        net p a 32 start=10.0.0.3 -> 10.0.0.3/32
        net p b 28 start=10.0.0.16 -> 10.0.0.16/28
        net p c 30 start=10.0.0.36 -> 10.0.0.36/30
        net p d 31 start=10.0.0.36 -> ! PrefixUnavailable { address: 167772196, len: 31 }
        net p e 29 start=10.0.0.86 -> ! Misaligned
        net p f 32 start=10.0.0.0 -> ! EdgeAddress { address: 167772160 }
        net p g 32 start=::1 -> ! PrefixUnavailable { address: 1, len: 32 }
        ippool q nets=10.6.12.0/17
        net q a 32 start=10.6.0.0 -> ! EdgeAddress { address: 168165376 }
        net q b 31 start=10.6.12.12 -> 10.6.12.12/31
        withdraw q b
        net q c 32 start=10.6.12.13 -> 10.6.12.13/32
        ",
    );
}

#[test]
fn sequential_pool_prefers_unused_blocks() {
    check(
        "
        ippool f nets=10.0.0.0/24
        net f a 30 -> 10.0.0.0/30
        withdraw f a
        net f b 30 -> 10.0.0.0/30
        ippool s nets=10.0.0.0/24 sequential
        net s a 30 -> 10.0.0.0/30
        withdraw s a
        net s b 30 -> 10.0.0.4/30
        net s h 32 -> 10.0.0.8/32
        withdraw s h
        net s i 32 -> 10.0.0.9/32
        ",
    );
}

#[test]
fn pool_that_runs_out_raises_alarms() {
    check(
        "
        idpool p 0-0 alarms
        ask p a -> 0
        alarms -> p Exhausted
        rmpool p
        alarms -> p Exhausted over
        idpool q 20-20 alarms
        ask q a id=20
        alarms -> p Exhausted over, q Exhausted
        idpool q 20-21 alarms
        alarms -> p Exhausted over, q Exhausted over
        idpool q 20-20 alarms
        alarms -> p Exhausted over, q Exhausted
        idpool t 1-3 alarms=50
        ask t a
        ask t b
        alarms -> p Exhausted over, q Exhausted, t Low
        idpool t 1-3 alarms=10
        alarms -> p Exhausted over, q Exhausted, t Low over
        idpool t 1-3 alarms=50
        idpool t 1-3
        alarms -> p Exhausted over, q Exhausted, t Low over
        rmpool q
        ippool n nets=10.0.0.0/32 alarms
        net n a 32
        alarms -> n Exhausted, p Exhausted over, q Exhausted over, t Low over
        withdraw n a
        alarms -> n Exhausted over, p Exhausted over, q Exhausted over, t Low over
        ",
    );
}

#[test]
fn failed_request_keeps_its_reason_until_the_pool_changes() {
    check(
        "
        idpool p 1-2
        ask p a -> 1
        ask p b -> 2
        ask p c id=1 -> ! Exhausted
        withdraw p b
        answers p -> a=1 c=! Exhausted
        idpool p 1-3
        answers p -> a=1 c=! IdUnavailable(1)
        ",
    );
}

#[test]
fn alarm_thresholds_do_not_overflow() {
    check(
        "
        ippool wide nets=2000::/3 alarms=60
        net wide a 5
        alarms ->
        net wide b 5
        alarms -> wide Low
        ",
    );
}

#[test]
fn services_are_notified_once_per_command_and_in_order() {
    check(
        "
        limit outbox_max=100
        idpool p 1-2
        idpool q 1-2
        ask p+q a sync svc=/s1,/s2 -> 1 1
        outbox -> /s1 of p/a+q/a, /s2 of p/a+q/a
        # An unchanged request is not notified.
        ask p+q a sync svc=/s1,/s2
        outbox -> /s1 of p/a+q/a, /s2 of p/a+q/a
        done 0
        outbox -> /s2 of p/a+q/a
        ask p b svc=/s2 -> 2
        ask p c svc=/s3 -> ! Exhausted
        ask p d svc=/s4 no-redeploy -> ! Exhausted
        outbox -> /s2 of p/a+q/a, /s2 of p/b, /s3 of p/c
        # A service that is added to a failed request is notified.
        ask p c svc=/s3,/s5 -> ! Exhausted
        outbox -> /s2 of p/a+q/a, /s2 of p/b, /s3 of p/c, /s5 of p/c
        done 3
        ask p c svc=/s3 -> ! Exhausted
        withdraw p b
        outbox -> /s2 of p/a+q/a, /s2 of p/b, /s3 of p/c, /s3 of p/c
        failed 0 again=5
        failed 0
        outbox -> /s2 of p/a+q/a given up after 2, /s2 of p/b, /s3 of p/c, /s3 of p/c
        alarms -> /s2 Undelivered
        again 0
        done 0
        alarms -> /s2 Undelivered over
        # A dropped notification is not delivered, and its alarm is cleared.
        failed 1
        alarms -> /s2 Undelivered over, /s3 Undelivered
        forget 1
        alarms -> /s2 Undelivered over, /s3 Undelivered over
        ask p e svc=/s5 -> ! Exhausted
        limit outbox_max=3
        ask q x svc=/s9 -> no limit_exceeded: outbox_max is 3, the request has 4
        answers q -> a=1
        ",
    );
}

#[test]
fn allocation_is_granted_at_once_or_changes_nothing() {
    check(
        "
        idpool p 1-3
        idpool q 3-5
        look p k -> 1
        seize p k -> 1
        seize p k -> 1
        answers p -> k=1
        # The same id in both pools, or none in either.
        seize p+q two sync -> 3
        answers p -> k=1 two=3
        answers q -> two=3
        look p+q three sync -> ! SyncExhausted of p
        seize p+q three sync -> ! SyncExhausted of p
        # The answer names the pool that has failed.
        look q+p four sync id=4 -> ! IdUnavailable(4) of p
        # Finding the value of an existing request shows what it holds.
        look p k -> 1
        look p k id=1 -> 1
        look p+q two sync -> 3
        look p k id=3 -> ! IdUnavailable(3) of p
        answers p -> k=1 two=3
        # A new member of a group gets the id of the group.
        ask q two id=3 sync -> 3
        idpool r 1-9
        look r two sync -> 3
        seize r two sync -> 3
        # A request keeps its value if the new one is not available.
        seize p k id=3 -> ! IdUnavailable(3) of p
        answers p -> k=1 two=3
        seize p last -> 2
        seize p more -> ! Exhausted of p
        answers p -> k=1 last=2 two=3
        # A service that makes an existing request is added to it.
        limit outbox_max=100
        idpool s 1-9
        ask s shared svc=/s1 -> 1
        seize s shared svc=/s2 -> 1
        outbox -> /s1 of s/shared
        idpool s 5-9
        outbox -> /s1 of s/shared, /s1 of s/shared, /s2 of s/shared
        ",
    );
}

#[test]
fn edit_of_a_request_is_refused_if_the_request_has_changed() {
    check(
        "
        idpool p 1-9
        over p a id=4 seen=0 -> written
        over p a id=5 seen=0 -> no resources_changed: the pools have changed at position 2, after they were read
        ask p b -> 1
        # Other changes of the pool do not matter.
        over p a was=4 id=5 seen=0 -> written
        answers p -> a=5 b=1
        over p a was=4 seen=0 -> no resources_changed: the pools have changed at position 4, after they were read
        over p a was=5 seen=0 -> written
        answers p -> b=1
        # Nor do they for a change of the configuration.
        recast p was=1-9 2-9 seen=0 -> written
        answers p -> b=2
        recast p was=1-9 3-9 seen=0 -> no resources_changed: the pools have changed at position 6, after they were read
        recast p 3-9 seen=0 -> no resources_changed: the pools have changed at position 6, after they were read
        # A pool that does not exist can be created, whatever else has changed.
        recast new 1-9 seen=0 -> written
        recast gone was=1-9 1-8 seen=0 -> no resources_changed: the pools have changed at position 7, after they were read
        pool native id32 1-9
        recast native 1-9 seen=0 -> no not_resources: pool 'native' is not a resource pool of this kind
        ",
    );
}
