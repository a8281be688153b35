//! What every project and user holds in all, kept up to date: asking for it looks at no consumer.

use std::collections::BTreeMap;
use std::ops::Bound::{Included, Unbounded};
use std::sync::Arc;

use super::consumer::Consumer;
use super::names::NameIx;

/// Project, user, and type of consumer.
type Whose = (Arc<str>, Arc<str>, Option<Arc<str>>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usages {
    rows: BTreeMap<Whose, Usage>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    pub consumers: u64,
    pub used: BTreeMap<NameIx, u64>,
}

impl Usages {
    /// What the consumers of a project hold, or those of one of its users, by type of consumer.
    pub fn of<'a>(
        &'a self,
        project: &'a str,
        user: Option<&'a str>,
    ) -> impl Iterator<Item = (Option<&'a Arc<str>>, &'a Usage)> {
        let from: Whose = (project.into(), user.unwrap_or_default().into(), None);
        self.rows
            .range((Included(from), Unbounded))
            .take_while(move |(whose, _)| {
                *whose.0 == *project && user.is_none_or(|user| *whose.1 == *user)
            })
            .map(|(whose, usage)| (whose.2.as_ref(), usage))
    }

    pub(crate) fn add(&mut self, consumer: &mut Consumer) {
        let whose =
            (consumer.project.clone(), consumer.user.clone(), consumer.consumer_type.clone());
        // The names of a thousand consumers of one user are kept once.
        if let Some((whose, _)) = self.rows.get_key_value(&whose) {
            (consumer.project, consumer.user, consumer.consumer_type) = whose.clone();
        }
        let usage = self.rows.entry(whose).or_default();
        usage.consumers += 1;
        for held in &consumer.held {
            *usage.used.entry(held.class).or_default() += u64::from(held.amount);
        }
    }

    pub(crate) fn remove(&mut self, consumer: &Consumer) {
        let whose =
            (consumer.project.clone(), consumer.user.clone(), consumer.consumer_type.clone());
        let Some(usage) = self.rows.get_mut(&whose) else { return };
        usage.consumers -= 1;
        for held in &consumer.held {
            let used = usage.used.entry(held.class).or_default();
            *used -= u64::from(held.amount);
            if *used == 0 {
                usage.used.remove(&held.class);
            }
        }
        if usage.consumers == 0 {
            self.rows.remove(&whose);
        }
    }
}
