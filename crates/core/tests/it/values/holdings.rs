//! Scripts about providers, inventories and allocations.

use crate::values::script::check;

#[test]
fn providers_form_trees() {
    check(
        "
        provider a -> a at 0
        provider b parent=a -> b at 0 below a in a
        provider c parent=b -> c at 0 below b in a
        provider a name=other -> no provider_exists: provider a already exists
        provider d name=a -> no provider_exists: another provider has the name 'a'
        provider d parent=d -> no parent_loop: provider d is d itself or one of its descendants
        provider d parent=x -> no parent_unknown: parent provider x does not exist
        provider d name='' -> no invalid: the provider's name is empty; give it one
        provider d
        # Renaming does not change the generation.
        update d name=dd -> dd at 0
        update d name=a -> no provider_exists: another provider has the name 'a'
        update x -> no provider_unknown: provider x does not exist
        # `adopt` gives a parent to a root only; `parent` may also move a provider.
        update d adopt=c -> d at 0 below c in a
        update d adopt=c -> d at 0 below c in a
        update d adopt=a -> no parent_fixed: provider d already has a parent, which is not a
        update d adopt=none -> no parent_fixed: provider d has a parent, which this request may not remove
        update d adopt=x -> no parent_unknown: parent provider x does not exist
        update a parent=c -> no parent_loop: provider c is a itself or one of its descendants
        update a parent=a -> no parent_loop: provider a is a itself or one of its descendants
        update b parent=none -> b at 0
        provider e
        update e parent=d -> e at 0 below d in b
        update b parent=a -> b at 0 below a in a
        remove b -> no provider_has_children: provider b has 1 child provider(s)
        remove e -> e at 0 below d in a
        remove e -> no provider_unknown: provider e does not exist
        limit provider_depth_max=3
        provider f parent=d -> no limit_exceeded: provider_depth_max is 3, the request has 4
        provider f
        provider g parent=f
        update f parent=c -> no limit_exceeded: provider_depth_max is 3, the request has 4
        update f parent=b -> f at 0 below b in a
        limit providers_max=6
        provider h -> no limit_exceeded: providers_max is 6, the request has 7
        limit provider_name_chars_max=3
        provider h name=long -> no limit_exceeded: provider_name_chars_max is 3, the request has 4
        ",
    );
}

/// Class numbers depend on the order of creation, and a restored copy numbers classes by name. Found by the random
/// test.
#[test]
fn decisions_do_not_depend_on_the_order_in_which_classes_were_created() {
    check(
        "
        class CUSTOM_B
        class CUSTOM_A
        provider a
        stock a CUSTOM_B=1 CUSTOM_A=4 -> a at 1
        stock_add a DISK_GB=5 -> a at 2
        take x a:CUSTOM_A=1 a:CUSTOM_B=1
        stock a DISK_GB=5 -> no inventory_in_use: consumers hold CUSTOM_A, CUSTOM_B from provider a
        provider b
        take y b:DISK_GB=1 b:CUSTOM_B=1 b:VCPU=1 b:CUSTOM_A=1 -> no not_in_stock: provider b has no inventory of VCPU, DISK_GB, CUSTOM_A, CUSTOM_B
        take y b:CUSTOM_B=1 b:CUSTOM_A=1 -> no not_in_stock: provider b has no inventory of CUSTOM_A, CUSTOM_B
        ",
    );
}

