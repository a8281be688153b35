//! Transactions that wait for authorities or have ended a short time ago, with indexes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::WaitingTransaction;
use crate::capacity::Uuid;
use crate::state::shared_map::SharedMap;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Transactions {
    pub all: SharedMap<Uuid, Arc<WaitingTransaction>>,
    /// Waiting ones by the references of their claims.
    pub by_reference: BTreeMap<Uuid, Uuid>,
    pub by_idempotency: BTreeMap<Arc<str>, Uuid>,
    /// Ended ones by the time when they are forgotten.
    pub due: BTreeSet<(u64, Uuid)>,
    pub waiting: u64,
    /// The parts of all of them.
    pub parts: u64,
}

impl Transactions {
    /// The waiting transaction with this claim.
    pub fn with(&self, reference: Uuid) -> Option<&Arc<WaitingTransaction>> {
        self.all.get(self.by_reference.get(&reference)?)
    }

    /// The transaction of this idempotency key.
    pub fn of_key(&self, key: &str) -> Option<&Arc<WaitingTransaction>> {
        self.all.get(self.by_idempotency.get(key)?)
    }

    /// Inserts or replaces a transaction; `None` removes it. Returns the previous one.
    pub fn put(
        &mut self,
        id: Uuid,
        transaction: Option<Arc<WaitingTransaction>>,
    ) -> Option<Arc<WaitingTransaction>> {
        let before = self.all.remove(&id);
        before.iter().for_each(|transaction| self.index(transaction, false));
        if let Some(transaction) = transaction {
            self.index(&transaction, true);
            self.all.insert(id, transaction);
        }
        before
    }

    fn index(&mut self, transaction: &WaitingTransaction, add: bool) {
        let id = transaction.id;
        let (parts, waiting) =
            (transaction.parts.len() as u64, u64::from(transaction.is_waiting()));
        let references = transaction.references().filter(|_| transaction.is_waiting());
        let key = transaction.idempotency.as_ref().map(|idempotency| idempotency.key.clone());
        let due = transaction.until_ms.map(|until_ms| (until_ms, id));
        if add {
            self.parts += parts;
            self.waiting += waiting;
            self.by_reference.extend(references.map(|reference| (reference, id)));
            self.by_idempotency.extend(key.map(|key| (key, id)));
            self.due.extend(due);
            return;
        }
        self.parts -= parts;
        self.waiting -= waiting;
        references.for_each(|reference| {
            self.by_reference.remove(&reference);
        });
        key.map(|key| self.by_idempotency.remove(&key));
        due.map(|due| self.due.remove(&due));
    }
}
