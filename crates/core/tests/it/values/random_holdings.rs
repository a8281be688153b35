//! Random commands about providers and consumers. The test world checks after each command that the invariants hold,
//! that a replica and a restored copy agree, and that the change can be undone.

use proptest::prelude::*;
use proptest::sample::select;

use crate::values::script::{ask, check};
use crate::values::world::{dump, dump_frozen};

fn provider() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "c", "d"])
}

fn class() -> impl Strategy<Value = &'static str> {
    select(vec!["VCPU", "DISK_GB", "CUSTOM_A", "CUSTOM_B"])
}

fn consumer() -> impl Strategy<Value = &'static str> {
    select(vec!["c1", "c2", "c3"])
}

fn seen() -> impl Strategy<Value = &'static str> {
    select(vec!["", "", "", " gen=0", " gen=1", " gen=2", " gen=3"])
}

fn expect() -> impl Strategy<Value = &'static str> {
    select(vec!["", "", "", " expect=absent", " expect=present", " expect=1"])
}

fn inventory() -> impl Strategy<Value = String> {
    (class(), 1..9u32, 0..3u32, 1..3u32, select(vec!["1", "1.5", "0.5"])).prop_map(
        |(class, total, reserved, step, ratio)| {
            format!("{class}={total},reserved:{reserved},step:{step},ratio:{ratio}")
        },
    )
}

fn inventories() -> impl Strategy<Value = String> {
    prop::collection::vec(inventory(), 0..4).prop_map(|mut all| {
        let class = |text: &String| text.split('=').next().unwrap_or_default().to_owned();
        all.sort_by_key(class);
        all.dedup_by_key(|text| class(text));
        all.join(" ")
    })
}

fn holding() -> impl Strategy<Value = String> {
    let held = prop::collection::btree_map((provider(), class()), 1..5u32, 0..4);
    let lease = select(vec!["", "", " ttl=1s", " ttl=1s keep"]);
    (consumer(), held, expect(), lease, select(vec!["p", "q"])).prop_map(
        |(consumer, held, expect, lease, project)| {
            let held = held.iter().map(|((provider, class), n)| format!(" {provider}:{class}={n}"));
            format!("{consumer}{}{expect}{lease} project={project}", held.collect::<String>())
        },
    )
}

fn holdings() -> impl Strategy<Value = String> {
    prop::collection::vec(holding(), 1..4).prop_map(|all| all.join(" | "))
}

fn line() -> impl Strategy<Value = String> {
    let parent =
        || select(vec!["", " parent=a", " parent=b", " parent=c", " adopt=a", " parent=none"]);
    prop_oneof![
        4 => (provider(), select(vec!["", " parent=a", " parent=b"]))
            .prop_map(|(provider, parent)| format!("provider {provider}{parent}")),
        2 => (provider(), parent()).prop_map(|(provider, to)| format!("update {provider}{to}")),
        1 => provider().prop_map(|provider| format!("remove {provider}")),
        5 => (provider(), inventories(), seen())
            .prop_map(|(provider, stock, seen)| format!("stock {provider} {stock}{seen}")),
        1 => (provider(), inventory()).prop_map(|(provider, one)| format!("stock_add {provider} {one}")),
        1 => (provider(), inventory()).prop_map(|(provider, one)| format!("stock_put {provider} {one}")),
        1 => (provider(), class()).prop_map(|(provider, one)| format!("stock_drop {provider} {one}")),
        1 => (provider(), select(vec!["", " CUSTOM_X", " HW_CPU_X86_AVX2 CUSTOM_X"]), seen())
            .prop_map(|(provider, traits, seen)| format!("traits {provider}{traits}{seen}")),
        1 => (provider(), select(vec!["", " g1", " g1 g2", " g2 old"]), seen())
            .prop_map(|(provider, sets, seen)| format!("aggregates {provider}{sets}{seen}")),
        1 => select(vec!["CUSTOM_A", "CUSTOM_B"]).prop_map(|class| format!("class {class} ensure")),
        1 => select(vec!["rename_class CUSTOM_A CUSTOM_B", "rename_class CUSTOM_B CUSTOM_A"])
            .prop_map(String::from),
        1 => select(vec!["drop_class CUSTOM_A", "drop_class CUSTOM_B", "trait CUSTOM_X", "drop_trait CUSTOM_X"])
            .prop_map(String::from),
        8 => holdings().prop_map(|all| format!("take {all}")),
        2 => (consumer(), expect()).prop_map(|(consumer, expect)| format!("give {consumer}{expect}")),
        1 => (consumer(), expect(), select(vec!["", " ttl=2s", " ttl=2s keep"]))
            .prop_map(|(consumer, expect, lease)| format!("extend {consumer}{expect}{lease}")),
        2 => (provider(), 0..6u32, inventories(), provider(), 0..6u32, inventories(), holdings())
            .prop_map(|(one, at, stock, other, there, more, held)| {
                format!("reshape {one} gen={at} {stock} | {other} gen={there} {more} => {held}")
            }),
        1 => Just("at +1s".to_owned()),
        1 => Just("tick".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn random_commands_keep_the_invariants(lines in prop::collection::vec(line().boxed(), 1..50)) {
        let mut world = check("
            class CUSTOM_A
            provider a
            provider b parent=a
            stock a VCPU=8 DISK_GB=8
            stock b CUSTOM_A=4
        ");
        // Frozen copies of every step, which must not change with the steps that follow.
        let mut copies = Vec::new();
        for line in &lines {
            copies.push((world.state.freeze(), dump(&world.state)));
            ask(&mut world, line);
        }
        for (frozen, text) in &copies {
            prop_assert_eq!(&dump_frozen(frozen), text);
        }
    }
}
