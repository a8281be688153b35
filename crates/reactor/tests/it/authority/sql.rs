//! The SQL connector on a real PostgreSQL server.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use allod_reactor::authority::{
    AuthorityAnswer, AuthorityKind, Connector, Finds, Known, Secret, Settings, Statements, Wish,
};
use allod_testkit::postgres::Cluster;
use serde_json::json;

use crate::authority::{ask, known, shown};

/// One server for all tests. It is removed when this process ends.
pub fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start(&[]).unwrap())
}

fn settings(statements: Statements) -> Settings {
    Settings::new(AuthorityKind::Sql(statements), cluster().url())
}

fn text(sql: &str) -> Option<String> {
    Some(sql.to_owned())
}

/// The statements of the specification's example, for this table. The example computes the next value from the maximum.
pub fn example(table: &str) -> Statements {
    let in_table = |sql: &str| text(&sql.replace("allocation ", &format!("{table} ")));
    Statements {
        find: in_table("SELECT allocated_value FROM allocation WHERE attribute=:pool AND owner=:ref"),
        take: in_table(
            "SELECT max(allocated_value) FROM allocation where attribute=:pool;
             INSERT INTO allocation (attribute, owner, allocated_value)
             VALUES (:pool, :ref, coalesce(:max, 0) + 1) RETURNING allocated_value",
        ),
        release: in_table("DELETE FROM allocation WHERE attribute=:pool AND owner=:ref"),
        list: in_table(
            "SELECT owner AS ref, allocated_value AS value FROM allocation WHERE :after IS NULL OR owner > :after
             ORDER BY owner LIMIT 3",
        ),
        lookup: text("SELECT mgmt_ip FROM routers WHERE name=:name"),
    }
}