#[test]
fn inventories_are_replaced_one_at_a_time_or_together() {
    check(
        "
        provider a
        stock a VCPU=8,reserved:1,ratio:1.6 DISK_GB=100 gen=0 -> a at 1
        has a -> at 1 VCPU 0/11 DISK_GB 0/100
        stock a VCPU=8 gen=0 -> no provider_generation_differs: provider a is at generation 1, not 0
        stock a VCPU=8 gen=1 -> a at 2
        # Writing the same inventories again raises the generation, too.
        stock a VCPU=8 gen=2 -> a at 3
        stock a NOPE=1 gen=3 -> no class_unknown: resource class NOPE does not exist
        stock x VCPU=1 -> no provider_unknown: provider x does not exist
        stock_add a VCPU=1 -> no inventory_exists: provider a already has an inventory of VCPU
        stock_add a NOPE=1 -> no class_unknown: resource class NOPE does not exist
        stock_add a MEMORY_MB=512 -> a at 4
        stock_put a DISK_GB=1 gen=4 -> no inventory_unknown: provider a has no inventory of DISK_GB
        stock_put a MEMORY_MB=1024 gen=4 -> a at 5
        stock_drop a DISK_GB -> no inventory_unknown: provider a has no inventory of DISK_GB
        stock_drop a NOPE -> no class_unknown: resource class NOPE does not exist
        take c a:VCPU=2
        has a -> at 6 VCPU 2/8 MEMORY_MB 0/1024
        stock_drop a VCPU -> no inventory_in_use: consumers hold VCPU from provider a
        stock a MEMORY_MB=1 gen=6 -> no inventory_in_use: consumers hold VCPU from provider a
        # An inventory may shrink below its usage.
        stock a VCPU=1 gen=6 -> a at 7
        has a -> at 7 VCPU 2/1
        remove a -> no provider_in_use: 1 consumer(s) hold allocations from provider a
        give c -> given up
        stock a gen=7 -> a at 8
        has a -> at 8
        limit inventories_per_provider_max=1
        stock a VCPU=1 DISK_GB=1 -> no limit_exceeded: inventories_per_provider_max is 1, the request has 2
        ",
    );
}

#[test]
fn traits_raise_the_generation_when_they_change_and_aggregates_when_the_request_says_so() {
    check(
        "
        provider a
        traits a HW_CPU_X86_AVX2 gen=0 -> a at 1
        traits a HW_CPU_X86_AVX2 gen=1 -> a at 1
        traits a HW_NOPE CUSTOM_X HW_NOPE -> no trait_unknown: unknown trait(s): CUSTOM_X, HW_NOPE
        trait CUSTOM_X -> created
        trait CUSTOM_X -> was there
        trait HW_CPU_X86_AVX2 -> was there
        trait CUSTOM_ -> no invalid: 'CUSTOM_' is not a valid name for a trait; use CUSTOM_ followed by capital letters, digits and underscores
        trait HW_NEW -> no invalid: 'HW_NEW' is not a valid name for a trait; use CUSTOM_ followed by capital letters, digits and underscores
        traits a CUSTOM_X HW_CPU_X86_AVX2 gen=0 -> no provider_generation_differs: provider a is at generation 1, not 0
        traits a CUSTOM_X HW_CPU_X86_AVX2 -> a at 2
        has a -> at 2 +HW_CPU_X86_AVX2 +CUSTOM_X
        drop_trait CUSTOM_X -> no trait_in_use: 1 provider(s) have the trait CUSTOM_X
        drop_trait HW_CPU_X86_AVX2 -> no trait_standard: HW_CPU_X86_AVX2 is a standard trait and cannot be changed
        traits a
        drop_trait CUSTOM_X -> gone
        drop_trait CUSTOM_X -> no trait_unknown: unknown trait(s): CUSTOM_X
        aggregates a g1 g2 gen=3 -> a at 4
        aggregates a g1 g2 gen=4 -> a at 5
        aggregates a g2 old -> a at 5
        aggregates a g1 gen=4 -> no provider_generation_differs: provider a is at generation 5, not 4
        has a -> at 5 @g2
        remove a
        limit traits_per_provider_max=1 aggregates_per_provider_max=1 custom_traits_max=0
        provider a
        traits a HW_CPU_X86_AVX2 HW_CPU_X86_AVX -> no limit_exceeded: traits_per_provider_max is 1, the request has 2
        aggregates a g1 g2 -> no limit_exceeded: aggregates_per_provider_max is 1, the request has 2
        trait CUSTOM_Y -> no limit_exceeded: custom_traits_max is 0, the request has 1
        ",
    );
}

