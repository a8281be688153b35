//! What the server's own settings promise, as far as it tells them to anybody.

use crate::contract::Guarantees;

/// The same as the embedded journal's: what one takes the other takes.
pub const BODY_BYTES_MAX: usize = 16 << 20;

/// What a session found when it began, or when an append told it of a change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Promise {
    /// `synchronous_standby_names`: whom a commit waits for. Empty: nobody.
    pub standbys: String,
    /// Servers that receive a copy at present, whether anybody waits for them or not.
    pub receivers: i64,
    /// `fsync` and `full_page_writes`.
    pub syncs: bool,
    /// The timeline that the server writes; a fail-over or a restore begins a new one.
    pub timeline: String,
    /// The one before it, if that ended while nobody was waited for.
    pub fell_back_from: Option<String>,
    /// Whether any of this is known yet.
    pub known: bool,
}

impl Promise {
    /// Whether the loss of one machine loses nothing: a commit waits until another one has it on disk.
    pub fn replicated(&self) -> bool {
        self.known && self.syncs && !self.standbys.is_empty()
    }

    /// What there is to say besides yes and no.
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
                    "replicated synchronously to {names}, of which none is connected at present"
                )
            }
            (names, _) => format!("replicated synchronously to {names}"),
        };
        if !self.syncs {
            note.push_str(
                "; fsync or full_page_writes is off, so a loss of power may lose anything",
            );
        }
        if let Some(before) = &self.fell_back_from {
            note.push_str(&format!(
                "; there was a fail-over or a restore (timeline {before}, now {}) while replication was asynchronous: \
                 what was acknowledged last before it may be lost",
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

    /// Why a server that must survive the loss of a machine cannot use it as it is.
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
    fn only_a_standby_that_is_waited_for_counts() {
        let none = Promise { known: true, syncs: true, ..Promise::default() };
        let asynchronous = Promise { receivers: 1, ..none.clone() };
        let synchronous = Promise { standbys: "ANY 1 (a, b)".into(), ..asynchronous.clone() };
        let unsynced = Promise { syncs: false, ..synchronous.clone() };
        for (promise, replicated, durable, words) in [
            (Promise::default(), false, false, "not been reached"),
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
        let fallen = Promise { fell_back_from: Some("00000001".into()), ..asynchronous };
        assert!(fallen.note().contains("may be lost"));
    }
}