pub fn table(name: &str) {
    let columns = "attribute varchar, owner uuid, allocated_value integer";
    cluster()
        .sql(&format!("CREATE TABLE {name} ({columns}, PRIMARY KEY (attribute, owner))"))
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_parallel_takers_of_the_example_get_different_values() {
    table("parallel_allocation");
    let mut settings = settings(example("parallel_allocation"));
    settings.parallel = 8;
    settings.timeout = Duration::from_secs(60);
    let connector = Arc::new(Connector::new(settings).unwrap());
    let takers = (0..40_u32).map(|n| {
        let connector = connector.clone();
        tokio::spawn(async move {
            let mut ask = ask(Wish::Any);
            ask.reference = format!("6f1c2d3e-0000-5000-8000-{n:012}");
            let first = connector.grant(&ask).await;
            // A repeated request returns the same grant.
            assert_eq!(connector.grant(&ask).await, first);
            match first {
                AuthorityAnswer::Yes(grant) => grant.value.parse::<u32>().unwrap(),
                other => panic!("{other:?}"),
            }
        })
    });
    let takers: Vec<_> = takers.collect();
    let mut values = BTreeSet::new();
    for taker in takers {
        assert!(values.insert(taker.await.unwrap()));
    }
    assert_eq!(values, (1..=40).collect());
    let mut listed = Vec::new();
    let mut after = None;
    loop {
        let AuthorityAnswer::Yes(page) = connector.list(after.as_deref()).await else { panic!() };
        listed.extend(page.grants.into_iter().map(|grant| grant.reference));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((listed.len(), BTreeSet::from_iter(&listed).len()), (40, 40));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_is_found_and_released_by_reference() {
    table("one_allocation");
    cluster().sql("CREATE TABLE routers (name text, mgmt_ip inet)").unwrap();
    cluster().sql("INSERT INTO routers VALUES ('r1', '10.0.0.1'), ('r2', NULL)").unwrap();
    let connector = Connector::new(settings(example("one_allocation"))).unwrap();
    let AuthorityAnswer::Yes(abilities) = connector.abilities().await else { panic!() };
    assert_eq!((abilities.finds, abilities.repeats), (Finds::ByReference, true));
    assert_eq!(shown(&connector.find(&known()).await), "yes None");
    let granted = connector.grant(&ask(Wish::Any)).await;
    assert!(shown(&granted).contains("value: \"1\""), "{granted:?}");
    assert!(shown(&connector.find(&known()).await).contains("value: \"1\""));
    // The statement cannot serve a wish.
    assert_eq!(shown(&connector.grant(&ask(Wish::Value("7".into()))).await), "no Differs");
    for _ in 0..2 {
        assert_eq!(connector.release(&known()).await, AuthorityAnswer::Yes(()));
        assert_eq!(shown(&connector.find(&known()).await), "yes None");
    }
    let AuthorityAnswer::Yes(Some(fact)) = connector.look_up("r1").await else { panic!() };
    assert_eq!(fact.value, json!("10.0.0.1"));
    assert_eq!(connector.look_up("r2").await, AuthorityAnswer::Yes(None));
    assert_eq!(connector.look_up("'; DROP TABLE routers; --").await, AuthorityAnswer::Yes(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_free_values_can_be_exhausted_and_searched_by_value() {
    cluster().sql("CREATE TABLE free (id int PRIMARY KEY, holder text, site text)").unwrap();
    cluster()
        .sql("INSERT INTO free VALUES (1, NULL, 'a'), (2, NULL, 'a'), (3, NULL, 'b')")
        .unwrap();
    let statements = Statements {
        find: text("SELECT id AS value FROM free WHERE id = :value AND holder IS NOT NULL"),
        take: text(
            "UPDATE free SET holder = :owner WHERE id = (SELECT min(id) FROM free
             WHERE holder IS NULL AND site = :site AND (:value IS NULL OR id = :value)) RETURNING id",
        ),
        release: text("UPDATE free SET holder = NULL WHERE id = :value"),
        ..Statements::default()
    };
    let connector = Connector::new(settings(statements)).unwrap();
    let at = |site: &str, wish: Wish| {
        let mut ask = ask(wish);
        ask.params.insert("site".into(), site.into());
        ask
    };
    let value = |n: &str| Wish::Value(n.into());
    assert_eq!(shown(&connector.grant(&ask(Wish::Any)).await), "no Differs");
    let second = connector.grant(&at("a", value("2"))).await;
    assert!(shown(&second).contains("value: \"2\""), "{second:?}");
    assert_eq!(shown(&connector.grant(&at("a", value("2"))).await), "no Taken");
    assert!(shown(&connector.grant(&at("a", Wish::Any)).await).contains("value: \"1\""));
    assert_eq!(shown(&connector.grant(&at("a", Wish::Any)).await), "no Exhausted");
    assert_eq!(shown(&connector.find(&known()).await), "unknown");
    let known = Known { value: Some("2".into()), ..known() };
    assert!(shown(&connector.find(&known).await).contains("value: \"2\""));
    assert_eq!(connector.release(&known).await, AuthorityAnswer::Yes(()));
    assert_eq!(shown(&connector.find(&known).await), "yes None");
    assert_eq!(connector.list(None).await, AuthorityAnswer::Unsupported);
    assert_eq!(connector.look_up("x").await, AuthorityAnswer::Unsupported);
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_statements_change_nothing_and_say_why() {
    cluster().sql("CREATE TABLE once (id int UNIQUE, ref text)").unwrap();
    let take = |sql: &str| {
        let statements = Statements { take: text(sql), ..Statements::default() };
        Connector::new(settings(statements)).unwrap()
    };
    for (sql, words) in [
        ("SELEC 1", "syntax error"),
        ("SELECT value FROM nowhere", "\"nowhere\" does not exist (SQLSTATE 42P01)"),
        ("INSERT INTO once VALUES (7, :ref); SELECT 1/0", "division by zero"),
        ("INSERT INTO once VALUES (7, :ref) RETURNING id, ref AS other", "name one of them value"),
        ("INSERT INTO once VALUES (7, ''), (8, '') RETURNING id", "2 rows instead of one"),
        ("INSERT INTO once VALUES (7, :ref) RETURNING now()", "cast it to text"),
        ("INSERT INTO once VALUES (7, :ref) RETURNING 'a b'", "no spaces"),
        ("SELECT 1; SELECT :unknown", "there is no parameter :unknown"),
        ("SELECT id FROM once WHERE id = :owner", "invalid input syntax for type integer"),
    ] {
        let answer = take(sql).grant(&ask(Wish::Any)).await;
        let AuthorityAnswer::NotNow { message, .. } = &answer else { panic!("{sql}: {answer:?}") };
        assert!(message.starts_with("take: ") && message.contains(words), "{sql}: {message}");
        assert_eq!(cluster().sql("SELECT count(*) FROM once").unwrap(), "0");
    }
    // A duplicate is tried once more.
    let connector = take("INSERT INTO once VALUES (9, :ref) RETURNING id");
    assert!(shown(&connector.grant(&ask(Wish::Any)).await).contains("value: \"9\""));
    let answer = connector.grant(&ask(Wish::Any)).await;
    let AuthorityAnswer::NotNow { message, .. } = &answer else { panic!("{answer:?}") };
    assert!(message.contains("SQLSTATE 23505"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn time_limits_and_lost_connections_before_commit_change_nothing() {
    cluster().sql("CREATE TABLE slow (id int)").unwrap();
    let sql = "INSERT INTO slow VALUES (1); SELECT 1 AS value FROM pg_sleep(30)";
    let mut settings = settings(Statements { take: text(sql), ..Statements::default() });
    settings.timeout = Duration::from_millis(500);
    settings.secret = Some(Secret("s3cret".into()));
    let connector = Connector::new(settings.clone()).unwrap();
    let answer = connector.grant(&ask(Wish::Any)).await;
    assert_eq!(shown(&answer), "not now None", "{answer:?}");
    cluster().sql("SELECT pg_sleep(0.6)").unwrap();
    assert_eq!(cluster().sql("SELECT count(*) FROM slow").unwrap(), "0");

    settings.url = "postgres://allod@127.0.0.1:1/postgres".into();
    let answer = Connector::new(settings).unwrap().grant(&ask(Wish::Any)).await;
    let AuthorityAnswer::NotNow { message, .. } = &answer else { panic!("{answer:?}") };
    assert!(message.starts_with("connect: ") && !message.contains("s3cret"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_ended_between_operations_is_replaced() {
    let statements =
        Statements { lookup: text("SELECT pg_backend_pid()"), ..Statements::default() };
    let connector = Connector::new(settings(statements)).unwrap();
    let pid = |answer| match answer {
        AuthorityAnswer::Yes(Some(fact)) => {
            let allod_reactor::authority::Fact { value, .. } = fact;
            value.as_i64().unwrap()
        }
        other => panic!("{other:?}"),
    };
    let first = pid(connector.look_up("a").await);
    assert_eq!(pid(connector.look_up("a").await), first);
    cluster().sql(&format!("SELECT pg_terminate_backend({first}, 5000)")).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_ne!(pid(connector.look_up("a").await), first);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_in_commit_is_unknown() {
    // A deferred trigger runs in COMMIT.
    cluster().sql("CREATE TABLE late (id int)").unwrap();
    cluster()
        .sql("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'late'; END $$")
        .unwrap();
    cluster()
        .sql("CREATE CONSTRAINT TRIGGER t AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()")
        .unwrap();
    let take = text("INSERT INTO late VALUES (1) RETURNING id");
    let connector = Connector::new(settings(Statements { take, ..Statements::default() })).unwrap();
    assert_eq!(shown(&connector.grant(&ask(Wish::Any)).await), "unknown");
}

#[test]
fn invalid_statements_are_refused_at_once() {
    for (statements, words) in [
        (Statements { take: text("COMMIT"), ..Statements::default() }, "COMMIT is not allowed"),
        (
            Statements { find: text("SELECT :owner"), ..Statements::default() },
            "no parameter :owner",
        ),
        (Statements { lookup: text("SELECT :ref"), ..Statements::default() }, "use :name"),
    ] {
        let error = Connector::new(settings(statements)).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}
