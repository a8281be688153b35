//! One server: an engine writer that starts and stops on a persistent journal.

use std::sync::Arc;

use allod_engine::{BatchWriter, SharedState};

pub struct SimNode {
    pub id: usize,
    /// The number of starts.
    pub life: u32,
    pub running: Option<Running>,
}

pub struct Running {
    pub name: Arc<str>,
    pub shared: Arc<SharedState>,
    pub writer: BatchWriter,
    /// The position of its last answer.
    pub answered: u64,
}

impl SimNode {
    pub fn new(id: usize) -> SimNode {
        SimNode { id, life: 0, running: None }
    }

    pub fn name(&self) -> Arc<str> {
        format!("node {} life {}", self.id, self.life).into()
    }
}