#[test]
fn custom_classes_are_created_renamed_and_deleted() {
    check(
        "
        class CUSTOM_GPU -> created
        class CUSTOM_GPU -> no class_exists: resource class CUSTOM_GPU already exists
        class CUSTOM_GPU ensure -> was there
        class VCPU ensure -> was there
        class GPU -> no invalid: 'GPU' is not a valid name for a resource class; use CUSTOM_ followed by capital letters, digits and underscores
        rename_class CUSTOM_GPU CUSTOM_GPU -> was there
        rename_class CUSTOM_GPU CUSTOM_TPU -> created
        rename_class CUSTOM_GPU CUSTOM_X -> no class_unknown: resource class CUSTOM_GPU does not exist
        rename_class VCPU CUSTOM_X -> no class_standard: VCPU is a standard resource class and cannot be changed
        class CUSTOM_B
        rename_class CUSTOM_B CUSTOM_TPU -> no class_exists: resource class CUSTOM_TPU already exists
        provider a
        stock a CUSTOM_TPU=4
        take c a:CUSTOM_TPU=3
        # Allocations follow the new name.
        rename_class CUSTOM_TPU CUSTOM_GPU
        holds c -> at 1 a:CUSTOM_GPU=3 p/u/-
        drop_class CUSTOM_GPU -> no class_in_use: 1 provider(s) have an inventory of CUSTOM_GPU
        give c
        stock a
        drop_class CUSTOM_GPU -> gone
        drop_class CUSTOM_GPU -> no class_unknown: resource class CUSTOM_GPU does not exist
        drop_class VCPU -> no class_standard: VCPU is a standard resource class and cannot be changed
        limit custom_classes_max=1 custom_name_bytes_max=9
        class CUSTOM_C -> no limit_exceeded: custom_classes_max is 1, the request has 2
        class CUSTOM_LONG -> no limit_exceeded: custom_name_bytes_max is 9, the request has 11
        ",
    );
}

#[test]
fn allocations_are_replaced_as_a_whole_and_raise_generations() {
    check(
        "
        provider a
        provider b
        provider empty
        stock a VCPU=4 DISK_GB=100,min:10,max:50,step:10
        stock b VCPU=4
        take c a:VCPU=2 a:DISK_GB=20 expect=absent -> c at 1
        has a -> at 2 VCPU 2/4 DISK_GB 20/100
        take c a:VCPU=2 expect=absent -> no consumer_generation_differs: consumer c is at generation 1
        take c a:VCPU=2 expect=3 -> no consumer_generation_differs: consumer c is at generation 1
        take d a:VCPU=2 expect=1 -> no consumer_generation_differs: consumer d holds nothing and has no generation
        # All allocations are replaced; the generation of a provider that it leaves does not change.
        take c b:VCPU=4 expect=1 type=INSTANCE -> c at 2
        has a -> at 2 VCPU 0/4 DISK_GB 0/100
        has b -> at 2 VCPU 4/4
        take d b:VCPU=1 -> no capacity_exceeded: provider b has 4 VCPU and 4 are in use; 1 more do not fit
        take d x:VCPU=1 -> no provider_unknown: provider x does not exist
        take d a:NOPE=1 -> no class_unknown: resource class NOPE does not exist
        take d empty:VCPU=1 -> no not_in_stock: provider empty has no inventory of VCPU
        take d a:VCPU=1 b:DISK_GB=10 -> no not_in_stock: provider b has no inventory of DISK_GB
        take d a:DISK_GB=5 -> no portion_violated: provider a allocates DISK_GB from 10 to 50 in steps of 10, not 5
        take d a:DISK_GB=60 -> no portion_violated: provider a allocates DISK_GB from 10 to 50 in steps of 10, not 60
        take d a:DISK_GB=15 -> no portion_violated: provider a allocates DISK_GB from 10 to 50 in steps of 10, not 15
        take d a:VCPU=0 -> no invalid: 0 of VCPU is requested; omit the class, or request at least 1
        # Without a new type the old one stays; project and user follow the request.
        take c b:VCPU=1 project=q -> c at 3
        holds c -> at 3 b:VCPU=1 q/u/INSTANCE
        take c -> c gone
        has b -> at 4 VCPU 0/4
        take c -> c gone
        holds c -> nothing
        take c a:VCPU=1 -> c at 1
        give c expect=2 -> no consumer_generation_differs: consumer c is at generation 1
        give c -> given up
        # A release does not change the generation of a provider.
        has a -> at 3 VCPU 0/4 DISK_GB 0/100
        give c -> held nothing
        give c expect=present -> no consumer_unknown: consumer c holds nothing
        limit consumers_per_request_max=1 allocations_per_consumer_max=1 owner_bytes_max=3
        take c a:VCPU=1 | d a:VCPU=1 -> no limit_exceeded: consumers_per_request_max is 1, the request has 2
        take c a:VCPU=1 b:VCPU=1 -> no limit_exceeded: allocations_per_consumer_max is 1, the request has 2
        take c a:VCPU=1 project=long -> no limit_exceeded: owner_bytes_max is 3, the request has 4
        limit consumers_max=0
        take c a:VCPU=1 -> no limit_exceeded: consumers_max is 0, the request has 1
        ",
    );
}

