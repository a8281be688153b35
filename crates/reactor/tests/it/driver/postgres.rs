//! The driver with tables in a real PostgreSQL database: the example of Inmanta's specification.

use std::collections::BTreeSet;
use std::sync::Arc;

use allod_core::authority::{AuthoritySpec, Protocol, SqlStatements};

use crate::authority::sql::{cluster, example, table};
use crate::driver::world::World;

fn spec(table: &str) -> AuthoritySpec {
    let statements = example(table);
    let text = |statement: Option<String>| statement.map(Arc::from);
    let statements = SqlStatements {
        find: text(statements.find),
        take: text(statements.take),
        release: text(statements.release),
        list: text(statements.list),
        lookup: text(statements.lookup),
    };
    AuthoritySpec {
        parallel: 8,
        timeout_ms: 20_000,
        ..AuthoritySpec::new(Protocol::Sql(statements), &cluster().url())
    }
}

fn rows(table: &str) -> Vec<(String, u64)> {
    let sql = format!("SELECT owner || ' ' || allocated_value FROM {table} ORDER BY owner");
    let text = cluster().sql(&sql).unwrap();
    let rows = text.lines().filter_map(|line| line.split_once(' '));
    rows.map(|(owner, value)| (owner.to_owned(), value.parse().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_the_specification_survives_lost_connections_and_restarts() {
    const TABLE: &str = "driver_allocation";
    table(TABLE);
    let mut world = World::new().await;
    world.pool("vlan_id", spec(TABLE)).await;
    for n in 0..24 {
        world.ask("vlan_id", &format!("k{n}")).await;
        if n % 10 == 9 {
            let others = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%driver_allocation%' AND pid <> pg_backend_pid()";
            cluster().sql(others).unwrap();
        }
        if n == 20 {
            world = world.restart().await;
        }
    }
    assert!(world.reaches(|| world.held("vlan_id").len() == 24).await);
    let held = world.held("vlan_id");
    assert_eq!(held, rows(TABLE));
    let values: BTreeSet<u64> = held.iter().map(|(_, value)| *value).collect();
    assert_eq!(values.len(), 24);
    for n in 0..24 {
        world.release("vlan_id", &format!("k{n}")).await;
    }
    assert!(world.reaches(|| rows(TABLE).is_empty()).await);
    assert!(world.reaches(|| world.held("vlan_id").is_empty()).await);
}
