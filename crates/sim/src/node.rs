//! One server: the engine's writer, which comes and goes, on a journal and checkpoints that stay.

use std::sync::Arc;

use allod_engine::{BatchWriter, SharedState};

pub struct Node {
    pub id: usize,
    /// Counts its starts.
    pub life: u32,
    pub running: Option<Running>,
}

pub struct Running {
    pub name: Arc<str>,
    pub shared: Arc<SharedState>,
    pub writer: BatchWriter,
    /// The last position that it answered with.
    pub answered: u64,
}

impl Node {
    pub fn new(id: usize) -> Node {
        Node { id, life: 0, running: None }
    }

    pub fn name(&self) -> Arc<str> {
        format!("node {} life {}", self.id, self.life).into()
    }
}