#[test]
fn allocations_of_several_consumers_are_written_atomically() {
    check(
        "
        provider a
        provider b
        stock a VCPU=4
        stock b VCPU=4
        take c a:VCPU=4
        # A move needs the capacity only once, in any order of the consumers.
        take d a:VCPU=4 | c -> d at 1, c gone
        take c b:VCPU=1 | d b:VCPU=3 -> c at 1, d at 2
        has b -> at 2 VCPU 4/4
        take c b:VCPU=2 | d b:VCPU=3 -> no capacity_exceeded: provider b has 4 VCPU and 0 are in use; 5 more do not fit
        take c b:VCPU=1 | d b:VCPU=1 expect=9 -> no consumer_generation_differs: consumer d is at generation 2
        take c b:VCPU=1 | c b:VCPU=1 -> no invalid: consumer c is named twice; name each consumer once, with all its allocations
        has b -> at 2 VCPU 4/4
        # If a provider is overcommitted, changes that do not increase its usage are allowed.
        stock b VCPU=2
        take d b:VCPU=2 -> d at 3
        take d b:VCPU=3 -> no capacity_exceeded: provider b has 2 VCPU and 1 are in use; 3 more do not fit
        take d b:VCPU=2 -> d at 4
        ",
    );
}

#[test]
fn a_reshape_moves_inventory_and_allocations_in_one_step() {
    check(
        "
        provider host
        provider numa parent=host
        stock host VCPU=8 DISK_GB=10
        take c host:VCPU=4 host:DISK_GB=5
        take d host:VCPU=1
        reshape host gen=2 DISK_GB=10 | numa gen=0 VCPU=8 => c numa:VCPU=4 host:DISK_GB=5 -> no provider_generation_differs: provider host is at generation 3, not 2
        reshape host gen=3 DISK_GB=10 | numa gen=0 VCPU=8 => c numa:VCPU=4 host:DISK_GB=5 -> no inventory_in_use: consumers hold VCPU from provider host
        reshape host gen=3 DISK_GB=10 | numa gen=0 VCPU=4 => c numa:VCPU=4 host:DISK_GB=5 | d numa:VCPU=1 -> no capacity_exceeded: provider numa has 4 VCPU and 0 are in use; 5 more do not fit
        reshape host gen=3 NOPE=1 => c expect=7 -> no consumer_generation_differs: consumer c is at generation 1
        reshape host gen=3 NOPE=1 => c -> no class_unknown: resource class NOPE does not exist
        reshape host gen=3 DISK_GB=10 | numa gen=0 VCPU=8 => c numa:VCPU=4 host:DISK_GB=5 | d numa:VCPU=1 -> reshaped
        has host -> at 6 DISK_GB 5/10
        has numa -> at 3 VCPU 5/8
        holds d -> at 2 numa:VCPU=1 p/u/-
        # An empty inventory needs no intermediate step.
        reshape numa gen=3 => c | d -> reshaped
        has numa -> at 5
        ",
    );
}

