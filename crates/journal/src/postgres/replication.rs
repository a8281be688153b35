//! What the server's replication and sync settings guarantee.

use crate::contract::Guarantees;

/// The same as the embedded journal's, so that records can be moved between the two.
pub const BODY_BYTES_MAX: usize = 16 << 20;

/// The settings as read when the latest session began, or as changed since.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplicationStatus {
    /// `synchronous_standby_names`: the standbys that a commit waits for. Empty: none.
    pub standbys: String,
    /// Connected standbys, synchronous or not.
    pub receivers: i64,
    /// `fsync` and `full_page_writes`.
    pub syncs: bool,
    /// The current timeline; a fail-over or a restore begins a new one.
    pub timeline: String,
    /// The previous timeline, if replication was asynchronous when it ended.
    pub fell_back_from: Option<String>,
    /// Whether the server has been reached.
    pub known: bool,
}

impl ReplicationStatus {
    /// Whether committed records survive the loss of one machine: a commit waits until another one has it on disk.
    pub fn replicated(&self) -> bool {
        self.known && self.syncs && !self.standbys.is_empty()
    }

    /// Details for the operator.
    pub fn note(&self) -> String {
        if !self.known {
            return "the server has not been reached yet".to_owned();
        }
        let mut note = match (self.standbys.as_str(), self.receivers) {
            ("", 0) => "not replicated: no standby is connected".to_owned(),
            ("", _) => "replicated asynchronously: a fail-over may lose what was acknowledged \
                        (synchronous_standby_names is empty)"
                .to_owned(),
            (names, 0) => {
                format!(
                    "replicated synchronously to {names}, but no standby is connected at present"
                )
            }
            (names, _) => format!("replicated synchronously to {names}"),
        };
        if !self.syncs {
            note.push_str(
                "; fsync or full_page_writes is off, so a power failure may lose committed records",
            );
        }
        if let Some(before) = &self.fell_back_from {
            note.push_str(&format!(
                "; there was a fail-over or a restore (timeline {before}, now {}) while replication was asynchronous: \
                 the last acknowledged records before it may be lost",
                self.timeline
            ));
        }
        note
    }

    pub fn guarantees(&self) -> Guarantees {
        Guarantees {
            name: "postgresql",
            durable: self.known && self.syncs,
            replicated: self.replicated(),
            shared: true,
            note: Some(self.note()),
            body_bytes_max: BODY_BYTES_MAX,
        }
    }

    /// Why `ha` does not allow this configuration.
    pub fn against_ha(&self) -> Option<String> {
        if self.replicated() {
            return None;
        }
        let how = "set synchronous_standby_names on the server, or start without ha";
        Some(format!("ha is on, but the journal is {}; {how}", self.note()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_synchronous_standbys_count_as_replication() {
        let none = ReplicationStatus { known: true, syncs: true, ..ReplicationStatus::default() };
        let asynchronous = ReplicationStatus { receivers: 1, ..none.clone() };
        let synchronous =
            ReplicationStatus { standbys: "ANY 1 (a, b)".into(), ..asynchronous.clone() };
        let unsynced = ReplicationStatus { syncs: false, ..synchronous.clone() };
        for (promise, replicated, durable, words) in [
            (ReplicationStatus::default(), false, false, "not been reached"),
            (none, false, true, "not replicated"),
            (asynchronous.clone(), false, true, "asynchronously"),
            (synchronous.clone(), true, true, "synchronously to ANY 1 (a, b)"),
            (unsynced, false, false, "fsync"),
        ] {
            let guarantees = promise.guarantees();
            assert_eq!((guarantees.replicated, guarantees.durable), (replicated, durable));
            assert!(guarantees.note.as_ref().is_some_and(|note| note.contains(words)), "{words}");
            assert_eq!(promise.against_ha().is_none(), replicated);
        }
        let fallen = ReplicationStatus { fell_back_from: Some("00000001".into()), ..asynchronous };
        assert!(fallen.note().contains("may be lost"));
    }
}
