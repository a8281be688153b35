//! Random requests to a pool with an external allocator and to a pool with an authority, beside naive models of both. The
//! world checks after each command that the state is sound, restored and replayed alike.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

use crate::values::script::ask;
use crate::values::world::World;

#[derive(Debug, Clone)]
enum Line {
    Ask {
        pool: &'static str,
        key: &'static str,
        id: Option<u32>,
        site: bool,
    },
    Withdraw {
        pool: &'static str,
        key: &'static str,
    },
    Reply {
        key: &'static str,
        id: Option<u32>,
    },
    /// The authority answers what it was last asked for this key.
    Authority {
        key: &'static str,
        refuses: bool,
    },
    Resize {
        last: u32,
    },
}

fn line() -> impl Strategy<Value = Line> {
    let pool = || select(vec!["ext", "far"]);
    let key = || select(vec!["a", "b", "c", "d"]);
    let id = || prop::option::weighted(0.4, 0..8u32);
    prop_oneof![
        4 => (pool(), key(), id(), prop::bool::weighted(0.2))
            .prop_map(|(pool, key, id, site)| Line::Ask { pool, key, id, site }),
        2 => (pool(), key()).prop_map(|(pool, key)| Line::Withdraw { pool, key }),
        4 => (key(), prop::option::weighted(0.9, 0..8u32))
            .prop_map(|(key, id)| Line::Reply { key, id }),
        4 => (key(), prop::bool::weighted(0.2))
            .prop_map(|(key, refuses)| Line::Authority { key, refuses }),
        1 => (3..7u32).prop_map(|last| Line::Resize { last }),
    ]
}

/// A request: what it wants, whether it has the site's node, and its answer.
#[derive(Debug, Clone)]
struct Asked {
    id: Option<u32>,
    site: bool,
    answer: Option<Result<u32, ()>>,
}

/// The pool with the external allocator, as its documentation says.
struct External {
    last: u32,
    asked: BTreeMap<&'static str, Asked>,
}

impl External {
    fn ask(&mut self, key: &'static str, id: Option<u32>, site: bool) {
        let known = self.asked.get(key).cloned();
        let answer = known.and_then(|known| match known.answer {
            Some(Ok(value)) if known.site == site && id.is_none_or(|id| id == value) => {
                Some(Ok(value))
            }
            answer if known.site == site && known.id == id => answer,
            _ => None,
        });
        self.asked.insert(key, Asked { id, site, answer });
    }

    fn reply(&mut self, key: &'static str, id: Option<u32>) {
        let taken =
            |asked: (&&'static str, &Asked)| *asked.0 != key && asked.1.answer == id.map(Ok);
        let is_taken = id.is_some() && self.asked.iter().any(taken);
        let Some(asked) = self.asked.get_mut(key) else { return };
        match id {
            None => asked.answer = Some(Err(())),
            Some(id) if id <= self.last && !is_taken && asked.id.is_none_or(|want| want == id) => {
                asked.answer = Some(Ok(id));
            }
            Some(_) => {}
        }
    }

    fn resize(&mut self, last: u32) {
        self.last = last;
        for asked in self.asked.values_mut() {
            if matches!(asked.answer, Some(Ok(value)) if value > last) {
                asked.answer = None;
            }
        }
    }

    fn shown(&self) -> String {
        let one = |(key, asked): (&&str, &Asked)| match asked.answer {
            None => format!("{key}=wanted"),
            Some(Ok(value)) => format!("{key}={value}"),
            Some(Err(())) => format!("{key}=! refused_by_allocator: no"),
        };
        self.asked.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

/// Lets the authority answer until nothing is open. It grants the wanted id, or the lowest that it has not granted.
fn answer(world: &mut World, granted: &mut BTreeMap<String, u32>, key: &str, refuses: bool) {
    let claim = allod_core::view::authority::claim(&world.state, "far", key).cloned();
    let Some(claim) = claim else { return };
    let reference = claim.request.reference.to_string();
    match claim.progress.state.name() {
        "releasing" => {
            granted.remove(&reference);
            ask(world, &format!("gone far {key}"));
        }
        "wanted" if refuses => {
            ask(world, &format!("refuses far {key}"));
        }
        "wanted" => {
            let wanted = claim.request.params.want.value.map(|value| value.first as u32);
            let free = |id: &u32| !granted.values().any(|other| other == id);
            let id = wanted.or_else(|| (0..8).find(free)).filter(free);
            match id {
                Some(id) => {
                    granted.insert(reference, id);
                    ask(world, &format!("grants far {key} {id}"));
                }
                None => drop(ask(world, &format!("refuses far {key}"))),
            }
        }
        _ => {}
    }
}

fn play(lines: Vec<Line>) {
    let mut world = World::new();
    let mut external = External { last: 7, asked: BTreeMap::new() };
    let mut granted = BTreeMap::new();
    for line in [
        "limit outbox_max=1000",
        "inventory ipam",
        "idpool ext 0-7 external",
        "idpool far 0-7 by=ipam",
    ] {
        ask(&mut world, line);
    }
    for line in lines {
        match line {
            Line::Ask { pool, key, id, site } => {
                let id_word = id.map(|id| format!(" id={id}")).unwrap_or_default();
                let site_word = if site { " site=acme:vrf" } else { "" };
                ask(&mut world, &format!("ask {pool} {key}{id_word}{site_word} svc=/{key}"));
                if pool == "ext" {
                    external.ask(key, id, site);
                }
            }
            Line::Withdraw { pool, key } => {
                ask(&mut world, &format!("withdraw {pool} {key}"));
                if pool == "ext" {
                    external.asked.remove(key);
                }
            }
            Line::Reply { key, id } => {
                let words = id.map_or("no=no".to_owned(), |id| id.to_string());
                ask(&mut world, &format!("reply ext {key} {words}"));
                external.reply(key, id);
            }
            Line::Authority { key, refuses } => answer(&mut world, &mut granted, key, refuses),
            Line::Resize { last } => {
                ask(&mut world, &format!("idpool ext 0-{last} external"));
                external.resize(last);
            }
        }
        assert_eq!(ask(&mut world, "answers ext"), external.shown());
    }
    // When the authority has answered everything, each value that it has granted is that of a request, and none is left.
    for _ in 0..3 {
        for key in ["a", "b", "c", "d"] {
            answer(&mut world, &mut granted, key, false);
        }
    }
    let answers = ask(&mut world, "answers far");
    let values = answers.split(' ').filter_map(|one| one.split_once('=')?.1.parse().ok());
    let mut values: Vec<u32> = values.collect();
    values.sort_unstable();
    let mut wanted: Vec<u32> = granted.into_values().collect();
    wanted.sort_unstable();
    assert_eq!(values, wanted, "{answers}");
    assert!(!answers.contains("wanted"), "{answers}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn requests_that_are_answered_from_outside_agree_with_the_models(
        lines in prop::collection::vec(line(), 1..40)
    ) {
        play(lines);
    }
}
