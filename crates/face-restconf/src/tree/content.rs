//! The `content` parameter: configuration, state, or both. The keys of an entry stay: without them nobody knows which it is.

use super::{Sink, Stopped, Value};
use crate::model::Content;
use crate::yang::{NodeId, Schema};

/// For `State` a container or an entry is told only once something below it is state; its keys wait with it.
pub struct ContentFilter<'a> {
    schema: &'a Schema,
    inner: &'a mut dyn Sink,
    content: Content,
    /// Opened by the walk and not yet by `inner`, with the keys that came since.
    waiting: Vec<(NodeId, Vec<(NodeId, Value)>)>,
    /// How many of the nodes that the walk has opened `inner` did not want, with those below them.
    unwanted: usize,
}

impl<'a> ContentFilter<'a> {
    pub fn new(schema: &'a Schema, content: Content, inner: &'a mut dyn Sink) -> ContentFilter<'a> {
        ContentFilter { schema, inner, content, waiting: Vec::new(), unwanted: 0 }
    }

    /// Tells `inner` what waits; `false` if it does not want it.
    fn tell_waiting(&mut self) -> Result<bool, Stopped> {
        let mut waiting = self.waiting.drain(..);
        while let Some((node, keys)) = waiting.next() {
            if !self.inner.open(node)? {
                self.unwanted = 1 + waiting.len();
                return Ok(false);
            }
            for (key, value) in keys {
                self.inner.leaf(key, &value)?;
            }
        }
        Ok(true)
    }
}

impl std::fmt::Debug for ContentFilter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContentFilter").field("content", &self.content).finish_non_exhaustive()
    }
}

impl Sink for ContentFilter<'_> {
    fn open(&mut self, node: NodeId) -> Result<bool, Stopped> {
        if self.unwanted > 0 {
            return Ok(false);
        }
        let config = self.schema.node(node).config;
        match self.content {
            Content::All => self.inner.open(node),
            Content::Config => {
                if config {
                    self.inner.open(node)
                } else {
                    Ok(false)
                }
            }
            Content::State if config => {
                self.waiting.push((node, Vec::new()));
                Ok(true)
            }
            Content::State => {
                if self.tell_waiting()? {
                    self.inner.open(node)
                } else {
                    Ok(false)
                }
            }
        }
    }

    fn leaf(&mut self, node: NodeId, value: &Value) -> Result<(), Stopped> {
        let config = self.schema.node(node).config;
        match self.content {
            Content::All => self.inner.leaf(node, value),
            Content::Config => {
                if config {
                    self.inner.leaf(node, value)
                } else {
                    Ok(())
                }
            }
            Content::State if !config => {
                if self.unwanted == 0 && self.tell_waiting()? {
                    self.inner.leaf(node, value)
                } else {
                    Ok(())
                }
            }
            Content::State => match self.waiting.last_mut() {
                Some((_, keys)) if self.schema.is_key(node) => {
                    keys.push((node, value.clone()));
                    Ok(())
                }
                _ => Ok(()),
            },
        }
    }

    fn close(&mut self) -> Result<(), Stopped> {
        if self.unwanted > 0 {
            self.unwanted -= 1;
            return Ok(());
        }
        match self.waiting.pop() {
            Some(_) => Ok(()),
            None => self.inner.close(),
        }
    }
}
