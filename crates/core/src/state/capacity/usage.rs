//! The usage of every project and user, updated with every change, so that reading it visits no consumers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::consumer::Consumer;
use super::names::NameIx;
use crate::state::shared_map::SharedMap;

/// Project, user and consumer type.
type UsageKey = (Arc<str>, Arc<str>, Option<Arc<str>>);

/// Copies share memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectUsages {
    rows: SharedMap<UsageKey, Arc<ProjectUsage>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectUsage {
    pub consumers: u64,
    pub used: BTreeMap<NameIx, u64>,
}

impl ProjectUsages {
    /// What the consumers of a project hold, or those of one of its users, by consumer type.
    pub fn of<'a>(
        &'a self,
        project: &'a str,
        user: Option<&'a str>,
    ) -> impl Iterator<Item = (Option<&'a Arc<str>>, &'a ProjectUsage)> {
        let from: UsageKey = (project.into(), user.unwrap_or_default().into(), None);
        self.rows
            .range_from(&from)
            .take_while(move |(key, _)| {
                *key.0 == *project && user.is_none_or(|user| *key.1 == *user)
            })
            .map(|(key, usage)| (key.2.as_ref(), &**usage))
    }

    pub(crate) fn add(&mut self, consumer: &mut Consumer) {
        let key = (consumer.project.clone(), consumer.user.clone(), consumer.consumer_type.clone());
        // All consumers of one owner share these strings.
        match self.rows.get_key_value(&key) {
            Some((known, _)) => {
                (consumer.project, consumer.user, consumer.consumer_type) = known.clone();
            }
            None => drop(self.rows.insert(key.clone(), Arc::default())),
        }
        let Some(usage) = self.rows.get_mut(&key).map(Arc::make_mut) else { return };
        usage.consumers += 1;
        for held in &consumer.held {
            *usage.used.entry(held.class).or_default() += u64::from(held.amount);
        }
    }

    pub(crate) fn remove(&mut self, consumer: &Consumer) {
        let key = (consumer.project.clone(), consumer.user.clone(), consumer.consumer_type.clone());
        let Some(usage) = self.rows.get_mut(&key).map(Arc::make_mut) else { return };
        usage.consumers -= 1;
        for held in &consumer.held {
            let used = usage.used.entry(held.class).or_default();
            *used -= u64::from(held.amount);
            if *used == 0 {
                usage.used.remove(&held.class);
            }
        }
        if usage.consumers == 0 {
            self.rows.remove(&key);
        }
    }
}