#[test]
fn an_expired_lease_is_visible_until_it_is_released() {
    check(
        "
        provider a
        stock a VCPU=4
        take c a:VCPU=2 ttl=10s -> c at 1
        take k a:VCPU=2 ttl=10s keep -> k at 1
        extend c ttl=20s expect=9 -> no consumer_generation_differs: consumer c is at generation 1
        extend c ttl=20s -> at 2 until 1000020000
        extend x ttl=20s -> no consumer_unknown: consumer x holds nothing
        extend c ttl=0s -> no invalid: ttl is zero; leave it out, or give a time above zero
        at +15s
        tick -> 0 events
        # The lease has expired, reads show it, and the allocation still counts.
        holds k -> at 1 a:VCPU=2 p/u/- expired
        take d a:VCPU=1 -> no capacity_exceeded: provider a has 4 VCPU and 4 are in use; 1 more do not fit
        holds c -> at 2 a:VCPU=2 p/u/-
        at +5s
        holds c -> at 2 a:VCPU=2 p/u/- expired
        tick -> 1 events
        holds c -> nothing
        # With `keep`, a client has to release or extend it.
        holds k -> at 1 a:VCPU=2 p/u/- expired
        extend k -> at 2 for ever
        holds k -> at 2 a:VCPU=2 p/u/-
        at +9999d
        tick -> 0 events
        take c a:VCPU=2 ttl=1s
        give c
        at +10s
        tick -> 0 events
        limit lease_ms_max=1000
        take c a:VCPU=1 ttl=2s -> no limit_exceeded: lease_ms_max is 1000, the request has 2000
        ",
    );
}

#[test]
fn a_transaction_takes_capacity_and_values_atomically() {
    check(
        "
        provider host
        stock host VCPU=4
        pool vni1 id32 5000-5001
        pool vni2 id32 5000-5001
        pool vni3 id32 5000-5001
        pool links ipv4_prefix 10.0.0.0/30
        begin
        check_consumer vm expect=absent
        take vm host:VCPU=2 expect=absent
        claim vni1+vni2+vni3 net owner=vm
        claim links vm len=31
        end -> holds; vm at 1; new 5000 5000 5000; new 10.0.0.0/31
        begin
        check_provider host expect=2
        take vm2 host:VCPU=2
        claim vni1+vni2+vni3 net2
        claim links vm2 len=31
        end -> holds; vm2 at 1; new 5001 5001 5001; new 10.0.0.2/31
        has host -> at 3 VCPU 4/4
        take vm2
        # The last address is taken, so the whole transaction is refused.
        begin
        take vm3 host:VCPU=1
        claim links vm3 len=31
        end -> no op 1: exhausted: pool 'links' has no value free [size 4, held 4]
        holds vm3 -> nothing
        has host -> at 4 VCPU 2/4
        begin
        release links vm2
        check_consumer vm expect=2
        end -> no op 1: check_failed: the condition on consumer vm does not hold: it is at generation 1
        begin
        check_provider nohost expect=present
        end -> no check_failed: the condition on provider nohost does not hold: it does not exist
        # The answer to a request with an idempotency key is stored for capacity as well.
        begin
        take vm4 host:VCPU=1
        end key=once -> vm4 at 1
        give vm4
        begin
        take vm4 host:VCPU=1
        end key=once -> vm4 at 1
        holds vm4 -> nothing
        ",
    );
}

#[test]
fn project_usage_is_maintained() {
    check(
        "
        provider a
        stock a VCPU=100 DISK_GB=100
        take c a:VCPU=2 a:DISK_GB=5 project=p user=u1 type=INSTANCE
        take d a:VCPU=3 project=p user=u2
        take e a:VCPU=4 project=pp user=u1
        take f a:VCPU=5 project=p user=u2 type=INSTANCE
        uses p -> INSTANCE 1x VCPU=2 DISK_GB=5; - 1x VCPU=3; INSTANCE 1x VCPU=5
        uses p user=u2 -> - 1x VCPU=3; INSTANCE 1x VCPU=5
        uses p user=other ->
        take d a:VCPU=1 project=pp user=u1
        uses pp -> - 2x VCPU=5
        give c
        give f
        uses p ->
        ",
    );
}
